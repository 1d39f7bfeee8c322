//! Compares runs side by side: a pure function of the judgement of each.
//!
//! Only honest figures are compared: a confirmed claim, or the corrected figure of any other claim. A figure
//! without one is shown as such.
//!
//! **Other tools.** Figures of one tool are matched by their phases' ids, those of different tools by what their passes
//! did to the storage (`load.rs`): a pass of another tool takes the place of the first one that did the same I/O.
//!
//! **Interval of a ratio.** Of two series the ratio of the medians gets one: each median's interval of order
//! statistics (David, Nagaraja: *Order Statistics*, 3rd ed., 7.1) with at least 97.5 %, the ends divided crosswise. By
//! Bonferroni's inequality (Dunn, *Multiple Comparisons Among Means*, JASA 56 (1961) 52-64) both cover their medians
//! together with at least 95 %, and then the ratio is covered too. That needs 7 runs a series (1 - 2/2^7 = 98.4 %), is
//! wider than it must be, and holds whatever the distribution of the figures. A bootstrap would give a narrower one
//! from fewer runs that covers less than it says: with so few values it cannot draw what it has not seen. All of it
//! takes the runs of a series as independent; AB702 says where they drift.

use activebench_model::claim::{Claim, Metric, Subject};
use activebench_model::compare::{Against, Cell, Column, Compared, Comparison, Difference, OtherPass, RatioInterval};
use activebench_model::host::Target;
use activebench_model::report::JudgedRun;
use activebench_model::series::Interval;
use activebench_model::units::{Quantity, significant};
use activebench_model::verdict::{ClaimVerdict, JudgedClaim, RunVerdict};

use crate::series::statistics::{median, median_interval};

mod load;

use load::Load;

/// Probability of each median's interval, so that both hold together with 95 %.
const EACH: f64 = 0.975;

/// A run, or the runs of a series, to be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compare {
    /// Its directory, as the user would name it.
    pub directory: String,
    /// `true` if it is a series.
    pub series: bool,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// The reasons why its record is not complete.
    pub incomplete: Vec<String>,
    /// The contributions of its runs, in order.
    pub runs: Vec<OfRun>,
}

/// The contribution of one judged run.
#[derive(Clone, Debug, PartialEq)]
pub struct OfRun {
    figures: Vec<Stated>,
    /// The passes that read or write data, in their order.
    passes: Vec<(String, Load)>,
    /// In the order of [`ASPECTS`].
    setting: Vec<String>,
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq)]
struct Stated {
    phase: String,
    metric: Metric,
    claimed: Quantity,
    honest: Result<Quantity, String>,
    verdict: ClaimVerdict,
    subject: Subject,
    findings: Vec<String>,
}

/// The aspects that are compared besides the figures, each with the meaning of a difference.
const ASPECTS: [(&str, &str); 14] = [
    ("tool", "only passes that did the same I/O are compared"),
    ("tool version", "versions work and compute differently"),
    ("command", "the commands differ, so the ratio compares workloads as well as disks"),
    ("working directory", "relative paths of the command name other files"),
    ("file system", "the ratio compares file systems as well as disks"),
    ("device", "the disks differ, which is usually what is compared"),
    ("host", "the hardware and its other load differ"),
    ("architecture and CPUs", "CPU-bound passes differ"),
    ("memory", "caches contain another part of the files"),
    ("kernel", "the I/O path differs"),
    ("profile", "the thresholds differ"),
    ("changed thresholds", "the thresholds differ"),
    ("subject", "the figures describe different things"),
    ("activebench", "versions observe and judge differently"),
];

/// Returns the contribution of a judged run to a comparison.
pub fn contribution(run: &JudgedRun) -> OfRun {
    let judged = |id: &str| run.judged.iter().find(|judged| judged.claim == id);
    let stated = run.parsed.claims.iter().filter_map(|claim| {
        let judged = judged(&claim.id)?;
        Some(Stated {
            phase: claim.phase.clone(),
            metric: claim.metric,
            claimed: claim.value,
            honest: honest_or_why(claim, judged),
            verdict: judged.verdict(),
            subject: run.manifest.choices.subject.unwrap_or(claim.subject),
            findings: judged.findings.clone(),
        })
    });
    let loads = run.phases.iter().enumerate();
    let passes = loads.filter_map(|(place, phase)| Some((phase.id.clone(), Load::of(phase, &run.phases[..place])?)));
    OfRun { figures: stated.collect(), passes: passes.collect(), setting: setting(run) }
}

