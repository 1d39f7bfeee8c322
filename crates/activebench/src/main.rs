//! The `activebench` command: arguments, wiring, exit codes.
//!
//! All knowledge and computation is in the crates below; this crate connects them.

mod accept;
mod arguments;
mod benchmarks;
mod bundle;
mod ceiling;
mod compare;
mod corrected;
mod destroy;
mod doctor;
mod exit;
mod floor;
mod formats;
mod history;
mod judge;
mod memory;
mod named;
mod output;
mod plan;
mod prepare;
mod progress;
mod recorded;
mod replicate;
mod room;
mod series;
mod show;
mod stop;
mod thresholds;
mod tool_files;
mod verify;
mod workload;

use std::io::{Read, Write};
use std::path::Path;

use activebench_detect::detector::Detector;
use activebench_detect::thresholds::Thresholds;
use activebench_detect::{manual, registry};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::report::JudgedRun;
use activebench_model::run::Choices;
use activebench_record::RunReader;
use activebench_runner::stub;
use anyhow::{Context, anyhow};
use clap::Parser;

use crate::arguments::{Cli, Command, Detectors, Parse, Recheck, Render};
use crate::exit::{ExitCode, Failure, OrExit};

fn main() {
    // The stub is checked before anything is parsed: a tool's own arguments follow it.
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == stub::SUBCOMMAND) {
        std::process::exit(stub::main(&words[1..]).into());
    }
    memory::give_back();
    let code = match dispatch(&Cli::parse().command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("activebench: {}", failure.shown());
            failure.code as i32
        }
    };
    std::process::exit(code);
}

fn dispatch(command: &Command) -> Result<i32, Failure> {
    match command {
        Command::Verify(arguments) => return verify::main(arguments),
        Command::Recheck(arguments) => return recheck(arguments),
        Command::Report(arguments) => report(arguments)?,
        Command::Compare(arguments) => compare::main(arguments)?,
        Command::Accept(arguments) => return accept::main(arguments),
        Command::Ceiling(arguments) => return ceiling::main(arguments),
        Command::History(arguments) => return history::main(arguments),
        Command::Replicate(arguments) => return replicate::main(arguments),
        Command::Show(arguments) => show::main(arguments)?,
        Command::Bundle(arguments) => bundle::main(arguments)?,
        Command::VerifyBundle(arguments) => return bundle::verify(arguments),
        Command::Parse(arguments) => parse(arguments)?,
        Command::Detectors(arguments) => list_detectors(arguments)?,
        Command::Explain { detector } => explain(detector)?,
        Command::Doctor(arguments) => return doctor::main(arguments),
        Command::Recorded(recorded) => recorded.write().or_exit(ExitCode::Usage)?,
        Command::Workload { workload } => {
            workload.run().context("the workload failed").or_exit(ExitCode::BenchmarkFailed)?;
        }
        Command::Floor { exit_only, command } => return floor::main(*exit_only, command),
        Command::Tracers => tracers()?,
        Command::DetectorPages { folder } => detector_pages(folder).or_exit(ExitCode::Usage)?,
    }
    Ok(0)
}

fn recheck(arguments: &Recheck) -> Result<i32, Failure> {
    let file = match &arguments.thresholds {
        Some(path) => Some(thresholds::read(path).or_exit(ExitCode::Usage)?),
        None => None,
    };
    let choose = |choices: &mut Choices| {
        if file.is_some() {
            choices.thresholds.clone_from(&file);
        }
        if let Some(profile) = &arguments.profile {
            choices.profile.clone_from(profile);
        }
        choices.fail_on = arguments.output.fail_on.into();
    };
    let located = bundle::located(&arguments.run)?;
    // A judgement by other rules than the run's own is not stored with the run.
    let as_recorded = arguments.thresholds.is_none() && arguments.profile.is_none();
    let mut renew = |_: &str, reader: &RunReader, judged: &JudgedRun| {
        if as_recorded {
            output::renew_figures(reader, judged);
        }
        Ok(())
    };
    // The preconditioning is evidence, and not one of the runs that a history follows.
    let mut preconditioning = |_: &str, _: &RunReader, _: &JudgedRun| Ok(());
    let prepared: Option<series::Each<'_>> = Some(&mut preconditioning);
    if let Some(judged) = series::judged_each(&located.directory, &arguments.run, choose, &mut renew, prepared)? {
        series::render(&judged, &arguments.output)?;
        return Ok(judged.exit_code);
    }
    let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
    let mut manifest = reader.manifest().clone();
    choose(&mut manifest.choices);
    let judged = judge::judge(&arguments.run, &reader, manifest).or_exit(ExitCode::Usage)?;
    output::render(&judged, &reader, &arguments.output)?;
    if as_recorded {
        output::renew_figures(&reader, &judged);
    }
    Ok(judged.exit_code)
}

