//! Two services of the process for a task: its user, and the handling of an interrupt. An interrupt reaches the child
//! without cutting short the task's own cleanup.

use std::sync::atomic::{AtomicBool, Ordering};

/// `true` after an interrupt; set in a signal's context, in which only async-signal-safe operations are allowed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Returns `true` when the task runs with root's rights.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// From here on an interrupt from the terminal does not end this process; [`interrupted`] reports it.
///
/// The terminal sends SIGINT to the child as well: activebench then stops the benchmark and writes its report. The task
/// must survive to remove the benchmark's files. It sets a handler and not `SIG_IGN`, because an ignored signal stays
/// ignored in the child after `execve`, but a handled one does not.
pub(crate) fn outlive_interrupt() {
    extern "C" fn note(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = note as extern "C" fn(libc::c_int);
    // SAFETY: the handler is a function of the signature that signal(2) wants, lives as long as the program, and stores
    // to an atomic, so it is async-signal-safe.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

/// Returns `true` after an interrupt since [`outlive_interrupt`].
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns the command that runs the same task as root.
///
/// `sudo` replaces `PATH` on most systems, and cargo is often outside of its list.
pub(crate) fn as_root(task: &str) -> String {
    format!("sudo -E env \"PATH=$PATH\" cargo xtask {task}")
}
