//! The seccomp filter of a traced tree: the calls that are decoded stop for the tracer, all others run at full speed.
//!
//! Calls that the interposer notes ([`interposer/interposer.c`](../interposer/interposer.c)) are made by an instruction at
//! one address, and run, too.
//!
//! It refuses no call. It is inherited over fork and execution and cannot be removed: without a tracer the calls that
//! stop fail with `ENOSYS`.

use std::io;

use activebench_probe_abi::syscalls;

/// `AUDIT_ARCH_X86_64` and `AUDIT_ARCH_I386` of the kernel's `include/uapi/linux/audit.h`.
pub(crate) const ARCH_64_BIT: u32 = 0xc000_003e;
/// See [`ARCH_64_BIT`].
pub(crate) const ARCH_32_BIT: u32 = 0x4000_0003;
/// Bit of the numbers of x32 calls.
pub(crate) const X32_CALL: u32 = 0x4000_0000;

/// Numbers of `io_uring_setup`, of 64-bit and 32-bit calls: a ring moves data without any further call.
pub(crate) const URING_SETUP: [u32; 2] = [425, 425];
/// Numbers of `unshare`, which may give a thread a descriptor table of its own.
pub(crate) const UNSHARE: [u32; 2] = [272, 310];

/// Numbers of `execve` and `execveat`, with which the memory of a process goes, and what the interposer noted in it.
const EXECUTE: [[u32; 2]; 2] = [[59, 322], [11, 358]];

/// Numbers of `seccomp` and `prctl`, which may forbid calls that the interposer makes.
pub(crate) const SECCOMP: [u32; 2] = [317, 354];
/// See [`SECCOMP`].
pub(crate) const PRCTL: [u32; 2] = [157, 172];

/// The memory of the interposer; at its beginning is the instruction by which it makes calls.
pub(crate) const GATE: u64 = 0x1ab5_0000_0000;
/// Where such a call goes on: behind the instruction, which has two bytes.
const BEHIND_GATE: u64 = GATE + 2;
/// Numbers of the calls that it may make: `read`, `write`, `lseek`, `pread64`, `pwrite64`.
const THROUGH_GATE: [u32; 5] = [0, 1, 8, 17, 18];
/// The number of no call, by which it hands over what it noted.
pub(crate) const HAND_OVER: u32 = 0x2ab5_0000;

/// Places of the number, the architecture, and the halves of the address of the instruction in `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ADDRESS_AT: [u32; 2] = [8, 12];

/// The filter as the kernel takes it.
#[derive(Debug)]
pub struct CallFilter(Vec<libc::sock_filter>);

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

fn load(place: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, place, 0, 0)
}

fn answer(action: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

/// Adds: a call of this number stops.
fn stop_at(program: &mut Vec<libc::sock_filter>, number: u32) {
    program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 0, 1));
    program.push(answer(libc::SECCOMP_RET_TRACE));
}

/// The same, unless the interposer makes it.
fn stop_outside_gate(program: &mut Vec<libc::sock_filter>, number: u32) {
    let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let [low, high] = [BEHIND_GATE as u32, (BEHIND_GATE >> 32) as u32];
    program.extend([
        instruction(equals, number, 0, 6),
        load(ADDRESS_AT[0]),
        instruction(equals, low, 0, 3),
        load(ADDRESS_AT[1]),
        instruction(equals, high, 0, 1),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(libc::SECCOMP_RET_TRACE),
    ]);
}

impl CallFilter {
    /// Returns the filter for the calls that are decoded; `None` on an architecture without a table of calls.
    pub fn of_decoded_calls() -> Option<Self> {
        let table = syscalls::table()?;
        let numbers = |of_32_bit: bool| {
            let own = table
                .iter()
                .map(|(number, _)| *number)
                .filter(move |number| (*number >= syscalls::OF_32_BIT) == of_32_bit);
            let place = usize::from(of_32_bit);
            own.map(|number| number % syscalls::OF_32_BIT)
                .chain([URING_SETUP[place], UNSHARE[place], SECCOMP[place], PRCTL[place]])
                .chain(EXECUTE[place])
        };
        let (mut wide, mut narrow) = (vec![load(NUMBER_AT)], vec![load(NUMBER_AT)]);
        // All x32 calls stop: they are counted.
        wide.push(instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, X32_CALL, 0, 1));
        wide.push(answer(libc::SECCOMP_RET_TRACE));
        THROUGH_GATE.iter().for_each(|number| stop_outside_gate(&mut wide, *number));
        numbers(false).filter(|number| !THROUGH_GATE.contains(number)).for_each(|number| stop_at(&mut wide, number));
        stop_at(&mut wide, HAND_OVER);
        numbers(true).for_each(|number| stop_at(&mut narrow, number));
        let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let mut program = vec![load(ARCH_AT)];
        // Jumps of a comparison reach 255 instructions; these two lists are longer.
        for (arch, mut calls) in [(ARCH_64_BIT, wide), (ARCH_32_BIT, narrow)] {
            calls.push(answer(libc::SECCOMP_RET_ALLOW));
            program.push(instruction(equals, arch, 1, 0));
            program.push(instruction(libc::BPF_JMP | libc::BPF_JA, calls.len() as u32, 0, 0));
            program.append(&mut calls);
        }
        program.push(answer(libc::SECCOMP_RET_ALLOW));
        Some(Self(program))
    }

    /// Gives the calling thread the filter. The thread has to be the only one of its process.
    ///
    /// Without `CAP_SYS_ADMIN` the kernel asks for `no_new_privs`, which is then set.
    ///
    /// # Errors
    /// Returns the kernel's refusal.
    pub fn take(&self) -> io::Result<()> {
        match self.install() {
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
                // SAFETY: it takes numbers only.
                if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
                    return Err(io::Error::last_os_error());
                }
                self.install()
            }
            done => done,
        }
    }

    fn install(&self) -> io::Result<()> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: the program lives until the call ends, and the kernel only reads it.
        let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Lets a process of the same user trace the calling one, where the system restricts that to ancestors (Yama).
