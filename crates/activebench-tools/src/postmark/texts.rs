//! PostMark's output among other words.

use crate::pasted::Forms;

pub(super) const FORMS: Forms =
    Forms { begins, states_figures: |line| line.trim_end().ends_with("per second)"), states_command: |_| false };

/// Returns true for `PostMark v1.51 : 8/14/01`.
pub(super) fn is_banner(line: &str) -> bool {
    line.strip_prefix("PostMark v").is_some_and(|rest| rest.contains(" : "))
}

fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| is_banner(lines[*index])).skip(1).collect()
}