fn report(arguments: &Render) -> Result<(), Failure> {
    let located = bundle::located(&arguments.run)?;
    if let Some(judged) = series::stored(&located.directory, &arguments.run, |_| {})? {
        return series::render(&judged, &arguments.output);
    }
    let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
    let judged = judge::judge(&arguments.run, &reader, reader.manifest().clone()).or_exit(ExitCode::Usage)?;
    output::render(&judged, &reader, &arguments.output)
}

fn parse(arguments: &Parse) -> Result<(), Failure> {
    let Some(adapter) = activebench_tools::adapter_by_name(&arguments.tool) else {
        let known: Vec<_> = activebench_tools::ADAPTERS.iter().map(|adapter| adapter.name()).collect();
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!("no adapter for {} (hint: one of {})", arguments.tool, known.join(", ")),
        ));
    };
    let mut stdout = Vec::new();
    match arguments.file.as_deref().filter(|file| *file != Path::new("-")) {
        Some(file) => {
            stdout = std::fs::read(file)
                .with_context(|| format!("cannot read {}", file.display()))
                .or_exit(ExitCode::Usage)?;
        }
        None => {
            std::io::stdin().read_to_end(&mut stdout).context("cannot read standard input").or_exit(ExitCode::Usage)?;
        }
    }
    let mut argv = vec![adapter.name().to_owned()];
    argv.extend(arguments.command.iter().skip_while(|word| adapter.is_program(word)).cloned());
    let command = CommandLine { argv, cwd: String::new() };
    let parsed = adapter.parse(&command, &ToolOutput { stdout, ..ToolOutput::default() }, None);
    let json = serde_json::to_string_pretty(&parsed).context("cannot serialise the claims").or_exit(ExitCode::Bug)?;
    print(&format!("{json}\n"))
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The consumer closed standard output: a report is in the run directory.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output").or_exit(ExitCode::Usage),
    }
}

fn list_detectors(arguments: &Detectors) -> Result<(), Failure> {
    if let Some(profile) = &arguments.profile {
        return print(&thresholds::listed(&Thresholds::profile(profile).or_exit(ExitCode::Usage)?));
    }
    let width = registry::DETECTORS.iter().map(|detector| detector.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for detector in registry::DETECTORS {
        text.push_str(&format!("{}  {:width$}  {}\n", detector.code, detector.name, summary(detector)));
    }
    print(&text)
}

fn explain(wanted: &str) -> Result<(), Failure> {
    match registry::find(wanted) {
        Some(detector) => print(&manual::manual_page(detector)),
        None => Err(Failure::new(
            ExitCode::Usage,
            anyhow!("no detector {wanted} (hint: `activebench detectors` lists them)"),
        )),
    }
}

fn tracers() -> Result<(), Failure> {
    let names = activebench_probe::tracing_programs().or_exit(ExitCode::CannotObserve)?;
    print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())
}

/// Writes one page per detector and their index, for `cargo xtask docs`.
fn detector_pages(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut index = String::from(
        "# Detectors\n\nGenerated from the detectors' doc comments by `cargo xtask docs`.\n\n| code | name | what it finds |\n| --- | --- | --- |\n",
    );
    for detector in registry::DETECTORS {
        let file = page_name(detector);
        index.push_str(&format!("| [{}]({file}) | `{}` | {} |\n", detector.code, detector.name, summary(detector)));
        let path = folder.join(&file);
        std::fs::write(&path, manual::manual_page(detector))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    std::fs::write(folder.join("README.md"), index).context("cannot write the index")
}

/// Returns the summary of a detector: the first paragraph of its page.
fn summary(detector: &Detector) -> String {
    manual::introduction(detector).finds
}

fn page_name(detector: &Detector) -> String {
    format!("{}-{}.md", detector.code, detector.name)
}
