//! The programs that tasks need: their search path and their packages.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use activebench_tools::{
    Packages, Program, bonnie, db_bench, dbench, f3, fio, fs_mark, hdparm, ioping, iozone, pg_test_fsync, postmark,
    stress_ng, sysbench,
};

/// A program from a package of the operating system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The program's file name.
    pub(crate) command: &'static str,
    /// The packages that contain it.
    pub(crate) packages: Packages,
}

impl Tool {
    const fn of(program: Program) -> Self {
        Self { command: program.name, packages: program.packages }
    }
}

/// iozone.
pub(crate) const IOZONE: Tool = Tool::of(iozone::PROGRAM);
/// fio.
pub(crate) const FIO: Tool = Tool::of(fio::PROGRAM);
/// bonnie++.
pub(crate) const BONNIE: Tool = Tool::of(bonnie::PROGRAM);
/// sysbench.
pub(crate) const SYSBENCH: Tool = Tool::of(sysbench::PROGRAM);
/// ioping.
pub(crate) const IOPING: Tool = Tool::of(ioping::PROGRAM);
/// hdparm.
pub(crate) const HDPARM: Tool = Tool::of(hdparm::PROGRAM);
/// fs_mark.
pub(crate) const FS_MARK: Tool = Tool::of(fs_mark::PROGRAM);
/// stress-ng.
pub(crate) const STRESS_NG: Tool = Tool::of(stress_ng::PROGRAM);
/// f3write.
pub(crate) const F3_WRITE: Tool = Tool::of(f3::PROGRAM);
/// f3read.
pub(crate) const F3_READ: Tool = Tool::of(f3::READER);
/// PostMark.
pub(crate) const POSTMARK: Tool = Tool::of(postmark::PROGRAM);
/// pg_test_fsync.
pub(crate) const PG_TEST_FSYNC: Tool = Tool::of(pg_test_fsync::PROGRAM);
/// dbench.
pub(crate) const DBENCH: Tool = Tool::of(dbench::PROGRAM);
/// RocksDB's benchmark.
pub(crate) const DB_BENCH: Tool = Tool::of(db_bench::PROGRAM);
/// Makes ext4.
pub(crate) const MKFS_EXT4: Tool = Tool { command: "mkfs.ext4", packages: Packages::everywhere("e2fsprogs") };
/// Makes XFS.
pub(crate) const MKFS_XFS: Tool = Tool { command: "mkfs.xfs", packages: Packages::everywhere("xfsprogs") };
/// Makes btrfs.
pub(crate) const MKFS_BTRFS: Tool = Tool {
    command: "mkfs.btrfs",
    packages: Packages { zypper: Some("btrfsprogs"), ..Packages::everywhere("btrfs-progs") },
};
/// Sets up loop devices.
pub(crate) const LOSETUP: Tool = Tool {
    command: "losetup",
    packages: Packages { apt: Some("mount"), apk: Some("losetup"), ..Packages::everywhere("util-linux") },
};
/// Makes arrays of the kernel's md.
const MDADM: Tool = Tool { command: "mdadm", packages: Packages::everywhere("mdadm") };
/// Sets up devices of the device mapper.
const DMSETUP: Tool = Tool { command: "dmsetup", packages: Packages::everywhere("dmsetup") };
/// Serves a network block device.
const NBD_SERVER: Tool = Tool { command: "nbd-server", packages: Packages::everywhere("nbd-server") };
/// Sets up a network block device.
const NBD_CLIENT: Tool = Tool { command: "nbd-client", packages: Packages::everywhere("nbd-client") };
/// Serves ext4 through FUSE.
pub(crate) const FUSE2FS: Tool = Tool {
    command: "fuse2fs",
    packages: Packages {
        apt: Some("fuse2fs"),
        dnf: Some("e2fsprogs"),
        apk: None,
        pacman: Some("fuse2fs"),
        zypper: None,
    },
};
/// Serves a folder through FUSE.
pub(crate) const BINDFS: Tool = Tool { command: "bindfs", packages: Packages::everywhere("bindfs") };
/// Serves a folder of another machine through FUSE.
pub(crate) const SSHFS: Tool =
    Tool { command: "sshfs", packages: Packages { dnf: Some("fuse-sshfs"), ..Packages::everywhere("sshfs") } };
/// What it talks to on the other machine.
pub(crate) const SFTP_SERVER: Tool = Tool {
    command: "sftp-server",
    packages: Packages {
        apt: Some("openssh-sftp-server"),
        apk: Some("openssh-sftp-server"),
        pacman: Some("openssh"),
        ..Packages::everywhere("openssh-server")
    },
};
/// Serves ZFS through FUSE, with a cache of its own.
pub(crate) const ZFS_FUSE: Tool =
    Tool { command: "zfs-fuse", packages: Packages { apt: Some("zfs-fuse"), dnf: Some("zfs-fuse"), ..Packages::NONE } };
