//! The measurements of a command that starts known tools: found once, when the run is recorded, each with its own
//! processes and with what these printed, wherever it went.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use activebench_model::activity::{Exec, Task};
use activebench_model::command::CommandLine;
use activebench_model::measurement::Measurement;
use activebench_model::output::ToolOutput;
use activebench_probe::{Folders, Printed, Stream};
use activebench_tools::execution::{self, Executed, Invocation, Shown};
use activebench_tools::{adapter_by_name, adapter_for_program};

/// Maximum number of measurements that are judged each on its own.
const MOST: usize = 1000;

/// Finds the measurements of a command, each with what it printed. None where the command is a tool itself (a script of
/// its name that executes it is none), and where it started more than [`MOST`]. `shown` is what the command printed.
pub(crate) fn of_run(
    command: &CommandLine,
    tasks: &[Task],
    execs: &[Exec],
    links: &BTreeMap<String, String>,
    printed: &Printed,
    folders: &Folders,
    shown: &ToolOutput,
) -> Vec<(Measurement, ToolOutput)> {
    if execution::is_the_tool(command, execs, links) {
        return Vec::new();
    }
    let tree = Tree::of(tasks, execs);
    let mut found: Vec<Measurement> = execution::measuring(command, execs, links)
        .into_iter()
        .map(|(exec, (adapter, mut own))| {
            // A script may have changed it.
            if let Some(folder) = folders.of(exec.tgid, exec.at_ns) {
                folder.clone_into(&mut own.cwd);
            }
            tree.measurement(exec, adapter.name(), own)
        })
        .collect();
    found.sort_by_key(|measurement| (measurement.started_ns, measurement.tgid));
    // A script of the tool's name that executes the tool is not a measurement, and a tool that another one starts is one
    // of its own.
    let outer = |one: &Measurement, inner: &Measurement| {
        one.started_ns < inner.started_ns && one.includes(inner.tgid, inner.started_ns)
    };
    let starts_itself = |one: &Measurement| found.iter().any(|other| outer(one, other) && one.tool == other.tool);
    let mut kept: Vec<Measurement> = found.iter().filter(|one| !starts_itself(one)).cloned().collect();
    if kept.len() > MOST {
        return Vec::new();
    }
    for place in 0..kept.len() {
        let inner: BTreeSet<u32> =
            kept.iter().filter(|other| outer(&kept[place], other)).flat_map(|other| other.tgids.clone()).collect();
        kept[place].tgids.retain(|tgid| !inner.contains(tgid));
    }
    let with_output = |mut measurement: Measurement| {
        let until_ns = measurement.ended_ns.unwrap_or(u64::MAX);
        let stream = |fd| {
            printed.stream(fd, measurement.started_ns, until_ns, |tgid| measurement.tgids.binary_search(&tgid).is_ok())
        };
        // Nothing that a tool wrote to its files is kept.
        let is_data = adapter_by_name(&measurement.tool).is_some_and(|adapter| adapter.writes_data_to_stdout());
        let (stdout, stderr) = (if is_data { Stream::default() } else { stream(1) }, stream(2));
        measurement.missing_output_bytes = stdout.missing_bytes + stderr.missing_bytes;
        (measurement, ToolOutput { stdout: stdout.text, stderr: stderr.text, files: Vec::new() })
    };
    let all: Vec<(Measurement, ToolOutput)> = kept.into_iter().map(with_output).collect();
    let has_benchmark = all.iter().any(|(measurement, _)| !is_everyday(&measurement.tool));
    let shown = Shown::new(shown, all.iter().map(|(_, output)| output));
    let is_measured = |(measurement, output): &(Measurement, ToolOutput)| {
        let Some(adapter) = adapter_by_name(&measurement.tool) else { return true };
        // Who names the tool means its figures.
        if adapter_for_program(command.program()).is_some_and(|named| named.name() == adapter.name()) {
            return true;
        }
        if has_benchmark {
            return execution::is_quoted(adapter, &measurement.command, output, &shown);
        }
        // Where a part of what it printed is not known, its figure may be in that part.
        measurement.missing_output_bytes > 0 || execution::is_shown(adapter, &measurement.command, output, &shown)
    };
    let mut kept: Vec<bool> = all.iter().map(is_measured).collect();
    if !has_benchmark {
        keep_summarised(&all, &shown, &mut kept);
    }
    drop(shown);
    let mut measured: Vec<(Measurement, ToolOutput)> =
        all.into_iter().zip(kept).filter_map(|(one, is_kept)| is_kept.then_some(one)).collect();
    measured.iter_mut().zip(1..).for_each(|((measurement, _), number)| measurement.number = number);
    measured
}

