//! Targets of recorded and synthetic trees (`fixtures/host`), as snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use activebench_fixtures::host_tree::{HostTree, host_tree};
use activebench_host::{Mounts, Process, Roots, Seen, StorageRef, Survey, shares_device};
use activebench_model::call::DeviceNumber;
use activebench_model::host::{Target, Tier};

/// A survey and its tree, which is read as questions are asked.
struct Surveyed {
    survey: Survey,
    _tree: HostTree,
}

impl Deref for Surveyed {
    type Target = Survey;

    fn deref(&self) -> &Survey {
        &self.survey
    }
}

impl DerefMut for Surveyed {
    fn deref_mut(&mut self) -> &mut Survey {
        &mut self.survey
    }
}

fn survey(case: &str) -> Surveyed {
    let tree = host_tree(case);
    Surveyed { survey: Survey::of(&Roots::at(tree.root()), Process::Own), _tree: tree }
}

fn dev(major: u32, minor: u32) -> DeviceNumber {
    DeviceNumber::new(major, minor)
}

fn on(major: u32, minor: u32, path: &str) -> StorageRef {
    let path = (!path.is_empty()).then(|| PathBuf::from(path));
    StorageRef::FileSystem { s_dev: dev(major, minor), path }
}

fn raw(major: u32, minor: u32) -> StorageRef {
    StorageRef::Device(dev(major, minor))
}

fn layer_names(target: &Target) -> Vec<&str> {
    target.layers.iter().map(|layer| layer.name.as_str()).collect()
}

/// Compares the whole of one target, and what could not be read, with the snapshot of this name.
fn check_whole(snapshot: &str, case: &str, storage: StorageRef) {
    let mut survey = survey(case);
    let targets = survey.targets_of(&[storage]);
    let text = format!("{}\nunread: {:#?}\n", serde_json::to_string_pretty(&targets).unwrap(), survey.unread());
    insta::assert_snapshot!(snapshot, text);
}

#[test]
fn recorded_stacks() {
    check_whole("virtio-ext4", "virtio-ext4", on(254, 0, "/srv/f"));
    check_whole("tmpfs", "tmpfs", on(0, 27, "/dev/shm/f"));
    check_whole("loop-ext4-direct-io-on", "loop-ext4-direct-io-on", on(7, 0, ""));
    check_whole("loop-ext4-direct-io-off", "loop-ext4-direct-io-off", on(7, 0, ""));
    check_whole("loop-raw", "loop-raw", raw(7, 0));
    check_whole("loop-on-loop", "loop-on-loop", raw(7, 1));
    check_whole("loop-partition-ext4", "loop-partition-ext4", on(259, 0, ""));
    check_whole("loop-on-tmpfs", "loop-on-tmpfs", on(7, 0, ""));
    check_whole("btrfs-two-loops", "btrfs-two-loops", on(0, 40, "/mnt/bench/subvolume/f"));
    check_whole("overlay", "overlay", on(0, 40, "/mnt/bench/overlay/f"));
    check_whole("zram-ext4", "zram-ext4", on(253, 1, ""));
}

#[test]
fn a_scsi_disk_s_serial_number_is_that_of_its_page() {
    for (minor, expected) in [(32, Some("S0EXAMPLE456")), (48, None)] {
        let mut survey = survey("synthetic-sas-and-fibre-channel");
        let target = survey.target_for_device(dev(8, minor));
        let serial = target.layers[0].attributes.get("device/serial").map(String::as_str);
        assert_eq!(serial, expected, "{}", target.layers[0].name);
        assert!(survey.unread().iter().all(|why| !why.contains("vpd_pg80")), "{:?}", survey.unread());
    }
}

