//! The machine and the observation rights on it: recorded and synthetic trees, and this host.

use std::path::Path;

use activebench_fixtures::host_tree::host_tree;
use activebench_host::{Mend, Observability, Process, Roots, StorageRef, Survey, read_host};
use activebench_model::call::DeviceNumber;
use activebench_model::host::{Host, Tier};

#[test]
fn machines_are_read() {
    let check = |case: &str, expected: Host| {
        assert_eq!(read_host(&Roots::at(host_tree(case).root()), Process::Own, &[]), expected, "{case}");
    };
    check(
        "machine",
        Host {
            kernel: "6.18.44-fc-v669".to_owned(),
            architecture: "x86_64".to_owned(),
            cpus: 2,
            memory_bytes: Some(24_684_084 * 1024),
            // The process's own cgroup allows 12 GiB, its parent 8 GiB.
            memory_limit_bytes: Some(8 << 30),
            ..Host::default()
        },
    );
    check(
        "synthetic-machine-container",
        Host {
            kernel: "5.10.0-example".to_owned(),
            // No /proc/sys/kernel/arch before Linux 6.1.
            architecture: std::env::consts::ARCH.to_owned(),
            cpus: 5,
            memory_bytes: Some(16 << 20),
            memory_limit_bytes: Some(4 << 30),
            ..Host::default()
        },
    );
    let absent = "No such file or directory (os error 2)";
    check(
        "synthetic-machine-user",
        Host {
            kernel: "unknown".to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            unread: vec![
                format!("cannot read /proc/sys/kernel/osrelease: {absent}"),
                format!("cannot read /sys/devices/system/cpu/online: {absent}"),
                format!("cannot read /proc/meminfo: {absent}"),
                "the memory limit is not known: the cgroup hierarchy of /proc/self/cgroup is not mounted".to_owned(),
            ],
            ..Host::default()
        },
    );
}

#[test]
fn a_process_that_is_gone_leaves_our_own_mounts() {
    let tree = host_tree("virtio-ext4");
    let mut survey = Survey::of(&Roots::at(tree.root()), Process::Id(4711));
    assert_eq!(
        survey.unread(),
        ["cannot read /proc/4711/mountinfo: No such file or directory (os error 2); our own mounts are taken"]
    );
    assert_eq!(survey.target_for(DeviceNumber::new(254, 0), None).tier, Tier::Block);
}

/// Formats the gaps as lines: the gap, its effect on BPF, its fix.
fn gaps(observability: &Observability) -> Vec<String> {
    let line = |gap: activebench_host::Gap| {
        let blocks = if gap.blocks_bpf { "blocks" } else { "partly" };
        match gap.mend {
            Mend::Command(command) => format!("{blocks}: {} $ {command}", gap.what),
            Mend::Advice(advice) => format!("{blocks}: {} -> {advice}", gap.what),
        }
    };
    observability.missing().into_iter().map(line).collect()
}

#[test]
fn gaps_of_recorded_machines() {
    let check = |case: &str, allowed: bool| {
        let observability = Observability::read(&Roots::at(host_tree(case).root()));
        assert_eq!(observability.allows_bpf(), allowed, "{case}");
        let text = format!("{observability:#?}\n\n{}\n", gaps(&observability).join("\n"));
        insta::assert_snapshot!(format!("observability-{case}"), text);
    };
    check("machine", true);
    check("synthetic-machine-container", false);
    check("synthetic-machine-user", false);
}

#[test]
fn rights_and_what_gives_them() {
    let none = Observability {
        cap_bpf: Some(false),
        cap_perfmon: Some(false),
        cap_sys_admin: Some(false),
        cap_sys_ptrace: Some(false),
        rights_attainable: Some(true),
        no_new_privileges: Some(false),
        ..Observability::default()
    };
    let check = |observability: Observability, allowed: bool, expected: &[&str]| {
        assert_eq!(gaps(&observability), expected);
        assert_eq!(observability.allows_bpf(), allowed);
    };
    let setcap = "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep {program}";
    let all = "blocks: CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE not held: no BPF program can be loaded";
    check(none.clone(), false, &[&format!("{all} $ {setcap}")]);
    // CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON (include/linux/capability.h), but not CAP_SYS_PTRACE.
    let partly = "partly: CAP_SYS_PTRACE not held: /proc does not show the mounts and files of other users' processes";
    check(Observability { cap_sys_admin: Some(true), ..none.clone() }, true, &[&format!("{partly} $ {setcap}")]);
    check(
        Observability { cap_bpf: Some(true), cap_sys_ptrace: Some(true), ..none.clone() },
        false,
        &[&format!("blocks: CAP_PERFMON not held: no BPF program can be loaded $ {setcap}")],
    );
    check(
        Observability { no_new_privileges: Some(true), ..none.clone() },
        false,
        &[&format!(
            "{all} -> this process may not gain rights (no_new_privs is set): start activebench from a shell without it"
        )],
    );
    check(
        Observability { jit: Some(0), run_times_kept: Some(true), ..Observability::default() },
        true,
        &[
            "partly: BPF programs are interpreted, not compiled: each run costs several times as much \
             $ sudo sysctl net.core.bpf_jit_enable=1",
            "partly: the kernel times every run of every BPF program: each costs 80 to 90 ns more \
             $ sudo sysctl kernel.bpf_stats_enabled=0",
        ],
    );
    // An unread value does not count as missing.
    check(Observability::default(), true, &[]);
}

#[test]
fn this_host_keeps_the_invariants() {
    let roots = Roots::default();
    let mut survey = Survey::of(&roots, Process::Own);
    let root = survey.target_of_path(Path::new("/")).expect("a mount at /");
    assert_eq!(root.mount_point, "/");
    let by_number = survey.target_for(root.s_dev, Some(Path::new("/")));
    assert_eq!(by_number, root);
    for layer in &root.layers {
        assert!(layer.size_bytes.is_some(), "{layer:?}");
    }
    if let Some(shared_memory) =
        survey.target_of_path(Path::new("/dev/shm/f")).filter(|target| target.fs_type == "tmpfs")
    {
        assert_eq!((shared_memory.tier, shared_memory.layers.len()), (Tier::Memory, 0));
    }

    let used = [StorageRef::FileSystem { s_dev: root.s_dev, path: None }];
    let host = read_host(&roots, Process::Id(std::process::id()), &used);
    assert_eq!(host.targets.len(), 1);
    assert!(host.cpus > 0 && !host.kernel.is_empty() && host.memory_bytes > Some(0), "{host:?}");
    assert_eq!(host.hostname, None);

    let observability = Observability::read(&roots);
    assert!(observability.cap_bpf.is_some() && observability.uid0.is_some(), "{observability:?}");
}
