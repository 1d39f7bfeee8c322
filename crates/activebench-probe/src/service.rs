//! The privileged process of an observation. It loads and attaches the kernel programs, reads their maps and rings,
//! and hands over the records. It opens no file for the other process and writes none but the spool file, whose
//! descriptor it is given.
//!
//! If the other process ends before the benchmark does, the benchmark is ended too: nobody is left to record it. What
//! was recorded until then is passed to a process of the other one's user, which completes the record.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use activebench_model::coverage::Backend;
use activebench_model::event::TaskEventKind;
use activebench_model::source::EventSource;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, getuid, kill_process_group, pidfd_open, pidfd_send_signal,
    setrlimit,
};

use crate::error::ProbeError;
use crate::kernel::{Gain, Probe, ProbeOptions, Salvage};
use crate::live::LiveFigures;
use crate::message::{Answer, Request, receive, send};
use crate::observation::{Handover, Observation, has_kernel_ids};
use crate::other_tracers::other_tracers;
use crate::running::Proc;
use crate::tracer::Tracer;

/// The hidden subcommand of our executable.
pub const SUBCOMMAND: &str = "__observe";

/// Serves until the other process ends; returns an exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let [socket] = arguments else { return 70 };
    let Some(socket) = socket.to_str().and_then(|text| text.parse().ok()) else { return 70 };
    // SAFETY: the descriptor was inherited for us alone, as our argument states.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // Nothing that we start may inherit it.
    if fcntl_setfd(&socket, FdFlags::CLOEXEC).is_err() {
        return 70;
    }
    let Ok(asks) = socket_peercred(&socket) else { return 70 };
    raise_descriptor_limit();
    let mut service = Service {
        asks: asks.pid.as_raw_nonzero().get().cast_unsigned(),
        observation: None,
        followed: None,
        watches: false,
        salvage: None,
        user: None,
        handed_over: None,
    };
    match service.serve(socket.as_fd()) {
        Ok(()) => 0,
        Err(_) => {
            service.end_the_benchmark();
            70
        }
    }
}

/// Makes room for the descriptors of the kernel programs: the caller's limit is for the benchmark. Where the system
/// refuses, [`enough_descriptors`] says so.
fn raise_descriptor_limit() {
    let now = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.map(|limit| limit.max(needed_descriptors()));
    let raised = Rlimit { current: enough(now.current), maximum: enough(now.maximum) };
    if setrlimit(Resource::Nofile, raised).is_err() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now });
    }
}

/// Returns an upper bound: one per program, hook, map and passed file, and two per CPU.
fn needed_descriptors() -> u64 {
    192 + 2 * std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64)
}

fn enough_descriptors() -> Result<(), ProbeError> {
    let needed = needed_descriptors();
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => Err(ProbeError::Observer(format!(
            "the observer may open {limit} files and needs {needed} (hint: `ulimit -n {needed}`)"
        ))),
        _ => Ok(()),
    }
}

/// An observation in progress.
enum Running {
    /// By kernel programs.
    Probed(Box<Probe>),
    /// By a tracer.
    Traced(Box<Tracer>),
}

impl Running {
    fn live(&self) -> LiveFigures {
        match self {
            Running::Probed(probe) => probe.live(),
            Running::Traced(tracer) => tracer.live(),
        }
    }

    fn finish(self, run_ns: u64) -> Result<Observation, ProbeError> {
        match self {
            Running::Probed(probe) => probe.finish(run_ns),
            Running::Traced(tracer) => tracer.finish(run_ns),
        }
    }
}

struct Service {
    /// The process on the other side.
    asks: u32,
    observation: Option<Running>,
    /// First process of the tree that is followed.
    followed: Option<u32>,
    /// The processes were not started for us, and are not ended with us.
    watches: bool,
    salvage: Option<Salvage>,
    /// User and group of the process on the other side when it had something followed.
    user: Option<(u32, u32)>,
    /// The last observation, until its record is kept.
    handed_over: Option<Handover>,
}

impl Service {
    fn serve(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while let Some((request, beside)) = receive(socket)? {
            match self.answer(request, beside) {
                Ok(Reply::Plain(answer)) => send(socket, &answer, &[])?,
                Ok(Reply::Observation(handover)) => {
                    let Handover { index, memory, spool } = self.handed_over.insert(handover);
                    let beside: Vec<BorrowedFd<'_>> =
                        [memory.as_fd()].into_iter().chain(spool.as_ref().map(|file| file.as_fd())).collect();
                    send(socket, &Answer::Observation { index: *index }, &beside)?;
                }
                Err(ProbeError::NotWatched(why)) => send(socket, &Answer::Refused(why), &[])?,
                Err(ProbeError::NotPermitted(why)) => send(socket, &Answer::NotPermitted(why), &[])?,
                Err(error) => send(socket, &Answer::Failed(error.to_string()), &[])?,
            }
        }
        self.end_the_benchmark();
        Ok(())
    }

