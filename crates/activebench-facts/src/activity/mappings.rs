//! Finds the mapping of an address, because `munmap` and `msync` do not name a descriptor.

use activebench_model::activity::Exec;
use activebench_model::call::{Op, PlainCall};
use foldhash::HashMap;

use crate::address_map::AddressMap;

/// Returns, for each `munmap` and `msync` (by index, ascending), the index of the `mmap` that it belongs to.
pub(super) fn resolve(calls: &[PlainCall], execs: &[Exec]) -> Vec<(u32, u32)> {
    // By process; each value is the index of the `mmap`.
    let mut regions: HashMap<u32, AddressMap<u32>> = HashMap::default();
    let mut resolved = Vec::new();
    let mut coming = execs.iter().peekable();
    for (index, call) in (0..).zip(calls) {
        // An execution removes all earlier mappings.
        while let Some(exec) = coming.next_if(|exec| exec.at_ns <= call.start_ns) {
            regions.remove(&exec.tgid);
        }
        match call.op {
            Op::Mmap if call.returned > 0 => {
                let start = call.returned as u64;
                let end = start.saturating_add(call.requested);
                regions.entry(call.tgid).or_default().map(start, end, index);
            }
            Op::Msync | Op::MsyncAsync | Op::Munmap => {
                let Some(regions) = regions.get_mut(&call.tgid) else { continue };
                let start = call.offset as u64;
                let end = start.saturating_add(call.requested.max(1));
                let Some(mapped_by) = regions.first_in(start, end) else { continue };
                resolved.push((index, mapped_by));
                if call.op == Op::Munmap && call.returned == 0 {
                    regions.unmap(start, end);
                }
            }
            _ => {}
        }
    }
    resolved.shrink_to_fit();
    resolved
}
