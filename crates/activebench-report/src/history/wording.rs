//! Raw text of a history that the formats for people share: names of figures, tables, sentences.

use std::collections::{HashMap, HashSet};

use activebench_model::history::{
    AgainstBaseline, Batch, FigureKind, Followed, Gate, History, Member, Outcome, Reading, Rules, Slope, Trend,
};
use activebench_model::units::{Quantity, Unit, significant};

use crate::escape::clipped;
use crate::wording::{count, list, metric, utc};

/// Figures shown to a person; the rest is counted.
pub(crate) const FIGURES_SHOWN: usize = 96;
/// Batches shown to a person, and members of each; the rest is counted.
pub(crate) const BATCHES_SHOWN: usize = 24;
const MEMBERS_SHOWN: usize = 64;
/// Longest name of foreign origin, in characters.
const NAME_SHOWN: usize = 160;
/// Maximum figures named in one note; the rest is counted.
const FIGURES_NAMED: usize = 3;
/// Maximum places named in one sentence; the rest is counted.
const NAMED: usize = 8;

/// Names of figures, by their ids.
pub(crate) struct Names<'a>(HashMap<&'a str, Named<'a>>);

struct Named<'a> {
    figure: &'a Followed,
    /// The metric, with details if another figure of the same load, group and phase has the same metric.
    metric: String,
    /// The group, with the load if figures of several loads have the same name.
    group: String,
}

impl<'a> Names<'a> {
    /// Names all figures of a history.
    pub(crate) fn of(history: &'a History) -> Self {
        // `equals` has the figures with one name within a load and group; `loads` has all loads with a figure of that
        // name.
        let mut equals: HashMap<_, Vec<&Followed>> = HashMap::new();
        let mut loads: HashMap<_, HashSet<(&str, &str)>> = HashMap::new();
        for figure in &history.figures {
            let name = (figure.group.as_str(), figure.phase.as_str(), metric(figure.metric));
            let load = (figure.tool.as_str(), figure.load.as_str());
            equals.entry((load, name)).or_default().push(figure);
            loads.entry(name).or_default().insert(load);
        }
        let mut names = HashMap::new();
        for ((load, name), figures) in &equals {
            let several =
                |differ: &dyn Fn(&Followed, &Followed) -> bool| figures.iter().any(|figure| differ(figure, figures[0]));
            let subjects = several(&|one, other| one.subject != other.subject);
            let units = several(&|one, other| unit(one) != unit(other));
            let places = several(&|one, other| one.place != other.place);
            for figure in figures {
                let mut marks: Vec<String> = Vec::new();
                marks.extend(subjects.then(|| figure.subject.as_str().to_owned()));
                marks.extend(unit(figure).filter(|_| units).map(|unit| unit.as_str().to_owned()));
                marks.extend(places.then(|| format!("no. {}", u64::from(figure.place) + 1)));
                let metric = match marks.is_empty() {
                    true => name.2.to_owned(),
                    false => format!("{} ({})", name.2, marks.join(", ")),
                };
                let group = clipped(name.0, NAME_SHOWN);
                let group = match loads[name].len() > 1 {
                    true => format!("{group}; {}", clipped(load.1, NAME_SHOWN)),
                    false => group,
                };
                names.insert(figure.id.as_str(), Named { figure, metric, group });
            }
        }
        Self(names)
    }

    fn metric(&self, figure: &Followed) -> String {
        self.0.get(figure.id.as_str()).map_or_else(|| metric(figure.metric).to_owned(), |named| named.metric.clone())
    }

    /// Name within a group: `write throughput`.
    pub(crate) fn named(&self, figure: &Followed) -> String {
        format!("{} {}", clipped(&figure.phase, NAME_SHOWN), self.metric(figure))
    }

    fn group(&self, figure: &Followed) -> String {
        self.0.get(figure.id.as_str()).map_or_else(|| clipped(&figure.group, NAME_SHOWN), |named| named.group.clone())
    }

    /// Name within the history: `write throughput of ACME 9000 S1`.
    fn of_group(&self, figure: &Followed) -> String {
        format!("{} of {}", self.named(figure), self.group(figure))
    }

