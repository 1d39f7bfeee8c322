//! Assignment of processes and threads to jobs.
//!
//! fio's main process makes a process for each job, in the order of the jobs, or a thread under
//! `thread`. If the report names the processes, they are known. Otherwise the order of creation is used,
//! if the numbers agree.

use std::collections::{HashMap, HashSet};

use activebench_model::activity::Task;

use super::entries::Paired;
use super::jobs::Setup;
use super::observed_calls::Seen;
use super::options::JobOptions;
use super::report::Entry;

/// The task of one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobTask {
    pub(super) tgid: u32,
    pub(super) tid: u32,
    /// True for a thread of fio's main process, not a process of its own.
    pub(super) is_thread: bool,
    pub(super) start_ns: u64,
}

/// The tasks of each entry's jobs.
#[derive(Clone, Debug, Default)]
pub(super) struct Assigned {
    /// By entry; the error says why they are unknown.
    pub(super) of_entry: Vec<Result<Vec<JobTask>, String>>,
    /// True if the tasks were assigned by order of creation.
    pub(super) by_order: bool,
}

/// A job that fio runs, reported or not.
struct Slot {
    entry: Option<usize>,
    options: JobOptions,
    pid: Option<u32>,
}

pub(super) fn assign(setup: &Setup, entries: &[Entry], paired: &[Paired], seen: &Seen<'_>) -> Assigned {
    let slots = slots(setup, entries, paired);
    let (processes, threads) = candidates(setup, seen);
    let mut assigned = Assigned { of_entry: vec![Ok(Vec::new()); entries.len()], by_order: false };
    if seen.activity.tasks.is_empty() {
        assigned.of_entry.fill(Err("no task was observed".to_owned()));
        return assigned;
    }
    let found = by_number(&slots, &processes, &threads);
    let found = found.map_or_else(
        || {
            assigned.by_order = true;
            by_birth(&slots, &processes, &threads, setup.open.is_some())
        },
        Ok,
    );
    match found {
        Ok(tasks) => {
            for (slot, task) in slots.iter().zip(tasks) {
                if let Some(Ok(of_entry)) = slot.entry.and_then(|entry| assigned.of_entry.get_mut(entry)) {
                    of_entry.push(task);
                }
            }
        }
        Err(why) => assigned.of_entry.fill(Err(why)),
    }
    assigned
}

/// Sets the number of jobs of each entry if neither the report nor the command states it: the number of tasks that fio
/// made, if there is one entry for all of them or one for each.
pub(super) fn count_jobs(setup: &Setup, entries: &mut [Entry], seen: &Seen<'_>) {
    if setup.open.is_none() || entries.iter().any(|entry| entry.jobs.is_some()) {
        return;
    }
    let (processes, threads) = candidates(setup, seen);
    let made = processes.len() + threads.len();
    match entries {
        [entry] if made > 0 => entry.jobs = u32::try_from(made).ok(),
        _ if made == entries.len() => entries.iter_mut().for_each(|entry| entry.jobs = Some(1)),
        _ => {}
    }
}

fn slots(setup: &Setup, entries: &[Entry], paired: &[Paired]) -> Vec<Slot> {
    // The process number of a group is that of its first job only.
    let pid = |entry: usize, jobs: usize| entries[entry].pid.filter(|_| jobs == 1);
    if !paired.is_empty() && paired.iter().all(|paired| !paired.places.is_empty()) {
        let mut slots: Vec<Slot> =
            setup.jobs.iter().map(|job| Slot { entry: None, options: job.options.clone(), pid: None }).collect();
        for (entry, paired) in paired.iter().enumerate() {
            for place in &paired.places {
                slots[*place].entry = Some(entry);
                slots[*place].pid = pid(entry, paired.places.len());
            }
        }
        return slots;
    }
    let of_entry = |(entry, paired): (usize, &Paired)| {
        let jobs = paired.jobs_of(&entries[entry]).unwrap_or(1).clamp(1, 4096) as usize;
        let options = paired.job().cloned().unwrap_or_default();
        let slot = move |_| Slot { entry: Some(entry), options: options.clone(), pid: pid(entry, jobs) };
        (0..jobs).map(slot).collect::<Vec<_>>()
    };
    paired.iter().enumerate().flat_map(of_entry).collect()
}

