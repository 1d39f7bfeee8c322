//! The manifest of a run directory: `run.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::acceptance::AcceptanceMark;
use crate::ceiling::Ceilings;
use crate::claim::Subject;
use crate::command::CommandLine;
use crate::coverage::Coverage;
use crate::host::Host;
use crate::preparation::Preparation;

/// Version of the run directory. A reader refuses a higher one and names the version.
pub const FORMAT: u32 = 1;

/// `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// See [`FORMAT`].
    pub format: u32,
    /// Version of activebench that wrote it.
    pub activebench: String,
    /// What was asked for.
    pub command: CommandLine,
    /// What activebench put behind it, so that the tool prints figures for machines too; its output
    /// was passed on without them.
    #[serde(default)]
    pub added_arguments: Vec<String>,
    /// The tool's own command line, without the wrappers and scripts that started it and without what activebench put behind
    /// it: from what was executed. `None` where no known tool was, and before the run is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_command: Option<CommandLine>,
    /// `verify`'s choices that bear on the judgement.
    pub choices: Choices,
    /// How the child ended.
    pub child: ChildEnd,
    /// When, by which clocks.
    pub clocks: Clocks,
    /// The machine.
    pub host: Host,
    /// What the storage and the machine give at most; `None` where nobody looked (`--no-ceiling`, or an activebench
    /// without it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
    /// The observation.
    pub coverage: Coverage,
    /// Why the record is not whole: interrupted, disk full ...; empty for a whole one.
    pub incomplete: Vec<String>,
    /// What was done to the device before the run; `None` where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
    /// What was replaced in this copy of the record; `None` for the record itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
    /// SHA-256 of every other evidence file, by path relative to the run directory.
    pub sha256: BTreeMap<String, String>,
}

impl Manifest {
    /// The tool's own words; those of the whole command where the tool's own are not known.
    pub fn tool_argv(&self) -> &[String] {
        &self.tool_command.as_ref().unwrap_or(&self.command).argv
    }
}

/// What was replaced in a redacted copy of a run, the same word by the same replacement everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// How many distinct words of each kind were replaced: `hosts`, `users`, `serials`, `models`, `addresses`,
    /// `paths`, `named` (those that the user named).
    pub replaced: BTreeMap<String, u64>,
    /// Files that the copy lacks, each with the reason.
    pub left_out: BTreeMap<String, String>,
}

/// Choices of the user that bear on the judgement; `recheck` applies them again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// `--subject`.
    pub subject: Option<Subject>,
    /// `--device-cache`: the size of the cache inside of the device, or of the array behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_cache_bytes: Option<u64>,
    /// `--profile`.
    pub profile: String,
    /// `--thresholds FILE`; `None` when none was given (or by an activebench without it).
    #[serde(default)]
    pub thresholds: Option<ThresholdFile>,
    /// `--purpose`: what the run is for, in the user's words.
    #[serde(default)]
    pub purpose: Option<String>,
    /// `--target`: the figure that it is for, as given: `>= 200 MB/s`.
    #[serde(default)]
    pub target: Option<String>,
    /// The acceptance file that it is recorded for; `None` for a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceMark>,
    /// `--suppress CODE=REASON`.
    pub suppressed: BTreeMap<String, String>,
    /// `--fail-on`.
    pub fail_on: FailOn,
}

/// A file of thresholds, kept whole so that a run is judged again as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThresholdFile {
    /// As the user named it.
    pub file: String,
    /// What was in it: TOML.
    pub text: String,
}

/// From which severity on a run counts as a discrepancy for the exit code.
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
    /// We stopped it: `interrupted`, `timed out`.
    pub stopped_by_us: Option<String>,
}

/// Start and end by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// UTC, seconds since the epoch, at the release of the child.
    pub started_unix_s: i64,
    /// `CLOCK_MONOTONIC` at the release of the child.
    pub started_ns: u64,
    /// `CLOCK_MONOTONIC` when the last process of the tree had ended.
    pub ended_ns: u64,
}
