//! `activebench show`: a stage of a stored run as a table, JSON or CSV.

use std::io::Write;
use std::sync::LazyLock;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::{bundle, judge};
use activebench_model::event::EventKind;
use activebench_model::event_kinds;
use activebench_model::fact::{Completeness, Scope};
use activebench_model::report::JudgedRun;
use activebench_model::table::{Table as Columns, Values};
use activebench_model::thread_stacks::CpuProfile;
use activebench_model::units::Quantity;
use activebench_record::{RunReader, event_table};
use activebench_report::escape;
use anyhow::Context;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use serde::Serialize;
use serde_json::Value;

use super::{Rights, Subcommand};
use crate::arguments::StoredRun;

/// Maximum rows of a table on a terminal; JSON and CSV have them all.
const TABLE_ROWS: usize = 200;

/// Print the values of one stage of a stored run.
#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(flatten)]
    run: StoredRun,
    /// The stage.
    #[arg(long, value_enum)]
    stage: Stage,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = ShowFormat::Table)]
    format: ShowFormat,
}

/// Stages of a run, from the observation to the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The events of a kind.
    Events(EventKind),
    /// Hits of the blocks of each file.
    Offsets,
    /// The stacks of the samples.
    Stacks,
    /// Calls folded to passes.
    Activity,
    /// Claims of the tool.
    Claims,
    /// The tool's passes.
    Phases,
    /// Observed figures.
    Facts,
    /// Results of the detectors.
    Findings,
    /// CPU time by thread and by function.
    Profiles,
}

/// Every stage, in the order of the help.
static STAGES: LazyLock<Vec<Stage>> = LazyLock::new(|| {
    let mut stages = Vec::new();
    for kind in EventKind::ALL {
        stages.push(Stage::Events(*kind));
        match kind {
            EventKind::Cache => stages.push(Stage::Offsets),
            EventKind::Samples => stages.push(Stage::Stacks),
            _ => {}
        }
    }
    stages.extend([Stage::Activity, Stage::Claims, Stage::Phases, Stage::Facts, Stage::Findings, Stage::Profiles]);
    stages
});

impl ValueEnum for Stage {
    fn value_variants<'a>() -> &'a [Self] {
        &STAGES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = match self {
            Stage::Events(kind) => (kind.name(), kind.about()),
            Stage::Offsets => {
                ("offsets", "Hits of the blocks of each file, over the whole run: one row per file and direction")
            }
            Stage::Stacks => ("stacks", "Stacks of the samples, with symbols"),
            Stage::Activity => ("activity", "Calls folded to passes"),
            Stage::Claims => ("claims", "Claims of the tool"),
            Stage::Phases => ("phases", "The tool's passes and their windows"),
            Stage::Facts => ("facts", "Observed figures of each phase"),
            Stage::Findings => ("findings", "Results of the detectors"),
            Stage::Profiles => ("profiles", "CPU time of each phase by thread, and samples by function"),
        };
        Some(PossibleValue::new(name).help(about))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    Table,
    Json,
    Csv,
}

impl Subcommand for Show {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let run = self.run.path()?;
        let located = bundle::located(&run)?;
        let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
        let mut sink = Sink::new(self.format);
        let shown = match self.stage {
            Stage::Events(kind) => events_of(&mut sink, &reader, kind),
            Stage::Offsets => offsets(&mut sink, &reader),
            Stage::Stacks => stacks(&mut sink, &reader),
            derived => derived_stage(&mut sink, &reader, derived),
        };
        match shown.and_then(|()| sink.finish()) {
            // The consumer closed our output (`| head`).
            Err(error) if is_broken_pipe(&error) => Ok(0),
            other => other.map(|()| 0).or_exit(ExitCode::Usage),
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<csv::Error>().is_some_and(
                |error| matches!(error.kind(), csv::ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::BrokenPipe),
            )
    })
}

