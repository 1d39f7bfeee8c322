//! The tests that the command line requests, in order.
//!
//! The printed rows determine which tests were really run and with which sizes; the options
//! determine what was requested if nothing was printed.

use activebench_model::phase::{Direction, Mechanism, NamePass, Phase, Promise, Submission};

use super::catalogue::{Kind, phase_id};
use super::csv::{Generation, Row};
use super::options::Options;
use super::output::{DEFAULT_CHUNK, default_seekers};
use super::table::Table;

/// MiB of the per-character tests since 1.93.
const DEFAULT_CHAR_MIB: u64 = 3;
const DEFAULT_SEEKS: u64 = 8192;
/// Number of files in units of 1024.
const DEFAULT_FILES: u64 = 16;
const MIB: u64 = 1 << 20;

/// A requested test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Phase id.
    pub(super) id: String,
    pub(super) kind: Kind,
    /// Number of the run, from 1.
    pub(super) run: usize,
    pub(super) generation: Generation,
    /// Bytes that the figure counts; `None` if unknown, and for tests of files.
    pub(super) bytes: Option<u64>,
    /// Bytes of the region from which it draws its offsets, if these differ from the bytes that it moves.
    pub(super) region_bytes: Option<u64>,
    /// Bytes per call; `None` if the C library chooses.
    pub(super) block_bytes: Option<u64>,
    pub(super) tasks: u32,
    /// Number of files of a test of files.
    pub(super) files: Option<u64>,
}

/// Returns the tests that print a figure, in the order in which they run. `rows` and `table` are the printed
/// ones, if any.
pub(super) fn passes(options: &Options, rows: &[Row], table: &Table) -> Vec<Planned> {
    let runs = options.runs.map_or(1, |runs| runs as usize).max(rows.len());
    (1..=runs).flat_map(|run| passes_of_run(run, options, rows.get(run - 1), table)).collect()
}

fn passes_of_run(run: usize, options: &Options, row: Option<&Row>, table: &Table) -> Vec<Planned> {
    let of_table = || table.version.as_deref().map(Generation::of_version);
    // A command alone does not determine its version: by far the most are modern.
    let generation = row.map(|row| row.generation).or_else(of_table).unwrap_or(Generation::Modern);
    let tabled = row.is_none() && !table.stated.is_empty();
    let ran = |kind: Kind| match row {
        Some(row) => row.ran(kind),
        None if tabled => table.stated.iter().any(|stated| stated.kind == kind),
        None if !kind.is_data() => options.has_file_tests(),
        None if kind.is_per_character() => options.has_character_tests(),
        None => options.has_data_tests(),
    };
    let file_bytes = row
        .and_then(|row| row.file_bytes)
        .or(table.file_bytes)
        .or_else(|| options.size_mib?.checked_mul(MIB))
        .filter(|bytes| *bytes > 0);
    let chunk = row
        .and_then(|row| row.chunk_bytes)
        .or(table.chunk_bytes)
        .or(options.chunk_bytes)
        .filter(|chunk| *chunk > 0)
        .unwrap_or(DEFAULT_CHUNK);
    let char_bytes = match generation {
        Generation::Old => file_bytes,
        Generation::Modern => {
            let asked = options.char_mib.or(options.known.then_some(DEFAULT_CHAR_MIB));
            let asked = asked.and_then(|mebibytes| mebibytes.checked_mul(MIB));
            file_bytes.zip(asked).map(|(whole, asked)| asked.min(whole))
        }
    };
    let seeks = row.and_then(|row| row.seeks).or(options.seeks).unwrap_or(DEFAULT_SEEKS);
    let seekers = row.and_then(|row| row.seekers).or(options.seekers).filter(|seekers| *seekers > 0);
    let files = row.and_then(|row| row.files).or(table.files).or(options.files).unwrap_or(DEFAULT_FILES);
    let plan = |kind: Kind| Planned {
        id: phase_id(kind, run),
        kind,
        run,
        generation,
        bytes: match kind {
            Kind::PutChar | Kind::GetChar => char_bytes,
            Kind::Seeks => seeks.checked_mul(chunk),
            kind if kind.is_data() => file_bytes,
            _ => None,
        },
        region_bytes: (kind == Kind::Seeks).then_some(file_bytes).flatten(),
        block_bytes: match kind {
            kind if kind.is_per_character() => (generation == Generation::Modern).then_some(1),
            kind if kind.is_data() => Some(chunk),
            _ => None,
        },
        tasks: if kind == Kind::Seeks { seekers.unwrap_or(default_seekers(generation)) } else { 1 },
        files: if kind.is_data() { None } else { files.checked_mul(1024) },
    };
    Kind::ALL.into_iter().filter(|kind| ran(*kind)).map(plan).collect()
}

