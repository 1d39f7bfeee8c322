//! The times of the processes of a pass, each on its own clock.
//!
//! Processes that work at the same time mostly wait for one another before they begin, and some stop when the first of
//! them has finished.

use activebench_model::activity::StepKind;
use activebench_model::direction::Direction;
use activebench_model::grouped::Grouped;
use activebench_model::observed_pass::{TaskClock, TaskEnd, TaskStart};
use activebench_model::phase::{Part, PartEnd};

use super::{ObservedPasses, Run};

/// Fewest calls of a process whose count at some time is estimated.
const LEAST_CALLS: u64 = 16;

/// The time of a process, with what it moved in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskTime {
    tgid: u32,
    start_ns: u64,
    end_ns: u64,
    bytes: u64,
    calls: u64,
}

/// What a process had done when another one had finished.
#[derive(Clone, Copy, Debug)]
struct Until {
    /// End of the call that it was in.
    end_ns: u64,
    /// Calls and bytes without that call.
    calls: u64,
    bytes: u64,
    call_bytes: u64,
}

impl<'a> ObservedPasses<'a> {
    /// Returns how the processes of a set of runs can have been timed; nothing for one process.
    pub(super) fn task_clocks(&self, set: &[u32]) -> Vec<TaskClock> {
        let mut clocks: Vec<TaskClock> = Vec::new();
        let first = self.runs_of(set).next().map(|run| run.pass.tgid);
        if self.runs_of(set).all(|run| Some(run.pass.tgid) == first) {
            return clocks;
        }
        let tasks = self.by_task(set);
        let ends =
            [TaskEnd::LastCall, TaskEnd::Sync, TaskEnd::Close, TaskEnd::FirstFinished, TaskEnd::SyncOfFirstFinished];
        for start in [TaskStart::FirstCall, TaskStart::AllOpen] {
            for end in ends {
                let Some(times) = self.task_times(&tasks, start, end) else { continue };
                let rate = |time: &TaskTime| time.bytes as f64 * 1e9 / (time.end_ns - time.start_ns).max(1) as f64;
                let is_estimated = matches!(end, TaskEnd::FirstFinished | TaskEnd::SyncOfFirstFinished);
                let least = times.iter().map(|time| time.calls).min().unwrap_or(1).max(1);
                let clock = TaskClock {
                    start,
                    end,
                    rates: times.iter().map(rate).collect(),
                    end_ns: times.iter().map(|time| time.end_ns).max().unwrap_or(0),
                    unsure: if is_estimated { 1.0 / least as f64 } else { 0.0 },
                };
                if !clocks.iter().any(|known| known.rates == clock.rates) {
                    clocks.push(clock);
                }
            }
        }
        clocks
    }

    /// Gives the parts of a pass, one for each run of a set, the times of a clock of their processes.
    pub(super) fn set_task_times(&self, parts: &mut [Part], set: &[u32], clock: &TaskClock) {
        let times = self.task_times(&self.by_task(set), clock.start, clock.end).unwrap_or_default();
        let places = Grouped::new(parts.iter().enumerate().map(|(place, part)| (part.tgid, place)), |_| ());
        for time in times {
            let own = places.get(&time.tgid);
            let first = own.iter().copied().min_by_key(|place| parts[*place].start_ns);
            let last = own.iter().copied().max_by_key(|place| parts[*place].last_data_ns);
            for place in own {
                let part = &mut parts[*place];
                let stopped_ns = part.last_data_ns.min(time.end_ns).max(part.start_ns);
                part.end = PartEnd::At(stopped_ns);
                if part.sync_inside.as_ref().is_some_and(|sync| sync.end_ns > time.end_ns) {
                    part.sync_after = part.sync_inside.take();
                }
            }
            if let Some(first) = first {
                parts[first].start_ns = time.start_ns;
            }
            if let Some(last) = last {
                parts[last].end = PartEnd::At(time.end_ns);
            }
        }
    }

