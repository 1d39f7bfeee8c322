//! The figures that Orion states, before they become claims.

use activebench_model::claim::{Note, SourceLine};

use super::histogram::Histogram;
use super::points::{Point, Size, Which};
use super::settings::Stated;
use super::text::Number;

/// The measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Figure {
    /// Small requests per second.
    Iops,
    /// MB of large requests per second.
    Mbps,
    /// Mean latency of small requests.
    MeanLatency,
    /// Longest latency of small requests.
    LongestLatency,
    /// Shortest latency of small requests: only compared with the histogram.
    ShortestLatency,
}

impl Figure {
    /// Returns the size of the measured requests.
    pub(super) fn size(self) -> Size {
        if self == Figure::Mbps { Size::Large } else { Size::Small }
    }
}

/// Unit of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Used by 11.1, which prints no unit.
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    pub(super) fn ns(self) -> f64 {
        match self {
            TimeUnit::Milliseconds => 1e6,
            TimeUnit::Microseconds => 1e3,
        }
    }
}

/// Kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A cell of a matrix.
    Cell,
    /// The best of all points, named as such.
    Extreme,
    /// Stated beside an extreme.
    Detail,
}

/// One figure of one data point.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) figure: Figure,
    pub(super) rank: Rank,
    pub(super) point: Point,
    pub(super) which: Which,
    pub(super) number: Number,
    /// Unit of a latency; `None` if the text alone does not state it.
    pub(super) unit: Option<TimeUnit>,
    pub(super) source: SourceLine,
}

/// The statements gathered while the texts are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) version: Option<String>,
    pub(super) stated: Stated,
    pub(super) cells: Vec<Statement>,
    pub(super) said: Vec<Statement>,
    pub(super) histograms: Vec<Histogram>,
    pub(super) notes: Vec<Note>,
    pub(super) errors: Vec<Note>,
}
