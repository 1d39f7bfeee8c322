//! bonnie++'s tests: their columns, messages and ids.
//!
//! The columns of its CSV are in the order in which the tests run.

use activebench_model::phase::{Direction, NameOperation, Pattern};

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    PutChar,
    PutBlock,
    Rewrite,
    GetChar,
    GetBlock,
    Seeks,
    SeqCreate,
    SeqStat,
    SeqDelete,
    RanCreate,
    RanStat,
    RanDelete,
}

use Kind::*;

impl Kind {
    /// Every test, in the order in which they run and in which their columns are printed.
    pub(super) const ALL: [Kind; 12] = [
        PutChar, PutBlock, Rewrite, GetChar, GetBlock, Seeks, SeqCreate, SeqStat, SeqDelete, RanCreate, RanStat,
        RanDelete,
    ];
    /// Number of tests that work on the one large file; they come first.
    pub(super) const DATA: usize = 6;

    /// Returns the index in [`Kind::ALL`].
    pub(super) fn index(self) -> usize {
        self as usize
    }

    /// Returns true for a test of the one large file; the others work on many small ones.
    pub(super) fn is_data(self) -> bool {
        self.index() < Self::DATA
    }

    /// Returns true for a test that moves one byte per call (1.03: one byte per call of the C library).
    pub(super) fn is_per_character(self) -> bool {
        matches!(self, PutChar | GetChar)
    }

    /// Returns the phase's id: the name of the column in bonnie++'s own CSV header.
    pub(super) fn slug(self) -> &'static str {
        match self {
            PutChar => "putc",
            PutBlock => "put-block",
            Rewrite => "rewrite",
            GetChar => "getc",
            GetBlock => "get-block",
            Seeks => "seeks",
            SeqCreate => "seq-create",
            SeqStat => "seq-stat",
            SeqDelete => "seq-del",
            RanCreate => "ran-create",
            RanStat => "ran-stat",
            RanDelete => "ran-del",
        }
    }

    /// Returns a name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            PutChar => "per-character write",
            PutBlock => "block write",
            Rewrite => "rewrite",
            GetChar => "per-character read",
            GetBlock => "block read",
            Seeks => "seeks",
            SeqCreate => "sequential create",
            SeqStat => "sequential stat",
            SeqDelete => "sequential delete",
            RanCreate => "random create",
            RanStat => "random stat",
            RanDelete => "random delete",
        }
    }

    /// Returns the messages that it prints on standard error at its start.
    pub(super) fn messages(self) -> &'static [&'static str] {
        match self {
            PutChar => &["Writing a byte at a time...", "Writing with putc()..."],
            PutBlock => &["Writing intelligently..."],
            Rewrite => &["Rewriting..."],
            GetChar => &["Reading a byte at a time...", "Reading with getc()..."],
            GetBlock => &["Reading intelligently..."],
            Seeks => &["start 'em..."],
            SeqCreate => &["Create files in sequential order..."],
            SeqStat => &["Stat files in sequential order..."],
            SeqDelete => &["Delete files in sequential order..."],
            RanCreate => &["Create files in random order..."],
            RanStat => &["Stat files in random order..."],
            RanDelete => &["Delete files in random order..."],
        }
    }

    /// Returns the direction of the data that the figure counts. *Rewrite* counts each block once, though it is
    /// read before it is written.
    pub(super) fn direction(self) -> Direction {
        match self {
            PutChar | PutBlock | Rewrite => Direction::Write,
            GetChar | GetBlock | Seeks => Direction::Read,
            _ => Direction::None,
        }
    }

    pub(super) fn pattern(self) -> Pattern {
        match self {
            Seeks => Pattern::RandomIndependent,
            kind if kind.is_data() => Pattern::Sequential,
            _ => Pattern::Unknown,
        }
    }

    /// Returns its operation on names; `None` for a test of data.
    pub(super) fn name_operation(self) -> Option<NameOperation> {
        match self {
            SeqCreate | RanCreate => Some(NameOperation::Create),
            SeqStat | RanStat => Some(NameOperation::Stat),
            SeqDelete | RanDelete => Some(NameOperation::Delete),
            _ => None,
        }
    }
}

/// Returns the id of a test's phase; `run` counts from 1 (`-x` makes several).
pub(super) fn phase_id(kind: Kind, run: usize) -> String {
    match run {
        0 | 1 => kind.slug().to_owned(),
        _ => format!("{}-{run}", kind.slug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_ids_are_distinct() {
        let mut ids = std::collections::BTreeSet::new();
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), place);
            for run in 1..4 {
                assert!(ids.insert(phase_id(kind, run)), "{kind:?} {run}");
            }
        }
    }
}
