//! Layers of storage on which benchmarks are tried: arrays, encryption, delays, network, and the journal modes of ext4.
//!
//! The machine's three disks for them are `/dev/vdd` to `/dev/vdf`. Each layer is made, mounted, tried and removed by a
//! few lines of shell.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use crate::kernels::steps::{self, Amount, Expected, MARK, Program, Step};

/// Where the layer under test is mounted.
pub(crate) const VOLUME: &str = "/layer";

/// Functions for the lines of shell below.
const FUNCTIONS: &str = "\
# filesystem DEVICE MOUNT_OPTIONS MKFS_OPTIONS...
filesystem() {
    device=$1 options=$2; shift 2
    mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 \"$@\" \"$device\" &&
        mount -t ext4 -o \"noatime$options\" \"$device\" /layer
}
# mapped TARGET OPTIONS...: a device of the whole first disk.
mapped() {
    target=$1; shift
    echo \"0 $(cat /sys/block/vdd/size) $target $*\" | dmsetup create under &&
        filesystem /dev/mapper/under ''
}
# array LEVEL DISKS...
array() {
    level=$1; shift
    mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --level=\"$level\" --raid-devices=$# \"$@\" &&
        filesystem /dev/md0 ''
}
# leave FOLDER: busybox's timeout stays in it for a second.
leave() {
    for try in 1 2 3 4 5; do umount \"$1\" && return; sleep 1; done
    return 1
}
export DM_DISABLE_UDEV=1 MDADM_NO_UDEV=1 MDADM_NO_SYSTEMCTL=1
";

/// A layer.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Prefix of the names of its steps.
    name: &'static str,
    /// What it is, for the page.
    title: &'static str,
    /// Modules of the kernel that it needs.
    pub(crate) modules: &'static [&'static str],
    /// Makes and mounts it, at [`VOLUME`].
    up: &'static str,
    /// Removes what it made, once it is unmounted.
    down: &'static str,
    /// The runs on it.
    runs: &'static [Run],
}

/// A run on a layer.
#[derive(Clone, Copy, Debug)]
struct Run {
    name: &'static str,
    title: &'static str,
    command: Program,
    expected: Expected,
}

/// Each figure is about the storage.
const DURABLE: Run = Run {
    name: "durable",
    title: "writes with their sync (iozone -i0 -e -c): confirmed",
    command: Program::Iozone(&["-e", "-c"]),
    expected: Expected::Confirmed,
};

/// Nothing is synced.
const NOT_SYNCED: Run = Run {
    name: "not-synced",
    title: "writes without a sync (iozone -i0): misleading",
    command: Program::Iozone(&[]),
    expected: Expected::Misleading,
};

/// What was written is read from memory.
const CACHED: Run = Run {
    name: "cached",
    title: "reads of what was just written (iozone -i0 -i1 -e -c): misleading, the writes confirmed",
    command: Program::Iozone(&["-i1", "-e", "-c"]),
    expected: Expected::CachedReads { writes: &["confirmed"] },
};

/// Every block comes from the storage.
const DIRECT: Run = Run {
    name: "direct",
    title: "direct reads (fio --direct=1): every block seen once, nothing refuted",
    command: Program::Fio(&["--rw=randread", "--ioengine=psync", "--direct=1"]),
    expected: Expected::Honest { op: Some("pread") },
};

/// What the server does is not observed.
const OF_NFS: &[Run] = &[
    Run {
        title: "writes with their sync (iozone -i0 -e -c): nothing refuted, the server is not observed",
        expected: Expected::Honest { op: None },
        ..DURABLE
    },
    NOT_SYNCED,
    Run {
        title: "reads of what was just written (iozone -i0 -i1 -e -c): misleading, the writes not accused",
        expected: Expected::CachedReads { writes: &["confirmed", "unverifiable"] },
        ..CACHED
    },
    DIRECT,
];

const OF_DEVICE: &[Run] = &[DURABLE, NOT_SYNCED, CACHED, DIRECT];

