//! `activebench verify`: plan, run, record, judge, report.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use activebench_detect::series::stopping::least_runs;
use activebench_detect::thresholds::Thresholds;
use activebench_host::{Process, Roots, StorageRef, Survey};
use activebench_model::call::{DeviceNumber, FileKind, Op};
use activebench_model::command::CommandLine;
use activebench_model::coverage::{Coverage, OtherTracer};
use activebench_model::log::Totals;
use activebench_model::preparation::Preparation;
use activebench_model::report::JudgedRun;
use activebench_model::run::{Choices, FORMAT, Manifest};
use activebench_model::series::Until;
use activebench_probe::{DamagedChunk, LogOptions, NeighbourError, Observation, ProbeOptions, Spool};
use activebench_record::{KEPT_PAYLOAD, RunReader, RunWriter, STACKS, TOTALS};
use activebench_runner::{Outcome, RunError, RunOptions, stub};
use anyhow::{Context, anyhow};
use time::OffsetDateTime;
use time::macros::format_description;

use crate::arguments::{LatencyArgument, Verify};
use crate::benchmarks;
use crate::exit::{ExitCode, Failure, INTERRUPTED, OrExit};
use crate::judge;
use crate::output;
use crate::progress::{ChildOutput, Terminal};
use crate::series::Recording;
use crate::{ceiling, corrected, destroy, plan, series, thresholds, tool_files};

/// File systems that hold no data: the kernel generates their files as they are read.
const PSEUDO_FILE_SYSTEMS: &[&str] =
    &["proc", "sysfs", "cgroup", "cgroup2", "devpts", "debugfs", "tracefs", "securityfs", "configfs"];

/// Share of the memory, one in this number, that the log may take if it cannot be spooled. The page cache lacks that
/// memory, and cached runs are measured too.
const MEMORY_SHARE: u64 = 8;
/// Bytes that the log may take if the size of the memory is not known.
const LEAST_MEMORY: u64 = 256 << 20;

/// Runs the whole command; returns the exit code.
pub(crate) fn main(arguments: &Verify) -> Result<i32, Failure> {
    // Before anything runs: a typing error should not cost a run.
    let choices = arguments.choices().or_exit(ExitCode::Usage)?;
    let thresholds = thresholds::of(&choices).or_exit(ExitCode::Usage)?;
    let cwd = std::env::current_dir().context("cannot tell the working directory").or_exit(ExitCode::Usage)?;
    let command = CommandLine {
        argv: arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        cwd: cwd.display().to_string(),
    };
    if arguments.plan {
        return plan::main(arguments, choices, command, &thresholds);
    }
    let prepares = arguments.destroy.is_some() && thresholds.requires_preconditioning;
    let repetition = repetition(arguments, prepares, &thresholds)?;
    find_program(&arguments.command[0])?;
    if let Some(file) = &arguments.ceiling {
        // Before anything runs, like the choices.
        ceiling::store::read(file).or_exit(ExitCode::Usage)?;
    }
    let device = arguments.destroy.as_deref().map(destroy::blank).transpose()?;
    if let Some(device) = &device {
        destroy::is_repeated(device, &command)?;
        if !prepares && !arguments.output.quiet {
            eprintln!(
                "activebench: nothing is purged or preconditioned: the profile {} asks for neither (hint: `--profile \
                 pts` does)",
                choices.profile
            );
        }
    }
    destroy::guard_own(&command)?;
    let directory = arguments.out.clone().unwrap_or_else(|| default_directory(command.program()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")
        .or_exit(ExitCode::Bug)?;
    if arguments.and_corrected {
        return corrected::main(arguments, &choices, &command, &directory, &runtime);
    }
    let prepared = device.filter(|_| prepares);
    if let Some((planned, until)) = repetition {
        let recording = Recording { arguments, choices, command, directory: &directory, planned, until, prepared };
        return series::main(recording, &runtime);
    }
    let Recorded { judged, reader, interrupted } = record_run(arguments, &choices, &command, &directory, &runtime)?;
    output::render(&judged, &reader, &arguments.output)?;
    Ok(if interrupted { INTERRUPTED } else { judged.exit_code })
}

/// Maximum runs of `--until` for an interval.
const MOST_RUNS: u32 = 30;
/// Maximum rounds until steady state (SNIA PTS 2.0.2).
const MOST_ROUNDS: u32 = 25;

/// Returns how often the command is run, and what ends that earlier; `None` for a single run. A prepared device is
/// measured until it is steady, unless something else is asked for.
///
/// # Errors
/// Returns an error if the permitted runs cannot give what is asked for.
fn repetition(
    arguments: &Verify,
    prepared: bool,
    thresholds: &Thresholds,
) -> Result<Option<(u32, Option<Until>)>, Failure> {
    if let Some(runs) = arguments.repeat {
        return Ok(Some((runs, None)));
    }
    let Some(until) = arguments.until.or(prepared.then_some(Until::SteadyState)) else { return Ok(None) };
    let (most, told) = match until {
        Until::MedianWithin { .. } => (MOST_RUNS, "an interval of the median"),
        Until::SteadyState => (MOST_ROUNDS, "steady state"),
    };
    let most = arguments.max_runs.unwrap_or(most);
    let least = least_runs(until, thresholds);
    if most < least {
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!("{told} takes {least} runs, and at most {most} are allowed (hint: `--max-runs {least}` or more)"),
        ));
    }
    Ok(Some((most, Some(until))))
}