    /// Name of a figure of several members: `write throughput`.
    pub(crate) fn of_batch(&self, batch: &Batch) -> String {
        let first = batch.members.first().and_then(|member| self.by_id(&member.figure));
        let metric = first.map_or_else(|| metric(batch.metric).to_owned(), |figure| self.metric(figure));
        format!("{} {metric}", clipped(&batch.phase, NAME_SHOWN))
    }

    fn by_id(&self, id: &str) -> Option<&'a Followed> {
        self.0.get(id).map(|named| named.figure)
    }
}

fn unit(figure: &Followed) -> Option<Unit> {
    figure.points.first().map(|point| point.claimed.unit)
}

/// Figures of one load and group, shown as one table.
pub(crate) struct Section<'a> {
    /// Command of the load.
    pub(crate) load: String,
    /// Disk, host or model.
    pub(crate) group: String,
    /// Kind of figure that the history follows.
    kind: FigureKind,
    /// Figures of the section.
    pub(crate) figures: Vec<&'a Followed>,
}

/// Returns the shown figures by load and group, and the number of figures left out.
pub(crate) fn sections(history: &History) -> (Vec<Section<'_>>, usize) {
    fn key(figure: &Followed) -> (&str, &str, &str) {
        (&figure.tool, &figure.load, &figure.group)
    }
    let mut sections: Vec<Section<'_>> = Vec::new();
    for figure in history.figures.iter().take(FIGURES_SHOWN) {
        match sections.iter_mut().find(|section| key(section.figures[0]) == key(figure)) {
            Some(section) => section.figures.push(figure),
            None => sections.push(Section {
                load: clipped(&figure.load, NAME_SHOWN),
                group: clipped(&figure.group, NAME_SHOWN),
                kind: history.kind,
                figures: vec![figure],
            }),
        }
    }
    (sections, history.figures.len().saturating_sub(FIGURES_SHOWN))
}

/// The columns of the table of figures.
pub(crate) const HEADS: [&str; 8] = ["phase", "figure", "runs", "median", "interval", "spread", "last", "trend"];

/// A figure as a row.
pub(crate) fn row(figure: &Followed, names: &Names<'_>, rules: &Rules) -> Vec<String> {
    let none = || "-".to_owned();
    let summary = figure.summary.as_ref();
    let interval = summary.map(|summary| match &summary.interval {
        Some(interval) => format!("{} to {}", interval.low, interval.high),
        None => format!("needs {} runs", rules.interval_least_runs),
    });
    let spread = summary.and_then(|summary| summary.spread_ratio).map(|spread| Quantity::ratio(spread).to_string());
    vec![
        clipped(&figure.phase, NAME_SHOWN),
        names.metric(figure),
        runs(figure),
        summary.map_or_else(none, |summary| summary.median.to_string()),
        interval.unwrap_or_else(none),
        spread.unwrap_or_else(none),
        summary.map_or_else(none, |summary| summary.last.to_string()),
        trend(&figure.trend),
    ]
}

/// Number of runs that count, and of those that do not.
fn runs(figure: &Followed) -> String {
    let counts = figure.counts;
    let others = [(counts.apart, "apart"), (counts.without, "without")];
    let others = others.iter().filter(|(runs, _)| *runs > 0).map(|(runs, how)| format!(" + {runs} {how}"));
    std::iter::once(counts.counted.to_string()).chain(others).collect()
}

fn trend(trend: &Trend) -> String {
    match trend {
        Trend::Rising(slope) | Trend::Falling(slope) => change(slope),
        Trend::NotSeen(slope) => format!("none seen (p = {})", probability(slope.probability)),
        Trend::NotAsked { .. } => "-".to_owned(),
    }
}

fn change(slope: &Slope) -> String {
    let sign = |value: f64| if value > 0.0 { "+" } else { "" };
    let change = match slope.over_span_ratio {
        Some(share) => format!("{}{} %", sign(share), significant(share * 100.0)),
        None => format!("{}{} a day", sign(slope.per_day.value), slope.per_day),
    };
    format!("{change} in {} days (p = {})", slope.span_days.round(), probability(slope.probability))
}

fn probability(probability: f64) -> String {
    if probability < 0.0001 { "< 0.0001".to_owned() } else { significant(probability) }
}

