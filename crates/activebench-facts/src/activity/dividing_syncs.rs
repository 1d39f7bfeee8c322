//! Bounds the syncs that divide a descriptor's life.
//!
//! A tool that syncs after every write makes a slot, a run and two steps per sync: 1 KiB each. Between two other
//! structural calls on a descriptor only the first and the last [`DIVIDING`] syncs divide its life. The syncs between
//! them become one sync, which counts them, and the data calls between them become one run. Facts count and time every
//! sync: the times of all are kept ([`BriefSync`]).

use std::collections::VecDeque;

use activebench_model::call::{FileId, Op, PlainCall};
use foldhash::HashMap;

use super::slots::Key;

/// Largest number of syncs at each end that divide a descriptor's life.
pub(super) const DIVIDING: usize = 256;

/// A sync of a whole file that divides nothing. 32 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BriefSync {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) tgid: u32,
    pub(crate) tid: u32,
    pub(crate) op: Op,
    pub(crate) succeeded: bool,
}

impl From<&PlainCall> for BriefSync {
    fn from(call: &PlainCall) -> Self {
        let PlainCall { start_ns, end_ns, tgid, tid, op, .. } = *call;
        Self { start_ns, end_ns, tgid, tid, op, succeeded: call.returned == 0 }
    }
}

/// The syncs while the structural calls are read.
#[derive(Default)]
pub(super) struct DividingSyncs {
    spans: HashMap<Key, Span>,
    /// Syncs that divide nothing, by file.
    pub(super) brief: HashMap<FileId, Vec<BriefSync>>,
    /// Number of syncs that a dividing one stands for besides itself, by its thread and start.
    pub(super) merged: HashMap<(u32, u64), u64>,
}

/// The syncs of a file through a descriptor since the last other structural call on it.
struct Span {
    file: FileId,
    /// Syncs that were the first ones.
    first: usize,
    /// The last ones.
    last: VecDeque<PlainCall>,
    /// The latest sync between the first and the last ones, and the number of those before it.
    middle: Option<(PlainCall, u64)>,
}

impl DividingSyncs {
    /// Returns `true` for a sync whose file is that of its descriptor, and which covers all of it.
    pub(super) fn takes(op: Op) -> bool {
        op.is_file_sync() && op != Op::Msync
    }

    /// Adds a sync; it goes to `calls` now or later if it divides its descriptor's life.
    pub(super) fn add(&mut self, call: PlainCall, file: FileId, calls: &mut Vec<PlainCall>) {
        let key = (call.tgid, call.fd);
        if self.spans.get(&key).is_some_and(|span| span.file != file) {
            self.end(key, calls);
        }
        let span =
            self.spans.entry(key).or_insert_with(|| Span { file, first: 0, last: VecDeque::new(), middle: None });
        if span.first < DIVIDING {
            span.first += 1;
            calls.push(call);
            return;
        }
        span.last.push_back(call);
        if span.last.len() <= DIVIDING {
            return;
        }
        let Some(latest) = span.last.pop_front() else { return };
        span.middle = match span.middle.take() {
            Some((earlier, before)) => {
                self.brief.entry(file).or_default().push((&earlier).into());
                Some((latest, before + 1))
            }
            None => Some((latest, 0)),
        };
    }

    /// Ends the span of a descriptor, because another structural call follows.
    pub(super) fn end(&mut self, key: Key, calls: &mut Vec<PlainCall>) {
        let Some(span) = self.spans.remove(&key) else { return };
        if let Some((middle, before)) = span.middle {
            calls.push(middle);
            if before > 0 {
                self.merged.insert((middle.tid, middle.start_ns), before);
            }
        }
        calls.extend(span.last);
    }

    /// Ends all spans.
    pub(super) fn close(&mut self, calls: &mut Vec<PlainCall>) {
        let keys: Vec<Key> = self.spans.keys().copied().collect();
        keys.into_iter().for_each(|key| self.end(key, calls));
        for syncs in self.brief.values_mut() {
            syncs.sort_by_key(|sync| sync.start_ns);
            syncs.shrink_to_fit();
        }
    }
}
