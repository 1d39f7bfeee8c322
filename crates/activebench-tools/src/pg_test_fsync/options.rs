//! pg_test_fsync's command line.

use crate::getopt::Given;

/// Letters of the options that take a value.
pub(super) const SHORT: &str = "fs";
/// Their long names.
pub(super) const LONG: &[&str] = &["filename", "secs-per-test"];
/// The file, if the command names none.
const DEFAULT_FILE: &str = "./pg_test_fsync.out";
/// Seconds of each test, if the command states none.
const DEFAULT_SECONDS: u64 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) file: String,
    pub(super) seconds: u64,
}

impl Options {
    pub(super) fn parse(argv: &[String]) -> Self {
        let given = Given::parse(argv, SHORT, LONG);
        let seconds = given.value(&["-s", "--secs-per-test"]).and_then(|seconds| seconds.parse().ok());
        Self {
            file: given.value(&["-f", "--filename"]).unwrap_or(DEFAULT_FILE).to_owned(),
            seconds: seconds.unwrap_or(DEFAULT_SECONDS),
        }
    }
}
