//! Links, states, caches and counters of recorded and synthetic trees (`fixtures/host`), and of this host.

use std::fs;

use activebench_fixtures::host_tree::host_tree;
use activebench_host::{HostWatch, IoLimits, Process, Roots, StorageRef, io_limits, read_host};
use activebench_model::call::DeviceNumber;
use activebench_model::hardware::Hardware;
use activebench_model::readings::{Readings, Watched};

use crate::trees::write;

fn on(major: u32, minor: u32) -> StorageRef {
    StorageRef::FileSystem { s_dev: DeviceNumber::new(major, minor), path: None }
}

fn hardware(case: &str, used: &[StorageRef]) -> Hardware {
    let host = read_host(&Roots::at(host_tree(case).root()), Process::Own, used);
    host.hardware.expect("storage was used")
}

#[test]
fn hardware_is_read() {
    let check = |case: &str, used: &[StorageRef]| {
        let text = serde_json::to_string_pretty(&hardware(case, used)).expect("it serialises");
        insta::assert_snapshot!(format!("hardware-{case}"), text);
    };
    check("synthetic-md-raid1", &[on(9, 0)]);
    check("synthetic-nvme-partition", &[on(259, 2)]);
    check("synthetic-nvme-subsystem", &[on(259, 0)]);
    check("synthetic-sas-and-fibre-channel", &[on(8, 32), on(8, 48)]);
    check("synthetic-bcache", &[on(251, 0)]);
    check("synthetic-nfs4", &[on(0, 50)]);
    check("synthetic-btrfs-crypt-on-lvm", &[on(0, 33)]);
    check("synthetic-host-counters", &[on(8, 1)]);
    // A recorded virtual machine without such hardware: read and empty, which differs from not read.
    check("loop-ext4-direct-io-on", &[on(7, 0)]);
}

fn values(readings: &Readings, what: Watched, of: &str) -> Vec<(u64, u64)> {
    readings.find(what, of).unwrap_or_else(|why| panic!("{what:?}: {why:?}")).readings.clone()
}

#[test]
fn counters_and_levels_are_followed() {
    let tree = host_tree("synthetic-host-counters");
    let root = tree.root();
    let mut watch = HostWatch::new(&Roots::at(root), Process::Own);
    watch.read_all(1_000);
    write(root, "proc/meminfo", "Dirty: 4 kB\nWriteback: 0 kB\n");
    write(root, "proc/vmstat", "pswpin 101\npswpout 24\n");
    write(root, "proc/pressure/memory", "full avg10=0.50 avg60=0.25 avg300=0.05 total=400100\n");
    write(root, "sys/fs/cgroup/bench.slice/memory.pressure", "full avg10=0.00 total=700300\n");
    write(root, "sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "1000000\n");
    write(root, "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
    // Values in many files are read less often.
    watch.read(2_000);
    watch.read_all(3_000);
    let readings = watch.finish();
    let check = |what, expected: &[(u64, u64)]| assert_eq!(values(&readings, what, ""), expected, "{what:?}");
    check(Watched::DirtyBytes, &[(1_000, 24_576 << 10), (2_000, 4 << 10), (3_000, 4 << 10)]);
    check(Watched::SwappedPages, &[(1_000, 123), (2_000, 125), (3_000, 125)]);
    check(Watched::MemoryStalled, &[(1_000, 400_000_000), (2_000, 400_100_000), (3_000, 400_100_000)]);
    check(Watched::GroupMemoryStalled, &[(1_000, 700_000_000), (2_000, 700_300_000), (3_000, 700_300_000)]);
    check(Watched::Frequency, &[(1_000, 3_100_000), (3_000, 2_000_000)]);
    check(Watched::ThermalThrottles, &[(1_000, 11), (3_000, 15)]);
    // Without a network file system the received bytes are not read.
    assert!(readings.find(Watched::NetworkReceived, "").is_err_and(|unread| unread.is_some()));
    // No disk has a sensor, so the value is absent on this host.
    let unread = readings.find(Watched::HotDisks, "").expect_err("there are none");
    assert!(unread.is_some_and(|unread| unread.is_absent), "{unread:?}");
}

#[test]
fn what_a_client_received_and_which_disks_are_hot() {
    let nfs = host_tree("synthetic-nfs4");
    let mut watch = HostWatch::new(&Roots::at(nfs.root()), Process::Own);
    watch.read_all(7);
    let readings = watch.finish();
    assert_eq!(values(&readings, Watched::ServerReadBytes, "/mnt/bench"), [(7, 536_870_912)]);
    assert_eq!(values(&readings, Watched::NetworkReceived, ""), [(7, 600_001_000)]);
    // There is no /proc/pressure; its values must not become 0.
    assert!(readings.find(Watched::MemoryStalled, "").is_err_and(|unread| unread.is_some()));

    let nvme = host_tree("synthetic-nvme-partition");
    let mut watch = HostWatch::new(&Roots::at(nvme.root()), Process::Own);
    watch.read_all(7);
    watch.read(8);
    assert_eq!(values(&watch.finish(), Watched::HotDisks, "nvme0"), [(7, 1)]);
}

#[test]
fn limits_that_cannot_be_read_are_not_none() {
    let limits = |case: &str| io_limits(&Roots::at(host_tree(case).root()), Process::Own);
    let found = limits("synthetic-host-counters").expect("it has a group");
    assert_eq!((found.limits.len(), found.unread), (1, None));
    let why = "the limits on I/O are not known: their cgroup hierarchy is not mounted";
    let unmounted = IoLimits { limits: Vec::new(), unread: Some(why.to_owned()) };
    assert_eq!(limits("synthetic-machine-user"), Ok(unmounted));
    // A process that has ended has no groups.
    assert!(io_limits(&Roots::at(host_tree("machine").root()), Process::Id(4711)).is_err());
}

#[test]
fn a_server_that_is_this_machine_has_no_link() {
    let tree = host_tree("synthetic-nfs4");
    let root = tree.root();
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).expect("it is there");
    let links = |address: &str| {
        write(root, "proc/self/mountinfo", &mounts.replace(",addr=192.0.2.1", &format!(",addr={address}")));
        let host = read_host(&Roots::at(root), Process::Own, &[on(0, 50)]);
        assert!(!host.targets[0].options.contains(address), "{}", host.targets[0].options);
        host.hardware.expect("storage was used").links.len()
    };
    write(root, "proc/net/fib_trie", "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 192.0.2.7\n        /32 host LOCAL\n");
    write(root, "proc/net/if_inet6", "20010db8000000000000000000000007 02 40 00 80     eth0\n");
    for own in ["127.0.0.1", "192.0.2.7", "::1", "2001:db8::7"] {
        assert_eq!(links(own), 0, "{own}");
    }
    for other in ["192.0.2.1", "192.0.2.77", "2001:db8::1"] {
        assert_eq!(links(other), 1, "{other}");
    }
}

#[test]
fn this_host_is_followed() {
    let mut watch = HostWatch::new(&Roots::default(), Process::Own);
    watch.read_all(1);
    watch.read_all(2);
    let readings = watch.finish();
    for what in [Watched::DirtyBytes, Watched::SwappedPages] {
        assert_eq!(values(&readings, what, "").first().map(|(at_ns, _)| *at_ns), Some(1), "{what:?}");
    }
}
