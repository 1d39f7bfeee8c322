//! Finds programs of other tracers on the hooks that I/O passes: they slow what is measured.
//!
//! The kernel lists its BPF links. The link information has the name of the tracepoint, also for BTF tracepoints,
//! which the kernel links as raw ones. Programs that were set on a perf event without a link (bpftrace, older bcc)
//! are found through the processes that hold the event. Not found: kprobes, fentry, and tracers without BPF (perf,
//! ftrace, strace).

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::{fs, io};

use activebench_model::coverage::OtherTracer;
use aya::programs::links::{LinkError, LinkType};
use aya::programs::{ProgramError, loaded_links, loaded_programs};
use aya_obj::generated::{bpf_cmd, bpf_link_info, bpf_perf_event_type, bpf_task_fd_type};

use crate::bpf_call::{bpf, zeroed_attributes};

/// Buffer size for a name; the kernel's tracepoint names are much shorter.
const NAME_BYTES: usize = 128;

/// The reason why the other tracers are unknown.
#[derive(Debug, thiserror::Error)]
pub enum NeighbourError {
    /// The kernel does not let us list its programs.
    #[error("cannot list the kernel's BPF programs: {0} (hint: run as root, or grant CAP_SYS_ADMIN)")]
    NotPermitted(io::Error),
    /// Any other error of the kernel.
    #[error("cannot list the kernel's BPF programs: {0}")]
    Kernel(io::Error),
}

/// Returns `true` if every call, request or cached page of a benchmark passes this tracepoint.
///
/// Creation, execution and end of tasks are left out: a benchmark has few of them, and many hosts trace them all the
/// time.
fn is_on_the_path(tracepoint: &str) -> bool {
    let families = ["sys_enter", "sys_exit", "sched_switch", "block_", "mm_filemap_", "io_uring_"];
    families.iter().any(|family| tracepoint.starts_with(family))
}

/// Returns the programs of other processes on hooks that I/O passes, sorted by hook.
///
/// Leaves out the calling process's own programs. A program that ends during the search is not reported.
///
/// # Errors
/// Returns an error if the kernel does not list its programs and links, which requires `CAP_SYS_ADMIN`.
pub fn other_tracers() -> Result<Vec<OtherTracer>, NeighbourError> {
    let mut names = BTreeMap::new();
    for program in loaded_programs() {
        match program {
            Ok(program) => {
                names.insert(program.id(), String::from_utf8_lossy(program.name()).into_owned());
            }
            Err(error) => tolerate(program_errno(error))?,
        }
    }
    let processes = Holders::read(Path::new("/proc"));
    let mut found = BTreeSet::new();
    for link in loaded_links() {
        let link = match link {
            Ok(link) => link,
            Err(error) => {
                tolerate(link_errno(error))?;
                continue;
            }
        };
        if let Ok(kind @ (LinkType::RawTracePoint | LinkType::PerfEvent)) = link.link_type() {
            match hook_of_link(link.id(), kind) {
                Ok(Some(hook)) => {
                    let holder = processes.of_link(link.id()).or_else(|| processes.of_program(link.program_id()));
                    found.insert((hook, link.program_id(), holder));
                }
                Ok(None) => {}
                Err(error) => tolerate(error)?,
            }
        }
    }
    for (pid, fd) in &processes.perf_events {
        match hook_of_perf_event(*pid, *fd) {
            Ok(Some((hook, program))) => {
                found.insert((hook, program, Some(*pid)));
            }
            Ok(None) => {}
            Err(error) => tolerate(error)?,
        }
    }
    let own = std::process::id();
    let mut tracers: Vec<OtherTracer> = found
        .into_iter()
        .filter(|(_, _, pid)| *pid != Some(own))
        .map(|(hook, id, pid)| OtherTracer {
            hook,
            program: names.get(&id).cloned().unwrap_or_default(),
            id,
            pid,
            comm: pid.and_then(comm_of),
        })
        .collect();
    // A program on a perf event that also has a link is found twice.
    tracers.dedup_by(|second, first| first.hook == second.hook && first.id == second.id);
    Ok(tracers)
}

/// Ignores the errors that occur while other tracers start and end, and for an event without a program.
fn tolerate(error: io::Error) -> Result<(), NeighbourError> {
    // Not in libc: "operation is not supported" inside the kernel (include/linux/errno.h).
    const ENOTSUPP: i32 = 524;
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => Err(NeighbourError::NotPermitted(error)),
        Some(libc::ENOENT | libc::EBADF | libc::ESRCH | libc::EOPNOTSUPP | libc::ENOLINK | ENOTSUPP) => Ok(()),
        _ => Err(NeighbourError::Kernel(error)),
    }
}

