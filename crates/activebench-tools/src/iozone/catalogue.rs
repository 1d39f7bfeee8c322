//! iozone's tests: their passes, columns, names, orders of offsets.
//!
//! The parser uses the table to map columns to passes, the plan to order the
//! passes. Source: observed runs of 3.489, and 3.263's output.

use activebench_model::phase::{Direction, Pattern};

/// One kind of pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Write,
    Rewrite,
    Read,
    Reread,
    RandomRead,
    RandomWrite,
    BackwardRead,
    RecordRewrite,
    StrideRead,
    Fwrite,
    Frewrite,
    Fread,
    Freread,
    Pwrite,
    Repwrite,
    Pread,
    Repread,
    /// Concurrent readers and writers; only in the throughput mode.
    Mixed,
}

use Kind::*;

impl Kind {
    /// Every kind that has a column, in the order of the columns.
    pub(super) const COLUMNS: [Kind; 17] = [
        Write,
        Rewrite,
        Read,
        Reread,
        RandomRead,
        RandomWrite,
        BackwardRead,
        RecordRewrite,
        StrideRead,
        Fwrite,
        Frewrite,
        Fread,
        Freread,
        Pwrite,
        Repwrite,
        Pread,
        Repread,
    ];

    /// Returns the number of its test for `-i`.
    pub(super) fn test(self) -> u32 {
        match self {
            Write | Rewrite => 0,
            Read | Reread => 1,
            RandomRead | RandomWrite => 2,
            BackwardRead => 3,
            RecordRewrite => 4,
            StrideRead => 5,
            Fwrite | Frewrite => 6,
            Fread | Freread => 7,
            Mixed => 8,
            Pwrite | Repwrite => 9,
            Pread | Repread => 10,
        }
    }

    /// Returns iozone's word for the column.
    pub(super) fn name(self) -> &'static str {
        match self {
            Write => "write",
            Rewrite => "rewrite",
            Read => "read",
            Reread => "reread",
            RandomRead => "random read",
            RandomWrite => "random write",
            BackwardRead => "bkwd read",
            RecordRewrite => "record rewrite",
            StrideRead => "stride read",
            Fwrite => "fwrite",
            Frewrite => "frewrite",
            Fread => "fread",
            Freread => "freread",
            Pwrite => "pwrite",
            Repwrite => "repwrite",
            Pread => "pread",
            Repread => "repread",
            Mixed => "mixed",
        }
    }

    /// Returns the pass's part of a phase id.
    pub(super) fn slug(self) -> String {
        slug(self.name())
    }

    /// Returns the title of its block in the report of `-R`, without ` report`.
    pub(super) fn report_title(self) -> &'static str {
        match self {
            Write => "Writer",
            Rewrite => "Re-writer",
            Read => "Reader",
            Reread => "Re-Reader",
            RandomRead => "Random read",
            RandomWrite => "Random write",
            BackwardRead => "Backward read",
            RecordRewrite => "Record rewrite",
            StrideRead => "Stride read",
            Fwrite => "Fwrite",
            Frewrite => "Re-Fwrite",
            Fread => "Fread",
            Freread => "Re-Fread",
            Pwrite => "Pwrite",
            Repwrite => "Re-Pwrite",
            Pread => "Pread",
            Repread => "Re-Pread",
            Mixed => "Mixed workload",
        }
    }

    pub(super) fn direction(self) -> Direction {
        match self {
            Write | Rewrite | RandomWrite | RecordRewrite | Fwrite | Frewrite | Pwrite | Repwrite => Direction::Write,
            Read | Reread | RandomRead | BackwardRead | StrideRead | Fread | Freread | Pread | Repread => {
                Direction::Read
            }
            Mixed => Direction::Mixed,
        }
    }

    pub(super) fn pattern(self) -> Pattern {
        match self {
            Write | Rewrite | Read | Reread | Fwrite | Frewrite | Fread | Freread | Pwrite | Repwrite | Pread
            | Repread => Pattern::Sequential,
            RandomRead | RandomWrite | Mixed => Pattern::RandomPermutation,
            BackwardRead => Pattern::Backward,
            RecordRewrite => Pattern::SingleBlock,
            StrideRead => Pattern::Strided,
        }
    }

    /// Returns true for the second pass of a test, which `-+n` omits (the column then prints 0).
    pub(super) fn is_retest(self) -> bool {
        matches!(self, Rewrite | Reread | Frewrite | Freread | Repwrite | Repread)
    }

    /// Returns true for a pass through a stdio stream: iozone's open flags do not affect it.
    pub(super) fn is_stdio(self) -> bool {
        matches!(self, Fwrite | Frewrite | Fread | Freread)
    }

    /// Returns true for a pass that seeks before each operation, inside the clock.
    pub(super) fn seeks_first(self) -> bool {
        matches!(self, RandomRead | RandomWrite | Mixed)
    }

    /// Returns true for a pass that seeks after each operation, inside the clock.
    pub(super) fn seeks_last(self) -> bool {
        matches!(self, BackwardRead | RecordRewrite | StrideRead)
    }

    /// Returns true for a pass that reads one record before the clock starts (not in the throughput mode).
    pub(super) fn is_primed(self) -> bool {
        matches!(self, Read | Reread)
    }
}

