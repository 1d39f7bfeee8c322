//! One detector looking at one figure of a series, or at one random pass of it.

use activebench_model::claim::Metric;
use activebench_model::finding::{Finding, Outcome};
use activebench_model::series::Repeated;

use crate::cases::run::{Firing, Halt, Label};
use crate::detector::Detector;
use crate::run::Series;
use crate::thresholds::Thresholds;

/// A detector before one phase of a series.
pub(crate) struct SeriesCase<'a> {
    pub(crate) series: Series<'a>,
    code: &'static str,
    name: &'static str,
    phase: Option<&'a str>,
    figures: Vec<&'a Repeated>,
}

impl<'a> SeriesCase<'a> {
    pub(crate) fn new(detector: &Detector, series: &Series<'a>, phase: Option<&'a str>) -> Self {
        let figures = series.figures.iter().filter(|figure| Some(figure.phase.as_str()) == phase);
        let figures = figures.filter(|figure| is_rate(figure.metric)).collect();
        Self { series: *series, code: detector.code, name: detector.name, phase, figures }
    }

    pub(crate) fn thresholds(&self) -> &'a Thresholds {
        self.series.thresholds
    }

    pub(crate) fn silent(&self, message: impl Into<String>) -> Finding {
        self.label().finding(Outcome::Silent, message.into())
    }

    pub(crate) fn halted(&self, halt: Halt) -> Finding {
        self.label().halted(halt)
    }

    pub(crate) fn fires(&self, firing: Firing) -> Finding {
        self.label().fires(firing, self.thresholds(), true)
    }

    fn label(&self) -> Label {
        Label {
            code: self.code,
            name: self.name,
            phase: self.phase.map(str::to_owned),
            claims: self.figures.iter().map(|figure| figure.id.clone()).collect(),
            facts: Vec::new(),
        }
    }
}

/// Returns `true` if a figure says how much was done in a time: counts, shares of a CPU and latencies do not.
pub(crate) fn is_rate(metric: Metric) -> bool {
    !metric.is_count() && !metric.is_cpu() && !metric.is_latency()
}

/// The first rate of each phase: its other rates are the same measurement in other units.
pub(crate) fn first_rates(figures: &[Repeated]) -> Vec<&Repeated> {
    let mut first: Vec<&Repeated> = Vec::new();
    for figure in figures.iter().filter(|figure| is_rate(figure.metric)) {
        if first.iter().all(|known| known.phase != figure.phase) {
            first.push(figure);
        }
    }
    first
}

/// Asks a question of the first rate of each phase.
pub(crate) fn of_each_rate<'a>(
    detector: &Detector,
    series: &Series<'a>,
    question: impl Fn(&SeriesCase<'a>, &'a Repeated) -> Result<Vec<Finding>, Halt>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for figure in first_rates(series.figures) {
        let case = SeriesCase::new(detector, series, Some(&figure.phase));
        match question(&case, figure) {
            Ok(judged) => findings.extend(judged),
            Err(halt) => findings.push(case.halted(halt)),
        }
    }
    if findings.is_empty() {
        let why = Halt::not_applicable("No rate was claimed in any run.");
        findings.push(SeriesCase::new(detector, series, None).halted(why));
    }
    findings
}

/// Returns the differences between the runs that the evidence shows, behind a message; empty if it shows none.
pub(crate) fn because(figure: &Repeated) -> String {
    let causes: Vec<&str> = figure.causes.iter().map(|cause| cause.sentence.as_str()).collect();
    if causes.is_empty() { String::new() } else { format!(" The runs differ by {}.", causes.join(" and by ")) }
}

/// The values of a figure with the numbers of their runs.
pub(crate) fn values(series: &Series<'_>, figure: &Repeated) -> Vec<(u32, f64)> {
    let runs = series.runs.iter().map(|run| run.number);
    runs.zip(&figure.claimed.values).filter_map(|(number, value)| Some((number, (*value)?))).collect()
}

/// Leaves a question open where fewer runs state the figure than it needs.
pub(crate) fn needs(values: usize, least: f64) -> Result<(), Halt> {
    if (values as f64) < least {
        return Err(Halt::undecided(format!("At least {least:.0} runs are needed, and {values} have this figure.")));
    }
    Ok(())
}
