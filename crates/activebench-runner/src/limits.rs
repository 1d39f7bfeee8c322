//! The limits on I/O that the tree's control groups have, read while it runs: a tool can join a
//! group of its own, and the group can be gone afterwards.

use std::collections::BTreeSet;
use std::fs;

use activebench_host::{IoLimits, Process, Roots, io_limits};
use activebench_model::host::IoLimit;

/// Processes that are looked at: a tool's workers share their groups.
const MOST_PROCESSES: usize = 16;

/// What was seen so far.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    found: Vec<IoLimit>,
    /// Memberships that were read already, as the kernel words them.
    known: BTreeSet<String>,
    /// Why the limits of some group are not known.
    unread: Option<String>,
}

impl Watch {
    /// Looks at a process and its descendants. A process that has ended has no groups any more.
    pub(crate) fn read(&mut self, pid: u32) {
        for pid in descendants(pid) {
            let Ok(membership) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { continue };
            if self.known.contains(&membership) {
                continue;
            }
            // A process that ended in between is another one's turn.
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

    /// The limits, and why they need not be all.
    pub(crate) fn finish(self) -> IoLimits {
        let never = || "the control groups of the tool were never read".to_owned();
        let unread = if self.known.is_empty() { Some(never()) } else { self.unread };
        IoLimits { limits: self.found, unread }
    }
}

/// A process and those below it, the first ones. Children of threads other than the first are not looked for.
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
