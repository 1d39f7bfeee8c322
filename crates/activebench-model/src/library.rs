//! Calls of library functions, which the kernel does not see: `library.json`.

use serde::{Deserialize, Serialize};

/// What a function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Runs once in each process that uses the library, before its own code.
    Start,
    /// Takes data of the program, to write it now or later.
    Write,
    /// Gives data to the program, read now or before.
    Read,
    /// Hands requests to the kernel, or asks for their results.
    Submit,
    /// Hands data that was taken before to the kernel.
    Flush,
}

/// Which argument says how many bytes a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// None.
    Nothing = 0,
    /// None; it is one byte.
    OneByte = 1,
    /// The second one, a size, times the third one, a number of members.
    Members = 2,
    /// The third one.
    Third = 3,
}

/// A function of which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// The library: its file's name before `.so`.
    pub library: &'static str,
    /// Its symbol.
    pub name: &'static str,
    /// What it is for.
    pub role: Role,
    /// Where a call says how many bytes it asks for.
    pub asked: Asked,
}

const LIBC: &str = "libc";
const LIBAIO: &str = "libaio";
const LIBURING: &str = "liburing";

const fn function(library: &'static str, name: &'static str, role: Role, asked: Asked) -> Function {
    Function { library, name, role, asked }
}

/// Every function that is counted, the number of each being its place. Several names of one place in the code (`getc` and
/// `fgetc` of glibc) are counted once, under the first of them.
pub const FUNCTIONS: &[Function] = &[
    function(LIBC, "__libc_early_init", Role::Start, Asked::Nothing),
    function(LIBC, "fwrite", Role::Write, Asked::Members),
    function(LIBC, "fwrite_unlocked", Role::Write, Asked::Members),
    function(LIBC, "putc", Role::Write, Asked::OneByte),
    function(LIBC, "fputc", Role::Write, Asked::OneByte),
    function(LIBC, "putc_unlocked", Role::Write, Asked::OneByte),
    function(LIBC, "fputc_unlocked", Role::Write, Asked::OneByte),
    function(LIBC, "fputs", Role::Write, Asked::Nothing),
    function(LIBC, "fread", Role::Read, Asked::Members),
    function(LIBC, "fread_unlocked", Role::Read, Asked::Members),
    function(LIBC, "getc", Role::Read, Asked::OneByte),
    function(LIBC, "fgetc", Role::Read, Asked::OneByte),
    function(LIBC, "getc_unlocked", Role::Read, Asked::OneByte),
    function(LIBC, "fgets", Role::Read, Asked::Nothing),
    function(LIBC, "fflush", Role::Flush, Asked::Nothing),
    function(LIBAIO, "io_submit", Role::Submit, Asked::Nothing),
    function(LIBAIO, "io_getevents", Role::Submit, Asked::Nothing),
    function(LIBURING, "io_uring_submit", Role::Submit, Asked::Nothing),
    function(LIBURING, "io_uring_submit_and_wait", Role::Submit, Asked::Nothing),
];

/// The calls of library functions that a run counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryCalls {
    /// The files on whose functions they were counted, in the order of their names.
    pub files: Vec<String>,
    /// Functions that were not counted, each with the reason.
    pub uncounted: Vec<String>,
    /// Calls that found no room: how they are spread is not known.
    pub lost_calls: u64,
    /// The counts, in the order of time.
    pub spans: Vec<LibrarySpan>,
}

/// The calls of one thread to one function in a span of time in which the tree opened and closed no file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibrarySpan {
    /// Its symbol. A run of a later version may have others than [`FUNCTIONS`].
    pub function: String,
    /// The process.
    pub tgid: u32,
    /// The thread.
    pub tid: u32,
    /// Number of calls.
    pub calls: u64,
    /// Bytes that they asked for; 0 where no argument says that.
    pub asked_bytes: u64,
    /// How often the tree had opened or closed a file before.
    pub generation: u64,
    /// Time of the first one: `CLOCK_MONOTONIC`.
    pub first_ns: u64,
    /// Time of the last one.
    pub last_ns: u64,
}

impl LibrarySpan {
    /// Returns the function, if this version knows it.
    pub fn function(&self) -> Option<&'static Function> {
        FUNCTIONS.iter().find(|function| function.name == self.function)
    }
}

/// Calls to one function inside a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedFunction {
    /// Its symbol.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// More calls that may belong to this phase or to another one.
    pub open_calls: u64,
    /// Bytes that those of `calls` asked for; 0 where no argument says that.
    pub asked_bytes: u64,
}