/// Returns the honest figure of a claim, or the reason why there is none.
pub(crate) fn honest_or_why(claim: &Claim, judged: &JudgedClaim) -> Result<Quantity, String> {
    judged.honest(claim).filter(|honest| honest.value.is_finite()).ok_or_else(|| judged.why_no_honest())
}

/// In the order of [`ASPECTS`].
fn setting(run: &JudgedRun) -> Vec<String> {
    let manifest = &run.manifest;
    let host = &manifest.host;
    let tool = if run.parsed.tool.is_empty() { manifest.command.program() } else { &run.parsed.tool };
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| "not known".to_owned());
    let targets = targets(run);
    let file_system = |target: &&Target| format!("{} ({})", target.fs_type, target.options);
    let device = |target: &&Target| {
        let layers = target.layers.iter().map(|layer| match &layer.backing_file {
            Some(file) => format!("{} ({}, {file})", layer.name, layer.kind),
            None => format!("{} ({})", layer.name, layer.kind),
        });
        layers.collect::<Vec<_>>().join(" < ")
    };
    let changed =
        run.changed_thresholds.iter().map(|changed| format!("{} = {}", changed.name, changed.threshold.value));
    let memory = host.usable_memory_bytes();
    vec![
        tool.to_owned(),
        or_unknown(run.parsed.version.clone()),
        manifest.command.argv.join(" "),
        manifest.command.cwd.clone(),
        targets.iter().map(file_system).collect::<Vec<_>>().join("; "),
        targets.iter().map(device).collect::<Vec<_>>().join("; "),
        or_unknown(host.hostname.clone()),
        format!("{}, {} CPUs", host.architecture, host.cpus),
        or_unknown(memory.map(|bytes| Quantity::bytes(bytes).to_string())),
        host.kernel.clone(),
        manifest.choices.profile.clone(),
        changed.collect::<Vec<_>>().join(", "),
        manifest.choices.subject.map_or("as the tool says", Subject::as_str).to_owned(),
        manifest.activebench.clone(),
    ]
}

/// Returns the storage below the phases' files, each once, in their order.
pub(crate) fn targets(run: &JudgedRun) -> Vec<&Target> {
    let files = run.phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file);
    run.manifest.host.targets_of(files)
}

/// Compares runs, in the given order.
pub fn compare(columns: &[Compare]) -> Comparison {
    let other_passes: Vec<OtherPass> = (1..columns.len()).flat_map(|place| other_passes(columns, place)).collect();
    // The phase that a pass is compared as, and the tool of one that is compared with none.
    let placed = |column: usize, phase: &str| -> (String, Option<String>) {
        if !is_other_tool(columns, column) {
            return (phase.to_owned(), None);
        }
        let of = other_passes.iter().find(|pass| pass.run == column + 1 && pass.phase == phase);
        match of.and_then(|pass| pass.compared_as.clone()) {
            Some(first) => (first, None),
            None => (phase.to_owned(), tool(&columns[column]).map(str::to_owned)),
        }
    };
    let mut keys: Vec<(String, Option<String>, Metric, usize)> = Vec::new();
    // For each figure, the values of each run of each column.
    let mut found: Vec<Vec<Vec<&Stated>>> = Vec::new();
    for (column, runs) in columns.iter().map(|column| &column.runs).enumerate() {
        for run in runs {
            let mut seen: Vec<(&str, Metric)> = Vec::new();
            for stated in &run.figures {
                let kind = (stated.phase.as_str(), stated.metric);
                let (phase, of_tool) = placed(column, kind.0);
                let key = (phase, of_tool, kind.1, seen.iter().filter(|known| **known == kind).count());
                seen.push(kind);
                let place = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                    keys.push(key);
                    found.push(vec![Vec::new(); columns.len()]);
                    keys.len() - 1
                });
                found[place][column].push(stated);
            }
        }
    }
    let figures: Vec<Compared> =
        keys.iter().zip(&found).map(|((phase, _, metric, _), stated)| row(phase, *metric, stated)).collect();
    let answers = (1..columns.len()).map(|place| answer(columns, &figures, place)).collect();
    let differences = differences(columns);
    Comparison { columns: columns.iter().map(column).collect(), figures, answers, other_passes, differences }
}

