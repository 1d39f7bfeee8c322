//! Names of Linux's errors and signals, as programs and manuals spell them. Numbers as on x86-64 and arm64.

/// Errors by their numbers: `include/uapi/asm-generic/errno-base.h` and `errno.h` of Linux 6.12, without those that no
/// call on files returns.
const ERRORS: &[(i32, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (3, "ESRCH"),
    (4, "EINTR"),
    (5, "EIO"),
    (6, "ENXIO"),
    (7, "E2BIG"),
    (8, "ENOEXEC"),
    (9, "EBADF"),
    (10, "ECHILD"),
    (11, "EAGAIN"),
    (12, "ENOMEM"),
    (13, "EACCES"),
    (14, "EFAULT"),
    (15, "ENOTBLK"),
    (16, "EBUSY"),
    (17, "EEXIST"),
    (18, "EXDEV"),
    (19, "ENODEV"),
    (20, "ENOTDIR"),
    (21, "EISDIR"),
    (22, "EINVAL"),
    (23, "ENFILE"),
    (24, "EMFILE"),
    (25, "ENOTTY"),
    (26, "ETXTBSY"),
    (27, "EFBIG"),
    (28, "ENOSPC"),
    (29, "ESPIPE"),
    (30, "EROFS"),
    (31, "EMLINK"),
    (32, "EPIPE"),
    (33, "EDOM"),
    (34, "ERANGE"),
    (35, "EDEADLK"),
    (36, "ENAMETOOLONG"),
    (37, "ENOLCK"),
    (38, "ENOSYS"),
    (39, "ENOTEMPTY"),
    (40, "ELOOP"),
    (61, "ENODATA"),
    (62, "ETIME"),
    (71, "EPROTO"),
    (74, "EBADMSG"),
    (75, "EOVERFLOW"),
    (84, "EILSEQ"),
    (85, "ERESTART"),
    (90, "EMSGSIZE"),
    (95, "EOPNOTSUPP"),
    (103, "ECONNABORTED"),
    (104, "ECONNRESET"),
    (105, "ENOBUFS"),
    (107, "ENOTCONN"),
    (110, "ETIMEDOUT"),
    (111, "ECONNREFUSED"),
    (112, "EHOSTDOWN"),
    (113, "EHOSTUNREACH"),
    (114, "EALREADY"),
    (115, "EINPROGRESS"),
    (116, "ESTALE"),
    (117, "EUCLEAN"),
    (121, "EREMOTEIO"),
    (122, "EDQUOT"),
    (123, "ENOMEDIUM"),
    (124, "EMEDIUMTYPE"),
    (125, "ECANCELED"),
];

/// Signals by their numbers: signal(7).
const SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (10, "SIGUSR1"),
    (11, "SIGSEGV"),
    (12, "SIGUSR2"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
];

/// Returns the name of an error: `ENOSPC`; `None` for a number without one.
pub fn error_name(number: i32) -> Option<&'static str> {
    name(ERRORS, number)
}

/// Returns the number of a named error.
pub fn error_number(word: &str) -> Option<i32> {
    number(ERRORS, word)
}

/// Returns the name of a signal: `SIGKILL`; `None` for a number without one.
pub fn signal_name(number: i32) -> Option<&'static str> {
    name(SIGNALS, number)
}

/// Returns the number of a named signal.
pub fn signal_number(word: &str) -> Option<i32> {
    number(SIGNALS, word)
}

fn name(of: &[(i32, &'static str)], number: i32) -> Option<&'static str> {
    of.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

fn number(of: &[(i32, &str)], word: &str) -> Option<i32> {
    of.iter().find(|(_, name)| *name == word).map(|(known, _)| *known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_used_once() {
        for list in [ERRORS, SIGNALS] {
            for (place, (known, word)) in list.iter().enumerate() {
                assert!(!list[place + 1..].iter().any(|(other, name)| other == known || name == word), "{word}");
                assert_eq!((name(list, *known), number(list, word)), (Some(*word), Some(*known)));
            }
        }
        assert_eq!((error_name(-1), error_number("EWHAT")), (None, None));
    }
}
