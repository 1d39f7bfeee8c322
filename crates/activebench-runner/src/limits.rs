//! The I/O limits of the tree's control groups, read while it runs: a tool can join its own group, and the group may
//! not exist afterwards.

use std::collections::BTreeSet;
use std::fs;

use activebench_host::{IoLimits, Process, Roots, io_limits};
use activebench_model::host::IoLimit;

/// Maximum number of processes examined: a tool's workers share their groups.
const MOST_PROCESSES: usize = 16;

/// Limits found so far.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    found: Vec<IoLimit>,
    /// Memberships that were already read, in the kernel's words.
    known: BTreeSet<String>,
    /// Reason why the limits of some group are unknown.
    unread: Option<String>,
}

impl Watch {
    /// Reads the limits of a process and its descendants. A process that has ended does not have groups any more.
    pub(crate) fn read(&mut self, pid: u32) {
        for pid in descendants(pid) {
            let Ok(membership) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { continue };
            if self.known.contains(&membership) {
                continue;
            }
            // If the process ended in between, another process with the same groups is read later.
            let Ok(read) = io_limits(&Roots::default(), Process::Id(pid)) else { continue };
            self.known.insert(membership);
            self.unread = self.unread.take().or(read.unread);
            for limit in read.limits {
                if !self.found.contains(&limit) {
                    self.found.push(limit);
                }
            }
        }
    }

    /// Returns the limits, and the reason why they may be incomplete.
    pub(crate) fn finish(self) -> IoLimits {
        let never = || "the control groups of the tool were never read".to_owned();
        let unread = if self.known.is_empty() { Some(never()) } else { self.unread };
        IoLimits { limits: self.found, unread }
    }
}

/// Returns a process and its descendants, up to the maximum. Children of threads other than the first are not
/// included.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        if found.len() >= MOST_PROCESSES {
            break;
        }
    }
    found.truncate(MOST_PROCESSES);
    found
}
