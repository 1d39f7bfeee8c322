//! Advice on changing an Orion command line.
//!
//! No size is advised: the volumes of the `.lun` file decide how much Orion goes over, and `-size_small` and
//! `-size_large` are the blocks that the user asks about.

use activebench_model::advice::{Change, Circumstances, Improvement};

pub(super) fn advise(wanted: Improvement, about: &Circumstances<'_>) -> Option<String> {
    let said = match wanted {
        Improvement::SyncInsideClock => {
            "quote the rate as that of writes that nothing made durable: orion has no option that syncs"
        }
        Improvement::ReadFromStorage => "look at why the volumes were not read with O_DIRECT, as orion always asks for",
        // A longer run visits the same blocks more often.
        Improvement::VisitBlocksOnce => match about.version {
            Some(version) if version.contains("11.2.0.1") => {
                "use another release: the random generator of 11.2.0.1 revisits a small set, for any `-duration`"
            }
            _ => {
                "use another release of orion, or another benchmark: no `-duration` and no larger volume fixes the \
                 generator"
            }
        },
        Improvement::RunLonger => {
            let limit_ns = about.phase?.time_limit_ns?;
            let seconds = (limit_ns as f64 / 1e9 * about.times_longer).ceil().max(1.0);
            return Some(format!("let each data point last longer, about `-duration {seconds:.0}`"));
        }
        _ => return None,
    };
    Some(said.to_owned())
}

/// Always fails: Orion has no option that makes a run more honest.
pub(super) fn change(_wanted: Option<Improvement>, _about: &Circumstances<'_>) -> Result<Change, String> {
    Err("no option of the tool fixes it".to_owned())
}