    fn answer(&mut self, request: Request, beside: Vec<OwnedFd>) -> Result<Reply, ProbeError> {
        let none = || ProbeError::Observer("nothing is attached".to_owned());
        Ok(Reply::Plain(match request {
            Request::OtherTracers => match other_tracers() {
                Ok(tracers) => Answer::OtherTracers(tracers),
                Err(error) => Answer::Failed(error.to_string()),
            },
            Request::Attach(options) => {
                (self.handed_over, self.salvage) = (None, options.salvage.clone());
                self.watches = options.watches;
                let gain = if options.watches && !asks_root(self.asks) { Gain::Leaves } else { Gain::Stays };
                let options = with_spool(*options, beside);
                self.observation = Some(match options.backend {
                    Backend::Ptrace => Running::Traced(Box::new(Tracer::new(options)?)),
                    Backend::Bpf | Backend::None => {
                        enough_descriptors()?;
                        Running::Probed(Box::new(Probe::attach_for(options, gain)?))
                    }
                });
                Answer::Attached { observer: std::process::id() }
            }
            Request::Follow { pid, parent, now_ns } => {
                let observation = self.observation.as_mut().ok_or_else(none)?;
                let pidfd = beside.first().ok_or_else(|| ProbeError::Observer("no process was named".to_owned()))?;
                permit(self.asks, pidfd.as_fd())?;
                match observation {
                    Running::Probed(probe) => probe.follow(pidfd.as_fd(), pid, parent, now_ns)?,
                    // The number is that of the process only if both are.
                    Running::Traced(_) if pid_of(pidfd.as_fd()) != Some(pid) => {
                        return Err(ProbeError::Observer(format!("process {pid} is another one")));
                    }
                    Running::Traced(tracer) => tracer.follow(pid, parent, now_ns)?,
                }
                self.followed = Some(pid);
                self.user = user_of(self.asks);
                Answer::Done
            }
            Request::Join { pid } => {
                let Some(Running::Probed(probe)) = &mut self.observation else { return Err(none()) };
                let pidfd = beside.first().ok_or_else(|| ProbeError::Observer("no process was named".to_owned()))?;
                if !self.watches {
                    return Err(ProbeError::Observer("nothing is watched".to_owned()));
                }
                if pid_of(pidfd.as_fd()) != Some(pid) {
                    return Err(ProbeError::NotWatched(format!("process {pid} has ended")));
                }
                if !has_kernel_ids() {
                    let why = "a watch is not possible in a PID namespace of its own (hint: start it on the host)";
                    return Err(ProbeError::NotWatched(why.to_owned()));
                }
                let asks = self.asks;
                probe.join(pidfd.as_fd(), pid, &|pid| refusal(asks, pid))?;
                self.user = user_of(self.asks);
                let (processes, threads) = probe.joined();
                Answer::Joined { processes, threads }
            }
            Request::Kept => {
                self.handed_over = None;
                Answer::Done
            }
            Request::Live => Answer::Live(self.observation.as_ref().ok_or_else(none)?.live()),
            Request::Finish { run_ns } => {
                self.followed = None;
                let observation = self.observation.take().ok_or_else(none)?.finish(run_ns)?;
                let kept = |error| ProbeError::Observer(format!("its records cannot be handed over: {error}"));
                return observation.handed_over().map(Reply::Observation).map_err(kept);
            }
        }))
    }

    /// Ends every process of the tree, and has the record completed. Call it when the other process is gone.
    fn end_the_benchmark(&mut self) {
        if self.watches {
            // They were there before us, and go on.
            self.handed_over = match self.observation.take() {
                Some(observation) => observation.finish(0).ok().and_then(|observation| observation.handed_over().ok()),
                None => self.handed_over.take(),
            };
        } else if let (Some(observation), Some(first)) = (self.observation.take(), self.followed.take()) {
            kill_group(first);
            let Ok(observation) = observation.finish(0) else { return };
            kill_survivors(&observation);
            self.handed_over = observation.handed_over().ok();
        }
        let (Some(handover), Some(salvage), Some((user, group))) =
            (self.handed_over.take(), self.salvage.take(), self.user)
        else {
            return;
        };
        // Nobody is left to be told of a failure.
        let _ = complete_record(&handover, &salvage, user, group);
    }
}