#[test]
fn synthetic_stacks() {
    check_whole("nvme-partition", "synthetic-nvme-partition", on(259, 2, ""));
    check_whole("md-raid1", "synthetic-md-raid1", on(9, 0, ""));
    check_whole("btrfs-crypt-on-lvm", "synthetic-btrfs-crypt-on-lvm", on(0, 33, ""));
    check_whole("nfs4", "synthetic-nfs4", on(0, 50, ""));
    check_whole("fuse-sshfs", "synthetic-fuse", on(0, 51, ""));
    check_whole("fuseblk", "synthetic-fuse", on(8, 17, ""));
    check_whole("container-overlay", "synthetic-container-overlay", on(0, 60, "/data/f"));
    check_whole("overlay-read-only", "synthetic-overlay-read-only", on(0, 41, ""));
    check_whole("loop-cycle", "synthetic-loop-cycle", on(7, 0, ""));
    check_whole("loop-deleted-on-tmpfs", "synthetic-loop-deleted-on-tmpfs", raw(7, 3));
    check_whole("sysfs-incomplete", "synthetic-sysfs-incomplete", on(8, 0, ""));
    check_whole("zfs", "synthetic-sysfs-incomplete", on(0, 70, ""));
    check_whole("dm-without-members", "synthetic-sysfs-incomplete", on(253, 5, ""));
    check_whole("device-gone", "synthetic-sysfs-incomplete", on(8, 32, ""));
}

#[test]
fn tiers_and_layers() {
    let check = |case: &str, storage: StorageRef, tier: Tier, layers: &[&str], judged: Option<&str>| {
        let target = survey(case).targets_of(&[storage]).remove(0);
        let device = target.device().map(|layer| layer.name.as_str());
        assert_eq!((target.tier, &layer_names(&target)[..], device), (tier, layers, judged), "{case}");
    };
    check("virtio-ext4", on(254, 0, ""), Tier::Block, &["vda"], Some("vda"));
    check("tmpfs", on(0, 27, ""), Tier::Memory, &[], None);
    check("zram-ext4", on(253, 1, ""), Tier::Memory, &["zram1"], Some("zram1"));
    check("loop-on-tmpfs", on(7, 0, ""), Tier::Memory, &["loop0"], Some("loop0"));
    check("loop-on-loop", raw(7, 1), Tier::Block, &["loop1", "loop0", "vda"], Some("loop1"));
    check("loop-partition-ext4", on(259, 0, ""), Tier::Block, &["loop0p1", "loop0", "vda"], Some("loop0"));
    check("btrfs-two-loops", on(0, 40, ""), Tier::Block, &["loop0", "vda", "loop1"], Some("loop0"));
    check("overlay", on(0, 40, ""), Tier::Block, &["vda"], Some("vda"));
    let raid = ["md0", "sda1", "sda", "sdb1", "sdb"];
    check("synthetic-md-raid1", on(9, 0, ""), Tier::Block, &raid, Some("md0"));
    check("synthetic-btrfs-crypt-on-lvm", on(0, 33, ""), Tier::Block, &["dm-1", "dm-0", "sda2", "sda"], Some("dm-1"));
    check("synthetic-nfs4", on(0, 50, ""), Tier::Network, &[], None);
    check("synthetic-fuse", on(0, 51, ""), Tier::Fuse, &[], None);
    check("synthetic-fuse", on(8, 17, ""), Tier::Block, &["sdb1", "sdb"], Some("sdb"));
    check("synthetic-container-overlay", on(0, 60, ""), Tier::Unknown, &[], None);
    check("synthetic-loop-cycle", on(7, 0, ""), Tier::Unknown, &["loop0"], Some("loop0"));
}

#[test]
fn every_device_that_holds_a_part_of_the_data_is_judged() {
    for (case, storage, expected) in [
        ("virtio-ext4", on(254, 0, ""), &["vda"][..]),
        ("loop-ext4-direct-io-on", on(7, 0, ""), &["loop0"]),
        ("loop-partition-ext4", on(259, 0, ""), &["loop0"]),
        ("btrfs-two-loops", on(0, 40, ""), &["loop0", "loop1"]),
        ("synthetic-md-raid1", on(9, 0, ""), &["md0"]),
        ("overlay", on(0, 40, ""), &["vda"]),
        ("tmpfs", on(0, 27, ""), &[]),
    ] {
        let target = survey(case).targets_of(&[storage]).remove(0);
        let devices: Vec<&str> = target.devices().map(|layer| layer.name.as_str()).collect();
        assert_eq!(devices, expected, "{case}");
    }
}

