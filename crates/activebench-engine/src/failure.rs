//! Exit codes, and errors that know theirs. `docs/exit-codes.md` is the reference.

use activebench_report::escape::terminal;

/// Exit codes of activebench; verdicts have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Wrong usage, an unreadable run directory.
    Usage = 2,
    /// What was read does not suffice for an answer.
    Inconclusive = 3,
    /// The benchmark could not start.
    BenchmarkFailed = 4,
    /// No observation was possible.
    CannotObserve = 5,
    /// A bundle that is not what it claims to be.
    NotVerified = 6,
    /// Our own bug.
    Bug = 70,
}

/// Ended by SIGINT, SIGTERM or SIGHUP.
pub const INTERRUPTED: i32 = 130;

/// An error with its exit code.
#[derive(Debug)]
pub struct Failure {
    /// Exit code of the process.
    pub code: ExitCode,
    /// The cause.
    pub error: anyhow::Error,
}

impl Failure {
    /// Combines an error with its exit code.
    pub fn new(code: ExitCode, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: error.into() }
    }

    /// Returns the error as it is printed. It can contain names of stored runs, which are escaped for the terminal.
    /// Some errors have several lines by design.
    pub fn shown(&self) -> String {
        format!("{:#}", self.error).lines().map(terminal).collect::<Vec<_>>().join("\n")
    }
}

/// Gives an error its exit code at the boundary where its kind is known.
pub trait OrExit<T> {
    /// Returns the value, or the error with this exit code.
    ///
    /// # Errors
    /// Returns the error it is called on.
    fn or_exit(self, code: ExitCode) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, code: ExitCode) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(code, error))
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn an_error_commands_no_terminal() {
        let error = anyhow!("there is no folder /tmp/\x1b]0;x\x07\nline 2\r\u{202e}").context("cannot replay");
        let shown = Failure::new(ExitCode::Usage, error).shown();
        let expected = "cannot replay: there is no folder /tmp/\\u{1b}]0;x\\u{7}\nline 2\\u{d}\\u{202e}";
        assert_eq!(shown, expected);
    }
}
