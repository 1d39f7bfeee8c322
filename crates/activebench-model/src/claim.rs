//! The claims that a tool printed, and the notes of the parser.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::script_figure::ScriptFigure;
use crate::units::{Quantity, Unit};

/// One number that the tool printed about a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unique in the run: `c1`, `c2`, ... in the order of the output.
    pub id: String,
    /// [`crate::phase::Phase::id`] of the phase that it describes. A claim that needs
    /// several phases (a throughput parent) names the one that covers them all.
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// The number in normalised units.
    pub value: Quantity,
    /// The number as printed, before any conversion.
    pub printed: Printed,
    /// Half a step of the printed number, in the unit of `value`: the largest distance from the computed
    /// value that the tool's own rounding or truncation can cause.
    pub resolution: f64,
    /// Subject of the number.
    pub subject: Subject,
    /// Reason for this subject: the option or the phase that shows it, or `--subject`.
    pub subject_reason: String,
    /// Bytes that the tool reports to have moved for this claim, where it does
    /// (iozone: the kB column, a child's `xfer count`).
    pub claimed_bytes: Option<u64>,
    /// Its line in the output.
    pub source: SourceLine,
}

/// The kind of number of a claim. Throughput and operation rates are judged against
/// the window; the documentation of each other metric names its reference.
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
    /// Sum of the tasks' rates divided by the number of tasks.
    MeanTaskThroughput,
    /// One task's own rate.
    TaskThroughput,
    /// Bytes that the tool counted.
    BytesMoved,
    /// Smallest of the tasks' counted bytes (iozone `Min xfer`).
    MinTaskBytes,
    /// Data operations that the tool counted.
    OperationsDone,
    /// Mean time from the submission of an operation until the tool learns of its completion.
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
    /// Mean latency as above without the submission time (fio's `clat` of asynchronous engines). It is
    /// never longer than the latency with it.
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
    /// CPU time in user mode / the tool's clock; above 1 for several tasks.
    CpuUser,
    /// CPU time in the kernel / the tool's clock.
    CpuSystem,
    /// CPU time in user mode and in the kernel together / the tool's clock.
    CpuTotal,
}

impl Metric {
    /// Every metric.
    pub const ALL: &'static [Metric] = Metric::VARIANTS;

    /// As written in JSON and in acceptance files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the unit of its values.
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

    /// Returns `true` for a count, which does not depend on what limited the pass.
    pub fn is_count(self) -> bool {
        matches!(self, Metric::BytesMoved | Metric::MinTaskBytes | Metric::OperationsDone | Metric::SyncsDone)
    }

    /// Returns `true` for a duration of operations or syncs.
    pub fn is_latency(self) -> bool {
        matches!(self, Metric::LatencyMean | Metric::LatencyP50 | Metric::LatencyP95 | Metric::LatencyP99)
            || matches!(self, Metric::LatencyP999 | Metric::LatencyMax)
            || self.is_completion_latency()
            || self.is_sync_latency()
    }

    /// Returns `true` for the latency of only a part of the operation.
    pub fn is_completion_latency(self) -> bool {
        matches!(self, Metric::CompletionLatencyMean | Metric::CompletionLatencyP50 | Metric::CompletionLatencyP95)
            || matches!(self, Metric::CompletionLatencyP99 | Metric::CompletionLatencyP999)
    }

    /// Returns `true` for a duration of syncs.
    pub fn is_sync_latency(self) -> bool {
        matches!(self, Metric::SyncLatencyMean | Metric::SyncLatencyP50 | Metric::SyncLatencyP95)
            || matches!(self, Metric::SyncLatencyP99 | Metric::SyncLatencyP999)
    }

    /// Returns `true` when a larger value is worse; `None` where it is neither better nor worse.
    pub fn more_is_worse(self) -> Option<bool> {
        match self {
            Metric::TimePerOperation => Some(true),
            metric if metric.is_latency() => Some(true),
            metric if metric.is_count() || metric.is_cpu() => None,
            _ => Some(false),
        }
    }

    /// Returns `true` for a rate, or for the time of one operation. With `of_all_tasks` only for what the tasks of a
    /// pass did together, over one clock or each over its own.
    pub fn is_rate(self, of_all_tasks: bool) -> bool {
        let together = matches!(self, Metric::Throughput | Metric::OperationRate | Metric::TimePerOperation)
            || matches!(self, Metric::SumOfTaskThroughput | Metric::SumOfTaskOperationRate);
        together || !of_all_tasks && !self.is_latency() && !self.is_count() && !self.is_cpu()
    }

    /// Returns `true` for a share of CPU time.
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
    /// The line itself, lossily decoded. It is untrusted text: escape it when printing.
    pub text: String,
}

