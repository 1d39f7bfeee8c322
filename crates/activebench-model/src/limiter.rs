//! The bottleneck of a pass.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::fact::FactName;
use crate::units::Quantity;

/// The bottleneck of one phase, as far as the facts show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limiter {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of bottleneck; `None` when a fact that would show it is missing.
    pub kind: Option<LimiterKind>,
    /// One sentence in lower case: the bottleneck with the figures that show it, or what is unknown.
    pub sentence: String,
    /// The figures that it is based on, in the order of the argument.
    pub figures: Vec<Figure>,
    /// The facts that it is based on.
    pub facts: Vec<FactName>,
}

/// A figure whose name includes its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `device_busy_ratio`.
    pub name: String,
    /// The figure.
    pub value: Quantity,
}

/// Possible bottlenecks of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum LimiterKind {
    /// The storage: the threads waited for it, and it had several requests in flight for most of the time.
    Device,
    /// The CPU, in the tool's own code.
    CpuUser,
    /// The CPU, in the kernel.
    CpuKernel,
    /// The CPU, copying between the page cache and the tool.
    PageCacheCopy,
    /// Other tasks on the CPUs, or a quota of CPU time: threads were runnable and did not run.
    ProcessorWait,
    /// One request at a time: the storage never had more in flight.
    QueueDepth,
    /// A lock: tasks waited for each other.
    Lock,
    /// A control group.
    Throttling,
    /// Repeatedly making data durable.
    SyncLatency,
    /// The tool itself: a requested rate, or pauses of its own.
    ToolLimit,
    /// No single cause took half of the time.
    Mixed,
}

impl LimiterKind {
    /// Every kind.
    pub const ALL: &'static [LimiterKind] = LimiterKind::VARIANTS;
}
