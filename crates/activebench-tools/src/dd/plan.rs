//! What a command line of dd copies.

use activebench_model::phase::{Direction, Mechanism, Pattern, Phase, Promise, Submission};

use super::options::{Options, Side};
use crate::adapter::Plan;

/// The one phase of a dd.
pub(super) const PHASE: &str = "copy";

/// Returns the copy, if it can be one of storage: also where no figure is printed, because it writes all the same.
pub(super) fn plan(options: &Options) -> Plan {
    let mut notes = Vec::new();
    let on_storage = options.input() != Side::NoStorage || options.output() != Side::NoStorage;
    if !on_storage {
        notes.push("neither the input nor the output is storage".to_owned());
    }
    if options.is_silent() {
        notes.push("with this status= dd prints no figure".to_owned());
    }
    let phases = match on_storage {
        true => vec![phase(options, direction(options))],
        false => Vec::new(),
    };
    Plan { phases, notes }
}

/// Returns the direction whose data the figure is about, by the operands alone. Of a copy from storage to storage it is
/// the writing: dd counts what it wrote.
pub(super) fn direction(options: &Options) -> Direction {
    match (options.input(), options.output()) {
        (_, Side::Named) => Direction::Write,
        (Side::Named, _) | (_, Side::NoStorage) => Direction::Read,
        (Side::NoStorage | Side::Standard, Side::Standard) => Direction::Write,
    }
}

/// Returns the copy in a direction, without observations.
pub(super) fn phase(options: &Options, direction: Direction) -> Phase {
    let reads = direction == Direction::Read;
    let block = match reads {
        true => options.read_block().filter(|_| options.reads_whole_blocks()),
        false => options.write_block(),
    };
    Phase {
        pattern: Pattern::Sequential,
        block_bytes: block,
        requested_bytes: options.requested_bytes().filter(|_| !reads),
        clock: "after both opens to after both closes".to_owned(),
        submission: Submission::Synchronous,
        promises: promises(options, reads),
        ..Phase::planned(PHASE, if reads { "read" } else { "write" }, direction)
    }
}

fn promises(options: &Options, reads: bool) -> Vec<Promise> {
    let promise = |option: &str, mechanism| Promise { option: option.to_owned(), mechanism };
    if reads {
        return options.has_iflag("direct").then(|| promise("iflag=direct", Mechanism::DirectIo)).into_iter().collect();
    }
    [
        (options.has_oflag("direct"), "oflag=direct", Mechanism::DirectIo),
        (options.has_oflag("sync"), "oflag=sync", Mechanism::SyncWrites),
        (options.has_oflag("dsync"), "oflag=dsync", Mechanism::DataSyncWrites),
        (options.has_conv("fsync"), "conv=fsync", Mechanism::SyncInsideClock),
        (options.has_conv("fdatasync"), "conv=fdatasync", Mechanism::SyncInsideClock),
    ]
    .into_iter()
    .filter(|(given, _, _)| *given)
    .map(|(_, option, mechanism)| promise(option, mechanism))
    .collect()
}