/// Keeps all executions that do the same work and of which the script shows a summary: a mean is not that of the one whose
/// figure is shown.
fn keep_summarised(all: &[(Measurement, ToolOutput)], shown: &Shown<'_>, kept: &mut [bool]) {
    let mut by_work: BTreeMap<(&str, Vec<&str>), Vec<usize>> = BTreeMap::new();
    for (place, (measurement, _)) in all.iter().enumerate() {
        let Some(adapter) = adapter_by_name(&measurement.tool) else { continue };
        let work = execution::work_of(adapter, &measurement.command);
        by_work.entry((&measurement.tool, work)).or_default().push(place);
    }
    for ((tool, _), places) in by_work {
        let Some(adapter) = adapter_by_name(tool) else { continue };
        let printed: Vec<&ToolOutput> = places.iter().map(|place| &all[*place].1).collect();
        if execution::is_summarised(adapter, &all[places[0]].0.command, &printed, shown) {
            places.into_iter().for_each(|place| kept[place] = true);
        }
    }
}

fn is_everyday(tool: &str) -> bool {
    adapter_by_name(tool).is_some_and(|adapter| adapter.is_everyday())
}

/// Returns the tools that a command executed, without everyday programs that measured nothing. `measured` are its
/// measurements.
pub(crate) fn without_helpers(
    command: &CommandLine,
    executed: Executed,
    measured: &[(Measurement, ToolOutput)],
) -> Executed {
    let is_itself = adapter_for_program(command.program()).is_some();
    if is_itself || !executed.measuring.iter().any(|name| is_everyday(name)) {
        return executed;
    }
    let measurements = || measured.iter().map(|(measurement, _)| measurement);
    let tools = measurements().filter_map(|one| Some((adapter_by_name(&one.tool)?, one.command.clone())));
    let tools: Vec<Invocation> = tools.collect();
    Executed { measuring: tools.iter().map(|(adapter, _)| adapter.name()).collect(), tool: tools.into_iter().next() }
}

/// The processes of a run.
struct Tree<'a> {
    children: HashMap<u32, Vec<&'a Task>>,
    by_tgid: HashMap<u32, Vec<&'a Task>>,
    execs: &'a [Exec],
}

impl<'a> Tree<'a> {
    fn of(tasks: &'a [Task], execs: &'a [Exec]) -> Self {
        let mut tree = Self { children: HashMap::new(), by_tgid: HashMap::new(), execs };
        for task in tasks {
            if task.parent_tgid != task.tgid {
                tree.children.entry(task.parent_tgid).or_default().push(task);
            }
            tree.by_tgid.entry(task.tgid).or_default().push(task);
        }
        tree
    }

