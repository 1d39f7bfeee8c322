//! The sources of facts where a tracer observed.

use activebench_model::coverage::Coverage;
use activebench_model::fact::{Completeness, FactName, Facts};
use activebench_model::hook::Hook;
use activebench_model::phase::Phase;

/// Source of what the calls and tasks show, and of what they show where a library in the tool noted some.
const CALLS: &str = "ptrace";
const NOTED_CALLS: &str = "ptrace, LD_PRELOAD";
/// Source of what reads took from storage.
const STORAGE: &str = "/proc/PID/task/TID/io";

/// Names the tracer as the source of the facts that rest on its records. A missing fact keeps the hook that it lacks.
pub(super) fn name_sources(coverage: &Coverage, phases: &mut [Phase], of_run: &mut Facts) {
    let is_noted = coverage.traced.as_ref().is_some_and(|traced| traced.noted_calls > 0);
    let calls = if is_noted { NOTED_CALLS } else { CALLS };
    for facts in phases.iter_mut().map(|phase| &mut phase.facts).chain([of_run]) {
        for (name, fact) in &mut facts.0 {
            if matches!(fact.completeness, Completeness::Missing(_)) {
                continue;
            }
            if Hook::ALL.iter().any(|hook| fact.source.contains(hook.name())) {
                fact.source = if *name == FactName::StorageReadBytes { STORAGE } else { calls }.to_owned();
            }
        }
    }
}
