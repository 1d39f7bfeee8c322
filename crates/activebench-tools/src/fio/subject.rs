//! The subject that a figure describes, derived from the options.

use activebench_model::claim::Subject;

use super::engine::{self, Kind};
use super::entries::Paired;
use super::options::JobOptions;
use super::report::Way;

/// Returns the subject of a direction's figures, with the reason as a short sentence.
pub(super) fn subject(paired: &Paired, way: Way, chosen: Option<Subject>) -> (Subject, String) {
    if let Some(subject) = chosen {
        return (subject, "--subject".to_owned());
    }
    let taken = || match way {
        Way::Read => "a read figure without further words is taken for the storage",
        Way::Write => "a write figure without further words is taken for the storage",
        Way::Trim => "a trim figure without further words is taken for the storage",
        Way::Mixed => "a figure of reads and writes without further words is taken for the storage",
    };
    let Some(job) = paired.job() else { return (Subject::Device, taken().to_owned()) };
    let (subject, reason) = match engine::kind(job.engine()) {
        Kind::Names(_) => (Subject::Metadata, "the engine creates, looks up or deletes files"),
        Kind::Processor => (Subject::Cpu, "ioengine=cpuio computes"),
        _ if way == Way::Write && paired.of_each(|job| syncs(job).is_some()) => {
            return (
                Subject::DurableWrite,
                format!("{} makes the writes durable inside the clock", syncs(job).unwrap_or("")),
            );
        }
        _ if job.has("direct") => (Subject::Device, "direct=1 asks for direct I/O"),
        _ => (Subject::Device, taken()),
    };
    (subject, reason.to_owned())
}

/// Returns the option that makes writes durable before the clock stops, if it is known to be given.
pub(super) fn syncs(job: &JobOptions) -> Option<&'static str> {
    ["sync", "end_fsync", "fsync", "fdatasync", "fsync_on_close"].into_iter().find(|name| job.has(name))
}