/// Shows the HTML report; a download of about 125 MB.
pub(crate) const CHROMIUM: Tool = Tool { command: "chromium", packages: Packages::everywhere("chromium") };
/// Binds a command to CPUs.
pub(crate) const NUMACTL: Tool = Tool { command: "numactl", packages: Packages::everywhere("numactl") };
/// Unpacks bundles independently of our code.
pub(crate) const ZSTD: Tool = Tool { command: "zstd", packages: Packages::everywhere("zstd") };
/// Reads their manifests.
pub(crate) const JQ: Tool = Tool { command: "jq", packages: Packages::everywhere("jq") };
/// Checks their signatures.
pub(crate) const OPENSSL: Tool = Tool { command: "openssl", packages: Packages::everywhere("openssl") };
/// Traces system calls by stopping the task at each.
pub(crate) const STRACE: Tool = Tool { command: "strace", packages: Packages::everywhere("strace") };
/// Traces system calls through perf events, among many other functions.
pub(crate) const PERF: Tool =
    Tool { command: "perf", packages: Packages { apt: Some("linux-perf"), ..Packages::everywhere("perf") } };
/// Compiles small tracing programs for the kernel.
pub(crate) const BPFTRACE: Tool = Tool { command: "bpftrace", packages: Packages::everywhere("bpftrace") };
/// The compiler of the kernel programs, of the one major version that the object is pinned to.
pub(crate) const CLANG: Tool =
    Tool { command: "clang-14", packages: Packages { apt: Some("clang-14"), ..Packages::NONE } };
/// Removes the debug sections from the object.
pub(crate) const LLVM_STRIP: Tool =
    Tool { command: "llvm-strip-14", packages: Packages { apt: Some("llvm-14"), ..Packages::NONE } };

/// Emulates a machine.
pub(crate) const QEMU: Tool = Tool {
    command: "qemu-system-x86_64",
    packages: Packages {
        apt: Some("qemu-system-x86"),
        dnf: Some("qemu-system-x86-core"),
        apk: Some("qemu-system-x86_64"),
        pacman: Some("qemu-system-x86"),
        zypper: Some("qemu-x86"),
    },
};
/// Decompresses kernel modules.
pub(crate) const XZ: Tool =
    Tool { command: "xz", packages: Packages { apt: Some("xz-utils"), ..Packages::everywhere("xz") } };

/// Packs files.
pub(crate) const TAR: Tool = Tool { command: "tar", packages: Packages::everywhere("tar") };
/// Keeps versions of files.
pub(crate) const GIT: Tool = Tool { command: "git", packages: Packages::everywhere("git") };

/// Tools of the demo.
pub(crate) const FOR_DEMO: &[&Tool] = &[&IOZONE];
/// Tools of the tests.
pub(crate) const FOR_TESTS: &[&Tool] = &[
    &IOZONE,
    &FIO,
    &BONNIE,
    &SYSBENCH,
    &IOPING,
    &HDPARM,
    &PG_TEST_FSYNC,
    &FS_MARK,
    &STRESS_NG,
    &F3_WRITE,
    &F3_READ,
    &POSTMARK,
    &DBENCH,
    &DB_BENCH,
    &MKFS_EXT4,
    &MKFS_XFS,
    &MKFS_BTRFS,
    &LOSETUP,
    &FUSE2FS,
    &BINDFS,
    &SSHFS,
    &SFTP_SERVER,
    &ZFS_FUSE,
    &CHROMIUM,
    &NUMACTL,
    &ZSTD,
    &JQ,
    &OPENSSL,
];
/// Tools of the corpus of lies and twins.
pub(crate) const FOR_TRUTH: &[&Tool] = &[
    &IOZONE,
    &FIO,
    &BONNIE,
    &SYSBENCH,
    &IOPING,
    &HDPARM,
    &PG_TEST_FSYNC,
    &FS_MARK,
    &STRESS_NG,
    &F3_WRITE,
    &F3_READ,
    &POSTMARK,
    &DBENCH,
    &DB_BENCH,
    &MKFS_EXT4,
    &MKFS_XFS,
    &MKFS_BTRFS,
    &LOSETUP,
    &FUSE2FS,
    &BINDFS,
    &NUMACTL,
    &JQ,
];
/// Tools of the measurement of claims without adapters.
pub(crate) const FOR_ANY_PROGRAM: &[&Tool] = &[
    &IOZONE,
    &FIO,
    &BONNIE,
    &SYSBENCH,
    &IOPING,
    &HDPARM,
    &PG_TEST_FSYNC,
    &FS_MARK,
    &STRESS_NG,
    &F3_WRITE,
    &F3_READ,
    &POSTMARK,
    &DBENCH,
    &DB_BENCH,
    &MKFS_EXT4,
    &LOSETUP,
];
/// Measured tools, and tools that the product is compared with, in the measurement of the cost of observing.
pub(crate) const FOR_OVERHEAD: &[&Tool] = &[&FIO, &BONNIE, &STRACE, &PERF, &BPFTRACE, &LOSETUP, &MKFS_EXT4];
/// Tools for booting other kernels, and tools that run there.
pub(crate) const FOR_KERNELS: &[&Tool] = &[&QEMU, &XZ, &IOZONE, &FIO, &MKFS_EXT4, &LOSETUP];
/// Tools that make layers of storage on other kernels.
pub(crate) const FOR_LAYERS: &[&Tool] = &[&MDADM, &DMSETUP, &NBD_SERVER, &NBD_CLIENT, &MKFS_EXT4];
/// Tools for reading the pinned advisories.
pub(crate) const FOR_DENY: &[&Tool] = &[&TAR, &GIT, &ZSTD];
/// Tools for compiling the kernel programs.
pub(crate) const FOR_BPF: &[&Tool] = &[&CLANG, &LLVM_STRIP];