/// A run that was recorded and judged.
pub(crate) struct Recorded {
    pub(crate) judged: JudgedRun,
    /// The stored run that it was judged from.
    pub(crate) reader: RunReader,
    /// `true` if a signal ended it.
    pub(crate) interrupted: bool,
}

/// Runs the tool once under observation, writes its run directory and judges it.
pub(crate) fn record_run(
    arguments: &Verify,
    choices: &Choices,
    command: &CommandLine,
    directory: &Path,
    runtime: &tokio::runtime::Runtime,
) -> Result<Recorded, Failure> {
    record_prepared_run(arguments, choices, command, directory, None, runtime)
}

/// Like [`record_run`], on a device that was prepared for it.
pub(crate) fn record_prepared_run(
    arguments: &Verify,
    choices: &Choices,
    command: &CommandLine,
    directory: &Path,
    preparation: Option<&Preparation>,
    runtime: &tokio::runtime::Runtime,
) -> Result<Recorded, Failure> {
    let identity = identity(arguments)?.map(|(_, identity)| identity);
    let own_executable = std::env::current_exe().context("cannot find our own executable").or_exit(ExitCode::Bug)?;
    let mut writer = RunWriter::create(directory).or_exit(ExitCode::Usage)?;

    let child_output =
        if output::report_owns_stdout(&arguments.output) { ChildOutput::Stderr } else { ChildOutput::Stdout };
    let mut terminal = Terminal::new(child_output, arguments.output.quiet);
    let adapter = activebench_tools::adapter_for_program(command.program());
    let added = adapter.map(|adapter| adapter.added_arguments(command)).unwrap_or_default();
    if !added.is_empty() {
        terminal.filter(adapter.and_then(|adapter| adapter.output_filter(command)));
    }
    if adapter.is_none() {
        activebench_runner::Hooks::notice(
            &mut terminal,
            &format!(
                "no adapter for {}: unless it starts a known benchmark, its I/O is observed and reported, but there are no claims to check",
                command.program()
            ),
        );
    }
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let options = RunOptions {
        own_executable,
        argv: arguments.command.iter().cloned().chain(added.iter().map(OsString::from)).collect(),
        identity,
        timeout: arguments.timeout,
        // If the report owns standard output, the tool's output goes to standard error.
        stdout_is_terminal: match child_output {
            ChildOutput::Stdout => std::io::stdout().is_terminal(),
            ChildOutput::Stderr => false,
        },
        stderr_is_terminal: std::io::stderr().is_terminal(),
        probe: Some(ProbeOptions {
            ring_bytes: arguments.ring_kib << 10,
            time_every_call: arguments.latency == LatencyArgument::Full,
            look_every_caller_up: arguments.look_every_caller_up,
            sample_hz: arguments.sample_hz,
            payload: arguments.payload.into(),
            overlays: survey.overlays(),
            log: log_options(arguments.events_limit, &mut survey, directory),
        }),
    };
    // Listed before our programs are attached, which would otherwise be among them.
    let other_tracers = activebench_probe::other_tracers();
    let outcome = runtime.block_on(activebench_runner::run(&options, &mut terminal));
    terminal.finish();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            // Nothing was gathered: the folder holds only a placeholder.
            if let Err(error) = std::fs::remove_dir_all(directory) {
                eprintln!("activebench: cannot remove the empty {}: {error}", directory.display());
            }
            return Err(no_run(error));
        }
    };

    let files = tool_files::kept(command, outcome.observation.as_ref());
    if !added.is_empty()
        && let Some(adapter) = adapter
    {
        tool_files::restore(adapter, command, &files.kept, &mut terminal);
    }
    let interrupted = outcome.child.stopped_by_us.as_deref().is_some_and(|why| why != "timed out");
    let mut incomplete = record(&mut writer, &outcome);
    incomplete.extend(files.unread);
    let links = files.links;
    incomplete.extend(writer.write_tool_files(&files.kept).err().map(|error| error.to_string()));
    let mut manifest = Manifest {
        added_arguments: added,
        preparation: preparation.cloned(),
        ..manifest(choices.clone(), command.clone(), outcome, other_tracers, incomplete)
    };
    manifest.coverage.linked_programs = links;
    manifest.tool_command = files.tool_command.map(|own| judge::without_added(own, &manifest.added_arguments));
    if !arguments.no_ceiling {
        manifest.ceilings = Some(ceiling::store::for_run(&manifest.host, arguments.ceiling.as_deref()));
    }
    let manifest = writer.finish(manifest).or_exit(ExitCode::Bug)?;

    let reader = RunReader::open(directory).or_exit(ExitCode::Bug)?;
    let judged = judge::judge(directory, &reader, manifest).or_exit(ExitCode::Bug)?;
    output::write_stages(&reader, &judged).unwrap_or_else(|error| {
        eprintln!("activebench: cannot write the derived files of {}: {error:#}", directory.display());
    });
    Ok(Recorded { judged, reader, interrupted })
}

