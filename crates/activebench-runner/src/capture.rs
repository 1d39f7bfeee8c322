//! Our end of one of the child's output streams: a pipe, or a pseudo-terminal if our own stream is a terminal, so
//! that the tool behaves as it would without us.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize};
use tokio::io::unix::AsyncFd;

/// Reads what the child writes to one stream.
#[derive(Debug)]
pub(crate) struct Capture {
    fd: AsyncFd<OwnedFd>,
    is_terminal: bool,
}

impl Capture {
    /// Opens a stream: our end, and the end for the child. `like` is our own stream when it is a terminal.
    pub(crate) fn open(like: Option<BorrowedFd<'_>>) -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = match like {
            Some(terminal) => open_terminal(terminal)?,
            None => open_pipe()?,
        };
        fcntl_setfl(&ours, OFlags::NONBLOCK)?;
        // SAFETY: an `OwnedFd` keeps its one descriptor open until it is dropped with the `AsyncFd`.
        let fd = unsafe { AsyncFd::register(ours) }?;
        Ok((Self { fd, is_terminal: like.is_some() }, Stdio::from(theirs)))
    }

    /// Gives the child's terminal, if it has one, the size of ours. Where ours is gone the size stays.
    pub(crate) fn resize(&self, like: BorrowedFd<'_>) {
        if let (true, Ok(size)) = (self.is_terminal, tcgetwinsize(like)) {
            let _ = tcsetwinsize(&self.fd, size);
        }
    }

    /// As `read(2)`: returns 0 when every process has closed its end.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.readable().await?;
            let read = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut *buffer)?));
            match read {
                // A pseudo-terminal reports EIO at the end, when its other side is closed.
                Ok(Err(error)) if Errno::from_io_error(&error) == Some(Errno::IO) => return Ok(0),
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }
}

fn open_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// Opens a pseudo-terminal with the size of ours that passes bytes through unchanged.
fn open_terminal(like: BorrowedFd<'_>) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let size = tcgetwinsize(like)?;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    tcsetwinsize(&theirs, size)?;
    let mut settings = tcgetattr(&theirs)?;
    // Without output processing a newline stays a newline in what we keep.
    settings.output_modes.remove(OutputModes::OPOST);
    tcsetattr(&theirs, OptionalActions::Now, &settings)?;
    Ok((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pipe_ends_when_its_writers_have_closed_it() {
        let (mut capture, stdio) = Capture::open(None).expect("a pipe");
        let mut child = std::process::Command::new("printf").arg("one\\ntwo").stdout(stdio).spawn().expect("printf");
        let mut seen = Vec::new();
        let mut buffer = [0; 4];
        loop {
            match capture.read(&mut buffer).await.expect("it reads") {
                0 => break,
                count => seen.extend_from_slice(&buffer[..count]),
            }
        }
        assert_eq!(seen, b"one\ntwo");
        assert!(child.wait().expect("it ended").success());
    }
}
