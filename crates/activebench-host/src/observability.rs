//! The observation rights of this process on this machine, and a fix for each gap.
//!
//! Judged from `/proc` and `/sys` alone. Only loading the programs shows that they really load (`activebench-probe`).

use std::path::Path;

use crate::mounts::Mounts;
use crate::reader::{ReadError, Reader};
use crate::roots::{Process, Roots};

// Numbers of include/uapi/linux/capability.h, Linux 6.12.
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Placeholder for the path of the program in commands.
const PROGRAM: &str = "{program}";

/// The rights and the kernel support needed to observe. `None` means "could not be read".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observability {
    /// The kernel has type information (`/sys/kernel/btf/vmlinux`), without which no program can be relocated.
    pub btf: Option<bool>,
    /// `CAP_BPF` is effective (Linux 5.8; older kernels have only `CAP_SYS_ADMIN`).
    pub cap_bpf: Option<bool>,
    /// `CAP_PERFMON` is effective.
    pub cap_perfmon: Option<bool>,
    /// `CAP_SYS_ADMIN` is effective; it includes the two above.
    pub cap_sys_admin: Option<bool>,
    /// `CAP_SYS_PTRACE` is effective: `/proc` shows the mounts and files of other users' processes.
    pub cap_sys_ptrace: Option<bool>,
    /// `CAP_BPF`, `CAP_PERFMON` and `CAP_SYS_PTRACE` are in the bounding set, so the process can obtain them.
    pub rights_attainable: Option<bool>,
    /// `no_new_privs` is set: the process cannot gain rights by executing a file, so `sudo` and `setcap` do not help.
    pub no_new_privileges: Option<bool>,
    /// The rights are valid for the whole machine, not only for a user namespace (a rootless container).
    pub initial_user_namespace: Option<bool>,
    /// The effective user id is 0.
    pub uid0: Option<bool>,
    /// `none`, `integrity` or `confidentiality`.
    pub lockdown: Option<String>,
    /// `/proc/sys/kernel/unprivileged_bpf_disabled`: 0, 1 or 2. Tracing programs need rights whatever its value.
    pub unprivileged_bpf_disabled: Option<u64>,
    /// tracefs, which classic tracepoints need, is mounted.
    pub tracefs: Option<bool>,
    /// `/proc/sys/net/core/bpf_jit_enable`: 0 interprets the programs, 1 and 2 compile them.
    pub jit: Option<u64>,
    /// `/proc/sys/kernel/bpf_stats_enabled` is on: the kernel times every run of every program.
    pub run_times_kept: Option<bool>,
    /// Major and minor number of the kernel's release; `None` also where it does not start with them.
    pub kernel: Option<(u32, u32)>,
    /// Values that could not be read, with the reason.
    pub unread: Vec<String>,
}

/// The subject of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The kernel's type information.
    Types,
    /// Kernel lockdown.
    Lockdown,
    /// The user namespace.
    Namespace,
    /// The process's rights.
    Rights,
    /// The mount of tracefs.
    Tracefs,
    /// The JIT compiler of BPF programs.
    Jit,
    /// The kernel's own timing of BPF programs.
    RunTimes,
}

/// An obstacle to observing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its subject.
    pub about: About,
    /// The missing part and the resulting loss: a lower-case fragment.
    pub what: String,
    /// `true` if it prevents loading any BPF program; otherwise only a part is lost.
    pub blocks_bpf: bool,
    /// The fix.
    pub mend: Mend,
}

/// A fix for a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// A command line. `{program}` is replaced by the path of activebench.
    Command(String),
    /// Advice in words, where no command fixes it.
    Advice(String),
}

