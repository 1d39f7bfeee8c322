//! The answer in one sentence, which a terminal and a page begin with.

use activebench_model::finding::Severity;
use activebench_model::host::Target;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::{ClaimVerdict, RunVerdict};

use super::causes::Cause;
use crate::document::Glance;
use crate::headline;
use crate::wording::count;

/// Tool, place and reason: `iozone 3.489 on vda (ext4): 2 of 4 figures are not true of the disk.`
pub(crate) fn sentence(run: &JudgedRun) -> String {
    let tool = Glance::cell(&headline::tool(run), 40);
    let host = &run.manifest.host;
    // The place of the figures. A run touches others beside it: a loop device's backing file, its own log.
    let of_phases = run.phases.iter().flat_map(|phase| &phase.parts).filter_map(|part| host.target_of(part.file));
    let mut targets: Vec<&Target> = Vec::new();
    for target in of_phases {
        if !targets.iter().any(|known| known.s_dev == target.s_dev) {
            targets.push(target);
        }
    }
    // Of those that a run touched, nobody knows which one the figures are about.
    if let ([], [only]) = (targets.as_slice(), host.targets.as_slice()) {
        targets.push(only);
    }
    let place = match targets.as_slice() {
        [target] => {
            let device = target.device().map_or_else(|| target.mount_point.as_str(), |device| device.name.as_str());
            format!(" on {} ({})", Glance::cell(device, 24), Glance::cell(&target.fs_type, 16))
        }
        [] => String::new(),
        several => format!(" on {} file systems", several.len()),
    };
    format!("{tool}{place}: {}.", why(run).trim_end_matches('.'))
}

fn why(run: &JudgedRun) -> String {
    let all = run.judged.len();
    let with = |verdict: fn(ClaimVerdict) -> bool| run.judged.iter().filter(|j| verdict(j.verdict())).count();
    let wrong = with(ClaimVerdict::is_contradicted);
    let confirmed = with(|verdict| verdict == ClaimVerdict::Confirmed);
    let all_confirmed = || match (all, all - confirmed) {
        (0, _) => "no figures to judge".to_owned(),
        (1, 0) => "the figure is confirmed".to_owned(),
        (all, 0) => format!("all {all} figures are confirmed"),
        (all, _) => format!("{confirmed} of {all} figures are confirmed, the others cannot be checked"),
    };
    match run.verdict {
        RunVerdict::Failed => headline::why(run),
        RunVerdict::Verified => all_confirmed(),
        RunVerdict::Qualified => {
            let warnings = Cause::of(run).iter().filter(|cause| cause.severity == Severity::Warn).count();
            match (warnings, headline::undecided(run)) {
                (0, None) => all_confirmed(),
                (0, Some(open)) => format!("{}; {open}", all_confirmed()),
                (warnings, _) => format!("{}, with {}", all_confirmed(), count(warnings, "warning")),
            }
        }
        RunVerdict::Discrepancy => match (wrong, all) {
            (0, _) => match Cause::of(run).first() {
                Some(cause) => format!("the run is not valid: {}", lower(&cause.title)),
                None => headline::why(run),
            },
            (wrong, all) => {
                let share = match (wrong, all) {
                    (1, 1) => "the figure is".to_owned(),
                    (wrong, all) if wrong == all => format!("none of the {all} figures is"),
                    (1, all) => format!("1 of {all} figures is"),
                    (wrong, all) => format!("{wrong} of {all} figures are"),
                };
                let not = if wrong == all && all > 1 { "" } else { "not " };
                format!("{share} {not}{}", meant(run))
            }
        },
        // Below stands why there is none.
        RunVerdict::Inconclusive if run.judged.is_empty() && run.manifest.watch.is_some() => headline::why(run),
        RunVerdict::Inconclusive if run.judged.is_empty() && run.manifest.incomplete.is_empty() => {
            "there is no figure to judge".to_owned()
        }
        RunVerdict::Inconclusive => headline::why(run),
    }
}

/// What the contradicted figures are taken for.
fn meant(run: &JudgedRun) -> &'static str {
    let wrong: Vec<_> =
        (run.parsed.claims.iter().zip(&run.judged)).filter(|(_, judged)| judged.verdict().is_contradicted()).collect();
    let is_of_the_disk =
        wrong.iter().all(|(claim, judged)| claim.subject.is_storage() && judged.verdict() == ClaimVerdict::Misleading);
    let is_refuted = wrong.iter().any(|(_, judged)| judged.verdict() == ClaimVerdict::Refuted);
    match (is_of_the_disk, is_refuted) {
        (true, _) => "the disk's speed",
        (false, true) => "right",
        (false, false) => "what it seems",
    }
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
    match text.chars().nth(1).is_some_and(char::is_uppercase) {
        true => text.to_owned(),
        false => first + letters.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_continues_a_sentence() {
        assert_eq!(lower("The CPU was the bottleneck"), "the CPU was the bottleneck");
        assert_eq!(lower("CPUs changed their speed"), "CPUs changed their speed");
    }
}
