//! pg_test_fsync's tests: their sections, labels and ids, and what each does in a loop.

use activebench_model::claim::Subject;
use activebench_model::phase::{Direction, Division, Mechanism, Pattern, Phase, Promise, Submission};

/// A section of the output. Labels repeat over sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// One write for each operation, of this many KiB.
    OneWrite(u64),
    /// Two writes for each operation.
    TwoWrites(u64),
    /// 16 KiB in writes of different sizes.
    Sizes,
    /// Syncs through another descriptor than the one that wrote.
    OtherDescriptor,
    /// Writes without a sync.
    Unsynced(u64),
}

/// Makes data durable in one of the ways of PostgreSQL's `wal_sync_method`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Opens with `O_DSYNC`, and with `O_DIRECT` where there is one.
    OpenDatasync,
    Fdatasync,
    Fsync,
    /// Opens with `O_SYNC`, and with `O_DIRECT` where there is one.
    OpenSync,
    /// Opens, writes, syncs and closes the file, then opens and closes it again.
    WriteFsyncClose,
    /// Writes through one descriptor and syncs through the next.
    WriteCloseFsync,
    /// Writes into the page cache.
    Write,
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) section: Section,
    pub(super) method: Method,
    /// Writes of one operation.
    pub(super) writes: u64,
    /// Bytes of one write.
    pub(super) write_bytes: u64,
}

const ONE_WRITE: &str = "Compare file sync methods using one ";
const KIB: u64 = 1024;
/// PostgreSQL's `XLOG_BLCKSZ` in KiB, if nothing states it.
const BLOCK_KIB: u64 = 8;
/// KiB of an operation in the section of sizes.
const SIZES_KIB: u64 = 16;

/// Returns true for the header of the first section.
pub(super) fn is_first_header(line: &str) -> bool {
    line.starts_with(ONE_WRITE)
}

impl Section {
    /// Reads a header.
    pub(super) fn of_header(line: &str) -> Option<Self> {
        let kib = |rest: &str| rest.split_once("kB").and_then(|(kib, _)| kib.parse().ok());
        if let Some(rest) = line.strip_prefix(ONE_WRITE) {
            kib(rest).map(Self::OneWrite)
        } else if let Some(rest) = line.strip_prefix("Compare file sync methods using two ") {
            kib(rest).map(Self::TwoWrites)
        } else if line.starts_with("Compare open_sync with different write sizes:") {
            Some(Self::Sizes)
        } else if line.starts_with("Test if fsync on non-write file descriptor is honored:") {
            Some(Self::OtherDescriptor)
        } else {
            line.strip_prefix("Non-sync'ed ").and_then(kib).map(Self::Unsynced)
        }
    }
}

impl Test {
    /// Returns the test of a label. `block_kib` is the size of a write where the section does not state one.
    pub(super) fn of_label(section: Section, label: &str, block_kib: u64) -> Option<Self> {
        let (method, writes, kib) = match section {
            Section::OneWrite(kib) | Section::TwoWrites(kib) => {
                let method = match label {
                    "open_datasync" => Method::OpenDatasync,
                    "fdatasync" => Method::Fdatasync,
                    "fsync" => Method::Fsync,
                    "open_sync" => Method::OpenSync,
                    _ => return None,
                };
                (method, if matches!(section, Section::TwoWrites(_)) { 2 } else { 1 }, kib)
            }
            Section::Sizes => {
                let (writes, rest) = label.split_once(" * ")?;
                let (kib, rest) = rest.split_once("kB open_sync write")?;
                let (writes, kib): (u64, u64) = (writes.parse().ok()?, kib.trim_start().parse().ok()?);
                if !matches!(rest, "" | "s") || writes.checked_mul(kib) != Some(SIZES_KIB) {
                    return None;
                }
                (Method::OpenSync, writes, kib)
            }
            Section::OtherDescriptor => match label {
                "write, fsync, close" => (Method::WriteFsyncClose, 1, block_kib),
                "write, close, fsync" => (Method::WriteCloseFsync, 1, block_kib),
                _ => return None,
            },
            Section::Unsynced(kib) => match label {
                "write" => (Method::Write, 1, kib),
                _ => return None,
            },
        };
        Some(Self { section, method, writes, write_bytes: kib.checked_mul(KIB)? })
    }