impl Observability {
    /// Reads the rights of the calling process.
    pub fn read(roots: &Roots) -> Self {
        let mut reader = Reader::new(roots, Process::Own);
        let status = reader.text(Path::new("/proc/self/status"));
        let status = reader.wanted(status).map(|text| Status { text });
        let effective = status.as_ref().and_then(|status| status.mask(&mut reader, "CapEff"));
        let bounding = status.as_ref().and_then(|status| status.mask(&mut reader, "CapBnd"));
        let has = |mask: Option<u64>, capability: u32| mask.map(|mask| mask >> capability & 1 == 1);

        let btf = reader.exists(Path::new("/sys/kernel/btf/vmlinux"));
        let uid_map = reader.text(Path::new("/proc/self/uid_map"));
        let lockdown = reader.text(Path::new("/sys/kernel/security/lockdown"));
        let unprivileged = reader.number(Path::new("/proc/sys/kernel/unprivileged_bpf_disabled"));
        let mountinfo = reader.bytes(Path::new("/proc/self/mountinfo"));
        let jit = reader.number(Path::new("/proc/sys/net/core/bpf_jit_enable"));
        let run_times_kept = reader.flag(Path::new("/proc/sys/kernel/bpf_stats_enabled"));
        let release = reader.text(Path::new("/proc/sys/kernel/osrelease"));
        let release = reader.wanted(release);
        Self {
            btf: reader.wanted(btf),
            cap_bpf: has(effective, CAP_BPF),
            cap_perfmon: has(effective, CAP_PERFMON),
            cap_sys_admin: has(effective, CAP_SYS_ADMIN),
            cap_sys_ptrace: has(effective, CAP_SYS_PTRACE),
            rights_attainable: bounding
                .map(|mask| [CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE].iter().all(|bit| mask >> bit & 1 == 1)),
            no_new_privileges: status.as_ref().and_then(|status| status.flag(&mut reader, "NoNewPrivs")),
            // The initial namespace maps every id onto itself (kernel/user.c, `init_user_ns`, Linux 6.12).
            initial_user_namespace: reader
                .wanted(uid_map)
                .map(|map| map.split_whitespace().eq(["0", "0", "4294967295"])),
            uid0: status.as_ref().and_then(|status| status.effective_uid(&mut reader)).map(|uid| uid == 0),
            lockdown: reader.wanted(lockdown).map(|text| in_brackets(&text).to_owned()),
            unprivileged_bpf_disabled: reader.optional(unprivileged),
            tracefs: reader.wanted(mountinfo).map(|text| {
                let (mounts, _) = Mounts::parse(&text);
                mounts.0.iter().any(|mount| mount.fs_type == "tracefs")
            }),
            // Kernels without a JIT compiler for this architecture do not have the file; some containers hide it.
            jit: reader.optional(jit),
            run_times_kept: reader.optional(run_times_kept),
            kernel: release.as_deref().and_then(version),
            unread: reader.unread().to_vec(),
        }
    }

    /// Returns `true` if BPF programs can be loaded, as far as can be read. Unread values do not count against it.
    pub fn allows_bpf(&self) -> bool {
        !self.missing().iter().any(|gap| gap.blocks_bpf)
    }

    /// Returns the known gaps, the most severe first.
    pub fn missing(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        if self.btf == Some(false) {
            gaps.push(Gap {
                about: About::Types,
                what: "the kernel does not describe its types (/sys/kernel/btf/vmlinux): no BPF program can be loaded"
                    .to_owned(),
                blocks_bpf: true,
                mend: Mend::Advice("boot a kernel built with CONFIG_DEBUG_INFO_BTF=y".to_owned()),
            });
        }
        if self.lockdown.as_deref() == Some("confidentiality") {
            gaps.push(Gap {
                about: About::Lockdown,
                what: "kernel lockdown is \"confidentiality\": BPF programs may not read kernel memory".to_owned(),
                blocks_bpf: true,
                mend: Mend::Advice("boot with lockdown=integrity on the kernel's command line".to_owned()),
            });
        }
        if self.initial_user_namespace == Some(false) {
            gaps.push(Gap {
                about: About::Namespace,
                what: "this is a user namespace (a rootless container): its rights do not extend to BPF".to_owned(),
                blocks_bpf: true,
                mend: Mend::Advice("run activebench on the host or in a container with the host's users".to_owned()),
            });
        }
        gaps.extend(self.missing_rights());
        if self.tracefs == Some(false) {
            gaps.push(Gap {
                about: About::Tracefs,
                what: "tracefs is not mounted: classic tracepoints cannot be attached".to_owned(),
                blocks_bpf: false,
                mend: Mend::Command("sudo mount -t tracefs tracefs /sys/kernel/tracing".to_owned()),
            });
        }
        if self.jit == Some(0) {
            gaps.push(Gap {
                about: About::Jit,
                what: "BPF programs are interpreted, not compiled: each run costs several times as much".to_owned(),
                blocks_bpf: false,
                mend: Mend::Command("sudo sysctl net.core.bpf_jit_enable=1".to_owned()),
            });
        }
        if self.run_times_kept == Some(true) {
            gaps.push(Gap {
                about: About::RunTimes,
                what: "the kernel times every run of every BPF program: each costs 80 to 90 ns more".to_owned(),
                blocks_bpf: false,
                mend: Mend::Command("sudo sysctl kernel.bpf_stats_enabled=0".to_owned()),
            });
        }
        gaps
    }

