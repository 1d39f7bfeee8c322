//! Watches processes that run already: finds them, has them followed, and waits until they end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use activebench_model::run::{ChildEnd, Clocks};
use activebench_model::watch::{Watch, WatchEnd};
use activebench_probe::{Observation, Observer, ProbeError, ProbeOptions};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::output::CapturedOutput;
use crate::{Hooks, Outcome, RunError, Signals, TICK, Watches, clock, limits, received, system};

/// Time between two looks for processes that have ended or entered.
const POLL: Duration = Duration::from_millis(100);
/// Sentences on processes that are not watched.
const MOST_GAPS: usize = 32;
/// Control groups that are read below one.
const MOST_GROUPS: usize = 4096;

/// What is watched, and how.
#[derive(Debug)]
pub struct WatchOptions {
    /// What is watched.
    pub watched: Watched,
    /// Time after which the watch ends; `None`: when what is watched ends.
    pub duration: Option<Duration>,
    /// How to observe.
    pub probe: ProbeOptions,
}

/// A process, or the processes of a control group.
#[derive(Debug)]
pub struct Watched {
    /// The control group; `None` for a process.
    group: Option<PathBuf>,
    /// Processes that are followed or were tried, each with its descriptor.
    known: BTreeMap<u32, OwnedFd>,
    gaps: Vec<String>,
}

impl Watched {
    /// Names a process. Its id means this process from here on.
    ///
    /// # Errors
    /// Returns an error if there is no such process.
    pub fn process(pid: u32) -> io::Result<Self> {
        Ok(Self { group: None, known: BTreeMap::from([(pid, descriptor(pid)?)]), gaps: Vec::new() })
    }

    /// Names a control group by its folder, of either version.
    ///
    /// # Errors
    /// Returns an error if it is no control group, or its processes cannot be read.
    pub fn group(folder: &Path) -> io::Result<Self> {
        fs::read(folder.join(PROCESSES))?;
        Ok(Self { group: Some(folder.to_owned()), known: BTreeMap::new(), gaps: Vec::new() })
    }

    /// Returns the first process; `None` if there is none.
    fn first(&self) -> Option<u32> {
        self.known.keys().next().copied()
    }

    fn gap(&mut self, sentence: String) {
        if self.gaps.len() < MOST_GAPS && !self.gaps.contains(&sentence) {
            self.gaps.push(sentence);
        }
    }

    /// Opens the processes that entered the control group, and returns them.
    fn entered(&mut self) -> Vec<u32> {
        let Some(group) = &self.group else { return Vec::new() };
        // An id can mean another process once its process has ended.
        self.known.retain(|_, descriptor| !has_ended(descriptor));
        let mut pids = BTreeSet::new();
        let mut unread = Vec::new();
        processes_of(group, &mut pids, &mut unread);
        unread.into_iter().for_each(|why| self.gap(why));
        if pids.remove(&0) {
            self.gap("Processes of the control group that are in another PID namespace are not watched.".to_owned());
        }
        let mut entered = Vec::new();
        for pid in pids {
            if let std::collections::btree_map::Entry::Vacant(place) = self.known.entry(pid)
                && let Ok(descriptor) = descriptor(pid)
            {
                place.insert(descriptor);
                entered.push(pid);
            }
        }
        entered
    }

    /// Returns `true` if the process has ended, or the control group has no process any more.
    fn has_ended(&self) -> bool {
        self.known.values().all(has_ended)
    }
}

/// Name of the file with the processes of a control group.
const PROCESSES: &str = "cgroup.procs";

fn descriptor(pid: u32) -> io::Result<OwnedFd> {
    let none = || io::Error::from_raw_os_error(libc::ESRCH);
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(none)?;
    Ok(pidfd_open(number, PidfdFlags::empty())?)
}

/// Returns `true` if the process of a descriptor has ended.
fn has_ended(descriptor: &OwnedFd) -> bool {
    let mut wanted = libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one element, which the kernel fills in; it does not wait.
    unsafe { libc::poll(&raw mut wanted, 1, 0) > 0 }
}

