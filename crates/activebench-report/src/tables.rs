//! Tables for programs: claims, observed facts, and events over time.
//!
//! This module defines the columns with their units and meanings; its text is raw. `csv` writes the tables as text, and the
//! binary writes them as Parquet. An unknown value is missing, never 0.

use std::collections::BTreeMap;

use activebench_model::bound::{Share, ShareOf};
use activebench_model::claim::Claim;
use activebench_model::fact::{Completeness, Fact, FactName, Scope};
use activebench_model::report::JudgedRun;
use activebench_model::table::{Column, ColumnAbout, Table, Values};
use activebench_model::timeline::{Timeline, TimelineFigure};
use activebench_model::units::Quantity;
use activebench_model::verdict::JudgedClaim;

use crate::escape;
use crate::wording::metric;

/// One table of a run.
pub struct RunTable {
    /// Name, as part of the names of its formats: `facts`.
    pub name: &'static str,
    /// What a row is: a sentence.
    pub about: &'static str,
    /// Builds the table; its text is raw.
    pub of: fn(&JudgedRun) -> Table,
    /// Returns its columns.
    pub columns: fn() -> Vec<ColumnAbout>,
    /// True if it shows [`JudgedRun::timelines`].
    pub shows_timelines: bool,
}

/// Every table.
pub const TABLES: &[RunTable] = &[
    RunTable {
        name: "claims",
        about: "One row per figure that the benchmark printed, in the order of its output.",
        of: |run| claims(run).table(),
        columns: || claim_columns(Vec::new()).abouts(),
        shows_timelines: false,
    },
    RunTable {
        name: "facts",
        about: "One row per phase and observed fact. Facts on the whole run have no phase and come last.",
        of: |run| facts(run).table(),
        columns: || fact_columns(Vec::new()).abouts(),
        shows_timelines: false,
    },
    RunTable {
        name: "timeline",
        about: "One row per phase and step of time.",
        of: |run| timeline(run).table(),
        columns: || timeline_columns(Vec::new()).abouts(),
        shows_timelines: true,
    },
];

/// Replaces the hidden characters of a table, for formats without an escape of their own (Parquet).
pub fn shown(mut table: Table) -> Table {
    for column in &mut table.columns {
        if let Values::Texts(texts) = &mut column.values {
            texts.iter_mut().flatten().for_each(|text| *text = escape::terminal(text));
        }
    }
    table
}

/// Columns of one table, all built from the same rows.
pub(crate) struct Rows<R> {
    rows: Vec<R>,
    columns: Vec<Column>,
}

impl<R> Rows<R> {
    pub(crate) fn new(rows: Vec<R>) -> Self {
        Self { rows, columns: Vec::new() }
    }

    fn column(mut self, name: &str, unit: &'static str, meaning: &str, values: Values) -> Self {
        self.columns.push(Column { about: ColumnAbout::new(name, unit, meaning), values });
        self
    }

    /// Adds text.
    pub(crate) fn text(self, name: &str, meaning: &str, of: impl Fn(&R) -> Option<String>) -> Self {
        let values = Values::Texts(self.rows.iter().map(of).collect());
        self.column(name, "", meaning, values)
    }

    /// Adds numbers. A value that is not a number (from a foreign run directory) is missing.
    pub(crate) fn number(self, name: &str, unit: &'static str, meaning: &str, of: impl Fn(&R) -> Option<f64>) -> Self {
        let values = self.rows.iter().map(|row| of(row).filter(|value| value.is_finite())).collect();
        self.column(name, unit, meaning, Values::Numbers(values))
    }

    /// Adds whole numbers.
    pub(crate) fn whole(self, name: &str, unit: &'static str, meaning: &str, of: impl Fn(&R) -> Option<usize>) -> Self {
        let values = self.rows.iter().map(|row| of(row).and_then(|value| u64::try_from(value).ok())).collect();
        self.column(name, unit, meaning, Values::Integers(values))
    }

    /// Adds whole numbers that may be below 0.
    pub(crate) fn signed(self, name: &str, unit: &'static str, meaning: &str, of: impl Fn(&R) -> Option<i64>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.column(name, unit, meaning, Values::Signed(values))
    }

