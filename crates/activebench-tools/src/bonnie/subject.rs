//! The subject that a figure describes, derived from the test, the version and the options.

use activebench_model::claim::Subject;

use super::catalogue::Kind;
use super::csv::Generation;
use super::options::Options;

/// Returns the subject of a test's rate and latency, with the reason as a short sentence.
pub(super) fn subject(
    kind: Kind,
    generation: Option<Generation>,
    options: &Options,
    chosen: Option<Subject>,
) -> (Subject, String) {
    if let Some(subject) = chosen {
        return (subject, "--subject".to_owned());
    }
    let (subject, reason) = match kind {
        Kind::PutChar | Kind::GetChar => (Subject::Cpu, "a byte a call measures the calls, not the storage"),
        Kind::PutBlock | Kind::Rewrite => match generation {
            Some(generation) => of_write(generation, options),
            None => (Subject::Unknown, "the version is not stated, which decides whether an fsync is inside the clock"),
        },
        Kind::GetBlock | Kind::Seeks => {
            (Subject::Device, "a read figure without further words is taken for the storage")
        }
        _ => (Subject::Metadata, "files per second"),
    };
    (subject, reason.to_owned())
}

/// Returns the subject of `%CP` for any test.
pub(super) fn of_processor_share() -> (Subject, String) {
    (Subject::Cpu, "%CP is CPU time".to_owned())
}

fn of_write(generation: Generation, options: &Options) -> (Subject, &'static str) {
    match generation {
        Generation::Modern => (Subject::DurableWrite, "bonnie++ since 1.93 puts an fsync inside the clock"),
        Generation::Old if options.sync_each => (Subject::DurableWrite, "-b puts the fsync inside the clock"),
        Generation::Old => (Subject::Device, "a write figure without further words is taken for the storage"),
    }
}
