//! Converts timelines and their runs to passes.

use activebench_model::activity::{CallSpan, Pass, StepKind};
use activebench_model::call::{FileId, FileKind, Op, PlainCall};
use foldhash::HashMap;

use super::on_followed_file;
use super::slots::{Event, Key, Timelines, append, first, mapping_of};

impl Timelines {
    /// Returns the passes in the order of their first calls, and the structural calls.
    pub(super) fn into_passes(mut self) -> (Vec<Pass>, Vec<PlainCall>) {
        let events = std::mem::take(&mut self.events);
        let begins = |(_, call): &&Event| matches!(self.calls[*call as usize].op, Op::Open);
        let mut passes = Vec::with_capacity(events.iter().filter(begins).count());
        let mut coming = (1..).zip(&events).peekable();
        loop {
            let with_event = coming.peek().map(|(_, (key, _))| *key);
            let Some(key) = with_event.into_iter().chain(self.next_descriptor()).min() else { break };
            let first = passes.len();
            let mut descriptor = Descriptor { key, passes: &mut passes, current: None, mapped_in: HashMap::default() };
            descriptor.add_runs(&mut self, 0);
            while let Some((number, (_, call))) = coming.next_if(|(_, (of, _))| *of == key) {
                descriptor.add_event(&self, *call);
                descriptor.add_runs(&mut self, number);
            }
            passes[first..].iter_mut().for_each(|pass| pass.steps.shrink_to_fit());
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
    /// Those of all descriptors.
    passes: &'a mut Vec<Pass>,
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

    fn add_runs(&mut self, timelines: &mut Timelines, slot: u32) {
        while let Some(run) = timelines.next_run(self.key, slot) {
            let Some((file, kind, open_flags)) = run.file() else { continue };
            let pass = self.pass_on(file, kind, open_flags);
            append(&mut self.passes[pass].steps, run.into_step());
        }
    }

    /// Adds a structural call, by its index.
    fn add_event(&mut self, timelines: &Timelines, index: u32) {
        let call = &timelines.calls[index as usize];
        let span = CallSpan::from(call);
        match call.op {
            Op::Open => {
                // The previous use of this number ended, by an execution or a close that is not recorded.
                self.current = None;
                if let Some(file) = on_followed_file(call) {
                    self.begin(file, call.kind, call.open_flags, Some(span));
                }
            }
            // It gave this descriptor its number.
            Op::Dup if call.fd != self.key.1 => {
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
                let pass = match mapping_of(&timelines.mapped_by, index) {
                    // The mapping outlives its descriptor.
                    Some(mmap) => self.mapped_in.get(&mmap).copied(),
                    None => on_followed_file(call).map(|file| self.pass_on(file, call.kind, call.open_flags)),
                };
                let Some(pass) = pass else { return };
                if op == Op::Mmap {
                    self.mapped_in.insert(index, pass);
                }
                let mut step = first(kind_of(op), call);
                if step.kind == StepKind::Sync {
                    step.calls += timelines.merged.get(&(call.tid, call.start_ns)).copied().unwrap_or(0);
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
