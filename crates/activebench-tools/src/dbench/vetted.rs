//! The options of dbench that ask for files in its folder alone.

use super::options::{LONG, Options, SHORT};
use crate::getopt::Given;
use crate::vetted::Vetted;

/// `-c`, which names any list of calls, and `-T`, are not among them.
const LISTED: &[&str] = &[
    "-t",
    "--timelimit",
    "-D",
    "--directory",
    "-R",
    "--target-rate",
    "-s",
    "--sync",
    "-S",
    "--sync-dir",
    "-F",
    "--fsync",
    "-x",
    "--xattr",
    "--no-resolve",
    "--clients-per-process",
    "--one-byte-write-fix",
    "--stat-check",
    "--fake-io",
    "--skip-cleanup",
    "--per-client-results",
];

/// Reads `argv`, whose first word is the tool itself.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let folder = Options::parse(argv).folder.unwrap_or_else(|| ".".to_owned());
    let mut vetted = Vetted { files: vec![folder], ..Vetted::default() };
    let given = Given::parse(argv, SHORT, LONG);
    given.options.iter().filter(|(name, _)| !LISTED.contains(&name.as_str())).for_each(|(name, _)| {
        vetted.refuse_unlisted(name);
    });
    // Behind the number of processes, the name of a server.
    given.operands.iter().skip(1).for_each(|word| vetted.refuse_unlisted(word));
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_its_folder_are_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let asked = told("dbench -D /mnt/x -t 5 -s -S 2");
        assert_eq!((asked.refused, asked.files), (vec![], vec!["/mnt/x".to_owned()]));
        for words in ["-c load 1", "-T x 1", "1 server"] {
            assert_eq!(told(&format!("dbench {words}")).refused.len(), 1, "{words}");
        }
    }
}
