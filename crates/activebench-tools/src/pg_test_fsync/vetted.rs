//! The options of pg_test_fsync: all ask for I/O on its file alone.

use super::options::{LONG, Options, SHORT};
use crate::getopt::Given;
use crate::vetted::Vetted;

const LISTED: &[&str] = &["-f", "--filename", "-s", "--secs-per-test"];

/// Reads `argv`, whose first word is the tool itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted { files: vec![Options::parse(argv).file], ..Vetted::default() };
    let given = Given::parse(argv, SHORT, LONG);
    given.options.iter().filter(|(name, _)| !LISTED.contains(&name.as_str())).for_each(|(name, _)| {
        vetted.refuse_unlisted(name);
    });
    given.operands.iter().for_each(|word| vetted.refuse_unlisted(word));
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_on_its_file_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("pg_test_fsync -s 1 --filename=/mnt/x");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for word in ["x", "-z", "--exec=x"] {
            assert_eq!(told(&format!("pg_test_fsync {word}")).refused.len(), 1, "{word}");
        }
    }
}
