//! The child from its suspended start to the end of its tree.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;
use std::{env, io};

use activebench_model::coverage::Backend;
use activebench_probe::{Interposer, PRELOAD_VARIABLE};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, geteuid, getpid, getuid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, wait, waitid,
};
use tokio::process::{Child, Command};

use crate::capture::Capture;
use crate::stub;
use crate::{Hooks, RunOptions};

/// A child that waits in our stub until it is released.
#[derive(Debug)]
pub(crate) struct Suspended {
    pub(crate) process: Child,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pid: Pid,
    pidfd: OwnedFd,
    control: tokio::net::UnixStream,
}

/// Returns the library that a traced tool is to load; `None` where it is not to, and where it cannot, which is said.
pub(crate) fn interposer(options: &RunOptions, hooks: &mut impl Hooks) -> Option<Interposer> {
    if !options.preload || options.probe.backend != Backend::Ptrace {
        return None;
    }
    let is_other_user = options.identity.as_ref().is_some_and(|user| user.uid != geteuid().as_raw());
    match Interposer::new(is_other_user) {
        Ok(interposer) => Some(interposer),
        Err(error) => {
            hooks.notice(&format!(
                "the benchmark cannot load the library that notes its calls ({error}): each call stops"
            ));
            None
        }
    }
}

/// Starts the stub and waits until it reports that it is ready. `tracer` is the process that will trace it.
pub(crate) fn spawn_suspended(
    options: &RunOptions,
    tracer: Option<u32>,
    interposer: Option<&Interposer>,
) -> io::Result<Suspended> {
    let (ours, theirs) = UnixStream::pair()?;
    // The stub inherits its end, and closes it by executing the tool.
    set_inherited(theirs.as_fd())?;
    let mut command = Command::new(&options.own_executable);
    let user = options.identity.as_ref();
    let orders = stub::Orders {
        user: user.map(|identity| identity.name.clone()),
        // Root can do everything already, and wrappers such as `sudo -u` refuse to work without.
        allow_new_privileges: options.allow_new_privileges || user.map_or_else(|| getuid().is_root(), |of| of.uid == 0),
        confinement: options.confinement.clone(),
        program: options.program.clone(),
        parent: std::process::id(),
        tracer,
        preload: interposer.map(|interposer| interposer.behind(env::var_os(PRELOAD_VARIABLE).as_deref())),
    };
    command.args(stub::arguments(theirs.as_raw_fd(), &orders, &options.argv)?);
    let (own_stdout, own_stderr) = (io::stdout(), io::stderr());
    let (stdout, child_stdout) = Capture::open(options.stdout_is_terminal.then(|| own_stdout.as_fd()))?;
    let (stderr, child_stderr) = Capture::open(options.stderr_is_terminal.then(|| own_stderr.as_fd()))?;
    command.stdin(Stdio::inherit()).stdout(child_stdout).stderr(child_stderr).process_group(0);
    let process = command.spawn()?;
    // Drop our copies of the child's ends, or its streams would never end.
    drop(command);
    drop(theirs);
    let pid = process.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the stub ended at once"))?;
    wait_ready(&ours)?;
    ours.set_nonblocking(true)?;
    Ok(Suspended {
        process,
        stdout,
        stderr,
        pid,
        pidfd: pidfd_open(pid, PidfdFlags::empty())?,
        control: tokio::net::UnixStream::from_std(ours)?,
    })
}

/// Blocks until the stub's first byte, which arrives within milliseconds or never.
fn wait_ready(control: &UnixStream) -> io::Result<()> {
    use std::io::Read;
    let mut ready = [0];
    control.set_read_timeout(Some(Duration::from_secs(10)))?;
    (&mut &*control).read_exact(&mut ready)
}

/// Why the child is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// The kernel stopped it because it read from the terminal, or set it.
    Terminal,
    /// Somebody sent this signal.
    Signal(i32),
}

impl Suspended {
    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    pub(crate) fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Lets the stub become the tool. Returns `Some(why)` when the tool could not be executed.
    pub(crate) async fn release(&mut self) -> io::Result<Option<String>> {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        self.control.write_all(&[1]).await?;
        let mut answer = [0; 4];
        let mut filled = 0;
        while filled < answer.len() {
            match self.control.read(&mut answer[filled..]).await? {
                0 => break,
                count => filled += count,
            }
        }
        // The end of the connection means that the tool was executed; four bytes are the errno that prevented it.
        Ok((filled == answer.len()).then(|| io::Error::from_raw_os_error(i32::from_ne_bytes(answer)).to_string()))
    }

    pub(crate) fn interrupt_group(&self) {
        self.signal_group(Signal::INT);
        // A stopped process handles it when it goes on.
        self.signal_group(Signal::CONT);
    }

    /// Returns the cause if the child is stopped.
    pub(crate) fn stop_cause(&self) -> Option<StopCause> {
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // A child that has ended, or was never stopped, has no such state.
        let stopped = waitid(WaitId::PidFd(self.pidfd()), options).ok().flatten();
        let signal = stopped.and_then(|status| status.stopping_signal())?;
        let at_terminal = [Signal::TTIN, Signal::TTOU].iter().any(|at_terminal| signal == at_terminal.as_raw());
        Some(if at_terminal { StopCause::Terminal } else { StopCause::Signal(signal) })
    }

    /// Stops the group and ourselves, as the user's shell would; both go on together.
    pub(crate) fn suspend_group(&self) {
        self.signal_group(Signal::STOP);
        match kill_process(getpid(), Signal::STOP) {
            // We cannot be stopped: then the group goes on at once.
            Ok(()) | Err(_) => self.signal_group(Signal::CONT),
        }
    }

    /// Passes the size of our terminal on to the child's, and the signal that it has changed.
    pub(crate) fn resize(&self) {
        self.stdout.resize(io::stdout().as_fd());
        self.stderr.resize(io::stderr().as_fd());
        self.signal_group(Signal::WINCH);
    }

    pub(crate) fn kill_group(&self) {
        self.signal_group(Signal::KILL);
    }

    /// Signals the process group.
    fn signal_group(&self, signal: Signal) {
        match kill_process_group(self.pid, signal) {
            // A group that has already ended cannot be signalled.
            Ok(()) | Err(_) => {}
        }
    }
}

fn set_inherited(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(fcntl_setfd(fd, FdFlags::empty())?)
}

/// Makes orphans of the tree our children, so that we see when the last one ends.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // Any id sets the attribute of the calling process.
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills the adopted processes, which are those that left the child's group. Their children are adopted in their turn.
pub(crate) fn kill_orphans() {
    let ours = getpid().as_raw_nonzero().get();
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        // Processes end while we look.
        let parent = std::fs::read_to_string(process.path().join("stat")).ok().and_then(|stat| parent_in(&stat));
        if let (Some(pid), true) = (pid, parent == Some(ours)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The parent's id in a `/proc/PID/stat`: the second field after the name, which may hold anything.
fn parent_in(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Waits for adopted processes; returns `false` when some still live after `patience`.
pub(crate) async fn reap_orphans(patience: Duration) -> bool {
    let until = tokio::time::Instant::now() + patience;
    loop {
        match wait(WaitOptions::NOHANG) {
            Err(_) => return true,
            Ok(None) if tokio::time::Instant::now() >= until => return false,
            Ok(None) => tokio::time::sleep(Duration::from_millis(20)).await,
            Ok(Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("7 (a) b) S 1 7 7 0"), Some(1));
        assert_eq!(parent_in("7 (sh"), None);
    }
}
