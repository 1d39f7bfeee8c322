//! Combines asynchronous requests into bursts: spans without a pause.
//!
//! A thread's requests arrive in the order in which they end, those of several threads in any
//! order. So a span is never final, because an earlier request can still arrive. Spans are kept
//! separately and merged whenever their number has doubled.

use activebench_model::activity::{Activity, Burst};
use activebench_model::call::{FileKind, Op, PlainCall};
use foldhash::HashMap;

/// Number of spans of one kind from which they are merged.
const MERGE_FROM: usize = 1 << 10;

/// The key of requests of one kind: process, operation, requested bytes.
type Kind = (u32, Op, u64);

/// The bursts so far. Memory: 64 bytes per burst and [`MERGE_FROM`] bursts per kind.
#[derive(Default)]
pub(super) struct Bursts {
    by_kind: HashMap<Kind, Spans>,
}

#[derive(Default)]
struct Spans {
    spans: Vec<Burst>,
    merged: usize,
}

impl Bursts {
    pub(super) fn feed(&mut self, call: &PlainCall) {
        let moves_data = call.op.is_asynchronous() && (call.op.is_read() || call.op.is_write());
        if !moves_data || call.kind == FileKind::Other {
            return;
        }
        let burst = Burst {
            tgid: call.tgid,
            op: call.op,
            requested: call.requested,
            start_ns: call.start_ns,
            end_ns: call.end_ns,
            calls: 1,
            bytes: u64::try_from(call.returned).unwrap_or(0),
        };
        self.by_kind.entry((call.tgid, call.op, call.requested)).or_default().add(burst);
    }

    /// Returns the first [`Activity::MOST_BURSTS`] bursts, ordered by their starts.
    pub(super) fn close(self) -> Vec<Burst> {
        let mut bursts = Vec::new();
        for mut spans in self.by_kind.into_values() {
            spans.merge();
            bursts.append(&mut spans.spans);
        }
        bursts.sort_by_key(|burst| (burst.start_ns, burst.end_ns, burst.requested));
        bursts.truncate(Activity::MOST_BURSTS);
        bursts
    }
}

impl Spans {
    fn add(&mut self, burst: Burst) {
        if let Some(last) = self.spans.last_mut()
            && follows(last, &burst)
        {
            join(last, &burst);
            return;
        }
        self.spans.push(burst);
        if self.spans.len() > 2 * self.merged.max(MERGE_FROM) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.spans.sort_unstable_by_key(|burst| burst.start_ns);
        let mut merged: Vec<Burst> = Vec::with_capacity(self.spans.len());
        for burst in self.spans.drain(..) {
            match merged.last_mut() {
                Some(last) if follows(last, &burst) => join(last, &burst),
                _ => merged.push(burst),
            }
        }
        self.merged = merged.len();
        self.spans = merged;
    }
}

/// Returns `true` when two spans belong together: they overlap or are close.
fn follows(one: &Burst, other: &Burst) -> bool {
    let gap = Activity::BURST_GAP_NS;
    other.start_ns <= one.end_ns.saturating_add(gap) && one.start_ns <= other.end_ns.saturating_add(gap)
}

fn join(one: &mut Burst, other: &Burst) {
    one.start_ns = one.start_ns.min(other.start_ns);
    one.end_ns = one.end_ns.max(other.end_ns);
    one.calls += other.calls;
    one.bytes += other.bytes;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start_ms: u64, end_ms: u64) -> Burst {
        let (start_ns, end_ns) = (start_ms * 1_000_000, end_ms * 1_000_000);
        Burst { tgid: 1, op: Op::AioRead, requested: 8192, start_ns, end_ns, calls: 1, bytes: 8192 }
    }

    #[test]
    fn spans_in_any_order_become_bursts() {
        let mut forward: Vec<Burst> = (0..5_000).map(|at| span(at * 3, at * 3 + 2)).collect();
        forward.push(span(20_000, 20_001));
        let mut backward = forward.clone();
        backward.reverse();
        for spans in [forward, backward] {
            let mut all = Bursts::default();
            let kind = all.by_kind.entry((1, Op::AioRead, 8192)).or_default();
            spans.into_iter().for_each(|burst| kind.add(burst));
            let found: Vec<_> = all.close().iter().map(|b| (b.start_ns, b.end_ns, b.calls)).collect();
            assert_eq!(found, [(0, 14_999_000_000, 5_000), (20_000_000_000, 20_001_000_000, 1)]);
        }
    }
}
