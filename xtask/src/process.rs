//! The two things that a task needs of the process around it: who it is, and that an
//! interrupt reaches the child without cutting the task's own cleaning short.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an interrupt came; set in a signal's context, where little else may be done.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the task runs with root's rights.
pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid takes no argument, touches no memory of ours and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// From here on an interrupt from the terminal does not end this process; [`interrupted`]
/// tells of it.
///
/// The terminal sends SIGINT to the child as well: activebench then stops the benchmark
/// and writes its report, and the task must live on to remove the benchmark's files. A
/// handler is set and not `SIG_IGN`, because an ignored signal stays ignored in the
/// child after `execve`, a handled one does not.
pub(crate) fn outlive_interrupt() {
    extern "C" fn note(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = note as extern "C" fn(libc::c_int);
    // SAFETY: the handler is a function of the signature that signal(2) wants, lives as
    // long as the program, and stores to an atomic, so it is safe in a signal's context.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

/// Whether an interrupt has come since [`outlive_interrupt`].
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The command that runs the same task as root.
///
/// `sudo` replaces `PATH` on most systems, and cargo often lies outside of its list.
pub(crate) fn as_root(task: &str) -> String {
    format!("sudo -E env \"PATH=$PATH\" cargo xtask {task}")
}
