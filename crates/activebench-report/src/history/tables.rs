//! The history for programs: one row per figure, or one row per run of a figure. Raw text; `csv` and Parquet escape it.

use std::collections::HashMap;

use activebench_model::history::{AgainstBaseline, By, Followed, History, Member, Point, RunOfHistory, Slope, Trend};
use activebench_model::table::{ColumnAbout, Table};

use crate::tables::Rows;

/// One table of a history.
pub struct HistoryTable {
    /// Name of its Parquet format.
    pub name: &'static str,
    /// Name that its file states.
    pub title: &'static str,
    /// What a row is: a sentence.
    pub about: &'static str,
    /// Builds the table; its text is raw.
    pub of: fn(&History) -> Table,
    /// Returns its columns.
    pub columns: fn() -> Vec<ColumnAbout>,
}

/// Every table, for Parquet.
pub const HISTORY_TABLES: &[HistoryTable] = &[
    HistoryTable {
        name: "parquet",
        title: "history",
        about: "One row per figure of a load on a disk, over all runs.",
        of: figures,
        columns: || figure_columns(Vec::new(), By::Device).abouts(),
    },
    HistoryTable {
        name: "runs-parquet",
        title: "history-runs",
        about: "One row per run of such a figure.",
        of: runs,
        columns: || run_columns(Vec::new(), By::Device).abouts(),
    },
];

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

/// A figure with the runs at its ends, and its place among the others of its load.
struct FigureRow<'a> {
    figure: &'a Followed,
    first: Option<&'a RunOfHistory>,
    last: Option<&'a RunOfHistory>,
    member: Option<&'a Member>,
}

/// Builds the table with one row per figure.
pub fn figures(history: &History) -> Table {
    let members: HashMap<&str, &Member> = history
        .batches
        .iter()
        .flat_map(|batch| &batch.members)
        .map(|member| (member.figure.as_str(), member))
        .collect();
    let run = |point: Option<&Point>| history.runs.get(point?.run);
    let rows = history.figures.iter().map(|figure| FigureRow {
        figure,
        first: run(figure.points.first()),
        last: run(figure.points.last()),
        member: members.get(figure.id.as_str()).copied(),
    });
    figure_columns(rows.collect(), history.by).table()
}

fn figure_columns(rows: Vec<FigureRow<'_>>, by: By) -> Rows<FigureRow<'_>> {
    let unit =
        |figure: &FigureRow<'_>| figure.figure.points.first().map(|point| point.claimed.unit.as_str().to_owned());
    let ratio = |row: &FigureRow<'_>, of: fn(f64, f64, f64) -> f64| match &row.figure.against {
        Some(AgainstBaseline::Compared { ratio, interval, .. }) => Some(of(*ratio, interval.low, interval.high)),
        _ => None,
    };
    let compared = |row: &FigureRow<'_>| match &row.figure.against {
        Some(AgainstBaseline::Compared { outcome, baseline_runs, later_runs, .. }) => {
            Some((*outcome, *baseline_runs, *later_runs))
        }
        _ => None,
    };
    let of = "see `unit`";
    Rows::new(rows)
        .text("figure", "Name of the figure in a history.", |row| Some(row.figure.id.clone()))
        .text("tool", "The benchmark.", |row| Some(row.figure.tool.clone()))
        .text("load", "The command with `TARGET` in the place of the disk.", |row| Some(row.figure.load.clone()))
        .text(by.as_str(), GROUP, |row| Some(row.figure.group.clone()))
        .text("phase", "The benchmark's pass.", |row| Some(row.figure.phase.clone()))
        .text("metric", "Kind of figure.", |row| Some(row.figure.metric.as_str().to_owned()))
        .whole("place", "", PLACE, |row| usize::try_from(row.figure.place).ok())
        .text("subject", "What the figure is taken to describe.", |row| Some(row.figure.subject.as_str().to_owned()))
        .text("unit", "Unit of the figures of this row.", unit)
        .whole("runs", "runs", "Runs that count.", |row| Some(row.figure.counts.counted))
        .whole("runs_of_discrepancy", "runs", "Runs whose verdict is a discrepancy.", |row| {
            Some(row.figure.counts.of_discrepancy)
        })
        .whole("runs_apart", "runs", "Runs that do not count.", |row| Some(row.figure.counts.apart))
        .whole("runs_without", "runs", "Runs without this figure.", |row| Some(row.figure.counts.without))
        .signed("first_unix_s", UNIX_S, "Start of the first run.", |row| Some(row.first?.started_unix_s))
        .signed("last_unix_s", UNIX_S, "Start of the last run.", |row| Some(row.last?.started_unix_s))
        .number("median", of, "Median of the runs.", |row| Some(row.figure.summary.as_ref()?.median.value))
        .number("interval_low", of, "Lower end of the median's confidence interval.", |row| {
            Some(row.figure.summary.as_ref()?.interval?.low.value)
        })
        .number("interval_high", of, "Upper end of the median's confidence interval.", |row| {
            Some(row.figure.summary.as_ref()?.interval?.high.value)
        })
        .number("least", of, "Smallest figure.", |row| Some(row.figure.summary.as_ref()?.least.value))
        .number("most", of, "Largest figure.", |row| Some(row.figure.summary.as_ref()?.most.value))
        .number("spread_ratio", RATIO, "(largest - smallest) / median.", |row| {
            row.figure.summary.as_ref()?.spread_ratio
        })
        .number("last", of, "Figure of the last run.", |row| Some(row.figure.summary.as_ref()?.last.value))
        .text("trend", "`rising`, `falling`, `not-seen`, or `not-asked` where there are too few runs.", |row| {
            Some(trend(row.figure).to_owned())
        })
        .number("slope_per_day", "see `unit`, per day", "Slope of the trend.", |row| {
            Some(slope(row.figure)?.per_day.value)
        })
        .number("change_over_span_ratio", RATIO, "Change over the span / the median.", |row| {
            slope(row.figure)?.over_span_ratio
        })
        .number("span_days", "days", "From the first run to the last.", |row| Some(slope(row.figure)?.span_days))
        .number("trend_probability", RATIO, "Probability of such a trend by chance.", |row| {
            Some(slope(row.figure)?.probability)
        })
        .text("baseline_outcome", "Later runs compared with the baseline; missing without one.", |row| {
            Some(compared(row)?.0.as_str().to_owned())
        })
        .number("ratio_to_baseline", RATIO, "Median of the later runs / that of the baseline.", |row| {
            ratio(row, |ratio, _, _| ratio)
        })
        .number("ratio_low", RATIO, "Lower end of the ratio's confidence interval.", |row| ratio(row, |_, low, _| low))
        .number("ratio_high", RATIO, "Upper end of the ratio's confidence interval.", |row| {
            ratio(row, |_, _, high| high)
        })
        .whole("baseline_runs", "runs", "Runs of the baseline.", |row| Some(compared(row)?.1))
        .whole("later_runs", "runs", "Runs after the baseline.", |row| Some(compared(row)?.2))
        .number(
            "deviations_from_batch",
            "median absolute deviations",
            "Distance from the median of the batch.",
            |row| row.member?.deviations,
        )
        .text("outlier", "`yes` where the distance is large; missing without a batch.", |row| {
            row.member.map(|member| if member.outlier { "yes" } else { "no" }.to_owned())
        })
}

