//! ioping's output among other words.

use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |_| false };

/// Returns true for `--- big (ext4 /dev/vda 252.0 GiB) ioping statistics ---`.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("--- ") && line.trim_end().ends_with(" ioping statistics ---")
}

fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| is_header(lines[*index])).skip(1).collect()
}

fn states_figures(line: &str) -> bool {
    line.contains(" requests completed in ") || line.contains("generated ") && line.contains(" requests in ")
}
