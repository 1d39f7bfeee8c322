//! The options of sysbench that ask for I/O on its test files alone.

use super::options::{Options, Task};
use crate::vetted::Vetted;

/// Options, without their dashes and values.
const LISTED: &[&str] = &[
    "events",
    "file-async-backlog",
    "file-block-size",
    "file-extra-flags",
    "file-fsync-all",
    "file-fsync-end",
    "file-fsync-freq",
    "file-fsync-mode",
    "file-io-mode",
    "file-merged-requests",
    "file-num",
    "file-rw-ratio",
    "file-test-mode",
    "file-total-size",
    "forced-shutdown",
    "histogram",
    "max-requests",
    "max-time",
    "num-threads",
    "percentile",
    "rand-seed",
    "rand-type",
    "rate",
    "report-interval",
    "thread-stack-size",
    "threads",
    "time",
    "tx-rate",
    "validate",
    "verbosity",
];

/// Reads `argv`, whose first word is sysbench itself. Its files are in its working directory.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted { files: vec![".".to_owned()], leaves_files: true, ..Vetted::default() };
    let mut words = Vec::new();
    for word in argv.iter().skip(1) {
        let name = word.strip_prefix("--").map(|option| option.split('=').next().unwrap_or(option));
        match name {
            Some(name) if LISTED.contains(&name) => {}
            Some(_) => vetted.refuse_unlisted(word),
            None => words.push(word.as_str()),
        }
    }
    // Another name of a test is a script that it executes.
    let is_test =
        matches!(Options::parse(argv).task, Some(Task::Prepare | Task::Run)) || words == ["fileio", "cleanup"];
    if !is_test {
        vetted.refuse(&words.join(" "), "not the test fileio with prepare, run or cleanup");
    }
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_on_its_test_files_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).refused;
        for line in ["fileio --file-num=4 prepare", "fileio --file-test-mode=rndrd --time=3 run", "fileio cleanup"] {
            assert_eq!(told(&format!("sysbench {line}")), Vec::<String>::new());
        }
        for line in ["cpu run", "/tmp/x.lua run", "fileio run --config-file=x", "fileio", "fileio run x"] {
            assert!(!told(&format!("sysbench {line}")).is_empty(), "{line}");
        }
    }
}
