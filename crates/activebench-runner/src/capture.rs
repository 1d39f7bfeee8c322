//! Our end of one of the child's output streams: a pipe, or a pseudo-terminal if our own stream is a terminal, so
//! that the tool behaves as it would without us.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;

use tokio::io::unix::AsyncFd;

/// Reads what the child writes to one stream.
#[derive(Debug)]
pub(crate) struct Capture {
    fd: AsyncFd<OwnedFd>,
}

impl Capture {
    /// Opens a stream: our end, and the end for the child. `like` is our own stream when it is a terminal.
    pub(crate) fn open(like: Option<libc::c_int>) -> io::Result<(Self, Stdio)> {
        let (ours, theirs) = match like {
            Some(terminal) => open_terminal(terminal)?,
            None => open_pipe()?,
        };
        // SAFETY: changes the flags of a descriptor that we own.
        if unsafe { libc::fcntl(ours.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: an `OwnedFd` keeps its one descriptor open until it is dropped with the `AsyncFd`.
        let fd = unsafe { AsyncFd::register(ours) }?;
        Ok((Self { fd }, Stdio::from(theirs)))
    }

    /// As `read(2)`: returns 0 when every process has closed its end.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.fd.readable().await?;
            let read = ready.try_io(|fd| {
                // SAFETY: writes at most `buffer.len()` bytes into `buffer`.
                let count = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
                usize::try_from(count).map_err(|_| io::Error::last_os_error())
            });
            match read {
                // A pseudo-terminal reports EIO at the end, when its other side is closed.
                Ok(Err(error)) if error.raw_os_error() == Some(libc::EIO) => return Ok(0),
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
fn open_terminal(like: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let (mut ours, mut theirs) = (-1, -1);
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: both requests fill locals of the right types; openpty returns two descriptors that nobody else owns.
    unsafe {
        if libc::ioctl(like, libc::TIOCGWINSZ, &raw mut size) < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::openpty(&raw mut ours, &raw mut theirs, std::ptr::null_mut(), std::ptr::null(), &raw const size) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: openpty has just given them to us.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    for fd in [&ours, &theirs] {
        // SAFETY: changes a flag of a descriptor that we own.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: reads and writes the settings of our own terminal through a local; all zeroes
    // is a value of termios.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(theirs.as_raw_fd(), &raw mut settings) < 0 {
            return Err(io::Error::last_os_error());
        }
        // Without output processing a newline stays a newline in what we keep.
        settings.c_oflag &= !libc::OPOST;
        if libc::tcsetattr(theirs.as_raw_fd(), libc::TCSANOW, &raw const settings) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
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
