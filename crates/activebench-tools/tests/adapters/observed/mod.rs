//! Recorded calls folded to [`Activity`] for tests of adapters, by the rules in the
//! model's documentation. Another crate contains the real folding.

use std::collections::BTreeMap;

use activebench_model::activity::{
    Activity, CallBrief, CallSpan, FileSeen, NamedCall, OutputWrite, Pass, Step, StepKind, Task,
};
use activebench_model::call::{Call, FileId, FileKind, Op, open_bits};

/// The calls of a run, parsed from a `calls.txt`.
#[derive(Debug)]
pub(crate) struct Run {
    /// In the order of their entries.
    pub(crate) calls: Vec<Call>,
    names: Vec<String>,
    tasks: Vec<Task>,
}

impl Run {
    /// Parses the format that the file's own first lines describe.
    pub(crate) fn read(text: &str) -> Self {
        let mut run = Run { calls: Vec::new(), names: Vec::new(), tasks: Vec::new() };
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            if words[0] == "task" {
                let number = |index: usize| words[index].parse::<u32>().expect("a task number");
                let us = |word: &str| word.parse::<u64>().expect("a time") * 1000;
                run.tasks.push(Task {
                    tid: number(1),
                    tgid: number(2),
                    parent_tgid: number(3),
                    comm: "iozone".to_owned(),
                    start_ns: us(words[4]),
                    end_ns: (words[5] != "-").then(|| us(words[5])),
                    exit_status: Some(0),
                    user_ns: 0,
                    kernel_ns: 0,
                    blocked_ns: 0,
                    iowait_ns: 0,
                    preempted_ns: 0,
                });
                continue;
            }
            let int = |index: usize| words[index].parse::<i64>().unwrap_or_else(|error| panic!("{line}: {error}"));
            let op = *Op::ALL.iter().find(|op| op.name() == words[4]).unwrap_or_else(|| panic!("{line}"));
            let mut open_flags = 0;
            for flag in words.get(10).unwrap_or(&"-").split(',') {
                open_flags |= match flag {
                    "direct" => open_bits::DIRECT,
                    "sync" => open_bits::SYNC,
                    "dsync" => open_bits::DSYNC,
                    "write" => open_bits::WRITABLE,
                    "create" => open_bits::CREATE,
                    _ => 0,
                };
            }
            run.calls.push(Call {
                start_ns: int(0) as u64 * 1000,
                end_ns: int(1) as u64 * 1000,
                tid: int(2) as u32,
                tgid: int(3) as u32,
                op,
                fd: int(5) as i32,
                file: (op == Op::Open).then(|| FileId { s_dev: 1, ino: int(6) as u64 }),
                kind: FileKind::Regular,
                open_flags,
                offset: int(6),
                requested: int(7) as u64,
                returned: int(8),
                storage_read_bytes: 0,
                cached_bytes: 0,
                cpu_ns: 0,
                user_before_ns: 0,
                stands_for: 1,
            });
            run.names.push(words.get(9).unwrap_or(&"").to_string());
        }
        run
    }

    /// Returns the index of a thread in the order of creation.
    pub(crate) fn task_number(&self, tid: u32) -> usize {
        self.tasks.iter().position(|task| task.tid == tid).expect("a known task")
    }

    /// Folds the calls.
    pub(crate) fn activity(&self) -> Activity {
        let mut activity = Activity { tasks: self.tasks.clone(), ..Activity::default() };
        let mut open: BTreeMap<(u32, i32), usize> = BTreeMap::new();
        for (call, name) in self.calls.iter().zip(&self.names) {
            let span = CallSpan::from(call);
            match call.op {
                Op::Sync => activity.global_syncs.push(span),
                Op::Write if matches!(call.fd, 1 | 2) && !open.contains_key(&(call.tgid, call.fd)) => {
                    activity.output_writes.push(OutputWrite { span, tgid: call.tgid, fd: call.fd, file: None });
                }
                Op::Unlink => activity.unlinks.push(NamedCall { span, name: name.clone() }),
                Op::Open => {
                    let file = call.file.expect("an open has a file");
                    match activity.files.iter_mut().find(|seen| seen.id == file) {
                        Some(seen) if !seen.names.contains(name) => seen.names.push(name.clone()),
                        Some(_) => {}
                        None => activity.files.push(FileSeen {
                            id: file,
                            names: vec![name.clone()],
                            kind: FileKind::Regular,
                        }),
                    }
                    open.insert((call.tgid, call.fd), activity.passes.len());
                    activity.passes.push(Pass {
                        tgid: call.tgid,
                        fd: call.fd,
                        file,
                        kind: FileKind::Regular,
                        open_flags: call.open_flags,
                        name: None,
                        open: Some(span),
                        close: None,
                        steps: Vec::new(),
                    });
                }
                Op::Close => {
                    let index = open.remove(&(call.tgid, call.fd)).expect("an open descriptor");
                    activity.passes[index].close = Some(span);
                }
                _ => {
                    let index = open[&(call.tgid, call.fd)];
                    add(&mut activity.passes[index].steps, call);
                }
            }
        }
        activity
    }
}

fn add(steps: &mut Vec<Step>, call: &Call) {
    let is_seek = call.op == Op::Lseek;
    let kind = match call.op {
        op if op.is_read() => StepKind::Read,
        op if op.is_write() => StepKind::Write,
        op if op.is_file_sync() => StepKind::Sync,
        Op::Lseek => StepKind::Seek,
        Op::Mmap => StepKind::Map,
        Op::Munmap => StepKind::Unmap,
        _ => StepKind::Other,
    };
    if let Some(step) = steps.last_mut() {
        let data = matches!(step.kind, StepKind::Read | StepKind::Write);
        if is_seek && (data || step.kind == StepKind::Seek) {
            step.last_end_ns = call.end_ns;
            step.seeks += 1;
            step.add_to_head(call);
            if step.kind == StepKind::Seek {
                step.end_ns = call.end_ns;
                step.calls += 1;
            }
            return;
        }
        if kind == step.kind {
            step.end_ns = call.end_ns;
            step.last_end_ns = call.end_ns;
            step.calls += 1;
            step.bytes += u64::try_from(call.returned).unwrap_or(0);
            step.add_thread(call.tid);
            step.add_to_head(call);
            if kind == StepKind::Sync && step.calls > Step::HEAD as u64 {
                step.add_to_last_syncs([CallBrief::from(call).span]);
            }
            return;
        }
    }
    let data = matches!(kind, StepKind::Read | StepKind::Write);
    steps.push(Step {
        kind,
        start_ns: call.start_ns,
        end_ns: call.end_ns,
        last_end_ns: call.end_ns,
        calls: 1,
        bytes: if data { u64::try_from(call.returned).unwrap_or(0) } else { 0 },
        seeks: u64::from(is_seek),
        tids: Box::new([call.tid]),
        head: Box::new([CallBrief::from(call)]),
        last_syncs: Box::default(),
        shifts: None,
        min_offset: call.offset,
        max_offset: call.offset,
    });
}
