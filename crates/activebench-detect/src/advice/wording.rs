//! The words of advice, for this tool and this run. The tool's adapter knows its options; for a tool without one, or
//! where it has no way of its own, the wording is general.

use activebench_model::advice::{Circumstances, Improvement};
use activebench_model::phase::Phase;

use crate::run::Run;

/// How to make another run do this, for one pass or for the whole run.
pub(crate) fn advise(run: &Run<'_>, phase: Option<&Phase>, wanted: Improvement) -> String {
    let about = circumstances(run, phase, 1.0);
    run.advisor.advise(wanted, &about).unwrap_or_else(|| in_general(wanted, &about))
}

/// How to make a pass last, in multiples of its present length.
pub(crate) fn longer(run: &Run<'_>, phase: &Phase, times: f64) -> String {
    let about = circumstances(run, Some(phase), times);
    let wanted = Improvement::RunLonger;
    run.advisor.advise(wanted, &about).unwrap_or_else(|| in_general(wanted, &about))
}

fn circumstances<'a>(run: &Run<'a>, phase: Option<&'a Phase>, times_longer: f64) -> Circumstances<'a> {
    let twice = run.manifest.host.memory_bytes.map(|memory| memory.saturating_mul(2));
    // Twice the memory helps only where less was asked for.
    let asked = phase.and_then(|phase| phase.requested_bytes);
    Circumstances {
        argv: run.argv(),
        files: &[],
        version: run.parsed.version.as_deref(),
        phases: run.phases,
        phase,
        beyond_memory_bytes: twice.filter(|twice| asked.is_none_or(|asked| asked < *twice)),
        mount_point: phase.and_then(|phase| run.target_of(phase)).map(|target| target.mount_point.as_str()),
        times_longer,
    }
}

fn in_general(wanted: Improvement, about: &Circumstances<'_>) -> String {
    use activebench_model::units::Quantity;
    let said = match wanted {
        Improvement::SyncInsideClock => "include an fsync of the file in the tool's clock, or quote the durable rate",
        Improvement::SurvivePowerLoss => "add a sync inside the clock, if the data must survive a power cut",
        Improvement::ReadFromStorage => match about.beyond_memory_bytes {
            Some(bytes) => {
                return format!(
                    "empty the page cache before the pass, read with O_DIRECT, or read at least {} (twice the memory)",
                    Quantity::bytes(bytes)
                );
            }
            None => "empty the page cache before the pass, or read with O_DIRECT",
        },
        Improvement::OpenDirect => "check why the file was opened without O_DIRECT in this pass",
        Improvement::LargerFile => "use a file of twice the memory or more",
        Improvement::VisitBlocksOnce => {
            "use a generator that visits each block once, or one that covers the whole region"
        }
        Improvement::NewOffsetsEachRun => "give each run its own seed",
        Improvement::ReachDepth => "use an engine that keeps several operations in flight, with O_DIRECT",
        Improvement::RandomPayload => "let the tool write random data that never repeats",
        Improvement::RunLonger => "let the pass move more data or run longer",
        Improvement::CountAllTasks => "quote all tasks' bytes over the time from the first start to the last end",
        Improvement::MapFiles => "drop the option, or map the files",
        Improvement::LeaveOutVerification => "check the data in another run",
        Improvement::LeaveOutPauses => "run without the tool's configured pauses or limits",
        Improvement::AvoidMappings => "use plain reads and writes to verify the figure",
    };
    said.to_owned()
}