macro_rules! show_events {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        /// Prints events. CSV has the columns of the run directory's tables.
        fn events_of(sink: &mut Sink, reader: &RunReader, kind: EventKind) -> anyhow::Result<()> {
            match kind {
                $(EventKind::$kind => {
                    for batch in reader.$method() {
                        let batch = batch?;
                        match sink.format {
                            ShowFormat::Json => rows(sink, &batch)?,
                            ShowFormat::Csv | ShowFormat::Table => sink.columns(&event_table(&batch)?)?,
                        }
                        if sink.cut {
                            break;
                        }
                    }
                })*
            }
            Ok(())
        }
    };
}

event_kinds!(show_events);

fn offsets(sink: &mut Sink, reader: &RunReader) -> anyhow::Result<()> {
    let hits = activebench_facts::hits_by_file(|| reader.places()).context("cannot read the recorded calls")?;
    rows(sink, &hits)
}

/// Writes one row per stack, with its frames from the innermost out.
fn stacks(sink: &mut Sink, reader: &RunReader) -> anyhow::Result<()> {
    let stacks = reader.stacks()?;
    for (number, frames) in stacks.stacks.iter().enumerate() {
        let frame = |frame: &u32| stacks.frames.get(*frame as usize).map_or_else(String::new, |f| stacks.described(f));
        let frames: Vec<String> = frames.iter().map(frame).collect();
        sink.row(&serde_json::json!({ "stack": number, "frames": frames }))?;
        if sink.is_full() {
            sink.cut = true;
            break;
        }
    }
    Ok(())
}

fn derived_stage(sink: &mut Sink, reader: &RunReader, stage: Stage) -> anyhow::Result<()> {
    if stage == Stage::Activity {
        let derived = judge::derive(reader, &mut reader.manifest().clone(), judge::Timelines::LeftOut)?;
        return rows(sink, &derived.activity.passes);
    }
    let judged: JudgedRun =
        judge::judge(reader.directory(), reader, reader.manifest().clone(), judge::Timelines::LeftOut)?;
    match stage {
        Stage::Claims => rows(sink, &judged.parsed.claims),
        Stage::Phases => judged.phases.iter().try_for_each(|phase| {
            let mut phase = phase.clone();
            phase.facts.0.clear();
            sink.row(&phase)
        }),
        Stage::Facts => {
            let run = std::iter::once(("(run)", &judged.run_facts));
            let phases = judged.phases.iter().map(|phase| (phase.id.as_str(), &phase.facts));
            for (phase, facts) in run.chain(phases) {
                for (name, fact) in &facts.0 {
                    let row = FactRow {
                        phase,
                        fact: name.as_str(),
                        of: String::new(),
                        value: fact.value.map(|value| value.value),
                        reads_as: fact.value.map(|value| value.to_string()),
                        scope: fact.scope,
                        completeness: fact.completeness.clone(),
                        source: &fact.source,
                    };
                    sink.row(&row)?;
                }
            }
            let run = std::iter::once(("(run)", &judged.profiles.run));
            let phases = judged.profiles.phases.iter().map(|(phase, profile)| (phase.as_str(), profile));
            run.chain(phases).try_for_each(|(phase, profile)| profile_rows(sink, phase, profile))?;
            Ok(())
        }
        Stage::Profiles => {
            let run = std::iter::once(("(run)", &judged.profiles.run));
            let phases = judged.profiles.phases.iter().map(|(phase, profile)| (phase.as_str(), profile));
            run.chain(phases).try_for_each(|(phase, profile)| sink.row(&ProfileRow { phase, profile }))
        }
        _ => rows(sink, &judged.findings),
    }
}

#[derive(Serialize)]
struct ProfileRow<'a> {
    phase: &'a str,
    #[serde(flatten)]
    profile: &'a CpuProfile,
}

/// A fact as a row; `of` names the thread or function that a profile's figure belongs to.
#[derive(Serialize)]
struct FactRow<'a> {
    phase: &'a str,
    fact: &'a str,
    of: String,
    value: Option<f64>,
    reads_as: Option<String>,
    scope: Scope,
    completeness: Completeness,
    source: &'a str,
}

