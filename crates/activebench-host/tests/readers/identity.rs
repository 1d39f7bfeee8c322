//! The identity of storage, on recorded and synthetic trees (`fixtures/host`) and a changed copy.

use std::fs;
use std::path::Path;

use activebench_fixtures::host_tree::host_tree;
use activebench_host::{Process, Roots, StorageRef, Survey};
use activebench_model::call::DeviceNumber;
use activebench_model::ceiling::{Identity, IdentityKind};

use crate::trees::write;

fn identity(root: &Path, major: u32, minor: u32) -> Vec<Identity> {
    let mut survey = Survey::of(&Roots::at(root), Process::Own);
    let used = StorageRef::FileSystem { s_dev: DeviceNumber::new(major, minor), path: None };
    let target = survey.targets_of(&[used]).remove(0);
    survey.identity_of(&target)
}

#[test]
fn what_is_not_told_from_another_has_no_identity() {
    // No serial number, and no boot id for an identity until the next boot.
    assert_eq!(identity(host_tree("virtio-ext4").root(), 254, 0), []);
    assert_eq!(identity(host_tree("synthetic-fuse").root(), 0, 51), []);
}

#[test]
fn a_server_is_known_by_its_name_and_memory_by_the_machine() {
    let found = identity(host_tree("synthetic-nfs4").root(), 0, 50);
    let [server] = &found[..] else { panic!("{found:?}") };
    assert_eq!((server.kind, server.value.as_str()), (IdentityKind::Source, "server.example:/export"));
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "proc/self/mountinfo", "40 1 0:40 / /t rw - tmpfs tmpfs rw\n");
    let found = identity(folder.path(), 0, 40);
    assert_eq!(found.iter().map(|of| of.kind).collect::<Vec<_>>(), [IdentityKind::Memory]);
}

#[test]
fn a_disk_is_known_by_its_number_and_without_one_until_the_next_boot() {
    const DISK: &str = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0/nvme/nvme0/nvme0n1";
    let tree = host_tree("synthetic-nvme-partition");
    let root = tree.root();
    std::fs::remove_file(root.join(DISK).join("device/serial")).expect("it has one");
    // The partition's disk provides the identity.
    let of = || identity(root, 259, 2);
    write(root, "proc/sys/kernel/random/boot_id", "5f0c\n");
    let found = of();
    let [by_boot] = &found[..] else { panic!("{found:?}") };
    assert_eq!((by_boot.kind, by_boot.name.as_str()), (IdentityKind::ThisBoot, "nvme0n1"));
    assert!(by_boot.value.contains("in boot 5f0c, "), "{by_boot:?}");
    write(root, "proc/sys/kernel/random/boot_id", "6a1d\n");
    assert_ne!(of(), found);
    write(root, &format!("{DISK}/wwid"), "eui.0025385b71b0a0d3\n");
    let found = of();
    assert_eq!(found[0].kind, IdentityKind::Serial);
    assert!(found[0].value.starts_with("eui.0025385b71b0a0d3, "), "{found:?}");
    // A different size means a different disk, although the number is the same.
    write(root, &format!("{DISK}/size"), "4096\n");
    assert_ne!(of(), found);
    // Virtual disks may report an empty number.
    write(root, &format!("{DISK}/wwid"), "\n");
    assert_eq!(of()[0].kind, IdentityKind::ThisBoot);
}

#[test]
fn an_array_on_another_disk_is_other_storage() {
    const DISK: &str = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    let tree = host_tree("synthetic-md-raid1");
    let root = tree.root();
    write(root, "proc/sys/kernel/random/boot_id", "5f0c\n");
    write(root, "sys/devices/virtual/block/md0/md/uuid", "0f6d:91\n");
    let names = || -> Vec<String> { identity(root, 9, 0).into_iter().map(|of| of.name).collect() };
    // The disks do not have serial numbers. Their identity would end with the boot, which the array outlives.
    assert_eq!(names(), ["md0"]);
    write(root, &format!("{DISK}/device/wwid"), "naa.5000c500a1b2c3d4\n");
    assert_eq!(names(), ["md0", "sda"]);
    let before = identity(root, 9, 0);
    write(root, &format!("{DISK}/device/wwid"), "naa.5000c500ffffffff\n");
    assert_ne!(identity(root, 9, 0), before);
}

#[test]
fn a_loop_device_is_known_by_its_backing_file() {
    let tree = host_tree("loop-ext4-direct-io-on");
    let root = tree.root();
    let file = root.join("backing.img");
    fs::write(&file, "1").expect("a file");
    write(root, "sys/devices/virtual/block/loop0/loop/backing_file", &format!("{}\n", file.display()));
    let of = || identity(root, 7, 0);
    let found = of();
    assert_eq!(found[0].kind, IdentityKind::BackingFile);
    assert!(found[0].value.starts_with(file.to_str().expect("UTF-8")), "{found:?}");
    // Another file of the same name: created before the first one is removed, so that it has another inode.
    fs::write(root.join("new.img"), "2").expect("a file");
    fs::rename(root.join("new.img"), &file).expect("it is renamed");
    assert_ne!(of(), found);
}