    fn missing_rights(&self) -> Option<Gap> {
        let admin = self.cap_sys_admin == Some(true);
        let rights = [
            ("CAP_BPF", self.cap_bpf, admin, true),
            ("CAP_PERFMON", self.cap_perfmon, admin, true),
            ("CAP_SYS_PTRACE", self.cap_sys_ptrace, false, false),
        ];
        let lacking: Vec<_> =
            rights.iter().filter(|(_, held, stood_for, _)| *held == Some(false) && !stood_for).collect();
        if lacking.is_empty() {
            return None;
        }
        let names = lacking.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        let blocks_bpf = lacking.iter().any(|(.., needed)| *needed);
        let cost = match blocks_bpf {
            true => "no BPF program can be loaded",
            false => "/proc does not show the mounts and files of other users' processes",
        };
        let mend = if self.rights_attainable == Some(false) {
            Mend::Advice(
                "the bounding set forbids them: start the container with \
                 --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE, or run activebench on the host"
                    .to_owned(),
            )
        } else if self.no_new_privileges == Some(true) {
            Mend::Advice(
                "this process may not gain rights (no_new_privs is set): start activebench from a shell without it"
                    .to_owned(),
            )
        } else {
            Mend::Command(format!("sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep {PROGRAM}"))
        };
        Some(Gap { about: About::Rights, what: format!("{names} not held: {cost}"), blocks_bpf, mend })
    }
}

/// Returns the first two numbers of a kernel's release: 6 and 18 for `6.18.44-fc`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// `/proc/self/status`.
struct Status {
    text: String,
}

impl Status {
    fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }

    fn parsed<T>(
        &self,
        reader: &mut Reader,
        name: &str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.field(name).unwrap_or("");
        let read = parse(text).ok_or_else(|| ReadError::Content {
            path: Path::new("/proc/self/status").to_owned(),
            text: format!("{name}: {text}"),
            expected,
        });
        reader.wanted(read)
    }

    fn mask(&self, reader: &mut Reader, name: &str) -> Option<u64> {
        self.parsed(reader, name, "a set of capabilities", |text| u64::from_str_radix(text, 16).ok())
    }

    fn flag(&self, reader: &mut Reader, name: &str) -> Option<bool> {
        self.parsed(reader, name, "0 or 1", |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// Returns the effective user id: the second of real, effective, saved and file system id.
    fn effective_uid(&self, reader: &mut Reader) -> Option<u32> {
        self.parsed(reader, "Uid", "four user ids", |text| text.split_whitespace().nth(1)?.parse().ok())
    }
}

/// Returns the chosen word of `none [integrity] confidentiality`; the whole text if it has no brackets.
fn in_brackets(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(chosen, _)| chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_give_their_first_two_numbers() {
        for (release, expected) in [
            ("6.18.44-fc-v669", Some((6, 18))),
            ("5.10.0-example", Some((5, 10))),
            ("6.1-rc3", Some((6, 1))),
            ("next-20261121", None),
            ("", None),
        ] {
            assert_eq!(version(release), expected, "{release}");
        }
    }
}
