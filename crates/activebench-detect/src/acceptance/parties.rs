//! Parties who cannot have agreed on anything, because their names are those of a template.

/// Words that only a template has.
const TEMPLATE_WORDS: &[&str] =
    &["example", "examples", "todo", "tbd", "tba", "fixme", "changeme", "placeholder", "lorem", "ipsum", "xxx"];
/// Whole names that are the name of a role.
const ROLES: &[&str] = &[
    "a",
    "b",
    "buyer",
    "company",
    "customer",
    "foo",
    "bar",
    "me",
    "n/a",
    "na",
    "name",
    "nobody",
    "none",
    "seller",
    "supplier",
    "test",
    "unknown",
    "us",
    "vendor",
    "you",
    "your company",
    "your name",
];
/// Signs around a name that is to be filled in.
const BRACKETS: &[(char, char)] = &[('<', '>'), ('(', ')'), ('[', ']'), ('{', '}'), ('$', '}')];

/// Returns `true` if a name is empty or that of a template: `<buyer>`, `TODO`, `Example GmbH`.
pub(super) fn is_placeholder(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    let is_bracketed = |(open, close): &(char, char)| name.starts_with(*open) && name.ends_with(*close);
    let mut words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    !name.chars().any(char::is_alphanumeric)
        || BRACKETS.iter().any(is_bracketed)
        || ROLES.contains(&name.as_str())
        || words.any(|word| TEMPLATE_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_templates_are_not_parties() {
        for name in [
            "",
            "  ",
            "...",
            "?",
            "<buyer>",
            "(who offers it)",
            "[vendor]",
            "{vendor}",
            "${BUYER}",
            "TODO",
            "todo: ask Anna",
            "Example GmbH",
            "Example Disks",
            "EXAMPLE",
            "buyer",
            "Vendor",
            "Your Company",
            "n/a",
            "tbd",
            "xxx",
        ] {
            assert!(is_placeholder(name), "{name:?}");
        }
        for name in [
            "Northgate Archive",
            "Tarn Storage GmbH",
            "Stadtwerke Köln",
            "3M",
            "日本電気",
            "Exampla S.A.",
            "A. Buyer & Sons",
        ] {
            assert!(!is_placeholder(name), "{name:?}");
        }
    }
}
