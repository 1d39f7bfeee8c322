//! pg_test_fsync's output among other words.

use super::tests::is_first_header;
use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |_| false };

fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| is_first_header(lines[*index])).skip(1).collect()
}

fn states_figures(line: &str) -> bool {
    line.contains(" ops/sec ") && line.trim_end().ends_with("usecs/op")
}
