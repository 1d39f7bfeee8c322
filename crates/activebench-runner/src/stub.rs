//! The stub: our own executable, started in place of the tool. It waits until the observation is ready and then
//! becomes the tool.
//!
//! A blocking `pre_exec` would deadlock the spawning parent, and SIGSTOP would be visible in the tool's own wait
//! status. Therefore the child is a separate process that waits on a socket.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use activebench_probe::{CallFilter, PRELOAD_VARIABLE, permit_tracer};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use rustix::thread::set_no_new_privs;
use serde::{Deserialize, Serialize};

use crate::confinement::Confinement;
use crate::identity::Identity;

/// The hidden subcommand of our executable.
pub const SUBCOMMAND: &str = "__exec";

/// What the stub does before it becomes the tool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The user that it becomes; `None` for our own. They are looked up again: the name decides.
    pub(crate) user: Option<String>,
    /// `true` to let set-user-ID programs and file capabilities give the tool more rights.
    pub(crate) allow_new_privileges: bool,
    /// What it may write; `None` for whatever its user may.
    pub(crate) confinement: Option<Confinement>,
    /// File that is executed; `None` to look the first word up.
    pub(crate) program: Option<PathBuf>,
    /// Our process, with which the tool ends.
    pub(crate) parent: u32,
    /// The process that traces it: the calls that this one decodes stop from the tool's execution on.
    pub(crate) tracer: Option<u32>,
    /// What the dynamic linker loads into the tool, for the tracer.
    pub(crate) preload: Option<OsString>,
}

/// Returns the arguments with which the stub is started.
pub(crate) fn arguments(control: RawFd, orders: &Orders, argv: &[OsString]) -> io::Result<Vec<OsString>> {
    let orders = serde_json::to_string(orders)?;
    let mut arguments: Vec<OsString> = vec![SUBCOMMAND.into(), control.to_string().into(), orders.into()];
    arguments.extend(argv.iter().cloned());
    Ok(arguments)
}

/// Runs the stub; returns only after a failure, with an exit code.
pub fn main(arguments: &[OsString]) -> u8 {
    let Some((control, orders, argv)) = understand(arguments) else { return 70 };
    // SAFETY: the descriptor was inherited for us alone, as our argument states.
    let mut control = unsafe { UnixStream::from_raw_fd(control) };
    if let Some(tracer) = orders.tracer {
        permit_tracer(tracer);
    }
    let error = match wait_for_release(&mut control) {
        Ok(true) => become_tool(&control, &orders, &argv),
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

fn understand(arguments: &[OsString]) -> Option<(RawFd, Orders, Vec<OsString>)> {
    let [control, orders, argv @ ..] = arguments else { return None };
    let control = control.to_str()?.parse().ok()?;
    let orders = serde_json::from_str(orders.to_str()?).ok()?;
    (!argv.is_empty()).then(|| (control, orders, argv.to_vec()))
}

fn wait_for_release(control: &mut UnixStream) -> io::Result<bool> {
    control.write_all(&[1])?;
    let mut release = [0];
    Ok(control.read(&mut release)? == 1)
}

/// Executes the tool; returns only after a failure, with the reason.
fn become_tool(control: &UnixStream, orders: &Orders, argv: &[OsString]) -> io::Error {
    // Our own descriptor closes with the execution, which informs the parent.
    if let Err(error) = fcntl_setfd(control, FdFlags::CLOEXEC) {
        return error.into();
    }
    let identity = match &orders.user {
        None => None,
        Some(user) => match Identity::of(user) {
            None => return Errno::NOENT.into(),
            known => known,
        },
    };
    if let Err(error) = limit_rights(identity.as_ref(), orders) {
        return error;
    }
    let Some((program, rest)) = argv.split_first() else { return Errno::INVAL.into() };
    let program: &OsStr = program;
    if program.as_bytes().is_empty() {
        return Errno::NOENT.into();
    }
    let mut command = match &orders.program {
        None => std::process::Command::new(program),
        Some(file) => {
            let mut command = std::process::Command::new(file);
            command.arg0(program);
            command
        }
    };
    if let Some(Identity { name, home, .. }) = &identity {
        command.env("HOME", home).env("USER", name).env("LOGNAME", name);
    }
    command.args(rest);
    if let Some(preload) = &orders.preload {
        command.env(PRELOAD_VARIABLE, preload);
    }
    if orders.tracer.is_some() {
        // Last: from here on the calls that are decoded stop.
        let filter = CallFilter::of_decoded_calls().ok_or_else(|| io::Error::from(Errno::NOSYS));
        if let Err(error) = filter.and_then(|filter| filter.take()) {
            return error;
        }
    }
    command.exec()
}

fn limit_rights(identity: Option<&Identity>, orders: &Orders) -> io::Result<()> {
    if let Some(identity) = identity {
        if let Some(confinement) = &orders.confinement {
            confinement.grant_devices(identity)?;
        }
        identity.take()?;
    }
    if !orders.allow_new_privileges || orders.confinement.is_some() {
        set_no_new_privs(true)?;
    }
    if let Some(confinement) = &orders.confinement {
        confinement.take()?;
    }
    // After the identity, which resets it. A benchmark without a recorder would write on, unobserved.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().cast_unsigned());
    match parent == Some(orders.parent) {
        true => Ok(()),
        false => Err(io::Error::other("the recorder has ended")),
    }
}
