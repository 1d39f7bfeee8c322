//! State of a file before a pass, as far as the run's own calls show it.

use std::collections::HashMap;

use activebench_model::call::{FileId, open_bits};
use activebench_model::event::NameEvent;

use super::item::{Change, Item};
use crate::export::iolog::step::Action;
use crate::export::names::FileNames;

/// Required state of a file before a pass is replayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Offset up to which the file has data.
    pub written_bytes: u64,
    /// Offset up to which blocks were reserved (fallocate); 0 if none were.
    pub allocated_bytes: u64,
    /// Length of the file.
    pub size_bytes: u64,
    /// `true` if the calls show all of this.
    known: bool,
    assumed: Assumed,
}

/// Assumption about the file where the calls do not show its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Assumed {
    #[default]
    Nothing,
    /// The file was written from its beginning, and there was no sign of earlier data.
    New,
    /// The file existed, and was as long as the pass reaches.
    There,
}

impl Before {
    /// Records that reads found data up to `end_bytes`, while the run itself had written up to `written_bytes`.
    pub(super) fn must_have(&mut self, end_bytes: u64, written_bytes: u64) {
        if end_bytes > written_bytes.max(self.written_bytes) {
            self.written_bytes = end_bytes;
            self.size_bytes = self.size_bytes.max(end_bytes);
            self.known = true;
        }
    }

    /// Derives the assumption from the first write, if the earlier calls do not show the state.
    pub(super) fn first_write(&mut self, offset: u64, open_flags: u32) {
        if self.known || self.assumed != Assumed::Nothing {
            return;
        }
        let may_be_new = offset == 0 && open_flags & open_bits::CREATE != 0;
        self.assumed = if may_be_new { Assumed::New } else { Assumed::There };
    }

    /// Returns `true` if the file existed before.
    pub fn is_there(&self) -> bool {
        self.size_bytes > 0 || self.assumed == Assumed::There
    }

    /// Extends an assumed existing file to the highest end offset of the pass.
    pub(super) fn settle(&mut self, end_bytes: u64) {
        if self.assumed == Assumed::There && !self.known {
            self.written_bytes = self.written_bytes.max(end_bytes);
            self.size_bytes = self.size_bytes.max(end_bytes);
        }
    }

    /// Returns the assumption in words; `None` if the calls show the state.
    pub(super) fn assumed(&self) -> Option<&'static str> {
        match self.assumed {
            _ if self.known => None,
            Assumed::Nothing => None,
            Assumed::New => Some("the record does not say whether it was there before: it is replayed as a new file"),
            Assumed::There => Some("the record does not say whether it had data: it is replayed as one that had"),
        }
    }
}

/// State of the files of the load as the run proceeds.
pub(super) struct States<'a> {
    of_file: HashMap<FileId, Before>,
    names: &'a FileNames,
    named: HashMap<&'a str, Vec<FileId>>,
    unlinks: Vec<NameEvent>,
    next: usize,
}

impl<'a> States<'a> {
    /// Creates the states; `unlinks` are in the order of their times.
    pub(super) fn new(unlinks: Vec<NameEvent>, names: &'a FileNames) -> Self {
        Self { of_file: HashMap::new(), names, named: names.by_name(), unlinks, next: 0 }
    }

    /// Resets the files that were deleted up to `at_ns`.
    pub(super) fn until(&mut self, at_ns: u64) {
        while let Some(unlink) = self.unlinks.get(self.next).filter(|unlink| unlink.at_ns <= at_ns) {
            for file in self.named.get(unlink.name.as_str()).into_iter().flatten() {
                if self.names.at(*file, unlink.at_ns) == Some(&unlink.name)
                    && let Some(state) = self.of_file.get_mut(file)
                {
                    // The next file reuses the inode, and is a new file.
                    *state = Before { known: true, ..Before::default() };
                }
            }
            self.next += 1;
        }
    }

    /// Returns the current state of a file.
    pub(super) fn before(&self, file: FileId) -> Before {
        self.of_file.get(&file).copied().unwrap_or_default()
    }

    /// Returns the offset up to which the run has written the file.
    pub(super) fn written_to(&self, file: FileId) -> u64 {
        self.before(file).written_bytes
    }

    pub(super) fn look(&mut self, item: &Item) {
        let state = self.of_file.entry(item.file).or_default();
        match item.change {
            Some(Change::Emptied) => *state = Before { known: true, ..Before::default() },
            Some(Change::Sized(bytes)) => {
                state.written_bytes = state.written_bytes.min(bytes);
                state.allocated_bytes = state.allocated_bytes.min(bytes);
                state.size_bytes = bytes;
                state.known = true;
            }
            Some(Change::Allocated(bytes)) => {
                state.allocated_bytes = state.allocated_bytes.max(bytes);
                state.size_bytes = state.size_bytes.max(bytes);
                state.known = true;
            }
            None => {}
        }
        if let Some(step) = item.step
            && step.action == Action::Write
        {
            let end_bytes = step.offset + u64::from(step.bytes);
            state.written_bytes = state.written_bytes.max(end_bytes);
            state.size_bytes = state.size_bytes.max(end_bytes);
            state.known = true;
        }
        // Data that is read existed, whoever wrote it.
        if let Some(step) = item.step
            && step.action == Action::Read
        {
            let end_bytes = step.offset + u64::from(step.bytes);
            if end_bytes > state.size_bytes {
                state.written_bytes = end_bytes;
                state.size_bytes = end_bytes;
                state.known = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::call::{FileKind, Op};
    use activebench_model::source::Events;

    use super::*;

    #[test]
    fn a_deleted_file_is_new_when_its_inode_is_used_again() {
        let (file, other) = (FileId { s_dev: 1, ino: 2 }, FileId { s_dev: 1, ino: 3 });
        let event = |at_ns, op, file, name: &str| NameEvent {
            at_ns,
            tid: 1,
            tgid: 1,
            op,
            returned: 0,
            file,
            name: name.to_owned(),
        };
        // The first file gets the name of the second after that is deleted.
        let opens = vec![
            event(10, Op::Open, Some(file), "a"),
            event(10, Op::Open, Some(other), "b"),
            event(60, Op::Open, Some(file), "b"),
        ];
        let names = FileNames::read(&Events { names: opens, ..Events::default() }).expect("they are read");
        let unlinks = vec![event(50, Op::Unlink, None, "b"), event(70, Op::Unlink, None, "b")];
        let mut states = States::new(unlinks, &names);
        for file in [file, other] {
            let change = Some(Change::Sized(4096));
            states.look(&Item { at_ns: 20, file, kind: FileKind::Regular, change, step: None, place: None });
        }
        for (at_ns, sizes) in [(49, (4096, 4096)), (50, (4096, 0)), (69, (4096, 0)), (70, (0, 0))] {
            states.until(at_ns);
            assert_eq!((states.before(file).size_bytes, states.before(other).size_bytes), sizes, "{at_ns}");
        }
        assert!(!states.before(file).is_there());
    }
}
