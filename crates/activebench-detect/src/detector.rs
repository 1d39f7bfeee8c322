//! A detector, and everything that it declares. No field has a default: the compiler asks for each of them.

use activebench_model::advice::Improvement;
use activebench_model::claim::{Claim, Subject};
use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::phase::Phase;

use crate::run::{Run, Series};

/// One detector. Its file in `detectors/` contains this, its rule, and its manual page.
#[derive(Debug)]
pub struct Detector {
    /// `AB302`.
    pub code: &'static str,
    /// `sync-outside-clock`, which is also the name of its file.
    pub name: &'static str,
    /// What it found, for people: at most 50 characters, without a final dot.
    pub title: &'static str,
    /// Codes of detectors whose finding on the same figures explains this one. A report then shows it below theirs.
    pub explained_by: &'static [&'static str],
    /// The text of its own source file, whose header is its manual page.
    pub source: &'static str,
    /// The subject of the rule, and the rule.
    pub judge: Judge,
    /// The facts that a finding on a phase rests on, unless the rule names others.
    pub facts: &'static [FactName],
    /// The evidence of its answer.
    pub basis: Basis,
    /// The claims that cannot be confirmed while its question is undecided.
    pub decides: Decides,
    /// The figure that replaces a misleading one; `None` if the detector does not show figures to be misleading.
    pub correction: Option<Correction>,
    /// The change for another run of the same command; `None` if no option of a tool helps.
    pub improvement: Option<Improvement>,
    /// The questions of active benchmarking whose answers cite its findings.
    pub questions: &'static [Question],
}

