//! Reads the limits of a process's cgroup, version 1 or 2: memory, and I/O to each device.

use std::path::{Component, Path, PathBuf};

use activebench_model::call::DeviceNumber;
use activebench_model::host::IoLimit;
use activebench_model::phase::Direction;
use activebench_model::units::{Quantity, Unit};

use crate::mounts::{Mount, Mounts};
use crate::reader::{ReadError, Reader};
use crate::roots::{Process, Roots};
use crate::survey::Survey;

/// Version 1 writes "no limit" as the highest page counter in bytes (`PAGE_COUNTER_MAX`,
/// include/linux/page_counter.h of Linux 6.12: `LONG_MAX / PAGE_SIZE` pages); pages have at most 64 KiB.
const NO_LIMIT_BYTES: u64 = i64::MAX as u64 - 65_535;

/// Returns the lowest limit of the process's cgroup and its ancestors, as far as they are visible. `None` when there
/// is no limit, and also, with a note in `unread`, when it is unknown.
pub(crate) fn memory_limit(reader: &mut Reader, mounts: &Mounts) -> Option<u64> {
    let file = reader.process().folder().join("cgroup");
    let text = reader.text(&file);
    let text = reader.wanted(text)?;
    let (path, unified) = membership(&text, "memory")?;
    let Some(mount) = hierarchy(mounts, unified, "memory") else {
        reader
            .note(format!("the memory limit is not known: the cgroup hierarchy of {} is not mounted", file.display()));
        return None;
    };
    let Some(below) = below_root(path, mount) else {
        reader.note(format!(
            "the memory limit is not known: the cgroup {path} is outside every mounted cgroup hierarchy"
        ));
        return None;
    };
    let name = if unified { "memory.max" } else { "memory.limit_in_bytes" };
    let mut limit: Option<u64> = None;
    for group in below.ancestors() {
        let file = mount.mount_point.join(group).join(name);
        let read = reader.text(&file).and_then(|text| {
            if text == "max" {
                return Ok(None);
            }
            match text.parse() {
                Ok(bytes) => Ok(Some(bytes).filter(|bytes| *bytes < NO_LIMIT_BYTES)),
                Err(_) => Err(ReadError::Content { path: file.clone(), text, expected: "a number of bytes" }),
            }
        });
        // The root group does not have `memory.max`, nor does a group without the controller.
        if let Some(bytes) = reader.optional(read).flatten() {
            limit = Some(limit.map_or(bytes, |limit| limit.min(bytes)));
        }
    }
    limit
}

/// Limits on I/O, and the reason if they may be incomplete.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IoLimits {
    /// The limits.
    pub limits: Vec<IoLimit>,
    /// Why there may be more; `None` when every group was read.
    pub unread: Option<String>,
}

/// Reads the I/O limits of the process's cgroup and its ancestors, as far as they are visible.
///
/// # Errors
/// Returns an error if the process's groups cannot be read, mostly because the process has ended.
pub fn io_limits(roots: &Roots, process: Process) -> Result<IoLimits, String> {
    let mut reader = Reader::new(roots, process);
    let file = process.folder().join("cgroup");
    let text = reader.text(&file).map_err(|error| error.to_string())?;
    // A kernel without control groups for I/O sets no limits.
    let Some((path, unified)) = membership(&text, "blkio") else { return Ok(IoLimits::default()) };
    let survey = Survey::of(roots, process);
    let unknown = |why: String| Ok(IoLimits { limits: Vec::new(), unread: Some(why) });
    let Some(mount) = hierarchy(survey.mounts(), unified, "blkio") else {
        return unknown("the limits on I/O are not known: their cgroup hierarchy is not mounted".to_owned());
    };
    let Some(below) = below_root(path, mount) else {
        return unknown(format!(
            "the limits on I/O are not known: the cgroup {path} is outside every mounted cgroup hierarchy"
        ));
    };
    let mut limits = Vec::new();
    for group in below.ancestors() {
        let folder = mount.mount_point.join(group);
        let mut read = |file: &str| {
            let text = reader.text(&folder.join(file));
            reader.optional(text).unwrap_or_default()
        };
        let name = Path::new("/").join(group).display().to_string();
        if unified {
            limits.extend(unified_limits(&name, &read("io.max")));
            continue;
        }
        for (file, direction, unit) in THROTTLES {
            let lines = read(file);
            limits.extend(lines.lines().filter_map(|line| {
                let (device, value) = line.split_once(' ')?;
                limit(&name, file, device, direction, unit, value)
            }));
        }
    }
    Ok(IoLimits { limits, unread: reader.unread().first().cloned() })
}

