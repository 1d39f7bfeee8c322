//! How the phases' threads spent their time, step by step.

use activebench_model::phase::Phase;
use activebench_model::source::{EventSource, Unreadable};
use foldhash::HashSet;

use super::axis::Axis;
use crate::facts::cpu_times::{Cuts, Totals};
use crate::facts::index::Index;
use crate::facts::record_losses::Gap;
use crate::facts::tally::{ThreadSpan, spans_of, thread_spans};

/// Number of threads of a phase above which their time is not computed.
const MOST_THREADS: usize = 64;
/// Error of the times, as a share of a step, above which it is reported.
const ERROR_SAID: f64 = 0.05;

/// The times of one phase.
pub(super) enum Times {
    Known {
        /// Shares of user mode, kernel, I/O wait, other waits and the run queue; `None` where no thread ran or
        /// its totals are unknown.
        shares: Vec<Option<[f64; 5]>>,
        /// The largest error, as a share of a step.
        error: f64,
    },
    Unknown(String),
}

impl Times {
    /// Returns one of the shares over the steps.
    pub(super) fn ratios(&self, gap: &Gap, state: usize) -> (Gap, Vec<Option<f64>>) {
        match self {
            Times::Unknown(why) => (Gap::Missing(why.clone()), Vec::new()),
            Times::Known { shares, error } => {
                let values = shares.iter().map(|shares| shares.map(|shares| shares[state])).collect();
                let rough = (*error > ERROR_SAID)
                    .then(|| format!("accurate to ± {:.0} % of a step: the steps are short", error * 100.0));
                (gap.clone().and_lost(rough), values)
            }
        }
    }
}

/// A thread's time in one step.
struct Segment {
    step: usize,
    tid: u32,
    start_ns: u64,
    end_ns: u64,
}

/// The times of all threads in one step.
#[derive(Clone)]
struct Step {
    length_ns: u64,
    /// `None` as soon as one thread's time is unknown.
    parts_ns: Option<[u64; 5]>,
    error_ns: u64,
}

/// Computes the times of the phases with these numbers, each on its axis.
pub(super) fn read(
    source: &dyn EventSource,
    index: &Index<'_>,
    phases: &[Phase],
    axes: &[(usize, Axis)],
) -> Result<Vec<Times>, Unreadable> {
    let spans = thread_spans(index, phases);
    let segments: Vec<Result<Vec<Segment>, String>> =
        axes.iter().map(|(number, axis)| segments(&spans, *number, *axis)).collect();
    let cut = |segment: &Segment| (segment.tid, segment.start_ns, segment.end_ns);
    let mut cuts = Cuts::new(index.tasks, segments.iter().flatten().flatten().map(cut));
    for batch in source.cpu() {
        batch?.iter().for_each(|event| cuts.feed(event));
    }
    for batch in source.samples() {
        batch?.iter().for_each(|sample| cuts.feed(&sample.cpu));
    }
    let totals = cuts.close();
    let times = |((_, axis), segments): (&(usize, Axis), Result<Vec<Segment>, String>)| match segments {
        Ok(segments) => added(&totals, *axis, &segments),
        Err(why) => Times::Unknown(why),
    };
    Ok(axes.iter().zip(segments).map(times).collect())
}

/// Cuts the spans of a phase's threads at the borders of the steps.
///
/// # Errors
/// Returns an error if there are too many threads.
fn segments(spans: &[ThreadSpan], number: usize, axis: Axis) -> Result<Vec<Segment>, String> {
    let own = spans_of(spans, number);
    let threads: HashSet<u32> = own.iter().map(|span| span.tid).collect();
    if threads.len() > MOST_THREADS {
        return Err(format!("the phase has more than {MOST_THREADS} threads"));
    }
    let cut = |span: &ThreadSpan| {
        let (tid, from_ns, to_ns) = (span.tid, span.start_ns, span.end_ns);
        axis.steps_between(from_ns, to_ns).filter_map(move |step| {
            let (start_ns, end_ns) = axis.bounds(step);
            let (start_ns, end_ns) = (start_ns.max(from_ns), end_ns.min(to_ns));
            (start_ns < end_ns).then_some(Segment { step, tid, start_ns, end_ns })
        })
    };
    Ok(own.iter().flat_map(cut).collect())
}

fn added(totals: &Totals, axis: Axis, segments: &[Segment]) -> Times {
    let mut steps = vec![Step { length_ns: 0, parts_ns: Some([0; 5]), error_ns: 0 }; axis.steps];
    for segment in segments {
        let step = &mut steps[segment.step];
        step.length_ns += segment.end_ns - segment.start_ns;
        let Some(span) = totals.between(segment.tid, segment.start_ns, segment.end_ns) else {
            step.parts_ns = None;
            continue;
        };
        step.error_ns += span.error_ns;
        let times = span.times;
        let blocked_ns = times.blocked_ns.saturating_sub(times.iowait_ns);
        let parts = [times.user_ns, times.kernel_ns, times.iowait_ns, blocked_ns, times.preempted_ns];
        step.parts_ns.iter_mut().flatten().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let share = |step: &Step| {
        let parts = step.parts_ns.filter(|_| step.length_ns > 0);
        parts.map(|parts| parts.map(|part| part as f64 / step.length_ns as f64))
    };
    let error = |step: &Step| if step.length_ns > 0 { step.error_ns as f64 / axis.step_ns as f64 } else { 0.0 };
    Times::Known { shares: steps.iter().map(share).collect(), error: steps.iter().map(error).fold(0.0, f64::max) }
}
