//! The arguments of `activebench history`.

use std::path::PathBuf;

use activebench_detect::history::Wanted;
use activebench_model::claim::Metric;
use activebench_model::history::By;
use activebench_report::history::HISTORY_FORMATS;
use activebench_report::history::tables::HISTORY_TABLES;
use clap::ValueEnum;
use time::Date;
use time::macros::format_description;

use super::{FormatRequest, parse_percent};

pub(crate) const ABOUT: &str = "\
Follow figures over many stored runs: trend, change against a baseline, the disks of a batch side by side.

Runs are found in the given folders and below them, those of series and of unpacked bundles too; a bundle is read where \
it is named itself. They are not judged again: each has a small table of its figures (figures.parquet, which `verify` \
and `recheck` write); where it is missing or of another version report.json is read. What cannot be read is named and \
left out. Nothing is written into the folders, and no root is needed.

Followed are honest figures: a claim that is confirmed, or the figure that stands for one that does not hold. Runs with \
the verdict discrepancy count with that figure; runs that failed or are inconclusive are shown and counted apart. \
Figures of different units, loads or disks are never mixed.

--baseline BASE is a run, a folder of runs, or dates: 2026-01-01..2026-01-31 (either end may be left out). Later runs \
are those outside of that folder, or after the last of these dates. 95 % certainty needs 4 runs on both sides, or 3 and \
5, or 2 and 8.

Exit code: 0 when the runs could be read. With --fail-on-regression PERCENT: 1 when a figure is surely worse and by at \
least so much, with 95 % for all figures together: more figures take more runs; 3 when of a figure of the baseline that \
cannot be told. 2 when there is nothing to read.

Examples:
  activebench history activebench-runs
  activebench history /srv/runs --figure write:throughput --since 2026-01-01 --format html=write.html
  activebench history /srv/batch-7 --by device --figure read
  activebench history /srv/runs --baseline /srv/runs/accepted --fail-on-regression 5
  activebench history /srv/runs --format runs-parquet=runs.parquet";

/// Figures over many runs.
#[derive(clap::Args, Debug)]
pub(crate) struct History {
    /// Folders of runs, run directories, or bundles.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Only figures of this phase and metric: `write:throughput`, `read`, `:latency-p99`. A phase is named whole or by its
    /// beginning up to a `-`. May be given several times.
    #[arg(long = "figure", value_name = "PHASE:METRIC", value_parser = parse_wanted)]
    pub(crate) figures: Vec<Wanted>,
    /// Only runs of this tool. May be given several times.
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<String>,
    /// Only figures of the disk with this name, model or serial number. May be given several times.
    #[arg(long = "device", value_name = "TEXT")]
    pub(crate) devices: Vec<String>,
    /// Only runs of this host. May be given several times.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// Only runs from this day on, UTC: `2026-01-31`.
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    pub(crate) since: Option<Date>,
    /// Follow what the tool printed, whether it holds or not.
    #[arg(long)]
    pub(crate) claimed: bool,
    /// Hold disks, hosts or models side by side and name those that are far from the others.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<ByArgument>,
    /// Hold later runs against these: a run, a folder of runs, or dates.
    #[arg(long, value_name = "RUN|DIR|DATE..DATE")]
    pub(crate) baseline: Option<String>,
    /// End with exit code 1 when a figure is worse than the baseline by so much or more.
    #[arg(long, value_name = "PERCENT", requires = "baseline", value_parser = parse_share)]
    pub(crate) fail_on_regression: Option<f64>,
    /// `text`, `json`, `markdown`, `html`, `csv` or `parquet` (one row a figure), `runs-csv` or `runs-parquet` (one row a run
    /// of a figure), with a file to write it to: `html=history.html`. May be given several times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]", value_parser = parse_format)]
    pub(crate) formats: Vec<FormatRequest>,
}

/// What figures of one load are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByArgument {
    /// The disk: model and serial number, or name and host.
    Device,
    /// The host.
    Host,
    /// The disk's model.
    Model,
}

impl From<ByArgument> for By {
    fn from(argument: ByArgument) -> Self {
        match argument {
            ByArgument::Device => By::Device,
            ByArgument::Host => By::Host,
            ByArgument::Model => By::Model,
        }
    }
}

fn parse_wanted(text: &str) -> Result<Wanted, String> {
    let (phase, metric) = text.split_once(':').unwrap_or((text, ""));
    let named = |part: &str| Some(part.to_owned()).filter(|part| !part.is_empty());
    let metric = named(metric).map(|name| {
        name.parse::<Metric>().map_err(|_| {
            format!("no metric `{name}` (hint: `throughput`, `operation-rate`, `latency-p99`: as in the JSON report)")
        })
    });
    match (named(phase), metric.transpose()?) {
        (None, None) => Err("it names no figure (hint: write:throughput)".to_owned()),
        (phase, metric) => Ok(Wanted { phase, metric }),
    }
}

/// `2026-01-31`.
pub(crate) fn parse_day(text: &str) -> Result<Date, String> {
    Date::parse(text, format_description!("[year]-[month]-[day]"))
        .map_err(|_| format!("no date: `{text}` (hint: 2026-01-31)"))
}

/// Percent as a share.
fn parse_share(text: &str) -> Result<f64, String> {
    parse_percent(text).map(|percent| percent / 100.0)
}

fn parse_format(text: &str) -> Result<FormatRequest, String> {
    let tables = HISTORY_TABLES.iter().map(|table| table.name);
    let known: Vec<&str> = HISTORY_FORMATS.into_iter().chain(tables.clone()).collect();
    FormatRequest::parse(text, &known, |format| tables.clone().any(|table| table == format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_named_by_phase_metric_or_both() {
        let wanted = |phase: Option<&str>, metric| Wanted { phase: phase.map(str::to_owned), metric };
        for (text, expected) in [
            ("write", Some(wanted(Some("write"), None))),
            ("write:throughput", Some(wanted(Some("write"), Some(Metric::Throughput)))),
            (":latency-p99", Some(wanted(None, Some(Metric::LatencyP99)))),
            ("write:", Some(wanted(Some("write"), None))),
            ("write:speed", None),
            (":", None),
            ("", None),
        ] {
            assert_eq!(parse_wanted(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn days_and_percentages_are_read_strictly() {
        for (text, expected) in [("2026-01-31", true), ("2026-02-30", false), ("31.1.2026", false), ("", false)] {
            assert_eq!(parse_day(text).is_ok(), expected, "{text}");
        }
        for (text, expected) in [
            ("5", Some(0.05)),
            ("2.5%", Some(0.025)),
            ("0", Some(0.0)),
            ("-1", None),
            ("x", None),
            ("5%%", None),
            ("5 %", Some(0.05)),
            ("%", None),
            ("NaN", None),
        ] {
            assert_eq!(parse_share(text).ok(), expected, "{text}");
        }
    }
}