/// Returns the memory pressure file of the process's own cgroup. Only version 2 has one.
pub(crate) fn pressure_file(reader: &Reader, mounts: &Mounts) -> Option<PathBuf> {
    let text = reader.text(&reader.process().folder().join("cgroup")).ok()?;
    // The version 2 line exists beside a version 1 controller too.
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = hierarchy(mounts, true, "memory")?;
    Some(mount.mount_point.join(below_root(path, mount)?).join("memory.pressure"))
}

/// Version 1: one file per kind of limit, one line per device.
const THROTTLES: [(&str, Direction, Unit); 4] = [
    ("blkio.throttle.read_bps_device", Direction::Read, Unit::BytesPerSec),
    ("blkio.throttle.write_bps_device", Direction::Write, Unit::BytesPerSec),
    ("blkio.throttle.read_iops_device", Direction::Read, Unit::OpsPerSec),
    ("blkio.throttle.write_iops_device", Direction::Write, Unit::OpsPerSec),
];

/// Version 2: `8:0 rbps=1048576 wbps=max riops=max wiops=100`.
fn unified_limits(group: &str, text: &str) -> Vec<IoLimit> {
    let mut limits = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(device) = words.next() else { continue };
        limits.extend(words.filter_map(|word| {
            let (key, value) = word.split_once('=')?;
            let (direction, unit) = match key {
                "rbps" => (Direction::Read, Unit::BytesPerSec),
                "wbps" => (Direction::Write, Unit::BytesPerSec),
                "riops" => (Direction::Read, Unit::OpsPerSec),
                "wiops" => (Direction::Write, Unit::OpsPerSec),
                _ => return None,
            };
            limit(group, "io.max", device, direction, unit, value)
        }));
    }
    limits
}

/// Returns `None` for `max`, and for text that is not a device or a number.
fn limit(group: &str, file: &str, device: &str, direction: Direction, unit: Unit, value: &str) -> Option<IoLimit> {
    let (major, minor) = device.split_once(':')?;
    let value: u64 = value.trim().parse().ok()?;
    Some(IoLimit {
        group: group.to_owned(),
        file: file.to_owned(),
        device: DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?),
        direction,
        per_second: Quantity { value: value as f64, unit },
    })
}

/// Returns the cgroup path for a controller, and `true` if it is of version 2. Version 1 takes precedence where both
/// are mounted: a controller is in only one hierarchy.
fn membership<'a>(text: &'a str, controller: &str) -> Option<(&'a str, bool)> {
    let lines = || {
        text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        })
    };
    let version_1 = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == controller));
    let version_2 = || lines().find(|(controllers, _)| controllers.is_empty());
    version_1.map(|(_, path)| (path, false)).or_else(|| version_2().map(|(_, path)| (path, true)))
}

fn hierarchy<'a>(mounts: &'a Mounts, unified: bool, controller: &str) -> Option<&'a Mount> {
    mounts.0.iter().find(|mount| match unified {
        true => mount.fs_type == "cgroup2",
        false => mount.fs_type == "cgroup" && mount.super_options.split(',').any(|option| option == controller),
    })
}

/// Returns the group's path below the mounted group; `None` for a group that is not reachable there.
fn below_root(path: &str, mount: &Mount) -> Option<PathBuf> {
    let below = Path::new(path).strip_prefix(&mount.root).ok()?;
    below.components().all(|part| matches!(part, Component::Normal(_))).then(|| below.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_version_2_are_read_and_max_is_none() {
        let limits = unified_limits("/bench", "8:0 rbps=1048576 wbps=max riops=max wiops=100\n7:1 rbps=max wbps=max\n");
        let found: Vec<_> = limits
            .iter()
            .map(|limit| (limit.device.to_string(), limit.direction, limit.per_second.value, limit.per_second.unit))
            .collect();
        let expected = [
            ("8:0".to_owned(), Direction::Read, 1_048_576.0, Unit::BytesPerSec),
            ("8:0".to_owned(), Direction::Write, 100.0, Unit::OpsPerSec),
        ];
        assert_eq!(found, expected);
        assert!(unified_limits("/", "").is_empty());
        assert!(unified_limits("/", "garbage rbps=1\n8:x rbps=1\n8:0 rbps\n").is_empty());
    }
}
