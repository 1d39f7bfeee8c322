//! Records one run: starts the tool under observation, writes its run directory, judges it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use activebench_host::{IoLimits, Mounts, Process, Roots, Seen, StorageRef, Survey};
use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op};
use activebench_model::ceiling::Ceilings;
use activebench_model::command::CommandLine;
use activebench_model::coverage::{Backend, OtherTracer};
use activebench_model::daemon::Daemon;
use activebench_model::host::{Host, Target, Tier};
use activebench_model::log::Totals;
use activebench_model::preparation::Preparation;
use activebench_model::readings::Readings;
use activebench_model::report::JudgedRun;
use activebench_model::run::{ChildEnd, Choices, Clocks, FORMAT, Manifest, StopReason};
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::units::significant;
use activebench_model::watch::{Watch, WatchTarget};
use activebench_probe::{LogOptions, Observation, Observer, Payload, ProbeError, ProbeOptions, Salvage, Spool};
use activebench_record::{KEPT_PAYLOAD, LIBRARY, RecordError, RunReader, RunWriter, STACKS, TOTALS};
use activebench_report::escape::terminal;
use activebench_runner::{
    CapturedOutput, Confinement, Identity, Outcome, RunError, RunOptions, Signals, WatchOptions, Watched, Watching,
    with_roots_files,
};
use activebench_tools::execution::Executed;
use anyhow::{Context, anyhow};
use rustix::process::getuid;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::failure::{ExitCode, Failure, OrExit};
use crate::interruption::Stop;
use crate::terminal::{Expected, Shown, Terminal};
use crate::{allocator, benchmarks, ceiling, derived_files, doctor, judge, plan, tool_files};

pub use crate::terminal::ChildOutput;

/// File systems that hold no data: the kernel generates their files as they are read.
const PSEUDO_FILE_SYSTEMS: &[&str] =
    &["proc", "sysfs", "cgroup", "cgroup2", "devpts", "debugfs", "tracefs", "securityfs", "configfs"];

/// Share of the memory, one in this number, that the log may take if it cannot be spooled. The page cache lacks that
/// memory, and cached runs are measured too.
const MEMORY_SHARE: u64 = 8;
/// Bytes that the log may take if the size of the memory is not known.
const LEAST_MEMORY: u64 = 256 << 20;

/// Who observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// Kernel programs, or a tracer where the kernel permits none.
    Automatic,
    /// Kernel programs.
    #[default]
    Bpf,
    /// A tracer.
    Trace,
}

/// How runs are observed, and what is shown meanwhile.
#[derive(Clone, Debug)]
pub struct Observing {
    /// The benchmark is ended after this time; `None`: never.
    pub timeout: Option<Duration>,
    /// User whose identity the benchmark gets; `None`: under sudo the invoking user, else our own.
    pub user: Option<String>,
    /// What the benchmark may write; `None` for whatever its user may, as without us.
    pub confinement: Option<Confinement>,
    /// File that is executed in place of what the command's first word leads to.
    pub program: Option<PathBuf>,
    /// `true` to let set-user-ID programs give the benchmark more rights.
    pub allow_new_privileges: bool,
    /// Who observes.
    pub backend: BackendChoice,
    /// True to time every call from its entry to its exit.
    pub time_every_call: bool,
    /// True to use the slow path that finds the thread of every call, for measurements of its cost.
    pub look_every_caller_up: bool,
    /// `true` to load a library into a tool that a tracer observes, so that fewer calls stop.
    pub preload: bool,
    /// Stack samples per second and CPU; 0 takes none.
    pub sample_hz: u32,
    /// True to count the calls of library functions.
    pub library: bool,
    /// How the data is treated that the tool writes.
    pub payload: Payload,
    /// Maximum bytes of the packed event log.
    pub events_limit_bytes: u64,
    /// Bytes of the ring buffer: a power of two.
    pub ring_bytes: u32,
    /// Ceilings that are stored with the run.
    pub ceiling: CeilingChoice,
    /// Where the tool's standard output goes.
    pub child_output: ChildOutput,
    /// True to print no progress and no notices.
    pub quiet: bool,
    /// True to show a small screen instead of a line of progress; not where `quiet` is true.
    pub live: bool,
    /// Whether the judged run gets the time series of its phases.
    pub timelines: judge::Timelines,
}

impl Default for Observing {
    fn default() -> Self {
        Self {
            timeout: None,
            user: None,
            confinement: None,
            program: None,
            allow_new_privileges: false,
            backend: BackendChoice::default(),
            time_every_call: false,
            look_every_caller_up: false,
            preload: true,
            sample_hz: ProbeOptions::SAMPLE_HZ,
            library: false,
            payload: Payload::Figures,
            events_limit_bytes: EVENTS_LIMIT_BYTES,
            ring_bytes: RING_KIB << 10,
            ceiling: CeilingChoice::Kept,
            child_output: ChildOutput::Stdout,
            quiet: false,
            live: false,
            timelines: judge::Timelines::LeftOut,
        }
    }
}