/// Returns `./activebench-runs/20261121T040506Z-iozone`, with a number appended if that exists.
pub(crate) fn default_directory(program: &str) -> PathBuf {
    let now = OffsetDateTime::now_utc();
    let stamp = now
        .format(format_description!("[year][month][day]T[hour][minute][second]Z"))
        .unwrap_or_else(|_| now.unix_timestamp().to_string());
    let tool: String = program.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let base = PathBuf::from("activebench-runs").join(format!("{stamp}-{tool}"));
    let numbered = |number: u32| base.with_file_name(format!("{stamp}-{tool}-{number}"));
    std::iter::once(base.clone()).chain((2..).map(numbered)).find(|path| !path.exists()).unwrap_or(base)
}

/// Returns where the log may be while the tool runs, and how large it may become.
fn log_options(limit_bytes: u64, survey: &mut Survey, directory: &Path) -> LogOptions {
    let host = activebench_host::read_host(&Roots::default(), Process::Own, &[]);
    let memory = host.usable_memory_bytes();
    let spool = survey
        .apart_from(directory)
        .map(|apart| Spool { folder: directory.to_owned(), apart: apart.into_iter().map(|device| device.0).collect() });
    LogOptions { limit_bytes, memory_bytes: memory.map_or(LEAST_MEMORY, |bytes| bytes / MEMORY_SHARE), spool }
}

/// Reports a missing tool before anything starts, with how to get it.
pub(crate) fn find_program(program: &OsString) -> Result<(), Failure> {
    let executable = |path: &Path| path.is_file();
    let found = if program.as_bytes().contains(&b'/') {
        executable(Path::new(program))
    } else {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|folder| executable(&folder.join(program))))
    };
    if found {
        return Ok(());
    }
    let name = program.to_string_lossy();
    let hint = benchmarks::install_hint(name.rsplit('/').next().unwrap_or(&name));
    Err(Failure::new(ExitCode::BenchmarkFailed, anyhow!("cannot start {name}: no such program (hint: {hint})")))
}

/// Returns the identity that the child gets, with its user's name: `--user`, or under sudo the invoking user; `None`
/// for our own.
pub(crate) fn identity(arguments: &Verify) -> Result<Option<(String, stub::Identity)>, Failure> {
    let from_sudo = || std::env::var("SUDO_USER").ok().filter(|user| user != "root");
    let Some(name) = arguments.user.clone().or_else(from_sudo) else { return Ok(None) };
    match stub::identity_of(&name) {
        Some(identity) => Ok(Some((name, identity))),
        None => {
            Err(Failure::new(ExitCode::Usage, anyhow!("no user {name} (hint: --user takes a name of this system)")))
        }
    }
}

fn no_run(error: RunError) -> Failure {
    let code = match &error {
        RunError::Probe(_) => ExitCode::CannotObserve,
        RunError::System { .. } => ExitCode::Bug,
    };
    let gaps = activebench_host::Observability::read(&Roots::default()).missing();
    let program = std::env::current_exe().map_or_else(|_| "activebench".to_owned(), |path| path.display().to_string());
    let mut error = anyhow::Error::from(error);
    for gap in gaps.iter().filter(|gap| gap.blocks_bpf) {
        error = error.context(output::gap_text(gap, &program));
    }
    Failure::new(code, error.context("no observation, so nothing was run"))
}