    /// Returns the runs of a set by process.
    fn by_task<'b>(&'b self, set: &'b [u32]) -> Grouped<u32, &'b Run<'a>> {
        Grouped::new(self.runs_of(set).map(|run| (run.pass.tgid, run)), |_| ())
    }

    /// Returns the time of each process; `None` where one of them has no such time.
    fn task_times(&self, tasks: &Grouped<u32, &Run<'a>>, start: TaskStart, end: TaskEnd) -> Option<Vec<TaskTime>> {
        let first_call = |runs: &[&Run<'_>]| runs.iter().map(|run| run.start_ns).min();
        let last_call = |runs: &[&Run<'_>]| runs.iter().map(|run| run.end_ns).max();
        let all_open_ns = tasks.values().iter().map(|run| Some(run.pass.open?.end_ns)).max()?;
        let first_finished_ns = tasks.iter().filter_map(|(_, runs)| last_call(runs)).min()?;
        let mut times = Vec::with_capacity(tasks.len());
        for (tgid, runs) in tasks.iter() {
            let started_ns = first_call(runs)?;
            let start_ns = match start {
                TaskStart::FirstCall => started_ns,
                TaskStart::AllOpen => all_open_ns.filter(|at_ns| *at_ns <= started_ns)?,
            };
            let (mut bytes, mut calls) =
                (runs.iter().map(|run| run.bytes).sum::<u64>(), runs.iter().map(|run| run.calls).sum::<u64>());
            let synced_behind = |at_ns: u64| {
                let synced = runs.iter().filter_map(|run| self.sync_behind(&Run { end_ns: at_ns, ..**run }));
                synced.map(|sync| sync.end_ns).max()
            };
            let end_ns = match end {
                TaskEnd::LastCall => last_call(runs)?,
                TaskEnd::Sync => synced_behind(last_call(runs)?)?,
                TaskEnd::Close => runs.iter().filter_map(|run| run.pass.close).map(|close| close.end_ns).max()?,
                TaskEnd::FirstFinished | TaskEnd::SyncOfFirstFinished if last_call(runs)? <= first_finished_ns => {
                    match end {
                        TaskEnd::FirstFinished => last_call(runs)?,
                        _ => synced_behind(last_call(runs)?)?,
                    }
                }
                TaskEnd::FirstFinished => {
                    let until = until(runs, first_finished_ns)?;
                    (bytes, calls) = (until.bytes, until.calls);
                    // Its last call is not inside.
                    until.end_ns.checked_sub(1)?
                }
                TaskEnd::SyncOfFirstFinished => {
                    let until = until(runs, first_finished_ns)?;
                    (bytes, calls) = (until.bytes + until.call_bytes, until.calls + 1);
                    synced_behind(until.end_ns)?
                }
            };
            if end_ns <= start_ns {
                return None;
            }
            times.push(TaskTime { tgid, start_ns, end_ns, bytes, calls });
        }
        Some(times)
    }
}

/// Returns what a process had done at a time, if its calls are like each other.
fn until(runs: &[&Run<'_>], at_ns: u64) -> Option<Until> {
    let [run] = runs else { return None };
    let (mut calls, mut bytes) = (0, 0);
    let kind = if run.direction == Direction::Read { StepKind::Read } else { StepKind::Write };
    let is_own = |start_ns: u64| (run.start_ns..=run.end_ns).contains(&start_ns);
    for step in run.pass.steps.iter().filter(|step| step.kind == kind && is_own(step.start_ns)) {
        if step.end_ns < at_ns {
            (calls, bytes) = (calls + step.calls, bytes + step.bytes);
            continue;
        }
        let call_bytes = step.bytes.checked_div(step.calls).filter(|_| step.start_ns < at_ns)?;
        let share = (at_ns - step.start_ns) as f64 / (step.end_ns - step.start_ns) as f64;
        let done = ((step.calls as f64 * share) as u64).min(step.calls - 1);
        let each_ns = (step.end_ns - step.start_ns) as f64 / step.calls as f64;
        let end_ns = match done + 1 == step.calls {
            true => step.end_ns,
            false => step.start_ns + (each_ns * (done + 1) as f64) as u64,
        };
        (calls, bytes) = (calls + done, bytes + done * call_bytes);
        return (calls >= LEAST_CALLS).then_some(Until { end_ns, calls, bytes, call_bytes });
    }
    None
}
