//! The form of sentences that people read. A reason is a lower-case fragment while it is an error, and a sentence where
//! a report shows it on its own.

/// Returns a fragment as a sentence, with a capital letter and a full stop. A text that begins with a name, an option or
/// a number keeps its beginning; a sentence stays as it is.
pub fn as_sentence(text: &str) -> String {
    let text = text.trim();
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let is_plain_word = first_word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '-' | ',' | ':'));
    let mut characters = text.chars();
    let mut sentence: String = match characters.next() {
        Some(first) if is_plain_word => first.to_uppercase().chain(characters).collect(),
        _ => text.to_owned(),
    };
    if !sentence.is_empty() && !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::as_sentence;

    #[test]
    fn a_fragment_becomes_a_sentence_and_a_name_stays() {
        for (text, expected) in [
            ("the pass was not found", "The pass was not found."),
            ("It is a sentence.", "It is a sentence."),
            ("`-e` is given", "`-e` is given."),
            ("bonnie++ reads its file", "bonnie++ reads its file."),
            ("io.max was not read", "io.max was not read."),
            ("3 records are lost", "3 records are lost."),
            ("", ""),
        ] {
            assert_eq!(as_sentence(text), expected);
        }
    }
}
