//! # What it finds
//! Reads of blocks that were never written: holes, or extents that are allocated and empty.
//!
//! # Why it matters
//! The file system answers such reads with zeros of its own and asks no device. The figure is that
//! of clearing memory.
//!
//! # How it decides
//! For passes that only read, on a block device that keeps its data:
//!
//! - through O_DIRECT: the bytes read that the device did not deliver for the phase's files;
//! - through the page cache: the bytes that entered it without the device delivering them.
//!
//! Bytes that passed the device for nobody else and could not be put down to a file count as delivered. As a share of the
//! bytes read: above 0.1 % it warns, above 1 % it fails, and rates for storage are
//! misleading.
//!
//! Where a file system stores data packed (btrfs, or a mount with a compress option) fewer bytes are
//! read than are delivered, so there it is undecided.
//!
//! # When it is wrong
//! Files that lie in their inode (ext4 up to 150 bytes) need no data block. Data that was prefetched
//! before the clock ran is in the cache and enters it no more.
//!
//! # What to do
//! Write the whole file with data before it is read (fio lays files out only where they are missing or
//! too small; a sparse file of the right size it takes as it is).
//!
//! # References
//! fio #719, #1473; ior #261; elbencho prints a note for sparse files. fio 3.33 on such a file: 420,000
//! direct reads a second, 0 bytes from the device (measured).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::case::{Case, Firing, Halt, Weight, fact_if_any, of_each_seen_phase};
use crate::context::{Detector, Run};

/// See the head of this file.
pub struct UnwrittenBlocksRead;

const FACTS: &[FactName] = &[
    FactName::ReadBytes,
    FactName::DirectShare,
    FactName::DeviceReadBytes,
    FactName::DeviceTotalBytes,
    FactName::ForeignBytes,
    FactName::CacheInsertedBytes,
    FactName::DirectCachedBytes,
    FactName::WriteBytes,
];

impl Detector for UnwrittenBlocksRead {
    fn code(&self) -> &'static str {
        "AB207"
    }
    fn name(&self) -> &'static str {
        "unwritten-blocks-read"
    }
    fn source(&self) -> &'static str {
        include_str!("unwritten_blocks_read.rs")
    }

    fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        of_each_seen_phase(self, run, FACTS, judge)
    }
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if phase.direction != Direction::Read {
        return Err(Halt::not_applicable("the pass does not only read"));
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    let target = run.target_of(phase).ok_or_else(|| Halt::undecided("it is not known what the file lies on"))?;
    match target.tier {
        Tier::Block => {}
        Tier::Memory => return Err(Halt::not_applicable("the file lies in memory: AB106 speaks of it")),
        Tier::Network | Tier::Fuse => {
            return Err(Halt::not_applicable(format!("how {} stores its blocks is not seen here", target.fs_type)));
        }
        Tier::Unknown => return Err(Halt::undecided("what lies below the file is not known")),
    }
    let read = run.moved(phase)?;
    if read == 0.0 {
        return Err(Halt::not_applicable("no byte was read: AB106 speaks of it"));
    }
    if run.fact(phase, FactName::WriteBytes)? > 0.0 {
        return Err(Halt::not_applicable("the pass writes too: what it reads can be its own data"));
    }
    let direct = run.fact(phase, FactName::DirectShare)?;
    let of_files = run.fact(phase, FactName::DeviceReadBytes)?;
    // Requests that a worker of the kernel issues later (a throttled group's) carry the data without its file.
    let total = run.fact(phase, FactName::DeviceTotalBytes)?;
    let from_device = of_files.max(total - fact_if_any(phase, FactName::ForeignBytes)?.unwrap_or(0.0));
    let (expected, how) = if direct >= 1.0 {
        if fact_if_any(phase, FactName::DirectCachedBytes)?.unwrap_or(0.0) > 0.0 {
            return Err(Halt::not_applicable("the direct reads passed the page cache: AB204 speaks of it"));
        }
        (read, "read with O_DIRECT")
    } else if direct == 0.0 {
        // What was brought in beyond what was read can still be on its way when the clock stops.
        (run.fact(phase, FactName::CacheInsertedBytes)?.min(read), "brought into the page cache to be read")
    } else {
        return Err(Halt::undecided("direct and buffered reads are mixed: they cannot be told apart at the device"));
    };
    let missing = (expected - from_device).max(0.0).min(read);
    let share = missing / read;
    if share <= limits.ab207_unwritten_warn_ratio.value.value {
        return Ok(case.silent(""));
    }
    if target.fs_type == "btrfs" || target.options.contains("compress") {
        return Err(Halt::undecided(format!(
            "{} less came from the device than was read, which packed extents of {} explain as well",
            in_bytes(missing),
            target.fs_type
        )));
    }
    let (weight, threshold) = match share > limits.ab207_unwritten_fail_ratio.value.value {
        true => (Weight::Fail(Effect::Misleading), &limits.ab207_unwritten_fail_ratio),
        false => (Weight::Warn(Effect::Misleading), &limits.ab207_unwritten_warn_ratio),
    };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: format!(
            "{} were {how}, {} of them without a read at the device: holes, or blocks that were never written",
            in_bytes(expected),
            in_bytes(missing)
        ),
        meaning: "the file system made these bytes up: the figure is not that of the device".to_owned(),
        advice: "write the whole file with data before reading it (`dd if=/dev/urandom`, or the tool's own writing \
                 pass), and do not make it with truncate or fallocate"
            .to_owned(),
    }))
}

fn in_bytes(value: f64) -> Quantity {
    Quantity { value, ..Quantity::bytes(0) }
}
