//! `activebench ceiling`: measures the parts that make up a figure on a target, and stores them on the host.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use activebench_engine::ceiling::{self, Request};
use activebench_engine::failure::{ExitCode, Failure, INTERRUPTED};
use activebench_engine::say;
use activebench_engine::terminal::say_line;
use activebench_model::ceiling::{Ceiling, Part};
use activebench_report::ceiling::figure;
use activebench_report::escape;
use anyhow::anyhow;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Rights, Subcommand};
use crate::arguments::parse_size;
use crate::formats::FormatRequest;
use crate::output;

/// Exit code if a part could not be measured: that of an inconclusive run.
const INCOMPLETE: i32 = 3;

const ABOUT: &str = "\
Measure the maximum of a target and this machine, by the parts that make up every figure on it.

  calls       system calls per second with one byte each, on memory: one thread, and one per CPU
  copy        copies through the kernel, as by reads and writes of cached data: 4 KiB and 1 MiB per call, over 1 MiB per \
thread and over 256 MiB in total
  random      direct I/O of 4 KiB at random offsets at depth 1 and 32, with fio
  sequential  direct I/O of 1 MiB, ascending, at depth 1 and 32, with fio
  durable     direct writes of 4 KiB, one at a time, each made durable before the next, with fio
  round-trip  one request to the server of a network file system
  links       bandwidth of PCIe, SATA, SAS or the network, from sysfs

Each part is measured three to six times, until the best two differ by at most 25 %; the best counts, and the spread \
is reported. A part that scatters more is left out. A part counts only if the counters of \
the device below confirm that it served the bytes. The result is stored on this host, and every later `verify` on the \
same storage shows its figures as shares of it (docs/ceiling.md).

TARGET is a directory, a file or a block device. Files and devices are only read. In a directory a file without a name \
is created, read and written; it disappears however activebench ends. It contains random data, so that no layer \
compresses it.

Exit code: 0 if every part was measured or does not apply here; 2 for wrong usage, too little free space, and a result \
that could not be stored or written (it is printed); 3 if a part could not be measured (the others are kept); 130 if \
interrupted (nothing is kept).

Examples:
  sudo activebench ceiling /mnt/bench
  sudo activebench ceiling /dev/nvme0n1 --seconds 10
  activebench ceiling /mnt/bench --no-writes --out bench.json --format json";

/// Measure the maximum of a target and this machine: later reports show figures as shares of it.
#[derive(Args, Debug)]
#[command(name = "ceiling", long_about = ABOUT)]
pub(crate) struct MeasureCeiling {
    /// A directory, file or block device.
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Time limit for a part of the storage, with its three repetitions; a part of the memory takes a quarter.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Size of the file that is created in a directory, at most half of the free space.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    size: u64,
    /// Measure no writes in the file that is created in a directory.
    #[arg(long)]
    no_writes: bool,
    /// Write the result to this file too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `html=ceiling.html`. May be given several
    /// times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    formats: Vec<FormatRequest>,
    /// Print nothing on standard error but errors.
    #[arg(long, short)]
    quiet: bool,
}

impl Subcommand for MeasureCeiling {
    fn rights(&self) -> Rights {
        Rights::Root
    }

    fn run(&self) -> Result<i32, Failure> {
        output::document_formats_exist::<Ceiling>(&self.formats)?;
        let out = self.out.as_deref();
        let (target, seconds, size_bytes, write) = (&self.target, self.seconds, self.size, !self.no_writes);
        let mut screen = Screen::new(self.quiet);
        let measured = ceiling::measure(&Request { target, seconds, size_bytes, write, out }, &mut screen);
        screen.finish();
        let Some(ceiling) = measured? else {
            say!("interrupted: nothing is kept");
            return Ok(INTERRUPTED);
        };
        let kept = ceiling::keep(&ceiling, out);
        output::deliver_answer(&self.formats, &ceiling)?;
        if !self.quiet {
            kept.files.iter().for_each(|file| say!("kept in {}", file.display()));
        }
        match kept.failed.is_empty() {
            true => Ok(if ceiling::is_complete(&ceiling) { 0 } else { INCOMPLETE }),
            false => Err(Failure::new(ExitCode::Usage, anyhow!(kept.failed.join("\n")))),
        }
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.3..=600.0).contains(seconds));
    seconds.ok_or_else(|| format!("no time from 0.3 to 600 seconds: `{text}`"))
}

/// Progress on standard error.
struct Screen {
    bar: ProgressBar,
    quiet: bool,
    is_terminal: bool,
}

impl Screen {
    fn new(quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if quiet || !is_terminal { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, quiet, is_terminal }
    }

    fn line(&mut self, line: &str) {
        if self.is_terminal && !self.quiet { self.bar.println(line) } else { say_line(format_args!("{line}")) }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl ceiling::Screen for Screen {
    fn says(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn measured(&mut self, part: &Part) {
        let line = format!("{}: {}", part.words(), figure(part));
        if !self.quiet {
            self.line(&escape::terminal(&line));
        }
    }

    /// Prints a warning, even when quiet.
    fn warns(&mut self, what: &str) {
        self.line(&format!("activebench: {}", escape::terminal(what)));
    }
}
