//! Many runs over time: a pure function of the stored figures of each judged run.
//!
//! A *figure* is a claim of one load on one group (disk, host or model): runs that agree in tool, command (but for the
//! place of the measured storage), phase, kind of number, subject and unit. Statistics rest on runs that are verified,
//! qualified or a discrepancy with an honest figure; those of a run that failed or is inconclusive are shown and not
//! counted, because it may have measured a part of the load. The rules are in `docs/history.md`.

mod batch;
mod chance;
mod contribution;
mod shift;
mod trend;

use std::collections::{BTreeMap, HashMap};

use activebench_model::claim::{Metric, Subject};
use activebench_model::figures::{Disk, RunFigure, RunFigures};
use activebench_model::history::{
    AgainstBaseline, Baseline, By, Counts, FigureKind, Followed, Gate, History, Point, Reading, Rules, RunOfHistory,
    Summary,
};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::RunVerdict;

use crate::series::statistics::{CONFIDENCE, median_interval_least, sample};
use crate::thresholds::Thresholds;
use shift::Held;

pub use contribution::figures;

/// A run with its position in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// As the user would name it.
    pub directory: String,
    /// Its figures.
    pub run: RunFigures,
    /// `true` if it belongs to the baseline.
    pub in_baseline: bool,
    /// `true` if it is compared with the baseline.
    pub is_later: bool,
}

/// The request of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The figure that is followed.
    pub kind: FigureKind,
    /// The property by which figures are separated.
    pub by: By,
    /// `true` if figures of one load are shown side by side.
    pub side_by_side: bool,
    /// Only figures of these phases and metrics; all when empty.
    pub figures: Vec<Wanted>,
    /// The baseline as the user named it.
    pub baseline: Option<String>,
    /// The share from which on a regression fails.
    pub limit_ratio: Option<f64>,
}

/// Figures that the user names: `write:throughput`, `read`, `:latency-p99`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The phase, or the beginning of its name up to a `-`; `None` for all.
    pub phase: Option<String>,
    /// The metric as JSON writes it; `None` for all.
    pub metric: Option<Metric>,
}

impl Wanted {
    fn is(&self, figure: &RunFigure) -> bool {
        let of_phase = |wanted: &String| {
            figure.phase.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.phase.as_ref().is_none_or(of_phase) && self.metric.is_none_or(|metric| metric == figure.metric)
    }
}

/// The key that figures of several runs have in common. Texts are the runs' own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key<'run> {
    tool: &'run str,
    load: &'run str,
    group: String,
    phase: &'run str,
    metric: Metric,
    place: u32,
    subject: Subject,
    unit: Unit,
}

