//! The two things that a task needs of the process around it: who it is, and that an
//! interrupt reaches the child without cutting the task's own cleaning short.

/// Whether the task runs with root's rights.
pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid takes no argument, touches no memory of ours and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// From here on an interrupt from the terminal does not end this process.
///
/// The terminal sends SIGINT to the child as well: activebench then stops the benchmark
/// and writes its report, and the task must live on to remove the benchmark's files. A
/// handler is set and not `SIG_IGN`, because an ignored signal stays ignored in the
/// child after `execve`, a handled one does not.
pub(crate) fn outlive_interrupt() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    let handler = nothing as extern "C" fn(libc::c_int);
    // SAFETY: the handler is a function of the signature that signal(2) wants, lives as
    // long as the program, and does nothing, so it is safe in a signal's context.
    unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
}

/// The command that runs the same task as root.
///
/// `sudo` replaces `PATH` on most systems, and cargo often lies outside of its list.
pub(crate) fn as_root(task: &str) -> String {
    format!("sudo -E env \"PATH=$PATH\" cargo xtask {task}")
}
