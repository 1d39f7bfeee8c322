//! Judges repeated runs: a pure function of the judgement of each.

pub(crate) mod causes;
pub mod statistics;
pub(crate) mod steady_state;
pub mod stopping;

use activebench_model::fact::FactName;
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::phase::Phase;
use activebench_model::report::JudgedRun;
use activebench_model::series::{
    Beginning, ClaimOfRun, JudgedSeries, LEAST_RUNS, Repeated, RunOfSeries, SeriesManifest, Steadiness, Stopping,
};
use activebench_model::verdict::RunVerdict;

use crate::judge::seven_questions::count;
use crate::judge::verdicts::{exit_code, suppress, suppression};
use crate::registry::DETECTORS;
use crate::run::Series;
use crate::series::statistics::figures;
use crate::series::stopping::stopping;
use crate::thresholds::Thresholds;

/// Returns the contribution of a judged run to its series.
pub fn contribution(number: u32, directory: &str, run: &JudgedRun) -> RunOfSeries {
    let claims = run.parsed.claims.iter().zip(&run.judged).map(|(claim, judged)| ClaimOfRun {
        phase: claim.phase.clone(),
        metric: claim.metric,
        value: claim.value,
        resolution: claim.resolution,
        of_storage: run.manifest.choices.subject.unwrap_or(claim.subject).is_storage(),
        verdict: judged.verdict(),
        corrected: judged.corrected.as_ref().map(|corrected| corrected.value),
    });
    let random = run.phases.iter().filter(|phase| !phase.first_offsets.is_empty());
    let beginnings = random.map(|phase| Beginning {
        phase: phase.id.clone(),
        first_offsets: phase.first_offsets.clone(),
        region_blocks: region_blocks(phase),
    });
    RunOfSeries {
        number,
        directory: directory.to_owned(),
        started_unix_s: run.manifest.clocks.started_unix_s,
        verdict: run.verdict,
        exit_code: run.exit_code,
        claims: claims.collect(),
        beginnings: beginnings.collect(),
        circumstances: causes::circumstances(run),
        preparation: run.manifest.preparation.clone(),
    }
}

/// Returns the number of blocks at which a pass could have begun: the requested or the observed one, whichever is
/// larger.
fn region_blocks(phase: &Phase) -> Option<f64> {
    let seen = phase.facts.complete(FactName::RegionBlocks).ok();
    let block = phase.facts.complete(FactName::BlockGrid).ok().filter(|block| *block > 0.0);
    let asked = phase.region_bytes.zip(block).map(|(bytes, block)| (bytes as f64 / block).floor());
    match (seen, asked) {
        (Some(seen), Some(asked)) => Some(seen.max(asked)),
        (seen, asked) => seen.or(asked),
    }
}

/// Judges a series. `directory` is its directory, as the user would name it.
pub fn judge(
    manifest: SeriesManifest,
    directory: String,
    runs: Vec<RunOfSeries>,
    thresholds: &Thresholds,
) -> JudgedSeries {
    let (figures, steadiness) = computed(&runs, thresholds);
    let series = Series { manifest: &manifest, runs: &runs, figures: &figures, steadiness: &steadiness, thresholds };
    let mut findings: Vec<Finding> = DETECTORS.iter().flat_map(|detector| detector.judge_series(&series)).collect();
    suppress(&mut findings, &manifest.choices);
    let stopping = manifest.until.map(|until| stopping(until, &figures, &steadiness));
    let (own, why) = own_verdict(&manifest, &runs, &findings, stopping.as_ref());
    let verdict = runs.iter().map(|run| run.verdict).chain([own]).max_by_key(|verdict| rank(*verdict)).unwrap_or(own);
    let because = match rank(verdict) > rank(own) {
        true => {
            let of_runs: Vec<String> =
                runs.iter().filter(|run| run.verdict == verdict).map(|run| run.number.to_string()).collect();
            format!("run {} of {}: {}", of_runs.join(", "), runs.len(), verdict.as_str())
        }
        false => why,
    };
    let codes = runs.iter().map(|run| run.exit_code).chain([exit_code(own, manifest.choices.fail_on)]);
    let exit_code = codes.max_by_key(|code| weight(*code)).unwrap_or(0);
    JudgedSeries { manifest, directory, runs, figures, steadiness, stopping, findings, verdict, because, exit_code }
}

/// Returns the figures of the runs, with explanations of their variance, and their steadiness.
pub fn computed(runs: &[RunOfSeries], thresholds: &Thresholds) -> (Vec<Repeated>, Vec<Steadiness>) {
    let mut figures = figures(runs);
    for figure in &mut figures {
        figure.causes = causes::of_figure(runs, figure, thresholds);
    }
    let steadiness = steady_state::of_figures(runs, &figures, thresholds);
    (figures, steadiness)
}

/// Returns the verdict of the series itself, added to those of its runs.
fn own_verdict(
    manifest: &SeriesManifest,
    runs: &[RunOfSeries],
    findings: &[Finding],
    stopping: Option<&Stopping>,
) -> (RunVerdict, String) {
    if let Some(failing) = findings.iter().find(|finding| finding.severity == Some(Severity::Fail)) {
        return (RunVerdict::Discrepancy, format!("the series is not valid: {} {}", failing.code, failing.name));
    }
    if runs.is_empty() {
        return (RunVerdict::Inconclusive, "no run was recorded".to_owned());
    }
    if let Some(why) = manifest.incomplete.first() {
        let (done, planned) = (runs.len(), manifest.planned_runs);
        let reached = stopping.is_some_and(|stopping| stopping.reached);
        let because = match reached || u32::try_from(done) == Ok(planned) {
            true => why.clone(),
            false => format!("{done} of {planned} runs were recorded: {why}"),
        };
        return (RunVerdict::Inconclusive, because);
    }
    if let Some(short) = stopping.filter(|stopping| !stopping.reached) {
        let made = count(runs.len(), "run");
        return (RunVerdict::Inconclusive, format!("target not reached in {made}: {}", short.because));
    }
    let warnings = findings.iter().filter(|finding| finding.severity == Some(Severity::Warn)).count();
    let open =
        |finding: &&Finding| finding.outcome == Outcome::Undecided && suppression(&manifest.choices, finding).is_none();
    let open = findings.iter().filter(open).count();
    if warnings + open > 0 {
        let warnings = if warnings == 0 { "no warnings".to_owned() } else { count(warnings, "warning") };
        let open = match open {
            0 => String::new(),
            _ if runs.len() < LEAST_RUNS as usize => {
                format!(". Whether the runs agree takes at least {LEAST_RUNS} runs")
            }
            open => format!(
                ". {} undecided",
                if open == 1 { "1 check is".to_owned() } else { format!("{open} checks are") }
            ),
        };
        return (RunVerdict::Qualified, format!("{warnings}{open}"));
    }
    (RunVerdict::Verified, format!("{} runs agree with each other", runs.len()))
}

/// Ranks verdicts, the best first.
fn rank(verdict: RunVerdict) -> u8 {
    match verdict {
        RunVerdict::Verified => 0,
        RunVerdict::Qualified => 1,
        RunVerdict::Inconclusive => 2,
        RunVerdict::Discrepancy => 3,
        RunVerdict::Failed => 4,
    }
}

/// Ranks exit codes, the best first: an inconclusive one comes before one that accuses.
fn weight(code: i32) -> u8 {
    match code {
        0 => 0,
        3 => 1,
        1 => 2,
        _ => 3,
    }
}
