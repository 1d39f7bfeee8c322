//! Data that moved through a mapping, which no call shows: the I/O of the device for the file is the evidence.
//!
//! A mapped read that the page cache cannot serve becomes requests of the device, a mapped write becomes writeback when
//! it is synced. The command states how much the pass moves: readahead can read more from the device than requested, so
//! a large number at the device does not prove the tool's number. If the device moved all of these bytes inside the
//! clock, they count as observed. If it moved almost none, the figure is that of memory. Anything between leaves the
//! question open, and so does a tool that counts other bytes than the command asks for.

use activebench_model::claim::Metric;
use activebench_model::fact::FactName;
use activebench_model::phase::{Direction, Phase};

use crate::run::Run;

/// Less than this share of the bytes at the device does not count: other I/O of the device.
const NEXT_TO_NOTHING: f64 = 0.05;
/// From this share on the device moved all of them. Two counts that differ by less are of the same bytes.
const ALL: f64 = 0.99;
/// Up to this share the device moved them and no others.
const NO_MORE: f64 = 1.05;

/// The facts that the answer needs.
pub(crate) const FACTS: [FactName; 8] = [
    FactName::Mappings,
    FactName::ReadBytes,
    FactName::WriteBytes,
    FactName::DeviceReadBytes,
    FactName::DeviceReadAtMost,
    FactName::DeviceWriteBytes,
    FactName::DeviceWriteAtMost,
    FactName::SyncsInside,
];

/// The observation of a pass whose data moves through mappings alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mapped {
    /// The device moved these bytes for the pass inside the clock: all that the claim covers.
    AtDevice(f64),
    /// The pass read so many bytes, and so many of them came from the device while the clock ran.
    Cached {
        /// Bytes that the tool states as read.
        read: f64,
        /// Bytes that the device read.
        from_device: f64,
    },
    /// No sync inside the clock moved the written data to the device.
    Unsynced {
        /// Bytes that the tool states as written.
        written: f64,
        /// `true` if a sync came after the clock had stopped.
        synced_later: bool,
    },
    /// None of these.
    Open,
}

/// The answer for a pass that mapped its files and made no data calls; `None` for any other.
///
/// # Errors
/// When a fact that it needs is missing or partial.
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
    // A pass over the same bytes again, or in both directions, moves more than the device has to.
    let Some((bytes, most)) = amount(asked, counted).filter(|_| phase.loops <= 1 && phase.mix.is_none()) else {
        return Ok(Some(Mapped::Open));
    };
    let all = |moved: f64| moved >= ALL * bytes && moved <= most;
    Ok(Some(match phase.direction {
        Direction::Read => match run.at_most(phase, FactName::DeviceReadBytes)? {
            moved if moved < NEXT_TO_NOTHING * bytes => Mapped::Cached { read: bytes, from_device: moved },
            _ if all(fact(FactName::DeviceReadBytes)?) => Mapped::AtDevice(bytes),
            _ => Mapped::Open,
        },
        Direction::Write => {
            // Those that succeeded, without `MS_ASYNC`, which promises nothing.
            let synced = fact(FactName::SyncsInside)? > 0.0;
            match synced {
                true if all(fact(FactName::DeviceWriteBytes)?) => Mapped::AtDevice(bytes),
                false if run.at_most(phase, FactName::DeviceWriteBytes)? < NEXT_TO_NOTHING * bytes => {
                    let synced_later = phase.parts.iter().any(|part| part.sync_after.is_some());
                    Mapped::Unsynced { written: bytes, synced_later }
                }
                _ => fact(FactName::DeviceWriteBytes).map(|_| Mapped::Open)?,
            }
        }
        Direction::Mixed | Direction::Discard | Direction::None => Mapped::Open,
    }))
}

/// The bytes of the pass, and how many the device may have moved if they are to be derived from it. Bytes that the tool
/// alone states have to be the device's own number. `None` if the tool and its command say different things, or
/// nothing.
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

/// Returns the bytes that the tool states.
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
        // A report that a wrapper multiplied by two, with a device that read ahead.
        assert_eq!(amount(Some(32.0 * MIB), Some(64.0 * MIB)), None);
        assert_eq!(amount(None, Some(64.0 * MIB)), Some((64.0 * MIB, 1.05 * 64.0 * MIB)));
        assert_eq!((amount(None, None), amount(Some(0.0), None)), (None, None));
    }
}