/// Notes on the figures of a section, one sentence each.
pub(crate) fn notes(section: &Section<'_>, names: &Names<'_>) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    let mut say = |sentence: String, figure: &Followed| match said.iter_mut().find(|(known, _)| *known == sentence) {
        Some((_, figures)) => figures.push(names.named(figure)),
        None => said.push((sentence, vec![names.named(figure)])),
    };
    for figure in &section.figures {
        let counts = figure.counts;
        if counts.of_discrepancy > 0 {
            let runs = count(counts.of_discrepancy, "counted run");
            let what = match section.kind {
                FigureKind::Honest => "the honest figure is what counts",
                FigureKind::Claimed => "what was printed counts all the same",
            };
            say(format!("{runs} with the verdict discrepancy: {what}"), figure);
        }
        if counts.apart > 0 {
            let runs = count(counts.apart, "run");
            say(format!("{runs} inconclusive or failed: shown in the charts and tables, not in these figures"), figure);
        }
        if counts.without > 0 {
            let why =
                figure.points.iter().filter(|point| point.value.is_none()).find_map(|point| point.why_not.as_ref());
            let first = if counts.without > 1 { "the first " } else { "" };
            let why = why.map_or_else(String::new, |why| format!(" ({first}because {})", clipped(why, NAME_SHOWN)));
            say(format!("{} without this figure{why}", count(counts.without, "run")), figure);
        }
        if let Trend::NotAsked { why } = &figure.trend {
            say(format!("no trend is asked for: {why}"), figure);
        }
        for (aspect, values) in &figure.varied {
            let values: Vec<String> = values.iter().map(|value| clipped(value, NAME_SHOWN)).collect();
            say(format!("not the same in all runs: {aspect} ({})", list(&values, NAMED)), figure);
        }
    }
    let all = section.figures.len();
    let sentence = |(sentence, figures): (String, Vec<String>)| match figures.len() == all && all > 1 {
        true => format!("all: {sentence}"),
        false => format!("{}: {sentence}", list(&figures, FIGURES_NAMED)),
    };
    said.into_iter().map(sentence).collect()
}

/// Extent of the history: `12 runs, 2026-01-03 to 2026-11-20; honest figures by device`.
pub(crate) fn extent(history: &History) -> String {
    let kind = match history.kind {
        FigureKind::Honest => "honest figures",
        FigureKind::Claimed => "claimed figures, whether they are valid or not",
    };
    let dates = match (history.runs.first(), history.runs.last()) {
        (Some(first), Some(last)) => match (date(first.started_unix_s), date(last.started_unix_s)) {
            (first, last) if first == last => format!(", {first}"),
            (first, last) => format!(", {first} to {last}"),
        },
        _ => String::new(),
    };
    format!("{}{dates}; {kind} by {}", count(history.runs.len(), "run"), history.by.as_str())
}

/// Date of a time: `2026-01-03`.
pub(crate) fn date(unix_s: i64) -> String {
    utc(unix_s).map_or_else(|| "no date".to_owned(), |date| date.chars().take(10).collect())
}

/// Sources that were read and sources that were not, one sentence each.
pub(crate) fn reading(reading: &Reading) -> Vec<String> {
    let mut said = vec![format!(
        "{} found; {} read from their tables of figures",
        count(reading.found, "run"),
        reading.from_table
    )];
    let mut say = |number: usize, sentence: String| {
        if number > 0 {
            said.push(sentence);
        }
    };
    say(
        reading.from_report,
        format!(
            "{} read from report.json, because the table of figures is missing or of another version (`activebench \
             recheck RUN` writes it)",
            reading.from_report
        ),
    );
    say(reading.copies, format!("{} left out: a copy of a run counts once", count(reading.copies, "directory")));
    say(reading.filtered, format!("{} left out by the filters", count(reading.filtered, "run")));
    say(
        reading.without_figures,
        format!("{} without a figure that was asked for", count(reading.without_figures, "run")),
    );
    let bundles = count(reading.bundles, "bundle");
    say(reading.bundles, format!("{bundles} not opened: name a bundle on the command line to read it"));
    let places = reading.left_out.iter().map(|left| format!("{}: {}", clipped(&left.directory, NAME_SHOWN), left.why));
    let places: Vec<String> = places.take(NAMED).collect();
    let more = reading.left_out.len().saturating_sub(NAMED);
    say(places.len(), format!("{} could not be read", count(reading.left_out.len(), "directory")));
    said.extend(places);
    if more > 0 {
        said.push(format!("and {more} more, in the JSON report"));
    }
    said
}

