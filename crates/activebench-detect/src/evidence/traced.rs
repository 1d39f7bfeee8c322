//! What a tracer's bounds leave open, and which right settles it.

use activebench_model::coverage::Backend;

use crate::run::Run;

/// The right that settles what a tracer leaves open: its stops are part of what it sees.
pub(crate) const SHOWN_BY: &str = "CAP_BPF and CAP_PERFMON, or root, show it: --backend bpf";

/// Returns `true` where a tracer observed: the threads' times are bounds then, and include its stops.
pub(crate) fn is_traced(run: &Run<'_>) -> bool {
    run.manifest.coverage.backend == Backend::Ptrace
}