/// Returns the processes that fio's main processes made, and their threads that open files, in order of creation.
fn candidates(setup: &Setup, seen: &Seen<'_>) -> (Vec<JobTask>, Vec<JobTask>) {
    let activity = seen.activity;
    let mains: Vec<u32> = activity
        .execs
        .iter()
        .filter(|exec| {
            // Under another name it is recognized by its words.
            let by_words = !exec.arguments.is_empty() && exec.arguments == setup.argv;
            by_words || exec.filename.rsplit('/').next() == Some("fio")
        })
        .map(|exec| exec.tgid)
        .collect();
    let executed: HashSet<u32> = activity.execs.iter().map(|exec| exec.tgid).collect();
    let became_another = |tgid: u32| executed.contains(&tgid);
    let job =
        |task: &Task, is_thread: bool| JobTask { tgid: task.tgid, tid: task.tid, is_thread, start_ns: task.start_ns };
    let mut processes: Vec<JobTask> = activity
        .tasks
        .iter()
        .filter(|task| task.tid == task.tgid && mains.contains(&task.parent_tgid) && !became_another(task.tgid))
        .map(|task| job(task, false))
        .collect();
    // The thread that keeps the statistics opens kernel files.
    let openers: HashSet<u32> =
        mains.iter().flat_map(|main| seen.passes_of(*main)).filter_map(|pass| Some(pass.open?.tid)).collect();
    let opens = |task: &Task| openers.contains(&task.tid);
    let mut threads: Vec<JobTask> = activity
        .tasks
        .iter()
        .filter(|task| task.tid != task.tgid && mains.contains(&task.tgid) && !task.comm.starts_with("iou-"))
        .filter(|task| opens(task))
        .map(|task| job(task, true))
        .collect();
    processes.sort_by_key(|task| task.start_ns);
    threads.sort_by_key(|task| task.start_ns);
    (processes, threads)
}

/// Assigns tasks by the process numbers that the report prints; `None` unless each of them was observed.
fn by_number(slots: &[Slot], processes: &[JobTask], threads: &[JobTask]) -> Option<Vec<JobTask>> {
    // Where a number was given again, the first task counts.
    let by_tid: HashMap<u32, &JobTask> =
        threads.iter().rev().chain(processes.iter().rev()).map(|task| (task.tid, task)).collect();
    let of_slot = |slot: &Slot| by_tid.get(&slot.pid?).map(|task| (*task).clone());
    slots.iter().map(of_slot).collect()
}

/// Assigns tasks in the order in which fio made them. `is_open`: some options of the jobs are unknown.
fn by_birth(slots: &[Slot], processes: &[JobTask], threads: &[JobTask], is_open: bool) -> Result<Vec<JobTask>, String> {
    // A delayed job is made later; one that waits for the others is made after all of them. Jobs that are still delayed
    // do not hold up others (backend.c, `run_threads`, 3.33).
    let mut waves = 0;
    let mut somebody_began = false;
    let mut order: Vec<(u32, u64, usize)> = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let first_clone = index == 0 || slots[index - 1].options != slot.options;
        if first_clone && slot.options.has("stonewall") && somebody_began {
            waves += 1;
            somebody_began = false;
        }
        let delay_ns = slot.options.seconds_as_ns("startdelay").unwrap_or(0);
        somebody_began |= delay_ns == 0;
        order.push((waves, delay_ns, index));
    }
    order.sort_unstable();
    // It is unknown which of them are threads, but not needed if there are as many tasks as jobs.
    if is_open && slots.len() == processes.len() + threads.len() {
        let mut all: Vec<&JobTask> = processes.iter().chain(threads).collect();
        all.sort_by_key(|task| task.start_ns);
        let mut tasks: Vec<(usize, JobTask)> =
            order.iter().zip(all).map(|((.., index), task)| (*index, task.clone())).collect();
        tasks.sort_by_key(|(index, _)| *index);
        return Ok(tasks.into_iter().map(|(_, task)| task).collect());
    }
    // If it is unknown whether jobs are threads, the numbers of processes and threads decide.
    let known = |is_thread| slots.iter().filter(|slot| slot.options.is_on("thread") == Some(is_thread)).count();
    let unknown = slots.len() - known(false) - known(true);
    let unknown_are_threads = unknown > 0 && known(false) + unknown != processes.len();
    let mut tasks: Vec<Option<JobTask>> = vec![None; slots.len()];
    for (is_thread, made) in [(false, processes), (true, threads)] {
        let own: Vec<usize> = order
            .iter()
            .map(|(.., index)| *index)
            .filter(|index| slots[*index].options.is_on("thread").unwrap_or(unknown_are_threads) == is_thread)
            .collect();
        if own.len() != made.len() && !own.is_empty() {
            let kind = if is_thread { "threads that open files" } else { "processes" };
            return Err(format!("{} {kind} of fio were observed and {} expected", made.len(), own.len()));
        }
        for (index, task) in own.into_iter().zip(made) {
            tasks[index] = Some(task.clone());
        }
    }
    tasks.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| "a job has no task".to_owned())
}
