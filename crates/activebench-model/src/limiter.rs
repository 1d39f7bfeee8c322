//! What kept a pass from being faster.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::fact::FactName;
use crate::units::Quantity;

/// What limited one phase, as far as the facts tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limiter {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// What it was; `None` when a fact that would tell is missing.
    pub kind: Option<LimiterKind>,
    /// One sentence in lower case: what it was with the figures that show it, or what is not known.
    pub sentence: String,
    /// The figures that it rests on, in the order in which they tell.
    pub figures: Vec<Figure>,
    /// The facts that it rests on.
    pub facts: Vec<FactName>,
}

/// A figure with a name that carries its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `device_busy_ratio`.
    pub name: String,
    /// The figure.
    pub value: Quantity,
}

/// What can limit a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "kebab-case")]
pub enum LimiterKind {
    /// The storage: the threads waited for it, and it had several requests at once for most of the time.
    Device,
    /// The processor, in the tool's own code.
    CpuUser,
    /// The processor, in the kernel.
    CpuKernel,
    /// The processor, copying between the page cache and the tool.
    PageCacheCopy,
    /// Other tasks on the processors, or a limit of processor time: threads were ready and did not run.
    ProcessorWait,
    /// One request at a time: the storage was never given more.
    QueueDepth,
    /// A lock: tasks waited for each other.
    Lock,
    /// A control group.
    Throttling,
    /// Making data durable, again and again.
    SyncLatency,
    /// The tool itself: a rate that it was told to keep, or pauses of its own.
    ToolLimit,
    /// No single thing took half of the time.
    Mixed,
}

impl LimiterKind {
    /// Every kind.
    pub const ALL: &'static [LimiterKind] = LimiterKind::VARIANTS;
}
