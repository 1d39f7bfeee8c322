//! # What it finds
//! An incomplete observation: lost records, missed events, a required probe that was not attached, a record that
//! broke off.
//!
//! # Why it matters
//! A lost call may be the fsync that a detector misses, or the read that a count lacks.
//!
//! # How it decides
//! It warns, and every claim is unverifiable, for any of these:
//!
//! - a class of records of which fewer arrived than the kernel counted;
//! - a missed event;
//! - a required hook that was not attached (calls, tasks, page cache, block completions);
//! - a reason in the manifest why the record is incomplete.
//!
//! Some losses are only a note: those up to `ab902_lost_records_count` (0 unless raised), a missing probe that is not
//! required, and a lost total of CPU time or stack sample. Where such evidence was needed, its facts are missing and
//! their detectors are undecided.
//!
//! The ptrace backend attaches no hooks and stops the tool at calls, so only its record counts are checked. Without
//! those of calls, names and tasks it is undecided, as is an observation by BPF without any record counts.
//!
//! An event log that was cut (`--events-limit`, or no room for it) has lost nothing, but it holds single events only
//! up to some time. Claims on passes that ended before keep their verdicts; all others are unverifiable.
//!
//! # When it is wrong
//! A lost record may belong to a pass without claims.
//!
//! # What to do
//! Repeat the run on a quieter machine; `activebench doctor` reports which hook is missing and why. For a log that
//! was cut: a higher `--events-limit`, `--out` on a device that the tool does not use, or a shorter run.
//!
//! # References
//! tracee #223 (387,569 of 1,000,000 accounted for); inspektor-gadget #5359; iovisor/bcc #3476.

use activebench_model::claim::Claim;
use activebench_model::coverage::Backend;
use activebench_model::event::RecordClass;
use activebench_model::finding::{Effect, Finding, Outcome};
use activebench_model::hook::Hook;
use activebench_model::log::LogCut;
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

/// Hooks without which no judgement is valid.
const REQUIRED: [Hook; 6] =
    [Hook::SysEnter, Hook::SysExit, Hook::ProcessExit, Hook::NewTask, Hook::AddToPageCache, Hook::RequestComplete];

