//! The plan of a command: what would be run, claimed, observed and checked.

use std::path::Path;

use activebench_detect::advice::corrected_command::Planned;
use activebench_detect::judge::target_figure::Goal;
use activebench_detect::judge::verdicts::judge_plan;
use activebench_detect::registry::DETECTORS;
use activebench_detect::run::{Run, RunIndex};
use activebench_detect::thresholds::Thresholds;
use activebench_host::{Process, Roots, Survey};
use activebench_model::claim::{Metric, Parsed};
use activebench_model::command::CommandLine;
use activebench_model::coverage::Coverage;
use activebench_model::fact::Facts;
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::output::ToolFile;
use activebench_model::report::JudgedRun;
use activebench_model::run::{ChildEnd, Choices, Clocks, FORMAT, FailOn, Manifest};
use activebench_model::thread_stacks::Profiles;
use activebench_report::plan::PlanReport;
use activebench_report::target_line;
use activebench_tools::{Adapter, adapter_by_name, execution};

use crate::{thresholds, tool_files};

/// Returns the plan of a command, and the exit code that it gives. `settings` says where defaults of the options come
/// from.
pub fn plan(choices: Choices, command: CommandLine, thresholds: &Thresholds, settings: String) -> (PlanReport, i32) {
    let known = execution::named_tool(&command);
    let (tool, plan) = match &known {
        Some((adapter, own)) => (Some(adapter.name()), adapter.plan(own, &input_files(*adapter, own).0)),
        None => (None, Default::default()),
    };
    // Behind a wrapper nothing is added: the tool's words may not be the last ones.
    let direct = activebench_tools::adapter_for_program(command.program());
    let added_arguments = direct.map(|adapter| adapter.added_arguments(&command)).unwrap_or_default();

    let roots = Roots::default();
    let mut survey = Survey::of(&roots, Process::Own);
    let target = survey.target_of_path(Path::new(&command.cwd));
    let tool_command = known.map(|(_, own)| own);
    let manifest = Manifest { tool_command, ..manifest(choices, command, &roots) };
    let parsed = Parsed { tool: tool.unwrap_or_default().to_owned(), ..Parsed::default() };
    let facts = Facts::default();
    let profiles = Profiles::default();
    let findings = judge_plan(&Run {
        manifest: &manifest,
        parsed: &parsed,
        phases: &plan.phases,
        facts: &facts,
        profiles: &profiles,
        thresholds,
        advisor: activebench_tools::advisor_of(&parsed.tool),
        index: &RunIndex::default(),
        part: None,
    });
    let worst = findings.iter().filter(|finding| finding.outcome == Outcome::Fires).filter_map(|f| f.severity).max();
    let report = PlanReport {
        command: manifest.command.argv.clone(),
        added_arguments,
        cwd: manifest.command.cwd.clone(),
        tool: tool.map(str::to_owned),
        phases: plan.phases,
        notes: plan.notes,
        findings,
        hooks: activebench_probe::tracepoints()
            .into_iter()
            .filter_map(|tracepoint| tracepoint.hook)
            .map(|hook| hook.place().to_owned())
            .collect(),
        target: target.as_ref().map(target_line),
        detectors: DETECTORS.iter().filter(|d| !d.is_of_the_plan()).map(|d| d.code.to_owned()).collect(),
        profile: manifest.choices.profile.clone(),
        settings,
    };
    let exit_code = match (worst, manifest.choices.fail_on) {
        (Some(Severity::Fail), FailOn::Fail | FailOn::Warn) | (Some(Severity::Warn), FailOn::Warn) => 1,
        _ => 0,
    };
    (report, exit_code)
}