#[test]
fn a_mount_that_a_run_had_counts_where_it_is_gone() {
    let of = |seen: &str| {
        let (seen, notes) = Mounts::parse(seen.as_bytes());
        assert!(notes.is_empty(), "{notes:?}");
        let mut survey = survey("tmpfs");
        survey.set_seen(Seen { mounts: seen, ..Seen::default() });
        let target = survey.targets_of(&[on(0, 99, "/srv/f")]).remove(0);
        (target.fs_type, target.mount_point, target.tier)
    };
    let unknown = ("unknown".to_owned(), String::new(), Tier::Unknown);
    let tmpfs = ("tmpfs".to_owned(), "/srv".to_owned(), Tier::Memory);
    let mount = "90 1 0:99 / /srv rw - tmpfs none rw\n";
    assert_eq!(of(""), unknown);
    assert_eq!(of(mount), tmpfs);
    // Bound elsewhere it is the same file system.
    assert_eq!(of(&format!("{mount}91 1 0:99 /a /srv/bound rw - tmpfs none rw\n")), tmpfs);
    // The number went to another file system when the first was unmounted: the file was on one of both.
    assert_eq!(of(&format!("{mount}92 1 0:99 / /srv rw - fuse.sshfs other: rw\n")), unknown);
}

#[test]
fn a_number_that_was_given_again_is_not_guessed() {
    let of = |seen: &str, s_dev| {
        let mut survey = survey("btrfs-two-loops");
        survey.set_seen(Seen { mounts: Mounts::parse(seen.as_bytes()).0, ..Seen::default() });
        survey.targets_of(&[s_dev]).remove(0).tier
    };
    assert_eq!(of("", on(0, 40, "")), Tier::Block);
    assert_eq!(of("90 1 0:40 / /elsewhere rw - btrfs /dev/loop0 rw\n", on(0, 40, "")), Tier::Block);
    assert_eq!(of("90 1 0:40 / /srv rw - tmpfs none rw\n", on(0, 40, "")), Tier::Unknown);
    // A device keeps its number, whatever it was mounted as.
    assert_eq!(of("90 1 254:0 / /srv rw - ext4 /dev/root rw\n", on(254, 0, "")), Tier::Block);
}

#[test]
fn a_backing_file_on_a_file_system_that_is_unmounted_since() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/self/mountinfo", "27 1 8:0 / / rw - ext4 /dev/sda rw\n");
    write("proc/self/root/srv/again.img", "");
    write("sys/devices/sda/size", "8\n");
    write("sys/devices/loop0/size", "8\n");
    write("sys/devices/loop1/loop/backing_file", "/srv/again.img\n");
    fs::create_dir_all(folder.path().join("sys/dev/block")).unwrap();
    for (number, name) in [("8:0", "sda"), ("7:0", "loop0"), ("7:1", "loop1")] {
        let link = folder.path().join("sys/dev/block").join(number);
        std::os::unix::fs::symlink(format!("../../devices/{name}"), link).unwrap();
    }
    let of = |mounts: &str, backing_file: Option<&str>, minor| {
        let mut survey = Survey::of(&Roots::at(folder.path()), Process::Own);
        let attribute = PathBuf::from(format!("/sys/devices/loop{minor}/loop/backing_file"));
        let content = backing_file.map(|path| format!("{path}\n").into_bytes());
        let mounts = Mounts::parse(mounts.as_bytes()).0;
        survey.set_seen(Seen { mounts, attributes: BTreeMap::from([(attribute, content)]) });
        survey.target_for_device(dev(7, minor)).tier
    };
    let memory = "90 27 0:99 / /srv rw - tmpfs none rw\n";
    assert_eq!(of(memory, Some("/srv/gone.img"), 0), Tier::Memory);
    assert_eq!(of("", Some("/srv/gone.img"), 0), Tier::Unknown);
    assert_eq!(of("", Some("/srv/again.img"), 0), Tier::Block);
    // Both the file system that is gone and the one below it may have had the file.
    assert_eq!(of(memory, Some("/srv/again.img"), 0), Tier::Unknown);
    let two = format!("{memory}91 27 0:98 / /srv rw - nfs4 server:/srv rw\n");
    assert_eq!(of(&two, Some("/srv/gone.img"), 0), Tier::Unknown);
    // The root of a container is not above the files of its host.
    assert_eq!(of("90 27 0:99 / / rw - tmpfs none rw\n", Some("/srv/again.img"), 0), Tier::Block);
    // The device has its file now, and had it all the time, or another one.
    assert_eq!(of(memory, Some("/srv/again.img"), 1), Tier::Block);
    assert_eq!(of("", Some("/srv/other.img"), 1), Tier::Unknown);
    assert_eq!(of("", None, 1), Tier::Unknown);
}