/// Folders with tools that a user's `PATH` often lacks.
const FURTHER_FOLDERS: &[&str] =
    &["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/openssh", "/usr/libexec/openssh", "/usr/lib/ssh"];
/// Debian's folder of one LLVM version, in which the programs have no suffix.
const LLVM_FOLDER: &str = "/usr/lib/llvm-14/bin";
/// Debian's folder of the folders of PostgreSQL's versions.
const POSTGRESQL_FOLDER: &str = "/usr/lib/postgresql";

impl Tool {
    /// Returns its installed path; `None` when it is not installed.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        find_in(self.command, &search_path(), FURTHER_FOLDERS)
            .or_else(|| find_in(self.command.strip_suffix("-14")?, OsStr::new(""), &[LLVM_FOLDER]))
            .or_else(|| find_in(self.command, &postgresql_path(), &[]))
    }
}

/// Returns the folders of the installed versions of PostgreSQL, in the form of `PATH`.
fn postgresql_path() -> OsString {
    let versions = std::fs::read_dir(POSTGRESQL_FOLDER).into_iter().flatten();
    let folders = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    std::env::join_paths(folders).unwrap_or_default()
}

/// Returns `PATH`; empty when it is not set, so that only the further folders are searched.
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Returns the first executable file of this name in the folders of a `PATH` and in further ones.
pub(crate) fn find_in(command: &str, path: &OsStr, further: &[&str]) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .chain(further.iter().map(PathBuf::from))
        .map(|folder| folder.join(command))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::word_list::walk;
    use crate::workspace::root;

    #[test]
    fn the_corpus_installs_every_tool_that_a_case_needs() {
        let mut cases = Vec::new();
        walk(&root().join("fixtures/truth"), "toml", &mut cases).expect("the cases");
        let read = |path: &PathBuf| std::fs::read_to_string(path).expect("a case");
        let texts: Vec<String> = cases.iter().map(read).collect();
        let needs = texts.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("needs"));
        let words: HashSet<&str> = needs.flat_map(|line| line.split(['\'', '"'])).collect();
        let needed: Vec<_> = FOR_TESTS.iter().filter(|tool| words.contains(tool.command)).collect();
        assert!(needed.contains(&&&DB_BENCH), "the needs are not read: {needed:?}");
        for tool in needed {
            assert!(FOR_TRUTH.contains(tool), "{} is needed", tool.command);
        }
    }

    #[test]
    fn a_tool_is_an_executable_file_in_a_listed_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, "#!/bin/sh\n").expect("a file");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("its mode");
        };
        write("tool", 0o755);
        write("data", 0o644);
        std::fs::create_dir(folder.path().join("folder")).expect("a folder");
        let text = folder.path().to_str().expect("a UTF-8 path");

        let check = |name: &str, path: &str, further: &[&str], expected: bool| {
            let found = find_in(name, OsStr::new(path), further);
            assert_eq!(found, expected.then(|| folder.path().join(name)), "{name} in {path:?} and {further:?}");
        };
        check("tool", text, &[], true);
        check("tool", "", &[text], true);
        check("tool", "", &[], false);
        check("data", text, &[], false);
        check("folder", text, &[], false);
        check("absent", text, &[], false);
    }
}