/// Default maximum of the packed event log.
pub const EVENTS_LIMIT_BYTES: u64 = 2 << 30;
/// Default size of the ring buffer.
pub const RING_KIB: u32 = 32_768;

/// Which ceilings are stored with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CeilingChoice {
    /// None.
    Omitted,
    /// Those that this host keeps for the storage of the run.
    Kept,
    /// The one in this file.
    File(PathBuf),
}

/// One run to record.
#[derive(Clone, Copy, Debug)]
pub struct RunToRecord<'a> {
    /// How it is observed.
    pub observing: &'a Observing,
    /// The benchmark and its arguments, as they are executed.
    pub argv: &'a [OsString],
    /// The same words as text, with the working directory.
    pub command: &'a CommandLine,
    /// How it is judged.
    pub choices: &'a Choices,
    /// The run directory: new.
    pub directory: &'a Path,
    /// The preparation of the device that it measures.
    pub preparation: Option<&'a Preparation>,
}

/// What recordings run on: the privileged process that observes, and the event loop.
#[derive(Debug)]
pub struct Recorder {
    observer: Observer,
    signals: Signals,
    runtime: tokio::runtime::Runtime,
}

impl Recorder {
    /// Starts the privileged process, with the rights that this one has now.
    ///
    /// # Errors
    /// Returns an error if the system refuses it.
    pub fn start() -> Result<Self, Failure> {
        let own_executable =
            std::env::current_exe().context("cannot find our own executable").or_exit(ExitCode::CannotObserve)?;
        // The user need not be able to reach it by its name.
        let observer = with_roots_files(|| Observer::start(&own_executable)).or_exit(ExitCode::CannotObserve)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the event loop")
            .or_exit(ExitCode::Bug)?;
        let signals = {
            let _inside = runtime.enter();
            Signals::listen().context("cannot listen for signals").or_exit(ExitCode::Bug)?
        };
        Ok(Self { observer, signals, runtime })
    }

    /// Makes this process one of the benchmark's user, for good. From here on the kernel refuses what that user may
    /// not do: nothing is read or written with root's rights in a place that the benchmark can change. Observing goes
    /// on in the process that was started before.
    ///
    /// # Errors
    /// Returns an error if the system refuses it.
    pub fn give_up_root(&mut self, user: Option<&str>) -> Result<(), Failure> {
        give_up_root(user)
    }
}

/// A run that was recorded and judged.
#[derive(Debug)]
pub struct Recorded {
    /// The judged run.
    pub judged: JudgedRun,
    /// The stored run that it was judged from.
    pub reader: RunReader,
    /// `true` if a signal ended it.
    pub interrupted: bool,
}

/// Runs the tool once under observation, writes its run directory and judges it.
///
/// # Errors
/// Returns an error if nothing was recorded: the tool or the observation could not start, or the directory could not
/// be written.
pub fn record(run: RunToRecord<'_>, recorder: &mut Recorder) -> Result<Recorded, Failure> {
    keep(run, recorder)?.judged()
}

