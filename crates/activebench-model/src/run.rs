//! The manifest of a run directory: `run.json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::acceptance::AcceptanceMark;
use crate::ceiling::Ceilings;
use crate::claim::Subject;
use crate::command::CommandLine;
use crate::coverage::Coverage;
use crate::host::Host;
use crate::measurement::Measurement;
use crate::preparation::Preparation;
use crate::watch::Watch;

/// Version of the run directory. A program that reads a higher one refuses it and names the version. Since version 2 the
/// tables of events have words where version 1 has codes; version 1 is read, too.
pub const FORMAT: u32 = 2;

/// `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// Version of activebench that wrote it.
    pub activebench: String,
    /// The requested command.
    pub command: CommandLine,
    /// Arguments that activebench appended, so that the tool also prints figures for machines. Its output
    /// was passed on without these figures.
    #[serde(default)]
    pub added_arguments: Vec<String>,
    /// The tool's own command line, as executed: without the wrappers and scripts that started it and without the
    /// arguments that activebench appended. `None` where no known tool was executed, and before the run is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_command: Option<CommandLine>,
    /// The known tools that the command executed, found once when the run was recorded. `None` in a record of an
    /// activebench that did not store them, and before the run is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed_tools: Option<ExecutedTools>,
    /// The executions of known tools that measured, in order, where the command is none itself and starts them. Empty
    /// for a command that is a tool, and in a record of an activebench that did not take what each of them prints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measurements: Vec<Measurement>,
    /// `verify`'s choices that affect the judgement.
    pub choices: Choices,
    /// How the child ended.
    pub child: ChildEnd,
    /// Start and end of the run, by two clocks.
    pub clocks: Clocks,
    /// The machine.
    pub host: Host,
    /// The maximum performance of the storage and the machine; `None` where it was not looked up (`--no-ceiling`, or an
    /// activebench without ceilings).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
    /// The observation.
    pub coverage: Coverage,
    /// Why the record is not complete: interrupted, disk full ...; empty for a complete one.
    pub incomplete: Vec<String>,
    /// Preparation of the device before the run; `None` where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
    /// The watch, for processes that ran before activebench observed them; `None` for a command that it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    /// Replaced words in this copy of the record; `None` for the record itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
    /// SHA-256 of every other evidence file, by path relative to the run directory.
    pub sha256: BTreeMap<String, String>,
}

impl Manifest {
    /// Returns the tool's own command line; the whole command line where the tool's own is unknown.
    pub fn tool_argv(&self) -> &[String] {
        &self.tool_command.as_ref().unwrap_or(&self.command).argv
    }
}

/// The known tools that a command executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutedTools {
    /// Name of the tool that measured, whose command line is [`Manifest::tool_command`]; `None` where no known tool was
    /// executed.
    pub tool: Option<String>,
    /// Names of all tools that measured, in order.
    pub measuring: Vec<String>,
}

/// The replaced words in a redacted copy of a run. The same word has the same replacement everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// Number of distinct replaced words by kind: `hosts`, `users`, `serials`, `models`, `addresses`,
    /// `paths`, `named` (those that the user named).
    pub replaced: BTreeMap<String, u64>,
    /// Files that the copy lacks, each with the reason.
    pub left_out: BTreeMap<String, String>,
}

/// Choices of the user that affect the judgement; `recheck` applies them again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// `--subject`.
    pub subject: Option<Subject>,
    /// `--device-cache`: the size of the cache inside the device, or of the array behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_cache_bytes: Option<u64>,
    /// `--profile`.
    pub profile: String,
    /// `--thresholds FILE`; `None` when none was given (or from an activebench without it).
    #[serde(default)]
    pub thresholds: Option<ThresholdFile>,
    /// `--purpose`: the purpose of the run, in the user's words.
    #[serde(default)]
    pub purpose: Option<String>,
    /// `--target`: the required figure, as given: `>= 200 MB/s`.
    #[serde(default)]
    pub target: Option<String>,
    /// `--claim`: what numbers of the output mean, as given: `write=(\\d+) MB/s`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// True if no adapter reads the output, as if none knew the tool: for tests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_adapters: bool,
    /// The acceptance file that it is recorded for; `None` for a run without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceMark>,
    /// `--suppress CODE=REASON`.
    pub suppressed: BTreeMap<String, String>,
    /// `--fail-on`.
    pub fail_on: FailOn,
}

/// A file of thresholds, kept completely so that a later judgement uses the same thresholds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThresholdFile {
    /// As the user named it.
    pub file: String,
    /// Its content, TOML.
    pub text: String,
}

/// The severity from which a run counts as a discrepancy for the exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailOn {
    /// A warning suffices.
    Warn,
    /// A failing finding or a claim that does not hold.
    #[default]
    Fail,
    /// Never.
    Never,
}

/// How the child ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// Process id; `None` when it never started.
    pub pid: Option<u32>,
    /// Exit code.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub start_error: Option<String>,
    /// Why activebench stopped it; `None` when it did not.
    pub stopped_by_us: Option<StopReason>,
}

/// Why activebench stopped a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// The user interrupted it.
    #[serde(rename = "interrupted")]
    Interrupted,
    /// activebench was asked to end.
    #[serde(rename = "terminated")]
    Terminated,
    /// activebench's terminal was closed.
    #[serde(rename = "hung up")]
    HungUp,
    /// It ran longer than `--timeout` allows.
    #[serde(rename = "timed out")]
    TimedOut,
    /// It read from the terminal, or set it, and was stopped by the kernel: the terminal stays with activebench.
    #[serde(rename = "stopped at the terminal")]
    AtTerminal,
}

impl StopReason {
    /// Returns the reason as a fragment: `timed out`.
    pub const fn as_str(self) -> &'static str {
        match self {
            StopReason::Interrupted => "interrupted",
            StopReason::Terminated => "terminated",
            StopReason::HungUp => "hung up",
            StopReason::TimedOut => "timed out",
            StopReason::AtTerminal => "stopped at the terminal",
        }
    }

    /// Returns true if the user ended activebench, and not only this benchmark.
    pub const fn ends_us(self) -> bool {
        match self {
            StopReason::Interrupted | StopReason::Terminated | StopReason::HungUp => true,
            StopReason::TimedOut | StopReason::AtTerminal => false,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Start and end by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Release of the child: UTC, seconds since the epoch.
    pub started_unix_s: i64,
    /// `CLOCK_MONOTONIC` at the release of the child.
    pub started_ns: u64,
    /// `CLOCK_MONOTONIC` at the end of the last process of the tree.
    pub ended_ns: u64,
}
