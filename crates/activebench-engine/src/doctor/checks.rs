//! Derives from a host's state what it means for the verdicts. Pure: all data was gathered before.

use std::time::Duration;

use activebench_host::{About, Gap, Mend, Observability};
use activebench_model::coverage::{OtherTracer, ProbeStatus};
use activebench_model::hook::Hook;
use activebench_model::host::{Layer, Target, Tier};
use activebench_probe::{KernelTypes, LEAST_KERNEL, Tracepoint};
use activebench_report::target_line;
use serde::Serialize;

use crate::benchmarks::{self, Found};

/// Data gathered about a host.
#[derive(Debug)]
pub(super) struct System {
    pub(super) observability: Observability,
    /// `uname -r`.
    pub(super) kernel: String,
    /// `uname -m`.
    pub(super) architecture: String,
    pub(super) has_call_table: bool,
    pub(super) types: Result<KernelTypes, String>,
    /// Result of loading and attaching the kernel programs as `verify` does.
    pub(super) attached: Result<Attached, String>,
    /// Why a tracer cannot observe.
    pub(super) tracing_refused: Option<String>,
    /// Why a tool that is traced cannot load the library that notes its calls.
    pub(super) interposer_refused: Option<String>,
    pub(super) other_tracers: Result<Vec<OtherTracer>, String>,
    /// Storage below the path; `None` if no mount holds it.
    pub(super) target: Option<Target>,
    pub(super) storage_unread: Vec<String>,
    pub(super) benchmarks: Vec<Found>,
}

/// The kernel programs that were attached.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) took: Duration,
    pub(super) probes: Vec<ProbeStatus>,
}

/// The parts of a diagnosis, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Rights of the process.
    Rights,
    /// Version and features of the kernel.
    Kernel,
    /// Tracepoints that the probes use.
    Tracepoints,
    /// Programs of other tracers.
    OtherTracers,
    /// Storage below the path.
    Storage,
    /// Installed benchmarks.
    Benchmarks,
    /// The file of settings.
    Settings,
}

/// State of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is present.
    Ok,
    /// It is missing and can be fixed.
    Gap,
    /// It is not available on this kernel, machine or file system.
    Never,
    /// It could not be read.
    Unknown,
}

/// One line of the diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The part of the diagnosis it belongs to.
    pub group: Group,
    /// The name of the check.
    pub name: String,
    /// Its state.
    pub state: State,
    /// The observed state, as a fragment.
    pub found: String,
    /// Its meaning for the verdicts, as a fragment.
    pub meaning: String,
    /// A command that fixes it.
    pub command: Option<String>,
    /// Advice if no command would fix it, or beside the command.
    pub advice: Option<String>,
}

fn check(
    group: Group,
    name: impl Into<String>,
    state: State,
    found: impl Into<String>,
    meaning: impl Into<String>,
) -> Check {
    Check { group, name: name.into(), state, found: found.into(), meaning: meaning.into(), command: None, advice: None }
}

impl Check {
    /// Says which file of settings is used; `is_used`: false for one that was refused.
    pub fn settings(found: String, is_used: bool) -> Self {
        let state = if is_used { State::Ok } else { State::Gap };
        check(Group::Settings, "settings", state, found, "the command line and ACTIVEBENCH_* are stronger")
    }

    fn mended_by(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }

    fn advised(self, advice: impl Into<String>) -> Self {
        Self { advice: Some(advice.into()), ..self }
    }
}

/// Returns every check. `program` is the path of activebench, for commands.
pub(super) fn all(system: &System, program: &str) -> Vec<Check> {
    let gaps = system.observability.missing();
    let view = View { system, gaps: &gaps, program };
    let mut checks = view.rights();
    checks.extend(view.kernel());
    checks.extend(activebench_probe::tracepoints().iter().map(|tracepoint| view.tracepoint(tracepoint)));
    checks.extend(view.sampling());
    checks.extend(view.other_tracers());
    checks.extend(view.storage());
    checks.extend(system.benchmarks.iter().map(benchmark));
    checks
}