/// Runs the tool once under observation, and writes its run directory.
///
/// # Errors
/// As [`record`].
pub fn keep(run: RunToRecord<'_>, recorder: &mut Recorder) -> Result<Kept, Failure> {
    let RunToRecord { observing, argv, command, choices, directory, preparation } = run;
    allocator::give_back();
    if let Some(confinement) = &observing.confinement {
        // The last look before anything is written; the stub looks again when it opens the device.
        confinement
            .check()
            .map_err(|why| Failure::new(ExitCode::Usage, anyhow!("{}: nothing was run", terminal(&why))))?;
    }
    if observing.backend == BackendChoice::Trace {
        may_be_traced(observing)?;
    }
    let identity = identity(observing.user.as_deref())?.filter(|identity| identity.uid != getuid().as_raw());
    let adapter = activebench_tools::adapter_for_program(command.program());
    let added = adapter.map(|adapter| adapter.added_arguments(command)).unwrap_or_default();
    let mut writer = RunWriter::create_with(directory, &Draft::of(&run, &added)).or_exit(ExitCode::Usage)?;

    let child_output = observing.child_output;
    let shown = Shown::of(observing);
    let mut terminal = Terminal::new(child_output, shown, expected(command));
    if !added.is_empty() {
        terminal.filter(adapter.and_then(|adapter| adapter.output_filter(command)));
    }
    if adapter.is_none() {
        activebench_runner::Hooks::notice(
            &mut terminal,
            &format!(
                "no adapter for {}: unless it starts a known benchmark, the numbers of its output that agree with its I/O are its claims",
                command.program()
            ),
        );
    }
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let mut options = RunOptions {
        // By its name, the benchmark's user may not reach it.
        own_executable: PathBuf::from("/proc/self/exe"),
        argv: argv.iter().cloned().chain(added.iter().map(OsString::from)).collect(),
        program: observing.program.clone(),
        confinement: observing.confinement.clone(),
        identity,
        allow_new_privileges: observing.allow_new_privileges,
        timeout: observing.timeout,
        // If the report owns standard output, the tool's output goes to standard error.
        stdout_is_terminal: match child_output {
            ChildOutput::Stdout => std::io::stdout().is_terminal(),
            ChildOutput::Stderr | ChildOutput::Recorded => false,
        },
        stderr_is_terminal: std::io::stderr().is_terminal(),
        preload: observing.preload,
        probe: probe_options(observing, shown, &mut survey, directory),
    };
    // Listed before our programs are attached, which would otherwise be among them.
    let other_tracers = recorder.observer.other_tracers();
    let Recorder { observer, signals, runtime } = recorder;
    let mut outcome = runtime.block_on(activebench_runner::run(&options, observer, signals, &mut terminal));
    if observing.backend == BackendChoice::Automatic
        && let Err(RunError::Probe(ProbeError::NotPermitted(why))) = &outcome
    {
        // Nothing has started yet.
        say!("{}", without_rights(why));
        options.probe.backend = Backend::Ptrace;
        may_be_traced(observing)?;
        outcome = runtime.block_on(activebench_runner::run(&options, observer, signals, &mut terminal));
    }
    terminal.finish();
    let mut outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            // Nothing was gathered: the folder holds only a placeholder.
            if let Err(error) = std::fs::remove_dir_all(directory) {
                say!("cannot remove the empty {}: {error}", directory.display());
            }
            return Err(no_observation(error, "no observation, so nothing was run", RUN_WITHOUT_RIGHTS));
        }
    };

    let files = tool_files::kept(command, &outcome.observation, &outcome.output);
    if !added.is_empty()
        && let Some(adapter) = adapter
    {
        tool_files::restore(adapter, command, &files.kept, &mut terminal);
    }
    let interrupted = outcome.child.stopped_by_us.is_some_and(StopReason::ends_us);
    let mut incomplete = gathered(&mut writer, &outcome, observing.quiet);
    incomplete.extend(files.unread);
    let links = files.links;
    incomplete.extend(writer.write_tool_files(&files.kept).err().map(|error| error.to_string()));
    let mut measurements = Vec::with_capacity(files.measured.len());
    for (measurement, output) in files.measured {
        let written = writer.write_measured_output(measurement.number, &output);
        incomplete.extend(written.err().map(|error| error.to_string()));
        measurements.push(measurement);
    }
    let (host, unread) = observed_host(&mut outcome, command, other_tracers);
    incomplete.extend(unread);
    let mut manifest = Manifest {
        measurements,
        added_arguments: added,
        preparation: preparation.cloned(),
        ..manifest(choices.clone(), command.clone(), outcome, host, incomplete)
    };
    manifest.coverage.linked_programs = links;
    judge::store(&mut manifest, files.executed);
    manifest.ceilings = ceilings(observing, &manifest);
    // The benchmark can take the folder away from us.
    let manifest = writer.finish(manifest).or_exit(ExitCode::Usage)?;
    // The record is there: an observer that is gone by now does not matter.
    let _ = recorder.observer.kept();

    let reader = RunReader::open(directory).or_exit(ExitCode::Usage)?;
    let (timelines, quiet) = (observing.timelines, observing.quiet);
    Ok(Kept { directory: directory.to_owned(), reader, manifest, timelines, interrupted, quiet })
}

/// Returns the work that a command asks for, as far as its adapter reads it.
fn expected(command: &CommandLine) -> Expected {
    let known = activebench_tools::execution::named_tool(command);
    known.map_or_else(Expected::default, |(adapter, own)| {
        Expected::of(&adapter.plan(&own, &plan::input_files(adapter, &own).0).phases)
    })
}

/// The events of a long run on their way into the run directory: minutes may pass without anything else to be seen.
struct Writing {
    all: u64,
    written: u64,
    started: Instant,
    next: Instant,
}

impl Writing {
    /// Time until the first line.
    const FIRST: Duration = Duration::from_secs(3);
    /// Time between two lines.
    const PAUSE: Duration = Duration::from_secs(20);

    fn new(all: u64) -> Self {
        let started = Instant::now();
        Self { all, written: 0, started, next: started + Self::FIRST }
    }

    /// Counts events, and returns what is to be said now: `writing the record: 12 M of 300 M events, ETA 96 s`.
    fn line(&mut self, events: u64, now: Instant) -> Option<String> {
        self.written += events;
        if now < self.next {
            return None;
        }
        self.next = now + Self::PAUSE;
        let (written, all) = (self.written as f64, self.all.max(self.written) as f64);
        let left = now.saturating_duration_since(self.started).as_secs_f64() * (all / written.max(1.0) - 1.0);
        let [written, all] = [written, all].map(|count| significant(count / 1e6));
        Some(format!("writing the record: {written} M of {all} M events, ETA {left:.0} s"))
    }
}

/// A run whose record is complete, and which is not judged yet.
#[derive(Debug)]
pub struct Kept {
    directory: PathBuf,
    reader: RunReader,
    manifest: Manifest,
    timelines: judge::Timelines,
    interrupted: bool,
    quiet: bool,
}

/// Records of which judging takes about a second: it is said then.
const LONG_ANALYSIS: u64 = 1_000_000;

