//! The machine itself: kernel, CPUs, memory.

use std::path::Path;

use activebench_model::host::{Host, Target};

use crate::cgroup::memory_limit;
use crate::hardware::read_hardware;
use crate::reader::{ReadError, Reader};
use crate::roots::{Process, Roots};
use crate::survey::{Seen, StorageRef, Survey};

/// Reads the machine, the memory limit of the process, and the storage that was used.
///
/// Reads the hardware where storage was used. The caller adds the limits on I/O and the readings taken while a tool
/// ran. The host's name is not read. `kernel` is `unknown` and `cpus` 0 when not readable; `unread` then has the
/// reason.
pub fn read_host(roots: &Roots, process: Process, used: &[StorageRef]) -> Host {
    let mut survey = Survey::of(roots, process);
    let targets = survey.targets_of(used);
    host(roots, process, &survey, targets)
}

/// As [`read_host`], after a run in which this was seen of each storage: see [`Survey::set_seen`]. Of several with one
/// number the first counts.
pub fn read_host_of_run(roots: &Roots, process: Process, used: Vec<(StorageRef, Seen)>) -> Host {
    let mut survey = Survey::of(roots, process);
    let mut targets: Vec<Target> = Vec::new();
    for (storage, seen) in used {
        survey.set_seen(seen);
        for target in survey.targets_of(&[storage]) {
            if targets.iter().all(|known| known.s_dev != target.s_dev) {
                targets.push(target);
            }
        }
    }
    host(roots, process, &survey, targets)
}

fn host(roots: &Roots, process: Process, survey: &Survey, targets: Vec<Target>) -> Host {
    let mut reader = Reader::new(roots, process);
    let kernel = reader.text(Path::new("/proc/sys/kernel/osrelease"));
    let mut host = Host {
        kernel: reader.wanted(kernel).unwrap_or_else(|| "unknown".to_owned()),
        architecture: architecture(&mut reader),
        cpus: online_cpus(&mut reader),
        memory_bytes: memory(&mut reader),
        cpu_cache_bytes: cpu_cache(&mut reader),
        memory_limit_bytes: memory_limit(&mut reader, survey.mounts()),
        io_limits: Vec::new(),
        io_limits_unread: None,
        readings: None,
        hardware: None,
        hostname: None,
        targets,
        daemons: Vec::new(),
        unread: Vec::new(),
    };
    if !host.targets.is_empty() {
        host.hardware = Some(read_hardware(roots, &host.targets));
    }
    for what in reader.unread().iter().chain(survey.unread()) {
        if !host.unread.contains(what) {
            host.unread.push(what.clone());
        }
    }
    host
}

/// Reads `/proc/sys/kernel/arch`, which exists since Linux 6.1. On older kernels it returns the architecture of this
/// build (wrong only for a 32-bit build on a 64-bit kernel).
fn architecture(reader: &mut Reader) -> String {
    let read = reader.text(Path::new("/proc/sys/kernel/arch"));
    reader.optional(read).unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn online_cpus(reader: &mut Reader) -> u32 {
    let path = Path::new("/sys/devices/system/cpu/online");
    let read = reader.text(path).and_then(|text| {
        count_list(&text).ok_or(ReadError::Content { path: path.to_owned(), text, expected: "a list of CPUs" })
    });
    reader.wanted(read).unwrap_or(0)
}

/// Caches of a CPU that are looked at: the kernel numbers them from the smallest to the largest.
const MOST_CACHES: u32 = 8;

/// Returns the size of the largest cache of the first CPU. Virtual machines often show none.
fn cpu_cache(reader: &mut Reader) -> Option<u64> {
    let sizes = (0..MOST_CACHES).map_while(|number| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{number}/size");
        let read = reader.text(Path::new(&path));
        cache_size(&reader.optional(read)?)
    });
    sizes.max().filter(|bytes| *bytes > 0)
}

/// Reads a size such as `32K`.
fn cache_size(text: &str) -> Option<u64> {
    text.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Counts the numbers in a list such as `0-3,8`.
fn count_list(text: &str) -> Option<u32> {
    text.split(',').try_fold(0_u32, |count, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

/// Reads `MemTotal`, which is in KiB although the file says kB.
fn memory(reader: &mut Reader) -> Option<u64> {
    let path = Path::new("/proc/meminfo");
    let read = reader.text(path).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.and_then(|kib| kib.checked_mul(1024)).ok_or_else(|| ReadError::Content {
            path: path.to_owned(),
            text: line.unwrap_or("").trim().to_owned(),
            expected: "a MemTotal in kB",
        })
    });
    reader.wanted(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_in_kib() {
        for (text, expected) in [
            ("32K", Some(32 << 10)),
            ("32768K", Some(32 << 20)),
            ("32M", None),
            ("K", None),
            ("99999999999999999999K", None),
        ] {
            assert_eq!(cache_size(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_of_processors_are_counted() {
        for (text, expected) in [
            ("0", Some(1)),
            ("0-1", Some(2)),
            ("0-3,8", Some(5)),
            ("0-3,8-11", Some(8)),
            ("", None),
            ("3-1", None),
            ("0-", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(count_list(text), expected, "{text}");
        }
    }
}
