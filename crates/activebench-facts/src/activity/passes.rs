//! Converts timelines and their runs to passes.

use std::collections::HashMap;

use activebench_model::activity::{CallSpan, Pass, StepKind};
use activebench_model::call::{FileId, FileKind, Op, PlainCall};

use super::on_followed_file;
use super::slots::{Event, Key, Run, Timelines, append, first};

impl Timelines {
    /// Returns the passes in the order of their first calls, and the structural calls.
    pub(super) fn into_passes(mut self) -> (Vec<Pass>, Vec<PlainCall>) {
        let mut keys: Vec<Key> = self.events.keys().chain(self.runs.keys()).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let mut passes = Vec::new();
        for key in keys {
            let events = self.events.remove(&key).unwrap_or_default();
            let slots = self.runs.remove(&key).unwrap_or_default();
            let opens = events.iter().filter(|event| self.calls[event.call as usize].op == Op::Open).count();
            let mut descriptor = Descriptor {
                key,
                calls: &self.calls,
                merged: &self.merged,
                passes: Vec::with_capacity(opens),
                current: None,
                mapped_in: HashMap::new(),
            };
            let mut slots = slots.into_iter();
            descriptor.add_runs(slots.next());
            for event in events {
                descriptor.add_event(event);
                descriptor.add_runs(slots.next());
            }
            descriptor.passes.iter_mut().for_each(|pass| pass.steps.shrink_to_fit());
            descriptor.passes.shrink_to_fit();
            // The one descriptor of a run with many passes takes its memory along.
            if passes.is_empty() {
                passes = descriptor.passes;
            } else {
                passes.append(&mut descriptor.passes);
            }
        }
        passes.shrink_to_fit();
        // The sort is stable: passes that began at the same time stay in the order of their descriptors.
        if !passes.is_sorted_by_key(begin_ns) {
            passes.sort_by_key(begin_ns);
        }
        (passes, self.calls)
    }
}

fn begin_ns(pass: &Pass) -> u64 {
    let step_ns =
        |step: &activebench_model::activity::Step| step.head.first().map_or(step.start_ns, |brief| brief.span.start_ns);
    pass.open.map_or_else(|| pass.steps.first().map_or(u64::MAX, step_ns), |open| open.start_ns)
}

/// One descriptor number of one process through the run.
struct Descriptor<'a> {
    key: Key,
    calls: &'a [PlainCall],
    merged: &'a HashMap<(u32, u64), u64>,
    passes: Vec<Pass>,
    /// Index of the open pass in `passes`.
    current: Option<usize>,
    /// The pass in which an `mmap` (by index) was made.
    mapped_in: HashMap<u32, usize>,
}

impl Descriptor<'_> {
    fn begin(&mut self, file: FileId, kind: FileKind, open_flags: u32, open: Option<CallSpan>) -> usize {
        let (tgid, fd) = self.key;
        self.passes.push(Pass { tgid, fd, file, kind, open_flags, name: None, open, close: None, steps: Vec::new() });
        self.current = Some(self.passes.len() - 1);
        self.passes.len() - 1
    }

    /// Returns the pass on this file: the current one, or an inherited one that is seen for the first time.
    fn pass_on(&mut self, file: FileId, kind: FileKind, open_flags: u32) -> usize {
        match self.current {
            Some(index) if self.passes[index].file == file => index,
            _ => self.begin(file, kind, open_flags, None),
        }
    }

    fn add_runs(&mut self, runs: Option<Vec<Run>>) {
        let mut runs = runs.unwrap_or_default();
        runs.sort_by_key(|run| run.step.start_ns);
        for run in runs {
            let pass = self.pass_on(run.file, run.file_kind, run.open_flags);
            append(&mut self.passes[pass].steps, run.step);
        }
    }

    fn add_event(&mut self, event: Event) {
        let call = &self.calls[event.call as usize];
        let span = CallSpan::from(call);
        match call.op {
            Op::Open => {
                // The previous use of this number ended, by an execution or a close that is not recorded.
                self.current = None;
                if let Some(file) = on_followed_file(call) {
                    self.begin(file, call.kind, call.open_flags, Some(span));
                }
            }
            Op::Dup if event.given => {
                if let Some(index) = self.current.take() {
                    self.passes[index].close = Some(span);
                }
                if let Some(file) = on_followed_file(call) {
                    self.begin(file, call.kind, call.open_flags, Some(span));
                }
            }
            Op::Close => {
                const EBADF: i64 = -9;
                // Linux frees the number whatever else close returns.
                if call.returned != EBADF
                    && let Some(index) = self.current.take()
                {
                    self.passes[index].close = Some(span);
                }
            }
            op => {
                let pass = match event.mapped_by {
                    // The mapping outlives its descriptor.
                    Some(mmap) => self.mapped_in.get(&mmap).copied(),
                    None => on_followed_file(call).map(|file| self.pass_on(file, call.kind, call.open_flags)),
                };
                let Some(pass) = pass else { return };
                if op == Op::Mmap {
                    self.mapped_in.insert(event.call, pass);
                }
                let mut step = first(kind_of(op), call);
                if step.kind == StepKind::Sync {
                    step.calls += self.merged.get(&(call.tid, call.start_ns)).copied().unwrap_or(0);
                }
                append(&mut self.passes[pass].steps, step);
            }
        }
    }
}

fn kind_of(op: Op) -> StepKind {
    match op {
        op if op.is_file_sync() || op == Op::MsyncAsync => StepKind::Sync,
        Op::Mmap => StepKind::Map,
        Op::Munmap => StepKind::Unmap,
        _ => StepKind::Other,
    }
}
