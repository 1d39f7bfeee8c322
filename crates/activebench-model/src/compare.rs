//! Runs side by side: what each claimed, what is confirmed, and the ratio of the honest figures.

use serde::{Deserialize, Serialize};

use crate::claim::{Metric, Subject};
use crate::series::Interval;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// Two or more runs, or series of runs, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The columns, in the order given; the others are compared with the first.
    pub columns: Vec<Column>,
    /// The rows: figures with the same phase, kind of number and place among equals, in the order of the first
    /// column that states them.
    pub figures: Vec<Compared>,
    /// The answer: for each column but the first, which of both is faster and by how much, or why that is unknown. One
    /// sentence each.
    pub answers: Vec<String>,
    /// The passes that read or write data of columns whose tool is not that of the first one. Figures of different tools
    /// are compared where their passes did the same I/O.
    #[serde(default)]
    pub other_passes: Vec<OtherPass>,
    /// Differences between the columns besides their figures.
    pub differences: Vec<Difference>,
}

/// A pass of a column whose tool is not that of the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherPass {
    /// Number of the column, from 2 on.
    pub run: usize,
    /// [`crate::phase::Phase::id`] in that column.
    pub phase: String,
    /// What it did, as far as it is known: `writes, 1 MiB a call, sequential, ...`.
    pub io: String,
    /// The pass of the first column that did the same I/O; its figures have one row with those of this pass. `None` if
    /// there is none.
    pub compared_as: Option<String>,
    /// Why there is none, as a lower-case fragment; set exactly when there is none.
    pub why: Option<String>,
}

/// A run, or a series of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its directory, as the user would name it.
    pub directory: String,
    /// True if it is a series.
    pub series: bool,
    /// Recorded runs in it.
    pub runs: usize,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// Why its record is not complete; empty when it is.
    pub incomplete: Vec<String>,
}

/// One figure in every column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// One per column; `None` where a column does not state the figure.
    pub cells: Vec<Option<Cell>>,
}

/// A figure of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Runs of the column that state it.
    pub runs: usize,
    /// The printed number, normalised; for a series the median.
    pub claimed: Quantity,
    /// The honest figure; for a series the median of the runs' honest figures. `None` when a run has none.
    pub honest: Option<Quantity>,
    /// Why there is no honest figure; set exactly when there is none.
    pub no_honest: Option<String>,
    /// The verdict on it; for a series the worst of its runs.
    pub verdict: ClaimVerdict,
    /// Runs in which it is confirmed.
    pub confirmed: usize,
    /// Subject that the figure is taken to describe.
    pub subject: Subject,
    /// Findings behind the verdict, of all runs, each once.
    pub findings: Vec<String>,
    /// Confidence interval of the median of honest figures. `None` for fewer than 7 runs, too few for this confidence.
    pub interval: Option<Interval>,
    /// Its honest figure over that of the first column; `None` in the first column.
    pub against_first: Option<Against>,
}

/// A figure compared with that of the first column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Against {
    /// Both are honest and of one kind.
    Compared {
        /// This honest figure divided by the first.
        ratio: f64,
        /// Confidence interval of the ratio of the medians; `None` where one of them has no interval.
        interval: Option<RatioInterval>,
    },
    /// Not comparable.
    NotCompared {
        /// The reason, as a lower-case fragment.
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

/// A difference between the columns that affects the meaning of their ratio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Aspect that differs: `kernel`, `command`.
    pub aspect: String,
    /// One per column; for a series all values that its runs have. Raw text.
    pub values: Vec<String>,
    /// The consequence for the reader, as a lower-case fragment.
    pub meaning: String,
}
