//! # What it finds
//! Rounds that are not yet steady: the figure rises, falls or swings from run to run.
//!
//! # Why it matters
//! Solid-state storage is fast while it is new. It becomes slower once it has to reclaim used blocks. A figure taken
//! before it is steady does not describe the device in use.
//!
//! # How it decides
//! It judges the first rate of each phase over the last five runs of a series, each of which is a round. Where a
//! claim is refuted, or a run has a corrected figure, the honest figure is used. It warns when:
//!
//! - (largest - smallest) is above 20 % of their mean; or
//! - the excursion of the least-squares line through them is above 10 % of their mean. The excursion is the line's
//!   value at the last round less that at the first.
//!
//! If the profile requires a steady state (`pts`) it fails.
//!
//! Fewer than five rounds leave it undecided. So does one of the last five that does not report the figure, or whose
//! honest figure is unknown: the rounds around it are not consecutive.
//!
//! # When it is wrong
//! The standard's rounds last a minute each. Five shorter rounds cover too little time to decide.
//!
//! # What to do
//! Precondition the device, let each round last a minute, and repeat until five rounds in a row agree.
//!
//! # References
//! SNIA Solid State Storage Performance Test Specification 2.0.2, section 2.1.24, measurement window of five rounds.

use activebench_model::finding::{Effect, Finding};
use activebench_model::series::{Repeated, Steadiness, SteadyWindow};
use activebench_model::units::Quantity;

use crate::cases::run::{Firing, Halt, Weight};
use crate::cases::series::{SeriesCase, because, of_each_rate};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Series;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB702",
    name: "no-steady-state",
    title: "The runs are not steady",
    explained_by: &["AB703"],
    source: include_str!("no_steady_state.rs"),
    judge: Judge::Series(judge_series),
    facts: &[],
    basis: Basis::Series,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_series(series: &Series<'_>) -> Vec<Finding> {
    of_each_rate(&DETECTOR, series, judge)
}

fn judge(case: &SeriesCase<'_>, figure: &Repeated) -> Result<Vec<Finding>, Halt> {
    let limits = case.thresholds();
    let steadiness = case.series.steadiness.iter().find(|of| of.figure == figure.id);
    let steadiness = steadiness.ok_or_else(|| Halt::undecided("The steadiness of this figure is not known."))?;
    let last = steadiness.last().map_err(Halt::undecided)?;
    let (range, excursion) = (&limits.ab702_range_ratio, &limits.ab702_excursion_ratio);
    let swings = last.range_ratio > range.value.value;
    let observed = message(steadiness, last);
    if last.steady {
        return Ok(vec![case.silent(observed)]);
    }
    let weight = if limits.steady_state_required { Weight::Fail(Effect::Misleading) } else { Weight::WarnOfRun };
    Ok(vec![
        case.fires(Firing {
            weight,
            observed: Some(Quantity::ratio(if swings { last.range_ratio } else { last.excursion_ratio })),
            threshold: if swings { range.clone() } else { excursion.clone() },
            message: format!("{observed}{}", because(figure)),
            meaning: "The device was changing its state, so the figure is not a steady one.".to_owned(),
            advice:
                "precondition the device, and repeat rounds of one minute until five in a row agree: `--until steady`"
                    .to_owned(),
        }),
    ])
}

/// Describes the window: its range with the rounds at both ends, and the excursion of its line.
fn message(steadiness: &Steadiness, last: &SteadyWindow) -> String {
    let shown = |value: f64| Quantity { value, unit: last.unit };
    let end = |run: Option<&u32>| run.copied().unwrap_or_default();
    let rounds = || last.runs.iter().zip(&last.values);
    let least = rounds().min_by(|one, other| one.1.total_cmp(other.1));
    let most = rounds().max_by(|one, other| one.1.total_cmp(other.1));
    let ends = match (least, most) {
        (Some((at_least, least)), Some((at_most, most))) if least != most => {
            format!(" (from {} in round {at_least} to {} in round {at_most})", shown(*least), shown(*most))
        }
        _ => String::new(),
    };
    let which = if steadiness.of_honest { " of honest figures" } else { "" };
    let before = match steadiness.windows.iter().rfind(|window| window.steady) {
        Some(window) if !last.steady => {
            format!(" Rounds {} to {} were steady.", end(window.runs.first()), end(window.runs.last()))
        }
        _ => String::new(),
    };
    format!(
        "Rounds {} to {}{which} range over {} of their mean{ends}. Their trend moves by {}.{before}",
        end(last.runs.first()),
        end(last.runs.last()),
        Quantity::ratio(last.range_ratio),
        Quantity::ratio(last.excursion_ratio),
    )
}