const GROUP: &str =
    "The disk, host or model whose figures are followed (`--by`). The column has the name of what was chosen.";
const PLACE: &str = "Number of the figure among those of this phase and metric, from 0.";
const RATIO: &str = "ratio";
const UNIX_S: &str = "s since 1970-01-01 UTC";

/// A run of a figure.
struct RunRow<'a> {
    figure: &'a Followed,
    point: &'a Point,
    run: Option<&'a RunOfHistory>,
}

/// Builds the table with one row per run of a figure.
pub fn runs(history: &History) -> Table {
    let rows = history.figures.iter().flat_map(|figure| {
        figure.points.iter().map(move |point| RunRow { figure, point, run: history.runs.get(point.run) })
    });
    run_columns(rows.collect(), history.by).table()
}

fn run_columns(rows: Vec<RunRow<'_>>, by: By) -> Rows<RunRow<'_>> {
    let yes = |is: bool| Some(if is { "yes" } else { "no" }.to_owned());
    Rows::new(rows)
        .text("figure", "Name of the figure in a history.", |row| Some(row.figure.id.clone()))
        .text("directory", "The run directory.", |row| Some(row.run?.directory.clone()))
        .signed("started_unix_s", UNIX_S, "Start of the run.", |row| Some(row.run?.started_unix_s))
        .text("run_verdict", "The verdict on the run.", |row| Some(row.run?.verdict.as_str().to_owned()))
        .text("tool", "The benchmark.", |row| Some(row.figure.tool.clone()))
        .text("load", "The command with `TARGET` in the place of the disk.", |row| Some(row.figure.load.clone()))
        .text(by.as_str(), GROUP, |row| Some(row.figure.group.clone()))
        .text("phase", "The benchmark's pass.", |row| Some(row.figure.phase.clone()))
        .text("metric", "Kind of figure.", |row| Some(row.figure.metric.as_str().to_owned()))
        .whole("place", "", PLACE, |row| usize::try_from(row.figure.place).ok())
        .text("subject", "What the figure is taken to describe.", |row| Some(row.figure.subject.as_str().to_owned()))
        .text("unit", "Unit of `value` and `claimed`.", |row| Some(row.point.claimed.unit.as_str().to_owned()))
        .number(
            "value",
            "see `unit`",
            "The figure that is followed: the honest one, or with `--claimed` the claimed one.",
            |row| Some(row.point.value?.value),
        )
        .number("claimed", "see `unit`", "The figure that the benchmark printed.", |row| Some(row.point.claimed.value))
        .text("claim_verdict", "The verdict on the claim.", |row| Some(row.point.verdict.as_str().to_owned()))
        .number("foreign_io_ratio", RATIO, "Part of the bytes at the device that other programs moved.", |row| {
            row.point.foreign_io_ratio
        })
        .text("counts", "`yes` where the run counts.", |row| yes(row.point.counts))
        .text("why_not", "Why it does not count.", |row| row.point.why_not.clone())
        .text("in_baseline", "`yes` for a run of the baseline.", |row| yes(row.run?.in_baseline))
}
