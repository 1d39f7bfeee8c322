//! # What it finds
//! A figure that differs from the observed one by a conversion factor: 1000 taken for 1024 once, twice or three
//! times, or bits taken for bytes.
//!
//! # Why it matters
//! The measurement was right and the figure is wrong. The factor shows how to correct it.
//!
//! # How it decides
//! It divides a claim in bytes by the rebuilt figure (as in AB101). The ratio must be within 0.5 % of 1.024, 1.0486,
//! 1.0737, one of their inverses, 8 or 1/8, and beyond the thresholds of AB101 and AB104.
//!
//! It fails when the confusion changes the figure by more than 5 % (the claim is refuted); otherwise it warns. It is
//! not checked when the noise of a short window is above 0.5 %. It is not checked either when the same pass's rate of
//! operations is off by the same ratio: then the clock is wrong. Nor is it when the tool's own count of bytes is off by
//! that ratio and by no conversion: then the tool miscounted.
//!
//! # When it is wrong
//! It is wrong when the tool's clock is off by exactly such a share. The difference is still real; only its name is
//! wrong.
//!
//! # What to do
//! Quote the rebuilt figure with its unit spelled out (KiB/s or kB/s).
//!
//! # References
//! fio `kb_base`; iozone's kBytes are 1024 bytes; diskspd 2.0.18a changed to iB; the IO500 README prints GB/s where
//! `main.c` prints GiB/s.

use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};

use crate::cases::run::{Firing, Weight, of_each_phase};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::rebuilt_figure::{Agreement, of_each_claim};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::ReadBytes, FactName::WriteBytes, FactName::Window, FactName::SumOfTaskRates];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB103",
    name: "unit-mix-up",
    title: "The figure has the wrong unit",
    explained_by: &[],
    source: include_str!("unit_mix_up.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, |case, phase| {
        let (limits, tool) = (case.thresholds(), case.run.tool());
        of_each_claim(case, phase, |claim, agreement| {
            let Agreement::UnitMixUp(difference, names) = agreement else { return None };
            let weight = match difference.fails() {
                true => Weight::Fail(Effect::Refuted),
                false => Weight::Warn(Effect::Refuted),
            };
            Some(Firing {
                weight,
                observed: Some(difference.observed),
                threshold: limits.ab103_factor_tolerance_ratio.clone(),
                message: format!(
                    "{tool} claims {} (printed as {} {}). The calls show {}. The ratio is that of {names}.",
                    claim.value, claim.printed.text, claim.printed.unit, difference.observed
                ),
                meaning: "The measurement may be right. The printed unit is not.".to_owned(),
                advice: format!("quote {} with its unit spelled out", difference.observed),
            })
        })
    })
}
