//! Lines and numbers of Orion's files.

use activebench_model::claim::SourceLine;

/// A file's text as lines with their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// `stdout`, `stderr` or a file's name.
    pub(super) stream: &'a str,
    /// Line number from 1.
    pub(super) number: u64,
    /// Text without its line end.
    pub(super) text: &'a str,
    /// True if its line end is present: a number at the end of a cut line may have lost digits.
    pub(super) is_whole: bool,
}

impl Line<'_> {
    pub(super) fn source(&self) -> SourceLine {
        SourceLine { stream: self.stream.to_owned(), line: self.number, text: self.text.to_owned() }
    }
}

/// Returns the lines of a text.
pub(super) fn lines<'a>(stream: &'a str, text: &'a str) -> impl Iterator<Item = Line<'a>> {
    text.split_inclusive('\n').zip(1..).map(move |(line, number)| Line {
        stream,
        number,
        text: line.trim_end_matches(['\n', '\r']),
        is_whole: line.ends_with('\n'),
    })
}

/// A printed number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    pub(super) text: String,
    pub(super) value: f64,
    /// Half of a step of its last digit.
    pub(super) half_step: f64,
}

/// Maximum characters of a number: more digits than any figure has.
const LONGEST: usize = 20;

impl Number {
    /// Parses digits, possibly with a decimal point; `None` for anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let plain = !whole.is_empty() && digits(whole) && digits(decimals) && text.len() <= LONGEST;
        if !plain || (text.contains('.') && decimals.is_empty()) {
            return None;
        }
        let half_step = 0.5 * 10_f64.powi(-(decimals.len() as i32));
        Some(Self { text: text.to_owned(), value: text.parse().ok()?, half_step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_plain_decimals() {
        for (text, expected) in [
            ("62700", Some((62_700.0, 0.5))),
            ("81.81", Some((81.81, 0.005))),
            ("0", Some((0.0, 0.5))),
            ("", None),
            ("-1", None),
            ("1e9", None),
            ("1.", None),
            (".5", None),
            ("inf", None),
            ("1.2.3", None),
            ("123456789012345678901", None),
        ] {
            let found = Number::parse(text).map(|number| (number.value, number.half_step));
            assert_eq!(found, expected, "{text}");
        }
    }
}
