//! The users of a device, on recorded and synthetic trees (`fixtures/host`).

use std::fs;
use std::path::Path;

use activebench_fixtures::host_tree::host_tree;
use activebench_host::{Roots, Usage, block_devices_behind, usage_of};
use activebench_model::call::DeviceNumber;

fn usage(root: &Path, major: u32, minor: u32) -> Usage {
    usage_of(&Roots::at(root), DeviceNumber::new(major, minor))
}

#[test]
fn mounts_of_a_device_and_of_its_partitions_count() {
    let tree = host_tree("synthetic-nvme-partition");
    let root = tree.root();
    let mounted = "is mounted at / (nvme0n1p2)".to_owned();
    let disk = usage(root, 259, 0);
    assert_eq!(disk.users, ["has a partition, nvme0n1p2".to_owned(), mounted.clone()]);
    let partition = usage(root, 259, 2);
    assert_eq!(partition.users, [mounted]);
    assert!(disk.size_bytes > partition.size_bytes && partition.size_bytes.is_some());
    // The recorded tree does not have the discard limit: the value is unknown, with a note.
    assert_eq!(disk.discards, None);
    assert!(disk.unread.iter().any(|why| why.contains("discard_max_bytes")), "{:?}", disk.unread);
}

/// Creates a tree with one disk without users.
fn disk() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (file, text) in [
        ("proc/self/mountinfo", "27 1 8:0 / / rw - ext4 /dev/sda rw\n"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/sdc partition 1 0 -2\n"),
        ("sys/devices/block/sdb/dev", "8:16\n"),
        ("sys/devices/block/sdb/ro", "0\n"),
        ("sys/devices/block/sdb/size", "2048\n"),
        ("sys/devices/block/sdb/queue/discard_max_bytes", "4096\n"),
    ] {
        add(root.path(), file, text);
    }
    fs::create_dir_all(root.path().join("sys/dev/block")).expect("a folder");
    std::os::unix::fs::symlink("../../devices/block/sdb", root.path().join("sys/dev/block/8:16")).expect("a link");
    root
}

fn add(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("the file is written");
}

