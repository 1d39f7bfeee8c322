//! sysbench's output among other words.

use super::output::version;
use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |_| false };

/// Each output begins with the line of its version, or, where that was left out, with its file operations.
fn begins(lines: &[&str]) -> Vec<usize> {
    let of = |is_begin: fn(&str) -> bool| {
        (0..lines.len()).filter(|index| is_begin(lines[*index])).skip(1).collect::<Vec<usize>>()
    };
    let versions = of(|line| version(line).is_some());
    if versions.is_empty() { of(|line| line.trim_end() == "File operations:") } else { versions }
}

fn states_figures(line: &str) -> bool {
    let line = line.trim_start();
    ["reads/s:", "writes/s:", "read, MiB/s:", "written, MiB/s:"].iter().any(|name| line.starts_with(name))
        || line.contains(" bytes written in ")
}
