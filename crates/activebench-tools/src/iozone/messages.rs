//! iozone's own words about errors and about the worth of its figures.

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

/// Beginnings of the lines worth a note: they bear on what the figures mean.
const NOTES: &[(&str, &str)] = &[
    ("Performance measurements are invalid in this mode", "the tool calls its own figures invalid"),
    ("Performance measurements may be invalid", "the tool calls its own figures doubtful"),
    ("filesystem development testing ONLY", "the tool calls its own figures invalid"),
    ("Timer resolution is poor", "the tool says that its clock is too coarse"),
    ("reported inaccurate results", "the tool says which sizes its clock is too coarse for"),
    ("The test completed too quickly", "the tool says that the test was too short"),
    ("CPU utilization", "processor time is printed and not claimed"),
    ("CPU Utilization", "processor time is printed and not claimed"),
    ("Histogram summary enabled", "latency histograms are written elsewhere and not read"),
    ("Offset/latency files enabled", "latency files are written beside the output and not read"),
    ("Selected test not available", "the tool left a test out"),
    ("Usage:", "the tool printed its usage"),
    ("iozone: help mode", "the tool printed its help"),
];

/// Prefixes of `perror(3)` that iozone uses; with a terminal they are mixed into stdout.
const PERROR: &[&str] =
    &["open", "creat", "read", "write", "pread", "pwrite", "fsync", "lseek", "stat", "msync", "mmap", "fopen", "fread"];

/// Whether a line of standard output reports an error.
pub(super) fn is_error(text: &str) -> bool {
    ERRORS.iter().any(|error| text.starts_with(error)) || is_perror(text)
}

/// What a line says that bears on the figures; `None` for a line that says nothing.
pub(super) fn remark(text: &str) -> Option<&'static str> {
    NOTES.iter().find(|(beginning, _)| text.starts_with(beginning)).map(|&(_, message)| message)
}

fn is_perror(text: &str) -> bool {
    PERROR.iter().any(|call| text.strip_prefix(call).is_some_and(|rest| rest.starts_with(": ")))
}
