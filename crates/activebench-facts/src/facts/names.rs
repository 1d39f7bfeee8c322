//! The calls of passes over names: files created, looked up, deleted.

use activebench_model::call::{Call, Op, open_bits};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::phase::{NameOperation, Phase};
use activebench_model::units::Quantity;

use super::call_family::CallFamily;
use super::part_index::PartIndex;
use super::rate_in_fifths::{FifthNames, Fifths};
use super::record_losses::{CALLS_HOOK, Gap};
use super::span_index::KeyedSpans;

/// Counts of name calls, updated with every call. Memory: a fixed size per span of a pass over names.
pub(super) struct NameTally {
    spans: Vec<Planned>,
    by_process: KeyedSpans<u32>,
    of_phase: Vec<Counted>,
    /// Of passes over names alone.
    fifths: Vec<Option<Fifths>>,
}

struct Planned {
    phase: usize,
    operation: NameOperation,
    tids: Vec<u32>,
    start_ns: u64,
    end_ns: u64,
}

/// The sums of one phase.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    succeeded: u64,
    failed: u64,
    longest_ns: u64,
}

impl NameTally {
    pub(super) fn new(phases: &[Phase]) -> Self {
        let mut spans = Vec::new();
        let mut keyed = Vec::new();
        for (phase, names) in phases.iter().enumerate().filter_map(|(n, phase)| Some((n, phase.names.as_ref()?))) {
            for span in &names.spans {
                keyed.push((span.tgid, (span.start_ns, span.end_ns, spans.len())));
                spans.push(Planned {
                    phase,
                    operation: names.operation,
                    tids: span.tids.clone(),
                    start_ns: span.start_ns,
                    end_ns: span.end_ns,
                });
            }
        }
        let fifths = |phase: &Phase| {
            let window = phase.window.filter(|window| phase.names.is_some() && window.duration_ns() > 0)?;
            Some(Fifths::new(window))
        };
        Self {
            spans,
            by_process: KeyedSpans::new(keyed),
            of_phase: vec![Counted::default(); phases.len()],
            fifths: phases.iter().map(fifths).collect(),
        }
    }
}

impl CallFamily for NameTally {
    fn feed(&mut self, _: &[Phase], _: &mut PartIndex, call: &Call) {
        if self.spans.is_empty() {
            return;
        }
        for number in self.by_process.next_overlapping(call.tgid, call.start_ns, call.end_ns) {
            let span = &self.spans[number];
            let inside = call.start_ns >= span.start_ns && call.end_ns <= span.end_ns;
            let own = span.tids.is_empty() || span.tids.contains(&call.tid);
            if !inside || !own || !counts(span.operation, call) {
                continue;
            }
            let counted = &mut self.of_phase[span.phase];
            counted.longest_ns = counted.longest_ns.max(call.end_ns.saturating_sub(call.start_ns));
            match call.returned < 0 {
                true => counted.failed += 1,
                false => {
                    counted.succeeded += 1;
                    if let Some(fifths) = &mut self.fifths[span.phase] {
                        fifths.add(call.start_ns, call.end_ns, 1);
                    }
                }
            }
        }
    }

    /// Adds the facts of a phase over names; none for a phase of data.
    fn add_facts(&mut self, number: usize, phase: &mut Phase, gap: &Gap, facts: &mut Facts) {
        if phase.names.is_none() {
            return;
        }
        let counted = self.of_phase[number];
        let mut add = |name, quantity| facts.insert(name, gap.fact(quantity, Scope::Tree, CALLS_HOOK));
        add(FactName::NameCalls, Quantity::count(counted.succeeded));
        add(FactName::FailedCalls, Quantity::count(counted.failed));
        if counted.succeeded + counted.failed > 0 {
            add(FactName::NameLatencyMax, Quantity::ns(counted.longest_ns));
        } else {
            facts.insert(FactName::NameLatencyMax, Fact::missing("no such call was made", Scope::Tree, CALLS_HOOK));
        }
        match &self.fifths[number] {
            Some(fifths) => fifths.add_facts(&FifthNames::NAMES, gap, Scope::Tree, CALLS_HOOK, facts),
            None => FifthNames::NAMES.missing("the times of the pass are not known", Scope::Tree, CALLS_HOOK, facts),
        }
    }
}

fn counts(operation: NameOperation, call: &Call) -> bool {
    operation.is_done_by(call.op) && (call.op != Op::Open || call.open_flags & open_bits::CREATE != 0)
}
