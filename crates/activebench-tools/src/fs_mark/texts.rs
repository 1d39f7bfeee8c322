//! fs_mark's output among other words.

use super::output::row;
use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures: |line| row(line).is_some(), states_command };

/// Returns true for `#  fs_mark  -d  d  -n  500 `.
pub(super) fn states_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("#") && words.next().is_some_and(|word| word.rsplit('/').next() == Some(super::PROGRAM.name))
}

fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| states_command(lines[*index])).skip(1).collect()
}