pub fn permit_tracer(pid: u32) {
    const PR_SET_PTRACER: libc::c_int = 0x5961_6d61;
    // SAFETY: it takes numbers only. Without Yama there is no such option, and no restriction.
    unsafe { libc::prctl(PR_SET_PTRACER, libc::c_ulong::from(pid), 0, 0, 0) };
}

/// Returns why a process of ours cannot be traced here; `None` if nothing speaks against it. Nothing is traced for that.
pub fn tracing_refused() -> Option<String> {
    if CallFilter::of_decoded_calls().is_none() {
        return Some("there is no table of system calls for this processor architecture".to_owned());
    }
    // Absent without Yama; from 2 on a right is needed (CAP_SYS_PTRACE), which root has.
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    if let Some(scope) = scope.as_deref().map(str::trim).filter(|scope| matches!(*scope, "2" | "3"))
        && !rustix::process::geteuid().is_root()
    {
        return Some(format!("kernel.yama.ptrace_scope is {scope}"));
    }
    const SEIZE: u32 = 0x4206;
    let (nobody, none) = (i32::MAX, std::ptr::null_mut::<libc::c_void>());
    // SAFETY: no process has this number, so nothing is traced.
    let _ = unsafe { libc::ptrace(SEIZE as _, nobody, none, none) };
    let answer = io::Error::last_os_error();
    (answer.raw_os_error() != Some(libc::ESRCH)).then(|| format!("ptrace answers: {answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter as the kernel would.
    fn action(filter: &CallFilter, arch: u32, number: u32, address: u64) -> u32 {
        let (mut place, mut loaded) = (0, 0);
        loop {
            let libc::sock_filter { code, jt, jf, k } = filter.0[place];
            place += 1;
            match u32::from(code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    loaded = match k {
                        NUMBER_AT => number,
                        ARCH_AT => arch,
                        8 => address as u32,
                        place => {
                            assert_eq!(place, 12);
                            (address >> 32) as u32
                        }
                    };
                }
                code if code == libc::BPF_RET | libc::BPF_K => return k,
                code if code == libc::BPF_JMP | libc::BPF_JA => place += k as usize,
                code => {
                    let is_met = if code & 0xf0 == libc::BPF_JSET { loaded & k != 0 } else { loaded == k };
                    place += usize::from(if is_met { jt } else { jf });
                }
            }
        }
    }

    #[test]
    fn whether_tracing_is_possible_is_asked_without_tracing() {
        // Where tests run, either answer may be right, and it has to be the same one twice.
        assert_eq!(tracing_refused(), tracing_refused());
    }

    #[test]
    fn decoded_calls_stop_and_all_others_run() {
        let Some(filter) = CallFilter::of_decoded_calls() else { return };
        assert!(filter.0.len() < 4096, "the kernel takes no longer filter");
        for (number, _) in syscalls::table().expect("a table") {
            let (arch, own) = match number {
                0..syscalls::OF_32_BIT => (ARCH_64_BIT, number),
                _ => (ARCH_32_BIT, number - syscalls::OF_32_BIT),
            };
            assert_eq!(action(&filter, arch, own, 2), libc::SECCOMP_RET_TRACE, "{number}");
            let through_gate = arch == ARCH_64_BIT && THROUGH_GATE.contains(&own);
            let expected = if through_gate { libc::SECCOMP_RET_ALLOW } else { libc::SECCOMP_RET_TRACE };
            assert_eq!(action(&filter, arch, own, BEHIND_GATE), expected, "{number}");
        }
        for (arch, number, expected) in [
            // gettimeofday, getpid; 32-bit: time.
            (ARCH_64_BIT, 96, libc::SECCOMP_RET_ALLOW),
            (ARCH_64_BIT, 39, libc::SECCOMP_RET_ALLOW),
            (ARCH_32_BIT, 13, libc::SECCOMP_RET_ALLOW),
            (ARCH_64_BIT, 425, libc::SECCOMP_RET_TRACE),
            (ARCH_64_BIT, 59, libc::SECCOMP_RET_TRACE),
            (ARCH_64_BIT, 317, libc::SECCOMP_RET_TRACE),
            (ARCH_64_BIT, HAND_OVER, libc::SECCOMP_RET_TRACE),
            (ARCH_64_BIT, X32_CALL | 39, libc::SECCOMP_RET_TRACE),
            (0xc000_00b7, 0, libc::SECCOMP_RET_ALLOW),
        ] {
            assert_eq!(action(&filter, arch, number, BEHIND_GATE), expected, "{arch:x} {number}");
        }
    }
}
