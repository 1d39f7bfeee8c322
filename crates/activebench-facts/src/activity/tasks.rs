//! Converts task events to tasks and executions, and finds the start of the tool.

use activebench_model::activity::{Exec, Task};
use activebench_model::event::{TaskEvent, TaskEventKind};
use foldhash::HashMap;

use activebench_model::source::{EventSource, Unreadable};

/// Returns the tasks in order of birth, and the executions.
pub(super) fn fold(source: &dyn EventSource) -> Result<(Vec<Task>, Vec<Exec>), Unreadable> {
    let mut events = Vec::new();
    for batch in source.tasks() {
        events.extend(batch?);
    }
    Ok(of_events(events))
}

/// Returns the same from all events of a run.
pub(super) fn of_events(mut events: Vec<TaskEvent>) -> (Vec<Task>, Vec<Exec>) {
    events.sort_by_key(|event| event.at_ns);

    let mut tasks: Vec<Task> = Vec::new();
    let mut execs = Vec::new();
    // A thread id can be reused after its thread ended.
    let mut living: HashMap<u32, usize> = HashMap::default();
    for event in events {
        let known = if event.kind == TaskEventKind::Born { None } else { living.get(&event.tid).copied() };
        let index = known.unwrap_or_else(|| {
            tasks.push(begin(&event));
            living.insert(event.tid, tasks.len() - 1);
            tasks.len() - 1
        });
        let task = &mut tasks[index];
        if !event.comm.is_empty() {
            task.comm.clone_from(&event.comm);
        }
        match event.kind {
            TaskEventKind::Born => {}
            TaskEventKind::Executed => {
                let arguments = Vec::new();
                execs.push(Exec { at_ns: event.at_ns, tgid: event.tgid, filename: event.filename, arguments });
            }
            TaskEventKind::Exited => {
                task.end_ns = Some(event.at_ns);
                task.exit_status = Some(event.exit_status);
                task.user_ns = event.user_ns;
                task.kernel_ns = event.kernel_ns;
                task.blocked_ns = event.blocked_ns;
                task.iowait_ns = event.iowait_ns;
                task.preempted_ns = event.preempted_ns;
                living.remove(&event.tid);
            }
        }
    }
    tasks.shrink_to_fit();
    (tasks, execs)
}

/// Creates a task from its first event; that is its birth unless the birth was lost.
fn begin(event: &TaskEvent) -> Task {
    Task {
        tid: event.tid,
        tgid: event.tgid,
        parent_tgid: event.parent_tgid,
        comm: event.comm.clone(),
        start_ns: event.at_ns,
        end_ns: None,
        exit_status: None,
        user_ns: 0,
        kernel_ns: 0,
        blocked_ns: 0,
        iowait_ns: 0,
        preempted_ns: 0,
    }
}

/// activebench's own program in the child, before it executes the tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stub(Option<(u32, u64)>);

impl Stub {
    /// Finds the stub: the first task is the seeded one; its first execution is that of the tool. Without an execution
    /// the stub and the tool cannot be distinguished, and all calls are kept.
    pub(crate) fn new(tasks: &[Task], execs: &[Exec]) -> Self {
        let root = tasks.first().map(|task| task.tgid);
        let tool = execs.iter().find(|exec| Some(exec.tgid) == root);
        Self(tool.map(|exec| (exec.tgid, exec.at_ns)))
    }

    /// Returns `true` when the stub made the call that began at this time.
    pub(crate) fn made(&self, tgid: u32, start_ns: u64) -> bool {
        self.0.is_some_and(|(root, executed_ns)| tgid == root && start_ns < executed_ns)
    }
}