#[test]
fn each_use_of_a_disk_is_found() {
    let free = Usage { size_bytes: Some(1 << 20), discards: Some(true), ..Usage::default() };
    assert_eq!(usage(disk().path(), 8, 16), free);
    for (file, text, expected) in [
        ("proc/self/mountinfo", "28 1 8:16 / /mnt rw - ext4 /dev/sdb rw\n", "is mounted at /mnt (sdb)"),
        ("proc/self/mountinfo", "28 1 0:40 / /mnt rw - btrfs /dev/sdb rw\n", "is mounted at /mnt (sdb)"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb partition 1 0 -2\n", "is swap (sdb)"),
        ("sys/devices/block/sdb/ro", "1\n", "is read-only"),
        ("sys/devices/block/sdb/holders/dm-0", "", "is part of dm-0 (sdb)"),
        ("sys/devices/block/sdb/sdb1/partition", "1\n", "has a partition, sdb1"),
        ("sys/block/loop7/loop/backing_file", "/dev/sdb\n", "is behind the loop device loop7 (/dev/sdb)"),
        ("sys/fs/btrfs/1234/devices/sdb", "", "is a member of a mounted btrfs (sdb)"),
    ] {
        let root = disk();
        add(root.path(), file, text);
        let found = usage(root.path(), 8, 16);
        assert_eq!(found.users.first().map(String::as_str), Some(expected), "{found:?}");
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    let root = disk();
    fs::remove_file(root.path().join("proc/self/mountinfo")).expect("it was there");
    let found = usage(root.path(), 8, 16);
    assert!(found.unread.iter().any(|why| why.contains("mountinfo")), "{found:?}");
    assert!(!usage(root.path(), 8, 32).unread.is_empty());
}

/// Creates the same disk with a partition without users.
fn partitioned() -> tempfile::TempDir {
    let root = disk();
    for (file, text) in [
        ("sys/devices/block/sdb/sdb1/partition", "1\n"),
        ("sys/devices/block/sdb/sdb1/dev", "8:17\n"),
        ("sys/devices/block/sdb/sdb1/ro", "0\n"),
        ("sys/devices/block/sdb/sdb1/size", "1024\n"),
    ] {
        add(root.path(), file, text);
    }
    let link = root.path().join("sys/dev/block/8:17");
    std::os::unix::fs::symlink("../../devices/block/sdb/sdb1", link).expect("a link");
    root
}

#[test]
fn what_uses_the_whole_disk_uses_its_partition() {
    let partition = usage(partitioned().path(), 8, 17);
    let free = Usage {
        size_bytes: Some(512 << 10),
        partition_of: Some("sdb".to_owned()),
        discards: Some(true),
        ..Usage::default()
    };
    assert_eq!(partition, free);
    for (file, text, expected) in [
        ("sys/block/loop7/loop/backing_file", "/dev/sdb\n", "is behind the loop device loop7 (/dev/sdb)"),
        ("sys/devices/block/sdb/holders/dm-0", "", "is part of dm-0 (sdb)"),
    ] {
        let root = partitioned();
        add(root.path(), file, text);
        assert_eq!(usage(root.path(), 8, 17).users, [expected]);
    }
}

#[test]
fn a_process_that_holds_a_disk_open_is_found() {
    let root = disk();
    let opens = |process: u32, parent: u32, node: &str, flags: &str| {
        let folder = format!("proc/{process}");
        add(root.path(), &format!("{folder}/comm"), "qemu\n");
        add(root.path(), &format!("{folder}/status"), &format!("Name:\tx\nPid:\t{process}\nPPid:\t{parent}\n"));
        add(root.path(), &format!("{folder}/fdinfo/3"), &format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t1\n"));
        let fd = root.path().join(&folder).join("fd");
        fs::create_dir_all(&fd).expect("a folder");
        std::os::unix::fs::symlink(node, fd.join("3")).expect("a link");
    };
    opens(40, 1, "/dev/sdb", "0100002");
    opens(41, 1, "/dev/sdb", "0100000");
    // A descriptor for the name alone (`O_PATH`), another disk, not a file at all.
    opens(42, 1, "/dev/sdb", "012000000");
    opens(43, 1, "/dev/sdc", "0100002");
    opens(44, 1, "socket:[7]", "02");
    // A process from which we descend opened the disk for us.
    add(root.path(), "proc/self/status", "Name:\tx\nPid:\t46\nPPid:\t45\n");
    opens(45, 1, "/dev/sdb", "0100002");
    opens(46, 45, "/dev/sdb", "0100002");
    let found = usage(root.path(), 8, 16);
    let openers: Vec<(&str, bool)> =
        found.openers.iter().map(|opener| (opener.words.as_str(), opener.writes)).collect();
    let expected =
        [("is held open by qemu, process 40 (sdb)", true), ("is held open by qemu, process 41 (sdb)", false)];
    assert_eq!(openers, expected);
    assert!(found.users.is_empty() && found.unread.is_empty(), "{found:?}");
}

/// An unreadable file, imitated by a folder of its name.
#[test]
fn what_cannot_be_read_of_a_use_is_said() {
    for file in ["sys/devices/block/sdb/ro", "sys/block/loop7/loop/backing_file", "proc/swaps"] {
        let root = disk();
        let path = root.path().join(file);
        if path.exists() {
            fs::remove_file(&path).expect("it was there");
        }
        fs::create_dir_all(&path).expect("a folder");
        let found = usage(root.path(), 8, 16);
        assert!(found.unread.iter().any(|why| why.contains(&format!("/{file}"))), "{file}: {found:?}");
    }
    for (file, folder) in [("sys/fs/btrfs/1234/devices", "devices"), ("sys/devices/block/sdb/holders", "holders")] {
        let root = disk();
        add(root.path(), file, "no folder");
        let found = usage(root.path(), 8, 16);
        assert!(found.unread.iter().any(|why| why.contains(folder)), "{file}: {found:?}");
    }
}

#[test]
fn the_disk_behind_a_character_device_is_found() {
    let root = disk();
    let scsi = "sys/devices/pci/host0/0:0:0:0";
    add(root.path(), &format!("{scsi}/block/sdb/dev"), "8:16\n");
    add(root.path(), &format!("{scsi}/scsi_generic/sg0/dev"), "21:0\n");
    add(root.path(), "sys/devices/pci/nvme/nvme0/nvme0n1/dev", "259:0\n");
    add(root.path(), "sys/devices/pci/nvme/nvme0/ng0n1/dev", "241:0\n");
    add(root.path(), "sys/devices/virtual/mem/null/dev", "1:3\n");
    let link = |target: &str, name: &str| {
        let name = root.path().join(name);
        fs::create_dir_all(name.parent().expect("a folder")).expect("a folder");
        std::os::unix::fs::symlink(target, name).expect("a link");
    };
    link("../../../0:0:0:0", &format!("{scsi}/scsi_generic/sg0/device"));
    link("../../devices/pci/host0/0:0:0:0/scsi_generic/sg0", "sys/dev/char/21:0");
    link("../../devices/pci/nvme/nvme0/ng0n1", "sys/dev/char/241:0");
    link("../../devices/virtual/mem/null", "sys/dev/char/1:3");
    for (major, minor, expected) in [
        (21, 0, vec![("sdb".to_owned(), DeviceNumber::new(8, 16))]),
        (241, 0, vec![("nvme0n1".to_owned(), DeviceNumber::new(259, 0))]),
        (1, 3, vec![]),
        (9, 9, vec![]),
    ] {
        let found = block_devices_behind(&Roots::at(root.path()), DeviceNumber::new(major, minor));
        assert_eq!(found, Ok(expected), "{major}:{minor}");
    }
}