/// Adds the figures of a profile's threads and functions, behind the facts that they add up to.
fn profile_rows(sink: &mut Sink, phase: &str, profile: &CpuProfile) -> anyhow::Result<()> {
    let mut add = |fact: &str, of: &str, value: Quantity, completeness: &Completeness, source: &str| {
        sink.row(&FactRow {
            phase,
            fact,
            of: of.to_owned(),
            value: Some(value.value),
            reads_as: Some(value.to_string()),
            scope: Scope::Tree,
            completeness: completeness.clone(),
            source,
        })
    };
    for thread in &profile.threads {
        let of = format!("{} {}", thread.tid, thread.comm);
        let times = thread.times;
        for (fact, ns) in [
            ("thread_window_ns", thread.window_ns),
            ("thread_user_ns", times.user_ns),
            ("thread_kernel_ns", times.kernel_ns),
            ("thread_blocked_ns", times.blocked_ns),
            ("thread_iowait_ns", times.iowait_ns),
            ("thread_preempted_ns", times.preempted_ns),
            ("thread_times_error_ns", thread.error_ns),
        ] {
            add(fact, &of, Quantity::ns(ns), &Completeness::Complete, "tp_btf/sched_switch")?;
        }
    }
    let short = profile.short.clone().map_or(Completeness::Complete, Completeness::Partial);
    for function in &profile.functions {
        let module = function.module.as_deref().unwrap_or("unknown code");
        let of = match (&function.symbol, function.file_offset) {
            (Some(symbol), _) => format!("{symbol} {module}"),
            (None, Some(offset)) => format!("{module} without symbols, mostly +{offset:#x}"),
            (None, None) => module.to_owned(),
        };
        add("hot_function_ratio", &of, Quantity::ratio(function.sample_ratio), &short, "perf_event/cpu-clock")?;
    }
    Ok(())
}

fn rows<T: Serialize>(sink: &mut Sink, values: &[T]) -> anyhow::Result<()> {
    values.iter().try_for_each(|value| sink.row(value))
}

/// Prints rows as they come; a table is kept until the end.
struct Sink {
    format: ShowFormat,
    header: Option<Vec<String>>,
    table: Table,
    count: usize,
    /// `true` if rows were left out.
    cut: bool,
    csv: csv::Writer<std::io::Stdout>,
}

impl Sink {
    fn new(format: ShowFormat) -> Self {
        let mut table = Table::new();
        table.load_style(UTF8_HORIZONTAL_ONLY);
        Self { format, header: None, table, count: 0, cut: false, csv: csv::Writer::from_writer(std::io::stdout()) }
    }

    fn is_full(&self) -> bool {
        self.format == ShowFormat::Table && self.count >= TABLE_ROWS
    }

    fn row<T: Serialize>(&mut self, value: &T) -> anyhow::Result<()> {
        let value = serde_json::to_value(value).context("cannot serialise a row")?;
        if self.format == ShowFormat::Json {
            // One value per line: a run can have millions.
            writeln!(std::io::stdout().lock(), "{}", escape::json(&value.to_string()))?;
            return Ok(());
        }
        let mut flat = Vec::new();
        flatten(String::new(), value, &mut flat);
        self.flat(&flat)
    }

