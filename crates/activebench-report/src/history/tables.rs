//! The history for programs: one row per figure, or one row per run of a figure. Raw text; `csv` and Parquet escape it.

use std::collections::HashMap;

use activebench_model::history::{AgainstBaseline, Followed, History, Member, Point, RunOfHistory, Slope, Trend};
use activebench_model::table::{Column, Table, Values};

/// One table of a history.
pub struct HistoryTable {
    /// Name of its Parquet format.
    pub name: &'static str,
    /// Builds the table; its text is raw.
    pub of: fn(&History) -> Table,
}

/// Every table, for Parquet.
pub const HISTORY_TABLES: &[HistoryTable] =
    &[HistoryTable { name: "parquet", of: figures }, HistoryTable { name: "runs-parquet", of: runs }];

/// Columns of one table, all built from the same rows.
struct Rows<R> {
    rows: Vec<R>,
    columns: Vec<Column>,
}

impl<R> Rows<R> {
    fn new(rows: Vec<R>) -> Self {
        Self { rows, columns: Vec::new() }
    }

    fn text(mut self, name: &str, of: impl Fn(&R) -> Option<String>) -> Self {
        let values = Values::Texts(self.rows.iter().map(of).collect());
        self.columns.push(Column { name: name.to_owned(), values });
        self
    }

    fn number(mut self, name: &str, of: impl Fn(&R) -> Option<f64>) -> Self {
        let values = self.rows.iter().map(|row| of(row).filter(|value| value.is_finite())).collect();
        self.columns.push(Column { name: name.to_owned(), values: Values::Numbers(values) });
        self
    }

    fn whole(mut self, name: &str, of: impl Fn(&R) -> Option<usize>) -> Self {
        let values = self.rows.iter().map(|row| of(row).and_then(|value| u64::try_from(value).ok())).collect();
        self.columns.push(Column { name: name.to_owned(), values: Values::Integers(values) });
        self
    }

    fn signed(mut self, name: &str, of: impl Fn(&R) -> Option<i64>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.columns.push(Column { name: name.to_owned(), values: Values::Signed(values) });
        self
    }

    fn table(self) -> Table {
        Table { columns: self.columns }
    }
}

fn slope(figure: &Followed) -> Option<&Slope> {
    match &figure.trend {
        Trend::Rising(slope) | Trend::Falling(slope) | Trend::NotSeen(slope) => Some(slope),
        Trend::NotAsked { .. } => None,
    }
}

fn trend(figure: &Followed) -> &'static str {
    match &figure.trend {
        Trend::Rising(_) => "rising",
        Trend::Falling(_) => "falling",
        Trend::NotSeen(_) => "not-seen",
        Trend::NotAsked { .. } => "not-asked",
    }
}