struct View<'a> {
    system: &'a System,
    gaps: &'a [Gap],
    program: &'a str,
}

impl View<'_> {
    fn gap(&self, about: About) -> Option<&Gap> {
        self.gaps.iter().find(|gap| gap.about == about)
    }

    /// Returns a gap of the host as a check.
    fn of_gap(&self, group: Group, name: &str, gap: &Gap) -> Check {
        let (found, meaning) = gap.what.split_once(": ").unwrap_or((&gap.what, ""));
        let base = check(group, name, State::Gap, found, meaning);
        match &gap.mend {
            Mend::Command(command) => base.mended_by(command.replace("{program}", self.program)),
            Mend::Advice(advice) => base.advised(advice.clone()),
        }
    }

    fn rights(&self) -> Vec<Check> {
        let observability = &self.system.observability;
        let held = [
            ("CAP_BPF", observability.cap_bpf),
            ("CAP_PERFMON", observability.cap_perfmon),
            ("CAP_SYS_ADMIN", observability.cap_sys_admin),
            ("CAP_SYS_PTRACE", observability.cap_sys_ptrace),
        ];
        let names: Vec<&str> = held.iter().filter(|(_, held)| *held == Some(true)).map(|(name, _)| *name).collect();
        let rights = match self.gap(About::Rights) {
            Some(gap) => {
                let gap = self.of_gap(Group::Rights, "capabilities", gap);
                match gap.command {
                    Some(_) => gap.advised("or run it as root"),
                    None => gap,
                }
            }
            None if observability.cap_bpf.is_none() => check(
                Group::Rights,
                "capabilities",
                State::Unknown,
                "not readable",
                "whether programs load shows below",
            ),
            None => check(
                Group::Rights,
                "capabilities",
                State::Ok,
                names.join(", "),
                "programs may be loaded, and /proc shows other users' processes",
            ),
        };
        let namespace = match (self.gap(About::Namespace), observability.initial_user_namespace) {
            (Some(gap), _) => self.of_gap(Group::Rights, "user namespace", gap),
            (None, Some(_)) => {
                check(Group::Rights, "user namespace", State::Ok, "the machine's own", "rights count for the kernel")
            }
            (None, None) => {
                check(Group::Rights, "user namespace", State::Unknown, "not readable", "rights may not count")
            }
        };
        let programs = match &self.system.attached {
            Ok(Attached { took, probes }) => {
                let attached = probes.iter().filter(|probe| probe.attached).count();
                check(
                    Group::Rights,
                    "kernel programs",
                    State::Ok,
                    format!("{attached} of {} attached in {} ms, and taken off again", probes.len(), took.as_millis()),
                    "`verify` can observe",
                )
            }
            Err(why) => {
                let base = check(
                    Group::Rights,
                    "kernel programs",
                    State::Gap,
                    why.clone(),
                    match self.system.tracing_refused {
                        None => {
                            "`verify` observes by a tracer: figures that need the device, the cache or the CPU are undecided"
                        }
                        Some(_) => "`verify` cannot observe and ends with exit code 5",
                    },
                );
                match self.gaps.iter().any(|gap| gap.blocks_bpf) {
                    true => base.advised("fix the gaps that are named here"),
                    false => base,
                }
            }
        };
        vec![programs, rights, namespace, self.tracer()]
    }

    /// Returns what can be observed without rights.
    fn tracer(&self) -> Check {
        let name = "tracer";
        match &self.system.tracing_refused {
            None => check(
                Group::Rights,
                name,
                State::Ok,
                match &self.system.interposer_refused {
                    None => "a process may be traced, and load a library that notes its calls".to_owned(),
                    Some(why) => format!(
                        "a process may be traced, but not load a library that notes its calls ({why}): each call stops it"
                    ),
                },
                "without rights `verify --backend trace` sees calls, files, processes and what storage gave to reads",
            ),
            Some(why) => check(
                Group::Rights,
                name,
                State::Gap,
                format!("no process may be traced: {why}"),
                "without rights nothing can be observed",
            )
            .advised("sysctl kernel.yama.ptrace_scope=1; in a container, a seccomp profile that allows ptrace"),
        }
    }

    fn kernel(&self) -> Vec<Check> {
        let observability = &self.system.observability;
        let loads = self.system.attached.is_ok();
        let group = Group::Kernel;
        let (least_major, least_minor) = LEAST_KERNEL;
        let found = format!("Linux {}", self.system.kernel);
        let version = match observability.kernel {
            Some(version) if version < LEAST_KERNEL => check(
                group,
                "version",
                State::Gap,
                found,
                format!("the kernel programs call what came with {least_major}.{least_minor}: they do not load"),
            )
            .advised(format!("boot Linux {least_major}.{least_minor} or later")),
            Some(_) => {
                check(group, "version", State::Ok, found, format!("{least_major}.{least_minor} or later is needed"))
            }
            None => {
                let meaning = format!("{least_major}.{least_minor} or later is needed");
                check(group, "version", State::Unknown, "not readable", meaning)
            }
        };
        let architecture = &self.system.architecture;
        let architecture = match self.system.has_call_table {
            true => check(group, "architecture", State::Ok, architecture, "its system calls are known"),
            false => check(
                group,
                "architecture",
                State::Never,
                architecture,
                "there is no table of its system calls: nothing can be observed",
            )
            .advised("run the benchmark on x86-64"),
        };
        let types = match (self.gap(About::Types), &self.system.types) {
            (Some(gap), _) => self.of_gap(group, "type information", gap),
            (None, Ok(_)) => check(
                group,
                "type information",
                State::Ok,
                "/sys/kernel/btf/vmlinux",
                "the programs can be fitted to this kernel",
            ),
            (None, Err(why)) => check(
                group,
                "type information",
                State::Unknown,
                format!("/sys/kernel/btf/vmlinux is not understood ({why})"),
                "which tracepoints there are is not known",
            ),
        };
        let jit = match (self.gap(About::Jit), observability.jit) {
            (Some(gap), _) => self.of_gap(group, "BPF compiler", gap),
            (None, Some(_)) => {
                check(group, "BPF compiler", State::Ok, "on", "the programs cost what the documentation says")
            }
            (None, None) => {
                check(group, "BPF compiler", State::Unknown, "not readable", "interpreted programs would cost more")
            }
        };
        let lockdown = match (self.gap(About::Lockdown), observability.lockdown.as_deref()) {
            (Some(gap), _) => self.of_gap(group, "lockdown", gap),
            (None, Some(mode)) => {
                check(group, "lockdown", State::Ok, format!("\"{mode}\""), "programs may read kernel memory")
            }
            (None, None) if loads => check(group, "lockdown", State::Ok, "state unknown", "BPF programs load"),
            (None, None) => check(
                group,
                "lockdown",
                State::Unknown,
                "not readable",
                "under \"confidentiality\" programs may not read kernel memory",
            )
            .mended_by("sudo mount -t securityfs securityfs /sys/kernel/security"),
        };
        let unprivileged = match observability.unprivileged_bpf_disabled {
            Some(value) => check(
                group,
                "unprivileged BPF",
                State::Ok,
                format!("unprivileged_bpf_disabled is {value}"),
                "tracing programs need rights whatever it says",
            ),
            None => check(
                group,
                "unprivileged BPF",
                State::Unknown,
                "not readable",
                "tracing programs need rights whatever it says",
            ),
        };
        let run_times = match (self.gap(About::RunTimes), observability.run_times_kept) {
            (Some(gap), _) => self.of_gap(group, "BPF run times", gap),
            (None, Some(_)) => check(
                group,
                "BPF run times",
                State::Ok,
                "not kept",
                "the observation costs less; what it costs in all is not measured (AB903 is undecided)",
            ),
            (None, None) => check(
                group,
                "BPF run times",
                State::Unknown,
                "not readable",
                "keeping them would cost 80 to 90 ns a run",
            ),
        };
        vec![version, architecture, types, jit, lockdown, unprivileged, run_times]
    }

    /// Returns the check of the sampling clock; `None` if it was not tried.
    fn sampling(&self) -> Option<Check> {
        let probes = &self.system.attached.as_ref().ok()?.probes;
        let status = probes.iter().find(|probe| probe.hook == Hook::CpuClock)?;
        let name = "sampling clock";
        Some(match &status.why_not {
            None => check(Group::Tracepoints, name, State::Ok, "attached", "hot functions are named"),
            Some(why) => check(
                Group::Tracepoints,
                name,
                State::Gap,
                format!("not attached: {why}"),
                "in which functions the time goes is not known, and the times of threads are less exact",
            )
            .advised("allow perf events: CAP_PERFMON, or kernel.perf_event_paranoid at most 0"),
        })
    }

    fn tracepoint(&self, tracepoint: &Tracepoint) -> Check {
        let name = tracepoint.name;
        let status = self
            .system
            .attached
            .as_ref()
            .ok()
            .and_then(|attached| attached.probes.iter().find(|probe| Some(probe.hook) == tracepoint.hook));
        let present = self.system.types.as_ref().ok().map(|types| types.has_tracepoint(name));
        let line = |state, found: &str, meaning: &str| check(Group::Tracepoints, name, state, found, meaning);
        match (status, present) {
            (Some(status), _) if status.attached => line(State::Ok, "attached", "observed"),
            (Some(status), Some(true)) => {
                let why = status.why_not.as_deref().unwrap_or("no reason was given");
                line(State::Gap, &format!("not attached: {why}"), tracepoint.without)
            }
            (_, Some(true)) if tracepoint.hook.is_some() => line(State::Ok, "in this kernel", "can be observed"),
            (_, Some(true)) => line(State::Ok, "in this kernel, not used by this version", tracepoint.without),
            (_, Some(false)) => line(State::Never, "not in this kernel", tracepoint.without),
            // All of them mean the same and share one line.
            (_, None) => line(
                State::Unknown,
                "not known whether in this kernel",
                "what is lost without each is known once the type information is",
            ),
        }
    }

    fn other_tracers(&self) -> Vec<Check> {
        let group = Group::OtherTracers;
        match &self.system.other_tracers {
            Err(why) => vec![
                check(
                    group,
                    "BPF programs",
                    State::Gap,
                    why.clone(),
                    "reports cannot say who else slows the same hooks",
                )
                .mended_by(format!("sudo {} doctor", self.program)),
            ],
            Ok(tracers) if tracers.is_empty() => vec![check(
                group,
                "BPF programs",
                State::Ok,
                "none on the hooks that I/O passes",
                "nobody else slows what is measured (perf, ftrace and strace are not looked for)",
            )],
            Ok(tracers) => tracers.iter().map(other_tracer).collect(),
        }
    }

    fn storage(&self) -> Vec<Check> {
        let group = Group::Storage;
        let Some(target) = &self.system.target else {
            let why = self.system.storage_unread.join("; ");
            let meaning = "figures of the device are missing: claims on storage are unverifiable";
            return vec![check(group, "devices", State::Unknown, why, meaning)];
        };
        let mut checks = vec![devices(target)];
        if target.fs_type == "overlay" {
            checks.push(
                check(
                    group,
                    "overlay",
                    State::Gap,
                    "calls and device name different inodes",
                    "figures of the device are missing: claims on storage are unverifiable",
                )
                .advised("give the benchmark a directory on the file system below (a volume or bind mount)"),
            );
        }
        if let Some(device) = target.device() {
            checks.push(write_cache(device));
        }
        checks.extend(target.layers.iter().filter(|layer| layer.kind == "loop").map(loop_mode));
        if !self.system.storage_unread.is_empty() {
            let unread = self.system.storage_unread.join("; ");
            checks.push(check(group, "not read", State::Unknown, unread, "the stack may have further layers"));
        }
        checks
    }
}

