//! The memory limit of a process's cgroup, version 1 or 2.

use std::path::{Component, Path, PathBuf};

use crate::mounts::{Mount, Mounts};
use crate::reader::{ReadError, Reader};

/// Version 1 writes "no limit" as the highest page counter in bytes (`PAGE_COUNTER_MAX`,
/// include/linux/page_counter.h of Linux 6.12: `LONG_MAX / PAGE_SIZE` pages); pages have at most 64 KiB.
const NO_LIMIT_BYTES: u64 = i64::MAX as u64 - 65_535;

/// The lowest limit of the process's cgroup and its ancestors, as far as they can be seen.
/// `None` when there is none, and, with an entry in the account, when that is not known.
pub(crate) fn memory_limit(reader: &mut Reader, mounts: &Mounts) -> Option<u64> {
    let file = reader.process().folder().join("cgroup");
    let text = reader.text(&file);
    let text = reader.wanted(text)?;
    let (path, unified) = membership(&text)?;
    let Some(mount) = hierarchy(mounts, unified) else {
        reader
            .note(format!("the memory limit is not known: the cgroup hierarchy of {} is not mounted", file.display()));
        return None;
    };
    let Some(below) = below_root(path, mount) else {
        reader.note(format!("the memory limit is not known: the cgroup {path} lies outside of what is mounted"));
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
        // The root group has no `memory.max`, nor has a group without the controller.
        if let Some(bytes) = reader.optional(read).flatten() {
            limit = Some(limit.map_or(bytes, |limit| limit.min(bytes)));
        }
    }
    limit
}

/// The cgroup that the memory controller sees, and whether it is of version 2. Version 1 counts
/// where both are mounted: a controller lies in one hierarchy only.
fn membership(text: &str) -> Option<(&str, bool)> {
    let lines = || {
        text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        })
    };
    let version_1 = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == "memory"));
    let version_2 = || lines().find(|(controllers, _)| controllers.is_empty());
    version_1.map(|(_, path)| (path, false)).or_else(|| version_2().map(|(_, path)| (path, true)))
}

fn hierarchy(mounts: &Mounts, unified: bool) -> Option<&Mount> {
    mounts.0.iter().find(|mount| match unified {
        true => mount.fs_type == "cgroup2",
        false => mount.fs_type == "cgroup" && mount.super_options.split(',').any(|option| option == "memory"),
    })
}

/// The group's path below the mounted one; `None` for a group that cannot be reached there.
fn below_root(path: &str, mount: &Mount) -> Option<PathBuf> {
    let below = Path::new(path).strip_prefix(&mount.root).ok()?;
    below.components().all(|part| matches!(part, Component::Normal(_))).then(|| below.to_owned())
}
