//! Assignment of calls to passes.

use std::collections::{HashMap, HashSet};

use activebench_model::call::{Call, FileId};
use activebench_model::phase::Part;
use activebench_model::report::JudgedRun;

use super::item::{Change, Item};
use super::{Gathered, Pass, end_of};
use crate::export::iolog::left_out::Why;
use crate::export::iolog::step::{Action, Step};

/// The parts of all passes.
pub(super) struct Places<'a> {
    by_descriptor: HashMap<(u32, i32), Spans<'a>>,
    load: HashSet<FileId>,
}

/// Parts of one descriptor, sorted by start. A tool that repeats a measurement uses one descriptor.
#[derive(Default)]
struct Spans<'a> {
    /// Parts with the number of their pass.
    parts: Vec<(usize, &'a Part)>,
    /// For each part, the latest end of all parts up to and including it.
    reach: Vec<u64>,
}

impl<'a> Places<'a> {
    pub(super) fn of(run: &'a JudgedRun, passes: &[Pass]) -> Self {
        let mut places = Self { by_descriptor: HashMap::new(), load: HashSet::new() };
        for (number, pass) in passes.iter().enumerate() {
            let phases = pass.phases.iter().filter_map(|place| run.phases.get(*place));
            for part in phases.flat_map(|phase| &phase.parts) {
                places.load.insert(part.file);
                let of_descriptor = places.by_descriptor.entry((part.tgid, part.fd)).or_default();
                of_descriptor.parts.push((number, part));
            }
        }
        places.by_descriptor.values_mut().for_each(Spans::sort);
        places
    }

    /// Returns the pass whose clock covered a call.
    fn pass_of(&self, call: &Call) -> Option<usize> {
        self.by_descriptor.get(&(call.tgid, call.fd))?.pass_of(call)
    }

    /// Converts a call to an item; `None` if it does not affect a file of the load.
    pub(super) fn item(&self, call: &Call, gathered: &mut [Gathered]) -> Option<Item> {
        let file = call.file.filter(|file| self.load.contains(file))?;
        let pass = self.pass_of(call);
        let change = Change::of(call);
        let step = match Step::of(call, file) {
            // fio 3.33 refuses `trim`.
            Ok(Some(Step { action: Action::Trim, .. })) => {
                if let Some(gathered) = pass.and_then(|pass| gathered.get_mut(pass)) {
                    gathered.lost.add(call, Why::NoWord);
                }
                None
            }
            Ok(step) => step.filter(|step| !matches!(step.action, Action::Open | Action::Close | Action::Dup)),
            Err(why) => {
                if let Some(gathered) = pass.and_then(|pass| gathered.get_mut(pass)) {
                    let moves = matches!(why, Why::NoOffset | Why::TooLong | Why::DirectTail);
                    if moves { &mut gathered.lost } else { &mut gathered.unsaid }.add(call, why);
                }
                None
            }
        };
        if change.is_none() && step.is_none() {
            return None;
        }
        let place = pass.filter(|_| step.is_some()).map(|pass| (pass, (call.tgid, call.tid)));
        Some(Item { at_ns: call.start_ns, file, kind: call.kind, change, step, place })
    }
}

impl Spans<'_> {
    fn sort(&mut self) {
        self.parts.sort_by_key(|(number, part)| (part.start_ns, end_of(part), *number));
        // Both directions of a mix have the same parts.
        self.parts.dedup();
        let reach = self.parts.iter().scan(0, |latest, (_, part)| {
            *latest = end_of(part).max(*latest);
            Some(*latest)
        });
        self.reach = reach.collect();
    }

    fn pass_of(&self, call: &Call) -> Option<usize> {
        let is_of = |part: &Part| {
            call.file == Some(part.file)
                && (part.tids.is_empty() || part.tids.contains(&call.tid))
                && call.end_ns <= end_of(part)
        };
        let begun = self.parts.partition_point(|(_, part)| part.start_ns <= call.start_ns);
        let near = self.parts[..begun].iter().zip(&self.reach[..begun]).rev();
        let near = near.take_while(|(_, reach)| **reach >= call.end_ns);
        near.map(|(part, _)| part).filter(|(_, part)| is_of(part)).map(|(number, _)| *number).min()
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::call::{FileKind, Op};
    use activebench_model::phase::PartEnd;

    use super::*;

    const FILE: FileId = FileId { s_dev: 1, ino: 2 };

    fn part(start_ns: u64, end_ns: u64, tids: &[u32]) -> Part {
        Part {
            tgid: 7,
            tids: tids.to_vec(),
            fd: 3,
            file: FILE,
            start_ns,
            end: PartEnd::At(end_ns),
            last_data_ns: end_ns,
            sync_inside: None,
            sync_after: None,
            close_ns: None,
        }
    }

    fn call(start_ns: u64, end_ns: u64, tid: u32) -> Call {
        Call {
            start_ns,
            end_ns,
            tid,
            tgid: 7,
            op: Op::Pread,
            fd: 3,
            file: Some(FILE),
            kind: FileKind::Regular,
            open_flags: 0,
            offset: 0,
            requested: 1,
            returned: 1,
            storage_read_bytes: 0,
            cached_bytes: 0,
            cpu_ns: 0,
            user_before_ns: 0,
            stands_for: 1,
        }
    }

    #[test]
    fn a_call_is_of_the_pass_whose_part_covers_it() {
        let (long, first, second, threads) =
            (part(0, 1_000, &[9]), part(100, 200, &[8]), part(300, 400, &[8]), part(350, 360, &[5, 6]));
        // Unsorted, and with one part twice.
        let parts = vec![(2, &second), (0, &long), (1, &first), (2, &second), (3, &threads)];
        let mut spans = Spans { parts, reach: Vec::new() };
        spans.sort();
        assert_eq!(spans.parts.len(), 4);
        for (call, expected) in [
            (call(100, 200, 8), Some(1)),
            (call(150, 150, 9), Some(0)),
            (call(300, 400, 8), Some(2)),
            (call(355, 356, 6), Some(3)),
            (call(355, 356, 8), Some(2)),
            (call(900, 1_000, 9), Some(0)),
            (call(99, 150, 8), None),
            (call(150, 201, 8), None),
            (call(250, 260, 8), None),
            (call(900, 1_001, 9), None),
            (Call { file: Some(FileId { s_dev: 1, ino: 3 }), ..call(100, 200, 8) }, None),
        ] {
            assert_eq!(spans.pass_of(&call), expected, "{call:?}");
        }
    }
}
