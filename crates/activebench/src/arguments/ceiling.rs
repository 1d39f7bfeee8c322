//! `activebench ceiling`.

use std::path::PathBuf;

use clap::Args;

use super::parse_size;

pub(crate) const ABOUT: &str = "\
Measure what a target and this machine give at most: the parts of which every figure on it is made.

  calls       calls a second of one byte each, on memory: one thread, and one for each processor
  copy        copies through the kernel, as reads and writes of cached data make them: 4 KiB and 1 MiB a call,
              over 1 MiB a thread and over 256 MiB in all
  random      direct I/O of 4 KiB at random places at depth 1 and 32, with fio
  sequential  direct I/O of 1 MiB, ascending, at depth 1 and 32, with fio
  round-trip  one question to the server of a network file system
  links       what PCIe, SATA, SAS or the network carries, from sysfs

Each part is measured three times; the best counts, and the spread is given. A part counts only if the counters of the \
device below say that it served the bytes. The result is kept with this host, and every later `verify` on the same \
storage shows its figures as shares of it (docs/ceiling.md).

TARGET is a directory, a file or a block device. Files and devices are only read. In a directory a file without a name \
is laid out, which is gone when activebench ends in whatever way. It is random data, so that nothing below packs it.

Exit code: 0 when every part was measured or does not apply here, 2 for wrong usage, where there is no room, and where \
the result could not be kept or written (it is printed), 3 when a part could not be measured (the others are kept), 130 \
interrupted (nothing is kept).

Examples:
  sudo activebench ceiling /mnt/bench
  sudo activebench ceiling /dev/nvme0n1 --seconds 10
  activebench ceiling /mnt/bench --write --out bench.json --format json";

/// Measures a target's parts.
#[derive(Args, Debug)]
pub(crate) struct Ceiling {
    /// A directory, file or block device.
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// How long a part of the storage may take, its three repetitions together; a part of the memory takes a quarter.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// Size of the file that is laid out in a directory, at most half of the room that is free.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    pub(crate) size: u64,
    /// Measure writes too, in the file that is laid out: direct, made durable by an fsync inside the clock. Only for a
    /// directory: what is there already is never written.
    #[arg(long)]
    pub(crate) write: bool,
    /// Write the result to this file, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = super::DoctorFormat::Text)]
    pub(crate) format: super::DoctorFormat,
    /// Say nothing on standard error but errors.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.3..=600.0).contains(seconds));
    seconds.ok_or_else(|| format!("no time from 0.3 to 600 seconds: `{text}`"))
}