/// Builds the table with one row per figure.
pub fn figures(history: &History) -> Table {
    let started = |point: Option<&Point>| Some(history.runs.get(point?.run)?.started_unix_s);
    let unit = |figure: &&Followed| figure.points.first().map(|point| point.claimed.unit.as_str().to_owned());
    let ratio = |figure: &&Followed, of: fn(f64, f64, f64) -> f64| match &figure.against {
        Some(AgainstBaseline::Compared { ratio, interval, .. }) => Some(of(*ratio, interval.low, interval.high)),
        _ => None,
    };
    let compared = |figure: &&Followed| match &figure.against {
        Some(AgainstBaseline::Compared { outcome, baseline_runs, later_runs, .. }) => {
            Some((*outcome, *baseline_runs, *later_runs))
        }
        _ => None,
    };
    let members: HashMap<&str, &Member> = history
        .batches
        .iter()
        .flat_map(|batch| &batch.members)
        .map(|member| (member.figure.as_str(), member))
        .collect();
    let member = |figure: &&Followed| members.get(figure.id.as_str());
    Rows::new(history.figures.iter().collect())
        .text("figure", |figure| Some(figure.id.clone()))
        .text("tool", |figure| Some(figure.tool.clone()))
        .text("load", |figure| Some(figure.load.clone()))
        .text(history.by.as_str(), |figure| Some(figure.group.clone()))
        .text("phase", |figure| Some(figure.phase.clone()))
        .text("metric", |figure| Some(figure.metric.as_str().to_owned()))
        .whole("place", |figure| usize::try_from(figure.place).ok())
        .text("subject", |figure| Some(figure.subject.as_str().to_owned()))
        .text("unit", unit)
        .whole("runs", |figure| Some(figure.counts.counted))
        .whole("runs_of_discrepancy", |figure| Some(figure.counts.of_discrepancy))
        .whole("runs_apart", |figure| Some(figure.counts.apart))
        .whole("runs_without", |figure| Some(figure.counts.without))
        .signed("first_unix_s", |figure| started(figure.points.first()))
        .signed("last_unix_s", |figure| started(figure.points.last()))
        .number("median", |figure| Some(figure.summary.as_ref()?.median.value))
        .number("interval_low", |figure| Some(figure.summary.as_ref()?.interval?.low.value))
        .number("interval_high", |figure| Some(figure.summary.as_ref()?.interval?.high.value))
        .number("least", |figure| Some(figure.summary.as_ref()?.least.value))
        .number("most", |figure| Some(figure.summary.as_ref()?.most.value))
        .number("spread_ratio", |figure| figure.summary.as_ref()?.spread_ratio)
        .number("last", |figure| Some(figure.summary.as_ref()?.last.value))
        .text("trend", |figure| Some(trend(figure).to_owned()))
        .number("slope_per_day", |figure| Some(slope(figure)?.per_day.value))
        .number("change_over_span_ratio", |figure| slope(figure)?.over_span_ratio)
        .number("span_days", |figure| Some(slope(figure)?.span_days))
        .number("trend_probability", |figure| Some(slope(figure)?.probability))
        .text("baseline_outcome", |figure| Some(compared(figure)?.0.as_str().to_owned()))
        .number("ratio_to_baseline", |figure| ratio(figure, |ratio, _, _| ratio))
        .number("ratio_low", |figure| ratio(figure, |_, low, _| low))
        .number("ratio_high", |figure| ratio(figure, |_, _, high| high))
        .whole("baseline_runs", |figure| Some(compared(figure)?.1))
        .whole("later_runs", |figure| Some(compared(figure)?.2))
        .number("deviations_from_batch", |figure| member(figure)?.deviations)
        .text("outlier", |figure| member(figure).map(|member| if member.outlier { "yes" } else { "no" }.to_owned()))
        .table()
}

/// Builds the table with one row per run of a figure.
pub fn runs(history: &History) -> Table {
    let rows: Vec<(&Followed, &Point)> =
        history.figures.iter().flat_map(|figure| figure.points.iter().map(move |point| (figure, point))).collect();
    let run = |point: &Point| -> Option<&RunOfHistory> { history.runs.get(point.run) };
    let yes = |is: bool| Some(if is { "yes" } else { "no" }.to_owned());
    Rows::new(rows)
        .text("figure", |(figure, _)| Some(figure.id.clone()))
        .text("directory", |(_, point)| Some(run(point)?.directory.clone()))
        .signed("started_unix_s", |(_, point)| Some(run(point)?.started_unix_s))
        .text("run_verdict", |(_, point)| Some(run(point)?.verdict.as_str().to_owned()))
        .text("tool", |(figure, _)| Some(figure.tool.clone()))
        .text("load", |(figure, _)| Some(figure.load.clone()))
        .text(history.by.as_str(), |(figure, _)| Some(figure.group.clone()))
        .text("phase", |(figure, _)| Some(figure.phase.clone()))
        .text("metric", |(figure, _)| Some(figure.metric.as_str().to_owned()))
        .whole("place", |(figure, _)| usize::try_from(figure.place).ok())
        .text("subject", |(figure, _)| Some(figure.subject.as_str().to_owned()))
        .text("unit", |(_, point)| Some(point.claimed.unit.as_str().to_owned()))
        .number("value", |(_, point)| Some(point.value?.value))
        .number("claimed", |(_, point)| Some(point.claimed.value))
        .text("claim_verdict", |(_, point)| Some(point.verdict.as_str().to_owned()))
        .number("foreign_io_ratio", |(_, point)| point.foreign_io_ratio)
        .text("counts", |(_, point)| yes(point.counts))
        .text("why_not", |(_, point)| point.why_not.clone())
        .text("in_baseline", |(_, point)| yes(run(point)?.in_baseline))
        .table()
}
