//! hdparm's two timings.

use activebench_model::claim::Subject;
use activebench_model::phase::{Direction, Mechanism, Pattern, Phase, Promise, Submission};

/// Bytes of one read.
pub(super) const READ_BYTES: u64 = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// `-T`: one block again and again, with `--direct` past the page cache.
    Cached,
    /// `-t`: block after block.
    Disk,
}

impl Timing {
    /// Returns the id of its phase for a device, numbered from 1 in the order of the command.
    pub(super) fn id(self, device: usize) -> String {
        let name = match self {
            Timing::Cached => "cached-reads",
            Timing::Disk => "disk-reads",
        };
        if device <= 1 { name.to_owned() } else { format!("{name}-{device}") }
    }

    pub(super) fn subject(self) -> (Subject, &'static str) {
        match self {
            Timing::Cached => {
                (Subject::CachedFilesystem, "-T reads one block again and again, and calls it cached reads")
            }
            Timing::Disk => (Subject::Device, "-t calls them disk reads"),
        }
    }

    /// Returns its phase, without parts.
    pub(super) fn phase(self, device: usize, direct: bool) -> Phase {
        let (name, pattern, seconds) = match self {
            Timing::Cached => ("cached reads", Pattern::SingleBlock, 2),
            Timing::Disk => ("disk reads", Pattern::Sequential, 3),
        };
        let promise = Promise { option: "--direct".to_owned(), mechanism: Mechanism::DirectIo };
        Phase {
            pattern,
            block_bytes: Some(READ_BYTES),
            clock: match self {
                Timing::Cached => "first read to last read, without the time of as many seeks".to_owned(),
                Timing::Disk => "first read to last read".to_owned(),
            },
            submission: Submission::Synchronous,
            promises: if direct { vec![promise] } else { Vec::new() },
            time_limit_ns: Some(seconds * 1_000_000_000),
            ..Phase::planned(self.id(device), name, Direction::Read)
        }
    }
}