impl Kept {
    /// Judges the run, and writes the files that are derived from its record.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read.
    pub fn judged(self) -> Result<Recorded, Failure> {
        let Kept { directory, reader, manifest, timelines, interrupted, quiet } = self;
        let events: u64 = manifest.coverage.records.values().map(|account| account.received).sum();
        if events >= LONG_ANALYSIS && !quiet {
            say!("analysing {} M events", significant(events as f64 / 1e6));
        }
        let judged = judge::judge(&directory, &reader, manifest, timelines).or_exit(ExitCode::Bug)?;
        derived_files::write(&reader, &judged).unwrap_or_else(|error| {
            say!("cannot write the derived files of {}: {error:#}", directory.display());
        });
        if let Some(ceilings) = &judged.manifest.ceilings {
            for (file, outcome) in ceiling::store::discard_exceeded(&judged.shares, ceilings) {
                let end = match outcome {
                    Ok(()) => "which is removed (hint: measure again)".to_owned(),
                    Err(error) => format!("which cannot be removed: {error} (hint: measure again)"),
                };
                say!("the run was faster than the ceiling in {}, {end}", file.display());
            }
        }
        Ok(Recorded { judged, reader, interrupted })
    }
}

/// The hidden subcommand that completes the record of a run whose recorder was killed.
pub const SALVAGE: &str = "__salvage";

/// What is needed of a run, beside its observation, to complete its record. It is in the run directory until the record
/// is complete.
#[derive(Serialize, Deserialize)]
struct Draft {
    command: CommandLine,
    added_arguments: Vec<String>,
    choices: Choices,
    started_unix_s: i64,
    /// What is watched; `None` for a command that was started.
    #[serde(default)]
    watch: Option<WatchTarget>,
}

impl Draft {
    fn of(run: &RunToRecord<'_>, added_arguments: &[String]) -> Self {
        Self {
            command: run.command.clone(),
            added_arguments: added_arguments.to_vec(),
            choices: run.choices.clone(),
            started_unix_s: OffsetDateTime::now_utc().unix_timestamp(),
            watch: None,
        }
    }
}

/// A watch to record.
#[derive(Debug)]
pub struct WatchToRecord<'a> {
    /// How it is observed.
    pub observing: &'a Observing,
    /// The name of what is watched.
    pub target: WatchTarget,
    /// Its processes.
    pub watched: Watched,
    /// The command line of the watched process.
    pub command: &'a CommandLine,
    /// Time after which the watch ends; `None`: when what is watched ends.
    pub duration: Option<Duration>,
    /// How it is judged.
    pub choices: &'a Choices,
    /// The run directory: new.
    pub directory: &'a Path,
}

/// Watches processes that run already, and writes the run directory. Whatever ends the watch, the record is complete.
///
/// No output of theirs is read, so there are no claims. Claims from elsewhere, such as a file that a process writes, join
/// here: as an output of the record, to be parsed in `judge::derive`.
///
/// # Errors
/// Returns an error if nothing was recorded: nothing may be watched, or the directory could not be written.
pub fn keep_watch(watch: WatchToRecord<'_>, recorder: &mut Recorder) -> Result<Kept, Failure> {
    let WatchToRecord { observing, target, watched, command, duration, choices, directory } = watch;
    allocator::give_back();
    let draft = Draft {
        command: command.clone(),
        added_arguments: Vec::new(),
        choices: choices.clone(),
        started_unix_s: OffsetDateTime::now_utc().unix_timestamp(),
        watch: Some(target.clone()),
    };
    let mut writer = RunWriter::create_with(directory, &draft).or_exit(ExitCode::Usage)?;
    let shown = Shown::of(observing);
    let mut terminal = Terminal::new(observing.child_output, shown, Expected::default());
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let probe = probe_options(observing, shown, &mut survey, directory);
    // Listed before our programs are attached, which would otherwise be among them.
    let other_tracers = recorder.observer.other_tracers();
    let Recorder { observer, signals, runtime } = recorder;
    let options = WatchOptions { watched, duration, probe };
    let watching = runtime.block_on(activebench_runner::watch(options, observer, signals, &mut terminal));
    terminal.finish();
    let Watching { mut outcome, watch } = match watching {
        Ok(watching) => watching,
        Err(error) => {
            // Nothing was gathered: the folder holds only a placeholder.
            if let Err(error) = std::fs::remove_dir_all(directory) {
                say!("cannot remove the empty {}: {error}", directory.display());
            }
            return Err(no_observation(error, "no observation, so nothing was watched", WATCH_WITHOUT_RIGHTS));
        }
    };
    let mut incomplete = gathered(&mut writer, &outcome, observing.quiet);
    let (host, unread) = observed_host(&mut outcome, command, other_tracers);
    incomplete.extend(unread);
    let mut manifest = Manifest {
        watch: Some(Watch { target, ..watch }),
        ..manifest(choices.clone(), command.clone(), outcome, host, incomplete)
    };
    judge::store(&mut manifest, Executed::default());
    manifest.ceilings = ceilings(observing, &manifest);
    let manifest = writer.finish(manifest).or_exit(ExitCode::Usage)?;
    // The record is there: an observer that is gone by now does not matter.
    let _ = recorder.observer.kept();
    let reader = RunReader::open(directory).or_exit(ExitCode::Usage)?;
    let (timelines, quiet) = (observing.timelines, observing.quiet);
    Ok(Kept { directory: directory.to_owned(), reader, manifest, timelines, interrupted: false, quiet })
}

