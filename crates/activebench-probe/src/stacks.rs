//! The distinct stacks of the run, each once, as places in modules: addresses are meaningless after their process has
//! ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use activebench_model::thread_stacks::KERNEL_MODULE;
use activebench_probe_abi::SampleRecord;

use crate::mappings::{Mappings, ModuleId};

/// Maximum number of distinct stacks. A stack has at most 64 frames of 4 bytes: 16 MiB, and as much again for the
/// lookup.
const MOST_STACKS: usize = 1 << 16;
/// Maximum number of distinct frames; each takes about 60 bytes.
const MOST_FRAMES: usize = 1 << 18;

/// A place in the code: an address in the kernel, or an offset in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In the kernel.
    Kernel(u64),
    /// In a module.
    Module(ModuleId, u64),
    /// Not in a known mapping.
    Unknown,
}

/// The stacks of a run.
#[derive(Debug)]
pub(crate) struct StackTable {
    pub(crate) mappings: Mappings,
    places: HashMap<Place, u32>,
    pub(crate) place_list: Vec<Place>,
    ids: HashMap<Box<[u32]>, u32>,
    pub(crate) stacks: Vec<Box<[u32]>>,
    most_stacks: usize,
    pub(crate) stackless: u64,
}

impl StackTable {
    pub(crate) fn new(mappings: Mappings) -> Self {
        Self {
            mappings,
            places: HashMap::new(),
            place_list: Vec::new(),
            ids: HashMap::new(),
            stacks: Vec::new(),
            most_stacks: MOST_STACKS,
            stackless: 0,
        }
    }

    /// Returns the number of a sample's stack; `None`, counted in `stackless`, if there is no space for another one.
    pub(crate) fn intern(&mut self, record: &SampleRecord) -> Option<u32> {
        let tgid = record.cpu.tgid;
        if let Some(innermost) = record.user_stack().first() {
            self.mappings.refresh(tgid, *innermost);
        }
        let kernel = record.kernel_stack().iter().map(|address| Some(Place::Kernel(*address)));
        let user = record
            .user_stack()
            .iter()
            .map(|address| self.mappings.locate(tgid, *address).map(|(module, offset)| Place::Module(module, offset)));
        let mut stack = Vec::with_capacity(record.kernel_stack().len() + record.user_stack().len());
        for place in kernel.chain(user) {
            // Without frame pointers, frames after an impossible address do not belong to the stack.
            let is_last = place.is_none();
            stack.push(place.unwrap_or(Place::Unknown));
            if is_last {
                break;
            }
        }
        let number = self.number_of(&stack);
        self.stackless += u64::from(number.is_none());
        number
    }

    fn number_of(&mut self, stack: &[Place]) -> Option<u32> {
        let mut numbers = Vec::with_capacity(stack.len());
        for place in stack {
            let room = self.place_list.len() < MOST_FRAMES;
            match self.places.entry(*place) {
                Entry::Occupied(known) => numbers.push(*known.get()),
                Entry::Vacant(new) if room => {
                    numbers.push(*new.insert(self.place_list.len() as u32));
                    self.place_list.push(*place);
                }
                Entry::Vacant(_) => return None,
            }
        }
        let numbers = numbers.into_boxed_slice();
        if let Some(known) = self.ids.get(&numbers) {
            return Some(*known);
        }
        if self.stacks.len() >= self.most_stacks {
            return None;
        }
        let id = self.stacks.len() as u32;
        self.stacks.push(numbers.clone());
        self.ids.insert(numbers, id);
        Some(id)
    }

    /// Returns the kernel's index among the modules.
    pub(crate) fn kernel_module(&mut self) -> ModuleId {
        self.mappings.modules.id_of(KERNEL_MODULE, 0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn table() -> StackTable {
        StackTable::new(Mappings::new(PathBuf::from("/nonexistent")))
    }

    fn sample(kernel: &[u64], user: &[u64]) -> SampleRecord {
        // SAFETY: all zeroes is a value of every record.
        let mut record: SampleRecord = unsafe { std::mem::zeroed() };
        record.cpu.tgid = 7;
        record.kernel_frames[..kernel.len()].copy_from_slice(kernel);
        record.user_frames[..user.len()].copy_from_slice(user);
        (record.kernel_count, record.user_count) = (kernel.len() as u32, user.len() as u32);
        record
    }

    #[test]
    fn equal_stacks_are_one_and_end_where_nothing_is_mapped() {
        let mut table = table();
        let first = table.intern(&sample(&[10, 20], &[5, 6, 7]));
        assert_eq!(table.intern(&sample(&[10, 20], &[8])), first, "unknown is unknown");
        assert_ne!(table.intern(&sample(&[20, 10], &[8])), first);
        assert_eq!(table.place_list, [Place::Kernel(10), Place::Kernel(20), Place::Unknown]);
        assert_eq!(table.stacks, [[0, 1, 2].into(), [1, 0, 2].into()] as [Box<[u32]>; 2]);
        assert_eq!(table.stackless, 0);
    }

    #[test]
    fn what_finds_no_room_is_counted_and_what_is_known_still_found() {
        let mut table = table();
        table.most_stacks = 1;
        assert_eq!(table.intern(&sample(&[1], &[])), Some(0));
        assert_eq!(table.intern(&sample(&[2], &[])), None);
        assert_eq!(table.intern(&sample(&[1], &[])), Some(0));
        assert_eq!((table.stackless, table.stacks.len()), (1, 1));
    }
}