fn other_tracer(tracer: &OtherTracer) -> Check {
    let hook = tracer.hook.rsplit('/').next().unwrap_or(&tracer.hook);
    let program = match tracer.program.as_str() {
        "" => format!("program {}", tracer.id),
        name => format!("program {} ({name})", tracer.id),
    };
    let meaning = "every figure is below what this machine gives without it, by an unknown amount (AB903)";
    let line = |found: String| check(Group::OtherTracers, hook, State::Gap, found, meaning);
    match (tracer.pid, &tracer.comm) {
        (Some(pid), comm) => {
            let comm = comm.as_deref().unwrap_or("a process");
            line(format!("{program} of {comm}, pid {pid}"))
                .mended_by(format!("sudo kill -INT {pid}"))
                .advised("where it is a service, stop it for the time of the benchmark")
        }
        (None, _) => line(format!("{program} of an unknown process"))
            .mended_by(format!("sudo bpftool prog show id {}", tracer.id))
            .advised("find out whose it is: it may be pinned below /sys/fs/bpf"),
    }
}

/// Returns the check of the device stack: as reports show it, with what cannot be observed on it.
fn devices(target: &Target) -> Check {
    let line = |state, meaning: &str| check(Group::Storage, "devices", state, target_line(target), meaning);
    let elsewhere = "give a directory on a block device for claims on storage";
    match (target.tier, target.device()) {
        (Tier::Memory, _) => {
            line(State::Never, "the data is in memory: a claim on a device cannot hold here (AB106)").advised(elsewhere)
        }
        (Tier::Network, _) => line(
            State::Never,
            "the device is in another machine: calls and the client's cache are seen, the device is not",
        )
        .advised("run activebench on the server for what its device does"),
        (Tier::Fuse, _) => {
            let meaning =
                "a daemon does the I/O: claims are judged by what it moves at its own devices, where it has any";
            line(State::Ok, meaning)
        }
        (_, None) => {
            line(State::Never, "no block device is known below: figures of the device are missing").advised(elsewhere)
        }
        (Tier::Block | Tier::Unknown, Some(device)) => {
            line(State::Ok, &format!("claims on storage are judged at {}", device.name))
        }
    }
}

