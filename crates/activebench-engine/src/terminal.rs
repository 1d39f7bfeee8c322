//! The progress line on a terminal, and the tool's output passed on beside it.

use std::fmt::Arguments;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use activebench_model::units::Quantity;
use activebench_probe::LiveFigures;
use activebench_runner::{Hooks, Stream};
use activebench_tools::OutputFilter;
use indicatif::{ProgressBar, ProgressStyle};

/// Says something to the user on standard error. A closed terminal or pipe is no reason to end: the run goes on, and what
/// it finds is in the run directory.
#[macro_export]
macro_rules! say {
    ($($words:tt)*) => {
        $crate::terminal::say_line(format_args!("activebench: {}", format_args!($($words)*)))
    };
}

/// Writes a line to standard error, if anybody is there to read it.
pub fn say_line(line: Arguments<'_>) {
    // Nobody is left to be told of a failure.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Destination of the child's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOutput {
    /// To ours.
    Stdout,
    /// To our standard error, because our standard output holds a report alone.
    Stderr,
}

/// Shows a run while it goes on.
pub(crate) struct Terminal {
    bar: ProgressBar,
    child_output: ChildOutput,
    quiet: bool,
    before: (Duration, u64, u64, u64),
    broken_pipe: bool,
    /// Removes from standard output what the user did not ask for.
    filter: Option<Box<dyn OutputFilter>>,
}

impl Terminal {
    pub(crate) fn new(child_output: ChildOutput, quiet: bool) -> Self {
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}");
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar
        };
        Self { bar, child_output, quiet, before: (Duration::ZERO, 0, 0, 0), broken_pipe: false, filter: None }
    }

    /// Sends standard output through a filter from here on.
    pub(crate) fn filter(&mut self, filter: Option<Box<dyn OutputFilter>>) {
        self.filter = filter;
    }

    /// Passes on what a filter held back, and removes the progress line.
    pub(crate) fn finish(&mut self) {
        if let Some(mut filter) = self.filter.take() {
            self.write(Stream::Stdout, &filter.finish());
        }
        self.bar.finish_and_clear();
    }

    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        if self.broken_pipe || bytes.is_empty() {
            return;
        }
        let to_stdout = stream == Stream::Stdout && self.child_output == ChildOutput::Stdout;
        let written = self.bar.suspend(|| {
            if to_stdout {
                let mut out = std::io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            } else {
                std::io::stderr().lock().write_all(bytes)
            }
        });
        // The consumer closed our output (`| head`): the run and its record go on.
        self.broken_pipe = written.is_err();
    }
}

impl Hooks for Terminal {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        match self.filter.as_mut().filter(|_| stream == Stream::Stdout) {
            Some(filter) => {
                let passed = filter.pass(bytes);
                self.write(stream, &passed);
            }
            None => self.write(stream, bytes),
        }
    }

    fn tick(&mut self, elapsed: Duration, live: Option<&LiveFigures>) {
        let Some(live) = live else { return };
        let now = (elapsed, live.read_bytes(), live.write_bytes(), live.device_bytes());
        let span_ns = now.0.saturating_sub(self.before.0).as_nanos() as f64;
        let rate = |now: u64, before: u64| {
            Quantity::rate((now - before) as f64, span_ns).map_or_else(|| "-".to_owned(), |rate| rate.to_string())
        };
        let (read, written) = (now.1 - self.before.1, now.2 - self.before.2);
        let doing = match (read, written) {
            (0, 0) => "idle       ",
            (0, _) => "writing    ",
            (_, 0) => "reading    ",
            _ => "reading and writing",
        };
        self.bar.set_message(format!(
            "{doing} calls: {} read, {} written | devices: {} | {} moved",
            rate(now.1, self.before.1),
            rate(now.2, self.before.2),
            rate(now.3, self.before.3),
            Quantity::bytes(now.1 + now.2),
        ));
        self.bar.tick();
        self.before = now;
    }

    fn notice(&mut self, message: &str) {
        if !self.quiet {
            self.bar.suspend(|| say!("{message}"));
        }
    }
}
