//! The stub: our own executable, started in place of the tool. It waits until the observation is ready and then
//! becomes the tool.
//!
//! A blocking `pre_exec` would deadlock the spawning parent, and SIGSTOP would be visible in the tool's own wait
//! status. Therefore the child is a separate process that waits on a socket.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

/// The hidden subcommand of our executable.
pub const SUBCOMMAND: &str = "__exec";

/// A user and their main group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User.
    pub uid: u32,
    /// Main group.
    pub gid: u32,
}

/// Looks up a user by name; `None` when there is no such user.
pub fn identity_of(name: &str) -> Option<Identity> {
    let name = CString::new(name).ok()?;
    // SAFETY: `name` is a C string; the result is read immediately, before any other call could change it, and we
    // have not started threads that look up users.
    unsafe {
        let entry = libc::getpwnam(name.as_ptr());
        (!entry.is_null()).then(|| Identity { uid: (*entry).pw_uid, gid: (*entry).pw_gid })
    }
}

/// Returns the arguments with which the stub is started.
pub(crate) fn arguments(control: RawFd, identity: Option<Identity>, argv: &[OsString]) -> Vec<OsString> {
    let identity = identity.map_or_else(|| "-".to_owned(), |identity| format!("{}:{}", identity.uid, identity.gid));
    let mut arguments: Vec<OsString> = vec![SUBCOMMAND.into(), control.to_string().into(), identity.into()];
    arguments.extend(argv.iter().cloned());
    arguments
}

/// Runs the stub; returns only after a failure, with an exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let Some((control, identity, argv)) = understand(arguments) else { return 70 };
    // SAFETY: the descriptor was inherited for us alone, as our argument states.
    let mut control = unsafe { UnixStream::from_raw_fd(control) };
    let error = match wait_for_release(&mut control) {
        Ok(true) => become_tool(&control, identity, &argv),
        // The parent has ended, so there is nobody to run the tool for.
        Ok(false) => return 70,
        Err(error) => error,
    };
    let code = error.raw_os_error().unwrap_or(libc::EIO);
    match control.write_all(&code.to_ne_bytes()) {
        Ok(()) => 127,
        Err(_) => 70,
    }
}

fn understand(arguments: &[OsString]) -> Option<(RawFd, Option<Identity>, Vec<OsString>)> {
    let [control, identity, argv @ ..] = arguments else { return None };
    let control = control.to_str()?.parse().ok()?;
    let identity = match identity.to_str()? {
        "-" => None,
        pair => {
            let (uid, gid) = pair.split_once(':')?;
            Some(Identity { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
        }
    };
    (!argv.is_empty()).then(|| (control, identity, argv.to_vec()))
}

fn wait_for_release(control: &mut UnixStream) -> io::Result<bool> {
    control.write_all(&[1])?;
    let mut release = [0];
    Ok(control.read(&mut release)? == 1)
}

/// Executes the tool; returns only after a failure, with the reason.
fn become_tool(control: &UnixStream, identity: Option<Identity>, argv: &[OsString]) -> io::Error {
    // SAFETY: makes our own descriptor close with the execution, which informs the parent.
    if unsafe { libc::fcntl(control.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return io::Error::last_os_error();
    }
    if let Some(identity) = identity
        && let Err(error) = take_identity(identity)
    {
        return error;
    }
    let Some((program, rest)) = argv.split_first() else { return io::Error::from_raw_os_error(libc::EINVAL) };
    let program: &OsStr = program;
    if program.as_bytes().is_empty() {
        return io::Error::from_raw_os_error(libc::ENOENT);
    }
    std::process::Command::new(program).args(rest).exec()
}

fn take_identity(identity: Identity) -> io::Result<()> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    // SAFETY: changes only this process, which has one thread and is about to execute the tool.
    unsafe {
        check(libc::setgroups(1, &raw const identity.gid))?;
        check(libc::setgid(identity.gid))?;
        check(libc::setuid(identity.uid))
    }
}
