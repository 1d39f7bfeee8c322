//! The requested command.

use serde::{Deserialize, Serialize};

/// A command line, as given after `--`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// Program and arguments; lossily decoded where not UTF-8.
    pub argv: Vec<String>,
    /// Working directory, absolute.
    pub cwd: String,
}

impl CommandLine {
    /// The program's file name without its folder; empty for an empty command line.
    pub fn program(&self) -> &str {
        self.argv.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path))
    }
}

/// Quotes an argument for a POSIX shell.
pub fn shell_word(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        // A word of a stored command can be anything, even what no command can contain.
        let quoted = shlex::Quoter::new().allow_nul(true).quote(argument);
        quoted.map_or_else(|_| argument.to_owned(), std::borrow::Cow::into_owned)
    }
}

/// Formats a command line for a shell.
pub fn shell_command(argv: &[String]) -> String {
    argv.iter().map(|argument| shell_word(argument)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_pasted_into_a_shell() {
        for (argv, expected) in [
            (vec!["iozone", "-i0", "-f", "/mnt/a b"], "iozone -i0 -f '/mnt/a b'"),
            (vec!["sh", "-c", "echo 'x'; y"], "sh -c \"echo 'x'; y\""),
            (vec!["x", ""], "x ''"),
        ] {
            let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
            assert_eq!(shell_command(&argv), expected);
        }
    }
}