#[test]
fn a_file_on_an_overlay_is_known_by_the_file_system_below() {
    let of = |path| {
        let target = survey("overlay").targets_of(&[on(254, 0, path)]).remove(0);
        (target.fs_type, target.mount_point, target.s_dev)
    };
    let below = DeviceNumber::new(254, 0);
    assert_eq!(of("/mnt/bench/overlay/f"), ("overlay".to_owned(), "/mnt/bench/overlay".to_owned(), below));
    assert_eq!(of("/mnt/bench/upper/f"), ("ext4".to_owned(), "/".to_owned(), below));
    assert_eq!(survey("overlay").overlays(), [(DeviceNumber::new(0, 40), below)]);
    // The directories of a container's overlay are on its host.
    assert_eq!(survey("synthetic-container-overlay").overlays(), []);
}

#[test]
fn a_number_that_no_mount_has() {
    let check = |case: &str, storage: StorageRef, expected: (&str, &str, Tier), note: &str| {
        let mut survey = survey(case);
        let StorageRef::FileSystem { s_dev, .. } = storage else { panic!("a file system is meant") };
        let target = survey.targets_of(&[storage]).remove(0);
        assert_eq!((target.mount_point.as_str(), target.fs_type.as_str(), target.tier), expected, "{case}");
        assert_eq!(target.s_dev, s_dev);
        assert_eq!(survey.unread(), [note]);
    };
    // The number that `stat` returns for a subvolume; the path finds the mount.
    check(
        "btrfs-two-loops",
        on(0, 42, "/mnt/bench/subvolume/f"),
        ("/mnt/bench/subvolume", "btrfs", Tier::Block),
        "no mount has the device 0:42; the one that holds the path, /mnt/bench/subvolume, is taken",
    );
    // A real device that is not mounted (any more) is followed as a device, whatever mount contains the path now.
    check("loop-raw", on(7, 0, "/mnt/bench/f"), ("", "unknown", Tier::Block), "no mount has the device 7:0");
    check("tmpfs", on(0, 99, "/srv/f"), ("", "unknown", Tier::Unknown), "no mount has the device 0:99");
    check("tmpfs", on(0, 99, ""), ("", "unknown", Tier::Unknown), "no mount has the device 0:99");
}

#[test]
fn storage_named_twice_is_one_target() {
    let mut survey = survey("btrfs-two-loops");
    let used = [on(0, 40, ""), on(254, 0, ""), on(0, 40, "/mnt/bench/subvolume/f"), on(0, 40, "/mnt/bench/btrfs/f")];
    let targets = survey.targets_of(&used);
    let places: Vec<&str> = targets.iter().map(|target| target.mount_point.as_str()).collect();
    assert_eq!(places, ["/mnt/bench/subvolume", "/"]);
}

#[test]
fn a_run_directory_shares_a_device_somewhere_below() {
    let check = |case: &str, one: &str, other: &str, expected: Option<DeviceNumber>| {
        let mut survey = survey(case);
        let one = survey.target_of_path(Path::new(one)).unwrap();
        let other = survey.target_of_path(Path::new(other)).unwrap();
        assert_eq!(shares_device(&one, &other), expected, "{case}: {} {}", one.mount_point, other.mount_point);
        assert_eq!(shares_device(&other, &one).is_some(), expected.is_some());
    };
    let disk = Some(dev(254, 0));
    check("loop-ext4-direct-io-off", "/mnt/bench/ext4/f", "/var/runs", disk);
    check("loop-ext4-direct-io-off", "/mnt/bench/ext4/f", "/mnt/bench/ext4/runs", Some(dev(7, 0)));
    check("loop-ext4-direct-io-off", "/mnt/bench/ext4/f", "/dev/shm/runs", None);
    check("btrfs-two-loops", "/mnt/bench/btrfs/f", "/mnt/bench/runs", disk);
    check("overlay", "/mnt/bench/overlay/f", "/var/runs", disk);
    check("loop-on-tmpfs", "/mnt/bench/ext4/f", "/mnt/bench/tmpfs/runs", None);
    check("tmpfs", "/dev/shm/f", "/dev/shm/runs", None);
    check("synthetic-nfs4", "/mnt/bench/f", "/mnt/bench/runs", Some(dev(0, 50)));
    check("synthetic-fuse", "/mnt/bench/ntfs/f", "/runs", None);
}