/// The subject of a detector's rule, with the rule.
#[derive(Clone, Copy, Debug)]
pub enum Judge {
    /// An observed run: at least one finding, one per phase or claim where that is its subject.
    Run(fn(&Run<'_>) -> Vec<Finding>),
    /// The command as a whole, with what it printed itself: once, however many measurements it made.
    Command(fn(&Run<'_>) -> Vec<Finding>),
    /// The command line alone, before anything ran (`verify --plan`). It does not apply to an observed run: observation
    /// has precedence over options.
    CommandLine(fn(&Run<'_>) -> Vec<Finding>),
    /// The runs of a series (`verify --repeat`). It does not apply to a single run.
    Series(fn(&Series<'_>) -> Vec<Finding>),
}

/// The evidence of a detector's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Its facts alone, which were measured.
    Facts,
    /// The command line and the tool's own output.
    Statements,
    /// The account that the observation keeps of itself.
    Coverage,
    /// The figures of the runs of a series.
    Series,
    /// Inferences from circumstances, and facts beside them. No measurement would answer.
    Circumstances(&'static [Inference]),
    /// Both. A rule of this kind passes through `Case::observed_first`: a clean observation silences the inference.
    ObservedFirst(Evidence),
}

/// Two kinds of evidence for one question. The observation answers it. Only if the observation was not made, or does not
/// suffice, the circumstances answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Facts that answer the question.
    pub observed: &'static [FactName],
    /// The inferences that suggest an answer.
    pub inferred: &'static [Inference],
}

/// Circumstances that suggest an answer but do not prove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inference {
    /// A figure of the calls or of their payload.
    Fact(FactName),
    /// How the file system was mounted.
    MountOptions,
    /// How a device was set up, and what it says of its state.
    DeviceSettings,
    /// How the host was set up.
    HostSettings,
    /// How much memory the machine has.
    Memory,
    /// How large the CPU's caches are.
    CpuCache,
}

impl Inference {
    /// In words, for the manual page.
    pub fn describe(self) -> String {
        match self {
            Inference::Fact(name) => format!("`{}`", name.as_str()),
            Inference::MountOptions => "mount options".to_owned(),
            Inference::DeviceSettings => "settings of the device".to_owned(),
            Inference::HostSettings => "settings of the host".to_owned(),
            Inference::Memory => "the size of memory".to_owned(),
            Inference::CpuCache => "the size of the CPU's cache".to_owned(),
        }
    }
}

/// The claims that cannot be confirmed while a detector is undecided: its answer could make the figure false, or make
/// it mean something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// None: the figure is right with either answer.
    Nothing,
    /// Every claim: what was lost could confirm or refute any of them. Its findings weigh more than all others.
    Everything,
    /// Rates and counts. Latencies and CPU shares that cannot be computed from the calls are not checked; this does not
    /// affect the others.
    RatesAndCounts,
    /// Rates and latencies that are taken for what storage did: where the bytes came from or went to, and whether
    /// storage limited the pass.
    RatesOfStorage,
    /// Rates and latencies that are taken for durable writes.
    DurableRates,
}

impl Decides {
    /// Returns `true` if this claim is one of them, taken for this subject.
    pub(crate) fn includes(self, claim: &Claim, subject: Subject) -> bool {
        let rate = !claim.metric.is_count() && !claim.metric.is_cpu();
        match self {
            Decides::Nothing => false,
            Decides::Everything => true,
            Decides::RatesAndCounts => !claim.metric.is_latency() && !claim.metric.is_cpu(),
            Decides::RatesOfStorage => subject.is_storage() && rate,
            Decides::DurableRates => subject == Subject::DurableWrite && rate,
        }
    }
}

/// The replacement of a misleading figure.
#[derive(Clone, Copy, Debug)]
pub struct Correction {
    /// Of several detectors that show a figure to be misleading, the lowest decides. What never happened comes before
    /// what was not timed, that before what limited the pass, and the CPU last. No two detectors share a rank.
    pub rank: u16,
    /// How the honest figure follows from the facts.
    pub honest: Honest,
    /// Returns the quantity that the claim measured instead, in words.
    pub measured_instead: fn(&Run<'_>, &Phase) -> &'static str,
}

/// How the honest figure follows from the facts.
#[derive(Clone, Copy, Debug)]
pub enum Honest {
    /// Bytes over the time until they were durable.
    Durable,
    /// Bytes, or requests, that came from the device over the window.
    FromDevice,
    /// The former for passes that write, the latter for those that read.
    ByDirection,
    /// All tasks' bytes over one wall clock.
    Together,
    /// The I/O in the last fifth of the window.
    LaterPart,
    /// The rate as it was, which holds under a condition that the claim does not state. Storage does at least as much
    /// without it. This does not improve a latency.
    Reached {
        /// The condition, in words.
        condition: &'static str,
        /// Why a latency has no honest figure.
        otherwise: &'static str,
    },
    /// There is none: why.
    None(&'static str),
}

/// Gregg's seven questions of active benchmarking, in his order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Why is the figure not twice as high?
    WhyNotDouble,
    /// Was it tuned?
    WasItTuned,
    /// Did it break limits?
    DidItBreakLimits,
    /// Did it error?
    DidItError,
    /// Does it reproduce?
    DoesItReproduce,
    /// Does it matter?
    DoesItMatter,
    /// Did it even happen?
    DidItEvenHappen,
}

impl Question {
    /// All seven, in order.
    pub const ALL: [Question; 7] = [
        Question::WhyNotDouble,
        Question::WasItTuned,
        Question::DidItBreakLimits,
        Question::DidItError,
        Question::DoesItReproduce,
        Question::DoesItMatter,
        Question::DidItEvenHappen,
    ];

    /// Its key in reports.
    pub const fn key(self) -> &'static str {
        match self {
            Question::WhyNotDouble => "why_not_double",
            Question::WasItTuned => "was_it_tuned",
            Question::DidItBreakLimits => "did_it_break_limits",
            Question::DidItError => "did_it_error",
            Question::DoesItReproduce => "does_it_reproduce",
            Question::DoesItMatter => "does_it_matter",
            Question::DidItEvenHappen => "did_it_even_happen",
        }
    }
}

impl Detector {
    /// Judges a series: at least one finding of a detector that compares runs, none of others.
    pub fn judge_series(&self, series: &Series<'_>) -> Vec<Finding> {
        match self.judge {
            Judge::Series(judge) => judge(series),
            Judge::Run(_) | Judge::Command(_) | Judge::CommandLine(_) => Vec::new(),
        }
    }

    /// Returns `true` if it asks the command line alone.
    pub fn is_of_the_plan(&self) -> bool {
        matches!(self.judge, Judge::CommandLine(_))
    }

    /// Returns `true` if it judges the command as a whole, not each of its measurements.
    pub fn is_of_the_command(&self) -> bool {
        matches!(self.judge, Judge::Command(_))
    }

    /// Returns `true` if it compares the runs of a series.
    pub fn is_of_the_series(&self) -> bool {
        matches!(self.judge, Judge::Series(_))
    }

    /// Returns `true` if a finding is one of this detector.
    pub fn made(&self, finding: &Finding) -> bool {
        finding.code == self.code
    }
}
