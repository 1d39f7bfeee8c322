//! A section per phase: its bottleneck, charts and facts. If there are many phases, those with findings are drawn
//! first.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use activebench_model::finding::{Outcome, Severity};
use activebench_model::phase::{Direction, Phase};
use activebench_model::report::JudgedRun;
use activebench_model::timeline::Timeline;
use activebench_model::units::Quantity;
use maud::{Markup, html};

use super::prose::prose;
use super::timeline::{self, TimeAxis};
use super::{latency, offsets};
use crate::escape::terminal as shown;
use crate::wording::{PhaseNames, count};
use crate::{claims, cpu_time, serving};

/// Maximum phases with charts; the others have one line each.
const CHARTED: usize = 12;
/// Maximum phases without charts whose facts are listed.
const FACTS: usize = 12;
/// Maximum lines of phases without charts; the rest is counted.
const LINES: usize = 200;

/// A phase whose charts are drawn.
#[derive(Clone, Copy)]
pub(super) struct Place<'run> {
    /// Its place in the run, from 0.
    pub(super) index: usize,
    pub(super) phase: &'run Phase,
    pub(super) timeline: &'run Timeline,
}

/// Anchors of a phase, and its name.
pub(super) struct PhaseAnchors<'run> {
    /// Its charts; `None` if they are not drawn.
    pub(super) charts: Option<String>,
    /// Its facts; `None` if they are not listed.
    pub(super) facts: Option<String>,
    pub(super) name: &'run str,
}

/// The phases of a run, and the selection that is drawn.
pub(super) struct Phases<'run> {
    run: &'run JudgedRun,
    names: PhaseNames<'run>,
    /// All phases in the order of the run; the drawn ones with their time series.
    all: Vec<(&'run Phase, Option<&'run Timeline>)>,
    /// Facts by the name of the phase.
    facts: BTreeMap<String, Vec<[String; 3]>>,
    times: Vec<String>,
    /// What worked beside the threads, in the same way.
    beside: Vec<String>,
    /// The highest severity of the findings on a phase, by its id.
    severities: HashMap<&'run str, Severity>,
}

impl<'run> Phases<'run> {
    pub(super) fn of(run: &'run JudgedRun) -> Self {
        let timeline = |phase: &Phase| run.timelines.iter().find(|timeline| timeline.phase == phase.id);
        let severities = severities(run);
        let mut drawn: Vec<(Reverse<Option<Severity>>, usize)> = run
            .phases
            .iter()
            .enumerate()
            .filter(|(_, phase)| has_timeline(run, phase))
            .map(|(index, phase)| (Reverse(severities.get(phase.id.as_str()).copied()), index))
            .collect();
        drawn.sort_unstable();
        drawn.truncate(CHARTED);
        let is_drawn = |index| drawn.iter().any(|(_, drawn)| *drawn == index);
        let all = run.phases.iter().enumerate();
        let mut facts: BTreeMap<String, Vec<[String; 3]>> = BTreeMap::new();
        for row in claims::facts(run) {
            facts.entry(row[0].clone()).or_default().push(row);
        }
        Self {
            run,
            names: PhaseNames::of(run),
            all: all.map(|(index, phase)| (phase, timeline(phase).filter(|_| is_drawn(index)))).collect(),
            facts,
            times: cpu_time::lines(run, usize::MAX),
            beside: serving::lines(run, usize::MAX),
            severities,
        }
    }