    /// Returns the tests that every command makes on Linux, in order.
    pub(super) fn all() -> Vec<Self> {
        let methods = ["open_datasync", "fdatasync", "fsync", "open_sync"];
        let sizes = [(1, 16), (2, 8), (4, 4), (8, 2), (16, 1)]
            .map(|(writes, kib)| format!("{writes} * {kib}kB open_sync write"));
        let mut labels: Vec<(Section, &str)> = Vec::new();
        labels.extend(methods.map(|label| (Section::OneWrite(BLOCK_KIB), label)));
        labels.extend(methods.map(|label| (Section::TwoWrites(BLOCK_KIB), label)));
        labels.extend(sizes.iter().map(|label| (Section::Sizes, label.as_str())));
        labels.extend(["write, fsync, close", "write, close, fsync"].map(|label| (Section::OtherDescriptor, label)));
        labels.push((Section::Unsynced(BLOCK_KIB), "write"));
        labels.into_iter().filter_map(|(section, label)| Self::of_label(section, label, BLOCK_KIB)).collect()
    }

    /// Returns the id of its phase.
    pub(super) fn id(&self) -> String {
        let section = match self.section {
            Section::OneWrite(_) => "one-write",
            Section::TwoWrites(_) => "two-writes",
            Section::Sizes => return format!("open-sync-{}x{}kb", self.writes, self.write_bytes / KIB),
            Section::OtherDescriptor => "other-descriptor",
            Section::Unsynced(_) => return "unsynced-write".to_owned(),
        };
        format!("{section}-{}", self.method.label().replace(", ", "-").replace('_', "-"))
    }

    /// Returns true if one descriptor serves all of its writes.
    pub(super) fn opens_once(&self) -> bool {
        !matches!(self.method, Method::WriteFsyncClose | Method::WriteCloseFsync)
    }

    /// Returns what its figure describes, and why.
    pub(super) fn subject(&self) -> (Subject, &'static str) {
        match self.method {
            Method::Write => (Subject::CachedFilesystem, "the section is that of writes without a sync"),
            _ => (Subject::DurableWrite, "the test asks how fast writes become durable"),
        }
    }

    /// Returns its phase, without parts.
    pub(super) fn phase(&self, seconds: u64) -> Phase {
        let option = self.method.label();
        let promised: &[Mechanism] = match self.method {
            Method::OpenDatasync => &[Mechanism::DataSyncWrites],
            Method::OpenSync => &[Mechanism::SyncWrites],
            Method::Write => &[],
            _ => &[Mechanism::SyncInsideClock],
        };
        let name = match self.section {
            Section::Sizes => format!("{} * {}kB open_sync write", self.writes, self.write_bytes / KIB),
            Section::OneWrite(kib) => format!("{option}, one {kib}kB write"),
            Section::TwoWrites(kib) => format!("{option}, two {kib}kB writes"),
            Section::OtherDescriptor => option.to_owned(),
            Section::Unsynced(kib) => format!("non-sync'ed {kib}kB writes"),
        };
        Phase {
            // The same few blocks again and again.
            pattern: if self.writes == 1 { Pattern::SingleBlock } else { Pattern::Strided },
            block_bytes: Some(self.writes * self.write_bytes),
            division: Division::into_calls_of((self.writes > 1).then_some(self.write_bytes)),
            clock: "first write to the end of the loop in which the alarm came".to_owned(),
            submission: Submission::Synchronous,
            promises: promised
                .iter()
                .map(|mechanism| Promise { option: option.to_owned(), mechanism: *mechanism })
                .collect(),
            time_limit_ns: seconds.checked_mul(1_000_000_000),
            ..Phase::planned(self.id(), name, Direction::Write)
        }
    }
}

impl Method {
    fn label(self) -> &'static str {
        match self {
            Method::OpenDatasync => "open_datasync",
            Method::Fdatasync => "fdatasync",
            Method::Fsync => "fsync",
            Method::OpenSync => "open_sync",
            Method::WriteFsyncClose => "write, fsync, close",
            Method::WriteCloseFsync => "write, close, fsync",
            Method::Write => "write",
        }
    }
}