/// Returns the phase of a test, without observations. `version` is that of the program, if known.
pub(super) fn phase(planned: &Planned, options: &Options, version: Option<&str>) -> Phase {
    let kind = planned.kind;
    Phase {
        pattern: kind.pattern(),
        block_bytes: planned.block_bytes,
        requested_bytes: planned.bytes,
        region_bytes: planned.region_bytes,
        requested_tasks: planned.tasks,
        clock: clock(planned, options),
        submission: if kind.is_data() { Submission::Synchronous } else { Submission::Unknown },
        promises: promises(planned, options, version),
        names: kind.name_operation().map(|operation| NamePass {
            operation,
            requested: planned.files,
            spans: Vec::new(),
        }),
        ..Phase::planned(&planned.id, kind.name(), kind.direction())
    }
}

/// Returns what the command line alone leaves unknown.
pub(super) fn unknown_beforehand(options: &Options) -> Vec<String> {
    let mut notes = Vec::new();
    if options.size_mib.is_none() {
        notes.push("without -s the file has twice the size of the memory that bonnie++ sees".to_owned());
    }
    if options.has_data_tests() && !options.sync_each {
        notes.push("since 1.93 an fsync is inside the clock; 1.03 makes none without -b".to_owned());
    }
    notes
}

fn promises(planned: &Planned, options: &Options, version: Option<&str>) -> Vec<Promise> {
    let mut promises = Vec::new();
    if !planned.kind.is_data() {
        return promises;
    }
    let mut promise = |option: &str, mechanism| promises.push(Promise { option: option.to_owned(), mechanism });
    if options.direct {
        promise("-D", Mechanism::DirectIo);
    }
    if planned.kind.direction() == Direction::Write {
        if options.sync_each {
            promise("-b", Mechanism::SyncInsideClock);
        } else if let Some(version) = version.filter(|_| planned.generation == Generation::Modern) {
            promise(&format!("bonnie++ {version}"), Mechanism::SyncInsideClock);
        }
    }
    promises
}

/// Describes the interval that the clock covers.
fn clock(planned: &Planned, options: &Options) -> String {
    let modern = planned.generation == Generation::Modern;
    let synced = modern || options.sync_each;
    let close = if synced { "the close, with an fsync before it" } else { "the close, without an fsync" };
    let settled = if modern { "the end of a sync of every file system" } else { "the last" };
    match planned.kind {
        Kind::PutChar | Kind::PutBlock => format!("first write to {close}"),
        Kind::Rewrite => format!("first read to {close}; each chunk is read, then written, and counted once"),
        Kind::GetChar | Kind::GetBlock => format!("first read to {close}"),
        Kind::Seeks => {
            let how = if modern { "threads" } else { "processes" };
            format!("first lseek of the first to {close} of the last of {} {how}", planned.tasks)
        }
        Kind::SeqCreate | Kind::RanCreate => format!("first file created to {settled}"),
        Kind::SeqStat | Kind::RanStat => "first file looked up to the last".to_owned(),
        Kind::SeqDelete | Kind::RanDelete => format!("first file deleted to {settled}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(line: &str) -> String {
        let options = Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let planned = passes(&options, &[], &Table::default());
        planned.iter().map(|pass| pass.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_plan_has_the_tests_in_their_order() {
        assert_eq!(ids("bonnie++ -s 64 -n 0"), "putc put-block rewrite getc get-block seeks");
        assert_eq!(ids("bonnie++ -s 64 -n 0 -f"), "put-block rewrite get-block seeks");
        assert_eq!(ids("bonnie++ -s 0"), "seq-create seq-stat seq-del ran-create ran-stat ran-del");
        assert_eq!(
            ids("bonnie++ -f -n 0 -x 2"),
            "put-block rewrite get-block seeks put-block-2 rewrite-2 get-block-2 seeks-2"
        );
        assert_eq!(ids("bonnie++ -s 0 -n 0"), "");
    }

    #[test]
    fn sizes_come_from_the_command_line() {
        let options = Options::parse(&["bonnie++", "-s", "2:64k:100:3", "-n", "4", "-D", "-b"].map(str::to_owned));
        let planned = passes(&options, &[], &Table::default());
        let of = |kind: Kind| planned.iter().find(|pass| pass.kind == kind).expect("it is planned");
        assert_eq!((of(Kind::PutChar).bytes, of(Kind::PutChar).block_bytes), (Some(2 * MIB), Some(1)));
        assert_eq!((of(Kind::GetBlock).bytes, of(Kind::GetBlock).block_bytes), (Some(2 * MIB), Some(65536)));
        assert_eq!((of(Kind::Seeks).bytes, of(Kind::Seeks).tasks), (Some(100 * 65536), 3));
        assert_eq!(of(Kind::SeqCreate).files, Some(4096));
        let rewrite = phase(of(Kind::Rewrite), &options, None);
        let promised: Vec<_> = rewrite.promises.iter().map(|promise| promise.option.as_str()).collect();
        assert_eq!(promised, ["-D", "-b"]);
        assert!(phase(of(Kind::SeqStat), &options, None).promises.is_empty());
    }
}
