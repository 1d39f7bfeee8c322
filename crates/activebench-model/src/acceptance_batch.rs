//! The acceptance of several units under one agreement: a row a unit, a column a limit.

use serde::{Deserialize, Serialize};

use crate::acceptance::{AcceptanceOutcome, AgreedFile, AgreedLimit, DeviceIdentity, JudgedLimit, Parties};
use crate::units::Quantity;

/// The judged acceptance of several units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptanceBatch {
    /// Version of activebench that judged.
    pub activebench: String,
    /// The file that was agreed on.
    pub file: AgreedFile,
    /// Who agreed.
    pub parties: Parties,
    /// The rule for figures near a limit, in one or two sentences.
    pub rule_words: String,
    /// The limits, in the order of the file.
    pub limits: Vec<AgreedLimit>,
    /// The units, in the order in which they were tested.
    pub units: Vec<AcceptedUnit>,
    /// Outcome of the whole batch: that of its worst unit.
    pub outcome: AcceptanceOutcome,
    /// Reason for the outcome, as one lower-case fragment.
    pub because: String,
    /// Exit code of activebench.
    pub exit_code: i32,
    /// The command that judges the same again.
    pub recheck: Vec<String>,
}

/// A unit with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AcceptedUnit {
    /// Name of its folder: `nvme0n1`.
    pub name: String,
    /// The directory or the device node.
    pub path: String,
    /// What the device says of itself; `None` when that is not known.
    pub device: Option<DeviceIdentity>,
    /// Its folder, as the user would name it.
    pub directory: String,
    /// Why it was not tested; `None` when it was.
    pub not_tested: Option<String>,
    /// Outcome for the unit.
    pub outcome: AcceptanceOutcome,
    /// Reason for the outcome, as one lower-case fragment.
    pub because: String,
    /// Its figures, one a limit of the agreement, in that order. Empty for a unit that was not tested.
    pub limits: Vec<LimitOfUnit>,
    /// Remarks of its report that no reader may miss, one sentence each.
    pub notes: Vec<String>,
}

/// The figure of a unit for one limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitOfUnit {
    /// Median of the honest figures; `None` when a run has none.
    pub honest: Option<Quantity>,
    /// Outcome for this limit.
    pub outcome: AcceptanceOutcome,
    /// Reason for the outcome, as one lower-case fragment.
    pub because: String,
    /// See [`crate::acceptance::JudgedLimit::warnings`].
    pub warnings: Vec<String>,
}

impl From<&JudgedLimit> for LimitOfUnit {
    fn from(limit: &JudgedLimit) -> Self {
        let JudgedLimit { honest, outcome, because, warnings, .. } = limit;
        Self { honest: *honest, outcome: *outcome, because: because.clone(), warnings: warnings.clone() }
    }
}

/// `unit.json`: the unit that a folder is about, written before its suite runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitRecord {
    /// Version of this file. A program that reads a higher one refuses it.
    pub format: u32,
    /// Its place in the batch, from 1.
    pub number: u32,
    /// The directory or the device node.
    pub path: String,
    /// True if it is a device.
    pub is_device: bool,
    /// The agreed model; `None` where nobody asks.
    pub model: Option<String>,
    /// The agreed serial number; `None` where nobody asks.
    pub serial: Option<String>,
    /// The agreed firmware; `None` where nobody asks.
    pub firmware: Option<String>,
    /// What the device said of itself before the suite; `None` when that was not known.
    pub found: Option<DeviceIdentity>,
    /// Why the unit was not tested; `None` when it was.
    pub not_tested: Option<String>,
}

/// Version of `unit.json`.
pub const UNIT_FORMAT: u32 = 1;
