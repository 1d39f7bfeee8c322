//! Tables for programs: claims, observed facts, and events over time.
//!
//! This module defines the columns; its text is raw. `csv` writes the tables as text, and the binary writes them as
//! Parquet. An unknown value is missing, never 0.

use std::collections::BTreeMap;

use activebench_model::bound::ShareOf;
use activebench_model::claim::Claim;
use activebench_model::fact::{Completeness, Scope};
use activebench_model::report::JudgedRun;
use activebench_model::table::{Column, Table, Values};
use activebench_model::timeline::{Timeline, TimelineFigure};
use activebench_model::units::Quantity;
use activebench_model::verdict::JudgedClaim;

use crate::escape;
use crate::wording::metric;

/// One table of a run.
pub struct RunTable {
    /// Name, as part of the names of its formats: `facts`.
    pub name: &'static str,
    /// Builds the table; its text is raw.
    pub of: fn(&JudgedRun) -> Table,
    /// True if it shows [`JudgedRun::timelines`].
    pub shows_timelines: bool,
}

/// Every table.
pub const TABLES: &[RunTable] = &[
    RunTable { name: "claims", of: claims, shows_timelines: false },
    RunTable { name: "facts", of: facts, shows_timelines: false },
    RunTable { name: "timeline", of: timeline, shows_timelines: true },
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

fn text(name: &str, values: Vec<Option<String>>) -> Column {
    Column { name: name.to_owned(), values: Values::Texts(values) }
}

/// A value that is not a number (from a foreign run directory) is missing.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Builds the table with one row per claim, in the order of the output.
fn claims(run: &JudgedRun) -> Table {
    let judged: BTreeMap<&str, &JudgedClaim> = run.judged.iter().map(|j| (j.claim.as_str(), j)).collect();
    let rows: Vec<_> = run.parsed.claims.iter().map(|claim| (claim, judged.get(claim.id.as_str()).copied())).collect();
    let texts = |name: &str, of: &dyn Fn(&_) -> Option<String>| text(name, rows.iter().map(of).collect());
    let numbers = |name: &str, of: &dyn Fn(&_) -> Option<Quantity>| Column {
        name: name.to_owned(),
        values: Values::Numbers(rows.iter().map(|row| of(row).and_then(|quantity| finite(quantity.value))).collect()),
    };
    type Row<'run> = (&'run Claim, Option<&'run JudgedClaim>);
    let share = |claim: &Claim, figure| {
        run.shares.shares.iter().find(|share| share.claim == claim.id && share.figure == figure)
    };
    let honest = |claim: &Claim| share(claim, ShareOf::Honest);
    let claimed = |claim: &Claim| share(claim, ShareOf::Claimed);
    Table {
        columns: vec![
            texts("claim", &|(claim, _): &Row<'_>| Some(claim.id.clone())),
            texts("phase", &|(claim, _)| Some(claim.phase.clone())),
            texts("metric", &|(claim, _)| Some(metric(claim.metric).to_owned())),
            texts("subject", &|(claim, _)| Some(claim.subject.as_str().to_owned())),
            texts("unit", &|(claim, _)| Some(claim.value.unit.as_str().to_owned())),
            numbers("claimed", &|(claim, _)| Some(claim.value)),
            numbers("observed", &|(_, judged)| judged.and_then(|judged| judged.observed())),
            numbers("honest", &|(claim, judged)| judged.and_then(|judged| judged.honest(claim))),
            texts("verdict", &|(_, judged)| judged.map(|judged| judged.verdict().as_str().to_owned())),
            texts("findings", &|(_, judged)| judged.map(|judged| judged.findings.join(" "))),
            texts("honest_meaning", &|(_, judged)| Some(judged.as_ref()?.corrected.as_ref()?.meaning.clone())),
            texts("no_honest_figure", &|(_, judged)| judged.as_ref()?.no_correction.clone()),
            texts("measured_instead", &|(_, judged)| judged.as_ref()?.measured_instead.clone()),
            texts("printed", &|(claim, _)| Some(claim.printed.text.clone())),
            texts("printed_unit", &|(claim, _)| Some(claim.printed.unit.clone())),
            texts("stream", &|(claim, _)| Some(claim.source.stream.clone())),
            Column {
                name: "line".to_owned(),
                values: Values::Integers(rows.iter().map(|(claim, _)| Some(claim.source.line)).collect()),
            },
            numbers("honest_share_ratio", &|(claim, _)| honest(claim).map(|share| Quantity::ratio(share.ratio))),
            numbers("honest_bound", &|(claim, _)| honest(claim).map(|share| share.bound)),
            texts("honest_bounded_by", &|(claim, _)| honest(claim).map(|share| share.part.clone())),
            numbers("claimed_share_ratio", &|(claim, _)| claimed(claim).map(|share| Quantity::ratio(share.ratio))),
            numbers("claimed_bound", &|(claim, _)| claimed(claim).map(|share| share.bound)),
            texts("claimed_bounded_by", &|(claim, _)| claimed(claim).map(|share| share.part.clone())),
        ],
    }
}

/// Builds the table with one row per phase and fact. Facts on the whole run have no phase and come last.
fn facts(run: &JudgedRun) -> Table {
    let of_phases = run.phases.iter().map(|phase| (Some(phase.id.as_str()), &phase.facts));
    let all = of_phases.chain([(None, &run.run_facts)]);
    let rows: Vec<_> = all.flat_map(|(phase, facts)| facts.0.iter().map(move |fact| (phase, fact))).collect();
    let completeness = |completeness: &Completeness| match completeness {
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
    let said: Vec<_> = rows.iter().map(|(_, (_, fact))| completeness(&fact.completeness)).collect();
    let values = rows.iter().map(|(_, (_, fact))| fact.value.and_then(|value| finite(value.value)));
    Table {
        columns: vec![
            text("phase", rows.iter().map(|(phase, _)| phase.map(str::to_owned)).collect()),
            text("name", rows.iter().map(|(_, (name, _))| Some(name.as_str().to_owned())).collect()),
            Column { name: "value".to_owned(), values: Values::Numbers(values.collect()) },
            text("unit", rows.iter().map(|(_, (name, _))| Some(name.unit().as_str().to_owned())).collect()),
            text("scope", rows.iter().map(|(_, (_, fact))| Some(scope(fact.scope).to_owned())).collect()),
            text("completeness", said.iter().map(|(state, _)| Some((*state).to_owned())).collect()),
            text("why", said.iter().map(|(_, why)| why.clone()).collect()),
            text("source", rows.iter().map(|(_, (_, fact))| Some(fact.source.clone())).collect()),
        ],
    }
}

/// Builds the table with one row per phase and step, and one column per series. A step can start before the run: a
/// phase's first steps are before its window.
fn timeline(run: &JudgedRun) -> Table {
    let steps = || run.timelines.iter().flat_map(|timeline| (0..timeline.steps).map(move |step| (timeline, step)));
    let started_ns = run.manifest.clocks.started_ns;
    let start = |start_ns: u64, step_ns: u64, step: usize| {
        let at_ns = i128::from(start_ns) + i128::from(step_ns) * step as i128 - i128::from(started_ns);
        i64::try_from(at_ns).ok()
    };
    let mut columns = vec![
        text("phase", steps().map(|(timeline, _)| Some(timeline.phase.clone())).collect()),
        Column {
            name: "start_ns".to_owned(),
            values: Values::Signed(
                steps().map(|(timeline, step)| start(timeline.start_ns, timeline.step_ns, step)).collect(),
            ),
        },
    ];
    columns.extend(TimelineFigure::ALL.iter().map(|name| {
        let value = |(timeline, step): (&Timeline, usize)| {
            timeline.series(*name)?.values.get(step).copied().flatten().and_then(finite)
        };
        Column { name: name.as_str().to_owned(), values: Values::Numbers(steps().map(value).collect()) }
    }));
    Table { columns }
}
