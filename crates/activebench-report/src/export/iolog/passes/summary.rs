//! Summary of the operations on a file. Two runs of the same operations have equal summaries, in any order.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use activebench_model::call::{FileId, Op};
use activebench_model::replication::Moved;
use activebench_model::source::{EventSource, Unreadable};

use super::Pass;
use crate::export::iolog::step::{Action, Step};
use crate::export::names::FileNames;

/// Operations on a file: counts, bytes, and a sum over all operations. Two different multisets have the same sum with a
/// probability of 2^-128. Memory does not grow with the number of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Counts and bytes.
    pub moved: Moved,
    /// Those of `moved.syncs` that follow the clock.
    pub syncs_after: u64,
    sum: (u64, u64),
}

impl Work {
    pub(super) fn add(&mut self, file: usize, step: &Step) {
        let bytes = u64::from(step.bytes);
        match step.action {
            Action::Read => {
                self.moved.reads += 1;
                self.moved.read_bytes += bytes;
            }
            Action::Write => {
                self.moved.writes += 1;
                self.moved.write_bytes += bytes;
            }
            Action::Sync | Action::Datasync => self.moved.syncs += 1,
            _ => {}
        }
        let place = if step.action.moves_data() { (step.offset, step.bytes) } else { (0, 0) };
        self.count(file, step.action, place);
    }

    /// Adds a sync that the log has after the end of the clock.
    pub(super) fn sync_after(&mut self, file: usize, action: Action) {
        self.moved.syncs += 1;
        self.syncs_after += 1;
        self.count(file, action, (0, 0));
    }

    fn count(&mut self, file: usize, action: Action, place: (u64, u32)) {
        let of = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, file, action as u8, place).hash(&mut hasher);
            hasher.finish()
        };
        self.sum.0 = self.sum.0.wrapping_add(of(0));
        self.sum.1 = self.sum.1.wrapping_add(of(1));
    }

    /// Returns `true` if `other` has the same operations, each as often.
    pub fn is_same(&self, other: &Work) -> bool {
        self.moved == other.moved && self.sum == other.sum
    }
}

/// Operations of a replay.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Operations on each file of the pass, by its number.
    pub works: BTreeMap<usize, Work>,
    /// Start of the first operation, in ns of `CLOCK_MONOTONIC`.
    pub first_ns: Option<u64>,
    /// End of the last operation that the recorded clock covered.
    pub clock_end_ns: Option<u64>,
    /// End of the last operation.
    pub end_ns: Option<u64>,
}

impl Replayed {
    /// Returns the operations and bytes on all files.
    pub fn moved(&self) -> Moved {
        self.works.values().fold(Moved::default(), |sum, work| sum + work.moved)
    }

    /// Returns the first difference to the pass; `None` if every operation on every file is the same.
    pub fn differs(&self, pass: &Pass) -> Option<String> {
        for (number, file) in &pass.files {
            let work = self.works.get(number).copied().unwrap_or_default();
            if file.work.is_same(&work) {
                continue;
            }
            let (before, after) = (file.work.moved, work.moved);
            return Some(match before == after {
                true => {
                    format!("{}: as many operations and bytes, at other offsets or of other lengths", file.log_name)
                }
                false => format!("{}: recorded {}; replayed {}", file.log_name, words(before), words(after)),
            });
        }
        None
    }
}

fn words(moved: Moved) -> String {
    format!(
        "{} reads of {} bytes, {} writes of {} bytes, {} syncs",
        moved.reads, moved.read_bytes, moved.writes, moved.write_bytes, moved.syncs
    )
}

/// Reads the operations of a replayed pass from its recorded events.
///
/// # Errors
/// Returns an error if the events cannot be read.
pub fn replayed(pass: &Pass, events: &dyn EventSource) -> Result<Replayed, Unreadable> {
    let names = FileNames::read(events)?;
    let numbers: HashMap<&str, usize> =
        pass.files.iter().map(|(number, file)| (file.log_name.as_str(), *number)).collect();
    let mut of_file: HashMap<FileId, Option<usize>> = HashMap::new();
    let mut found = Replayed::default();
    let mut data_end_ns = 0_u64;
    let mut close_end_ns: BTreeMap<usize, u64> = BTreeMap::new();
    let mut syncs: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for batch in events.calls() {
        for call in &batch? {
            let Some(file) = call.file else { continue };
            let known = of_file.entry(file);
            let number = *known.or_insert_with(|| names.at(file, u64::MAX).and_then(|name| numbers.get(name)).copied());
            let Some(number) = number else { continue };
            if call.op == Op::Close {
                let end_ns = close_end_ns.entry(number).or_default();
                *end_ns = (*end_ns).max(call.end_ns);
            }
            let Ok(Some(step)) = Step::of(call, file) else { continue };
            if matches!(step.action, Action::Open | Action::Close | Action::Dup) {
                continue;
            }
            found.works.entry(number).or_default().add(number, &step);
            if step.action.moves_data() {
                data_end_ns = data_end_ns.max(step.end_ns);
                found.first_ns = Some(found.first_ns.map_or(step.at_ns, |first_ns| first_ns.min(step.at_ns)));
            } else {
                syncs.entry(number).or_default().push((step.at_ns, step.end_ns));
            }
        }
    }
    if data_end_ns == 0 {
        return Ok(found);
    }
    let (mut clock_end_ns, mut end_ns) = (data_end_ns, data_end_ns);
    for (number, mut syncs) in syncs {
        syncs.sort_unstable();
        // The last syncs follow the end of the clock.
        let after = pass.files.get(&number).map_or(0, |file| file.work.syncs_after);
        let inside = syncs.len().saturating_sub(usize::try_from(after).unwrap_or(usize::MAX));
        for (place, (_, sync_end_ns)) in syncs.into_iter().enumerate() {
            end_ns = end_ns.max(sync_end_ns);
            if place < inside {
                clock_end_ns = clock_end_ns.max(sync_end_ns);
            }
        }
    }
    if pass.closes {
        let closed_ns = close_end_ns.into_values().max().unwrap_or(0);
        clock_end_ns = clock_end_ns.max(closed_ns);
        end_ns = end_ns.max(closed_ns);
    }
    found.clock_end_ns = Some(clock_end_ns);
    found.end_ns = Some(end_ns);
    Ok(found)
}
