//! What a tool printed: claims, and the notes of the parser.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::units::{Quantity, Unit};

/// One number that the tool printed about a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unique in the run: `c1`, `c2`, ... in the order of the output.
    pub id: String,
    /// [`crate::phase::Phase::id`] of the phase that it speaks of. Claims that need
    /// several phases (a throughput parent) name the one that covers them all.
    pub phase: String,
    /// What kind of number it is.
    pub metric: Metric,
    /// The number in normalised units.
    pub value: Quantity,
    /// The number as printed, before any conversion.
    pub printed: Printed,
    /// Half a step of the printed number, in the unit of `value`: how far the tool's
    /// own rounding or truncation may put it from what the tool computed.
    pub resolution: f64,
    /// What the number is taken to describe.
    pub subject: Subject,
    /// Why this subject: the option or the phase that says so, or `--subject`.
    pub subject_reason: String,
    /// The bytes that the tool says it moved for this claim, where it says so
    /// (iozone: the kB column, a child's `xfer count`).
    pub claimed_bytes: Option<u64>,
    /// Where it stands in the output.
    pub source: SourceLine,
}

/// What kind of number a claim is. Throughput and operation rates are judged against
/// the window; the others name what they are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray, IntoStaticStr, EnumString)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Metric {
    /// Bytes per second over the phase's window.
    Throughput,
    /// Operations per second over the window.
    OperationRate,
    /// Mean time of one operation: window / operations.
    TimePerOperation,
    /// Sum of each task's own rate over its own window (iozone `Children see`).
    SumOfTaskThroughput,
    /// As above, in operations per second.
    SumOfTaskOperationRate,
    /// Counted bytes over the parent's wall time (iozone `Parent sees`).
    ParentThroughput,
    /// As above, in operations per second.
    ParentOperationRate,
    /// Smallest of the tasks' own rates.
    MinTaskThroughput,
    /// Largest of the tasks' own rates.
    MaxTaskThroughput,
    /// Sum of the tasks' rates over their number.
    MeanTaskThroughput,
    /// One task's own rate.
    TaskThroughput,
    /// Bytes that the tool counted.
    BytesMoved,
    /// Smallest of the tasks' counted bytes (iozone `Min xfer`).
    MinTaskBytes,
    /// Data operations that the tool counted.
    OperationsDone,
    /// Mean time from handing an operation to the kernel to learning of its end.
    LatencyMean,
    /// As above: half of the operations took no longer.
    LatencyP50,
    /// As above, 95 %.
    LatencyP95,
    /// As above, 99 %.
    LatencyP99,
    /// As above, 99.9 %.
    LatencyP999,
    /// The longest operation.
    LatencyMax,
    /// The mean of the same without the time in which the operation was handed over (fio's `clat`
    /// of asynchronous engines): never longer than that with it.
    CompletionLatencyMean,
    /// As above: half of the operations took no longer.
    CompletionLatencyP50,
    /// As above, 95 %.
    CompletionLatencyP95,
    /// As above, 99 %.
    CompletionLatencyP99,
    /// As above, 99.9 %.
    CompletionLatencyP999,
    /// Syncs that the tool counted.
    SyncsDone,
    /// Mean time of one sync.
    SyncLatencyMean,
    /// Half of the syncs took no longer.
    SyncLatencyP50,
    /// As above, 95 %.
    SyncLatencyP95,
    /// As above, 99 %.
    SyncLatencyP99,
    /// As above, 99.9 %.
    SyncLatencyP999,
    /// Processor time in user mode over the tool's clock; above 1 for several tasks.
    CpuUser,
    /// Processor time in the kernel over the tool's clock.
    CpuSystem,
    /// Both together.
    CpuTotal,
}

impl Metric {
    /// Every one.
    pub const ALL: &'static [Metric] = Metric::VARIANTS;

