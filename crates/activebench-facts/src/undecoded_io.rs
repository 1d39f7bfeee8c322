//! I/O of the tree that no probe decodes.

use activebench_model::activity::{Activity, Pass, StepKind};
use activebench_model::call::{FileId, Op, PlainCall, open_bits};
use activebench_model::coverage::{BlindPath, Coverage};
use activebench_model::hook::Hook;
use activebench_model::phase::Phase;
use foldhash::HashSet;

/// Hooks without which the requests inside a ring are not seen; both are needed.
const URING_HOOKS: [Hook; 2] = [Hook::UringSubmit, Hook::UringComplete];

/// Calls that lead into I/O which may not be decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undecoded {
    uring_other: u64,
    uring_enter: u64,
}

impl Undecoded {
    pub(crate) fn feed(&mut self, call: &PlainCall) {
        match call.op {
            Op::UringOther => self.uring_other += 1,
            Op::IoUringEnter => self.uring_enter += 1,
            _ => {}
        }
    }

    /// See [`Folded::blind_paths`](crate::Folded::blind_paths).
    pub(crate) fn paths(self, activity: &Activity, phases: &[Phase], coverage: &Coverage) -> Vec<BlindPath> {
        let probes = &coverage.probes;
        let mut counted = vec![("io_uring splice, multishot or device commands", self.uring_other)];
        if !URING_HOOKS.iter().all(|hook| probes.iter().any(|probe| probe.hook == *hook && probe.attached)) {
            counted.push((BlindPath::URING, self.uring_enter));
        }
        counted.push(("mmap", data_mappings(&activity.passes, phases)));
        counted.retain(|(_, calls)| *calls > 0);
        let counted = counted.into_iter().map(|(path, calls)| BlindPath { path: path.to_owned(), calls });
        counted.chain(coverage.undecoded.iter().cloned()).collect()
    }
}

/// Counts the mappings of files that the tree opened for writing or that a phase names.
pub(crate) fn data_mappings(passes: &[Pass], phases: &[Phase]) -> u64 {
    let has_maps = |pass: &&Pass| pass.steps.iter().any(|step| step.kind == StepKind::Map);
    // Most runs have none, and may have a million files.
    let mapped: Vec<&Pass> = passes.iter().filter(has_maps).collect();
    if mapped.is_empty() {
        return 0;
    }
    let of_phases = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file);
    let writable = |pass: &&Pass| pass.open_flags & open_bits::WRITABLE != 0;
    let files: HashSet<FileId> = of_phases.chain(passes.iter().filter(writable).map(|pass| pass.file)).collect();
    let steps = mapped.into_iter().filter(|pass| files.contains(&pass.file)).flat_map(|pass| &pass.steps);
    steps.filter(|step| step.kind == StepKind::Map).map(|step| step.calls).sum()
}
