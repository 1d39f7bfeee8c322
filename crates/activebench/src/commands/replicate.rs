//! `activebench replicate`: replays a stored run's I/O with fio, under our own observation.

use std::path::PathBuf;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::replication::{Request, replicate};
use activebench_engine::say;
use activebench_model::replication::Replication;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::{RunsFolder, parse_percent};
use crate::formats::FormatRequest;
use crate::output;

/// The first paragraph of `replicate --help`.
const ABOUT: &str = "\
Replay a stored run's I/O through an independent engine: claimed, observed and replicated side by side.

Each pass of the run is replayed separately, in the order of the run: the calls that the tool's clock covered, with the \
sizes of their files, offsets, lengths, order, depth and syncs, as an iolog that fio reads, as fast as possible (at the \
times of the run if the tool limited its own pace). Syncs that made the data durable after the clock had stopped are \
replayed too, and give a rate of their own.

The replay works on new files in a folder of its own below DIR, never on yours: a pass that wrote a new \
file writes a new one, a pass that found data finds incompressible data, in the cache or not as in the recorded pass. \
The folder is removed at the end, and on Ctrl-C. A raw device is only read; --destroy DEVICE, its exact path, allows \
the passes that wrote to one to write to this one.

Each replay is observed too. It counts if it repeated every operation of the pass and found the cache in the same \
state; otherwise the report names the difference, and the outcome is incomplete. The run directories are below OUT.

A rate agrees if the observed one is between the lowest and the highest of the replays, or within --tolerance of their \
median.

Needs root, as `verify` does, and fio (`apt-get install fio`).

Exit code: 0 if every operation was repeated and every rate agrees; 1 if a rate does not agree; 3 if a pass was not \
replayed, or not as recorded; 2 for wrong usage, including too little space; 4 if fio is missing or fails; 5 if \
observation is not possible; 130 if interrupted.

Examples:
  sudo activebench replicate activebench-runs/20261121T040506Z-iozone --target /mnt/disk-a
  sudo activebench replicate runs/disk-a --target /mnt/disk-b --runs 5
  sudo activebench replicate runs/disk-a --target /mnt/disk-a --format markdown=ticket.md --format json=replication.json";

/// Replay a stored run's I/O through an independent engine: claimed, observed and replicated side by side.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct Replicate {
    /// The run's directory, or a bundle of it.
    run: PathBuf,
    /// Folder on the disk to replay on; for a run on a block device that device [default there: the recorded one].
    #[arg(long, value_name = "DIR")]
    target: Option<PathBuf>,
    /// Replay the passes that wrote to a raw device on this one, which destroys its content. Refused for a device that
    /// is mounted or otherwise in use, or that contains a file system or a partition table.
    #[arg(long, value_name = "DEVICE")]
    destroy: Option<PathBuf>,
    /// Number of replays of each pass.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Maximum difference between the median of the replays and the observed rate, in percent of the observed rate.
    // Our own default: how much runs of the same on one disk differ.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = parse_percent)]
    tolerance: f64,
    /// Directory of the replays' records and of replication.json [default: a new one in the folder of runs, UTC-replicate].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `markdown=ticket.md`. May be given several
    /// times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    formats: Vec<FormatRequest>,
    /// Print nothing but the report.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    runs_folder: RunsFolder,
}

impl Subcommand for Replicate {
    fn rights(&self) -> Rights {
        Rights::Root
    }

    fn run(&self) -> Result<i32, Failure> {
        output::document_formats_exist::<Replication>(&self.formats)?;
        let replicated = replicate(&Request {
            run: &self.run,
            target: self.target.as_deref(),
            destroy: self.destroy.as_deref(),
            runs: self.runs,
            tolerance_ratio: self.tolerance / 100.0,
            out: self.out.as_deref(),
            runs_folder: &self.runs_folder.path,
            quiet: self.quiet,
        })?;
        let replication = &replicated.replication;
        output::deliver_answer(&self.formats, replication)?;
        replicated.written.or_exit(ExitCode::Usage)?;
        if !self.quiet {
            say!("replays, logs and replication.json: {}", replicated.out.display());
        }
        Ok(replicated.ended.unwrap_or(replication.exit_code))
    }
}