    /// Adds the rows of a table.
    fn columns(&mut self, table: &Columns) -> anyhow::Result<()> {
        let rows = table.columns.first().map_or(0, |column| column.values.len());
        for row in 0..rows {
            if self.is_full() {
                self.cut = true;
                break;
            }
            let cell = |values: &Values| match values {
                Values::Integers(values) => values[row].map(|value| Cell::Number(value.to_string())),
                Values::Signed(values) => values[row].map(|value| Cell::Number(value.to_string())),
                Values::Numbers(values) => values[row].map(|value| Cell::Number(value.to_string())),
                Values::Texts(values) => values[row].clone().map(Cell::Text),
            };
            let cells = table.columns.iter();
            let cells = cells.map(|column| (column.about.name.clone(), cell(&column.values).unwrap_or_default()));
            self.flat(&cells.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn flat(&mut self, flat: &[(String, Cell)]) -> anyhow::Result<()> {
        if self.header.is_none() {
            let header: Vec<String> = flat.iter().map(|(name, _)| name.clone()).collect();
            match self.format {
                ShowFormat::Csv => self.csv.write_record(header.iter().map(|name| escape::spreadsheet_whole(name)))?,
                _ => {
                    self.table.set_header(&header);
                }
            }
            self.header = Some(header);
        }
        let header = self.header.as_deref().unwrap_or_default();
        let cells: Vec<String> = header
            .iter()
            .map(|name| match flat.iter().find(|(key, _)| key == name) {
                None => String::new(),
                Some((_, cell)) => cell.shown(self.format),
            })
            .collect();
        match self.format {
            ShowFormat::Csv => self.csv.write_record(&cells)?,
            _ => {
                self.table.add_row(cells);
            }
        }
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        match self.format {
            ShowFormat::Json => {}
            ShowFormat::Csv => self.csv.flush()?,
            ShowFormat::Table => {
                let mut out = std::io::stdout().lock();
                writeln!(out, "{}", self.table)?;
                if self.cut {
                    writeln!(out, "the first {TABLE_ROWS} rows (all: --format csv or --format json)")?;
                }
            }
        }
        Ok(())
    }
}

/// Flattens a value: nested objects become `outer.inner`, lists become their JSON. The two parts of a file's identity
/// are always columns, also for a row without a file. So is the reason why a fact is not complete.
fn flatten(name: String, value: Value, into: &mut Vec<(String, Cell)>) {
    let inner = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Object(fields) => {
            let says_why = name != "completeness" || fields.contains_key("why");
            for (key, field) in fields {
                flatten(inner(&key), field, into);
            }
            if !says_why {
                into.push((inner("why"), Cell::default()));
            }
        }
        Value::Null if name == "file" => {
            into.push((inner("s_dev"), Cell::default()));
            into.push((inner("ino"), Cell::default()));
        }
        Value::Null => into.push((name, Cell::default())),
        Value::Number(number) => into.push((name, Cell::Number(number.to_string()))),
        Value::String(text) => into.push((name, Cell::Text(text))),
        other => into.push((name, Cell::Text(other.to_string()))),
    }
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    /// A number of ours: its sign begins no formula.
    Number(String),
    /// Text that a tool or a stranger may have chosen.
    Text(String),
}

impl Default for Cell {
    fn default() -> Self {
        Cell::Text(String::new())
    }
}

impl Cell {
    fn shown(&self, format: ShowFormat) -> String {
        match (self, format) {
            (Cell::Number(number), _) => number.clone(),
            (Cell::Text(text), ShowFormat::Csv) => escape::spreadsheet_whole(text),
            (Cell::Text(text), _) => escape::terminal(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_escaped_in_every_format_and_numbers_keep_their_sign() {
        let mut flat = Vec::new();
        let row =
            serde_json::json!({ "name": "=cmd|' /C calc'!A0\u{1b}]0;x\u{7}", "offset": -1, "list": ["\u{202e}"] });
        flatten(String::new(), row, &mut flat);
        let shown = |format| flat.iter().map(|(_, cell)| cell.shown(format)).collect::<Vec<_>>();
        assert_eq!(shown(ShowFormat::Csv), ["[\"\\u{202e}\"]", "'=cmd|' /C calc'!A0\\u{1b}]0;x\\u{7}", "-1"]);
        assert_eq!(shown(ShowFormat::Table)[1], "=cmd|' /C calc'!A0\\u{1b}]0;x\\u{7}");
        assert_eq!(escape::json("\u{9b}31m\u{202e}"), "\\u009b31m\\u202e");
    }
}
