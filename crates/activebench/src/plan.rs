//! `activebench verify --plan`: what would be run, claimed, observed and checked.

use std::path::Path;

use activebench_detect::judge::verdicts::judge_plan;
use activebench_detect::registry::DETECTORS;
use activebench_detect::run::Run;
use activebench_detect::thresholds::Thresholds;
use activebench_host::{Process, Roots, Survey};
use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_model::coverage::Coverage;
use activebench_model::fact::Facts;
use activebench_model::finding::{Outcome, Severity};
use activebench_model::output::ToolFile;
use activebench_model::profile::Profiles;
use activebench_model::run::{ChildEnd, Choices, Clocks, FORMAT, FailOn, Manifest};
use activebench_report::plan::PlanReport;
use activebench_report::target_line;
use activebench_tools::Adapter;
use anyhow::{Context, anyhow};

use crate::arguments::Verify;
use crate::exit::{ExitCode, Failure, OrExit};
use crate::{judge, output, print, tool_files};

/// Shows the plan; returns the exit code.
pub(crate) fn main(
    arguments: &Verify,
    choices: Choices,
    command: CommandLine,
    thresholds: &Thresholds,
) -> Result<i32, Failure> {
    let known = judge::tool_of_words(&command);
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
        hooks: activebench_probe::hooks()
            .into_iter()
            .filter(|hook| hook.attached)
            .map(|hook| hook.tracepoint.to_owned())
            .collect(),
        target: target.as_ref().map(target_line),
        detectors: DETECTORS.iter().filter(|d| !d.is_of_the_plan()).map(|d| d.code.to_owned()).collect(),
        profile: manifest.choices.profile.clone(),
        ..PlanReport::default()
    };
    show(arguments, &report)?;
    Ok(match (worst, manifest.choices.fail_on) {
        (Some(Severity::Fail), FailOn::Fail | FailOn::Warn) | (Some(Severity::Warn), FailOn::Warn) => 1,
        _ => 0,
    })
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
        choices,
        child: ChildEnd::default(),
        clocks: Clocks::default(),
        host: activebench_host::read_host(roots, Process::Own, &[]),
        ceilings: None,
        coverage: Coverage { backend: "none".to_owned(), ..Coverage::default() },
        incomplete: Vec::new(),
        preparation: None,
        redacted: None,
        sha256: Default::default(),
    }
}

fn show(arguments: &Verify, report: &PlanReport) -> Result<(), Failure> {
    let mut shown = false;
    for request in &arguments.output.formats {
        let (text, style) = match request.format.as_str() {
            "json" => (report.json().context("cannot serialise the plan").or_exit(ExitCode::Bug)?, None),
            "text" => (
                String::new(),
                Some(if request.file.is_some() { Default::default() } else { output::terminal_style() }),
            ),
            other => {
                return Err(Failure::new(
                    ExitCode::Usage,
                    anyhow!("there is no plan as {other} (hint: `--format text` or `--format json`)"),
                ));
            }
        };
        let text = style.map_or(text, |style| report.text(style));
        match &request.file {
            None => {
                shown = true;
                print(&text)?;
            }
            Some(path) => std::fs::write(path, text)
                .with_context(|| format!("cannot write the plan to {}", path.display()))
                .or_exit(ExitCode::Usage)?,
        }
    }
    if !shown && arguments.output.formats.is_empty() {
        print(&report.text(output::terminal_style()))?;
    }
    Ok(())
}
