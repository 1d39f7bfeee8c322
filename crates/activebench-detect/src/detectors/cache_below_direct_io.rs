//! # What it finds
//! Direct I/O to a device that keeps its data behind a cache of this host: a loop device without direct I/O to its
//! backing file.
//!
//! # Why it matters
//! O_DIRECT leaves out the page cache of the file. The loop device then goes through that of its backing file, and the
//! figure is memory's all the same.
//!
//! # How it decides
//! For passes whose bytes went through O_DIRECT (99.9 %): a loop device with `dio` 0 among the layers below fails, and
//! rates for storage are misleading. A writing pass that syncs inside its clock is silent, because the sync goes down
//! through the loop device. Unknown `dio` leaves it undecided.
//!
//! # When it is wrong
//! When the backing file was not cached at all, reads came from its device.
//!
//! # What to do
//! `losetup --direct-io=on`, or name a file on the real device.
//!
//! # References
//! ANOLISA #2523. 128 MiB written "direct" to such a loop device were 128 MiB of dirty pages and 0 bytes on the disk
//! (measured).

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::case::{Case, Firing, Halt, Weight, of_each_seen_phase, what_lies_below};
use crate::context::{Detector, Run};

/// See the head of this file.
pub struct CacheBelowDirectIo;

const FACTS: &[FactName] = &[FactName::DirectShare, FactName::SyncsInside, FactName::ReadBytes, FactName::WriteBytes];

impl Detector for CacheBelowDirectIo {
    fn code(&self) -> &'static str {
        "AB205"
    }
    fn name(&self) -> &'static str {
        "cache-below-direct-io"
    }
    fn source(&self) -> &'static str {
        include_str!("cache_below_direct_io.rs")
    }

    fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        of_each_seen_phase(self, run, FACTS, judge)
    }
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    let target = run.target_of(phase).ok_or_else(|| Halt::undecided("it is not known what the file lies on"))?;
    let known = target.tier != Tier::Unknown && (target.tier != Tier::Block || !target.layers.is_empty());
    let has_loop = target.layers.iter().any(|layer| layer.kind == "loop");
    if known && !has_loop {
        return Err(Halt::not_applicable("no loop device lies below the file"));
    }
    if run.moved(phase)? == 0.0 {
        return Err(Halt::not_applicable("no byte was moved: AB106 speaks of it"));
    }
    if phase.direction == Direction::Discard {
        return Err(Halt::not_applicable("a discard moves no data that a cache could keep"));
    }
    if run.fact(phase, FactName::DirectShare)? < limits.ab112_promised_share_ratio.value.value {
        return Err(Halt::not_applicable("the pass does not go past the page cache"));
    }
    if !has_loop {
        return Err(what_lies_below(target));
    }
    let loops = target.layers.iter().filter(|layer| layer.kind == "loop");
    let Some(buffered) = loops.clone().find(|layer| layer.loop_direct_io != Some(true)) else {
        return Ok(case.silent(""));
    };
    if phase.direction == Direction::Write && run.fact(phase, FactName::SyncsInside)? > 0.0 {
        return Ok(case.silent("a sync inside the clock goes down through the loop device"));
    }
    if buffered.loop_direct_io.is_none() {
        return Err(Halt::undecided(format!("how {} reads and writes its backing file is not known", buffered.name)));
    }
    let backing = buffered.backing_file.as_deref().unwrap_or("its backing file");
    Ok(case.fires(Firing {
        weight: Weight::Fail(Effect::Misleading),
        observed: Some(Quantity::count(0)),
        threshold: Threshold { value: Quantity::count(1), source: "`dio` of the loop device".to_owned() },
        message: format!(
            "{} goes through the page cache of {backing}, past which O_DIRECT does not reach",
            buffered.name
        ),
        meaning: "the figure is that of this host's memory as far as it holds the backing file".to_owned(),
        advice: format!("`losetup --direct-io=on /dev/{}`, or name a file on the real device", buffered.name),
    }))
}
