//! # What it finds
//! An observation that is not whole: records lost, events missed, a probe that every judgement
//! needs and that was not attached, a record that broke off.
//!
//! # Why it matters
//! A call that was lost may be the fsync that a detector misses, or the read that a count lacks.
//!
//! # How it decides
//! One class of records whose kernel count is not what arrived, one missed event, one required
//! hook not attached (calls, tasks, page cache, block completions), or one reason in the manifest
//! why the record is incomplete: it warns and every claim is unverifiable. A probe beyond those,
//! and a lost total of processor time or stack sample, is a note; where it was needed its facts are missing and their detectors undecided. The ptrace
//! backend attaches no hooks and stops the tool at each call: there only the accounts are looked
//! at. An observation by BPF without any account is undecided.
//!
//! # When it is wrong
//! A lost record may belong to a pass that no claim speaks of.
//!
//! # What to do
//! Repeat the run on a quieter machine; `activebench doctor` says which hook is missing and why.
//!
//! # References
//! tracee #223 (387,569 of 1,000,000 accounted for); inspektor-gadget #5359; iovisor/bcc #3476.

use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::case::{Case, Firing, Halt, Weight};
use crate::context::{Detector, Run};

/// See the head of this file.
pub struct EvidenceLost;

/// Hooks (by the last part of their name) without which no judgement stands.
const REQUIRED: [&str; 6] = [
    "sys_enter",
    "sys_exit",
    "sched_process_exit",
    "task_newtask",
    "mm_filemap_add_to_page_cache",
    "block_rq_complete",
];

/// Classes of records without which every judgement on I/O stands.
const SPARE_CLASSES: [&str; 3] = ["cpu", "samples", "steal"];

impl Detector for EvidenceLost {
    fn code(&self) -> &'static str {
        "AB902"
    }
    fn name(&self) -> &'static str {
        "evidence-lost"
    }
    fn source(&self) -> &'static str {
        include_str!("evidence_lost.rs")
    }

    fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        let coverage = &run.manifest.coverage;
        let case = Case::of_run(self, run, &[]).concerning(run.parsed.claims.iter().collect());
        let limit = &run.thresholds.ab902_lost_records_count;
        let (mut gaps, mut count, mut spare) = (Vec::new(), 0_u64, Vec::new());
        for (class, account) in &coverage.records {
            if !account.is_whole() {
                let gap = format!("{class}: {} of {} records arrived", account.received, account.made);
                if SPARE_CLASSES.contains(&class.as_str()) {
                    spare.push(gap);
                    continue;
                }
                gaps.push(gap);
                count += account.lost.max(account.made.saturating_sub(account.received));
            }
        }
        for probe in &coverage.probes {
            if probe.missed > 0 {
                gaps.push(format!("{} missed {} events", probe.hook, probe.missed));
                count += probe.missed;
            }
            if !probe.attached && coverage.backend != "ptrace" {
                let why = probe.why_not.as_deref().unwrap_or("no reason was given");
                let gap = format!("{} was not attached ({why})", probe.hook);
                let hook = probe.hook.rsplit('/').next().unwrap_or(&probe.hook);
                if REQUIRED.contains(&hook) { gaps.push(gap) } else { spare.push(gap) }
            }
        }
        let broken_off = gaps.is_empty();
        gaps.extend(run.manifest.incomplete.iter().map(|why| format!("the record is incomplete: {why}")));
        let finding = if !gaps.is_empty() {
            case.fires(Firing {
                weight: Weight::WarnWith(Effect::Unverifiable),
                observed: (count > 0).then(|| Quantity::count(count)),
                threshold: limit.clone(),
                message: format!("the observation is not whole: {}", gaps.join("; ")),
                meaning: "what was lost could confirm or refute any figure of the run".to_owned(),
                advice: match (broken_off, count) {
                    (true, _) => "repeat the run and let it end".to_owned(),
                    (false, 0) => "`activebench doctor` says what is missing and how to mend it".to_owned(),
                    (false, _) => "repeat the run on a quieter machine".to_owned(),
                },
            })
        } else if !spare.is_empty() {
            Case::of_run(self, run, &[]).fires(Firing {
                weight: Weight::Note,
                observed: Some(Quantity::count(0)),
                threshold: limit.clone(),
                message: format!("every record on I/O arrived; {}", spare.join("; ")),
                meaning: "facts that need it are missing, and their detectors undecided".to_owned(),
                advice: match coverage.probes.iter().all(|probe| probe.attached) {
                    true => "repeat the run on a quieter machine where they matter".to_owned(),
                    false => "`activebench doctor` says how to mend it".to_owned(),
                },
            })
        } else if coverage.records.is_empty() && coverage.backend != "ptrace" {
            case.halted(Halt::undecided("no account of the records was kept"))
        } else {
            case.silent("")
        };
        vec![finding]
    }
}