fn program_errno(error: ProgramError) -> io::Error {
    match error {
        ProgramError::SyscallError(error) => error.io_error,
        other => io::Error::other(other.to_string()),
    }
}

fn link_errno(error: LinkError) -> io::Error {
    match error {
        LinkError::SyscallError(error) => error.io_error,
        other => io::Error::other(other.to_string()),
    }
}

/// Returns the hook of a link if it is a tracepoint on the path of I/O.
fn hook_of_link(id: u32, kind: LinkType) -> io::Result<Option<String>> {
    let mut attributes = zeroed_attributes();
    attributes.__bindgen_anon_6.__bindgen_anon_1.link_id = id;
    // SAFETY: the command reads no pointer.
    let fd = unsafe { bpf(bpf_cmd::BPF_LINK_GET_FD_BY_ID, &mut attributes) }?;
    // SAFETY: the kernel just gave us this descriptor, and nobody else knows it.
    let link = unsafe { OwnedFd::from_raw_fd(fd) };

    let mut name = [0_u8; NAME_BYTES];
    // SAFETY: zero is a value of every field.
    let mut info: bpf_link_info = unsafe { std::mem::zeroed() };
    match kind {
        LinkType::RawTracePoint => {
            info.__bindgen_anon_1.raw_tracepoint.tp_name = (&raw mut name) as u64;
            info.__bindgen_anon_1.raw_tracepoint.tp_name_len = NAME_BYTES as u32;
        }
        // The name of a kprobe or uprobe would be in the same place.
        _ => {
            info.__bindgen_anon_1.perf_event.__bindgen_anon_1.tracepoint.tp_name = (&raw mut name) as u64;
            info.__bindgen_anon_1.perf_event.__bindgen_anon_1.tracepoint.name_len = NAME_BYTES as u32;
        }
    }
    let mut attributes = zeroed_attributes();
    attributes.info.bpf_fd = link.as_raw_fd() as u32;
    attributes.info.info_len = size_of_val(&info) as u32;
    attributes.info.info = (&raw mut info) as u64;
    // SAFETY: `info` and the name that it points to live until the end of this function, with the lengths given.
    unsafe { bpf(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attributes) }?;
    if kind == LinkType::RawTracePoint {
        return Ok(hook("raw_tracepoint", &name));
    }
    // SAFETY: every bit pattern is a value of the integer that the kernel wrote.
    let event = unsafe { info.__bindgen_anon_1.perf_event.type_ };
    let is_tracepoint = event == bpf_perf_event_type::BPF_PERF_EVENT_TRACEPOINT as u32;
    Ok(if is_tracepoint { hook("tracepoint", &name) } else { None })
}

/// Returns the hook of a process's perf event, and the program on it, if it is a tracepoint on the path of I/O.
fn hook_of_perf_event(pid: u32, fd: u32) -> io::Result<Option<(String, u32)>> {
    let mut name = [0_u8; NAME_BYTES];
    let mut attributes = zeroed_attributes();
    attributes.task_fd_query.pid = pid;
    attributes.task_fd_query.fd = fd;
    attributes.task_fd_query.buf = (&raw mut name) as u64;
    attributes.task_fd_query.buf_len = NAME_BYTES as u32;
    // SAFETY: the name lives until the end of this function, with the length given.
    unsafe { bpf(bpf_cmd::BPF_TASK_FD_QUERY, &mut attributes) }?;
    // SAFETY: every bit pattern is a value of the integers that the kernel wrote.
    let (kind, program) = unsafe { (attributes.task_fd_query.fd_type, attributes.task_fd_query.prog_id) };
    if kind != bpf_task_fd_type::BPF_FD_TYPE_TRACEPOINT as u32 {
        return Ok(None);
    }
    Ok(hook("tracepoint", &name).map(|hook| (hook, program)))
}

fn hook(kind: &str, name: &[u8]) -> Option<String> {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    is_on_the_path(&name).then(|| format!("{kind}/{name}"))
}

/// The processes that hold BPF programs and links, and all perf events.
///
/// Unreadable processes (ended, or of another user) are not included: their programs are still found, but without the
/// holder.
#[derive(Debug, Default)]
struct Holders {
    programs: BTreeMap<u32, u32>,
    links: BTreeMap<u32, u32>,
    perf_events: Vec<(u32, u32)>,
}

