//! dbench's command line.

use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;

use crate::getopt::Given;

/// Letters of the options that take a value.
pub(super) const SHORT: &str = "tcDTR";
/// Long options that take a value.
pub(super) const LONG: &[&str] =
    &["timelimit", "loadfile", "directory", "tcp-options", "target-rate", "clients-per-process"];
/// Seconds of a run, if the command states none.
const SECONDS: u64 = 600;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Processes; `None` without its operand.
    pub(super) processes: Option<u32>,
    pub(super) seconds: u64,
    pub(super) folder: Option<String>,
    pub(super) load_file: Option<String>,
    /// `-R`, as it was given.
    pub(super) rate: Option<String>,
    /// `-s`: files are opened with `O_SYNC`.
    pub(super) sync_open: bool,
    /// `-F`: an fsync behind each write.
    pub(super) fsync: bool,
}

impl Options {
    /// Reads the command line of a run; where it is unknown, what the output states of it.
    pub(super) fn of(command: &CommandLine, output: &ToolOutput) -> Self {
        let mut options = Self::parse(&command.argv);
        if command.argv.is_empty() {
            let text = String::from_utf8_lossy(&output.stdout);
            options.sync_open =
                text.lines().any(|line| line.starts_with("Throughput ") && line.contains(" (sync open)"));
        }
        options
    }

    pub(super) fn parse(argv: &[String]) -> Self {
        let given = Given::parse(argv, SHORT, LONG);
        let value = |names: &[&str]| given.value(names).map(str::to_owned);
        let number = |names: &[&str]| given.value(names).and_then(|text| text.parse().ok());
        Self {
            processes: given.operands.first().and_then(|text| text.parse().ok()),
            seconds: number(&["-t", "--timelimit"]).unwrap_or(SECONDS),
            folder: value(&["-D", "--directory"]),
            load_file: value(&["-c", "--loadfile"]),
            rate: value(&["-R", "--target-rate"]),
            sync_open: given.has(&["-s", "--sync"]),
            fsync: given.has(&["-F", "--fsync"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_defaults_are_read() {
        let options = |words: &str| Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let plain = options("dbench 4");
        assert_eq!((plain.processes, plain.seconds, plain.sync_open, plain.fsync), (Some(4), 600, false, false));
        let other = options("dbench -D w -t 3 -sF --target-rate=5 -c load 2");
        assert_eq!((other.processes, other.seconds, other.sync_open, other.fsync), (Some(2), 3, true, true));
        assert_eq!(other.rate.as_deref(), Some("5"));
        assert_eq!((other.folder.as_deref(), other.load_file.as_deref()), (Some("w"), Some("load")));
        assert_eq!(options("dbench").processes, None);
    }
}
