//! Why a figure with the advice is far from the honest one of the first run.

use activebench_model::ceiling::size;
use activebench_model::limiter::LimiterKind;
use activebench_model::phase::{Mechanism, Phase};
use activebench_model::remedy::Side;
use activebench_model::report::JudgedRun;

/// Ratio from which two honest figures of one phase are far from each other, either way.
const FAR: f64 = 2.0;

/// Explains the difference in one or two sentences; `None` where the figures are near, or one is not known.
pub(super) fn why(id: &str, sides: [&Side; 2], runs: [&JudgedRun; 2]) -> Option<String> {
    let [given, advised] = [sides[0].honest?, sides[1].honest?];
    let ratio = advised.value / given.value;
    if given.unit != advised.unit || !ratio.is_finite() || (1.0 / FAR..=FAR).contains(&ratio) {
        return None;
    }
    let phase = |run: &'_ JudgedRun| run.phases.iter().find(|phase| phase.id == id).cloned();
    let reasons = reasons(&phase(runs[0])?, &phase(runs[1])?, limiter(runs[1], id));
    let reasons = match reasons.as_slice() {
        [] => "The evidence shows no reason; repeat both commands.".to_owned(),
        some => some.iter().take(2).map(|reason| format!("{reason}.")).collect::<Vec<_>>().join(" "),
    };
    Some(format!("With the advice {advised}, before {given} (honest). {reasons}"))
}

fn limiter(run: &JudgedRun, id: &str) -> Option<LimiterKind> {
    run.limiters.iter().find(|limiter| limiter.phase == id)?.kind
}

fn reasons(given: &Phase, advised: &Phase, limiter: Option<LimiterKind>) -> Vec<String> {
    let mut reasons = Vec::new();
    let promises = |phase: &Phase, mechanism: Mechanism| phase.promises.iter().any(|one| one.mechanism == mechanism);
    if let (Some(before), Some(after)) = (given.block_bytes, advised.block_bytes)
        && before != after
    {
        reasons.push(format!("It moves {} per call instead of {}", size(after), size(before)));
    }
    if promises(advised, Mechanism::DirectIo) && !promises(given, Mechanism::DirectIo) {
        reasons.push("It bypasses the page cache, which before combined or answered the requests".to_owned());
    }
    if limiter == Some(LimiterKind::QueueDepth) {
        reasons.push("It is limited by one request at a time".to_owned());
    }
    let syncs = |phase: &Phase| phase.promises.iter().any(|one| one.mechanism.syncs_inside_clock());
    if syncs(advised) && !syncs(given) {
        reasons.push("Its clock includes the sync".to_owned());
    }
    if let (Some(before), Some(after)) = (given.requested_bytes, advised.requested_bytes)
        && after > before
    {
        reasons.push(format!("It moves {} instead of {}", size(after), size(before)));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use activebench_model::phase::{Direction, Promise};

    use super::*;

    #[test]
    fn the_evidence_gives_the_reasons() {
        let plain = Phase { block_bytes: Some(4096), ..Phase::planned("a", "a", Direction::Read) };
        let promise = Promise { option: "direct=1".to_owned(), mechanism: Mechanism::DirectIo };
        let direct = Phase { promises: vec![promise], ..plain.clone() };
        let large = Phase { block_bytes: Some(1 << 20), ..plain.clone() };
        for (advised, limiter, expected) in [
            (&plain, None, vec![]),
            (&large, None, vec!["It moves 1 MiB per call instead of 4 KiB"]),
            (
                &direct,
                Some(LimiterKind::QueueDepth),
                vec![
                    "It bypasses the page cache, which before combined or answered the requests",
                    "It is limited by one request at a time",
                ],
            ),
        ] {
            assert_eq!(reasons(&plain, advised, limiter), expected);
        }
    }
}
