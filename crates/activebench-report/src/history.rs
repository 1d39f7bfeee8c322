//! Reports of many runs over time, one file a format. As for single runs, a renderer computes nothing and escapes every
//! text.
//!
//! What the formats for people have in common is here, as raw text; `text`, `markdown` and the page lay it out.

mod markdown;
pub mod tables;
mod text;

use activebench_model::history::{
    AgainstBaseline, Batch, FigureKind, Followed, Gate, History, Outcome, Reading, Slope, Trend,
};
use activebench_model::units::{Quantity, significant};
use serde::Serialize;

use crate::escape::clipped;
use crate::wording::{count, list, merged, metric, utc};
use crate::{Style, csv, escape, html};

/// The value of the key `schema`. A reader refuses one that it does not know.
const SCHEMA: &str = "activebench.history/1";
/// The formats that are text.
pub const HISTORY_FORMATS: [&str; 6] = ["text", "json", "markdown", "html", "csv", "runs-csv"];
/// Figures shown to a person; the rest is counted.
pub(crate) const FIGURES_SHOWN: usize = 96;
/// Most characters of what somebody else named.
const NAME_SHOWN: usize = 160;
/// Figures named before what is said of them; the rest is counted.
const FIGURES_NAMED: usize = 3;
/// Places named in one sentence; the rest is counted.
const NAMED: usize = 8;

/// The history; `None` for a format that is none of [`HISTORY_FORMATS`].
pub fn render(format: &str, history: &History, style: Style) -> Option<String> {
    match format {
        "text" => Some(text::text(history, style)),
        "json" => Some(json(history)),
        "markdown" => Some(markdown::markdown(history)),
        "html" => Some(html::history::document(history)),
        "csv" => Some(csv::written(&tables::figures(history))),
        "runs-csv" => Some(csv::written(&tables::runs(history))),
        _ => None,
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    history: &'a History,
}

fn json(history: &History) -> String {
    let text = serde_json::to_string_pretty(&Document { schema: SCHEMA, history })
        .expect("it has text keys only and no serialiser of its own that fails");
    escape::json(&text) + "\n"
}

/// Figures of one load and group, which are one table.
pub(crate) struct Section<'a> {
    /// The command.
    pub(crate) load: String,
    /// The disk, host or model.
    pub(crate) group: String,
    /// Which number is followed.
    kind: FigureKind,
    /// Its figures.
    pub(crate) figures: Vec<&'a Followed>,
}

/// The figures that are shown, load by load and group by group, and how many are left out.
pub(crate) fn sections(history: &History) -> (Vec<Section<'_>>, usize) {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for figure in history.figures.iter().take(FIGURES_SHOWN) {
        let (load, group) = (clipped(&figure.load, NAME_SHOWN), clipped(&figure.group, NAME_SHOWN));
        match sections.iter_mut().find(|section| (&section.load, &section.group) == (&load, &group)) {
            Some(section) => section.figures.push(figure),
            None => sections.push(Section { load, group, kind: history.kind, figures: vec![figure] }),
        }
    }
    (sections, history.figures.len().saturating_sub(FIGURES_SHOWN))
}

/// The columns of the table of figures.
pub(crate) const HEADS: [&str; 8] = ["phase", "figure", "runs", "median", "95 % interval", "spread", "last", "trend"];

/// A figure as a row.
pub(crate) fn row(figure: &Followed) -> Vec<String> {
    let none = || "-".to_owned();
    let summary = figure.summary.as_ref();
    let interval = summary.map(|summary| match &summary.interval {
        Some(interval) => format!("{} to {}", interval.low, interval.high),
        None => "needs 6 runs".to_owned(),
    });
    let spread = summary.and_then(|summary| summary.spread_ratio).map(|spread| Quantity::ratio(spread).to_string());
    vec![
        clipped(&figure.phase, NAME_SHOWN),
        metric(figure.metric).to_owned(),
        runs(figure),
        summary.map_or_else(none, |summary| summary.median.to_string()),
        interval.unwrap_or_else(none),
        spread.unwrap_or_else(none),
        summary.map_or_else(none, |summary| summary.last.to_string()),
        trend(&figure.trend),
    ]
}

/// How many runs count, and how many do not.
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

/// `write throughput`.
pub(crate) fn named(figure: &Followed) -> String {
    format!("{} {}", clipped(&figure.phase, NAME_SHOWN), metric(figure.metric))
}