#[test]
fn devices_below_a_path() {
    let check = |case: &str, path: &str, expected: &[DeviceNumber]| {
        let expected: BTreeSet<DeviceNumber> = expected.iter().copied().collect();
        assert_eq!(survey(case).devices_below(Path::new(path)), expected, "{case} {path}");
    };
    check("loop-partition-ext4", "/mnt/bench/ext4/f", &[dev(259, 0), dev(7, 0), dev(254, 0)]);
    check("btrfs-two-loops", "/mnt/bench/btrfs", &[dev(7, 0), dev(7, 1), dev(254, 0)]);
    check("tmpfs", "/dev/shm/f", &[]);
}

#[test]
fn a_backing_file_of_another_mount_namespace_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/self/mountinfo", "27 1 0:30 / / rw - tmpfs tmpfs rw\n");
    write("proc/self/root/here.img", "");
    write("sys/devices/loop0/loop/backing_file", "/elsewhere.img\n");
    write("sys/devices/loop1/loop/backing_file", "/here.img\n");
    fs::create_dir_all(folder.path().join("sys/dev/block")).unwrap();
    fs::create_dir_all(folder.path().join("sys/devices/loop2")).unwrap();
    for minor in 0..3 {
        let link = folder.path().join(format!("sys/dev/block/7:{minor}"));
        std::os::unix::fs::symlink(format!("../../devices/loop{minor}"), link).unwrap();
    }
    let mut survey = Survey::of(&Roots::at(folder.path()), Process::Own);
    let detached = PathBuf::from("/sys/devices/loop2/loop/backing_file");
    let attributes = BTreeMap::from([(detached, Some(b"/here.img\n".to_vec()))]);
    survey.set_seen(Seen { attributes, ..Seen::default() });
    assert_eq!(survey.target_for_device(dev(7, 1)).tier, Tier::Memory);
    assert_eq!(survey.target_for_device(dev(7, 2)).tier, Tier::Memory);
    assert_eq!(survey.target_for_device(dev(7, 0)).tier, Tier::Unknown);
    let note = "cannot follow the backing file /elsewhere.img of loop0: it is not in this mount namespace";
    assert!(survey.unread().iter().any(|what| what == note), "{:?}", survey.unread());
}

#[test]
fn every_recorded_tree_is_read_without_gaps() {
    for case in ["virtio-ext4", "loop-ext4-direct-io-on", "loop-partition-ext4", "btrfs-two-loops", "overlay"] {
        let mut survey = survey(case);
        let used: Vec<StorageRef> = survey
            .mounts()
            .0
            .iter()
            .filter(|mount| !matches!(mount.fs_type.as_str(), "proc" | "sysfs"))
            .map(|mount| StorageRef::FileSystem { s_dev: mount.device, path: Some(mount.mount_point.clone()) })
            .collect();
        survey.targets_of(&used);
        assert_eq!(survey.unread(), [""; 0], "{case}");
    }
}

#[test]
fn what_shares_no_device_with_a_path() {
    let check = |case: &str, path: &str, apart: &[(u32, u32)], not: &[(u32, u32)]| {
        let found = survey(case).apart_from(Path::new(path)).expect("the path's stack is known");
        let among = |(major, minor): &(u32, u32)| found.contains(&dev(*major, *minor));
        assert!(apart.iter().all(among), "{case} {path}: {found:?}");
        assert!(!not.iter().any(among), "{case} {path}: {found:?}");
    };
    // A loop device's backing file is on the disk, so each shares a device with the other.
    check("loop-ext4-direct-io-on", "/mnt/bench/ext4", &[(0, 27)], &[(254, 0), (7, 0)]);
    check("loop-ext4-direct-io-on", "/dev/shm", &[(254, 0), (7, 0)], &[(0, 27)]);
    assert!(survey("synthetic-fuse").apart_from(Path::new("/mnt/bench")).is_err());
}
