//! The request size of each phase, known before its blocks are counted.

use std::collections::{BTreeMap, HashMap};

use activebench_model::call::Call;
use activebench_model::phase::{Direction, Part, Phase};

use super::span_index::SpanIndex;
use super::windows::{end_of, is_of, is_on};

/// Data calls of each phase by the bytes that they asked for.
///
/// Calls that the pass made after its clock had stopped count too: where a clock stops after
/// a number of bytes is not known yet when this is read.
pub(super) struct RequestSizes {
    parts: Vec<(usize, Direction, Part)>,
    by_descriptor: HashMap<(u32, i32), SpanIndex>,
    calls_by_size: Vec<BTreeMap<u64, u64>>,
}

impl RequestSizes {
    pub(super) fn new(phases: &[Phase]) -> Self {
        let mut parts = Vec::new();
        let mut spans = Vec::new();
        for (index, phase) in phases.iter().enumerate() {
            for part in &phase.parts {
                let until = end_of(part).max(part.last_data_ns);
                spans.push(((part.tgid, part.fd), (part.start_ns, until, parts.len())));
                parts.push((index, phase.direction, part.clone()));
            }
        }
        Self { parts, by_descriptor: SpanIndex::by_key(spans), calls_by_size: vec![BTreeMap::new(); phases.len()] }
    }

    pub(super) fn feed(&mut self, call: &Call) {
        if !call.op.is_read() && !call.op.is_write() {
            return;
        }
        let Some(index) = self.by_descriptor.get(&(call.tgid, call.fd)) else { return };
        for number in index.overlapping(call.start_ns, call.end_ns) {
            let (phase, direction, part) = &self.parts[number];
            let until = end_of(part).max(part.last_data_ns);
            if call.start_ns >= part.start_ns && call.end_ns <= until && is_of(*direction, call) && is_on(part, call) {
                *self.calls_by_size[*phase].entry(call.requested).or_default() += 1;
            }
        }
    }

    /// For each phase the size that most calls asked for, of equally frequent ones the
    /// larger; `None` without calls.
    pub(super) fn modal(&self) -> Vec<Option<u64>> {
        let most = |sizes: &BTreeMap<u64, u64>| {
            sizes.iter().max_by_key(|(size, calls)| (**calls, **size)).map(|(size, _)| *size)
        };
        self.calls_by_size.iter().map(most).collect()
    }
}
