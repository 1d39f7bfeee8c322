//! The sources of facts where a tracer observed.

use activebench_model::fact::{Completeness, FactName, Facts};
use activebench_model::hook::Hook;
use activebench_model::phase::Phase;

/// Source of what the calls and tasks show.
const CALLS: &str = "ptrace";
/// Source of what reads took from storage.
const STORAGE: &str = "/proc/PID/task/TID/io";

/// Names the tracer as the source of the facts that rest on its records. A missing fact keeps the hook that it lacks.
pub(super) fn name_sources(phases: &mut [Phase], of_run: &mut Facts) {
    for facts in phases.iter_mut().map(|phase| &mut phase.facts).chain([of_run]) {
        for (name, fact) in &mut facts.0 {
            if matches!(fact.completeness, Completeness::Missing(_)) {
                continue;
            }
            if Hook::ALL.iter().any(|hook| fact.source.contains(hook.name())) {
                fact.source = if *name == FactName::StorageReadBytes { STORAGE } else { CALLS }.to_owned();
            }
        }
    }
}
