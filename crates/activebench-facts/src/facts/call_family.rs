//! Families of facts that follow from one reading of the calls.

use activebench_model::call::Call;
use activebench_model::fact::Facts;
use activebench_model::phase::Phase;

use super::part_index::PartIndex;
use super::record_losses::Gap;

/// A family of facts. It has a file of its own, and a line in the list `families`.
pub(super) trait CallFamily {
    /// Counts a call of the tool. The calls of one thread are in chronological order. `parts` finds the phases' parts that
    /// a call belongs to.
    fn feed(&mut self, phases: &[Phase], parts: &mut PartIndex, call: &Call);

    /// Adds the facts of phase `number`, after the last call. `gap` is the part of the calls that was not observed.
    fn add_facts(&mut self, number: usize, phase: &mut Phase, gap: &Gap, facts: &mut Facts);
}