/// Returns the tool of a column; `None` for one without a run.
fn tool(column: &Compare) -> Option<&str> {
    Some(column.runs.first()?.setting.first()?.as_str())
}

fn is_other_tool(columns: &[Compare], place: usize) -> bool {
    tool(&columns[0]) != tool(&columns[place])
}

/// Finds for each pass of a column, whose tool is not that of the first one, the pass of the first that did the same I/O.
/// Several that did the same are matched in their order.
fn other_passes(columns: &[Compare], place: usize) -> Vec<OtherPass> {
    let (Some(first), Some(own)) = (columns[0].runs.first(), columns[place].runs.first()) else { return Vec::new() };
    if !is_other_tool(columns, place) {
        return Vec::new();
    }
    let (of_first, of_own) = ("run 1".to_owned(), format!("run {}", place + 1));
    let mut taken: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (phase, load) in &own.passes {
        let varies = || {
            let others = columns[place].runs[1..].iter().filter_map(|run| of_phase(run, phase));
            others
                .into_iter()
                .find_map(|other| load.differences(other, &of_own, "another run of it").into_iter().next())
        };
        let alike =
            first.passes.iter().filter(|(name, of)| of.is_of_direction(load) && !taken.contains(&name.as_str()));
        let alike = alike.map(|(name, of)| (name, of.differences(load, &of_first, &of_own)));
        let nearest = alike.min_by_key(|(_, differences)| differences.len());
        let (compared_as, why) = match (varies(), nearest) {
            (Some(varies), _) => (None, Some(varies)),
            (None, None) => (None, Some("run 1 has no other pass of this direction".to_owned())),
            (None, Some((name, differences))) => match differences.is_empty() {
                true => (Some(name.clone()), None),
                false => (None, Some(format!("unlike {name}: {}", differences.join("; ")))),
            },
        };
        if let Some((name, _)) = first.passes.iter().find(|(name, _)| Some(name) == compared_as.as_ref()) {
            taken.push(name);
        }
        found.push(OtherPass { run: place + 1, phase: phase.clone(), io: load.words(), compared_as, why });
    }
    found
}

fn of_phase<'a>(run: &'a OfRun, phase: &str) -> Option<&'a Load> {
    run.passes.iter().find(|(name, _)| name == phase).map(|(_, load)| load)
}

/// Change of a figure between two single runs that says nothing: the tolerance within which a rate confirms a claim.
const ALIKE: f64 = 0.05;

