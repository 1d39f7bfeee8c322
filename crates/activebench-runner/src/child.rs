//! The child from its suspended start to the end of its tree.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::RunOptions;
use crate::capture::Capture;
use crate::stub;

/// A child that waits in our stub until it is released.
#[derive(Debug)]
pub(crate) struct Suspended {
    pub(crate) process: Child,
    pub(crate) stdout: Capture,
    pub(crate) stderr: Capture,
    pub(crate) pid: u32,
    pidfd: OwnedFd,
    control: tokio::net::UnixStream,
}

/// Starts the stub and waits until it reports that it is ready.
pub(crate) fn spawn_suspended(options: &RunOptions) -> io::Result<Suspended> {
    let (ours, theirs) = UnixStream::pair()?;
    // The stub inherits its end, and closes it by executing the tool.
    set_inherited(theirs.as_fd())?;
    let mut command = Command::new(&options.own_executable);
    command.args(stub::arguments(theirs.as_raw_fd(), options.identity, &options.argv));
    let terminal = |stream: libc::c_int, is: bool| is.then_some(stream);
    let (stdout, child_stdout) = Capture::open(terminal(libc::STDOUT_FILENO, options.stdout_is_terminal))?;
    let (stderr, child_stderr) = Capture::open(terminal(libc::STDERR_FILENO, options.stderr_is_terminal))?;
    command.stdin(Stdio::inherit()).stdout(child_stdout).stderr(child_stderr).process_group(0);
    let process = command.spawn()?;
    // Drop our copies of the child's ends, or its streams would never end.
    drop(command);
    drop(theirs);
    let pid = process.id().ok_or_else(|| io::Error::other("the stub ended at once"))?;
    wait_ready(&ours)?;
    ours.set_nonblocking(true)?;
    Ok(Suspended {
        process,
        stdout,
        stderr,
        pid,
        pidfd: open_pidfd(pid)?,
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

impl Suspended {
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
        self.signal_group(libc::SIGINT);
    }

    pub(crate) fn kill_group(&self) {
        self.signal_group(libc::SIGKILL);
    }

    /// Signals the process group. A group that has already ended cannot be signalled: that error is expected.
    fn signal_group(&self, signal: libc::c_int) {
        // SAFETY: signals a process group that we made; no memory is involved.
        unsafe { libc::kill(-(self.pid as libc::pid_t), signal) };
    }
}

fn set_inherited(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: changes a flag of a descriptor that we own.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers and returns a new descriptor or an error.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

/// Makes orphans of the tree our children, so that we see when the last one ends.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: sets an attribute of our own process.
    let result = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits for adopted processes; returns `false` when some still live after `patience`.
pub(crate) async fn reap_orphans(patience: Duration) -> bool {
    let until = tokio::time::Instant::now() + patience;
    loop {
        // SAFETY: waits for any ended child; the status is not used.
        let result = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        match result {
            -1 => return true,
            0 if tokio::time::Instant::now() >= until => return false,
            0 => tokio::time::sleep(Duration::from_millis(20)).await,
            _ => {}
        }
    }
}
