//! What moved through a mapping, which no call shows: what the device did for the file answers for it.
//!
//! A mapped read that the page cache cannot serve becomes requests of the device, a mapped write becomes writeback when
//! it is synced. Where the device moved at least what the tool says that it moved, inside the clock, the bytes are as good
//! as counted. Where it moved next to nothing, the figure is that of memory. Between the two nothing is known.

use activebench_model::claim::Metric;
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Phase};

use crate::context::Run;

/// Less than this share of the bytes at the device is none: what was beside them.
const NEXT_TO_NOTHING: f64 = 0.05;
/// From this share on the device moved all of them.
const ALL: f64 = 0.99;

/// The facts that the answer rests on.
pub(crate) const FACTS: [FactName; 7] = [
    FactName::Mappings,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytes,
    FactName::SyncsInside,
    FactName::Msyncs,
];

/// What the observation says of a pass whose data moves through mappings alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mapped {
    /// The device moved so many bytes for the pass inside the clock: all that it speaks of.
    AtDevice(f64),
    /// The pass read so many bytes, and so many of them came from the device while the clock ran.
    Cached {
        /// What the tool says that it read.
        read: f64,
        /// What the device gave.
        from_device: f64,
    },
    /// No sync while the clock ran took what was written to the device.
    Unsynced {
        /// What the tool says that it wrote.
        written: f64,
        /// Whether a sync came after the clock had stopped.
        synced_later: bool,
    },
    /// None of these.
    Open,
}

/// The answer for a pass that mapped its files and made no data calls; `None` for any other.
///
/// # Errors
/// When a fact that it takes is missing or partial.
pub(crate) fn of(run: &Run<'_>, phase: &Phase) -> Result<Option<Mapped>, String> {
    let fact = |name| run.fact(phase, name);
    if phase.facts.get(FactName::Mappings).is_none() || fact(FactName::Mappings)? == 0.0 {
        return Ok(None);
    }
    if fact(FactName::ReadBytes)? + fact(FactName::WriteBytes)? > 0.0 {
        return Ok(None);
    }
    // A pass over the same bytes again, or in both directions, is more than the device has to move.
    let Some(bytes) = stated_bytes(run, phase).filter(|_| phase.rounds <= 1 && phase.mix.is_none()) else {
        return Ok(Some(Mapped::Open));
    };
    Ok(Some(match phase.direction {
        Direction::Read => match fact(FactName::DeviceReadBytes)? {
            moved if moved >= ALL * bytes => Mapped::AtDevice(bytes),
            moved if moved < NEXT_TO_NOTHING * bytes => Mapped::Cached { read: bytes, from_device: moved },
            _ => Mapped::Open,
        },
        Direction::Write => {
            let synced = fact(FactName::SyncsInside)? + fact(FactName::Msyncs)? > 0.0;
            let moved = fact(FactName::DeviceWriteBytes)?;
            match synced {
                true if moved >= ALL * bytes => Mapped::AtDevice(bytes),
                false if moved < NEXT_TO_NOTHING * bytes => {
                    let synced_later = phase.parts.iter().any(|part| part.sync_after.is_some());
                    Mapped::Unsynced { written: bytes, synced_later }
                }
                _ => Mapped::Open,
            }
        }
        Direction::Mixed | Direction::Discard | Direction::None => Mapped::Open,
    }))
}

/// The bytes that the tool says it moved, or was asked to.
fn stated_bytes(run: &Run<'_>, phase: &Phase) -> Option<f64> {
    let counted = |metric| run.claims_of(phase).find(|claim| claim.metric == metric).map(|claim| claim.value.value);
    let of_rates = || run.claims_of(phase).find_map(|claim| claim.claimed_bytes).map(|bytes| bytes as f64);
    let asked = || phase.requested_bytes.map(|bytes| bytes as f64);
    counted(Metric::BytesMoved).or_else(of_rates).or_else(asked).filter(|bytes| *bytes > 0.0)
}
