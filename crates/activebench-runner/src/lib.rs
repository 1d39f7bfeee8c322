//! Runs the tool under observation: starts it suspended, follows it, releases it, passes on and keeps its output, and
//! ends it on request.
//!
//! One event loop ([`run`]) handles everything: output, signals, the timeout, the child's end. [`watch`] is its like for
//! processes that run already. Prints nothing; messages for the user go through [`Hooks`].

mod capture;
mod child;
pub mod clock;
mod confinement;
mod identity;
mod limits;
mod output;
pub mod stub;
mod watched;

use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use activebench_host::{HostWatch, IoLimits, Process, Roots, StealWatch};
use activebench_model::coverage::Backend;
use activebench_model::event::StealEvent;
use activebench_model::readings::Readings;
use activebench_model::run::{ChildEnd, Clocks, StopReason};
use activebench_probe::{Interposer, LiveFigures, Observation, Observer, ProbeError, ProbeOptions};
use child::StopCause;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

pub use confinement::Confinement;
pub use identity::{Identity, with_roots_files};
pub use output::{CapturedOutput, OutputLine, Stream};
pub use watched::{WatchOptions, Watched, Watching, watch};

/// Time after which a child that was asked to end is killed.
const GRACE: Duration = Duration::from_secs(5);
/// Time after which a killed child counts as one that the kernel does not let end.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Time that processes of the tree may outlive the tool before we continue without their end.
const LINGER: Duration = Duration::from_secs(5);
/// Time between two progress ticks.
const TICK: Duration = Duration::from_millis(500);
/// Time between two readings of the clocks and of the host's counters. That of the counters is longer if a reading takes
/// so much CPU time that this would cost more than one part in [`READ_COST`] of a CPU.
const READ_PERIOD: Duration = Duration::from_millis(100);
const READ_COST: u32 = 500;
/// Readings of the clocks at either end of a run that are tried until one was made without losing the CPU.
const MOST_TRIES: u32 = 1_000;
/// The same during a run.
const FEW_TRIES: u32 = 3;

/// The tool to run, and how.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Our own executable, which is also the stub that waits before it becomes the tool.
    pub own_executable: PathBuf,
    /// Program and arguments.
    pub argv: Vec<std::ffi::OsString>,
    /// File that is executed in place of what the first word leads to; `None` to look that up.
    pub program: Option<PathBuf>,
    /// What the tool may write; `None` for whatever its user may.
    pub confinement: Option<Confinement>,
    /// The user and group under which the tool runs; `None` for our own.
    pub identity: Option<Identity>,
    /// `true` to let set-user-ID programs give the tool more rights. Root has them anyway.
    pub allow_new_privileges: bool,
    /// Time after which the tool is stopped.
    pub timeout: Option<Duration>,
    /// `true` if our standard output is a terminal: the tool gets one too, and behaves as without us.
    pub stdout_is_terminal: bool,
    /// The same for standard error.
    pub stderr_is_terminal: bool,
    /// `true` to load a library into a tool that is traced, so that fewer calls stop ([`Interposer`]). Without it, and
    /// where it cannot be loaded, all calls that are decoded stop.
    pub preload: bool,
    /// How to observe.
    pub probe: ProbeOptions,
}

/// Receives what the caller shows of a run in progress.
pub trait Hooks {
    /// Receives bytes that the tool wrote, to be passed on at once.
    fn output(&mut self, stream: Stream, bytes: &[u8]);
    /// Called twice per second. `figures` asks the observer for the figures so far, which it may not answer.
    fn tick(&mut self, elapsed: Duration, figures: &mut dyn FnMut() -> Option<LiveFigures>);
    /// Receives a message for the user.
    fn notice(&mut self, message: &str);
    /// Called just before the user's terminal gets another job, because the run is suspended.
    fn suspended(&mut self);
}

/// A run that has ended.
#[derive(Debug)]
pub struct Outcome {
    /// How the child ended.
    pub child: ChildEnd,
    /// Output of the child.
    pub output: CapturedOutput,
    /// Start and end of the run.
    pub clocks: Clocks,
    /// The observation.
    pub observation: Observation,
    /// The host's steal time over the run.
    pub steal: Vec<StealEvent>,
    /// Reason why `steal` is incomplete.
    pub steal_unread: Option<String>,
    /// I/O limits of control groups on the tree while it ran.
    pub io_limits: IoLimits,
    /// Counters and levels of the host, from just before the tool was released to after its end.
    pub readings: Readings,
    /// Reasons why the record of the run is incomplete.
    pub incomplete: Vec<String>,
}

/// The reason why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The observation could not start, or could not be read at the end.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// Our own stub could not be started or followed.
    #[error("cannot {what}: {source}")]
    System {
        /// The step that failed.
        what: &'static str,
        /// The system's answer.
        source: std::io::Error,
    },
}

fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> RunError {
    move |source| RunError::System { what, source }
}