const NOTHING: &str = ":";
const REMOVE_MAPPED: &str = "dmsetup remove under";
const REMOVE_ARRAY: &str =
    "mdadm --stop /dev/md0 && mdadm --zero-superblock /dev/vdd /dev/vde /dev/vdf 2>/dev/null; true";

const fn on_device(
    name: &'static str,
    title: &'static str,
    modules: &'static [&'static str],
    up: &'static str,
    down: &'static str,
) -> Layer {
    Layer { name, title, modules, up, down, runs: OF_DEVICE }
}

/// All layers, in the order in which they are tried.
pub(crate) const ALL: &[Layer] = &[
    on_device("ext4-ordered", "ext4, data=ordered", &[], "filesystem /dev/vdd ,data=ordered", NOTHING),
    on_device("ext4-journal", "ext4, data=journal", &[], "filesystem /dev/vdd ,data=journal", NOTHING),
    on_device("ext4-writeback", "ext4, data=writeback", &[], "filesystem /dev/vdd ,data=writeback", NOTHING),
    on_device("ext4-no-journal", "ext4 without a journal", &[], "filesystem /dev/vdd '' -O ^has_journal", NOTHING),
    on_device("raid0", "md RAID 0 of two disks", &["raid0"], "array 0 /dev/vdd /dev/vde", REMOVE_ARRAY),
    on_device("raid1", "md RAID 1 of two disks", &["raid1"], "array 1 /dev/vdd /dev/vde", REMOVE_ARRAY),
    on_device("raid5", "md RAID 5 of three disks", &["raid456"], "array 5 /dev/vdd /dev/vde /dev/vdf", REMOVE_ARRAY),
    on_device("dm-linear", "device mapper, linear (as LVM)", &["dm_mod"], "mapped linear /dev/vdd 0", REMOVE_MAPPED),
    on_device(
        "dm-crypt",
        "dm-crypt (as LUKS)",
        &["dm_crypt", "xts", "ecb", "aes_generic", "aesni_intel"],
        "mapped crypt aes-xts-plain64 $(printf %064d 7) 0 /dev/vdd 0",
        REMOVE_MAPPED,
    ),
    on_device(
        "dm-delay",
        "dm-delay, 20 ms for each request",
        &["dm_delay"],
        "mapped delay /dev/vdd 0 20",
        REMOVE_MAPPED,
    ),
    on_device(
        "dm-flakey",
        "dm-flakey while it works",
        &["dm_flakey"],
        "mapped flakey /dev/vdd 0 3600 0",
        REMOVE_MAPPED,
    ),
    on_device(
        "null-blk",
        "null_blk, backed by memory",
        &["null_blk"],
        "mount -t configfs configfs /sys/kernel/config && cd /sys/kernel/config/nullb && mkdir -p under && cd under && \
         echo 192 >size && echo 1 >memory_backed && echo 1 >power && filesystem /dev/under ''",
        "cd / && echo 0 >/sys/kernel/config/nullb/under/power && rmdir /sys/kernel/config/nullb/under && \
         umount /sys/kernel/config",
    ),
    on_device(
        "nbd",
        "a network block device of this machine",
        &["nbd"],
        "ip link set lo up && nbd-server -C /dev/null 127.0.0.1:10809 /dev/vdd && sleep 1 && \
         nbd-client 127.0.0.1 10809 /dev/nbd0 && filesystem /dev/nbd0 ''",
        "nbd-client -d /dev/nbd0",
    ),
    Layer {
        name: "nfs",
        title: "NFS 4.2 of a server on this machine",
        modules: &["nfsd", "nfsv4"],
        // What exportfs and rpc.mountd do: 9218 is rw, insecure, no_subtree_check, fsid=0, and no squashing.
        up: "mkdir -p /tmp/export && \
             mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 /dev/vdd && \
             mount -t ext4 -o noatime /dev/vdd /tmp/export && ip link set lo up && \
             mount -t nfsd nfsd /proc/fs/nfsd && cd /proc/fs/nfsd && echo 10 >nfsv4gracetime && \
             echo 10 >nfsv4leasetime && echo '-3 +4.2' >versions && echo 'tcp 2049' >portlist && echo 2 >threads && \
             cd /proc/net/rpc && echo 'nfsd 127.0.0.1 2147483647 local' >auth.unix.ip/channel && \
             echo 'local /tmp/export 2147483647 9218 65534 65534 0' >nfsd.export/channel && \
             echo 'local 1 \\x00000000 2147483647 /tmp/export' >nfsd.fh/channel && cd / && \
             mount -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1,sec=sys 127.0.0.1:/ /layer",
        down: "echo 0 >/proc/fs/nfsd/threads && umount /proc/fs/nfsd && leave /tmp/export",
        runs: OF_NFS,
    },
];