/// Returns what a command of the tool of a run asks for, and the detectors that warn of it. A pure function: `files` are
/// those that the run keeps, and no other file is read.
pub(crate) fn planned(tool: &str, own: &[String], files: &[ToolFile], run: &JudgedRun) -> Planned {
    let Some(adapter) = adapter_by_name(tool) else {
        return Planned { phases: Vec::new(), warned: Vec::new() };
    };
    let command = CommandLine { argv: own.to_vec(), cwd: run.manifest.command.cwd.clone() };
    let plan = adapter.plan(&command, files);
    let Ok(thresholds) = thresholds::of(&run.manifest.choices) else {
        return Planned { phases: plan.phases, warned: Vec::new() };
    };
    let manifest = Manifest { tool_command: Some(command.clone()), command, ..run.manifest.clone() };
    let findings = judge_plan(&Run {
        manifest: &manifest,
        parsed: &Parsed { tool: tool.to_owned(), ..Parsed::default() },
        phases: &plan.phases,
        facts: &Facts::default(),
        profiles: &Profiles::default(),
        thresholds: &thresholds,
        advisor: adapter,
        index: &RunIndex::default(),
        part: None,
    });
    let warns = |finding: &Finding| finding.outcome == Outcome::Fires && finding.severity > Some(Severity::Note);
    let warned = findings.into_iter().filter(warns).map(|finding| finding.code).collect();
    Planned { phases: plan.phases, warned }
}

/// Refuses, before anything runs, a target that no figure of the command can be.
///
/// # Errors
/// If the target names a phase that the command does not have, or a kind of figure that it never prints.
pub fn target_is_possible(target: &str, command: &CommandLine) -> Result<(), String> {
    let goal = Goal::parse(target)?;
    let Some((adapter, own)) = execution::named_tool(command) else { return Ok(()) };
    let (files, unread) = input_files(adapter, &own);
    // With a file that cannot be read, any pass may be asked for.
    let phases = if unread.is_empty() { adapter.plan(&own, &files).phases } else { Vec::new() };
    let stated = printed_metrics(adapter, &own);
    goal.impossible(&phases, adapter.name(), &stated).map_or(Ok(()), Err)
}

/// Refuses statements on the numbers of an output that an adapter reads.
///
/// # Errors
/// If an adapter knows the tool of the command.
pub fn output_has_no_reader(command: &CommandLine) -> Result<(), String> {
    match execution::named_tool(command) {
        None => Ok(()),
        Some((adapter, _)) => {
            let tool = adapter.name();
            Err(format!("activebench reads the output of {tool} itself (hint: leave `--claim` out)"))
        }
    }
}

/// Returns the kinds of numbers that a command can print: all of its tool's where a file that it reads is not known.
pub(crate) fn printed_metrics(adapter: &dyn Adapter, command: &CommandLine) -> Vec<Metric> {
    let (files, unread) = input_files(adapter, command);
    if unread.is_empty() { adapter.metrics_of(command, &files) } else { adapter.metrics().to_vec() }
}

/// Returns the files that the tool would read its work from, as far as the command line names them, and why others were
/// not read.
pub(crate) fn input_files(adapter: &dyn Adapter, command: &CommandLine) -> (Vec<ToolFile>, Vec<String>) {
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for name in adapter.input_files(command) {
        match tool_files::read(&Path::new(&command.cwd).join(&name)) {
            Ok(bytes) => files.push(ToolFile { name, bytes }),
            Err(error) => unread.push(format!("cannot read {name}: {error}")),
        }
    }
    (files, unread)
}

/// Returns the manifest of a run that has not begun.
fn manifest(choices: Choices, command: CommandLine, roots: &Roots) -> Manifest {
    Manifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        added_arguments: Vec::new(),
        tool_command: None,
        executed_tools: None,
        measurements: Vec::new(),
        choices,
        child: ChildEnd::default(),
        clocks: Clocks::default(),
        host: activebench_host::read_host(roots, Process::Own, &[]),
        ceilings: None,
        coverage: Coverage::default(),
        incomplete: Vec::new(),
        preparation: None,
        watch: None,
        redacted: None,
        sha256: Default::default(),
    }
}