/// What must be known beside the figures of a section, a sentence each.
pub(crate) fn notes(section: &Section<'_>) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    let mut say = |sentence: String, figure: &Followed| match said.iter_mut().find(|(known, _)| *known == sentence) {
        Some((_, figures)) => figures.push(named(figure)),
        None => said.push((sentence, vec![named(figure)])),
    };
    for figure in &section.figures {
        let counts = figure.counts;
        if counts.of_discrepancy > 0 {
            let runs = count(counts.of_discrepancy, "counted run");
            let what = match section.kind {
                FigureKind::Honest => "the figure that holds is what counts",
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

/// `12 runs, 2026-01-03 to 2026-11-20, honest figures by device`.
pub(crate) fn extent(history: &History) -> String {
    let kind = match history.kind {
        FigureKind::Honest => "honest figures",
        FigureKind::Claimed => "claimed figures, whether they hold or not",
    };
    let dates = match (history.runs.first(), history.runs.last()) {
        (Some(first), Some(last)) => format!(", {} to {}", date(first.started_unix_s), date(last.started_unix_s)),
        _ => String::new(),
    };
    format!("{}{dates}; {kind} by {}", count(history.runs.len(), "run"), history.by.as_str())
}

/// `2026-01-03`.
pub(crate) fn date(unix_s: i64) -> String {
    utc(unix_s).map_or_else(|| "no date".to_owned(), |date| date.chars().take(10).collect())
}

/// What was read and what was not, a sentence each.
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

/// Figures that were compared with the baseline as rows: what became worse first, then what became better.
pub(crate) fn baseline_rows(history: &History) -> Vec<Vec<String>> {
    let compared = |figure: &Followed| {
        let Some(AgainstBaseline::Compared { outcome, ratio, interval, baseline_runs, later_runs }) = &figure.against
        else {
            return None;
        };
        let rank = match outcome {
            Outcome::Worse => 0,
            Outcome::Better => 1,
            Outcome::NoDifferenceSeen => 2,
        };
        let (low, high) = (significant(interval.low), significant(interval.high));
        let row = vec![
            clipped(&figure.phase, NAME_SHOWN),
            metric(figure.metric).to_owned(),
            clipped(&figure.group, NAME_SHOWN),
            outcome.as_str().to_owned(),
            format!("{} ({low} to {high})", significant(*ratio)),
            format!("{later_runs} : {baseline_runs}"),
        ];
        Some((rank, row))
    };
    let mut rows: Vec<(u8, Vec<String>)> = history.figures.iter().filter_map(compared).collect();
    rows.sort_by_key(|(rank, _)| *rank);
    rows.into_iter().take(FIGURES_SHOWN).map(|(_, row)| row).collect()
}

/// Figures that were not compared, each reason once.
fn not_compared(history: &History) -> Vec<String> {
    let pairs = history.figures.iter().filter_map(|figure| match &figure.against {
        Some(AgainstBaseline::NotCompared { why, .. }) => Some((of_group(figure), clipped(why, NAME_SHOWN))),
        _ => None,
    });
    let said = merged(pairs).into_iter();
    said.map(|(figures, why)| format!("not compared: {why} ({})", list(&figures, FIGURES_NAMED))).collect()
}

/// `write throughput of ACME 9000 S1`.
fn of_group(figure: &Followed) -> String {
    format!("{} of {}", named(figure), clipped(&figure.group, NAME_SHOWN))
}

/// What the baseline is, and whether the limit holds.
pub(crate) fn baseline(history: &History) -> Vec<String> {
    let Some(baseline) = &history.baseline else { return Vec::new() };
    let mut said = vec![format!(
        "{} of the baseline {}, {} held against them",
        count(baseline.runs, "run"),
        clipped(&baseline.named, NAME_SHOWN),
        count(baseline.later, "run")
    )];
    said.extend(baseline.gate.as_ref().map(|gate| limit(gate, history)));
    let not_compared = not_compared(history);
    let more = not_compared.len().saturating_sub(NAMED);
    said.extend(not_compared.into_iter().take(NAMED));
    if more > 0 {
        said.push(format!("and {more} more reasons, in the JSON report"));
    }
    let compared = history
        .figures
        .iter()
        .filter(|figure| matches!(figure.against, Some(AgainstBaseline::Compared { .. })))
        .count();
    if compared > 0 {
        said.push(format!(
            "in brackets: where the ratio lies with at least 95 %. Of figures that did not change 5 in 100 look changed \
             by chance; {} compared",
            count(compared, "figure")
        ));
    }
    said
}

fn limit(gate: &Gate, history: &History) -> String {
    let names = |ids: &[String]| -> String {
        let of = |id: &String| history.figures.iter().find(|figure| figure.id == *id).map(of_group);
        list(&ids.iter().filter_map(of).collect::<Vec<_>>(), FIGURES_NAMED)
    };
    let limit = Quantity::ratio(gate.limit_ratio);
    match (gate.failing.as_slice(), gate.open.as_slice()) {
        ([], []) if gate.compared == 0 => "nothing could be compared, so nothing is known of the limit".to_owned(),
        ([], []) => format!("no figure is worse by {limit} or more"),
        ([], open) => format!(
            "no figure is known to be worse by {limit} or more, but of {} that cannot be told: {}",
            count(open.len(), "figure"),
            names(open)
        ),
        (failing, _) => format!("{} worse by {limit} or more: {}", count(failing.len(), "figure"), names(failing)),
    }
}

/// The columns of the table of a batch.
pub(crate) const BATCH_HEADS: [&str; 5] = ["of", "runs", "median", "away from the middle", "said"];

/// A batch: what it is of, its rows, and what must be known beside them.
pub(crate) fn batch(batch: &Batch) -> (String, Vec<Vec<String>>, Vec<String>) {
    let head = format!(
        "{} {}, {}; {}",
        clipped(&batch.phase, NAME_SHOWN),
        metric(batch.metric),
        count(batch.members.len(), "member"),
        clipped(&batch.load, NAME_SHOWN)
    );
    let row = |member: &activebench_model::history::Member| {
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
        notes.push(format!("more than 14.826 deviations away: {}; it stays in the middle", list(&outliers, NAMED)));
    }
    if !batch.without.is_empty() {
        let names: Vec<String> = batch.without.iter().map(|group| clipped(group, NAME_SHOWN)).collect();
        notes.push(format!("without a value that counts: {}", list(&names, NAMED)));
    }
    (head, batch.members.iter().map(row).collect(), notes)
}

/// How trends are told, where any is asked for.
pub(crate) fn about_trends(history: &History) -> Option<String> {
    let asked = history.figures.iter().filter(|figure| !matches!(figure.trend, Trend::NotAsked { .. })).count();
    (asked > 0).then(|| {
        format!(
            "a trend is told where chance alone orders runs so one-sidedly in less than 1 of 100 figures; {} asked",
            count(asked, "figure")
        )
    })
}
