//! The captured output of the tool: its bytes, and the time of each line.

use serde::{Deserialize, Serialize};

/// One of the tool's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Returns the name as a person says it.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "standard output",
            Stream::Stderr => "standard error",
        }
    }
}

/// The time at which a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputLine {
    /// The stream.
    pub stream: Stream,
    /// Line number in the stream, from 1.
    pub line: u64,
    /// Time when we read its first byte, `CLOCK_MONOTONIC`.
    pub first_byte_ns: u64,
    /// Time when we read its end (or the stream ended).
    pub end_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct StreamCapture {
    bytes: Vec<u8>,
    lines: u64,
    open_since_ns: Option<u64>,
}

/// All output of a tool.
#[derive(Clone, Debug, Default)]
pub struct CapturedOutput {
    stdout: StreamCapture,
    stderr: StreamCapture,
    lines: Vec<OutputLine>,
}

impl CapturedOutput {
    /// Adds bytes, with the time at which they were read.
    pub fn take(&mut self, stream: Stream, bytes: &[u8], at_ns: u64) {
        let capture = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        capture.bytes.extend_from_slice(bytes);
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let first_byte_ns = *capture.open_since_ns.get_or_insert(at_ns);
            if piece.ends_with(b"\n") {
                capture.lines += 1;
                capture.open_since_ns = None;
                self.lines.push(OutputLine { stream, line: capture.lines, first_byte_ns, end_ns: at_ns });
            }
        }
    }

    /// Ends lines without a newline.
    pub(crate) fn close(&mut self, at_ns: u64) {
        for (stream, capture) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            if let Some(first_byte_ns) = capture.open_since_ns.take() {
                capture.lines += 1;
                self.lines.push(OutputLine { stream, line: capture.lines, first_byte_ns, end_ns: at_ns });
            }
        }
    }

    /// Returns the whole standard output.
    pub fn stdout(&self) -> &[u8] {
        &self.stdout.bytes
    }

    /// Returns the whole standard error.
    pub fn stderr(&self) -> &[u8] {
        &self.stderr.bytes
    }

    /// Returns every line of both streams, in the order of their ends.
    pub fn lines(&self) -> &[OutputLine] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_when_they_began_and_ended() {
        let mut output = CapturedOutput::default();
        output.take(Stream::Stdout, b"one\ntw", 10);
        output.take(Stream::Stderr, b"oops\n", 15);
        output.take(Stream::Stdout, b"o\nthree", 20);
        output.close(30);
        let seen: Vec<_> = output.lines().iter().map(|l| (l.stream, l.line, l.first_byte_ns, l.end_ns)).collect();
        assert_eq!(
            seen,
            [
                (Stream::Stdout, 1, 10, 10),
                (Stream::Stderr, 1, 15, 15),
                (Stream::Stdout, 2, 10, 20),
                (Stream::Stdout, 3, 20, 30),
            ]
        );
        assert_eq!(output.stdout(), b"one\ntwo\nthree");
    }
}
