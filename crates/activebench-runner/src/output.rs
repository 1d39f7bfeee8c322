//! The captured output of the tool: its bytes, and the time of each line.

use std::collections::VecDeque;

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

/// Bytes and lines of a stream that are kept from its beginning, and as many from its end. What is between is only
/// counted: a tool can print without end, and no adapter needs more.
#[derive(Clone, Copy, Debug)]
struct Most {
    bytes: usize,
    lines: usize,
}

impl Default for Most {
    fn default() -> Self {
        Self { bytes: 16 << 20, lines: 1 << 17 }
    }
}

/// A line after the beginning of a stream.
#[derive(Clone, Debug)]
struct LateLine {
    bytes: usize,
    first_byte_ns: u64,
    end_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct StreamCapture {
    /// The beginning; the whole stream when it has ended.
    bytes: Vec<u8>,
    lines: u64,
    open_since_ns: Option<u64>,
    late: VecDeque<u8>,
    late_lines: VecDeque<LateLine>,
    /// Bytes of the last line in `late`, which has not ended.
    late_open: usize,
    cut_bytes: u64,
    cut_lines: u64,
}

impl StreamCapture {
    /// Adds a piece of a line, or its end. Returns the line if it ended in the beginning of the stream.
    fn take(&mut self, stream: Stream, piece: &[u8], at_ns: u64, most: Most) -> Option<OutputLine> {
        let first_byte_ns = *self.open_since_ns.get_or_insert(at_ns);
        let ends = piece.ends_with(b"\n");
        if ends {
            self.open_since_ns = None;
        }
        let is_late = self.late_open > 0 || !self.late_lines.is_empty() || self.cut_bytes > 0;
        if is_late || self.bytes.len() + piece.len() > most.bytes || self.lines >= most.lines as u64 {
            self.late.extend(piece);
            self.late_open += piece.len();
            if ends {
                self.late_lines.push_back(LateLine { bytes: self.late_open, first_byte_ns, end_ns: at_ns });
                self.late_open = 0;
            }
            self.forget(most);
            return None;
        }
        self.bytes.extend_from_slice(piece);
        if !ends {
            return None;
        }
        self.lines += 1;
        Some(OutputLine { stream, line: self.lines, first_byte_ns, end_ns: at_ns })
    }

    /// Cuts the oldest late lines that are too many.
    fn forget(&mut self, most: Most) {
        while self.late.len() > most.bytes || self.late_lines.len() > most.lines {
            let bytes = match self.late_lines.pop_front() {
                Some(line) => {
                    self.cut_lines += 1;
                    line.bytes
                }
                // One endless line.
                None => {
                    let bytes = self.late.len() - most.bytes;
                    self.late_open -= bytes;
                    bytes
                }
            };
            self.late.drain(..bytes);
            self.cut_bytes += bytes as u64;
        }
    }

    /// Puts the end of the stream behind its beginning; returns the lines that were not returned yet.
    fn close(&mut self, stream: Stream, at_ns: u64) -> Vec<OutputLine> {
        let mut lines = Vec::new();
        let mut add = |number: &mut u64, first_byte_ns, end_ns| {
            *number += 1;
            lines.push(OutputLine { stream, line: *number, first_byte_ns, end_ns });
        };
        if self.cut_bytes > 0 {
            // Between the lines around them.
            let at_ns = self.late_lines.front().map_or(at_ns, |line| line.end_ns);
            if !self.bytes.is_empty() && !self.bytes.ends_with(b"\n") {
                self.bytes.push(b'\n');
                add(&mut self.lines, at_ns, at_ns);
            }
            self.bytes.extend_from_slice(format!("[activebench cut {} here]\n", self.cut()).as_bytes());
            add(&mut self.lines, at_ns, at_ns);
        }
        self.bytes.extend(self.late.drain(..));
        for line in std::mem::take(&mut self.late_lines) {
            add(&mut self.lines, line.first_byte_ns, line.end_ns);
        }
        if let Some(first_byte_ns) = self.open_since_ns.take() {
            add(&mut self.lines, first_byte_ns, at_ns);
        }
        lines
    }