fn write_cache(device: &Layer) -> Check {
    let name = format!("write cache of {}", device.name);
    let line = |state, found: &str, meaning: &str| check(Group::Storage, name.clone(), state, found, meaning);
    match device.write_cache.as_deref() {
        Some("write back") => {
            line(State::Ok, "write back", "a sync must flush it: a sync without FLUSH or FUA is found (AB303)")
        }
        Some(other) => line(State::Ok, other, "what the device completed is durable: no flush is needed"),
        None => line(State::Unknown, "not readable", "whether a sync must flush is not known: AB303 is undecided"),
    }
}

fn loop_mode(layer: &Layer) -> Check {
    let backing = layer.backing_file.as_deref().unwrap_or("a file that is not known");
    let name = format!("I/O of {}", layer.name);
    let line = |state, found: String, meaning: &str| check(Group::Storage, name.clone(), state, found, meaning);
    match layer.loop_direct_io {
        Some(true) => line(State::Ok, format!("direct I/O to {backing}"), "nothing is cached below the file system"),
        Some(false) => line(
            State::Gap,
            format!("buffered I/O to {backing}"),
            "even direct I/O is served from memory below, and a completed write is not on the disk",
        )
        .mended_by(format!("sudo losetup --direct-io=on /dev/{}", layer.name)),
        None => line(State::Unknown, format!("to {backing}, in a mode that is not readable"), "it may be cached below"),
    }
}

