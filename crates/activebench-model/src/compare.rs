//! Runs held side by side: what each claimed, what holds, and how the honest figures relate.

use serde::{Deserialize, Serialize};

use crate::claim::{Metric, Subject};
use crate::series::Interval;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// Two or more runs, or series of runs, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The columns, in the order given; the first is what the others are held against.
    pub columns: Vec<Column>,
    /// The rows: figures that agree in phase, kind of number and place among equals, in the order of the first
    /// column that states them.
    pub figures: Vec<Compared>,
    /// In what the columns differ, besides their figures.
    pub differences: Vec<Difference>,
}

/// A run, or a series of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Where it lies, as the user would name it.
    pub directory: String,
    /// Whether it is a series.
    pub series: bool,
    /// Recorded runs in it.
    pub runs: usize,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// Why its record is not whole; empty when it is.
    pub incomplete: Vec<String>,
}

/// One figure in every column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What kind of number it is.
    pub metric: Metric,
    /// One a column; `None` where a column does not state it.
    pub cells: Vec<Option<Cell>>,
}

/// A figure of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Runs of the column that state it.
    pub runs: usize,
    /// As printed, normalised; of a series the median.
    pub claimed: Quantity,
    /// The honest figure; of a series the median of the runs' honest figures. `None` when a run has none.
    pub honest: Option<Quantity>,
    /// Why there is no honest figure; set exactly when there is none.
    pub no_honest: Option<String>,
    /// The verdict on it; of a series the worst of its runs.
    pub verdict: ClaimVerdict,
    /// Runs in which it is confirmed.
    pub confirmed: usize,
    /// What it is taken to describe.
    pub subject: Subject,
    /// Findings behind the verdict, of all runs, each once.
    pub findings: Vec<String>,
    /// Where the median of honest figures lies. `None` for fewer than 7 runs, of which none has so much certainty.
    pub interval: Option<Interval>,
    /// Its honest figure over that of the first column; `None` in the first column.
    pub against_first: Option<Against>,
}

/// A figure held against that of the first column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Against {
    /// Both are honest and of one kind.
    Compared {
        /// This honest figure over the first.
        ratio: f64,
        /// Where the ratio of the medians lies; `None` where one of both has no interval.
        interval: Option<RatioInterval>,
    },
    /// Not comparable.
    NotCompared {
        /// Why: a lower-case fragment.
        why: String,
    },
}

/// A confidence interval of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that it covers the ratio of the medians, at least 0.95.
    pub confidence_ratio: f64,
}

/// Something that differs between the columns and bears on what their ratio means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What: `kernel`, `command`.
    pub aspect: String,
    /// One a column; of a series whose runs differ in it all that there are. Raw text.
    pub values: Vec<String>,
    /// What that means for the reader: a lower-case fragment.
    pub meaning: String,
}
