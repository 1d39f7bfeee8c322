//! The arguments of `activebench accept`.

use std::path::PathBuf;

use clap::Args;

use super::FormatRequest;

/// What `accept --help` begins with.
pub(crate) const ABOUT: &str = "\
Test a disk against limits that buyer and vendor agreed on beforehand.

FILE.toml holds what they agreed on: the target, a suite of benchmark commands and how often each runs, a limit for \
each figure, the conditions that must hold, and the decision rule. Limits are judged on the honest figures: a claim \
that is confirmed, or the figure that stands for one that does not hold.

Without RUN the suite is run and recorded (as root), each benchmark as a series below OUT, with the file itself, its \
judgement and its reports. With RUN nothing is run: stored runs, series, or the directory of a whole acceptance are \
judged, without root and on any machine.

Each limit ends as pass, conditional pass, conditional fail, fail (ILAC-G8:09/2019), or not judged, where the evidence \
is not whole or a condition does not hold. docs/accept.md describes the file and how the uncertainty is computed.

Exit code: 0 for pass, and for conditional pass where the file accepts it; 1 for fail, conditional fail, and conditional \
pass where it does not; 3 for not judged; 2 for a file that cannot be used, or a device that must not be written or is \
not the one that was agreed on; 4 when the benchmarks could not start; 5 when nothing could be observed; 130 when it \
was interrupted: what was recorded is kept, and is not judged.

Examples:
  activebench accept --init /mnt/bench > offer-42.toml
  activebench accept --check offer-42.toml
  sudo activebench accept offer-42.toml --out offer-42
  activebench accept offer-42/acceptance.toml offer-42
  activebench accept offer-42.toml offer-42 --format markdown=ticket.md --format html=report.html";

/// An acceptance test.
#[derive(Args, Debug)]
pub(crate) struct Accept {
    /// The file that both parties agreed on; with --init the file to be made [default: standard output].
    #[arg(value_name = "FILE.toml", required_unless_present = "init")]
    pub(crate) file: Option<PathBuf>,
    /// Judge these instead of running anything: directories of runs, of series, or of a whole acceptance, or bundles.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Only say whether the file can be used on this machine, and what its commands will run and can claim.
    #[arg(long, conflicts_with_all = ["runs", "init", "out"])]
    pub(crate) check: bool,
    /// Write a commented file for this directory or device, with its identity and sensible benchmarks.
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["runs", "out", "formats"])]
    pub(crate) init: Option<PathBuf>,
    /// Directory of the recorded suite [default: ./activebench-runs/UTC-accept].
    #[arg(long, value_name = "DIR", conflicts_with = "runs")]
    pub(crate) out: Option<PathBuf>,
    /// The raw device that the file names as its target and permits to be destroyed, by its exact path: both must say
    /// so. Refused where the device is mounted, swap, or part of a stack, whatever the file says.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["runs", "init", "check"])]
    pub(crate) destroy: Option<PathBuf>,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `html=report.html`. May be given several times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    pub(crate) formats: Vec<FormatRequest>,
    /// The benchmarks' identity [default: under sudo the invoking user, else your own].
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Say nothing but the report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