/// The subject that a figure is taken to describe. The same number can be right for one subject and
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
    /// The CPU (per-character tests, mapped memory).
    Cpu,
    /// Nothing says what it is about: a program that may be no benchmark, or an output without the version of its
    /// tool. It is judged like a figure about the storage. If the storage did not do what it says, it is unverifiable,
    /// not misleading: nobody is accused.
    Unknown,
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
            Subject::Unknown => "unknown",
        }
    }

    /// Returns `true` when a reader can take the figure for the performance of storage.
    pub fn is_storage(self) -> bool {
        matches!(self, Subject::Device | Subject::DurableWrite | Subject::Unknown)
    }
}

/// Something in the output that a parser could not turn into a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its line in the output.
    pub source: SourceLine,
    /// The problem, as a lower-case fragment.
    pub message: String,
}

/// Everything that an adapter read from a tool's output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parsed {
    /// The adapter's name: `iozone`; empty when no adapter knew the tool.
    pub tool: String,
    /// The version that the output states.
    pub version: Option<String>,
    /// Claims in the order of the output.
    pub claims: Vec<Claim>,
    /// Notes in the order of the output.
    pub notes: Vec<Note>,
    /// Errors that the tool itself reported (its own words, with their lines).
    pub errors: Vec<Note>,
    /// True if the output ends like the tool's normal output.
    pub complete: bool,
    /// Step of the tool's own clock, where the tool prints it (iozone `Time Resolution`).
    pub clock_step_ns: Option<u64>,
    /// Figures that the output states more than once.
    #[serde(default)]
    pub restated: Vec<Restated>,
    /// Other places where the output contradicts itself.
    #[serde(default)]
    pub contradictions: Vec<Contradiction>,
    /// Numbers that a script printed itself, beside the output of the tools that it ran; in the order of the output.
    #[serde(default)]
    pub script_figures: Vec<ScriptFigure>,
    /// Numbers of a program that no adapter knows for which no pass was found; figures of a known tool that are not
    /// numbers.
    #[serde(default, skip_serializing_if = "Unmatched::is_empty")]
    pub unmatched: Unmatched,
}

/// Numbers with units that could not be verified, because it is not known which I/O they are about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The numbers, in the order of the output.
    pub numbers: Vec<UnmatchedNumber>,
    /// Earlier ones that are not kept.
    pub left_out: u64,
}

impl Unmatched {
    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.left_out == 0
    }

    /// Returns the number of rates, and of numbers that the user named, among them.
    pub fn rates(&self) -> usize {
        self.numbers.iter().filter(|number| number.is_rate || number.is_stated).count()
    }
}

/// A number that could not be verified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnmatchedNumber {
    /// The number as printed.
    pub printed: Printed,
    /// True for a throughput, an operation rate or a time per operation, and for the time of a claimed amount.
    pub is_rate: bool,
    /// True if the user said what it means (`--claim`).
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_stated: bool,
    /// Why it could not be verified, as a lower-case fragment.
    pub reason: String,
    /// The pass whose figure is nearest; `None` where no pass has such a figure.
    pub nearest: Option<NearestPass>,
    /// Its line in the output.
    pub source: SourceLine,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// The pass whose figure is nearest to a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NearestPass {
    /// Its name: `write of data.bin`.
    pub pass: String,
    /// Its figure.
    pub observed: Quantity,
    /// Printed / observed - 1.
    pub excess: f64,
}

/// A figure that the output states a second time, in other words or in another place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restated {
    /// The claim that states it first.
    pub claim: String,
    /// The number printed here, normalised to the claim's unit.
    pub value: Quantity,
    /// The number as printed here.
    pub printed: Printed,
    /// Half a step of the printed number, in the unit of `value`.
    pub resolution: f64,
    /// The part of the claim's resolution that both numbers share and that cannot make them differ: a step of the clock
    /// from which both were computed. In the unit of `value`.
    #[serde(default)]
    pub shared_resolution: f64,
    /// Known defect of this place in this version of the tool; `None` where none is known.
    #[serde(default)]
    pub known_defect: Option<String>,
    /// Its line in the output.
    pub source: SourceLine,
}

/// Two statements of the output that cannot both be true, and that are not two numbers for one
/// claim (see [`Restated`]): a header that names fewer columns than there are values, a sum that is not that of its
/// parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// Line of the second statement.
    pub source: SourceLine,
    /// Both statements, as a lower-case fragment.
    pub message: String,
    /// The claims that a reader misunderstands because of it.
    pub claims: Vec<String>,
    /// For two numbers: their difference beyond what the printed digits allow, as a share of the one that the claims
    /// give. `None` for other statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<f64>,
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