/// Returns the history of these runs.
pub fn history(mut reading: Reading, mut runs: Vec<Placed>, asked: &Asked, thresholds: &Thresholds) -> History {
    runs.sort_by(|one, other| {
        (one.run.started_unix_s, &one.directory).cmp(&(other.run.started_unix_s, &other.directory))
    });
    let wanted = |figure: &&RunFigure| asked.figures.is_empty() || asked.figures.iter().any(|wanted| wanted.is(figure));
    let mut order: HashMap<Key<'_>, usize> = HashMap::new();
    let mut found: Vec<(Key<'_>, Vec<(usize, &RunFigure)>)> = Vec::new();
    for (place, placed) in runs.iter().enumerate() {
        let mut any = false;
        for figure in placed.run.figures.iter().filter(wanted) {
            any = true;
            let key = key(&placed.run, figure, asked.by);
            let at = *order.entry(key.clone()).or_insert_with(|| {
                found.push((key, Vec::new()));
                found.len() - 1
            });
            found[at].1.push((place, figure));
        }
        reading.without_figures += usize::from(!any);
    }
    // Figures of one load are listed together, in the order in which its first run states them; groups by their names.
    let mut loads: HashMap<(&str, &str), usize> = HashMap::new();
    let mut of_load: HashMap<(&str, Metric, u32, Subject, Unit), usize> = HashMap::new();
    let placed = found.into_iter().map(|(key, stated)| {
        let (load, figure) = (loads.len(), of_load.len());
        let load = *loads.entry((key.tool, key.load)).or_insert(load);
        let figure = *of_load.entry((key.phase, key.metric, key.place, key.subject, key.unit)).or_insert(figure);
        ((load, figure), key, stated)
    });
    let mut placed: Vec<_> = placed.collect();
    placed.sort_by(|(one, key, _), (other, other_key, _)| (one, &key.group).cmp(&(other, &other_key.group)));
    let figures: Vec<Followed> = placed
        .iter()
        .zip(1..)
        .map(|((_, key, stated), number)| followed(format!("f{number}"), key, stated, &runs, asked))
        .collect();
    let baseline = asked.baseline.as_ref().map(|named| Baseline {
        named: named.clone(),
        runs: runs.iter().filter(|placed| placed.in_baseline).count(),
        later: runs.iter().filter(|placed| placed.is_later).count(),
        gate: asked.limit_ratio.map(|limit_ratio| gate(&figures, limit_ratio)),
    });
    let run_of = |placed: &Placed| RunOfHistory {
        directory: placed.directory.clone(),
        started_unix_s: placed.run.started_unix_s,
        verdict: placed.run.verdict,
        in_baseline: placed.in_baseline,
    };
    History {
        reading,
        kind: asked.kind,
        by: asked.by,
        rules: Rules {
            confidence_ratio: CONFIDENCE,
            interval_least_runs: median_interval_least(CONFIDENCE),
            trend_probability: trend::PROBABILITY,
        },
        batches: if asked.side_by_side { batch::batches(&figures, thresholds) } else { Vec::new() },
        exit_code: baseline.as_ref().and_then(|baseline| baseline.gate.as_ref()).map_or(0, exit_code),
        baseline,
        runs: runs.iter().map(run_of).collect(),
        figures,
    }
}

fn key<'run>(run: &'run RunFigures, figure: &'run RunFigure, by: By) -> Key<'run> {
    Key {
        tool: &run.tool,
        load: &run.load,
        group: group(run, &figure.disk, by),
        phase: &figure.phase,
        metric: figure.metric,
        place: figure.place,
        subject: figure.subject,
        unit: figure.claimed.unit,
    }
}

/// The name of a figure's disk, host or model.
fn group(run: &RunFigures, disk: &Disk, by: By) -> String {
    let host = || run.host.clone().unwrap_or_else(|| "host not known".to_owned());
    match (by, &disk.model, &disk.serial) {
        (By::Host, ..) => host(),
        (By::Model, Some(model), _) => model.clone(),
        (By::Device, Some(model), Some(serial)) => format!("{model} {serial}"),
        (By::Device, None, Some(serial)) => serial.clone(),
        (By::Model, None, _) => "model not known".to_owned(),
        // Without a serial number, a disk is identified by host and name alone.
        (By::Device, ..) => {
            let name = disk.name.as_deref().unwrap_or("disk not known");
            match &run.host {
                Some(host) => format!("{name} on {host}"),
                None => name.to_owned(),
            }
        }
    }
}

fn followed(id: String, key: &Key<'_>, stated: &[(usize, &RunFigure)], runs: &[Placed], asked: &Asked) -> Followed {
    let points: Vec<Point> =
        stated.iter().map(|(place, figure)| point(*place, figure, runs[*place].run.verdict, asked.kind)).collect();
    let mut counts = Counts::default();
    for point in &points {
        match (point.counts, point.value) {
            (true, _) => {
                counts.counted += 1;
                counts.of_discrepancy += usize::from(runs[point.run].run.verdict == RunVerdict::Discrepancy);
            }
            (false, Some(_)) => counts.apart += 1,
            (false, None) => counts.without += 1,
        }
    }
    let counted: Vec<(&Placed, f64)> = points
        .iter()
        .filter(|point| point.counts)
        .filter_map(|point| Some((&runs[point.run], point.value?.value)))
        .collect();
    let dated: Vec<(i64, f64)> = counted.iter().map(|(placed, value)| (placed.run.started_unix_s, *value)).collect();
    let values: Vec<f64> = counted.iter().map(|(_, value)| *value).collect();
    Followed {
        id,
        tool: key.tool.to_owned(),
        load: key.load.to_owned(),
        phase: key.phase.to_owned(),
        metric: key.metric,
        place: key.place,
        subject: key.subject,
        group: key.group.clone(),
        summary: summary(&values, key.unit),
        trend: trend::trend(&dated, key.unit),
        varied: varied(stated, runs, asked.by),
        against: asked.baseline.is_some().then(|| against(key.metric, &counted, &points, runs)),
        counts,
        points,
    }
}

fn point(run: usize, figure: &RunFigure, verdict: RunVerdict, kind: FigureKind) -> Point {
    let unit = figure.claimed.unit;
    let value = match kind {
        FigureKind::Honest => figure.honest,
        FigureKind::Claimed => Some(figure.claimed.value).filter(|value| value.is_finite()),
    };
    let open = matches!(verdict, RunVerdict::Inconclusive | RunVerdict::Failed);
    let why_not = match (value, open) {
        (None, _) => Some(figure.no_honest.clone().unwrap_or_else(|| "it is not a number".to_owned())),
        (Some(_), true) => Some(format!("the run is {}: it may have measured a part of the load", verdict.as_str())),
        (Some(_), false) => None,
    };
    Point {
        run,
        value: value.map(|value| Quantity { value, unit }),
        claimed: figure.claimed,
        verdict: figure.verdict,
        foreign_io_ratio: figure.foreign_io_ratio,
        counts: why_not.is_none(),
        why_not,
    }
}

fn summary(values: &[f64], unit: Unit) -> Option<Summary> {
    let sample = sample(values.iter().copied().map(Some).collect(), unit)?;
    Some(Summary {
        median: sample.median,
        interval: sample.median_interval,
        least: sample.least,
        most: sample.most,
        spread_ratio: sample.spread_ratio,
        last: Quantity { value: *values.last()?, unit },
    })
}

/// Returns the circumstances that differ between the runs of a figure.
fn varied(stated: &[(usize, &RunFigure)], runs: &[Placed], by: By) -> BTreeMap<String, Vec<String>> {
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
    let mut varied: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (place, figure) in stated {
        let run = &runs[*place].run;
        let mut aspects = vec![
            ("tool version", or_unknown(&run.version)),
            ("kernel", run.kernel.clone()),
            ("file system", or_unknown(&figure.disk.file_system)),
            ("profile", run.profile.clone()),
            ("activebench", run.activebench.clone()),
        ];
        if by != By::Host {
            aspects.push(("host", or_unknown(&run.host)));
        }
        if by != By::Device {
            aspects.push(("device", group(run, &figure.disk, By::Device)));
        }
        for (aspect, value) in aspects {
            let values = varied.entry(aspect.to_owned()).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    varied.retain(|_, values| values.len() > 1);
    varied
}

fn against(metric: Metric, counted: &[(&Placed, f64)], points: &[Point], runs: &[Placed]) -> AgainstBaseline {
    let not = |why: &str, open: bool| AgainstBaseline::NotCompared { why: why.to_owned(), open };
    let of = |belongs: fn(&Placed) -> bool| -> Vec<f64> {
        counted.iter().filter(|(placed, _)| belongs(placed)).map(|(_, value)| *value).collect()
    };
    let has = |belongs: fn(&Placed) -> bool| points.iter().any(|point| belongs(&runs[point.run]));
    let (baseline, later) = (of(|placed| placed.in_baseline), of(|placed| placed.is_later));
    match (has(|placed| placed.in_baseline), has(|placed| placed.is_later)) {
        (false, _) => not("the baseline does not have this figure", false),
        (true, false) => not("no later run has this figure", true),
        // A figure that the baseline never had cannot have become worse.
        (true, true) if baseline.is_empty() && later.is_empty() => not("no run has a value that counts", false),
        (true, true) => shift::shift(metric, &baseline, &later),
    }
}

fn gate(figures: &[Followed], limit_ratio: f64) -> Gate {
    let is_compared = |figure: &&Followed| matches!(figure.against, Some(AgainstBaseline::Compared { .. }));
    let compared = figures.iter().filter(is_compared).count();
    let least_runs = shift::least_runs(compared);
    let mut gate = Gate { limit_ratio, compared, least_runs, failing: Vec::new(), open: Vec::new() };
    for figure in figures {
        let held = match &figure.against {
            Some(AgainstBaseline::Compared { outcome, ratio, probability, .. }) => {
                shift::held(figure.metric, *outcome, (*ratio, *probability), limit_ratio, compared)
            }
            Some(AgainstBaseline::NotCompared { open: true, .. }) => Held::Open,
            _ => Held::Within,
        };
        match held {
            Held::Beyond => gate.failing.push(figure.id.clone()),
            Held::Open => gate.open.push(figure.id.clone()),
            Held::Within => {}
        }
    }
    gate
}

/// As for a verdict: a regression is a discrepancy, and an open question is not a success.
fn exit_code(gate: &Gate) -> i32 {
    match (gate.failing.is_empty(), gate.open.is_empty() && gate.compared > 0) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    }
}

#[cfg(test)]
mod tests;
