//! Errors of loading and using the kernel programs, and what the kernel says when it refuses them.

use std::io;

use aya::programs::ProgramError;

/// The reason why the observation failed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The kernel does not permit it.
    #[error("cannot load the kernel programs: {0} (hint: run as root, or grant CAP_BPF and CAP_PERFMON)")]
    NotPermitted(String),
    /// The kernel finds a program unsafe. Its error code is the same as for missing rights.
    #[error(
        "cannot load the kernel programs: the kernel's verifier refuses {program}: {why} \
         (hint: docs/kernels.md lists the kernels that were tried; please report this one)"
    )]
    Refused {
        /// The program.
        program: &'static str,
        /// The last line of the verifier's log.
        why: String,
    },
    /// The kernel has no type information.
    #[error("cannot read the kernel's type information: {0} (hint: a kernel with CONFIG_DEBUG_INFO_BTF is needed)")]
    NoBtf(String),
    /// This architecture has no table of system calls.
    #[error("no table of system calls for this processor architecture (hint: only x86-64 is known so far)")]
    UnknownArchitecture,
    /// The kernel has no memory for their maps.
    #[error(
        "cannot load the kernel programs: {0}: not enough memory (hint: their maps take tens of MiB, which the memory limit \
         of a container or control group counts: raise it, or run activebench outside and name the control group of the \
         benchmark with `watch --cgroup`)"
    )]
    NoMemory(String),
    /// Any other error of aya or the kernel.
    #[error("cannot load the kernel programs: {0}")]
    Load(String),
    /// The object is not the one whose sum was recorded when it was built.
    #[error(
        "cannot load the kernel programs: their object has the SHA-256 {found}, the committed one has {expected} \
         (hint: reinstall activebench; in a working copy, cargo xtask bpf)"
    )]
    OtherObject {
        /// Its sum.
        found: String,
        /// The recorded sum.
        expected: String,
    },
    /// A map differs from the object's description: the object and this program do not match.
    #[error("cannot use map {map}: {why}")]
    Map {
        /// Its name.
        map: &'static str,
        /// The problem.
        why: String,
    },
    /// The first task could not be followed.
    #[error("cannot follow process {pid}: {source}")]
    Seed {
        /// The child.
        pid: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The first task could not be traced.
    #[error(
        "cannot trace process {pid}: {source} (hint: `sysctl kernel.yama.ptrace_scope` has to be 0 or 1, and a container's \
         seccomp profile has to allow ptrace)"
    )]
    NotTraced {
        /// The child.
        pid: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A process may not be watched.
    #[error("{0}")]
    NotWatched(String),
    /// The thread that reads the ring could not be started, or died.
    #[error("the thread that reads the records: {0}")]
    Reader(String),
    /// The privileged process failed, or could not be started or understood.
    #[error("{0}")]
    Observer(String),
}

/// Returns the errno at the bottom of an error chain.
pub(crate) fn os_error(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(code) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Some(code);
        }
        current = error.source();
    }
    None
}

/// Returns the reason why the kernel's verifier refuses a program; `None` when it gave none, as when we lack the
/// right to load any.
pub(crate) fn verifier_verdict(error: &ProgramError) -> Option<String> {
    let ProgramError::LoadError { verifier_log, .. } = error else { return None };
    last_words(&verifier_log.to_string()).map(str::to_owned)
}

/// Returns the last line of a verifier's log that is not a figure about its own work.
fn last_words(log: &str) -> Option<&str> {
    const FIGURES: [&str; 3] = ["processed ", "verification time ", "stack depth "];
    log.lines().map(str::trim).rfind(|line| !line.is_empty() && !FIGURES.iter().any(|figure| line.starts_with(figure)))
}

pub(crate) fn refusal(error: &aya::EbpfError) -> ProbeError {
    match os_error(error) {
        Some(code @ (libc::EPERM | libc::EACCES)) => {
            ProbeError::NotPermitted(io::Error::from_raw_os_error(code).to_string())
        }
        Some(libc::ENOMEM) => ProbeError::NoMemory(error.to_string()),
        Some(code) => ProbeError::Load(format!("{error}: {}", io::Error::from_raw_os_error(code))),
        None => ProbeError::Load(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aya_obj::VerifierLog;

    #[track_caller]
    fn check(code: i32, log: &str, expected: Option<&str>) {
        let io_error = io::Error::from_raw_os_error(code);
        let error = ProgramError::LoadError { io_error, verifier_log: VerifierLog::new(log.to_owned()) };
        assert_eq!(verifier_verdict(&error).as_deref(), expected, "{log}");
    }

    #[test]
    fn a_lack_of_memory_and_of_rights_say_what_helps() {
        let refused = |code| {
            let io_error = io::Error::from_raw_os_error(code);
            let map = aya::maps::MapError::CreateError { name: "ring".to_owned(), io_error };
            refusal(&aya::EbpfError::MapError(map)).to_string()
        };
        assert!(refused(libc::ENOMEM).contains("`ring`: not enough memory (hint: "), "{}", refused(libc::ENOMEM));
        assert!(refused(libc::EPERM).contains("(hint: run as root"), "{}", refused(libc::EPERM));
        assert!(refused(libc::EINVAL).ends_with("`ring`: Invalid argument (os error 22)"), "{}", refused(libc::EINVAL));
    }

    #[test]
    fn a_refusal_of_the_verifier_is_told_from_a_lack_of_rights() {
        // The end of the log on Linux 6.12: the figures follow the reason.
        let log = "1358: (85) call bpf_ringbuf_output#130\nR3 min value is negative, either use unsigned or 'var &= const'\n\
                   verification time 32900 usec\nstack depth 80+0+16\nprocessed 678 insns (limit 1000000) total_states 56\n\n";
        check(libc::EACCES, log, Some("R3 min value is negative, either use unsigned or 'var &= const'"));
        check(libc::EPERM, "", None);
        check(libc::EACCES, "processed 0 insns (limit 1000000)\n", None);
        assert_eq!(verifier_verdict(&ProgramError::NotLoaded), None);
    }
}
