//! Lines and decimal numbers of an output, with what a claim needs of them.

use activebench_model::claim::{Claim, Metric, Note, Printed, SourceLine, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::Quantity;

/// One line of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// `stdout` or `stderr`.
    pub(crate) stream: &'static str,
    /// Line number from 1.
    pub(crate) number: u64,
    /// Text without its line end, lossily decoded.
    pub(crate) text: String,
    /// True if a line feed ends it: a number at the end of a cut line may have lost digits.
    pub(crate) is_whole: bool,
}

impl Line {
    pub(crate) fn source(&self) -> SourceLine {
        SourceLine { stream: self.stream.to_owned(), line: self.number, text: self.text.clone() }
    }

    pub(crate) fn note(&self, message: impl Into<String>) -> Note {
        Note { source: self.source(), message: message.into() }
    }
}

/// Returns the lines of standard output, then those of standard error.
pub(crate) fn lines(output: &ToolOutput) -> Vec<Line> {
    let of = |stream: &'static str, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let line = |(line, number): (&str, u64)| Line {
            stream,
            number,
            text: line.trim_end_matches(['\n', '\r']).to_owned(),
            is_whole: line.ends_with('\n'),
        };
        text.split_inclusive('\n').zip(1..).map(line).collect::<Vec<_>>()
    };
    [of("stdout", &output.stdout), of("stderr", &output.stderr)].concat()
}

/// A printed decimal number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) text: String,
    pub(crate) value: f64,
    /// Half of a step of its last digit.
    pub(crate) half_step: f64,
}

/// Most characters of a number: more digits than any figure has.
const LONGEST: usize = 24;

impl Number {
    /// Parses digits, possibly with a decimal point; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = !whole.is_empty() && digits(whole) && digits(decimals) && text.len() <= LONGEST;
        if !is_plain || text.contains('.') && decimals.is_empty() {
            return None;
        }
        let half_step = 0.5 * 10_f64.powi(-(decimals.len() as i32));
        Some(Self { text: text.to_owned(), value: text.parse().ok()?, half_step })
    }
}

/// The claims of an output, numbered in their order.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) made: Vec<Claim>,
}

/// What a figure is about.
#[derive(Clone, Debug)]
pub(crate) struct About<'a> {
    pub(crate) phase: &'a str,
    pub(crate) subject: (Subject, String),
}

impl Claims {
    /// Adds a claim of a number times `scale`, which converts the printed unit to that of the metric; returns its
    /// place in `made`.
    pub(crate) fn add(
        &mut self,
        about: &About<'_>,
        metric: Metric,
        number: &Number,
        (scale, unit): (f64, &str),
        line: &Line,
    ) -> usize {
        self.made.push(Claim {
            id: format!("c{}", self.made.len() + 1),
            phase: about.phase.to_owned(),
            metric,
            value: Quantity { value: number.value * scale, unit: metric.unit() },
            printed: Printed { text: number.text.clone(), unit: unit.to_owned() },
            resolution: number.half_step * scale,
            subject: about.subject.0,
            subject_reason: about.subject.1.clone(),
            claimed_bytes: None,
            source: line.source(),
        });
        self.made.len() - 1
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
            ("1234567890123456789012345", None),
        ] {
            assert_eq!(Number::parse(text).map(|number| (number.value, number.half_step)), expected, "{text}");
        }
    }

    #[test]
    fn a_line_without_a_line_feed_may_be_cut() {
        let output = ToolOutput { stdout: b"a\r\nb".to_vec(), stderr: b"c\n".to_vec(), ..ToolOutput::default() };
        let found: Vec<_> =
            lines(&output).into_iter().map(|line| (line.stream, line.number, line.text, line.is_whole)).collect();
        let expected = [("stdout", 1, "a", true), ("stdout", 2, "b", false), ("stderr", 1, "c", true)];
        assert_eq!(found, expected.map(|(stream, number, text, whole)| (stream, number, text.to_owned(), whole)));
    }
}
