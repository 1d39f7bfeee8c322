//! Who uses a device, on recorded and synthetic trees (`fixtures/host`).

use std::fs;
use std::path::{Path, PathBuf};

use activebench_host::{Roots, Usage, usage_of};
use activebench_model::call::DeviceNumber;

fn tree(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/host").join(case)
}

fn usage(root: &Path, major: u32, minor: u32) -> Usage {
    usage_of(&Roots::at(root), DeviceNumber::new(major, minor))
}

#[test]
fn mounts_of_a_device_and_of_its_partitions_count() {
    let root = tree("synthetic-nvme-partition");
    let mounted = "is mounted at / (nvme0n1p2)".to_owned();
    let disk = usage(&root, 259, 0);
    assert_eq!(disk.users, ["has a partition, nvme0n1p2".to_owned(), mounted.clone()]);
    let partition = usage(&root, 259, 2);
    assert_eq!(partition.users, [mounted]);
    assert!(disk.size_bytes > partition.size_bytes && partition.size_bytes.is_some());
    // The recorded tree does not say whether it takes discards: that is not known, and said.
    assert_eq!(disk.discards, None);
    assert!(disk.unread.iter().any(|why| why.contains("discard_max_bytes")), "{:?}", disk.unread);
}

/// A tree with one disk that nobody uses.
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
    let free = Usage { size_bytes: Some(1 << 20), users: Vec::new(), discards: Some(true), unread: Vec::new() };
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
