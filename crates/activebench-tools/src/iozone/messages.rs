//! iozone's messages about errors and about the validity of its figures.

/// Beginnings of the lines in which iozone reports an error. From the texts of 3.489.
const ERRORS: &[&str] = &[
    "Can not ",
    "Can't ",
    "Error",
    "I/O error during read",
    "iozone: interrupted",
    "iozone: invalid option",
    "iozone: option requires",
    "Unsupported ",
    "invalid options",
    "Invalid options",
    "You must ",
    "You can not ",
    "Sorry ...",
    "Sanity check failed",
    "Unable to open ",
    "Mapping failed",
    "Shared memory not working",
    "Memory allocation failed",
    "Malloc failed",
    "Fork failed",
    "Thread create failed",
    "File lock for ",
    "Read unlock failed",
    "Write unlock failed",
    "Read failed",
    "aio_error",
    "aio_return error",
    "error returned from aio",
    "Microsecond mode not supported",
    "Full verification not supported",
];

/// Beginnings of the lines worth a note because they affect the meaning of the figures.
const NOTES: &[(&str, &str)] = &[
    ("Performance measurements are invalid in this mode", "the tool calls its own figures invalid"),
    ("Performance measurements may be invalid", "the tool calls its own figures doubtful"),
    ("filesystem development testing ONLY", "the tool calls its own figures invalid"),
    ("Timer resolution is poor", "the tool says that its clock is too coarse"),
    ("reported inaccurate results", "the tool says which sizes its clock is too coarse for"),
    ("The test completed too quickly", "the tool says that the test was too short"),
    ("CPU utilization", "CPU time is printed and not claimed"),
    ("CPU Utilization", "CPU time is printed and not claimed"),
    ("Histogram summary enabled", "latency histograms are written elsewhere and not read"),
    ("Offset/latency files enabled", "latency files are written beside the output and not read"),
    ("Selected test not available", "the tool left a test out"),
    ("Usage:", "the tool printed its usage"),
    ("iozone: help mode", "the tool printed its help"),
];

/// Prefixes of `perror(3)` that iozone uses; with a terminal they are mixed into stdout.
const PERROR: &[&str] =
    &["open", "creat", "read", "write", "pread", "pwrite", "fsync", "lseek", "stat", "msync", "mmap", "fopen", "fread"];

/// Returns true if a line of standard output reports an error.
pub(super) fn is_error(text: &str) -> bool {
    ERRORS.iter().any(|error| text.starts_with(error)) || is_perror(text)
}

/// Returns a line's remark on the figures; `None` for a line without one.
pub(super) fn remark(text: &str) -> Option<&'static str> {
    NOTES.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|&(_, message)| message)
}

fn is_perror(text: &str) -> bool {
    PERROR.iter().any(|call| text.strip_prefix(call).is_some_and(|rest| rest.starts_with(": ")))
}
