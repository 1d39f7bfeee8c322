//! The subject that a figure describes, derived from the options.

use activebench_model::claim::Subject;
use activebench_model::phase::Direction;

use super::catalogue::Kind;
use super::options::Options;

/// Returns the subject of a pass's figures, with the reason as a short sentence.
pub(super) fn subject(kind: Kind, options: &Options, chosen: Option<Subject>) -> (Subject, String) {
    if let Some(subject) = chosen {
        return (subject, "--subject".to_owned());
    }
    let (subject, reason) = match kind.direction() {
        Direction::Write => of_write(kind, options),
        _ => of_read(options),
    };
    (subject, reason.to_owned())
}

fn of_write(kind: Kind, options: &Options) -> (Subject, &'static str) {
    let mapped = options.mapping.active() && !kind.is_stdio();
    // fopen takes no flags: -o, -+D and -+r do not affect the stdio tests.
    let flags_apply = !kind.is_stdio() && !mapped;
    if options.include_flush {
        (Subject::DurableWrite, "-e puts the fsync inside the clock")
    } else if flags_apply && options.sync_writes {
        (Subject::DurableWrite, "-o makes every write synchronous")
    } else if flags_apply && options.read_sync {
        (Subject::DurableWrite, "-+r opens the file with O_SYNC")
    } else if flags_apply && options.data_sync_writes {
        (Subject::DurableWrite, "-+D opens the file with O_DSYNC")
    } else if mapped && options.mapping.msync_sync {
        (Subject::DurableWrite, "-G syncs every record of the mapped file")
    } else {
        (Subject::Device, "a write figure without further words is taken for the storage")
    }
}

fn of_read(options: &Options) -> (Subject, &'static str) {
    if options.direct {
        (Subject::Device, "-I asks for direct I/O")
    } else {
        (Subject::Device, "a read figure without further words is taken for the storage")
    }
}