/// Adds the processes of a control group and of those below it.
fn processes_of(group: &Path, pids: &mut BTreeSet<u32>, unread: &mut Vec<String>) {
    let mut folders = vec![group.to_owned()];
    let mut next = 0;
    while let Some(folder) = folders.get(next).cloned() {
        next += 1;
        match fs::read_to_string(folder.join(PROCESSES)) {
            Ok(text) => pids.extend(text.lines().filter_map(|line| line.trim().parse::<u32>().ok())),
            // A group that was removed has no processes.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => {}
            Err(error) => unread.push(format!("The processes of {} are not watched: {error}.", folder.display())),
        }
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders
            .extend(below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
        if folders.len() > MOST_GROUPS {
            unread.push(format!("Only {MOST_GROUPS} control groups are watched."));
            folders.truncate(MOST_GROUPS);
        }
    }
}

/// A watch that has ended.
#[derive(Debug)]
pub struct Watching {
    /// The run, whose child and output are empty.
    pub outcome: Outcome,
    /// What was watched, without its name.
    pub watch: Watch,
}

/// Watches until what is watched ends, the time is over, or a signal comes. Ends nothing.
///
/// # Errors
/// Returns an error if the observation cannot start, or nothing is there that may be watched.
pub async fn watch(
    options: WatchOptions,
    observer: &mut Observer,
    signals: &mut Signals,
    hooks: &mut impl Hooks,
) -> Result<Watching, RunError> {
    let WatchOptions { mut watched, duration, probe } = options;
    let mut probe = observer.attach(ProbeOptions { watches: true, ..probe })?;
    let clocks = Clocks { started_unix_s: clock::unix_s(), started_ns: clock::monotonic_ns(), ended_ns: 0 };
    let mut joined = (0, 0);
    let mut refused = None;
    let entering: Vec<u32> = match watched.group {
        Some(_) => watched.entered(),
        None => watched.known.keys().copied().collect(),
    };
    // Before the first process: a pass that begins with it is covered.
    let first = watched.first().unwrap_or_default();
    let mut io_limits = limits::Watch::default();
    io_limits.read(first);
    let mut readings = Watches::new(first);
    readings.read_all();
    let mut read_at = Instant::now() + readings.read();
    for pid in entering {
        match probe.join(watched.known[&pid].as_fd(), pid) {
            Ok(now) => joined = now,
            Err(error) => {
                watched.gap(format!("Not watched: {error}."));
                refused = refused.or(Some(error));
            }
        }
    }
    if joined.0 == 0 {
        let none = || ProbeError::Observer("no process is there to be watched".to_owned());
        return Err(refused.unwrap_or_else(none).into());
    }
    let count = |(number, word): (u64, &str), many: &str| format!("{number} {}", if number == 1 { word } else { many });
    let (processes, threads) = (count((joined.0, "process"), "processes"), count((joined.1, "thread"), "threads"));
    hooks.notice(&format!("watching {processes} with {threads} (Ctrl-C ends the watch, and nothing else)"));

    let started = Instant::now();
    let far_off = started + Duration::from_secs(86_400 * 365);
    let over_at = duration.map_or(far_off, |duration| started + duration);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut looks = interval(POLL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let end = loop {
        tokio::select! {
            _ = signals.interrupts.recv() => break WatchEnd::Interrupted,
            _ = signals.terminations.recv() => break WatchEnd::Terminated,
            _ = signals.hangups.recv() => break WatchEnd::HungUp,
            Some(()) = received(&mut signals.suspensions) => hooks.notice("a watch cannot be suspended (hint: Ctrl-C ends it)"),
            () = sleep_until(over_at) => break WatchEnd::TimeOver,
            () = sleep_until(read_at) => read_at = Instant::now() + readings.read(),
            _ = looks.tick() => {
                for pid in watched.entered() {
                    if let Err(error) = probe.join(watched.known[&pid].as_fd(), pid) {
                        watched.gap(format!("Not watched: {error}."));
                    }
                }
                if watched.has_ended() {
                    break WatchEnd::TargetEnded;
                }
            }
            _ = ticks.tick() => {
                io_limits.read(first);
                hooks.tick(started.elapsed(), &mut || probe.live());
            }
        }
    };
    let clocks = Clocks { ended_ns: clock::monotonic_ns(), ..clocks };
    readings.steal.read(clock::monotonic_ns());
    readings.read_all();
    let (steal, steal_unread) = readings.steal.finish();
    let run_ns = clocks.ended_ns - clocks.started_ns;
    let mut incomplete = Vec::new();
    let mut observation = match probe.finish(run_ns) {
        Ok(observation) => observation,
        Err(error) => {
            incomplete.push(format!("the observation was lost: {error}"));
            Observation::lost(run_ns).map_err(system("make room for a record"))?
        }
    };
    let mut watch = observation.take_watch().unwrap_or_default();
    watch.end = Some(end);
    watch.poll_ns = if watched.group.is_some() { POLL.as_nanos() as u64 } else { 0 };
    watch.gaps.append(&mut watched.gaps);
    let outcome = Outcome {
        child: ChildEnd { pid: Some(first), ..ChildEnd::default() },
        output: CapturedOutput::default(),
        clocks,
        observation,
        steal,
        steal_unread,
        io_limits: io_limits.finish(),
        readings: readings.host.finish(),
        incomplete,
    };
    Ok(Watching { outcome, watch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_there_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
        let watched = Watched::process(child.id()).expect("it runs");
        assert!(!watched.has_ended());
        child.kill().expect("it can be ended");
        child.wait().expect("it ends");
        assert!(watched.has_ended());
        assert!(Watched::process(child.id()).is_err());
        assert!(Watched::process(0).is_err());
        assert!(Watched::process(u32::MAX).is_err());
    }

    #[test]
    fn processes_are_found_in_a_group_and_below_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).expect("a folder");
        let own = std::process::id();
        assert!(Watched::group(folder.path()).is_err(), "it is no control group yet");
        fs::write(folder.path().join(PROCESSES), "").expect("a file");
        fs::write(below.join(PROCESSES), format!("{own}\n")).expect("a file");
        let mut watched = Watched::group(folder.path()).expect("a control group");
        assert_eq!(watched.entered(), [own]);
        assert_eq!(watched.entered(), [0; 0], "it is known");
        fs::write(folder.path().join(PROCESSES), format!("{own}\n0\n4294967295\n")).expect("a file");
        assert_eq!(watched.entered(), [0; 0]);
        assert!(watched.gaps[0].contains("PID namespace"), "{:?}", watched.gaps);
        assert!(!watched.has_ended());
    }
}
