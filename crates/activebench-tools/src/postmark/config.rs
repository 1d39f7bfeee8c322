//! PostMark's commands, as its file or its standard input has them.

use activebench_model::command::CommandLine;
use activebench_model::output::ToolFile;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// Files that exist before the transactions.
    pub(super) number: u64,
    /// Number of `run` commands; `None` where the commands are not known.
    pub(super) runs: Option<usize>,
}

impl Config {
    /// Reads the commands that a command line names; `-` is standard input.
    pub(super) fn of(command: &CommandLine, files: &[ToolFile]) -> Self {
        let name = command.argv.get(1).map_or("-", String::as_str);
        match files.iter().find(|file| file.name == name) {
            Some(file) => Self::parse(&String::from_utf8_lossy(&file.bytes)),
            None => Self { number: 500, runs: None },
        }
    }

    fn parse(text: &str) -> Self {
        let mut config = Self { number: 500, runs: Some(0) };
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["set", "number", number, ..] => config.number = number.parse().unwrap_or(config.number),
                ["run", ..] => config.runs = config.runs.map(|runs| runs + 1),
                ["quit", ..] => break,
                _ => {}
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_up_to_the_end() {
        let config = Config::parse("set number 20\nset transactions 5\nrun\nrun x\nquit\nrun\n");
        assert_eq!(config, Config { number: 20, runs: Some(2) });
        assert_eq!(Config::parse(""), Config { number: 500, runs: Some(0) });
    }
}
