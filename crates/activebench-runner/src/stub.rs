//! The stub: our own executable, started in place of the tool. It waits until the observation is ready and then
//! becomes the tool.
//!
//! A blocking `pre_exec` would deadlock the spawning parent, and SIGSTOP would be visible in the tool's own wait
//! status. Therefore the child is a separate process that waits on a socket.

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

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
    let code = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
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
    // Our own descriptor closes with the execution, which informs the parent.
    if let Err(error) = fcntl_setfd(control, FdFlags::CLOEXEC) {
        return error.into();
    }
    if let Some(identity) = identity
        && let Err(error) = take_identity(identity)
    {
        return error;
    }
    let Some((program, rest)) = argv.split_first() else { return Errno::INVAL.into() };
    let program: &OsStr = program;
    if program.as_bytes().is_empty() {
        return Errno::NOENT.into();
    }
    std::process::Command::new(program).args(rest).exec()
}

fn take_identity(identity: Identity) -> io::Result<()> {
    // These change one thread: this process has no other, and is about to execute the tool.
    let group = Gid::from_raw(identity.gid);
    set_thread_groups(&[group])?;
    set_thread_gid(group)?;
    Ok(set_thread_uid(Uid::from_raw(identity.uid))?)
}
