//! The daemons of FUSE file systems that run before the tool, and what is added up of their time and of that of the
//! kernel's threads.
//!
//! Whether one of them has to do with the run is known at its end (`activebench-host`, `daemon.rs`). Here each process with
//! a FUSE descriptor is one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use activebench_probe_abi::{FuseBatch, ServingKey, ServingRecord};
use aya::Ebpf;
use aya::maps::{HashMap, MapData, PerCpuArray, PerCpuHashMap};

use crate::error::ProbeError;
use crate::maps::{Plain, map_error, map_of, per_cpu_map};

const DAEMONS: &str = "daemons";
const AMOUNTS: &str = "serving";
const REQUESTS: &str = "fuse_batches";
/// Room of the map of daemons.
const MOST_DAEMONS: usize = 64;
/// Descriptors looked at before the search ends; the daemons that were not found are not observed.
const MOST_DESCRIPTORS: usize = 1 << 18;

/// Returns the processes that have a FUSE descriptor, as far as they can be seen; none where nothing is mounted.
pub(crate) fn daemons(proc: &Path) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let Ok(mounts) = fs::read(proc.join("self/mountinfo")) else { return found };
    if !mounts.split(|byte| *byte == b'\n').any(is_fuse) {
        return found;
    }
    let mut left = MOST_DESCRIPTORS;
    for process in fs::read_dir(proc).into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // A process that has ended, or is another user's, has none that we see.
        for descriptor in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            left = left.saturating_sub(1);
            if left == 0 || found.len() == MOST_DAEMONS {
                return found;
            }
            if fs::read_link(descriptor.path()).is_ok_and(|target| target.as_os_str() == OsStr::new("/dev/fuse")) {
                found.insert(pid);
                break;
            }
        }
    }
    found
}

/// Returns `true` if a line of `mountinfo` is of a FUSE file system.
fn is_fuse(line: &[u8]) -> bool {
    let mut fields = line.split(|byte| *byte == b' ').skip_while(|field| *field != b"-").skip(1);
    fields.next().is_some_and(|fs_type| fs_type.starts_with(b"fuse"))
}

/// Has the kernel side add up the time of these daemons, which it was loaded for.
///
/// # Errors
/// Returns an error if the kernel does not accept them.
pub(crate) fn follow(ebpf: &mut Ebpf, daemons: &BTreeSet<u32>) -> Result<(), ProbeError> {
    let mut map: HashMap<_, u32, u8> =
        HashMap::try_from(map_of(ebpf, DAEMONS)?).map_err(|error| map_error(DAEMONS, &error))?;
    for daemon in daemons {
        map.insert(daemon, 1, 0).map_err(|error| map_error(DAEMONS, &error))?;
    }
    Ok(())
}

/// Returns a record without any time for each of them: it says that they are observed from then on.
pub(crate) fn beginnings(daemons: &BTreeSet<u32>, now_ns: u64) -> Vec<ServingRecord> {
    let record = |tgid: &u32| ServingRecord {
        since_ns: now_ns,
        until_ns: now_ns,
        cpu_ns: 0,
        read_calls: 0,
        write_calls: 0,
        sync_calls: 0,
        other_calls: 0,
        tgid: *tgid,
        padding: 0,
        name: [0; 24],
    };
    daemons.iter().map(record).collect()
}

/// Returns the amounts that have not left yet.
///
/// # Errors
/// Returns an error if they cannot be read.
pub(crate) fn amounts(ebpf: &mut Ebpf) -> Result<Vec<ServingRecord>, ProbeError> {
    let map: PerCpuHashMap<&mut MapData, Plain<ServingKey>, Plain<ServingRecord>> =
        PerCpuHashMap::try_from(map_of(ebpf, AMOUNTS)?).map_err(|error| map_error(AMOUNTS, &error))?;
    let mut amounts = Vec::new();
    for entry in map.iter() {
        let (_, values) = entry.map_err(|error| map_error(AMOUNTS, &error))?;
        amounts.extend(values.iter().map(|Plain(amount)| *amount).filter(|amount| amount.since_ns != 0));
    }
    Ok(amounts)
}

/// Returns the batches of requests that have not left yet, one per CPU.
///
/// # Errors
/// Returns an error if they cannot be read.
pub(crate) fn requests(ebpf: &mut Ebpf) -> Result<Vec<FuseBatch>, ProbeError> {
    let map: PerCpuArray<_, Plain<FuseBatch>> = per_cpu_map(ebpf, REQUESTS)?;
    let values = map.get(&0, 0).map_err(|error| map_error(REQUESTS, &error))?;
    Ok(values.iter().map(|Plain(batch)| *batch).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(mounts: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().expect("a folder");
        let folder = |path: &str| fs::create_dir_all(tree.path().join(path)).expect("a folder");
        ["self", "7/fd", "9/fd", "bus"].iter().for_each(|path| folder(path));
        fs::write(tree.path().join("self/mountinfo"), mounts).expect("a file");
        symlink("/dev/null", tree.path().join("7/fd/0")).expect("a link");
        symlink("/dev/fuse", tree.path().join("9/fd/4")).expect("a link");
        tree
    }

    #[test]
    fn daemons_are_the_processes_with_a_descriptor() {
        let tree = tree("46 27 0:40 / /mnt rw shared:2 - fuse.bindfs /store rw\n");
        assert_eq!(daemons(tree.path()), BTreeSet::from([9]));
    }

    #[test]
    fn nobody_is_looked_for_where_nothing_is_mounted() {
        let tree = tree("27 1 253:0 / / rw - ext4 /dev/fuse rw\n47 27 0:41 / /fuse rw - tmpfs fuse rw\n");
        assert_eq!(daemons(tree.path()), BTreeSet::new());
    }
}