/// Returns what is said where a tracer observes because the kernel permits no kernel programs.
fn without_rights(why: &str) -> String {
    format!(
        "observing without rights (backend trace): the kernel permits no kernel programs ({why}); what only they see is \
         missing, and figures that need it are undecided (hint: run as root, or grant CAP_BPF and CAP_PERFMON)"
    )
}

/// Refuses what a traced run cannot do.
fn may_be_traced(observing: &Observing) -> Result<(), Failure> {
    if observing.library {
        let why = anyhow!("--library: only kernel programs count calls of a library (hint: observe as root)");
        return Err(Failure::new(ExitCode::Usage, why));
    }
    match observing.allow_new_privileges && !getuid().is_root() {
        true => Err(Failure::new(
            ExitCode::Usage,
            anyhow!("--allow-new-privileges: a traced benchmark cannot gain rights (hint: observe as root)"),
        )),
        false => Ok(()),
    }
}

/// Returns how processes are observed.
fn probe_options(observing: &Observing, shown: Shown, survey: &mut Survey, directory: &Path) -> ProbeOptions {
    ProbeOptions {
        ring_bytes: observing.ring_bytes,
        time_every_call: observing.time_every_call,
        look_every_caller_up: observing.look_every_caller_up,
        sample_hz: observing.sample_hz,
        payload: observing.payload,
        live_details: shown == Shown::Screen,
        salvage: salvage_of(directory),
        overlays: survey.overlays(),
        log: log_options(observing.events_limit_bytes, survey, directory),
        backend: match observing.backend {
            BackendChoice::Trace => Backend::Ptrace,
            BackendChoice::Automatic | BackendChoice::Bpf => Backend::Bpf,
        },
        watches: false,
        library: observing.library,
        // The runner makes it.
        interposer: None,
    }
}

/// Returns the ceilings that are stored with a run.
fn ceilings(observing: &Observing, manifest: &Manifest) -> Option<Ceilings> {
    match &observing.ceiling {
        CeilingChoice::Omitted => None,
        CeilingChoice::Kept => Some(ceiling::store::for_run(&manifest.host, None)),
        CeilingChoice::File(file) => Some(ceiling::store::for_run(&manifest.host, Some(file))),
    }
}

/// Returns how the observer completes the record if we are killed; `None` if the directory has no name that JSON can
/// hold, which costs the records of a killed run alone.
fn salvage_of(directory: &Path) -> Option<Salvage> {
    let directory = std::path::absolute(directory).ok()?;
    let text = serde_json::to_string(&directory).ok()?;
    Some(Salvage { subcommand: SALVAGE.to_owned(), text })
}

/// Completes the record of a run whose recorder was killed; returns an exit code.
pub fn salvage(arguments: &[OsString]) -> i32 {
    match complete(arguments) {
        Ok(()) => 0,
        Err(_) => ExitCode::Usage as i32,
    }
}

fn complete(arguments: &[OsString]) -> anyhow::Result<()> {
    let directory: PathBuf = serde_json::from_reader(std::io::stdin().lock())?;
    let observation = Observation::inherited(arguments)?;
    complete_killed(&directory, observation, |outcome, command| {
        let tracers = Err(ProbeError::Observer("other tracers were not kept: activebench was killed".to_owned()));
        observed_host(outcome, command, tracers)
    })
}

/// Completes the record of a run whose recorder and observer were killed, so that nobody else does: what they had
/// observed is lost. Does nothing to a run whose record is complete.
///
/// # Errors
/// Returns an error if its recorder still lives, or the directory cannot be written.
pub fn repair(directory: &Path) -> anyhow::Result<()> {
    let is_unfinished = || matches!(RunReader::open(directory), Err(RecordError::Unfinished { .. }));
    if !is_unfinished() {
        return Ok(());
    }
    // An observer whose recorder was killed a moment ago completes the record itself, with what it observed.
    std::thread::sleep(OBSERVER_FIRST);
    if !is_unfinished() {
        return Ok(());
    }
    let observation = Observation::lost(0).context("cannot make room for a record")?;
    // The machine of the run need not be this one.
    complete_killed(directory, observation, |_, _| (Host::default(), Vec::new()))?;
    say!("the run in {} was never finished: its record is completed, without any observation", directory.display());
    Ok(())
}

/// Time that [`repair`] gives to an observer.
const OBSERVER_FIRST: Duration = Duration::from_secs(1);