    /// As written in JSON and in acceptance files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Throughput
            | Metric::SumOfTaskThroughput
            | Metric::ParentThroughput
            | Metric::MinTaskThroughput
            | Metric::MaxTaskThroughput
            | Metric::MeanTaskThroughput
            | Metric::TaskThroughput => Unit::BytesPerSec,
            Metric::OperationRate | Metric::SumOfTaskOperationRate | Metric::ParentOperationRate => Unit::OpsPerSec,
            Metric::BytesMoved | Metric::MinTaskBytes => Unit::Bytes,
            Metric::OperationsDone | Metric::SyncsDone => Unit::Count,
            Metric::TimePerOperation
            | Metric::LatencyMean
            | Metric::LatencyP50
            | Metric::LatencyP95
            | Metric::LatencyP99
            | Metric::LatencyP999
            | Metric::LatencyMax
            | Metric::CompletionLatencyMean
            | Metric::CompletionLatencyP50
            | Metric::CompletionLatencyP95
            | Metric::CompletionLatencyP99
            | Metric::CompletionLatencyP999
            | Metric::SyncLatencyMean
            | Metric::SyncLatencyP50
            | Metric::SyncLatencyP95
            | Metric::SyncLatencyP99
            | Metric::SyncLatencyP999 => Unit::Ns,
            Metric::CpuUser | Metric::CpuSystem | Metric::CpuTotal => Unit::Ratio,
        }
    }

    /// Whether it is a count, which whatever limited the pass does not change.
    pub fn is_count(self) -> bool {
        matches!(self, Metric::BytesMoved | Metric::MinTaskBytes | Metric::OperationsDone | Metric::SyncsDone)
    }

    /// Whether it says how long operations or syncs took.
    pub fn is_latency(self) -> bool {
        matches!(self, Metric::LatencyMean | Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99)
            || matches!(self, Metric::LatencyP999 | Metric::LatencyMax)
            || self.is_completion_latency()
            || self.is_sync_latency()
    }

    /// Whether it is one of a part of the operation only.
    pub fn is_completion_latency(self) -> bool {
        matches!(self, Metric::CompletionLatencyMean | Metric::CompletionLatencyP50 | Metric::CompletionLatencyP95)
            || matches!(self, Metric::CompletionLatencyP99 | Metric::CompletionLatencyP999)
    }

    /// Whether it says how long syncs took.
    pub fn is_sync_latency(self) -> bool {
        matches!(self, Metric::SyncLatencyMean | Metric::SyncLatencyP50 | Metric::SyncLatencyP95)
            || matches!(self, Metric::SyncLatencyP99 | Metric::SyncLatencyP999)
    }

    /// Whether more of it is worse; `None` where more is neither.
    pub fn more_is_worse(self) -> Option<bool> {
        match self {
            Metric::TimePerOperation => Some(true),
            metric if metric.is_latency() => Some(true),
            metric if metric.is_count() || metric.is_cpu() => None,
            _ => Some(false),
        }
    }

    /// Whether it is a rate, or the time of one operation; with `of_all_tasks` only what the tasks of a pass did
    /// together over one clock or each over its own.
    pub fn is_rate(self, of_all_tasks: bool) -> bool {
        let together = matches!(self, Metric::Throughput | Metric::OperationRate | Metric::TimePerOperation)
            || matches!(self, Metric::SumOfTaskThroughput | Metric::SumOfTaskOperationRate);
        together || !of_all_tasks && !self.is_latency() && !self.is_count() && !self.is_cpu()
    }

    /// Whether it is a share of processor time.
    pub fn is_cpu(self) -> bool {
        matches!(self, Metric::CpuUser | Metric::CpuSystem | Metric::CpuTotal)
    }
}

/// A printed number and its unit, verbatim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// The number as the tool wrote it.
    pub text: String,
    /// The unit as the tool wrote it, for example `kBytes/sec`.
    pub unit: String,
}

