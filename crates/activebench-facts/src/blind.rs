//! I/O of the tree that no probe decodes.

use std::collections::HashSet;

use activebench_model::activity::{Activity, Pass, StepKind};
use activebench_model::call::{FileId, Op, open_bits};
use activebench_model::coverage::{BlindPath, ProbeStatus};
use activebench_model::phase::Phase;

use crate::activity::Stub;
use activebench_model::source::{EventSource, Unreadable};

/// Hooks without which the requests inside a ring are not seen; both are needed.
const URING_HOOKS: [&str; 2] = ["tp_btf/io_uring_submit_req", "tp_btf/io_uring_complete"];

/// Counts the calls that lead into I/O which is not decoded, by name of the path. Unused paths are
/// left out.
///
/// A mapping counts where it can carry a benchmark's data: on a file that the tree opened
/// for writing or that a phase names. Neither is true of mapped programs and libraries.
///
/// # Errors
/// Returns the errors of the source.
pub fn blind_paths(
    source: &dyn EventSource,
    activity: &Activity,
    phases: &[Phase],
    probes: &[ProbeStatus],
) -> Result<Vec<BlindPath>, Unreadable> {
    let stub = Stub::new(&activity.tasks, &activity.execs);
    let mut counted = vec![(Op::UringOther, "io_uring splice or multishot", 0)];
    if !URING_HOOKS.iter().all(|hook| probes.iter().any(|probe| probe.hook == *hook && probe.attached)) {
        counted.push((Op::IoUringEnter, "io_uring", 0));
    }
    for batch in source.calls() {
        for call in &batch? {
            if let Some((.., calls)) = counted.iter_mut().find(|(op, ..)| *op == call.op)
                && !stub.made(call.tgid, call.start_ns)
            {
                *calls += 1;
            }
        }
    }
    let mut paths: Vec<BlindPath> =
        counted.into_iter().map(|(_, path, calls)| BlindPath { path: path.to_owned(), calls }).collect();
    paths.push(BlindPath { path: "mmap".to_owned(), calls: data_mappings(activity, phases) });
    paths.retain(|path| path.calls > 0);
    Ok(paths)
}

/// Counts the mappings of files that the tree opened for writing or that a phase names.
pub(crate) fn data_mappings(activity: &Activity, phases: &[Phase]) -> u64 {
    let of_phases = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file);
    let writable = |pass: &&Pass| pass.open_flags & open_bits::WRITABLE != 0;
    let files: HashSet<FileId> =
        of_phases.chain(activity.passes.iter().filter(writable).map(|pass| pass.file)).collect();
    let steps = activity.passes.iter().filter(|pass| files.contains(&pass.file)).flat_map(|pass| &pass.steps);
    steps.filter(|step| step.kind == StepKind::Map).map(|step| step.calls).sum()
}
