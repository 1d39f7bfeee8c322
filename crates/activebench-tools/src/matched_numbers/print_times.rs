//! When each byte of an output was printed. A number is not about what happened after it was printed.

use activebench_model::activity::OutputWrite;
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
        let of_stream = |fd: i32, bytes: &[u8]| {
            let mut until = 0_u64;
            let own = writes.iter().filter(|write| write.fd == fd);
            let times: Vec<(u64, u64)> = own
                .map(|write| {
                    until += u64::try_from(write.span.returned).unwrap_or(0);
                    (until, write.span.start_ns)
                })
                .collect();
            if until == bytes.len() as u64 { times } else { Vec::new() }
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
}
