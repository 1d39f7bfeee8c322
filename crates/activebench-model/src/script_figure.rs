//! The numbers that a script prints itself, beside the output of the tools that it runs.

use serde::{Deserialize, Serialize};

use crate::claim::{Printed, SourceLine};
use crate::units::Quantity;

/// A number with a unit in a line that no tool of the run wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptFigure {
    /// The number as printed.
    pub printed: Printed,
    /// Its value: where the printed unit is ambiguous (`MB`), the one that agrees with a figure, else the decimal one.
    pub value: Quantity,
    /// Its line.
    pub source: SourceLine,
    /// Where it comes from; `None` when no figure of the run leads to it: it is not traced.
    pub origin: Option<Origin>,
    /// What is wrong with it; `None` where nothing is, and where it is not traced.
    pub fault: Option<Fault>,
    /// The claims that the words around it may mean, by identifier, of a rate or latency that is not traced. Empty where
    /// they mean any.
    #[serde(default)]
    pub meant: Vec<String>,
    /// True if the words around it name a limit, an expectation or another run, or for a rate a peak, or if it was printed
    /// before any pass had ended: the number is then no result of this run.
    #[serde(default)]
    pub is_no_result: bool,
}

/// The figures that a script's number comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// How it follows from them.
    pub derivation: Derivation,
    /// Their claims, by identifier; one for an equal figure.
    pub claims: Vec<String>,
    /// What follows from them, in the unit of the claims.
    pub value: Quantity,
}

/// How a number follows from figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Derivation {
    /// It is one of them, in any unit.
    Equal,
    /// All of them added up.
    Sum,
    /// Their arithmetic mean.
    Mean,
    /// The middle one; of an even number either of both in the middle, or their mean.
    Median,
    /// The smallest of them.
    Smallest,
    /// The largest of them.
    Largest,
}

impl Derivation {
    /// In a sentence, before `of N figures`.
    pub fn as_str(self) -> &'static str {
        match self {
            Derivation::Equal => "equal",
            Derivation::Sum => "the sum",
            Derivation::Mean => "the mean",
            Derivation::Median => "the median",
            Derivation::Smallest => "the smallest",
            Derivation::Largest => "the largest",
        }
    }
}

/// What is wrong with a script's number, though it comes from a figure of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A decimal prefix where the binary one is meant, or the reverse: `MB/s` for MiB/s.
    OtherPrefix,
    /// The unit is off by powers of 1000 or 1024, or by 8.
    OtherMagnitude,
    /// Cut so far that the number is a fifth away from the figure, or more; rounded to the nearest digit, half of it.
    Rounded,
    /// Reads and writes are added up, and the line does not say so.
    AddedDirections,
    /// The best of several runs of one command, and the line does not say so.
    BestOfSeveral,
    /// The best of several runs of one command, where the line names their mean or median.
    OtherSummary,
    /// The figure of another pass than the one that the line names.
    OtherPass,
    /// Another statistic of the latencies than the one that the line names: the median behind `p99`.
    OtherStatistic,
    /// The line is one that a tool wrote, with another number in the place of the tool's own.
    Altered,
    /// The same of a number without a unit, such as a count: the script may have written the line itself.
    OtherNumber,
}