/// Runs the tool to its end.
///
/// # Errors
/// Returns an error if the observation cannot start or the stub cannot be started. A tool that does not exist or
/// fails is not an error: it is reported in [`Outcome::child`].
pub async fn run(
    options: &RunOptions,
    observer: &mut Observer,
    signals: &mut Signals,
    hooks: &mut impl Hooks,
) -> Result<Outcome, RunError> {
    // Each process of the tree loads it: it has to be there until the last one has ended.
    let interposer = child::interposer(options, hooks);
    let file = interposer.as_ref().map(Interposer::id);
    let mut probe = observer.attach(ProbeOptions { interposer: file, ..options.probe.clone() })?;
    child::adopt_orphans().map_err(system("become the reaper of the tree"))?;

    let tracer = (options.probe.backend == Backend::Ptrace).then(|| probe.pid());
    let child = child::spawn_suspended(options, tracer, interposer.as_ref());
    let mut child = child.map_err(system("start the suspended child"))?;
    let mut end = ChildEnd { pid: Some(child.pid()), ..ChildEnd::default() };
    probe.follow(child.pidfd(), child.pid(), clock::monotonic_ns())?;
    let mut limits = limits::Watch::default();
    limits.read(child.pid());
    let mut watches = Watches::new(child.pid());
    watches.read_all();
    let mut read_at = Instant::now() + watches.read();
    let mut clocks = Clocks { started_unix_s: clock::unix_s(), started_ns: clock::monotonic_ns(), ended_ns: 0 };
    end.start_error = child.release().await.map_err(system("release the child"))?;

    let mut output = CapturedOutput::default();
    let started = Instant::now();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let far_off = started + Duration::from_secs(86_400 * 365);
    let timeout_at = options.timeout.map_or(far_off, |timeout| started + timeout);
    let mut kill_at = far_off;
    let mut give_up_at = far_off;
    let mut status: Option<ExitStatus> = None;
    let mut was_stopped = false;
    let (mut stdout_open, mut stderr_open) = (true, true);
    let (mut stdout_buffer, mut stderr_buffer) = (vec![0; 65_536], vec![0; 65_536]);

    while status.is_none() || stdout_open || stderr_open {
        tokio::select! {
            read = child.stdout.read(&mut stdout_buffer), if stdout_open => {
                stdout_open = take_output(read, &stdout_buffer, Stream::Stdout, &mut output, hooks);
            }
            read = child.stderr.read(&mut stderr_buffer), if stderr_open => {
                stderr_open = take_output(read, &stderr_buffer, Stream::Stderr, &mut output, hooks);
            }
            ended = child.process.wait(), if status.is_none() => {
                status = Some(ended.map_err(system("wait for the child"))?);
                // Pipes stay open while any process of the tree lives.
                give_up_at = Instant::now() + LINGER;
            }
            _ = signals.interrupts.recv() => stop(&child, &mut end, &mut kill_at, StopReason::Interrupted, hooks),
            _ = signals.terminations.recv() => stop(&child, &mut end, &mut kill_at, StopReason::Terminated, hooks),
            _ = signals.hangups.recv() => stop(&child, &mut end, &mut kill_at, StopReason::HungUp, hooks),
            Some(()) = received(&mut signals.suspensions) => {
                hooks.suspended();
                child.suspend_group();
            }
            Some(()) = received(&mut signals.resizes) => child.resize(),
            () = sleep_until(timeout_at), if end.stopped_by_us.is_none() && status.is_none() => {
                stop(&child, &mut end, &mut kill_at, StopReason::TimedOut, hooks);
            }
            () = sleep_until(kill_at), if status.is_none() => {
                child.kill_group();
                kill_at = far_off;
                // The kernel may hold it in a system call that never ends.
                give_up_at = Instant::now() + KILL_PATIENCE;
            }
            () = sleep_until(give_up_at) => break,
            () = sleep_until(read_at) => read_at = Instant::now() + watches.read(),
            _ = ticks.tick() => {
                limits.read(child.pid());
                let cause = child.stop_cause().filter(|_| end.stopped_by_us.is_none() && status.is_none());
                match cause {
                    Some(StopCause::Terminal) => {
                        hooks.notice("the benchmark asks at the terminal, which stays with activebench (hint: give it its input: `< FILE`)");
                        stop(&child, &mut end, &mut kill_at, StopReason::AtTerminal, hooks);
                    }
                    Some(StopCause::Signal(signal)) if !was_stopped => {
                        let pid = child.pid();
                        hooks.notice(&format!("signal {signal} stopped the benchmark (hint: `kill -CONT {pid}` lets it go on)"));
                    }
                    Some(StopCause::Signal(_)) | None => {}
                }
                was_stopped = cause.is_some();
                hooks.tick(started.elapsed(), &mut || probe.live());
            }
        }
    }
    if !child::reap_orphans(LINGER).await {
        child.kill_group();
        let give_up_at = Instant::now() + LINGER;
        // Who left the group wanted to go on, but not when the run was ended: nothing may write on then.
        while !child::reap_orphans(TICK).await && end.stopped_by_us.is_some() && Instant::now() < give_up_at {
            child::kill_orphans();
        }
        if !child::reap_orphans(Duration::ZERO).await {
            hooks.notice("a process that left the benchmark's group goes on; it is not observed any more");
        }
    }
    clocks.ended_ns = clock::monotonic_ns();
    watches.steal.read(clock::monotonic_ns());
    watches.read_all();
    let (steal, steal_unread) = watches.steal.finish();
    output.close(clocks.ended_ns);
    let mut incomplete = output.cuts();
    if let Some(status) = status {
        end.exit_code = status.code();
        end.signal = status.signal();
    }
    if status.is_none() {
        incomplete.push("the benchmark could not be killed: the kernel holds it in a system call".to_owned());
    }
    if let Some(why) = &end.stopped_by_us {
        incomplete.push(format!("the run was {why}"));
    }
    let run_ns = clocks.ended_ns - clocks.started_ns;
    // What the tool printed is kept even if the record of its I/O is lost.
    let observation = match probe.finish(run_ns) {
        Ok(observation) => observation,
        Err(error) => {
            incomplete.push(format!("the observation was lost: {error}"));
            Observation::lost(run_ns).map_err(system("make room for a record"))?
        }
    };
    Ok(Outcome {
        child: end,
        output,
        clocks,
        observation,
        steal,
        steal_unread,
        io_limits: limits.finish(),
        readings: watches.host.finish(),
        incomplete,
    })
}

