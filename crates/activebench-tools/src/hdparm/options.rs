//! hdparm's command line, as far as it asks for timings.

use crate::getopt::Given;

/// Names of the options that take a value.
pub(super) const LONG: &[&str] = &["offset"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// `-T`.
    pub(super) cached: bool,
    /// `-t`.
    pub(super) disk: bool,
    /// `--direct`.
    pub(super) direct: bool,
    pub(super) devices: Vec<String>,
}

impl Options {
    pub(super) fn parse(argv: &[String]) -> Self {
        let given = Given::parse(argv, "", LONG);
        Self {
            cached: given.has(&["-T"]),
            disk: given.has(&["-t"]),
            direct: given.has(&["--direct"]),
            devices: given.operands,
        }
    }
}
