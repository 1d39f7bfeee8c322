//! stress-ng's lines among other words.

use super::output::row;
use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures: |line| row(line).is_some(), states_command: |_| false };

/// Returns true for a line that stress-ng begins with its name and level.
pub(super) fn is_own(line: &str) -> bool {
    line.strip_prefix("stress-ng: ").is_some_and(|rest| ["info:", "metrc:"].iter().any(|level| rest.starts_with(level)))
}

/// Each run begins with the list of its stressors.
fn begins(lines: &[&str]) -> Vec<usize> {
    let begins = |index: &usize| is_own(lines[*index]) && lines[*index].contains("] dispatching hogs: ");
    (0..lines.len()).filter(begins).skip(1).collect()
}
