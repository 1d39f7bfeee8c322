//! Command lines that a tool reads with `getopt`: `-f x`, `-fx`, `-qf x`, `--file=x`, `--file x`.

/// The words of a command line after the tool's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// Options with their dashes, in order, each with its value if it takes one.
    pub(crate) options: Vec<(String, Option<String>)>,
    pub(crate) operands: Vec<String>,
}

impl Given {
    /// Reads `argv`, whose first word is the tool itself. `short` are the letters and `long` the names, without dashes,
    /// of the options that take a value.
    pub(crate) fn parse(argv: &[String], short: &str, long: &[&str]) -> Self {
        let mut given = Self::default();
        let mut words = argv.iter().skip(1);
        while let Some(word) = words.next() {
            if word == "--" {
                given.operands.extend(words.cloned());
                break;
            }
            if let Some(name) = word.strip_prefix("--") {
                let (name, value) = match name.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (name, long.contains(&name).then(|| words.next().cloned().unwrap_or_default())),
                };
                given.options.push((format!("--{name}"), value));
                continue;
            }
            let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
                given.operands.push(word.clone());
                continue;
            };
            for (at, letter) in letters.char_indices() {
                let takes_value = short.contains(letter);
                let value = takes_value.then(|| match &letters[at + letter.len_utf8()..] {
                    "" => words.next().cloned().unwrap_or_default(),
                    attached => attached.to_owned(),
                });
                given.options.push((format!("-{letter}"), value));
                if takes_value {
                    break;
                }
            }
        }
        given
    }

    pub(crate) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Returns the value of the last of these options.
    pub(crate) fn value(&self, names: &[&str]) -> Option<&str> {
        let mut given = self.options.iter().rev().filter(|(name, _)| names.contains(&name.as_str()));
        given.find_map(|(_, value)| value.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_every_spelling() {
        for words in ["t -f x -q y", "t -fx -q y", "t -qf x y", "t -q --file=x y", "t --file x -q -- y"] {
            let argv: Vec<String> = words.split(' ').map(str::to_owned).collect();
            let given = Given::parse(&argv, "f", &["file"]);
            assert_eq!(given.value(&["-f", "--file"]), Some("x"), "{words}");
            assert!(given.has(&["-q"]) && given.operands == ["y"], "{words}: {given:?}");
        }
        assert_eq!(Given::parse(&["t".to_owned(), "-f".to_owned()], "f", &[]).value(&["-f"]), Some(""));
    }
}