/// The columns of the table against the baseline.
pub(crate) const BASELINE_HEADS: [&str; 6] = ["phase", "figure", "of", "outcome", "later : baseline", "runs"];

/// Figures compared with the baseline, as rows: worse ones first, then better ones, then the others.
pub(crate) fn baseline_rows(history: &History, names: &Names<'_>) -> Vec<Vec<String>> {
    let rank = |figure: &&Followed| match &figure.against {
        Some(AgainstBaseline::Compared { outcome: Outcome::Worse, .. }) => 0,
        Some(AgainstBaseline::Compared { outcome: Outcome::Better, .. }) => 1,
        _ => 2,
    };
    let mut figures: Vec<&Followed> = history.figures.iter().filter(is_compared).collect();
    figures.sort_by_key(rank);
    let row = |figure: &Followed| {
        let Some(AgainstBaseline::Compared { outcome, ratio, interval, baseline_runs, later_runs, .. }) =
            &figure.against
        else {
            return None;
        };
        let (low, high) = (significant(interval.low), significant(interval.high));
        Some(vec![
            clipped(&figure.phase, NAME_SHOWN),
            names.metric(figure),
            names.group(figure),
            outcome.as_str().replace('-', " "),
            format!("{} ({low} to {high})", significant(*ratio)),
            format!("{later_runs} : {baseline_runs}"),
        ])
    };
    figures.into_iter().take(FIGURES_SHOWN).filter_map(row).collect()
}

fn is_compared(figure: &&Followed) -> bool {
    matches!(figure.against, Some(AgainstBaseline::Compared { .. }))
}

/// Figures that were not compared, grouped by reason.
fn not_compared(history: &History, names: &Names<'_>) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&Followed>)> = Vec::new();
    for figure in &history.figures {
        let Some(AgainstBaseline::NotCompared { why, .. }) = &figure.against else { continue };
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, figures)) => figures.push(figure),
            None => reasons.push((why, vec![figure])),
        }
    }
    let said = |(why, figures): (&str, Vec<&Followed>)| {
        let named: Vec<String> = figures.iter().take(FIGURES_NAMED).map(|figure| names.of_group(figure)).collect();
        let more = figures.len().saturating_sub(FIGURES_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("not compared: {} ({}{more})", clipped(why, NAME_SHOWN), named.join(", "))
    };
    reasons.into_iter().map(said).collect()
}

/// Description of the baseline, and the result of the gate.
pub(crate) fn baseline(history: &History, names: &Names<'_>) -> Vec<String> {
    let Some(baseline) = &history.baseline else { return Vec::new() };
    let mut said = vec![format!(
        "{} of the baseline {}, {} compared with them",
        count(baseline.runs, "run"),
        clipped(&baseline.named, NAME_SHOWN),
        count(baseline.later, "run")
    )];
    said.extend(baseline.gate.as_ref().map(|gate| limit(gate, history, names)));
    let not_compared = not_compared(history, names);
    let more = not_compared.len().saturating_sub(NAMED);
    said.extend(not_compared.into_iter().take(NAMED));
    if more > 0 {
        said.push(format!("and {more} more reasons, in the JSON report"));
    }
    let compared = history.figures.iter().filter(is_compared).count();
    if compared > 0 {
        let confidence_ratio = history.rules.confidence_ratio;
        said.push(format!(
            "in brackets: the interval of the ratio with at least {} confidence. Of figures that did not change {} look changed by chance; {} compared",
            percent(confidence_ratio),
            percent(1.0 - confidence_ratio),
            count(compared, "figure")
        ));
    }
    if compared > FIGURES_SHOWN {
        let more = count(compared - FIGURES_SHOWN, "compared figure");
        said.push(format!("{more} more, in the JSON report and the tables"));
    }
    said
}

/// Formats a share: `95 %`.
fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 1e2)
}