    fn cut(&self) -> String {
        format!("{} bytes in {} lines", self.cut_bytes, self.cut_lines)
    }
}

/// The output of a tool.
#[derive(Clone, Debug, Default)]
pub struct CapturedOutput {
    stdout: StreamCapture,
    stderr: StreamCapture,
    lines: Vec<OutputLine>,
    most: Most,
}

impl CapturedOutput {
    /// Adds bytes, with the time at which they were read.
    pub fn take(&mut self, stream: Stream, bytes: &[u8], at_ns: u64) {
        let most = self.most;
        let capture = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let pieces = bytes.split_inclusive(|byte| *byte == b'\n');
        self.lines.extend(pieces.filter_map(|piece| capture.take(stream, piece, at_ns, most)));
    }

    /// Ends the streams, and lines without a newline.
    pub(crate) fn close(&mut self, at_ns: u64) {
        for (stream, capture) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            self.lines.extend(capture.close(stream, at_ns));
        }
        self.lines.sort_by_key(|line| line.end_ns);
    }

    /// Returns why the output is not whole, one sentence per stream.
    pub(crate) fn cuts(&self) -> Vec<String> {
        let cut = |stream: Stream, capture: &StreamCapture| {
            (capture.cut_bytes > 0).then(|| {
                let Most { bytes, .. } = self.most;
                let (mib, cut) = (bytes >> 20, capture.cut());
                format!("of the tool's {} only the first and the last {mib} MiB are kept: {cut} are cut", stream.name())
            })
        };
        [cut(Stream::Stdout, &self.stdout), cut(Stream::Stderr, &self.stderr)].into_iter().flatten().collect()
    }

    /// Returns the standard output.
    pub fn stdout(&self) -> &[u8] {
        &self.stdout.bytes
    }

    /// Returns the standard error.
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

    /// Returns the numbers of the lines, each with the text that has this number.
    fn numbered(output: &CapturedOutput) -> Vec<(u64, String)> {
        let text = String::from_utf8(output.stdout().to_vec()).expect("text");
        let texts: Vec<&str> = text.lines().collect();
        output.lines().iter().map(|line| (line.line, texts[line.line as usize - 1].to_owned())).collect()
    }

    #[test]
    fn of_output_without_end_the_beginning_and_the_end_are_kept_and_the_rest_is_counted() {
        let mut output = CapturedOutput { most: Most { bytes: 1 << 20, lines: 2 }, ..CapturedOutput::default() };
        for number in 1..=100_u64 {
            output.take(Stream::Stdout, format!("{number}\n").as_bytes(), number);
        }
        output.close(200);
        let marker = "[activebench cut 281 bytes in 96 lines here]";
        let expected = ["1", "2", marker, "99", "100"].map(str::to_owned);
        assert_eq!(numbered(&output), Vec::from_iter((1..).zip(expected)).into_iter().take(5).collect::<Vec<_>>());
        assert_eq!(output.cuts().len(), 1);
    }

    #[test]
    fn an_endless_line_is_cut_too_and_what_fits_is_whole() {
        let mut output = CapturedOutput { most: Most { bytes: 10, lines: 9 }, ..CapturedOutput::default() };
        for _ in 0..1000 {
            output.take(Stream::Stdout, b"1234567", 1);
        }
        output.take(Stream::Stdout, b"\nend\n", 2);
        output.close(3);
        let text = String::from_utf8_lossy(output.stdout()).into_owned();
        assert!(text.starts_with("1234567\n[activebench cut ") && text.ends_with("\nend\n"), "{text}");
        assert!(text.len() < 100, "{text}");

        let mut output = CapturedOutput { most: Most { bytes: 10, lines: 9 }, ..CapturedOutput::default() };
        output.take(Stream::Stdout, b"12345678\n12", 1);
        output.take(Stream::Stdout, b"345\n", 2);
        output.close(3);
        assert_eq!(output.stdout(), b"12345678\n12345\n");
        assert_eq!(numbered(&output).len(), 2);
        assert_eq!(output.cuts(), Vec::<String>::new());
    }
}
