//! The unprivileged side of an observation: starts the privileged process, and asks it for everything that needs
//! rights. See `service`.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use activebench_model::coverage::OtherTracer;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::error::ProbeError;
use crate::kernel::{ProbeOptions, own_cpu_ns};
use crate::live::LiveFigures;
use crate::message::{Answer, Request, receive, send};
use crate::observation::Observation;
use crate::service;

/// The privileged process. It ends when this value is dropped, because the connection ends.
#[derive(Debug)]
pub struct Observer {
    socket: OwnedFd,
}

/// Makes the observer a process that is not our child, because we wait for all our children to end, and that has no
/// terminal: Ctrl-C and a hang-up are for us, and the observer has to outlive the benchmark.
fn detach() -> std::io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: both are safe between fork and exec.
    unsafe {
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => Ok(()),
            _ => libc::_exit(0),
        }
    }
}

fn failed(what: &str) -> impl FnOnce(std::io::Error) -> ProbeError {
    let what = what.to_owned();
    move |error| ProbeError::Observer(format!("cannot {what}: {error}"))
}

impl Observer {
    /// Starts the privileged process with the rights that this one has now.
    ///
    /// # Errors
    /// Returns an error if the system refuses it.
    pub fn start(own_executable: &Path) -> Result<Self, ProbeError> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|error| failed("start the observer")(error.into()))?;
        fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| failed("start the observer")(error.into()))?;
        let mut command = Command::new(own_executable);
        command.args([service::SUBCOMMAND, &theirs.as_raw_fd().to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
        // SAFETY: the closure runs in the child between fork and exec, and calls only what is safe there.
        unsafe { command.pre_exec(detach) };
        // The process in between ends at once.
        command.status().map_err(failed("start the observer"))?;
        Ok(Self { socket: ours })
    }

    /// Lists the tracing programs of others.
    ///
    /// # Errors
    /// Returns an error if the kernel does not list them.
    pub fn other_tracers(&mut self) -> Result<Vec<OtherTracer>, ProbeError> {
        match self.ask(&Request::OtherTracers, &[])?.0 {
            Answer::OtherTracers(tracers) => Ok(tracers),
            other => Err(unexpected(&other)),
        }
    }

    /// Loads and attaches everything and starts reading. No process is recorded until [`Observing::follow`] names the
    /// first one; block requests are seen from now on.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, has no BTF, or the programs do not load.
    pub fn attach(&mut self, options: ProbeOptions) -> Result<Observing<'_>, ProbeError> {
        let spool = options.log.spool.as_ref().ok().and_then(|spool| spool.file.clone());
        let beside: Vec<BorrowedFd<'_>> = spool.iter().map(|file| file.as_fd()).collect();
        match self.ask(&Request::Attach(Box::new(options)), &beside)?.0 {
            Answer::Attached { observer: pid } => Ok(Observing { observer: self, pid, cpu_at_start_ns: 0 }),
            other => Err(unexpected(&other)),
        }
    }

    /// Says that the record of the last observation is kept: nobody has to complete it if this process is killed.
    ///
    /// # Errors
    /// Returns an error if the observer does not answer.
    pub fn kept(&mut self) -> Result<(), ProbeError> {
        self.done(&Request::Kept, &[])
    }

    fn done(&mut self, request: &Request, beside: &[BorrowedFd<'_>]) -> Result<(), ProbeError> {
        match self.ask(request, beside)?.0 {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, request: &Request, beside: &[BorrowedFd<'_>]) -> Result<(Answer, Vec<OwnedFd>), ProbeError> {
        send(self.socket.as_fd(), request, beside).map_err(failed("ask the observer"))?;
        match receive(self.socket.as_fd()).map_err(failed("understand the observer"))? {
            Some((Answer::Failed(why), _)) => Err(ProbeError::Observer(why)),
            Some((Answer::Refused(why), _)) => Err(ProbeError::NotWatched(why)),
            Some((Answer::NotPermitted(why), _)) => Err(ProbeError::NotPermitted(why)),
            Some(answered) => Ok(answered),
            None => Err(ProbeError::Observer("the observer ended".to_owned())),
        }
    }
}

fn unexpected(answer: &Answer) -> ProbeError {
    ProbeError::Observer(format!("the observer gave another answer than was asked for: {answer:?}"))
}

/// An observation in progress.
#[derive(Debug)]
pub struct Observing<'a> {
    observer: &'a mut Observer,
    pid: u32,
    cpu_at_start_ns: u64,
}

impl Observing<'_> {
    /// Returns the privileged process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Follows a process from here on, and all its descendants. It must be blocked in a system call, so that its
    /// clock starts in the right mode. `pidfd` identifies the process for the kernel, `pid` is for messages.
    ///
    /// # Errors
    /// Returns an error if the kernel does not accept the entry, or the process belongs to another user.
    pub fn follow(&mut self, pidfd: BorrowedFd<'_>, pid: u32, now_ns: u64) -> Result<(), ProbeError> {
        self.observer.done(&Request::Follow { pid, parent: std::process::id(), now_ns }, &[pidfd])?;
        self.cpu_at_start_ns = own_cpu_ns();
        Ok(())
    }

    /// Follows a process that runs already from here on, and all its descendants. `pidfd` was opened before anything of
    /// it was read. Returns the number of processes and threads that joined so far.
    ///
    /// # Errors
    /// Returns an error if it has ended, may not be watched, or the kernel does not accept it.
    pub fn join(&mut self, pidfd: BorrowedFd<'_>, pid: u32) -> Result<(u64, u64), ProbeError> {
        match self.observer.ask(&Request::Join { pid }, &[pidfd])?.0 {
            Answer::Joined { processes, threads } => {
                if self.cpu_at_start_ns == 0 {
                    self.cpu_at_start_ns = own_cpu_ns();
                }
                Ok((processes, threads))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the figures so far; `None` if the observer does not answer.
    pub fn live(&mut self) -> Option<LiveFigures> {
        match self.observer.ask(&Request::Live, &[]).ok()?.0 {
            Answer::Live(figures) => Some(figures),
            _ => None,
        }
    }

    /// Detaches, takes the remaining records, and closes the account. Call it when the tree has ended.
    ///
    /// # Errors
    /// Returns an error if the records or the kernel's counters cannot be read.
    pub fn finish(self, run_ns: u64) -> Result<Observation, ProbeError> {
        let own_ns = own_cpu_ns() - self.cpu_at_start_ns;
        let (answer, beside) = self.observer.ask(&Request::Finish { run_ns }, &[])?;
        let Answer::Observation { index } = answer else { return Err(unexpected(&answer)) };
        let mut files = beside.into_iter().map(File::from);
        let memory = files.next().ok_or_else(|| ProbeError::Observer("it came without its records".to_owned()))?;
        let mut observation =
            Observation::taken_over(index, memory, files.next()).map_err(failed("take over the observation"))?;
        // Observing costs what both processes take.
        if let Some(cpu_ns) = &mut observation.coverage.overhead.observer_cpu_ns {
            *cpu_ns += own_ns;
        }
        Ok(observation)
    }
}