/// Writes what was gathered; returns why it is not complete. The writer itself adds to the manifest what it cannot
/// write; the run is judged on what is there.
fn record(writer: &mut RunWriter, outcome: &Outcome) -> Vec<String> {
    let mut incomplete = outcome.incomplete.clone();
    if let Some(observation) = &outcome.observation {
        macro_rules! append {
            ($chunks:expr, $append:ident) => {
                for chunk in $chunks {
                    match chunk {
                        Ok(events) => writer.$append(&events),
                        Err(error) => incomplete.push(error.to_string()),
                    }
                }
            };
        }
        append!(observation.calls(), append_calls);
        append!(observation.names(), append_names);
        append!(observation.tasks(), append_tasks);
        append!(observation.cache(), append_cache);
        append!(observation.cpu(), append_cpu);
        append!(observation.samples(), append_samples);
        incomplete.extend(writer.write_json(STACKS, observation.stacks()).err().map(|error| error.to_string()));
        writer.append_payload(observation.payload());
        if !observation.kept_payload().is_empty() {
            let kept = writer.write_file(KEPT_PAYLOAD, observation.kept_payload());
            incomplete.extend(kept.err().map(|error| error.to_string()));
        }
        match observation.block_devices_used() {
            Ok(devices) => append!(observation.block(&devices), append_block),
            Err(error) => incomplete.push(error.to_string()),
        }
    }
    writer.append_steal(&outcome.steal);
    let totals = outcome.observation.as_ref().map(Observation::totals).filter(|totals| *totals != Totals::default());
    if let Some(totals) = totals {
        incomplete.extend(writer.write_json(TOTALS, &totals).err().map(|error| error.to_string()));
    }
    let written = [
        writer.write_file("stdout.txt", outcome.output.stdout()),
        writer.write_file("stderr.txt", outcome.output.stderr()),
        writer.write_json("output-lines.json", outcome.output.lines()),
    ];
    incomplete.extend(written.into_iter().filter_map(Result::err).map(|error| error.to_string()));
    incomplete
}

fn manifest(
    choices: Choices,
    command: CommandLine,
    outcome: Outcome,
    other_tracers: Result<Vec<OtherTracer>, NeighbourError>,
    mut incomplete: Vec<String>,
) -> Manifest {
    let mut coverage = Coverage { backend: "none".to_owned(), ..Coverage::default() };
    let mut used = Vec::new();
    if let Some(observation) = outcome.observation {
        match storage_used(&observation, Path::new(&command.cwd)) {
            Ok(storage) => used = storage,
            Err(error) => incomplete.push(error.to_string()),
        }
        coverage = observation.coverage;
    }
    coverage.steal_unread = outcome.steal_unread;
    let mut host = activebench_host::read_host(&Roots::default(), Process::Own, &used);
    match other_tracers {
        Ok(tracers) => coverage.other_tracers = Some(tracers),
        Err(error) => host.unread.push(error.to_string()),
    }
    host.io_limits = outcome.io_limits.limits;
    host.io_limits_unread = outcome.io_limits.unread;
    host.readings = Some(outcome.readings);
    // A tool reads its own /proc like every program; no figure is about that.
    host.targets.retain(|target| !PSEUDO_FILE_SYSTEMS.contains(&target.fs_type.as_str()));
    Manifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        added_arguments: Vec::new(),
        tool_command: None,
        choices,
        child: outcome.child,
        clocks: outcome.clocks,
        host,
        ceilings: None,
        coverage,
        incomplete,
        preparation: None,
        redacted: None,
        sha256: BTreeMap::new(),
    }
}

/// Returns the file systems and block devices on which the tree read or wrote data. Each file system has a path on it,
/// because some are found only by a path.
fn storage_used(observation: &Observation, cwd: &Path) -> Result<Vec<StorageRef>, DamagedChunk> {
    let mut file_systems: BTreeMap<u32, Option<PathBuf>> = BTreeMap::new();
    let mut devices = BTreeSet::new();
    for chunk in observation.calls() {
        for call in chunk? {
            let Some(file) = call.file else { continue };
            match call.kind {
                FileKind::Regular => {
                    file_systems.entry(file.s_dev).or_insert(None);
                }
                FileKind::BlockDevice => {
                    devices.insert(file.s_dev);
                }
                FileKind::Other => {}
            }
        }
    }
    for chunk in observation.names() {
        for name in chunk? {
            if let Some(path) = name.file.and_then(|file| file_systems.get_mut(&file.s_dev))
                && name.op == Op::Open
            {
                path.get_or_insert_with(|| cwd.join(&name.name));
            }
        }
    }
    let file_systems =
        file_systems.into_iter().map(|(s_dev, path)| StorageRef::FileSystem { s_dev: DeviceNumber(s_dev), path });
    Ok(file_systems.chain(devices.into_iter().map(|device| StorageRef::Device(DeviceNumber(device)))).collect())
}