/// Returns which of a column and the first is faster, in one sentence.
fn answer(columns: &[Compare], figures: &[Compared], place: usize) -> String {
    // How much faster the column is than the first, of each compared figure; below 1 it is slower.
    let faster = |figure: &Compared| {
        let Against::Compared { ratio, interval } = figure.cells.get(place)?.as_ref()?.against_first.as_ref()? else {
            return None;
        };
        let is_time = figure.metric.is_latency() || figure.metric == Metric::TimePerOperation;
        let is_told = match interval {
            Some(interval) => interval.low > 1.0 || interval.high < 1.0,
            None => *ratio > 1.0 + ALIKE || *ratio < 1.0 / (1.0 + ALIKE),
        };
        let factor = if is_time { 1.0 / ratio } else { *ratio };
        (figure.metric.is_rate(false) || is_time).then_some((factor, is_told))
    };
    let compared: Vec<(f64, bool)> =
        figures.iter().filter_map(faster).filter(|(factor, _)| factor.is_finite()).collect();
    let (other, all) = (place + 1, compared.len());
    if compared.is_empty() {
        let why = match is_other_tool(columns, place) {
            true => "the tools differ, and no pass with an honest figure did the same I/O in both",
            false => "no honest figure is in both",
        };
        return format!("Which of run 1 and run {other} is faster is not known: {why}.");
    }
    let mut gains: Vec<f64> = compared.iter().filter(|(factor, told)| *told && *factor > 1.0).map(|c| c.0).collect();
    let mut losses: Vec<f64> =
        compared.iter().filter(|(factor, told)| *told && *factor < 1.0).map(|c| 1.0 / c.0).collect();
    let by = |factors: &mut Vec<f64>| {
        factors.sort_by(f64::total_cmp);
        let (least, most) = (factors[0], factors[factors.len() - 1]);
        match significant(least) == significant(most) {
            true => format!("{} times", significant(least)),
            false => format!("{} to {} times", significant(least), significant(most)),
        }
    };
    let of = |number: usize| {
        if number == all && all > 1 {
            format!("all {all} figures")
        } else if all == 1 {
            "the only figure".to_owned()
        } else {
            format!("{number} of {all} figures")
        }
    };
    let sentence = match (gains.len(), losses.len()) {
        (0, 0) => format!("Run 1 and run {other} are alike in {}.", of(all)),
        (gained, 0) => format!("Run {other} is faster than run 1 in {}: {}.", of(gained), by(&mut gains)),
        (0, lost) => format!("Run 1 is faster than run {other} in {}: {}.", of(lost), by(&mut losses)),
        (gained, lost) => format!(
            "Run {other} is faster in {} ({}), run 1 in {lost} ({}).",
            of(gained),
            by(&mut gains),
            by(&mut losses)
        ),
    };
    if is_other_tool(columns, place) {
        return format!("{sentence} The tools differ: only passes that did the same I/O are compared.");
    }
    match loads_differ(&columns[0], &columns[place]) {
        true => format!("{sentence} The commands differ, so this compares workloads as well as disks."),
        false => sentence,
    }
}

/// Returns `true` if the commands of two columns differ in more than paths.
fn loads_differ(first: &Compare, other: &Compare) -> bool {
    let load = |column: &Compare| {
        let run = column.runs.first()?;
        let words = run.setting.get(COMMAND)?.split(' ').filter(|word| !word.contains('/'));
        Some(words.map(str::to_owned).collect::<Vec<_>>())
    };
    load(first) != load(other)
}

/// Place of the command in [`ASPECTS`].
const COMMAND: usize = 2;

fn column(of: &Compare) -> Column {
    Column {
        directory: of.directory.clone(),
        series: of.series,
        runs: of.runs.len(),
        verdict: of.verdict,
        incomplete: of.incomplete.clone(),
    }
}

fn row(phase: &str, metric: Metric, stated: &[Vec<&Stated>]) -> Compared {
    let mut cells: Vec<Option<Cell>> = stated.iter().map(|runs| cell(runs)).collect();
    let first = cells.first().cloned().flatten();
    for cell in cells.iter_mut().skip(1).flatten() {
        cell.against_first = Some(against(cell, first.as_ref()));
    }
    Compared { phase: phase.to_owned(), metric, cells }
}

/// Ranks verdicts, the best first.
fn rank(verdict: ClaimVerdict) -> u8 {
    match verdict {
        ClaimVerdict::Confirmed => 0,
        ClaimVerdict::NotChecked => 1,
        ClaimVerdict::Unverifiable => 2,
        ClaimVerdict::Misleading => 3,
        ClaimVerdict::Refuted => 4,
    }
}

