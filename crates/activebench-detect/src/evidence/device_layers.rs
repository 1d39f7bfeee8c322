//! Bytes at the device of a pass and at the layers below it: one place for the detectors that compare the bytes at one
//! layer against those above.

use activebench_model::fact::FactName;
use activebench_model::host::Target;
use activebench_model::phase::{Direction, Phase};

use crate::evidence::bytes::{
    Amount, BELOW_READ, BELOW_WRITTEN_DURABLE, Completed, Counted, DEVICE_READ, DEVICE_WRITTEN_DURABLE, OTHERS_READ,
    OfFiles, READ, UntilDurable,
};
use crate::evidence::rebuilt_figure::buffers_bytes;
use crate::run::Run;

/// Returns the most bytes of a reading pass that its device delivered: those of its files, or more if the device moved
/// more that belongs to nobody else. Requests that a worker of the kernel issues later (a throttled group's) carry the
/// data without its file.
///
/// # Errors
/// When a fact is missing or partial.
pub(crate) fn from_device(run: &Run<'_>, phase: &Phase) -> Result<Amount<Completed, OfFiles>, String> {
    Ok(run.amount(phase, DEVICE_READ)?.most(Amount::of(nobody_elses(run, phase)?)))
}

/// Returns the most bytes of a writing pass that its device received until they were durable. Packed extents and
/// journals carry data without its file.
///
/// # Errors
/// When a fact is missing or partial.
pub(crate) fn to_device(run: &Run<'_>, phase: &Phase) -> Result<Amount<UntilDurable, OfFiles>, String> {
    Ok(run.amount(phase, DEVICE_WRITTEN_DURABLE)?.most(Amount::of(nobody_elses(run, phase)?)))
}

/// Returns all bytes at the device that belong to nobody else: inside the window, for writes until durable.
fn nobody_elses(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let total = run.fact(phase, FactName::DeviceTotalBytes)?;
    let foreign = match phase.facts.get(FactName::ForeignBytes) {
        None => 0.0,
        Some(_) => run.fact(phase, FactName::ForeignBytes)?,
    };
    Ok(total - foreign)
}

/// Bytes at the layers below the device, at the one that moved least. `None` if there is no layer below, and if a
/// page cache is between: it may have answered, which AB205 judges.
///
/// # Errors
/// When the fact is missing or partial.
pub(crate) fn below<Time>(
    run: &Run<'_>,
    phase: &Phase,
    counted: Counted<Time, OfFiles>,
) -> Result<Option<Amount<Time, OfFiles>>, String> {
    let Some(amount) = run.amount_if_any(phase, counted)? else { return Ok(None) };
    let target = run.target_of(phase).filter(|target| !target.layers.is_empty());
    let target = target.ok_or_else(|| "the devices below the file are not known".to_owned())?;
    Ok(target.cached_layer().is_none().then_some(amount))
}

/// As [`from_device`], down to the layer that read least.
///
/// # Errors
/// When a fact is missing or partial.
pub(crate) fn from_lowest(run: &Run<'_>, phase: &Phase) -> Result<Amount<Completed, OfFiles>, String> {
    let from_device = from_device(run, phase)?;
    Ok(below(run, phase, BELOW_READ)?.map_or(from_device, |below| below.least(from_device)))
}

/// As [`to_device`], down to the layer that wrote least.
///
/// # Errors
/// When a fact is missing or partial.
pub(crate) fn to_lowest(run: &Run<'_>, phase: &Phase) -> Result<Amount<UntilDurable, OfFiles>, String> {
    let to_device = to_device(run, phase)?;
    Ok(below(run, phase, BELOW_WRITTEN_DURABLE)?.map_or(to_device, |below| below.least(to_device)))
}

/// Bytes of direct reads that did not come from a device or a hole: btrfs serves the first read into each buffer that
/// was never touched through the page cache, which may hold them.
pub(crate) fn through_fresh_buffers(target: &Target, phase: &Phase) -> f64 {
    match target.fs_type == "btrfs" && phase.direction == Direction::Read {
        true => buffers_bytes(phase),
        false => 0.0,
    }
}

/// The layers below the device in words: `loop0 lies on vda`.
pub(crate) fn lies_on(target: &Target) -> String {
    let names = |layers: &mut dyn Iterator<Item = &str>| layers.collect::<Vec<_>>().join(" and ");
    let devices = names(&mut target.devices().map(|layer| layer.name.as_str()));
    let lowest = target.levels_below().pop().unwrap_or_default();
    match names(&mut lowest.iter().map(|layer| layer.name.as_str())) {
        below if below.is_empty() => format!("{devices} is on other devices"),
        below => format!("{devices} is on {below}"),
    }
}

/// Bytes of a pass that are missing at the device, which counts those of all passes on the same files together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Missing {
    /// Bytes that are missing of this pass in any case.
    pub(crate) least: f64,
    /// The most bytes that can be missing of this pass.
    pub(crate) most: f64,
}

impl Missing {
    /// Computes the missing bytes of a pass from `of_all`, those that are missing of all passes together.
    pub(crate) fn of(run: &Run<'_>, phase: &Phase, of_all: f64) -> Result<Self, String> {
        let others = run.amount_if_any(phase, OTHERS_READ)?.map_or(0.0, |others| others.bytes());
        let own = run.amount(phase, READ)?.bytes();
        Ok(Self { least: (of_all - others).clamp(0.0, own), most: of_all.clamp(0.0, own) })
    }
}

/// Returns the bytes that the calls of all passes on the files of a reading pass read while it ran.
///
/// # Errors
/// When a fact is missing or partial.
pub(crate) fn read_by_all(run: &Run<'_>, phase: &Phase) -> Result<Amount<Completed, OfFiles>, String> {
    let own = run.amount(phase, READ)?;
    Ok(run.amount_if_any(phase, OTHERS_READ)?.map_or(own.at_least_of_files(), |others| own.with(others)))
}
