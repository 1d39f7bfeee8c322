//! The system calls of a tracer.

use std::io;
use std::mem::{size_of, zeroed};
use std::ptr;

/// A process or thread, as the kernel numbers them.
pub(super) type Tid = i32;

const SEIZE: u32 = 0x4206;
const LISTEN: u32 = 0x4208;
const GET_SYSCALL_INFO: u32 = 0x420e;
const GET_EVENT_MESSAGE: u32 = 0x4201;
const CONT: u32 = 7;
const SYSCALL: u32 = 24;

/// Ends of a stop (`PTRACE_EVENT_*`).
const EVENT_FORK: i32 = 1;
const EVENT_VFORK: i32 = 2;
const EVENT_CLONE: i32 = 3;
const EVENT_EXEC: i32 = 4;
const EVENT_EXIT: i32 = 6;
const EVENT_SECCOMP: i32 = 7;
const EVENT_STOP: i32 = 128;

/// `PTRACE_O_*`: stops at calls are told from signals; births, executions, ends and filtered calls stop; the tree ends
/// with the tracer.
const OPTIONS: usize = 0x1
    | 1 << EVENT_FORK
    | 1 << EVENT_VFORK
    | 1 << EVENT_CLONE
    | 1 << EVENT_EXEC
    | 1 << EVENT_EXIT
    | 1 << EVENT_SECCOMP
    | 0x10_0000;

/// Why a thread stopped, or that it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// At the entry of a call that the filter names.
    Entry,
    /// At the exit of such a call.
    Exit,
    /// It made this task. `true` if it waits until the task executes a file or ends (`vfork`).
    Birth(Tid, bool),
    /// It executed a file; the number that it had before.
    Executed(Tid),
    /// It ends, with this wait status.
    Ending(i32),
    /// A new task stands at its beginning, or a stopped group goes on.
    Trap,
    /// Its group was stopped.
    Group,
    /// It gets this signal.
    Signal(i32),
    /// It has ended, with this wait status.
    Gone(i32),
}

/// How a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resume {
    /// To the next filtered call.
    Freely,
    /// To the end of its call.
    ToExit,
    /// It stays stopped with its group.
    Stopped,
}

/// What the kernel says of a stop at a call; `struct ptrace_syscall_info`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawInfo {
    op: u8,
    padding: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    words: [u64; 8],
}

/// A call at its entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryInfo {
    pub(super) arch: u32,
    pub(super) number: u64,
    pub(super) arguments: [u64; 6],
}

fn request(request: u32, tid: Tid, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: the callers pass addresses of values that outlive the call, of the sizes that the request expects.
    let answer = unsafe { libc::ptrace(request as _, tid, address as *mut libc::c_void, data as *mut libc::c_void) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Begins to trace a process and all its descendants, without stopping it. It ends with the calling thread's process.
pub(super) fn seize(tid: Tid) -> io::Result<()> {
    request(SEIZE, tid, 0, OPTIONS).map(|_| ())
}

/// Lets a stopped thread go on. One that was killed meanwhile is gone, which is no error.
pub(super) fn resume(tid: Tid, how: Resume, signal: i32) {
    let how = match how {
        Resume::Freely => CONT,
        Resume::ToExit => SYSCALL,
        Resume::Stopped => LISTEN,
    };
    let _ = request(how, tid, 0, signal as usize);
}

fn info(tid: Tid) -> Option<RawInfo> {
    // SAFETY: all zeroes is a value of it.
    let mut raw: RawInfo = unsafe { zeroed() };
    request(GET_SYSCALL_INFO, tid, size_of::<RawInfo>(), (&raw mut raw) as usize).ok()?;
    Some(raw)
}

/// Returns the call at whose entry a thread stopped; `None` if it is gone.
pub(super) fn entry_of(tid: Tid) -> Option<EntryInfo> {
    const SECCOMP: u8 = 3;
    let raw = info(tid).filter(|raw| raw.op == SECCOMP)?;
    let [number, arguments @ .., _] = raw.words;
    Some(EntryInfo { arch: raw.arch, number, arguments })
}

/// Returns the result of the call at whose exit a thread stopped; `None` if it is gone.
pub(super) fn exit_of(tid: Tid) -> Option<i64> {
    const EXIT: u8 = 2;
    info(tid).filter(|raw| raw.op == EXIT).map(|raw| raw.words[0].cast_signed())
}

fn event_message(tid: Tid) -> Option<u64> {
    let mut message: libc::c_ulong = 0;
    request(GET_EVENT_MESSAGE, tid, 0, (&raw mut message) as usize).ok()?;
    Some(message)
}

/// Waits for the next stop of a thread that the calling thread traces. `None` if there is none any more, or a signal
/// came (`Some(None)`).
pub(super) fn wait() -> Option<Option<(Tid, Stop)>> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let tid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
    if tid <= 0 {
        let is_interrupted = io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
        return is_interrupted.then_some(None);
    }
    Some(Some((tid, stop_of(tid, status))))
}

fn stop_of(tid: Tid, status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Gone(status);
    }
    let signal = libc::WSTOPSIG(status);
    let message = || event_message(tid).unwrap_or(0) as i32;
    match status >> 16 {
        EVENT_SECCOMP => Stop::Entry,
        event @ (EVENT_FORK | EVENT_VFORK | EVENT_CLONE) => Stop::Birth(message(), event == EVENT_VFORK),
        EVENT_EXEC => Stop::Executed(message()),
        EVENT_EXIT => Stop::Ending(message()),
        EVENT_STOP => match signal {
            libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Stop::Group,
            _ => Stop::Trap,
        },
        _ if signal == libc::SIGTRAP | 0x80 => Stop::Exit,
        _ => Stop::Signal(signal),
    }
}

/// Returns `true` if two tasks share their descriptors; `None` where the kernel does not compare them.
pub(super) fn share_descriptors(one: Tid, other: Tid) -> Option<bool> {
    const KCMP_FILES: i32 = 2;
    share(one, other, KCMP_FILES)
}

/// The same of their memory.
pub(super) fn share_memory(one: Tid, other: Tid) -> Option<bool> {
    const KCMP_VM: i32 = 1;
    share(one, other, KCMP_VM)
}

fn share(one: Tid, other: Tid, what: i32) -> Option<bool> {
    // SAFETY: it takes numbers only.
    match unsafe { libc::syscall(libc::SYS_kcmp, one, other, what, 0, 0) } {
        -1 => None,
        order => Some(order == 0),
    }
}

/// Reads the memory of a stopped process, as much of it as there is; returns the number of bytes.
pub(super) fn read_memory(tid: Tid, address: u64, into: &mut [u8]) -> usize {
    let Ok(address) = usize::try_from(address) else { return 0 };
    if into.is_empty() {
        return 0;
    }
    let ours = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let theirs = libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: into.len() };
    // SAFETY: `ours` is memory of ours that outlives the call; the kernel checks `theirs`.
    let read = unsafe { libc::process_vm_readv(tid, &raw const ours, 1, &raw const theirs, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// Writes into the memory of a traced process. Nothing happens if the process has ended.
pub(super) fn write_memory(tid: Tid, address: u64, bytes: &[u8]) {
    let Ok(address) = usize::try_from(address) else { return };
    let ours = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let theirs = libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: bytes.len() };
    // SAFETY: the kernel only reads `ours`, which outlives the call, and checks `theirs`.
    unsafe { libc::process_vm_writev(tid, &raw const ours, 1, &raw const theirs, 1, 0) };
}