/// Starts the process that completes the record, and waits for its end.
fn complete_record(handover: &Handover, salvage: &Salvage, user: u32, group: u32) -> io::Result<()> {
    let Handover { index, memory, spool } = handover;
    let inherited = |file: &File| {
        let copy = file.try_clone()?;
        fcntl_setfd(&copy, FdFlags::empty())?;
        io::Result::Ok(copy)
    };
    let files = [Some(inherited(memory)?), spool.as_ref().map(|spool| inherited(spool)).transpose()?];
    let mut text = File::from(memfd_create("activebench-salvage", MemfdFlags::CLOEXEC)?);
    text.write_all(salvage.text.as_bytes())?;
    text.rewind()?;
    let mut command = Command::new("/proc/self/exe");
    command.args([&salvage.subcommand, &index.offset.to_string(), &index.bytes.to_string()]);
    command.args(files.iter().flatten().map(|file| file.as_raw_fd().to_string()));
    command.stdin(text).stdout(Stdio::null()).stderr(Stdio::null());
    if getuid().is_root() {
        command.gid(group).uid(user);
    }
    command.status().map(|_| ())
}

/// Ends the processes that left the first one's group.
fn kill_survivors(observation: &Observation) {
    let mut alive = HashSet::new();
    for event in observation.tasks().flatten().flatten().filter(|event| event.tid == event.tgid) {
        match event.kind {
            TaskEventKind::Born => alive.insert(event.tgid),
            TaskEventKind::Exited => alive.remove(&event.tgid),
            TaskEventKind::Executed => false,
        };
    }
    alive.into_iter().for_each(kill);
}

/// An answer, and what is passed beside it.
enum Reply {
    Plain(Answer),
    Observation(Handover),
}

fn with_spool(mut options: ProbeOptions, beside: Vec<OwnedFd>) -> ProbeOptions {
    if let Ok(spool) = &mut options.log.spool {
        spool.file = beside.into_iter().next().map(|file| Arc::new(File::from(file)));
    }
    options
}

/// Refuses to follow a process of another user than the one that asks, unless root asks.
fn permit(asks: u32, pidfd: BorrowedFd<'_>) -> Result<(), ProbeError> {
    let refused = |why: &str| ProbeError::Observer(format!("this process may not be observed: {why}"));
    let ours = users(asks).ok_or_else(|| refused("the process that asks cannot be read"))?;
    if ours.iter().all(|user| *user == 0) {
        return Ok(());
    }
    let theirs = pid_of(pidfd).and_then(users).ok_or_else(|| refused("it cannot be read"))?;
    match theirs.iter().all(|user| ours.contains(user)) {
        true => Ok(()),
        false => Err(refused("it belongs to another user")),
    }
}

/// Returns the reason why a process that runs already may not be watched for another one. For root every process of a
/// user may be; for others those that they could read themselves.
fn refusal(asks: u32, pid: u32) -> Option<String> {
    let proc = Proc("/proc".into());
    let Some(stat) = proc.stat(pid) else { return Some("it has ended".to_owned()) };
    if stat.is_of_the_kernel() {
        return Some(format!("it is a thread of the kernel ({})", stat.comm));
    }
    if pid == asks || pid == std::process::id() {
        return Some("it is activebench itself".to_owned());
    }
    if asks_root(asks) {
        return None;
    }
    let Some(ours) = users(asks) else { return Some("the process that asks cannot be read".to_owned()) };
    for tid in proc.threads(pid) {
        match users(tid) {
            Some(theirs) if theirs.iter().all(|user| ours.contains(user)) => {}
            Some(_) => return Some("it belongs to another user (hint: --user root, as root)".to_owned()),
            // A thread that has ended is nobody's.
            None => {}
        }
    }
    if proc.owner(pid).is_none_or(|owner| !ours.contains(&owner)) {
        return Some("it is protected from its own user".to_owned());
    }
    None
}

/// Returns `true` if root asks.
fn asks_root(asks: u32) -> bool {
    users(asks).is_some_and(|users| users.iter().all(|user| *user == 0))
}

/// Returns the effective user and group of a process.
fn user_of(pid: u32) -> Option<(u32, u32)> {
    Some((*users(pid)?.get(1)?, *groups(pid)?.get(1)?))
}

/// Returns the process of a pidfd; `None` if it has ended.
pub(crate) fn pid_of(pidfd: BorrowedFd<'_>) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()
}

/// Returns the real, effective, saved and file-system user of a process.
fn users(pid: u32) -> Option<Vec<u32>> {
    identities(pid, "Uid:")
}

/// Returns the same of its group.
fn groups(pid: u32) -> Option<Vec<u32>> {
    identities(pid, "Gid:")
}

fn identities(pid: u32, label: &str) -> Option<Vec<u32>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().map(|identity| identity.parse().ok()).collect()
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(number.cast_signed())
}

fn kill_group(first: u32) {
    // A group that has ended cannot be ended.
    let _ = pid(first).map(|first| kill_process_group(first, Signal::KILL));
}

fn kill(number: u32) {
    let Some(pid) = pid(number) else { return };
    if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) {
        // A process that has ended cannot be ended.
        let _ = pidfd_send_signal(descriptor, Signal::KILL);
    }
}