fn complete_killed(
    directory: &Path,
    mut observation: Observation,
    host: impl FnOnce(&mut Outcome, &CommandLine) -> (Host, Vec<String>),
) -> anyhow::Result<()> {
    let times: Vec<u64> = observation.tasks().flatten().flatten().map(|task| task.at_ns).collect();
    let span = times.iter().min().copied().zip(times.iter().max().copied());
    let (started_ns, ended_ns) = span.unwrap_or_else(|| {
        let now_ns = activebench_runner::clock::monotonic_ns();
        (now_ns, now_ns)
    });
    observation.coverage.overhead.run_ns = ended_ns - started_ns;
    let (mut writer, draft) = RunWriter::resume::<Draft>(directory)?;
    let Draft { command, added_arguments, choices, started_unix_s, watch } = draft;
    let why = match (span, &watch) {
        (Some(_), Some(_)) => "activebench was killed; what it watched goes on",
        (Some(_), None) => "activebench was killed, and the benchmark with it; what the benchmark printed is lost",
        (None, _) => "activebench was killed; no process of the benchmark was recorded",
    };
    let known = observation.take_watch().unwrap_or_default();
    let watch = watch.map(|target| Watch { target, ..known });
    let stopped_by_us = watch.is_none().then_some(StopReason::Terminated);
    let mut outcome = Outcome {
        child: ChildEnd { stopped_by_us, ..ChildEnd::default() },
        output: CapturedOutput::default(),
        clocks: Clocks { started_unix_s, started_ns, ended_ns },
        observation,
        steal: Vec::new(),
        steal_unread: Some("activebench was killed".to_owned()),
        io_limits: IoLimits { limits: Vec::new(), unread: Some("activebench was killed".to_owned()) },
        readings: Readings::default(),
        incomplete: vec![why.to_owned()],
    };
    let mut incomplete = gathered(&mut writer, &outcome, true);
    let (mut host, unread) = host(&mut outcome, &command);
    incomplete.extend(unread);
    // Nobody read the host while the tool ran.
    host.readings = None;
    let mut manifest = Manifest { added_arguments, watch, ..manifest(choices, command, outcome, host, incomplete) };
    if manifest.watch.is_some() {
        judge::store(&mut manifest, Executed::default());
    }
    writer.finish(manifest)?;
    Ok(())
}

/// Returns where the log may be while the tool runs, and how large it may become.
fn log_options(limit_bytes: u64, survey: &mut Survey, directory: &Path) -> LogOptions {
    let host = activebench_host::read_host(&Roots::default(), Process::Own, &[]);
    let memory = host.usable_memory_bytes();
    let spool = survey.apart_from(directory).and_then(|apart| {
        let apart = apart.into_iter().map(|device| device.0).collect();
        Spool::inside(directory, apart)
            .map_err(|error| format!("it could not be written in {}: {error}", directory.display()))
    });
    LogOptions { limit_bytes, memory_bytes: memory.map_or(LEAST_MEMORY, |bytes| bytes / MEMORY_SHARE), spool }
}

