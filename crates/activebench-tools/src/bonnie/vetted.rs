//! The options of bonnie++ that ask for I/O in its folder alone.

use super::options::WITH_VALUE;
use crate::vetted::Vetted;

/// Letters of options. `-Z`, which reads another file, is not among them.
const LISTED: &str = "bcdDfgmnpqrsuxyz";

/// Reads `argv`, whose first word is bonnie++ itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted::default();
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            vetted.refuse_unlisted(word);
            continue;
        };
        for (at, letter) in letters.char_indices() {
            if !LISTED.contains(letter) {
                vetted.refuse_unlisted(word);
            }
            let attached = &letters[at + letter.len_utf8()..];
            match letter {
                // Their value is in the same word.
                'f' | 'y' => break,
                letter if WITH_VALUE.contains(letter) => {
                    let value = match attached {
                        "" => words.next().cloned().unwrap_or_default(),
                        attached => attached.to_owned(),
                    };
                    if letter == 'd' {
                        vetted.files.push(value);
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_in_its_folder_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("bonnie++ -qb -u root -d /mnt/x -n 0 -f -s 16:8k");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for word in ["-Z /etc/shadow", "x", "-w", "-y s"] {
            assert!(!told(&format!("bonnie++ -d . {word}")).refused.is_empty(), "{word}");
        }
    }
}