fn benchmark(found: &Found) -> Check {
    let benchmark = found.program;
    let meaning = "its claims are read and checked";
    match (&found.path, &found.version) {
        (Some(path), Some(version)) => {
            let found = format!("{version}, {}", path.display());
            check(Group::Benchmarks, benchmark.name, State::Ok, found, meaning)
        }
        (Some(path), None) => {
            let found = format!("version not known, {}", path.display());
            check(Group::Benchmarks, benchmark.name, State::Ok, found, meaning)
        }
        (None, _) => {
            let absent = check(Group::Benchmarks, benchmark.name, State::Gap, "not installed", meaning);
            let absent = match benchmarks::install_command(benchmark) {
                Some(command) => absent.mended_by(command),
                None => absent,
            };
            match benchmark.remark {
                None => absent,
                Some(remark) => absent.advised(remark),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use activebench_fixtures::host_tree::host_tree;
    use activebench_host::{Process, Roots, Survey};
    use activebench_report::Style;

    use super::super::Diagnosis;
    use super::*;

    /// A recorded machine with a recorded stack of devices below a path.
    fn system(machine: &str, stack: &str, path: &str) -> System {
        let (machine, stack) = (host_tree(machine), host_tree(stack));
        let roots_of_machine = Roots::at(machine.root());
        let host = activebench_host::read_host(&roots_of_machine, Process::Own, &[]);
        let mut survey = Survey::of(&Roots::at(stack.root()), Process::Own);
        let target = survey.target_of_path(Path::new(path));
        let found = |name: &str, version: &str| Found {
            program: activebench_tools::adapter_by_name(name).expect("it is listed").program(),
            path: Some(PathBuf::from("/usr/bin").join(name)),
            version: (!version.is_empty()).then(|| version.to_owned()),
        };
        System {
            observability: Observability::read(&roots_of_machine),
            kernel: host.kernel,
            architecture: "x86_64".to_owned(),
            has_call_table: true,
            // The recorded file is empty.
            types: Err("no BTF".to_owned()),
            attached: Ok(Attached {
                took: Duration::from_millis(61),
                probes: activebench_probe::tracepoints()
                    .iter()
                    .filter_map(|tracepoint| tracepoint.hook)
                    .map(|hook| ProbeStatus { hook, attached: true, why_not: None, missed: 0 })
                    .collect(),
            }),
            tracing_refused: None,
            interposer_refused: None,
            other_tracers: Ok(Vec::new()),
            target,
            storage_unread: survey.unread().to_vec(),
            benchmarks: vec![found("iozone", "3.489"), found("orion", "")],
        }
    }

    #[test]
    fn a_sampling_clock_that_is_refused_is_a_gap() {
        let mut system = system("machine", "loop-ext4-direct-io-off", "/mnt/bench/ext4/f");
        let sampling = |system: &System| {
            let found = all(system, "activebench").into_iter().find(|check| check.name == "sampling clock");
            found.map(|check| (check.state, check.found))
        };
        assert_eq!(sampling(&system), None);
        for (why_not, expected) in [
            (None, (State::Ok, "attached")),
            (Some("cpu 0: denied".to_owned()), (State::Gap, "not attached: cpu 0: denied")),
        ] {
            let attached = system.attached.as_mut().expect("attached");
            attached.probes.retain(|probe| probe.hook != Hook::CpuClock);
            let hook = Hook::CpuClock;
            attached.probes.push(ProbeStatus { hook, attached: why_not.is_none(), why_not, missed: 0 });
            assert_eq!(sampling(&system), Some((expected.0, expected.1.to_owned())));
        }
    }

    fn refused(system: System) -> System {
        let why = "Operation not permitted (os error 1)".to_owned();
        System { attached: Err(why.clone()), other_tracers: Err(why), ..system }
    }

    /// Compares the whole text of a diagnosis with the snapshot of this name.
    fn check_whole(snapshot: &str, system: &System) {
        let diagnosis = Diagnosis::of(system, "/usr/bin/activebench");
        assert_eq!(diagnosis.can_observe, system.attached.is_ok());
        let text = activebench_report::format_by_name("text")
            .and_then(|text| text.render_document(&diagnosis, Style::default()))
            .expect("a format");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(snapshot, text);
        });
    }

    #[test]
    fn recorded_hosts() {
        let traced = System {
            other_tracers: Ok(vec![
                OtherTracer {
                    hook: "tracepoint/block_rq_complete".to_owned(),
                    program: "block_rq_comple".to_owned(),
                    id: 2301,
                    pid: Some(1625),
                    comm: Some("bpf\x1b[31mtrace".to_owned()),
                },
                OtherTracer {
                    hook: "raw_tracepoint/sys_enter".to_owned(),
                    program: String::new(),
                    id: 88,
                    pid: None,
                    comm: None,
                },
            ]),
            ..system("machine", "loop-ext4-direct-io-off", "/mnt/bench/ext4/f")
        };
        check_whole("doctor-machine-traced", &traced);
        check_whole(
            "doctor-container",
            &refused(system("synthetic-machine-container", "overlay", "/mnt/bench/overlay/f")),
        );
        check_whole("doctor-user", &refused(system("synthetic-machine-user", "tmpfs", "/dev/shm/f")));
    }

    /// Checks state and meaning of the storage line of this name.
    fn check_storage(stack: &str, path: &str, name: &str, expected: (State, &str)) {
        let checks = all(&system("machine", stack, path), "activebench");
        let found = checks.iter().find(|check| check.group == Group::Storage && check.name == name);
        let found = found.unwrap_or_else(|| panic!("{stack}: no {name} in {checks:#?}"));
        assert_eq!(found.state, expected.0, "{stack}: {found:?}");
        assert!(found.meaning.contains(expected.1), "{stack}: {found:?}");
    }

    #[test]
    fn what_cannot_be_seen_below_a_path_is_said() {
        use State::{Gap, Never, Ok, Unknown};
        check_storage("virtio-ext4", "/srv/f", "devices", (Ok, "judged at vda"));
        check_storage("virtio-ext4", "/srv/f", "write cache of vda", (Ok, "AB303"));
        check_storage("loop-ext4-direct-io-on", "/mnt/bench/ext4/f", "I/O of loop0", (Ok, "nothing is cached"));
        check_storage("loop-ext4-direct-io-off", "/mnt/bench/ext4/f", "I/O of loop0", (Gap, "served from memory"));
        check_storage("tmpfs", "/dev/shm/f", "devices", (Never, "AB106"));
        check_storage("zram-ext4", "/mnt/bench/ext4/f", "devices", (Never, "in memory"));
        check_storage("overlay", "/mnt/bench/overlay/f", "overlay", (Gap, "device are missing"));
        check_storage("synthetic-nfs4", "/mnt/bench/f", "devices", (Never, "another machine"));
        check_storage("synthetic-fuse", "/mnt/bench/sshfs/f", "devices", (Ok, "daemon"));
        check_storage("synthetic-sysfs-incomplete", "/mnt/gone/f", "not read", (Unknown, "further layers"));
    }

    #[test]
    fn an_old_kernel_and_an_unknown_processor_say_what_they_need() {
        let mut system = system("machine", "virtio-ext4", "/srv/f");
        (system.observability.kernel, system.has_call_table) = (Some((5, 10)), false);
        let checks = all(&system, "activebench");
        let state = |name: &str| checks.iter().find(|check| check.name == name).map(|check| check.state);
        assert_eq!((state("version"), state("architecture")), (Some(State::Gap), Some(State::Never)));
    }

    #[test]
    fn a_tracepoint_that_was_not_attached_says_what_is_lost() {
        let Some(types) = KernelTypes::read(Path::new("/sys/kernel/btf/vmlinux")).ok() else { return };
        let mut system = System { types: Ok(types), ..system("machine", "virtio-ext4", "/srv/f") };
        if let Ok(attached) = &mut system.attached {
            for probe in attached.probes.iter_mut().filter(|probe| probe.hook == Hook::Switch) {
                (probe.attached, probe.why_not) = (false, Some("refused".to_owned()));
            }
        }
        let checks = all(&system, "activebench");
        let found = checks.iter().find(|check| check.name == "sched_switch").expect("it is listed");
        assert_eq!((found.state, found.found.as_str()), (State::Gap, "not attached: refused"));
        assert!(found.meaning.contains("AB501"), "{found:?}");
    }
}