    /// Returns the phases whose charts are drawn, in the order of the run.
    pub(super) fn drawn(&self) -> impl Iterator<Item = Place<'run>> {
        let places = self.all.iter().enumerate();
        places.filter_map(|(index, (phase, timeline))| Some(Place { index, phase, timeline: (*timeline)? }))
    }

    /// Returns the id of the charts of a phase.
    pub(super) fn id(index: usize) -> String {
        format!("phase-{}", index + 1)
    }

    /// Returns the name of a phase, escaped.
    pub(super) fn name(&self, phase: &'run Phase) -> String {
        shown(self.names.get(&phase.id))
    }

    /// Returns the highest severity of the findings on a phase; `None` without one.
    pub(super) fn severity(&self, phase: &Phase) -> Option<Severity> {
        self.severities.get(phase.id.as_str()).copied()
    }

    /// Returns the sentence about the bottleneck of a phase, without its full stop; `None` where it was not looked for.
    pub(super) fn limit(&self, phase: &Phase) -> Option<&'run str> {
        let limiter = self.run.limiters.iter().find(|limiter| limiter.phase == phase.id);
        limiter.map(|limiter| limiter.sentence.trim_end_matches('.'))
    }

    /// Returns where a phase is on the page; `None` for a phase that is not in the run.
    pub(super) fn anchors(&self, id: &str) -> Option<PhaseAnchors<'run>> {
        let index = self.all.iter().position(|(phase, _)| phase.id == id)?;
        let (phase, timeline) = self.all[index];
        let name = self.names.get(&phase.id);
        let is_listed = timeline.is_some() && self.facts.contains_key(name);
        Some(PhaseAnchors {
            charts: timeline.map(|_| Self::id(index)),
            facts: is_listed.then(|| format!("{}-facts", Self::id(index))),
            name,
        })
    }

    /// Renders all phases.
    pub(super) fn section(&self) -> Markup {
        let others: Vec<&'run Phase> =
            self.all.iter().filter(|(_, timeline)| timeline.is_none()).map(|(phase, _)| *phase).collect();
        html! {
            @if self.all.is_empty() { p { "No phase was found." } }
            @for place in self.drawn() { (self.phase(place)) }
            @if !others.is_empty() { (self.others(&others)) }
            (self.fact_table("the whole run", "Facts of the whole run", "run-facts"))
        }
    }

    fn phase(&self, Place { index, phase, timeline }: Place<'run>) -> Markup {
        let id = Self::id(index);
        let name = self.name(phase);
        let axis = TimeAxis::new(timeline, phase.window);
        html! {
            section.phase id=(id) aria-labelledby={ (id) "-h" } {
                h3 id={ (id) "-h" } { (name) }
                p { (prose(&about(phase))) }
                @if let Some(why) = &phase.incomplete { p.notice { b { "Not as the command promises: " } (prose(why)) } }
                (self.limiter(phase))
                h4 { "Over time" }
                (timeline::legend(&axis))
                (timeline::charts(&id, &name, &axis))
                (offsets::charts(&id, &name, timeline, &axis))
                (timeline::table(&axis))
                h4 { "Latencies" }
                (latency::charts(&id, &name, timeline))
                (self.fact_table(self.names.get(&phase.id), "Facts of this phase", &format!("{id}-facts")))
            }
        }
    }

    /// Renders the phase's bottleneck, and the distribution of its threads' time.
    fn limiter(&self, phase: &Phase) -> Markup {
        let prefix = format!("{}: ", self.names.get(&phase.id));
        let times = self.times.iter().find_map(|line| line.strip_prefix(&prefix));
        let beside = self.beside.iter().find_map(|line| line.strip_prefix(&prefix));
        html! {
            @if let Some(sentence) = self.limit(phase) { p.limiter { b { "Limit: " } (prose(sentence)) "." } }
            @if let Some(times) = times { p { b { "Time of the threads: " } (prose(times)) "." } }
            @if let Some(beside) = beside { p { b { "Beside the tool: " } (prose(beside)) "." } }
        }
    }

    fn others(&self, others: &[&'run Phase]) -> Markup {
        let lack = |phase: &Phase| match (&phase.incomplete, phase.window) {
            (Some(why), _) => why.clone(),
            (None, None) => "no window was found".to_owned(),
            (None, Some(_)) if has_timeline(self.run, phase) => String::new(),
            (None, Some(_)) => "its timeline is not known".to_owned(),
        };
        html! {
            section id="phases-without-charts" aria-labelledby="phases-without-charts-h" {
                h3 id="phases-without-charts-h" { "Phases without charts here" }
                @if self.all.len() > CHARTED {
                    p { "Charts are drawn for " (CHARTED) " phases at most, those with findings first. Of the others:" }
                }
                div.wide tabindex="0" role="region" aria-label="Phases without charts" {
                    table {
                        thead {
                            tr { th scope="col" { "phase" } th scope="col" { "what is missing" } th scope="col" { "limit" } }
                        }
                        tbody {
                            @for phase in others.iter().take(LINES) {
                                tr {
                                    th scope="row" { (self.name(phase)) }
                                    td { (prose(&lack(phase))) }
                                    td { @if let Some(sentence) = self.limit(phase) { (prose(sentence)) } }
                                }
                            }
                        }
                    }
                }
                @if others.len() > LINES {
                    p { (count(others.len() - LINES, "further phase")) ": " code { "activebench show --stage phases" } "." }
                }
                @for (place, phase) in others.iter().enumerate().take(FACTS) {
                    @let title = format!("Facts of {}", self.name(phase));
                    (self.fact_table(self.names.get(&phase.id), &title, &format!("other-facts-{}", place + 1)))
                }
            }
        }
    }

    /// Renders the facts of a phase, folded. The title is escaped.
    fn fact_table(&self, name: &str, title: &str, id: &str) -> Markup {
        let Some(rows) = self.facts.get(name) else { return html! {} };
        html! {
            details.figures {
                summary { (title) ": " (rows.len()) }
                div.wide id=(id) tabindex="0" role="region" aria-label=(title) {
                    table {
                        thead { tr { th scope="col" { "fact" } th scope="col" { "observed" } } }
                        tbody {
                            @for [_, fact, value] in rows { tr { th scope="row" { (shown(fact)) } td { (prose(value)) } } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns `true` if the phase has data to draw.
fn has_timeline(run: &JudgedRun, phase: &Phase) -> bool {
    let timeline = run.timelines.iter().find(|timeline| timeline.phase == phase.id);
    timeline.is_some_and(|timeline| timeline.steps > 0 && timeline.step_ns > 0)
}

/// Returns the highest severity of the findings on each phase that has any, by its id.
fn severities(run: &JudgedRun) -> HashMap<&str, Severity> {
    let mut severities: HashMap<&str, Severity> = HashMap::new();
    for finding in run.findings.iter().filter(|finding| finding.outcome == Outcome::Fires) {
        let severity = finding.severity.unwrap_or(Severity::Note);
        if let Some(phase) = &finding.phase {
            severities.entry(phase).and_modify(|highest| *highest = severity.max(*highest)).or_insert(severity);
        }
    }
    severities
}

/// Describes a phase: `Writes; the tool's clock covers first write to last write: 320.3 ms.`
fn about(phase: &Phase) -> String {
    let direction = match phase.direction {
        Direction::Read => "Reads",
        Direction::Write => "Writes",
        Direction::Mixed => "Reads and writes",
        Direction::Discard => "Discards",
        Direction::None => "Names",
    };
    let block = phase.block_bytes.map(|bytes| format!(", {} a call", Quantity::bytes(bytes))).unwrap_or_default();
    let clock = if phase.clock.is_empty() { "not known".to_owned() } else { phase.clock.clone() };
    let window = match phase.window {
        Some(window) => Quantity::ns(window.duration_ns()).to_string(),
        None => "no window was found".to_owned(),
    };
    format!("{direction}{block}. The tool's clock covers: {clock}; {window}.")
}