/// A figure of a column; `None` when no run of it states it.
fn cell(runs: &[&Stated]) -> Option<Cell> {
    let first = runs.first()?;
    let unit = first.claimed.unit;
    let claimed: Vec<f64> = runs.iter().map(|stated| stated.claimed.value).collect();
    let (honest, no_honest) = match honest(runs) {
        Ok(values) => (values, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let mut findings: Vec<String> = Vec::new();
    for code in runs.iter().flat_map(|stated| &stated.findings) {
        if !findings.contains(code) {
            findings.push(code.clone());
        }
    }
    Some(Cell {
        runs: runs.len(),
        claimed: Quantity { value: median(&claimed)?, unit },
        honest: median(&honest).map(|value| Quantity { value, unit }),
        no_honest,
        verdict: runs.iter().map(|stated| stated.verdict).max_by_key(|verdict| rank(*verdict))?,
        confirmed: runs.iter().filter(|stated| stated.verdict == ClaimVerdict::Confirmed).count(),
        subject: first.subject,
        findings,
        interval: median_interval(&honest, unit, EACH),
        against_first: None,
    })
}

/// Returns the honest figure of every run. A missing one is not left out: it may be missing because it was bad.
fn honest(runs: &[&Stated]) -> Result<Vec<f64>, String> {
    let values: Result<Vec<f64>, &String> =
        runs.iter().map(|stated| stated.honest.as_ref().map(|honest| honest.value)).collect();
    let missing: Vec<&String> = runs.iter().filter_map(|stated| stated.honest.as_ref().err()).collect();
    values.map_err(|why| match runs.len() {
        1 => why.clone(),
        all => format!("{} of {all} runs have none: {why}", missing.len()),
    })
}

fn against(cell: &Cell, first: Option<&Cell>) -> Against {
    let not = |why: &str| Against::NotCompared { why: why.to_owned() };
    let Some(first) = first else { return not("the first does not state it") };
    if first.claimed.unit != cell.claimed.unit {
        return not("the units differ");
    }
    if first.subject.is_storage() != cell.subject.is_storage() {
        let (first, other) = (first.subject.as_str(), cell.subject.as_str());
        return not(&format!("they are taken for different things: {first}, {other}"));
    }
    let (Some(base), Some(honest)) = (first.honest, cell.honest) else {
        return match (first.honest, cell.honest) {
            (None, None) => not("neither has an honest figure"),
            (None, Some(_)) => not("the first has no honest figure"),
            _ => not("it has no honest figure"),
        };
    };
    if base.value <= 0.0 {
        return not("the first is not above 0");
    }
    let interval = first.interval.as_ref().zip(cell.interval.as_ref());
    Against::Compared {
        ratio: honest.value / base.value,
        interval: interval.and_then(|(base, of)| ratio_interval(base, of)),
    }
}

/// Returns the interval of a ratio of medians; `None` if the lower end of the base is not above 0. Both intervals cover
/// their medians together with at least the stated confidence (Bonferroni).
fn ratio_interval(base: &Interval, of: &Interval) -> Option<RatioInterval> {
    (base.low.value > 0.0).then(|| RatioInterval {
        low: of.low.value / base.high.value,
        high: of.high.value / base.low.value,
        confidence_ratio: 1.0 - (1.0 - base.confidence_ratio) - (1.0 - of.confidence_ratio),
    })
}

fn differences(columns: &[Compare]) -> Vec<Difference> {
    let value = |column: &Compare, aspect: usize| {
        let mut values: Vec<&str> = Vec::new();
        for value in column.runs.iter().filter_map(|run| run.setting.get(aspect)) {
            if !values.contains(&value.as_str()) {
                values.push(value);
            }
        }
        values.join(" | ")
    };
    let mut differences: Vec<Difference> = Vec::new();
    let tools_differ = (1..columns.len()).any(|place| is_other_tool(columns, place));
    for (place, (aspect, meaning)) in ASPECTS.into_iter().enumerate() {
        let meaning = if place == COMMAND && tools_differ { "each tool has options of its own" } else { meaning };
        let values: Vec<String> = columns.iter().map(|column| value(column, place)).collect();
        let differ = values.iter().any(|value| *value != values[0]);
        let mixed = columns
            .iter()
            .any(|column| column.runs.windows(2).any(|pair| pair[0].setting[place] != pair[1].setting[place]));
        if differ || mixed {
            differences.push(Difference { aspect: aspect.to_owned(), values, meaning: meaning.to_owned() });
        }
    }
    let verdicts: Vec<String> = columns.iter().map(|column| column.verdict.as_str().to_owned()).collect();
    let open = |column: &Compare| matches!(column.verdict, RunVerdict::Inconclusive | RunVerdict::Failed);
    if columns.iter().any(open) || columns.iter().any(|column| !column.incomplete.is_empty()) {
        differences.push(Difference {
            aspect: "verdict".to_owned(),
            values: verdicts,
            meaning: "a run that failed, or whose evidence does not suffice, may have measured a part of the load"
                .to_owned(),
        });
    }
    differences
}

#[cfg(test)]
mod tests {
    use activebench_model::units::Unit;

    use super::*;

    fn rate(value: f64) -> Quantity {
        Quantity::bytes_per_sec(value)
    }

    fn stated(claimed: f64, honest: Option<f64>, verdict: ClaimVerdict) -> Stated {
        Stated {
            phase: "write".into(),
            metric: Metric::Throughput,
            claimed: rate(claimed),
            honest: honest.map(rate).ok_or_else(|| "nothing was read from the device".to_owned()),
            verdict,
            subject: Subject::Device,
            findings: vec!["AB302".into()],
        }
    }

    fn confirmed(value: f64) -> Stated {
        stated(value, Some(value), ClaimVerdict::Confirmed)
    }

    fn of(figures: Vec<Stated>) -> OfRun {
        OfRun { figures, passes: Vec::new(), setting: vec!["same".into(); ASPECTS.len()] }
    }

    fn given(runs: Vec<OfRun>) -> Compare {
        let series = runs.len() > 1;
        Compare { directory: "run".into(), series, verdict: RunVerdict::Verified, incomplete: Vec::new(), runs }
    }

    fn single(figure: Stated) -> Compare {
        given(vec![of(vec![figure])])
    }

    fn series(values: &[f64]) -> Compare {
        given(values.iter().map(|value| of(vec![confirmed(*value)])).collect())
    }

    fn against_first(columns: &[Compare]) -> Against {
        let comparison = compare(columns);
        let cell = comparison.figures[0].cells[1].clone().expect("the second states it");
        cell.against_first.expect("it is held against the first")
    }

    #[test]
    fn only_honest_figures_are_compared() {
        use ClaimVerdict::{Misleading, Refuted, Unverifiable};
        for (first, second, expected) in [
            (confirmed(100.0), confirmed(150.0), Ok(1.5)),
            // A claim that is ten times too high is compared by its corrected figure.
            (confirmed(100.0), stated(1000.0, Some(50.0), Misleading), Ok(0.5)),
            (stated(1000.0, Some(200.0), Refuted), confirmed(100.0), Ok(0.5)),
            (confirmed(100.0), stated(1000.0, None, Misleading), Err("it has no honest figure")),
            (stated(1000.0, None, Unverifiable), confirmed(100.0), Err("the first has no honest figure")),
            (stated(1.0, None, Refuted), stated(1.0, None, Refuted), Err("neither has an honest figure")),
            (confirmed(0.0), confirmed(1.0), Err("the first is not above 0")),
            (
                confirmed(1.0),
                Stated { subject: Subject::CachedFilesystem, ..confirmed(1.0) },
                Err("they are taken for different things: device, cached-filesystem"),
            ),
            (confirmed(1.0), Stated { subject: Subject::DurableWrite, ..confirmed(1.0) }, Ok(1.0)),
            (
                confirmed(1.0),
                Stated { claimed: Quantity { value: 1.0, unit: Unit::OpsPerSec }, ..confirmed(1.0) },
                Err("the units differ"),
            ),
        ] {
            let found = against_first(&[single(first.clone()), single(second.clone())]);
            let expected = match expected {
                Ok(ratio) => Against::Compared { ratio, interval: None },
                Err(why) => Against::NotCompared { why: why.into() },
            };
            assert_eq!(found, expected, "{first:?} and {second:?}");
        }
    }

    #[test]
    fn two_series_of_seven_have_an_interval_and_six_have_none() {
        let base = [100.0, 101.0, 99.0, 102.0, 98.0, 103.0, 97.0];
        let twice = base.map(|value| value * 2.0);
        let Against::Compared { ratio, interval } = against_first(&[series(&base), series(&twice)]) else {
            panic!("both are honest");
        };
        let interval = interval.expect("seven runs suffice");
        assert!((ratio - 2.0).abs() < 1e-12);
        assert!((interval.low - 194.0 / 103.0).abs() < 1e-12, "{interval:?}");
        assert!((interval.high - 206.0 / 97.0).abs() < 1e-12, "{interval:?}");
        assert!((interval.confidence_ratio - (1.0 - 4.0 / 128.0)).abs() < 1e-12, "{interval:?}");
        for (first, second) in [(&base[..6], &twice[..]), (&base[..], &twice[..6]), (&base[..], &twice[..1])] {
            let Against::Compared { interval, .. } = against_first(&[series(first), series(second)]) else {
                panic!("both are honest");
            };
            assert_eq!(interval, None);
        }
    }

    #[test]
    fn a_series_with_one_run_without_honest_figure_has_none() {
        let mut first = series(&[100.0; 7]);
        first.runs[3].figures[0] = stated(900.0, None, ClaimVerdict::Misleading);
        let comparison = compare(&[first, series(&[100.0; 7])]);
        let cell = comparison.figures[0].cells[0].clone().expect("it is stated");
        assert_eq!((cell.honest, cell.confirmed, cell.runs), (None, 6, 7));
        assert_eq!(cell.verdict, ClaimVerdict::Misleading);
        assert_eq!(cell.no_honest.as_deref(), Some("1 of 7 runs have none: nothing was read from the device"));
    }

    #[test]
    fn figures_are_matched_by_phase_metric_and_place() {
        let read = |value| Stated { phase: "read".into(), ..confirmed(value) };
        let first = given(vec![of(vec![confirmed(1.0), confirmed(2.0), read(3.0)])]);
        let second = given(vec![of(vec![read(30.0), confirmed(10.0)])]);
        let comparison = compare(&[first, second]);
        let claimed: Vec<Vec<Option<f64>>> = comparison
            .figures
            .iter()
            .map(|row| row.cells.iter().map(|cell| cell.as_ref().map(|cell| cell.claimed.value)).collect())
            .collect();
        assert_eq!(claimed, [[Some(1.0), Some(10.0)], [Some(2.0), None], [Some(3.0), Some(30.0)]]);
        let missing = compare(&[given(vec![of(vec![])]), single(confirmed(1.0))]);
        let cell = missing.figures[0].cells[1].clone().expect("it is stated");
        assert_eq!(cell.against_first, Some(Against::NotCompared { why: "the first does not state it".into() }));
    }

    #[test]
    fn what_differs_is_said_and_what_agrees_is_not() {
        let mut second = single(confirmed(1.0));
        assert_eq!(compare(&[single(confirmed(1.0)), second.clone()]).differences, []);
        second.runs[0].setting[1] = "3.506".into();
        second.verdict = RunVerdict::Inconclusive;
        let differences = compare(&[single(confirmed(1.0)), second]).differences;
        let said: Vec<(&str, Vec<&str>)> = differences
            .iter()
            .map(|difference| (difference.aspect.as_str(), difference.values.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(said, [("tool version", vec!["same", "3.506"]), ("verdict", vec!["verified", "inconclusive"])]);
    }

    #[test]
    fn a_series_whose_runs_differ_is_said_to() {
        let mut first = series(&[1.0, 1.0]);
        first.runs[1].setting[9] = "6.12".into();
        let differences = compare(&[first.clone(), first]).differences;
        assert_eq!(differences.len(), 1);
        assert_eq!((differences[0].aspect.as_str(), differences[0].values[0].as_str()), ("kernel", "same | 6.12"));
    }

    #[test]
    fn the_faster_one_is_named_or_why_that_is_unknown() {
        let latency = |value| Stated { metric: Metric::LatencyP99, ..confirmed(value) };
        let run = |figures: &[Stated], command: &str| {
            let mut run = of(figures.to_vec());
            run.setting[COMMAND] = command.into();
            given(vec![run])
        };
        let iozone = "iozone -i0 -f /a/x";
        for (first, second, expected) in [
            (
                run(&[confirmed(1.0)], iozone),
                run(&[confirmed(2.5)], "iozone -i0 -f /b/x"),
                "Run 2 is faster than run 1 in the only figure: 2.50 times.",
            ),
            // A latency is better where it is lower.
            (
                run(&[confirmed(4.0), latency(1.0)], iozone),
                run(&[confirmed(1.0), latency(2.0)], iozone),
                "Run 1 is faster than run 2 in all 2 figures: 2 to 4 times.",
            ),
            (
                run(&[confirmed(100.0)], iozone),
                run(&[confirmed(103.0)], iozone),
                "Run 1 and run 2 are alike in the only figure.",
            ),
            (
                run(&[confirmed(1.0), latency(1.0)], iozone),
                run(&[confirmed(2.0), latency(3.0)], iozone),
                "Run 2 is faster in 1 of 2 figures (2 times), run 1 in 1 (3 times).",
            ),
            (
                run(&[stated(1.0, None, ClaimVerdict::Misleading)], iozone),
                run(&[confirmed(2.0)], iozone),
                "Which of run 1 and run 2 is faster is not known: no honest figure is in both.",
            ),
            (
                run(&[confirmed(1.0)], iozone),
                run(&[confirmed(2.0)], "iozone -i0 -I -f /a/x"),
                "Run 2 is faster than run 1 in the only figure: 2 times. The commands differ, so this compares workloads as \
              well as disks.",
            ),
        ] {
            assert_eq!(compare(&[first, second]).answers, [expected]);
        }
        // Medians of series count where their interval excludes 1.
        let base = [100.0, 101.0, 99.0, 102.0, 98.0, 103.0, 97.0];
        let near = base.map(|value| value * 1.03);
        assert_eq!(compare(&[series(&base), series(&near)]).answers, ["Run 1 and run 2 are alike in the only figure."]);
        let far = base.map(|value| value * 1.2);
        assert_eq!(
            compare(&[series(&base), series(&far)]).answers,
            ["Run 2 is faster than run 1 in the only figure: 1.20 times."]
        );
    }

    #[test]
    fn passes_of_another_tool_are_compared_by_what_they_did() {
        let run = |tool: &str, passes: &[(&str, &[&'static str])]| {
            let stated =
                |(phase, _): &(&str, &[&'static str])| Stated { phase: (*phase).to_owned(), ..confirmed(100.0) };
            let mut run = of(passes.iter().map(stated).collect());
            run.setting[0] = tool.to_owned();
            run.passes = passes.iter().map(|(phase, did)| ((*phase).to_owned(), Load::of_words(did))).collect();
            given(vec![run])
        };
        let iozone = run("iozone", &[("write", &["writes", "1 MiB"]), ("read", &["reads", "1 MiB"])]);
        // `read` did other I/O than the pass of the same name.
        let fio = run("fio", &[("job-write", &["writes", "1 MiB"]), ("read", &["reads", "4 KiB"])]);
        let comparison = compare(&[iozone.clone(), fio]);
        let rows: Vec<(&str, Vec<bool>)> = comparison
            .figures
            .iter()
            .map(|row| (row.phase.as_str(), row.cells.iter().map(Option::is_some).collect()))
            .collect();
        assert_eq!(rows, [("write", vec![true, true]), ("read", vec![true, false]), ("read", vec![false, true])]);
        let passes: Vec<(&str, Option<&str>, Option<&str>)> = comparison
            .other_passes
            .iter()
            .map(|pass| (pass.phase.as_str(), pass.compared_as.as_deref(), pass.why.as_deref()))
            .collect();
        let unlike = "unlike read: aspect 1: 1 MiB in run 1, 4 KiB in run 2";
        assert_eq!(passes, [("job-write", Some("write"), None), ("read", None, Some(unlike))]);
        assert_eq!(
            comparison.answers,
            ["Run 1 and run 2 are alike in the only figure. The tools differ: only passes that did the same I/O are \
              compared."]
        );
        // Passes of one tool keep their names, whatever they did.
        let same = compare(&[iozone.clone(), run("iozone", &[("write", &["writes", "4 KiB"])])]);
        assert_eq!((same.other_passes.len(), same.figures[0].cells.iter().flatten().count()), (0, 2));
        // Of two passes that did the same each has its own.
        let twice = run("fio", &[("a-write", &["writes", "1 MiB"]), ("b-write", &["writes", "1 MiB"])]);
        let second = &compare(&[iozone, twice]).other_passes[1];
        assert_eq!(second.why.as_deref(), Some("run 1 has no other pass of this direction"));
    }
}