/// A line of the tool's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// `stdout`, `stderr` or the name of a file that the tool wrote.
    pub stream: String,
    /// Line number from 1.
    pub line: u64,
    /// The line itself, lossily decoded; hostile text, escape it when printing.
    pub text: String,
}

/// What a figure is taken to describe; the same number can be right for one and
/// wrong for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The storage itself. The default for a figure without further words.
    Device,
    /// The file system with its cache.
    CachedFilesystem,
    /// Data that survives a power cut.
    DurableWrite,
    /// Files per second.
    Metadata,
    /// The processor (per-character tests, mapped memory).
    Cpu,
}

impl Subject {
    /// As written in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Subject::Device => "device",
            Subject::CachedFilesystem => "cached-filesystem",
            Subject::DurableWrite => "durable-write",
            Subject::Metadata => "metadata",
            Subject::Cpu => "cpu",
        }
    }

    /// Whether the reader takes the figure for what storage did.
    pub fn is_storage(self) -> bool {
        matches!(self, Subject::Device | Subject::DurableWrite)
    }
}

/// Something that a parser met and could not turn into a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Where.
    pub source: SourceLine,
    /// What: a lower-case fragment.
    pub message: String,
}

/// All that an adapter read from a tool's output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// The adapter's name: `iozone`; empty when no adapter knew the tool.
    pub tool: String,
    /// The version that the output states.
    pub version: Option<String>,
    /// In the order of the output.
    pub claims: Vec<Claim>,
    /// In the order of the output.
    pub notes: Vec<Note>,
    /// Errors that the tool itself reported (its own words, with their lines).
    pub errors: Vec<Note>,
    /// Whether the output ended as the tool's normal output ends.
    pub complete: bool,
    /// Step of the tool's own clock, where it prints one (iozone `Time Resolution`).
    pub clock_step_ns: Option<u64>,
    /// Figures that the output states more than once.
    #[serde(default)]
    pub restated: Vec<Restated>,
    /// Where the output contradicts itself otherwise.
    #[serde(default)]
    pub contradictions: Vec<Contradiction>,
}

/// A figure that the output states a second time, in other words or another place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restated {
    /// The claim that states it first.
    pub claim: String,
    /// The number as it stands here, normalised to the claim's unit.
    pub value: Quantity,
    /// The number as printed here.
    pub printed: Printed,
    /// Half a step of it, in the unit of `value`.
    pub resolution: f64,
    /// The part of the claim's resolution that both have in common and that tells them apart no more: a step of the clock
    /// over which both were computed. In the unit of `value`.
    #[serde(default)]
    pub shared_resolution: f64,
    /// What is known to be wrong with this place in this version of the tool; `None` where nothing is.
    #[serde(default)]
    pub known_defect: Option<String>,
    /// Where.
    pub source: SourceLine,
}

/// Two statements of the output that cannot both hold, and that are not two numbers for one
/// figure (see [`Restated`]): a header that names fewer columns than there are values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// Where the second of them stands.
    pub source: SourceLine,
    /// Both: a lower-case fragment.
    pub message: String,
    /// The claims that a reader takes to be something else because of it.
    pub claims: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_s_name_is_the_one_in_json() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).expect("JSON"), metric.as_str());
            assert_eq!(metric.as_str().parse(), Ok(*metric));
        }
    }

    #[test]
    fn a_metric_has_the_unit_of_its_kind() {
        for (metric, unit) in [
            (Metric::Throughput, Unit::BytesPerSec),
            (Metric::SumOfTaskThroughput, Unit::BytesPerSec),
            (Metric::OperationRate, Unit::OpsPerSec),
            (Metric::LatencyP99, Unit::Ns),
            (Metric::SyncLatencyMean, Unit::Ns),
            (Metric::CpuTotal, Unit::Ratio),
            (Metric::BytesMoved, Unit::Bytes),
            (Metric::SyncsDone, Unit::Count),
        ] {
            assert_eq!(metric.unit(), unit, "{metric:?}");
        }
    }
}
