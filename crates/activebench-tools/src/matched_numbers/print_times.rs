//! When each byte of an output was printed. A number is not about what happened after it was printed.

use std::collections::HashMap;

use activebench_model::activity::OutputWrite;
use activebench_model::call::FileId;
use activebench_model::claim::SourceLine;
use activebench_model::output::ToolOutput;

/// The writes of both streams; empty for a stream whose writes were not all seen, or that others write, too.
#[derive(Clone, Debug, Default)]
pub struct PrintTimes {
    /// Bytes up to the end of each write, and its start.
    stdout: Vec<(u64, u64)>,
    stderr: Vec<(u64, u64)>,
}

impl PrintTimes {
    /// From the writes of a run, in order, and its output.
    pub fn new(writes: &[OutputWrite], output: &ToolOutput) -> Self {
        let of_stream = |fd: i32, text: &[u8]| {
            let mut until = 0_u64;
            let own = writes_of_stream(writes, fd, text.len() as u64);
            own.into_iter()
                .map(|write| {
                    until += written(write);
                    (until, write.span.start_ns)
                })
                .collect()
        };
        Self { stdout: of_stream(1, &output.stdout), stderr: of_stream(2, &output.stderr) }
    }

    /// Returns when the byte before a place of a stream was printed, in ns of `CLOCK_MONOTONIC`; `None` where it is not
    /// known.
    pub(super) fn at(&self, stream: &str, bytes: u64) -> Option<u64> {
        let writes = if stream == "stdout" { &self.stdout } else { &self.stderr };
        writes.get(writes.partition_point(|(until, _)| *until < bytes)).map(|(_, at_ns)| *at_ns)
    }

    /// Returns when the end of a line was printed, in ns of `CLOCK_MONOTONIC`; `None` where it is not known.
    pub(crate) fn of_line(&self, output: &ToolOutput, source: &SourceLine) -> Option<u64> {
        let text = if source.stream == "stdout" { &output.stdout } else { &output.stderr };
        let before = text.split_inclusive(|byte| *byte == b'\n').take(usize::try_from(source.line).ok()?);
        self.at(&source.stream, before.map(|line| line.len() as u64).sum())
    }

    /// Returns how many lines of a stream were whole before a time; 0 where it is not known.
    pub(crate) fn lines_before(&self, output: &ToolOutput, stream: &str, at_ns: u64) -> u64 {
        let (writes, text) = match stream {
            "stdout" => (&self.stdout, &output.stdout),
            _ => (&self.stderr, &output.stderr),
        };
        let before = writes.partition_point(|(_, written_ns)| *written_ns < at_ns).checked_sub(1);
        let bytes = before.map_or(0, |last| usize::try_from(writes[last].0).unwrap_or(usize::MAX));
        text[..bytes.min(text.len())].iter().filter(|byte| **byte == b'\n').count() as u64
    }
}

/// Returns the writes of which a stream of this many bytes consists, in order; empty where they are not known.
///
/// Those of a shell's `$(...)` go through descriptor 1, too, but to a pipe of their own. What a filter behind the tool
/// prints again (`| tee log`) has the same bytes, and was printed first by the tool. Of pipes of as many bytes that were
/// written one after the other nothing says which is the stream.
pub(crate) fn writes_of_stream(writes: &[OutputWrite], fd: i32, bytes: u64) -> Vec<&OutputWrite> {
    let all: Vec<&OutputWrite> = writes.iter().filter(|write| write.fd == fd).collect();
    if all.iter().map(|write| written(write)).sum::<u64>() == bytes {
        return all;
    }
    let mut by_file: HashMap<FileId, u64> = HashMap::new();
    for (file, bytes) in all.iter().filter_map(|write| Some((write.file?, written(write)))) {
        *by_file.entry(file).or_default() += bytes;
    }
    // First and last write of each pipe with all bytes.
    let mut whole: Vec<(FileId, u64, u64)> = Vec::new();
    for write in &all {
        let Some(file) = write.file.filter(|file| by_file[file] == bytes) else { continue };
        match whole.iter_mut().find(|(known, ..)| *known == file) {
            Some((_, _, last_ns)) => *last_ns = write.span.start_ns,
            None => whole.push((file, write.span.start_ns, write.span.start_ns)),
        }
    }
    // A filter prints while the tool does. A substitution that has as many bytes by chance ended before.
    let Some((stream, _, last_ns)) = whole.first().copied() else { return Vec::new() };
    if whole.iter().skip(1).any(|(_, first_ns, _)| *first_ns > last_ns) {
        return Vec::new();
    }
    all.into_iter().filter(|write| write.file == Some(stream)).collect()
}

fn written(write: &OutputWrite) -> u64 {
    // A failed write printed nothing.
    u64::try_from(write.span.returned).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use activebench_model::activity::CallSpan;
    use activebench_model::call::Op;

    use super::*;

    /// Writes to descriptor 1: the pipe and the bytes of each.
    fn writes(of: &[(Option<u64>, i64)]) -> Vec<OutputWrite> {
        let at = of.iter().zip((0..).step_by(100));
        at.map(|((pipe, bytes), start_ns)| OutputWrite {
            span: CallSpan { start_ns, end_ns: start_ns + 10, tid: 7, op: Op::Write, returned: *bytes },
            tgid: 7,
            fd: 1,
            file: pipe.map(|ino| FileId { s_dev: 15, ino }),
        })
        .collect()
    }

    #[test]
    fn the_pipe_of_a_stream_is_known_by_its_bytes() {
        for (what, of, bytes, expected) in [
            ("one pipe", &[(Some(1), 5), (Some(1), 6)][..], 11, &[0, 100][..]),
            ("pipes that are not known", &[(None, 5), (None, 6)], 11, &[0, 100]),
            ("a substitution of the shell before it", &[(Some(2), 19), (Some(1), 5), (Some(1), 6)], 11, &[100, 200]),
            ("a filter behind the tool", &[(Some(2), 5), (Some(1), 5), (Some(2), 6), (Some(1), 6)], 11, &[0, 200]),
            ("a substitution of as many bytes", &[(Some(2), 11), (Some(1), 5), (Some(1), 6)], 11, &[]),
            ("writes that were not seen", &[(Some(2), 19), (Some(1), 5)], 11, &[]),
            ("a failed write", &[(Some(1), -32), (Some(1), 5)], 5, &[0, 100]),
        ] {
            let writes = writes(of);
            let found: Vec<u64> =
                writes_of_stream(&writes, 1, bytes).into_iter().map(|write| write.span.start_ns).collect();
            assert_eq!(found, expected, "{what}");
        }
    }
}
