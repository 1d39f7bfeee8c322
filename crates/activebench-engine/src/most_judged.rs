//! A bound of what is judged: an output may have any number of figures, and each pass costs some 50 KiB and a
//! millisecond.

use std::collections::HashSet;

use activebench_model::claim::Parsed;
use activebench_model::phase::Phase;

use crate::measured::Measured;

/// Most passes that are judged: as many as fio can have jobs (`REAL_MAX_JOBS`, fio.h, 3.33). A job that reads and writes
/// has two.
pub const MOST_PHASES: usize = 1 << 12;

/// Most figures that are judged: eight of each pass.
const MOST_CLAIMS: usize = MOST_PHASES << 3;

/// Lets go of the passes and figures beyond the bound, the later ones first. Returns a note for the manifest if there
/// were any: what was not judged is never confirmed.
pub(crate) fn let_go_of_more(
    parsed: &mut Parsed,
    phases: &mut Vec<Phase>,
    measured: &mut [Measured],
) -> Option<String> {
    let found = (phases.len(), parsed.claims.len());
    if found.0 <= MOST_PHASES && found.1 <= MOST_CLAIMS {
        return None;
    }
    let beyond: HashSet<String> = phases.drain(MOST_PHASES.min(found.0)..).map(|phase| phase.id).collect();
    parsed.claims.retain(|claim| !beyond.contains(&claim.phase));
    parsed.claims.truncate(MOST_CLAIMS);
    parsed.claims.shrink_to_fit();
    let kept: HashSet<String> = parsed.claims.iter().map(|claim| claim.id.clone()).collect();
    let_go_of_others(parsed, &kept);
    for one in measured {
        one.phases = one.phases.start.min(phases.len())..one.phases.end.min(phases.len());
        one.parsed.claims.retain(|claim| kept.contains(&claim.id));
        let_go_of_others(&mut one.parsed, &kept);
    }
    Some(format!(
        "the output has {} figures of {} passes, and only the first {} of {} passes are judged",
        found.1,
        found.0,
        kept.len(),
        phases.len()
    ))
}

/// Lets go of what the output states about other claims.
fn let_go_of_others(parsed: &mut Parsed, kept: &HashSet<String>) {
    parsed.restated.retain(|restated| kept.contains(&restated.claim));
    parsed.contradictions.iter_mut().for_each(|contradiction| contradiction.claims.retain(|id| kept.contains(id)));
}

#[cfg(test)]
mod tests {
    use activebench_model::claim::{Claim, Metric, Printed, Restated, SourceLine, Subject};
    use activebench_model::direction::Direction;
    use activebench_model::units::Quantity;

    use super::*;

    /// An output of this many passes with one figure each, the last one of which is stated twice.
    fn output(passes: usize) -> (Parsed, Vec<Phase>) {
        let printed = || Printed { text: "1".to_owned(), unit: "kB/s".to_owned() };
        let source = || SourceLine { stream: "stdout".to_owned(), line: 1, text: String::new() };
        let claim = |number: usize| Claim {
            id: format!("c{number}"),
            phase: format!("p{number}"),
            metric: Metric::Throughput,
            value: Quantity::bytes_per_sec(1024.0),
            printed: printed(),
            resolution: 512.0,
            subject: Subject::Device,
            subject_reason: String::new(),
            claimed_bytes: None,
            source: source(),
        };
        let restated = Restated {
            claim: format!("c{passes}"),
            value: Quantity::bytes_per_sec(1024.0),
            printed: printed(),
            resolution: 512.0,
            shared_resolution: 0.0,
            known_defect: None,
            source: source(),
        };
        let parsed =
            Parsed { claims: (1..=passes).map(claim).collect(), restated: vec![restated], ..Parsed::default() };
        let phases = (1..=passes).map(|number| Phase::planned(format!("p{number}"), "pass", Direction::Write));
        (parsed, phases.collect())
    }

    #[test]
    fn an_output_of_the_largest_size_is_judged_whole() {
        let (mut parsed, mut phases) = output(MOST_PHASES);
        assert_eq!(let_go_of_more(&mut parsed, &mut phases, &mut []), None);
        assert_eq!((parsed.claims.len(), phases.len(), parsed.restated.len()), (MOST_PHASES, MOST_PHASES, 1));
    }

    #[test]
    fn of_a_larger_output_the_first_passes_are_judged_and_the_record_says_so() {
        let (mut parsed, mut phases) = output(MOST_PHASES + 2);
        let (first, second) = (MOST_PHASES - 1, MOST_PHASES + 1);
        let mut measured =
            [(1, 0..first), (first + 1, first..second), (second + 1, second..second + 1)].map(|(from, phases)| {
                let of = |claim: &&Claim| (from..=phases.end).any(|number| claim.id == format!("c{number}"));
                let claims = parsed.claims.iter().filter(of).cloned().collect();
                let parsed = Parsed { claims, ..Parsed::default() };
                Measured { place: 0, parsed, phases, missing: Vec::new(), is_about_no_storage: false }
            });
        assert_eq!(
            let_go_of_more(&mut parsed, &mut phases, &mut measured).as_deref(),
            Some("the output has 4098 figures of 4098 passes, and only the first 4096 of 4096 passes are judged")
        );
        assert_eq!((parsed.claims.len(), phases.len()), (MOST_PHASES, MOST_PHASES));
        assert_eq!((&*parsed.claims[MOST_PHASES - 1].id, parsed.restated.len()), ("c4096", 0));
        let parts = measured.each_ref().map(|one| (one.phases.clone(), one.parsed.claims.len()));
        assert_eq!(parts, [(0..first, first), (first..MOST_PHASES, 1), (MOST_PHASES..MOST_PHASES, 0)]);
    }
}