/// The signals that we handle. From the first listener on they end us no more; one that comes before a run ends that run
/// as it begins.
#[derive(Debug)]
pub struct Signals {
    interrupts: Signal,
    terminations: Signal,
    hangups: Signal,
    /// Without a terminal nobody lets us go on.
    suspensions: Option<Signal>,
    /// The window of our terminal has another size; `None` without a terminal for output.
    resizes: Option<Signal>,
}

impl Signals {
    /// Begins to listen. Call it inside the event loop's runtime.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a handler.
    pub fn listen() -> std::io::Result<Self> {
        let writes_to_terminal = std::io::stdout().is_terminal() || std::io::stderr().is_terminal();
        let suspension = SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw());
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
            hangups: signal(SignalKind::hangup())?,
            suspensions: std::io::stdin().is_terminal().then(|| signal(suspension)).transpose()?,
            resizes: writes_to_terminal.then(|| signal(SignalKind::window_change())).transpose()?,
        })
    }
}

/// Waits for a signal, for ever where nobody listens for it.
async fn received(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// The readings of the host while the tool runs.
struct Watches {
    steal: StealWatch,
    host: HostWatch,
    /// When the counters may be read again.
    counters_at: Instant,
}

impl Watches {
    fn new(pid: u32) -> Self {
        let roots = Roots::default();
        let host = HostWatch::new(&roots, Process::Id(pid));
        Self { steal: StealWatch::new(&roots), host, counters_at: Instant::now() }
    }

    /// Reads everything: just before the tool is released, and after its end.
    fn read_all(&mut self) {
        self.host.read_all(clock::monotonic_ns());
        // These readings enclose the run: without them no window is covered, and the facts on the clocks are missing.
        self.read_clocks(MOST_TRIES);
    }

    /// Reads the clocks; nothing where none of the tries was made at one moment.
    fn read_clocks(&mut self, tries: u32) {
        if let Some(leads_ns) = (0..tries).find_map(|_| clock::leads_ns()) {
            self.host.add_clocks(clock::monotonic_ns(), leads_ns);
        }
    }

    /// Reads once, and returns the time to wait until the next reading.
    fn read(&mut self) -> Duration {
        self.read_clocks(FEW_TRIES);
        if Instant::now() >= self.counters_at {
            let begin = clock::thread_cpu();
            self.steal.read(clock::monotonic_ns());
            self.host.read(clock::monotonic_ns());
            self.counters_at = Instant::now() + clock::thread_cpu().saturating_sub(begin) * READ_COST;
        }
        READ_PERIOD
    }
}

/// Keeps and passes on the output; returns `false` when the stream has ended.
fn take_output(
    read: std::io::Result<usize>,
    buffer: &[u8],
    stream: Stream,
    output: &mut CapturedOutput,
    hooks: &mut impl Hooks,
) -> bool {
    match read {
        Ok(0) => false,
        Ok(count) => {
            output.take(stream, &buffer[..count], clock::monotonic_ns());
            hooks.output(stream, &buffer[..count]);
            true
        }
        Err(error) => {
            hooks.notice(&format!("cannot read the tool's {}: {error}", stream.name()));
            false
        }
    }
}

/// Asks the tree to end; kills it when called a second time.
fn stop(child: &child::Suspended, end: &mut ChildEnd, kill_at: &mut Instant, why: StopReason, hooks: &mut impl Hooks) {
    if end.stopped_by_us.is_some() {
        hooks.notice("killing the tool");
        child.kill_group();
        return;
    }
    end.stopped_by_us = Some(why);
    hooks.notice(&format!("{why}: ending the tool, keeping what was gathered (once more to kill it)"));
    child.interrupt_group();
    *kill_at = Instant::now() + GRACE;
}
