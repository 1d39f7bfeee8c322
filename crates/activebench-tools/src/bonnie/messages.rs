//! bonnie++'s messages on standard error: progress and errors.

use super::catalogue::Kind;

/// The message at the end of a test.
pub(super) const DONE: &str = "done";

/// Beginnings of the lines in which bonnie++ reports an error. From the texts of 1.03 to 2.00.
const ERRORS: &[&str] = &[
    "Bad seek offset",
    "Bonnie: drastic I/O error",
    "Can't ",
    "Cleaning up test directory after error",
    "Error",
    "Exceeded CPU usage",
    "exceeded file storage limits",
    "Expected ",
    "File size should be double RAM",
    "Invalid ",
    "Large File Support not present",
    "Not enough ram",
    "The small chunk size and large IO size",
    "When testing ",
    "You must use the \"-u\" switch",
    "bonnie++: ",
    "bonnie: ",
    "error ",
    "re write(2)",
    "start paging Bonnie++ data",
    "results, use less files",
];

/// Kind of a line of standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Progress, or an empty line.
    Nothing,
    /// The first line of its usage, which continues to `Version: `.
    Usage,
    /// The tool reports an error.
    Error,
    /// Anything else.
    Other,
}

/// Classifies a whole line.
pub(super) fn classify(text: &str) -> Kept {
    let text = without_progress(text.trim());
    if text.is_empty() || text.starts_with("Using uid:") {
        Kept::Nothing
    } else if text.starts_with("usage:") {
        Kept::Usage
    } else if ERRORS.iter().any(|error| text.starts_with(error)) {
        Kept::Error
    } else {
        Kept::Other
    }
}

/// Removes progress before an error, which directly follows the message of the test that it ended.
fn without_progress(text: &str) -> &str {
    let mut rest = text;
    loop {
        let message = Kind::ALL.iter().flat_map(|kind| kind.messages()).find_map(|message| rest.strip_prefix(message));
        match message.or_else(|| rest.strip_prefix(DONE)).or_else(|| rest.strip_prefix('.')) {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_from_progress() {
        for (line, expected) in [
            ("Writing intelligently...done", Kept::Nothing),
            ("start 'em...done...done...done...done...done...", Kept::Nothing),
            ("Create files in sequential order...done.", Kept::Nothing),
            ("", Kept::Nothing),
            ("Using uid:0, gid:0.", Kept::Nothing),
            ("Writing a byte at a time...Can't write() - disk full?", Kept::Error),
            ("Can't change to directory \"nosuchdir\".", Kept::Error),
            ("File size should be double RAM for good results, RAM is 24104M.", Kept::Error),
            ("Delete files in random order...Can't sync directory, turning off dir-sync.", Kept::Error),
            ("usage:", Kept::Usage),
            ("something else", Kept::Other),
        ] {
            assert_eq!(classify(line), expected, "{line}");
        }
    }
}