impl Holders {
    fn read(proc: &Path) -> Self {
        let mut holders = Self::default();
        for pid in numbers_in(proc) {
            let process = proc.join(pid.to_string());
            for fd in numbers_in(&process.join("fd")) {
                let Ok(target) = fs::read_link(process.join(format!("fd/{fd}"))) else { continue };
                let Some(kind) = target.to_str().and_then(|target| target.strip_prefix("anon_inode:")) else {
                    continue;
                };
                match kind.trim_matches(['[', ']']) {
                    "perf_event" => holders.perf_events.push((pid, fd)),
                    // The spelling has a hyphen or an underscore, depending on the kernel version.
                    "bpf-prog" | "bpf-link" | "bpf_link" => {
                        if let Ok(text) = fs::read_to_string(process.join(format!("fdinfo/{fd}"))) {
                            holders.take(pid, &text);
                        }
                    }
                    _ => {}
                }
            }
        }
        holders
    }

    /// Adds one `/proc/PID/fdinfo/FD`. Of several holders the process with the lowest id counts.
    fn take(&mut self, pid: u32, text: &str) {
        let number = |key: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
            value.trim().parse::<u32>().ok()
        };
        match (number("link_id"), number("prog_id")) {
            (Some(link), _) => drop(self.links.entry(link).or_insert(pid)),
            (None, Some(program)) => drop(self.programs.entry(program).or_insert(pid)),
            (None, None) => {}
        }
    }

    fn of_link(&self, id: u32) -> Option<u32> {
        self.links.get(&id).copied()
    }

    fn of_program(&self, id: u32) -> Option<u32> {
        self.programs.get(&id).copied()
    }
}

/// Returns the entries of a folder that are numbers, ascending; none if it cannot be read.
fn numbers_in(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut numbers: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

fn comm_of(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok().map(|comm| comm.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn tracepoints_on_the_path_of_io_are_told_from_others() {
        for (name, expected) in [
            ("sys_enter", true),
            ("sys_exit_pread64", true),
            ("sched_switch", true),
            ("block_rq_complete", true),
            ("mm_filemap_add_to_page_cache", true),
            ("io_uring_complete", true),
            ("sched_process_exec", false),
            ("tcp_retransmit_skb", false),
            ("", false),
        ] {
            assert_eq!(is_on_the_path(name), expected, "{name}");
        }
    }

    #[test]
    fn holders_are_read_from_a_proc_folder() {
        let proc = tempfile::tempdir().expect("a temporary folder");
        let descriptor = |pid: u32, fd: u32, target: &str, info: &str| {
            let process = proc.path().join(pid.to_string());
            for part in ["fd", "fdinfo"] {
                fs::create_dir_all(process.join(part)).expect("a folder");
            }
            symlink(target, process.join(format!("fd/{fd}"))).expect("a link");
            fs::write(process.join(format!("fdinfo/{fd}")), info).expect("a file");
        };
        descriptor(7, 3, "anon_inode:bpf-prog", "pos:\t0\nprog_type:\t5\nprog_id:\t41\n");
        descriptor(7, 4, "anon_inode:[perf_event]", "pos:\t0\n");
        descriptor(9, 3, "anon_inode:bpf_link", "link_type:\traw_tracepoint\nlink_id:\t5\nprog_id:\t42\ntp_name:\tx\n");
        descriptor(9, 4, "anon_inode:bpf-prog", "prog_id:\t41\n");
        descriptor(9, 5, "/tmp/prog_id", "prog_id:\t43\n");
        descriptor(9, 6, "anon_inode:bpf-map", "map_id:\t44\n");
        fs::create_dir(proc.path().join("self")).expect("a folder");

        let holders = Holders::read(proc.path());
        assert_eq!(holders.of_program(41), Some(7));
        assert_eq!(holders.of_link(5), Some(9));
        assert_eq!((holders.of_program(42), holders.of_program(43)), (None, None));
        assert_eq!(holders.perf_events, [(7, 4)]);
    }

    #[test]
    fn what_comes_and_goes_is_no_error_and_a_refusal_is() {
        assert!(tolerate(io::Error::from_raw_os_error(libc::ENOENT)).is_ok());
        assert!(tolerate(io::Error::from_raw_os_error(524)).is_ok());
        let refused = tolerate(io::Error::from_raw_os_error(libc::EPERM)).expect_err("a refusal");
        assert!(refused.to_string().contains("CAP_SYS_ADMIN"), "{refused}");
    }
}