/// Reports a missing tool before anything starts, with how to get it.
pub fn find_program(program: &OsString) -> Result<(), Failure> {
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

/// Returns the identity that the child gets: `--user`, or under sudo the invoking user; `None`
/// for our own.
pub fn identity(user: Option<&str>) -> Result<Option<Identity>, Failure> {
    // Who is not root any more has become that user, or was another one.
    let from_sudo = || std::env::var("SUDO_USER").ok().filter(|user| getuid().is_root() && user != "root");
    let Some(name) = user.map(str::to_owned).or_else(from_sudo) else { return Ok(None) };
    match Identity::of(&name) {
        Some(identity) => Ok(Some(identity)),
        None => {
            Err(Failure::new(ExitCode::Usage, anyhow!("no user {name} (hint: --user takes a name of this system)")))
        }
    }
}

/// Makes this process one of a user, `--user` or under sudo the invoking one, if it is root's; takes the capabilities of
/// its executable from it otherwise. Call it while there is one thread.
///
/// # Errors
/// Returns an error if there is no such user, or the system refuses it.
pub fn give_up_root(user: Option<&str>) -> Result<(), Failure> {
    if !getuid().is_root() {
        // Those of our executable's file, if it has any.
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        return set_capabilities(None, sets).context("cannot give up capabilities").or_exit(ExitCode::Bug);
    }
    let Some(identity) = identity(user)? else { return Ok(()) };
    let name = &identity.name;
    identity.take().with_context(|| format!("cannot become {name}")).or_exit(ExitCode::Bug)?;
    for (variable, value) in [("HOME", identity.home.as_os_str()), ("USER", name.as_ref()), ("LOGNAME", name.as_ref())]
    {
        // SAFETY: the caller says that there is one thread.
        unsafe { std::env::set_var(variable, value) };
    }
    Ok(())
}

/// Reads and writes files by name as a user from here on, if this process is root's: as `--user`, or under sudo as the
/// invoking user. Root's rights to devices and processes stay ([`with_roots_files`]). Call it while there is one thread.
///
/// # Errors
/// Returns an error if there is no such user or the system refuses the change.
pub fn take_users_files(user: Option<&str>) -> Result<(), Failure> {
    if !getuid().is_root() {
        return Ok(());
    }
    let Some(identity) = identity(user)? else { return Ok(()) };
    let name = &identity.name;
    identity.take_files().with_context(|| format!("cannot take the files of {name}")).or_exit(ExitCode::Bug)
}

/// What can be had without rights where a command needs kernel programs.
const RUN_WITHOUT_RIGHTS: &str = "without these rights `activebench verify` observes by a tracer (--backend trace); it \
                                  confirms no rate, which this needs";
/// The same of a watch.
const WATCH_WITHOUT_RIGHTS: &str = "a tracer, which needs no rights, follows only what it starts: `activebench verify \
                                    --backend trace -- COMMAND`";

/// Returns the failure of a command that needs kernel programs. `without` says what can be had without the rights.
fn no_observation(error: RunError, so: &'static str, without: &'static str) -> Failure {
    if let RunError::Probe(ProbeError::NotWatched(_)) = error {
        return Failure::new(ExitCode::Usage, error);
    }
    let code = match &error {
        RunError::Probe(_) => ExitCode::CannotObserve,
        RunError::System { .. } => ExitCode::Bug,
    };
    let gaps = activebench_host::Observability::read(&Roots::default()).missing();
    let program = std::env::current_exe().map_or_else(|_| "activebench".to_owned(), |path| path.display().to_string());
    let is_refused = matches!(error, RunError::Probe(ProbeError::NotPermitted(_)));
    let mut error = anyhow::Error::from(error);
    if is_refused {
        error = error.context(without);
    }
    for gap in gaps.iter().filter(|gap| gap.blocks_bpf) {
        error = error.context(doctor::gap_text(gap, &program));
    }
    Failure::new(code, error.context(so))
}

/// Writes what was gathered; returns why it is not complete. The writer itself adds to the manifest what it cannot
/// write; the run is judged on what is there.
fn gathered(writer: &mut RunWriter, outcome: &Outcome, quiet: bool) -> Vec<String> {
    let mut incomplete = outcome.incomplete.clone();
    let observation = &outcome.observation;
    let mut writing = Writing::new(observation.coverage.records.values().map(|account| account.received).sum());
    // Whoever does not want to wait for the end keeps what is written until then.
    let stop = Stop::on_signals().unwrap_or_else(|error| {
        say!("no interrupt can end the writing of the record: {error:#}");
        Stop::default()
    });
    incomplete.extend(writer.append_all(observation, &mut |events| {
        if let Some(line) = writing.line(events, Instant::now()).filter(|_| !quiet) {
            say!("{line}");
        }
        !stop.is_set()
    }));
    match observation.stacks() {
        Ok(stacks) => incomplete.extend(writer.write_json(STACKS, &stacks).err().map(|error| error.to_string())),
        Err(error) => incomplete.push(error.to_string()),
    }
    match observation.library() {
        Ok(Some(library)) => {
            incomplete.extend(writer.write_json(LIBRARY, &library).err().map(|error| error.to_string()))
        }
        Ok(None) => {}
        Err(error) => incomplete.push(error.to_string()),
    }
    if !observation.kept_payload().is_empty() {
        let kept = writer.write_file(KEPT_PAYLOAD, observation.kept_payload());
        incomplete.extend(kept.err().map(|error| error.to_string()));
    }
    writer.append(&outcome.steal);
    match observation.totals() {
        Ok(totals) => {
            let written = Some(totals).filter(|totals| *totals != Totals::default());
            let written = written.and_then(|totals| writer.write_json(TOTALS, &totals).err());
            incomplete.extend(written.map(|error| error.to_string()));
        }
        Err(error) => incomplete.push(error.to_string()),
    }
    let written = [
        writer.write_file("stdout.txt", outcome.output.stdout()),
        writer.write_file("stderr.txt", outcome.output.stderr()),
        writer.write_json("output-lines.json", outcome.output.lines()),
    ];
    incomplete.extend(written.into_iter().filter_map(Result::err).map(|error| error.to_string()));
    incomplete
}

/// Returns this machine as far as the run used it, with what could not be read.
fn observed_host(
    outcome: &mut Outcome,
    command: &CommandLine,
    other_tracers: Result<Vec<OtherTracer>, ProbeError>,
) -> (Host, Vec<String>) {
    let (used, unread) = match storage_used(&outcome.observation, Path::new(&command.cwd)) {
        Ok(storage) => (storage, Vec::new()),
        Err(error) => (Vec::new(), vec![error.to_string()]),
    };
    let seen = outcome.observation.storage_seen();
    let seen_within = |span_ns: &RangeInclusive<u64>| Seen {
        // A line that cannot be parsed leaves its file system unknown.
        mounts: Mounts::parse(&seen.mounts(span_ns)).0,
        attributes: seen.attributes(span_ns),
    };
    let used = used.into_iter().map(|(storage, span_ns)| (storage, seen_within(&span_ns))).collect();
    let mut host = activebench_host::read_host_of_run(&Roots::default(), Process::Own, used);
    match other_tracers {
        Ok(tracers) => outcome.observation.coverage.other_tracers = Some(tracers),
        Err(error) => host.unread.push(error.to_string()),
    }
    host.io_limits = std::mem::take(&mut outcome.io_limits.limits);
    host.io_limits_unread = outcome.io_limits.unread.take();
    host.readings = Some(std::mem::take(&mut outcome.readings));
    // A tool reads its own /proc like every program; no figure is about that.
    host.targets.retain(|target| !PSEUDO_FILE_SYSTEMS.contains(&target.fs_type.as_str()));
    match daemons(&host.targets, &outcome.observation) {
        Ok(daemons) => host.daemons = daemons,
        Err(error) => host.unread.push(error.to_string()),
    }
    (host, unread)
}

/// Returns what is behind the FUSE file systems among the targets, which are still mounted.
fn daemons(targets: &[Target], observation: &Observation) -> Result<Vec<Daemon>, Unreadable> {
    let mut on_fuse = targets.iter().filter(|target| target.tier == Tier::Fuse).peekable();
    if on_fuse.peek().is_none() {
        return Ok(Vec::new());
    }
    // Files that a daemon opens for each request are open no more; its requests name them.
    let mut moved: BTreeMap<u32, BTreeSet<FileId>> = BTreeMap::new();
    for batch in observation.block() {
        for event in batch? {
            if let Some(file) = event.file.filter(|_| event.tgid != 0) {
                moved.entry(event.tgid).or_default().insert(file);
            }
        }
    }
    let moved_by = |pid: u32| moved.get(&pid).cloned().unwrap_or_default();
    let roots = Roots::default();
    Ok(on_fuse.map(|target| activebench_host::daemon_of(&roots, target, &moved_by)).collect())
}

fn manifest(choices: Choices, command: CommandLine, outcome: Outcome, host: Host, incomplete: Vec<String>) -> Manifest {
    let mut coverage = outcome.observation.coverage;
    coverage.steal_unread = outcome.steal_unread;
    Manifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command,
        added_arguments: Vec::new(),
        tool_command: None,
        executed_tools: None,
        measurements: Vec::new(),
        choices,
        child: outcome.child,
        clocks: outcome.clocks,
        host,
        ceilings: None,
        coverage,
        incomplete,
        preparation: None,
        watch: None,
        redacted: None,
        sha256: BTreeMap::new(),
    }
}