    /// Returns the measurement of an execution, with the processes below its own.
    fn measurement(&self, exec: &Exec, tool: &str, command: CommandLine) -> Measurement {
        let mut tgids = BTreeSet::from([exec.tgid]);
        let mut waiting = vec![exec.tgid];
        while let Some(parent) = waiting.pop() {
            for child in self.children.get(&parent).into_iter().flatten() {
                if child.start_ns >= exec.at_ns && tgids.insert(child.tgid) {
                    waiting.push(child.tgid);
                }
            }
        }
        // The process may execute something else afterwards: `#! /usr/bin/env python3` executes an interpreter with the
        // script, which is still the same.
        let is_script = execution::is_script(exec);
        let goes_on = |other: &Exec| is_script && other.arguments.contains(&exec.filename);
        let after = |other: &&Exec| other.tgid == exec.tgid && other.at_ns > exec.at_ns;
        let next = self.execs.iter().filter(after).filter(|other| !goes_on(other));
        let replaced_ns = next.map(|other| other.at_ns).min();
        let threads = || tgids.iter().filter_map(|tgid| self.by_tgid.get(tgid)).flatten();
        let ended_ns = threads().map(|task| task.end_ns).try_fold(0, |last, end| Some(last.max(end?)));
        let main = self.by_tgid.get(&exec.tgid).into_iter().flatten().find(|task| task.tid == task.tgid);
        Measurement {
            number: 0,
            tool: tool.to_owned(),
            command,
            tgid: exec.tgid,
            started_ns: exec.at_ns,
            ended_ns: match (replaced_ns, ended_ns) {
                (Some(replaced), Some(ended)) => Some(replaced.min(ended)),
                (replaced, ended) => replaced.or(ended),
            },
            exit_status: main.and_then(|task| task.exit_status),
            tgids: tgids.into_iter().collect(),
            missing_output_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(tgid: u32, parent_tgid: u32, start_ns: u64, end_ns: Option<u64>) -> Task {
        Task {
            tid: tgid,
            tgid,
            parent_tgid,
            comm: String::new(),
            start_ns,
            end_ns,
            exit_status: end_ns.map(|_| 0),
            user_ns: 0,
            kernel_ns: 0,
            blocked_ns: 0,
            iowait_ns: 0,
            preempted_ns: 0,
        }
    }

    fn exec(at_ns: u64, tgid: u32, line: &str) -> Exec {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Exec { at_ns, tgid, filename: arguments[0].clone(), arguments }
    }

    /// Number, tool, processes and span of a measurement.
    type Found = (u32, String, Vec<u32>, u64, Option<u64>);

    fn found(tasks: &[Task], execs: &[Exec]) -> Vec<Found> {
        let command = CommandLine { argv: vec!["./run.sh".to_owned()], cwd: "/".to_owned() };
        let all = of_run(
            &command,
            tasks,
            execs,
            &BTreeMap::new(),
            &Printed::default(),
            &Folders::default(),
            &ToolOutput::default(),
        );
        let row = |(one, _): (Measurement, ToolOutput)| (one.number, one.tool, one.tgids, one.started_ns, one.ended_ns);
        all.into_iter().map(row).collect()
    }

    #[test]
    fn each_execution_of_a_tool_is_a_measurement_with_the_processes_below_it() {
        let tasks = [
            task(1, 0, 0, Some(100)),
            task(2, 1, 10, Some(40)),
            task(3, 2, 20, Some(45)),
            task(4, 1, 50, None),
            task(5, 1, 12, Some(13)),
        ];
        let execs = [
            exec(0, 1, "./run.sh"),
            exec(11, 2, "/usr/bin/fio --name=a --size=1m"),
            exec(12, 5, "/usr/bin/fio --version"),
            exec(51, 4, "iozone -i0 -s1m"),
        ];
        assert_eq!(
            found(&tasks, &execs),
            [(1, "fio".to_owned(), vec![2, 3], 11, Some(45)), (2, "iozone".to_owned(), vec![4], 51, None)]
        );
    }

    #[test]
    fn a_script_with_the_tools_name_is_not_counted_beside_the_tool() {
        let tasks = [task(1, 0, 0, Some(100)), task(2, 1, 10, Some(40)), task(3, 2, 12, Some(30))];
        let execs =
            [exec(11, 2, "/opt/wrapped/fio --name=a --size=1m"), exec(13, 3, "/usr/bin/fio --name=a --size=1m")];
        assert_eq!(found(&tasks, &execs), [(1, "fio".to_owned(), vec![3], 13, Some(30))]);
        // One that replaces itself is the same process.
        let execs =
            [exec(11, 2, "/opt/wrapped/fio --name=a --size=1m"), exec(13, 2, "/usr/bin/fio --name=a --size=1m")];
        assert_eq!(found(&tasks, &execs).len(), 1);
    }

    #[test]
    fn a_script_whose_interpreter_is_looked_for_is_still_the_script() {
        let tasks = [task(1, 0, 0, Some(100)), task(2, 1, 10, Some(60)), task(3, 2, 20, Some(50))];
        let interpreted =
            |at_ns, filename: &str, line: &str| Exec { filename: filename.to_owned(), ..exec(at_ns, 2, line) };
        let execs = [
            interpreted(11, "/opt/fio", "/usr/bin/env python3 /opt/fio --name=a --size=1m"),
            interpreted(12, "/usr/bin/python3", "python3 /opt/fio --name=a --size=1m"),
            exec(21, 3, "/usr/bin/fio --name=a --size=1m"),
        ];
        assert_eq!(found(&tasks, &execs), [(1, "fio".to_owned(), vec![3], 21, Some(50))]);
    }

    #[test]
    fn a_dd_that_helps_is_not_a_measurement() {
        let tasks = [task(1, 0, 0, Some(100)), task(2, 1, 10, Some(40)), task(3, 1, 50, Some(90))];
        let prepared = exec(11, 2, "/bin/dd if=/dev/zero of=x bs=1M count=64");
        let execs = [prepared.clone(), exec(51, 3, "/usr/bin/fio --name=a --size=1m")];
        assert_eq!(found(&tasks, &execs), [(1, "fio".to_owned(), vec![3], 51, Some(90))]);
        // Nobody saw its figure, and no other tool measured.
        assert_eq!(found(&tasks, std::slice::from_ref(&prepared)), []);
        let command = CommandLine { argv: vec!["./run.sh".to_owned()], cwd: "/".to_owned() };
        let executed = execution::executed(&command, &[prepared], &BTreeMap::new(), &ToolOutput::default());
        assert!(executed.tool.is_some());
        let executed = without_helpers(&command, executed, &[]);
        assert!(executed.tool.is_none() && executed.measuring.is_empty());
    }

    /// Its output may not be the tool's.
    #[test]
    fn a_command_of_a_tool_s_name_that_executes_the_tool_is_a_script() {
        let argv = ["/opt/dd", "if=x", "of=y"].map(str::to_owned).to_vec();
        let command = CommandLine { argv, cwd: "/".to_owned() };
        let script = Exec {
            arguments: ["/bin/sh", "/opt/dd", "if=x", "of=y"].map(str::to_owned).to_vec(),
            ..exec(1, 1, "/opt/dd")
        };
        let execs = [script, exec(12, 2, "/usr/bin/dd if=x of=y")];
        let tasks = [task(1, 0, 0, Some(99)), task(2, 1, 10, Some(40))];
        let shown = ToolOutput::default();
        let measured =
            of_run(&command, &tasks, &execs, &BTreeMap::new(), &Printed::default(), &Folders::default(), &shown);
        assert_eq!(measured.iter().map(|(one, _)| (one.tgid, one.number)).collect::<Vec<_>>(), [(2, 1)]);
    }

    #[test]
    fn a_command_that_is_a_tool_has_no_measurements_below_it() {
        let command = CommandLine { argv: vec!["fio".to_owned(), "a.fio".to_owned()], cwd: "/".to_owned() };
        let execs = [exec(1, 1, "fio a.fio")];
        let tasks = [task(1, 0, 0, Some(9))];
        let shown = ToolOutput::default();
        assert!(
            of_run(&command, &tasks, &execs, &BTreeMap::new(), &Printed::default(), &Folders::default(), &shown)
                .is_empty()
        );
    }
}
