//! fs_mark's command line, which its output echoes.

use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;

use super::texts::states_command;
use crate::getopt::Given;

/// Letters of the options that take a value.
pub(super) const SHORT: &str = "dDlLnNprsStw";

/// What the clock covers besides the writes (`-S`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    /// Nothing.
    Nothing,
    /// An fsync of each file before its close.
    Inband,
    /// A sync of the whole system, an fsync of each file behind all writes, or both.
    Behind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) folders: Vec<String>,
    /// Files of each task in one row; `None` with `-F`, which fills the file system.
    pub(super) files: Option<u64>,
    pub(super) size: u64,
    /// Bytes of one write.
    pub(super) write_bytes: u64,
    pub(super) sync: Sync,
    /// `-S` as it was given, with the default.
    pub(super) sync_option: String,
    pub(super) tasks: u32,
    /// Number of rows.
    pub(super) rows: u32,
}

/// Most rows that are planned.
const MOST_ROWS: u32 = 1000;

impl Options {
    /// Reads the command line of a run; where it is unknown, that which the output echoes.
    pub(super) fn of(command: &CommandLine, output: &ToolOutput) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let echoed = text.lines().find(|line| states_command(line));
        let mut options = match echoed.filter(|_| command.argv.is_empty()) {
            Some(line) => Self::parse(&line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()),
            None => Self::parse(&command.argv),
        };
        // The tool decides how many tasks serve the folders.
        let tasks = text.lines().find_map(|line| {
            let rest = line.strip_prefix("#\tVersion ")?.split_once(", ")?.1;
            rest.split_once(" thread(s)")?.0.parse().ok()
        });
        options.tasks = tasks.unwrap_or(options.tasks);
        options
    }

    pub(super) fn parse(argv: &[String]) -> Self {
        let given = Given::parse(argv, SHORT, &[]);
        let number = |name: &str| given.value(&[name]).and_then(|text| text.parse::<u64>().ok());
        let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok());
        let folders = given.options.iter().filter(|(name, _)| name == "-d");
        let sync = number("-S").unwrap_or(1);
        Self {
            folders: folders.filter_map(|(_, value)| value.clone()).collect(),
            files: number("-n").or(Some(1000)).filter(|_| !given.has(&["-F"])),
            size: number("-s").unwrap_or(51_200),
            write_bytes: number("-w").unwrap_or(16_384),
            sync: match sync {
                0 => Sync::Nothing,
                1 => Sync::Inband,
                _ => Sync::Behind,
            },
            sync_option: format!("-S {sync}"),
            tasks: small("-t").unwrap_or(1).max(1),
            rows: small("-L").unwrap_or(1).clamp(1, MOST_ROWS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_defaults_are_read() {
        let options = |words: &str| Options::parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let plain = options("fs_mark -d a");
        assert_eq!((plain.files, plain.size, plain.sync, plain.tasks), (Some(1000), 51_200, Sync::Inband, 1));
        let other = options("fs_mark -d a -db -S0 -t 2 -L3 -F -n 7 -s 0");
        assert_eq!((other.files, other.size, other.sync, other.tasks), (None, 0, Sync::Nothing, 2));
        assert_eq!((other.folders, other.rows), (vec!["a".to_owned(), "b".to_owned()], 3));
    }
}
