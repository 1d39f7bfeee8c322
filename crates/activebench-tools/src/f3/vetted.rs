//! The options of f3write and f3read that ask for I/O on the files of their folder alone.

use super::F3;
use super::options::{LONG, Options, SHORT};
use crate::getopt::Given;
use crate::vetted::Vetted;

const LISTED: &[&str] =
    &["-s", "--start-at", "-e", "--end-at", "-w", "--max-write-rate", "-r", "--max-read-rate", "-p", "--show-progress"];

/// Reads `argv`, whose first word is the tool itself. f3write leaves its files, which is its purpose.
pub(super) fn vetted(tool: F3, argv: &[String]) -> Vetted {
    let files = Options::parse(argv).folder.into_iter().collect();
    let mut vetted = Vetted { files, leaves_files: tool == F3::Write, ..Vetted::default() };
    let given = Given::parse(argv, SHORT, LONG);
    given.options.iter().filter(|(name, _)| !LISTED.contains(&name.as_str())).for_each(|(name, _)| {
        vetted.refuse_unlisted(name);
    });
    given.operands.iter().skip(1).for_each(|word| vetted.refuse_unlisted(word));
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_its_folder_are_all_that_is_asked() {
        let told = |words: &str| vetted(F3::Write, &words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("f3write --end-at=1 -w 1024 /mnt/x");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for word in ["--log x", "-x", "other"] {
            assert!(!told(&format!("f3write /mnt/x {word}")).refused.is_empty(), "{word}");
        }
    }
}