/// Records that a tracer makes, and without which no judgement is valid.
const TRACED: [RecordClass; 3] = [RecordClass::Calls, RecordClass::Names, RecordClass::Tasks];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB902",
    name: "evidence-lost",
    title: "The observation is incomplete",
    explained_by: &[],
    source: include_str!("evidence_lost.rs"),
    judge: Judge::Run(judge_run),
    facts: &[],
    basis: Basis::Coverage,
    decides: Decides::Everything,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    let coverage = &run.manifest.coverage;
    let case = Case::of_run(&DETECTOR, run).concerning(run.parsed.claims.iter().collect());
    let limit = &run.thresholds.ab902_lost_records_count;
    let (mut gaps, mut lost, mut count, mut spare) = (Vec::new(), Vec::new(), 0_u64, Vec::new());
    for (class, account) in &coverage.records {
        if !account.is_whole() {
            let gap = format!("{class}: {} of {} records arrived", account.received, account.made);
            if class.is_spare() {
                spare.push(gap);
                continue;
            }
            lost.push(gap);
            count += account.lost.max(account.made.saturating_sub(account.received));
        }
    }
    for probe in &coverage.probes {
        if probe.missed > 0 {
            lost.push(format!("{} missed {} events", probe.hook, probe.missed));
            count += probe.missed;
        }
        if !probe.attached && !probe.hook.is_beside() && coverage.backend != Backend::Ptrace {
            let why = probe.why_not.as_deref().unwrap_or("no reason was given");
            let gap = format!("{} was not attached ({why})", probe.hook);
            if REQUIRED.contains(&probe.hook) { gaps.push(gap) } else { spare.push(gap) }
        }
    }
    let tolerated = count > 0 && count as f64 <= limit.value.value;
    if tolerated { &mut spare } else { &mut gaps }.splice(0..0, lost);
    let broken_off = gaps.is_empty();
    gaps.extend(run.manifest.incomplete.iter().map(|why| format!("the record is incomplete: {why}")));
    if let Some(part) = run.part.filter(|_| !run.parsed.claims.is_empty()) {
        gaps.extend(part.missing.iter().cloned());
    }
    let cut = coverage.log.as_ref().and_then(|log| log.cut.as_ref()).map(|log_cut| log_ended_early(run, log_cut));
    let finding = if !gaps.is_empty() {
        case.fires(Firing {
            weight: Weight::WarnWith(Effect::Unverifiable),
            observed: (count > 0).then(|| Quantity::count(count)),
            threshold: limit.clone(),
            message: format!("The observation is incomplete: {}.", gaps.join("; ")),
            meaning: "The missing evidence could confirm or refute any figure of the run.".to_owned(),
            advice: match (broken_off, count) {
                (true, _) => "repeat the run and let it end".to_owned(),
                (false, 0) => "run `activebench doctor`: it shows the missing part and how to fix it".to_owned(),
                (false, _) => "repeat the run on a quieter machine".to_owned(),
            },
        })
    } else if !spare.is_empty() {
        Case::of_run(&DETECTOR, run).fires(Firing {
            weight: Weight::Note,
            observed: Some(Quantity::count(count)),
            threshold: limit.clone(),
            message: match tolerated {
                true => {
                    format!("{count} records were lost or missed, which the threshold allows: {}.", spare.join("; "))
                }
                false => format!("Every record of I/O arrived. Others did not: {}.", spare.join("; ")),
            },
            meaning: "Facts that need them are missing, and the checks of these facts are undecided.".to_owned(),
            advice: match coverage.probes.iter().all(|probe| probe.attached) {
                true => "repeat the run on a quieter machine if you need these facts".to_owned(),
                false => "run `activebench doctor`: it shows how to fix it".to_owned(),
            },
        })
    } else if coverage.backend == Backend::Ptrace && TRACED.iter().any(|class| !coverage.records.contains_key(class)) {
        case.halted(Halt::undecided("This run has no count of the calls, names and tasks that the tracer recorded."))
    } else if coverage.records.is_empty() && coverage.backend != Backend::Ptrace {
        case.halted(Halt::undecided("This run has no count of lost records."))
    } else if coverage.probes.is_empty() && coverage.backend != Backend::Ptrace {
        case.halted(Halt::undecided("This run does not record which hooks were attached."))
    } else {
        case.silent("")
    };
    match cut {
        Some(cut) if finding.outcome == Outcome::Silent => vec![cut],
        cut => std::iter::once(finding).chain(cut).collect(),
    }
}

/// Returns the finding on an event log that ends before the run does.
fn log_ended_early(run: &Run<'_>, cut: &LogCut) -> Finding {
    let is_whole = |claim: &&Claim| run.phase_of(claim).is_some_and(|phase| phase.needs_log_until_ns() < cut.at_ns);
    let concerned = run.parsed.claims.iter().filter(|claim| !is_whole(claim)).collect();
    let count = cut.records.values().sum();
    let classes: Vec<String> = cut.records.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let after = Quantity::ns(cut.at_ns.saturating_sub(run.manifest.clocks.started_ns));
    Case::of_run(&DETECTOR, run).concerning(concerned).fires(Firing {
        weight: Weight::WarnWith(Effect::Unverifiable),
        observed: Some(Quantity::count(count)),
        threshold: run.thresholds.ab902_lost_records_count.clone(),
        message: format!(
            "The log of single I/Os was cut {after} after the start, because {}. Later records are only counted ({}).",
            cut.why,
            classes.join(", ")
        ),
        meaning: "Totals of the run are exact. Figures of passes that ended later are not.".to_owned(),
        advice: "raise `--events-limit`, put `--out` on a device that the tool does not use, or shorten the run"
            .to_owned(),
    })
}