    /// Returns the table.
    pub(crate) fn table(self) -> Table {
        Table { columns: self.columns }
    }

    /// Returns the descriptions of the columns.
    pub(crate) fn abouts(self) -> Vec<ColumnAbout> {
        self.columns.into_iter().map(|column| column.about).collect()
    }
}

/// A claim with its verdict, and the shares of its honest and its claimed figure.
struct ClaimRow<'run> {
    claim: &'run Claim,
    judged: Option<&'run JudgedClaim>,
    honest: Option<&'run Share>,
    claimed: Option<&'run Share>,
}

fn claims(run: &JudgedRun) -> Rows<ClaimRow<'_>> {
    let judged: BTreeMap<&str, &JudgedClaim> = run.judged.iter().map(|j| (j.claim.as_str(), j)).collect();
    let share = |claim: &Claim, figure| {
        run.shares.shares.iter().find(|share| share.claim == claim.id && share.figure == figure)
    };
    let row = |claim| ClaimRow {
        claim,
        judged: judged.get(claim.id.as_str()).copied(),
        honest: share(claim, ShareOf::Honest),
        claimed: share(claim, ShareOf::Claimed),
    };
    claim_columns(run.parsed.claims.iter().map(row).collect())
}

fn claim_columns(rows: Vec<ClaimRow<'_>>) -> Rows<ClaimRow<'_>> {
    const OF: &str = "see `unit`";
    const RATIO: &str = "ratio";
    let value = |quantity: Option<Quantity>| quantity.map(|quantity| quantity.value);
    Rows::new(rows)
        .text("claim", "Name of the claim in this run.", |row| Some(row.claim.id.clone()))
        .text("phase", "The benchmark's pass.", |row| Some(row.claim.phase.clone()))
        .text("metric", "Kind of figure.", |row| Some(metric(row.claim.metric).to_owned()))
        .text("subject", "What the figure is taken to describe.", |row| Some(row.claim.subject.as_str().to_owned()))
        .text("unit", "Unit of `claimed`, `observed` and `honest`.", |row| {
            Some(row.claim.value.unit.as_str().to_owned())
        })
        .number("claimed", OF, "The figure that the benchmark printed, in base units.", |row| {
            Some(row.claim.value.value)
        })
        .number("observed", OF, "The same figure as observed.", |row| value(row.judged?.observed()))
        .number("honest", OF, "The figure for the subject; missing where there is none.", |row| {
            value(row.judged?.honest(row.claim))
        })
        .text("verdict", "`confirmed`, `misleading`, `refuted`, `unverifiable` or `not-checked`.", |row| {
            Some(row.judged?.verdict().as_str().to_owned())
        })
        .text("findings", "Codes of the detectors whose findings are about it.", |row| {
            Some(row.judged?.findings.join(" "))
        })
        .text("honest_meaning", "What the honest figure measures, where it is not the claimed one.", |row| {
            Some(row.judged?.corrected.as_ref()?.meaning.clone())
        })
        .text("no_honest_figure", "Why there is no honest figure.", |row| row.judged?.no_correction.clone())
        .text("measured_instead", "What a misleading figure measures.", |row| row.judged?.measured_instead.clone())
        .text("printed", "The number as printed.", |row| Some(row.claim.printed.text.clone()))
        .text("printed_unit", "The unit as printed.", |row| Some(row.claim.printed.unit.clone()))
        .text("stream", "Where it was printed: `stdout`, `stderr` or a file.", |row| {
            Some(row.claim.source.stream.clone())
        })
        .whole("line", "", "Line of the output, from 1.", |row| usize::try_from(row.claim.source.line).ok())
        .number("honest_share_ratio", RATIO, "The honest figure / the maximum that was measured.", |row| {
            Some(row.honest?.ratio)
        })
        .number("honest_bound", OF, "That maximum.", |row| Some(row.honest?.bound.value))
        .text("honest_bounded_by", "What has that maximum.", |row| Some(row.honest?.part.clone()))
        .number("claimed_share_ratio", RATIO, "The claimed figure / the maximum that was measured.", |row| {
            Some(row.claimed?.ratio)
        })
        .number("claimed_bound", OF, "That maximum.", |row| Some(row.claimed?.bound.value))
        .text("claimed_bounded_by", "What has that maximum.", |row| Some(row.claimed?.part.clone()))
}

/// A fact; `None` for the phase is the whole run.
struct FactRow<'run> {
    phase: Option<&'run str>,
    name: FactName,
    fact: &'run Fact,
}