/// The result of the gate.
pub(super) fn limit(gate: &Gate, history: &History, names: &Names<'_>) -> String {
    let named = |ids: &[String]| -> String {
        let figures = ids.iter().filter_map(|id| names.by_id(id));
        list(&figures.map(|figure| names.of_group(figure)).collect::<Vec<_>>(), FIGURES_NAMED)
    };
    let limit = Quantity::ratio(gate.limit_ratio);
    let together = match gate.compared > 1 {
        true => format!(
            " (at least {} for all {} compared together, which takes {} runs on both sides)",
            percent(history.rules.confidence_ratio),
            gate.compared,
            gate.least_runs
        ),
        false => String::new(),
    };
    match (gate.failing.as_slice(), gate.open.as_slice()) {
        ([], []) if gate.compared == 0 => "nothing could be compared, so nothing is known of the limit".to_owned(),
        ([], []) => format!("no figure is shown to be worse by {limit} or more{together}"),
        ([], open) => format!(
            "no figure is shown to be worse by {limit} or more{together}, but for {} that is unknown: {}",
            count(open.len(), "figure"),
            named(open)
        ),
        (failing, _) => {
            format!("{} worse by {limit} or more{together}: {}", count(failing.len(), "figure"), named(failing))
        }
    }
}

/// The columns of the table of a batch.
pub(crate) const BATCH_HEADS: [&str; 5] = ["of", "runs", "median", "away from the middle", "said"];

/// A batch in its displayed form.
pub(crate) struct SideBySide {
    /// Title.
    pub(crate) head: String,
    /// Rows, one per member.
    pub(crate) rows: Vec<Vec<String>>,
    /// Notes on the members.
    pub(crate) notes: Vec<String>,
}

/// Returns the first `most` batches, and the number of the others.
pub(crate) fn batches(history: &History, names: &Names<'_>, most: usize) -> (Vec<SideBySide>, usize) {
    let shown = history.batches.iter().take(most).map(|of| batch(of, names)).collect();
    (shown, history.batches.len().saturating_sub(most))
}

fn batch(batch: &Batch, names: &Names<'_>) -> SideBySide {
    let head = format!(
        "{}, {}; {}",
        names.of_batch(batch),
        count(batch.members.len(), "member"),
        clipped(&batch.load, NAME_SHOWN)
    );
    let row = |member: &Member| {
        let away = member.deviations.map_or_else(|| "-".to_owned(), |away| format!("{} deviations", significant(away)));
        let said = if member.outlier { "OUTLIER" } else { "" };
        vec![
            clipped(&member.group, NAME_SHOWN),
            member.runs.to_string(),
            member.median.to_string(),
            away,
            said.to_owned(),
        ]
    };
    let mut notes = vec![format!("the middle is {}, the median deviation from it {}", batch.median, batch.deviation)];
    notes.extend(batch.not_judged.iter().map(|why| format!("no outlier is looked for: {why}")));
    let outliers: Vec<String> =
        batch.members.iter().filter(|member| member.outlier).map(|member| clipped(&member.group, NAME_SHOWN)).collect();
    if !outliers.is_empty() {
        let limit = batch.outlier_deviations;
        notes.push(format!("more than {limit} deviations away: {}; it stays in the middle", list(&outliers, NAMED)));
    }
    if !batch.without.is_empty() {
        let names: Vec<String> = batch.without.iter().map(|group| clipped(group, NAME_SHOWN)).collect();
        notes.push(format!("without a value that counts: {}", list(&names, NAMED)));
    }
    // Members far from the others are at both ends.
    let left_out = batch.members.len().saturating_sub(MEMBERS_SHOWN);
    let members = batch.members.iter().enumerate();
    let is_shown = |place: usize| place < MEMBERS_SHOWN / 2 || place >= left_out + MEMBERS_SHOWN / 2;
    if left_out > 0 {
        let left_out = count(left_out, "member");
        notes.push(format!("{left_out} of the middle left out, which JSON and CSV have"));
    }
    let rows = members.filter(|(place, _)| is_shown(*place)).map(|(_, member)| row(member)).collect();
    SideBySide { head, rows, notes }
}

/// Explanations of intervals and trends, if there are any.
pub(crate) fn about(history: &History) -> Vec<String> {
    let mut said = Vec::new();
    if history.figures.iter().any(|figure| figure.summary.is_some()) {
        let confidence = percent(history.rules.confidence_ratio);
        said.push(format!("an interval contains the median of all such runs with at least {confidence}"));
    }
    let asked = history.figures.iter().filter(|figure| !matches!(figure.trend, Trend::NotAsked { .. })).count();
    if asked > 0 {
        said.push(format!(
            "a trend is reported if chance alone orders runs so one-sidedly in less than {} of figures; {} asked",
            percent(history.rules.trend_probability),
            count(asked, "figure")
        ));
    }
    said
}
