//! The arguments of `activebench replicate`.

use std::path::PathBuf;

use clap::Args;

use super::FormatRequest;

/// What `replicate --help` says in front.
pub(super) const ABOUT: &str = "\
Replay a stored run's I/O through an independent engine: claimed, observed and replicated side by side.

Each pass of the run is replayed for itself, in the order of the run: the calls that the tool's clock covered, with \
their files' sizes, offsets, lengths, order, depth and syncs, as an iolog that fio reads, as fast as it goes (at the \
times of the run where the tool held itself back). The syncs that made the data durable after the clock had stopped \
are replayed too, and give a rate of their own.

The replay works on fresh files in a folder of its own beside the recorded ones, never on yours: a pass that wrote a \
new file writes a new one, a pass that found data finds incompressible data, in the cache or not as the recorded pass \
found it. The folder is removed at the end, and on Ctrl-C. A raw device is only read; \
--destroy DEVICE, its exact path, lets the passes that wrote to one write to this one.

Each replay is itself observed, and counts when it repeated every operation of the pass and found the cache as the \
pass did: what did not is said, and the outcome is then incomplete. The run directories lie below OUT.

A rate agrees when the observed one lies between the least and the most of the replays, or no farther from their \
median than --tolerance.

Needs root, as `verify` does, and fio (`apt-get install fio`).

Exit code: 0 when every operation was repeated and every rate agrees; 1 when a rate does not; 3 when a pass was not \
replayed, or not as recorded; 2 for wrong usage, too little space included; 4 when fio is missing or fails; 5 when \
observation is not possible; 130 when interrupted.

Examples:
  sudo activebench replicate activebench-runs/20261121T040506Z-iozone
  sudo activebench replicate runs/disk-a --target /mnt/disk-b --runs 5
  sudo activebench replicate runs/disk-a --format markdown=ticket.md --format json=replication.json";

/// Replays a stored run.
#[derive(Args, Debug)]
pub(crate) struct Replicate {
    /// The run's directory, or a bundle of it.
    pub(crate) run: PathBuf,
    /// Folder on the disk to replay on, or the block device for a run on one [default: where the recorded files were].
    #[arg(long, value_name = "DIR")]
    pub(crate) target: Option<PathBuf>,
    /// Replay the passes that wrote to a raw device on this one, which destroys what is on it. Refused for a device that
    /// is mounted or otherwise in use, or that holds a file system or a partition table.
    #[arg(long, value_name = "DEVICE")]
    pub(crate) destroy: Option<PathBuf>,
    /// How often each pass is replayed.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// How far the median of the replays may lie from the observed rate and still agree with it, in percent of that.
    // Our own default: how much runs of the same on one disk differ.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = super::parse_percent)]
    pub(crate) tolerance: f64,
    /// Directory of the replays' records and of replication.json [default: ./activebench-runs/UTC-replicate].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `markdown=ticket.md`. May be given several
    /// times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    pub(crate) formats: Vec<FormatRequest>,
    /// Say nothing but the report.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
