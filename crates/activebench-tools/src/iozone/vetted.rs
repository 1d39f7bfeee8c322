//! The options of iozone that ask for I/O on its own files alone.

use super::options::{PLUS_WITH_VALUE, WITH_VALUE};
use crate::vetted::Vetted;

/// Letters with and without a value. Those that write reports (`-b`), read offsets (`-X`, `-Y`), mount (`-U`) or log
/// (`-Q`) are not among them.
const LISTED: &str = "irsngyqtludfFjJkHSLPVNIBDGCTOMREWovAxampcezKZ";
/// The same after `-+`. Those that reach other hosts (`-+m`, `-+c`, `-+h`) or other files are not among them.
const PLUS_LISTED: &str = "nrkBDduTNzxpqyC";

/// Reads `argv`, whose first word is iozone itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted::default();
    let mut words = argv.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            vetted.refuse_unlisted(word);
            continue;
        };
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let is_plus = letter == '+';
            let (letter, listed, valued) = match is_plus {
                true => (rest.next().unwrap_or('+'), PLUS_LISTED, PLUS_WITH_VALUE),
                false => (letter, LISTED, WITH_VALUE),
            };
            if !listed.contains(letter) {
                vetted.refuse_unlisted(word);
            }
            if !valued.contains(letter) {
                continue;
            }
            let attached = rest.as_str();
            let value = match attached {
                "" => words.next().cloned().unwrap_or_default(),
                attached => attached.to_owned(),
            };
            match (is_plus, letter) {
                (false, 'f') => vetted.files.push(value),
                (false, 'F') => {
                    vetted.files.push(value);
                    while let Some(file) = words.next_if(|word| !word.starts_with('-')) {
                        vetted.files.push(file.clone());
                    }
                }
                _ => {}
            }
            break;
        }
    }
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &str) -> Vetted {
        vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn io_on_its_own_files_is_all_that_is_asked() {
        let asked = told("iozone -Raze -i 0 -i1 -s1g -r 4k -t 2 -F a b -+n -f x");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["a".to_owned(), "b".to_owned(), "x".to_owned()]));
    }

    #[test]
    fn what_asks_for_more_is_refused() {
        for word in ["-b/etc/x", "-X/x", "-Y/x", "-U/mnt", "-Q", "-+m hosts", "-+h x", "-Rab x", "file", "-"] {
            assert!(!told(&format!("iozone -i0 {word}")).refused.is_empty(), "{word}");
        }
    }
}
