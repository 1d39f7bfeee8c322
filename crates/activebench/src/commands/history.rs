//! `activebench history`: figures over many stored runs.

use std::path::PathBuf;

use activebench_detect::history::{Asked, Wanted, history};
use activebench_detect::thresholds::Thresholds;
use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::history::{midnight, parse_day, runs};
use activebench_model::claim::Metric;
use activebench_model::history::{By, FigureKind};
use activebench_record::{FigureFilter, parquet};
use activebench_report::history::tables::HISTORY_TABLES;
use activebench_report::history::{HISTORY_CSV, render_table};
use activebench_report::tables::shown;
use activebench_report::{document_formats, format_by_name};
use anyhow::Context;
use clap::ValueEnum;
use time::Date;

use super::{Rights, Subcommand};
use crate::arguments::parse_percent;
use crate::formats::FormatRequest;
use crate::output;

const ABOUT: &str = "\
Follow figures over many stored runs: trend, change against a baseline, the disks of a batch side by side.

Runs are searched in the given folders and below them, including those of series and of unpacked bundles; a bundle is \
read if it is named itself. Runs are not judged again: each has a small table of its figures (figures.parquet, written \
by `verify` and `recheck`); if it is missing or of another version, report.json is read. What cannot be read is listed \
and left out. Nothing is written into the folders, and no root is needed.

Honest figures are followed: a claim that is confirmed, or the figure that replaces a refuted one. Runs with the \
verdict discrepancy count with that figure; runs that failed or are inconclusive are shown and counted separately. \
Figures of different units, loads or disks are never mixed.

--baseline BASE is a run, a folder of runs, or dates: 2026-01-01..2026-01-31 (either end may be omitted). Later runs \
are those outside of that folder, or after the last of these dates. 95 % confidence needs 4 runs on both sides, or 3 \
and 5, or 2 and 8.

Exit code: 0 if the runs could be read. With --fail-on-regression PERCENT: 1 if a figure is worse by at least this much \
with 95 % confidence for all figures together (more figures need more runs); 3 if that is unknown for a figure of the \
baseline. 2 if there is nothing to read.

Examples:
  activebench history activebench-runs
  activebench history /srv/runs --figure write:throughput --since 2026-01-01 --format html=write.html
  activebench history /srv/batch-7 --by device --figure read
  activebench history /srv/runs --baseline /srv/runs/accepted --fail-on-regression 5
  activebench history /srv/runs --format runs-parquet=runs.parquet";

/// Follow figures over many stored runs: trend, baseline, disks side by side.
#[derive(clap::Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct History {
    /// Folders of runs, run directories, or bundles.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Only figures of this phase and metric: `write:throughput`, `read`, `:latency-p99`. A phase is named whole or by
    /// its beginning up to a `-`. May be given several times.
    #[arg(long = "figure", value_name = "PHASE:METRIC", value_parser = parse_wanted)]
    figures: Vec<Wanted>,
    /// Only runs of this tool. May be given several times.
    #[arg(long = "tool", value_name = "NAME")]
    tools: Vec<String>,
    /// Only figures of the disk with this name, model or serial number. May be given several times.
    #[arg(long = "device", value_name = "TEXT")]
    devices: Vec<String>,
    /// Only runs of this host. May be given several times.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Only runs from this day on, UTC: `2026-01-31`.
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    since: Option<Date>,
    /// Follow the printed figures, confirmed or not.
    #[arg(long)]
    claimed: bool,
    /// Compare disks, hosts or models, and name those that are far from the others.
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<ByArgument>,
    /// Compare later runs with these: a run, a folder of runs, or dates.
    #[arg(long, value_name = "RUN|DIR|DATE..DATE")]
    baseline: Option<String>,
    /// Exit with code 1 if a figure is worse than the baseline by at least this much.
    #[arg(long, value_name = "PERCENT", requires = "baseline", value_parser = parse_share)]
    fail_on_regression: Option<f64>,
    /// `text`, `json`, `markdown`, `html`, `csv` or `parquet` (one row a figure), `runs-csv` or `runs-parquet` (one row
    /// a run of a figure), with a file to write it to: `html=history.html`. May be given several times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]", value_parser = parse_format)]
    formats: Vec<FormatRequest>,
}

impl Subcommand for History {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let filter = FigureFilter {
            tools: self.tools.clone(),
            devices: self.devices.clone(),
            hosts: self.hosts.clone(),
            since_unix_s: self.since.map(midnight),
        };
        let (reading, runs) = runs(&self.folders, self.baseline.as_deref(), &filter)?;
        let asked = Asked {
            kind: if self.claimed { FigureKind::Claimed } else { FigureKind::Honest },
            by: self.by.map_or(By::Device, Into::into),
            side_by_side: self.by.is_some(),
            figures: self.figures.clone(),
            baseline: self.baseline.clone(),
            limit_ratio: self.fail_on_regression,
        };
        let thresholds = Thresholds::profile("default").or_exit(ExitCode::Bug)?;
        let history = history(reading, runs, &asked, &thresholds);
        output::deliver(&self.formats, |request, style, out| {
            let bytes = match HISTORY_TABLES.iter().find(|table| table.name == request.format) {
                Some(table) => parquet(table.title, &shown((table.of)(&history)))?,
                None => {
                    let document = format_by_name(&request.format).and_then(|f| f.render_document(&history, style));
                    let text = document.or_else(|| render_table(&request.format, &history));
                    text.context("there is no such format")?.into_bytes()
                }
            };
            Ok(out.write_all(&bytes)?)
        })?;
        Ok(history.exit_code)
    }
}

/// The property that separates figures of one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByArgument {
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

/// Percent as a share.
fn parse_share(text: &str) -> Result<f64, String> {
    parse_percent(text).map(|percent| percent / 100.0)
}

fn parse_format(text: &str) -> Result<FormatRequest, String> {
    let tables = HISTORY_TABLES.iter().map(|table| table.name);
    let known: Vec<&str> =
        { document_formats().map(|format| format.name).chain(HISTORY_CSV).chain(tables.clone()).collect() };
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
