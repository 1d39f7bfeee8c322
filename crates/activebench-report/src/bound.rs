//! Figures as shares of their bounds, in words. Raw text; the format escapes it.

use std::collections::HashMap;

use activebench_model::bound::{Share, ShareOf};
use activebench_model::report::JudgedRun;
use activebench_model::sentence::as_sentence;

use crate::lookup::Lookup;
use crate::wording::PhaseNames;

/// Notes shown; the rest is counted.
const NOTES_SHOWN: usize = 4;

/// Sentences about each phase: the share of the first honest figure that has a bound, and the share of the first
/// claimed figure.
pub(crate) fn of_phases(run: &JudgedRun) -> Vec<(String, String)> {
    let names = PhaseNames::of(run);
    let lookup = Lookup::of(run);
    let mut shares: HashMap<&str, Vec<&Share>> = HashMap::new();
    for share in &run.shares.shares {
        if let Some(claim) = lookup.claim(&share.claim) {
            shares.entry(&claim.phase).or_default().push(share);
        }
    }
    let mut said = Vec::new();
    for phase in &run.phases {
        let of_phase = shares.get(phase.id.as_str()).map_or(&[][..], Vec::as_slice);
        let first = |figure| of_phase.iter().find(|share| share.figure == figure).map(|share| words(share));
        let text = match (first(ShareOf::Honest), first(ShareOf::Claimed)) {
            (Some(honest), None) => honest,
            (Some(honest), Some(claimed)) => format!("the honest figure is {honest}, the claimed one is {claimed}"),
            (None, Some(claimed)) => format!("the claimed figure is {claimed}"),
            (None, None) => continue,
        };
        said.push((names.get(&phase.id).to_owned(), text));
    }
    said
}

/// Words for a share: `83 % of what the device gives for random 4 KiB reads at depth 1 (12.00 k IOPS)`.
fn words(share: &Share) -> String {
    format!("{} of {} ({})", percent(share.ratio), share.part, share.bound)
}

/// A share, rounded for people: a bound is never measured to four digits.
fn percent(ratio: f64) -> String {
    match ratio * 100.0 {
        percent if percent >= 9.5 => format!("{percent:.0} %"),
        percent if percent >= 0.95 => format!("{percent:.1} %"),
        percent if percent >= 0.1 => format!("{percent:.2} %"),
        _ => "less than 0.1 %".to_owned(),
    }
}

/// Notes on the bounds; `None` when there are none.
pub(crate) fn notes(run: &JudgedRun) -> Option<String> {
    let notes = &run.shares.notes;
    let shown: Vec<String> = notes.iter().take(NOTES_SHOWN).map(|note| as_sentence(note)).collect();
    let more = match notes.len().saturating_sub(NOTES_SHOWN) {
        0 => String::new(),
        more => format!(" {more} more in the JSON report."),
    };
    (!notes.is_empty()).then(|| format!("{}{more}", shown.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_said_as_a_person_says_them() {
        for (ratio, expected) in [
            (0.834, "83 %"),
            (1.0, "100 %"),
            (3.126, "313 %"),
            (0.0949, "9.5 %"),
            (0.0123, "1.2 %"),
            (0.004, "0.40 %"),
            (0.0001, "less than 0.1 %"),
        ] {
            assert_eq!(percent(ratio), expected);
        }
    }
}