/// Returns the steps of all layers.
pub(crate) fn steps() -> Vec<Step> {
    let of_layer = |layer: &'static Layer| layer.runs.iter().map(|run| layer.step(run));
    ALL.iter().flat_map(of_layer).collect()
}

/// Returns the layer of a step.
pub(crate) fn of_step(step: &Step) -> Option<&'static Layer> {
    ALL.iter().find(|layer| layer.runs.iter().any(|run| layer.step(run).name == step.name))
}

/// Returns what making a layer said, if it was not made.
pub(crate) fn why_not_made(out: &Path, layer: &Layer) -> Option<String> {
    fs::read_to_string(out.join(layer.failed())).ok()
}

impl Layer {
    fn step(&self, run: &Run) -> Step {
        Step {
            name: Cow::Owned(format!("{}-{}", self.name, run.name)),
            title: Cow::Owned(format!("{}: {}", self.title, run.title)),
            command: run.command,
            expected: run.expected,
        }
    }

    /// Name of the file with what was said where the layer could not be made.
    fn failed(&self) -> String {
        format!("{}.failed", self.name)
    }
}

/// Returns the script of all layers, see [`steps::script`].
pub(crate) fn script(amount: Amount) -> String {
    let mut script = steps::preamble(amount) + FUNCTIONS;
    for layer in ALL {
        let (name, up, down) = (layer.name, layer.up, layer.down);
        let runs: String = layer.runs.iter().map(|run| layer.step(run).line(amount)).collect();
        script += &format!(
            "if ( {up} ) >/tmp/said 2>&1; then\n\
             cd {VOLUME}\n\
             {runs}\
             cd /; sync; leave {VOLUME} || echo \"{MARK}{name}: it stays mounted\"\n\
             ( {down} ) >/tmp/said 2>&1 || echo \"{MARK}{name}: it stays: $(cat /tmp/said)\"\n\
             else\n\
             cp /tmp/said \"$out/{failed}\"; echo \"{MARK}{name}: it cannot be made: $(cat /tmp/said)\"\n\
             fi\n",
            failed = layer.failed(),
        );
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNT: Amount = Amount { iozone_mib: 8, calls: 100, blocks: 64, seconds: 300 };

    #[test]
    fn every_step_belongs_to_a_layer_and_has_a_name_of_its_own() {
        let steps = steps();
        let mut names: Vec<&str> = steps.iter().map(|step| step.name.as_ref()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), steps.len());
        for step in &steps {
            let layer = of_step(step).expect("a layer");
            assert!(step.name.starts_with(layer.name), "{} of {}", step.name, layer.name);
        }
    }

    #[test]
    fn a_layer_that_cannot_be_made_leaves_the_reason_and_the_next_one_is_tried() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["out", "volume"] {
            fs::create_dir(path(name)).expect("a folder");
        }
        fs::write(path("script"), script(AMOUNT).replace("/tmp/said", &path("said").display().to_string()))
            .expect("a file");
        // Without these programs no layer can be made.
        let output = std::process::Command::new("/bin/sh")
            .args([path("script"), path("no-product"), path("out"), path("volume")])
            .env("PATH", "/nowhere")
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = said.lines().filter(|line| line.contains("it cannot be made")).count();
        assert_eq!(failed, ALL.len(), "{said}");
    }
}
