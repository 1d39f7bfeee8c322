//! Finds the mapping of an address, because `munmap` and `msync` do not name a descriptor.

use std::collections::HashMap;

use activebench_model::activity::Exec;
use activebench_model::call::{Op, PlainCall};

/// A mapped range of a process.
#[derive(Clone, Copy, Debug)]
struct Region {
    start: u64,
    end: u64,
    /// Index of the `mmap` among the structural calls.
    mapped_by: usize,
}

/// Returns, for each `munmap` and `msync` (by index), the index of the `mmap` that it belongs to.
pub(super) fn resolve(calls: &[PlainCall], execs: &[Exec]) -> HashMap<usize, usize> {
    let mut regions: HashMap<u32, Vec<Region>> = HashMap::new();
    let mut resolved = HashMap::new();
    let mut coming = execs.iter().peekable();
    for (index, call) in calls.iter().enumerate() {
        // An execution removes all earlier mappings.
        while let Some(exec) = coming.next_if(|exec| exec.at_ns <= call.start_ns) {
            regions.remove(&exec.tgid);
        }
        match call.op {
            Op::Mmap if call.returned > 0 => {
                let start = call.returned as u64;
                let region = Region { start, end: start.saturating_add(call.requested), mapped_by: index };
                regions.entry(call.tgid).or_default().push(region);
            }
            Op::Msync | Op::MsyncAsync | Op::Munmap => {
                let Some(regions) = regions.get_mut(&call.tgid) else { continue };
                let start = call.offset as u64;
                let end = start.saturating_add(call.requested.max(1));
                // Search from the end: a later mapping replaces an earlier one at its address.
                let Some(at) = regions.iter().rposition(|region| region.start < end && start < region.end) else {
                    continue;
                };
                resolved.insert(index, regions[at].mapped_by);
                if call.op == Op::Munmap && call.returned == 0 {
                    regions.retain(|region| region.start < start || region.end > end);
                }
            }
            _ => {}
        }
    }
    resolved
}