fn facts(run: &JudgedRun) -> Rows<FactRow<'_>> {
    let of_phases = run.phases.iter().map(|phase| (Some(phase.id.as_str()), &phase.facts));
    let all = of_phases.chain([(None, &run.run_facts)]);
    let row = |phase| move |(name, fact): (&FactName, _)| FactRow { phase, name: *name, fact };
    fact_columns(all.flat_map(|(phase, facts)| facts.0.iter().map(row(phase))).collect())
}

fn fact_columns(rows: Vec<FactRow<'_>>) -> Rows<FactRow<'_>> {
    let completeness = |row: &FactRow<'_>| match &row.fact.completeness {
        Completeness::Complete => ("complete", None),
        Completeness::Partial(lost) => ("partial", Some(lost.clone())),
        Completeness::Missing(why) => ("missing", Some(why.clone())),
    };
    let scope = |scope: Scope| match scope {
        Scope::Tree => "tree",
        Scope::File => "file",
        Scope::Device => "device",
        Scope::Host => "host",
    };
    Rows::new(rows)
        .text("phase", "The benchmark's pass; missing for a fact on the whole run.", |row| row.phase.map(str::to_owned))
        .text("name", "Name of the fact.", |row| Some(row.name.as_str().to_owned()))
        .number("value", "see `unit`", "The observed figure; missing where nothing was observed.", |row| {
            Some(row.fact.value?.value)
        })
        .text("unit", "Unit of `value`.", |row| Some(row.name.unit().as_str().to_owned()))
        .text("scope", "What was counted: the benchmark's processes (`tree`), its files (`file`), the device (`device`) or the machine (`host`). Figures of different scope do not add up.", |row| {
            Some(scope(row.fact.scope).to_owned())
        })
        .text("completeness", "`complete`, `partial` or `missing`.", |row| Some(completeness(row).0.to_owned()))
        .text("why", "What was lost, or why nothing was observed.", |row| completeness(row).1)
        .text("source", "The probes or files that it comes from.", |row| Some(row.fact.source.clone()))
}

/// A step of a timeline.
struct Step<'run> {
    timeline: &'run Timeline,
    step: usize,
    /// Start of the run (`CLOCK_MONOTONIC`).
    started_ns: u64,
}

/// A step can start before the run: a phase's first steps are before its window.
fn timeline(run: &JudgedRun) -> Rows<Step<'_>> {
    let started_ns = run.manifest.clocks.started_ns;
    let steps = run
        .timelines
        .iter()
        .flat_map(|timeline| (0..timeline.steps).map(move |step| Step { timeline, step, started_ns }));
    timeline_columns(steps.collect())
}

fn timeline_columns(rows: Vec<Step<'_>>) -> Rows<Step<'_>> {
    let start = |Step { timeline, step, started_ns }: &Step<'_>| {
        let at_ns = i128::from(timeline.start_ns) + i128::from(timeline.step_ns) * *step as i128;
        i64::try_from(at_ns - i128::from(*started_ns)).ok()
    };
    let rows = Rows::new(rows).text("phase", "The benchmark's pass.", |row| Some(row.timeline.phase.clone())).signed(
        "start_ns",
        "ns",
        "Start of the step, from the start of the run; below 0 before it.",
        start,
    );
    TimelineFigure::ALL.iter().fold(rows, |rows, name| {
        let value = |row: &Step<'_>| row.timeline.series(*name)?.values.get(row.step).copied().flatten();
        rows.number(name.as_str(), name.unit().as_str(), name.meaning(), value)
    })
}