/// Returns the file systems and block devices on which the tree read or wrote data, each with the time from its first to
/// its last call. Each file system has a path on it, because some are found only by a path.
fn storage_used(observation: &Observation, cwd: &Path) -> Result<Vec<(StorageRef, RangeInclusive<u64>)>, Unreadable> {
    let mut file_systems: BTreeMap<u32, (Option<PathBuf>, RangeInclusive<u64>)> = BTreeMap::new();
    let mut devices: BTreeMap<u32, RangeInclusive<u64>> = BTreeMap::new();
    let widen = |span: &mut RangeInclusive<u64>, call: &Call| {
        *span = *span.start().min(&call.start_ns)..=*span.end().max(&call.end_ns);
    };
    for chunk in observation.calls() {
        for call in chunk? {
            let Some(file) = call.file else { continue };
            match call.kind {
                FileKind::Regular => {
                    let known = file_systems.entry(file.s_dev);
                    widen(&mut known.or_insert_with(|| (None, call.start_ns..=call.end_ns)).1, &call);
                }
                FileKind::BlockDevice => {
                    let known = devices.entry(file.s_dev);
                    widen(known.or_insert_with(|| call.start_ns..=call.end_ns), &call);
                }
                FileKind::Other => {}
            }
        }
    }
    for chunk in observation.names() {
        for name in chunk? {
            if let Some((path, _)) = name.file.and_then(|file| file_systems.get_mut(&file.s_dev))
                && name.op == Op::Open
            {
                path.get_or_insert_with(|| cwd.join(&name.name));
            }
        }
    }
    let file_systems = file_systems.into_iter().map(|(s_dev, (path, span))| {
        let s_dev = DeviceNumber(s_dev);
        (StorageRef::FileSystem { s_dev, path }, span)
    });
    let devices = devices.into_iter().map(|(device, span)| (StorageRef::Device(DeviceNumber(device)), span));
    Ok(file_systems.chain(devices).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_writing_says_how_far_it_is_and_a_short_one_nothing() {
        let mut writing = Writing::new(300_000_000);
        let started = writing.started;
        assert_eq!(writing.line(1_000_000, started + Duration::from_secs(1)), None);
        let line = writing.line(9_000_000, started + Duration::from_secs(4));
        assert_eq!(line.as_deref(), Some("writing the record: 10 M of 300 M events, ETA 116 s"));
        assert_eq!(writing.line(9_000_000, started + Duration::from_secs(5)), None);
        // More than was counted.
        let line = writing.line(300_000_000, started + Duration::from_secs(60));
        assert_eq!(line.as_deref(), Some("writing the record: 319 M of 319 M events, ETA 0 s"));
    }
}