/// The tests of the throughput mode in the order in which they run, with iozone's words.
pub(super) const THROUGHPUT_TESTS: [(&str, Kind); 13] = [
    ("initial writers", Write),
    ("rewriters", Rewrite),
    ("readers", Read),
    ("re-readers", Reread),
    ("reverse readers", BackwardRead),
    ("stride readers", StrideRead),
    ("random readers", RandomRead),
    ("mixed workload", Mixed),
    ("random writers", RandomWrite),
    ("pwrite writers", Pwrite),
    ("pread readers", Pread),
    ("fwriters", Fwrite),
    ("freaders", Fread),
];

/// Converts a name to a part of a phase id: lower case, one dash for everything else.
pub(super) fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// The content of a phase id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PhaseName {
    /// A pass of the single-stream mode, with file KiB and record KiB if the run loops.
    Single { kind: Kind, sizes_kib: Option<(u64, u64)> },
    /// A test of the throughput mode.
    Throughput { kind: Kind, name: String, tasks: u32 },
}

impl PhaseName {
    /// Parses an id that this adapter made; `None` for any other.
    pub(super) fn parse(id: &str) -> Option<Self> {
        if let Some((tasks, rest)) = id.strip_prefix('t').and_then(|rest| rest.split_once('-'))
            && let Ok(tasks) = tasks.parse()
        {
            let known = THROUGHPUT_TESTS.iter().find(|(name, _)| {
                let known = slug(name);
                rest == known || rest.strip_prefix(&known).is_some_and(is_repeat_suffix)
            });
            return Some(match known {
                Some(&(name, kind)) => PhaseName::Throughput { kind, name: name.to_owned(), tasks },
                None => PhaseName::Throughput { kind: Mixed, name: rest.replace('-', " "), tasks },
            });
        }
        Kind::COLUMNS.into_iter().find_map(|kind| match id.strip_prefix(&kind.slug())? {
            "" => Some(PhaseName::Single { kind, sizes_kib: None }),
            sizes => {
                let (file, record) = sizes.strip_prefix('-')?.split_once('-')?;
                let file = file.strip_suffix('k')?.parse().ok()?;
                let record = record.strip_suffix('k')?.parse().ok()?;
                Some(PhaseName::Single { kind, sizes_kib: Some((file, record)) })
            }
        })
    }
}

fn is_repeat_suffix(suffix: &str) -> bool {
    suffix.strip_prefix('-').is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the id of a pass of the single-stream mode.
pub(super) fn single_id(kind: Kind, sizes_kib: Option<(u64, u64)>) -> String {
    match sizes_kib {
        None => kind.slug(),
        Some((file, record)) => format!("{}-{file}k-{record}k", kind.slug()),
    }
}

/// Returns the id of a test of the throughput mode; `repeat` counts from 1.
pub(super) fn throughput_id(tasks: u32, name: &str, repeat: usize) -> String {
    match repeat {
        0 | 1 => format!("t{tasks}-{}", slug(name)),
        _ => format!("t{tasks}-{}-{repeat}", slug(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_can_be_read_back() {
        for kind in Kind::COLUMNS {
            for sizes_kib in [None, Some((1_048_576, 4))] {
                let id = single_id(kind, sizes_kib);
                assert_eq!(PhaseName::parse(&id), Some(PhaseName::Single { kind, sizes_kib }), "{id}");
            }
        }
        for (name, kind) in THROUGHPUT_TESTS {
            for repeat in [1, 2] {
                let id = throughput_id(16, name, repeat);
                let expected = PhaseName::Throughput { kind, name: name.to_owned(), tasks: 16 };
                assert_eq!(PhaseName::parse(&id), Some(expected), "{id}");
            }
        }
        assert_eq!(PhaseName::parse("write-nonsense"), None);
        assert_eq!(PhaseName::parse(""), None);
    }
}
