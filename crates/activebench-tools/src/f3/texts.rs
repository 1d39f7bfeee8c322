//! The output of f3write and f3read among other words.

use super::F3;
use super::output::speed;
use crate::pasted::Forms;

pub(super) const FORMS: Forms =
    Forms { begins, states_figures: |line| speed(line).is_some(), states_command: |_| false };

/// Returns the tool and the version of `F3 write 8.0`.
pub(super) fn banner(line: &str) -> Option<(F3, &str)> {
    let (tool, version) = match line.strip_prefix("F3 write ") {
        Some(version) => (F3::Write, version),
        None => (F3::Read, line.strip_prefix("F3 read ")?),
    };
    let version = version.trim();
    let is_version = !version.is_empty() && version.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
    is_version.then_some((tool, version))
}

/// Returns true for the first line of this tool's output.
pub(super) fn is_banner(tool: F3, line: &str) -> bool {
    banner(line).is_some_and(|(of, _)| of == tool)
}

fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| banner(lines[*index]).is_some()).skip(1).collect()
}
