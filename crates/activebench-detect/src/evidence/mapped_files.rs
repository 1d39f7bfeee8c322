//! What moved through a mapping, which no call shows: what the device did for the file answers for it.
//!
//! A mapped read that the page cache cannot serve becomes requests of the device, a mapped write becomes writeback when
//! it is synced. How much the pass moved is known from what the command asks for: readahead can take more from the device
//! than was asked, so that a large number there does not prove the tool's. Where the device moved all of that inside the
//! clock, the bytes are as good as counted. Where it moved next to nothing, the figure is that of memory. Between the two
//! nothing is known, and neither is anything where the tool counts other bytes than the command asks for.

use activebench_model::claim::Metric;
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Phase};

use crate::run::Run;

/// Less than this share of the bytes at the device is none: what was beside them.
const NEXT_TO_NOTHING: f64 = 0.05;
/// From this share on the device moved all of them, and two counts that differ by no more are of the same bytes.
const ALL: f64 = 0.99;
/// Up to this share the device moved them and no others.
const NO_MORE: f64 = 1.05;

/// The facts that the answer rests on.
pub(crate) const FACTS: [FactName; 6] = [
    FactName::Mappings,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::DeviceReadBytes,
    FactName::DeviceWriteBytes,
    FactName::SyncsInside,
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
    let counted = claimed_bytes(run, phase);
    let asked = phase.requested_bytes.map(|bytes| bytes as f64);
    // A pass over the same bytes again, or in both directions, is more than the device has to move.
    let Some((bytes, most)) = amount(asked, counted).filter(|_| phase.rounds <= 1 && phase.mix.is_none()) else {
        return Ok(Some(Mapped::Open));
    };
    let all = |moved: f64| moved >= ALL * bytes && moved <= most;
    Ok(Some(match phase.direction {
        Direction::Read => match fact(FactName::DeviceReadBytes)? {
            moved if all(moved) => Mapped::AtDevice(bytes),
            moved if moved < NEXT_TO_NOTHING * bytes => Mapped::Cached { read: bytes, from_device: moved },
            _ => Mapped::Open,
        },
        Direction::Write => {
            // Those that succeeded; `MS_ASYNC` promises nothing and is none of them.
            let synced = fact(FactName::SyncsInside)? > 0.0;
            let moved = fact(FactName::DeviceWriteBytes)?;
            match synced {
                true if all(moved) => Mapped::AtDevice(bytes),
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

/// The bytes of the pass, and how many the device may have moved where they are to be told by it. What the tool alone says
/// has to be the device's own number. `None` where the tool and its command say different things, or nothing.
fn amount(asked: Option<f64>, claimed: Option<f64>) -> Option<(f64, f64)> {
    let same = |one: f64, other: f64| one.min(other) >= ALL * one.max(other);
    match (asked, claimed) {
        (Some(asked), Some(claimed)) if !same(asked, claimed) => None,
        (Some(asked), _) => Some((asked, f64::INFINITY)),
        (None, Some(claimed)) => Some((claimed, NO_MORE * claimed)),
        (None, None) => None,
    }
    .filter(|(bytes, _)| *bytes > 0.0)
}

/// The bytes that the tool says it moved.
fn claimed_bytes(run: &Run<'_>, phase: &Phase) -> Option<f64> {
    let counted = run.claims_of(phase).find(|claim| claim.metric == Metric::BytesMoved).map(|claim| claim.value.value);
    counted.or_else(|| run.claims_of(phase).find_map(|claim| claim.claimed_bytes).map(|bytes| bytes as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tool_alone_says_has_to_be_what_the_device_moved() {
        const MIB: f64 = 1_048_576.0;
        assert_eq!(amount(Some(64.0 * MIB), Some(64.0 * MIB)), Some((64.0 * MIB, f64::INFINITY)));
        assert_eq!(amount(Some(64.0 * MIB), None), Some((64.0 * MIB, f64::INFINITY)));
        // A report that was multiplied by two on its way, with a device that read ahead.
        assert_eq!(amount(Some(32.0 * MIB), Some(64.0 * MIB)), None);
        assert_eq!(amount(None, Some(64.0 * MIB)), Some((64.0 * MIB, 1.05 * 64.0 * MIB)));
        assert_eq!((amount(None, None), amount(Some(0.0), None)), (None, None));
    }
}
