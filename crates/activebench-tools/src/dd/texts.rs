//! dd's reports among other words.

use super::report;
use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |_| false };

/// Each report begins with the records that were read.
fn begins(lines: &[&str]) -> Vec<usize> {
    let begins = |index: &usize| report::is_records(lines[*index]) && lines[*index].ends_with(" records in");
    (0..lines.len()).filter(begins).skip(1).collect()
}

/// Returns true for a line that a report may consist of: of the lines before a sync, too, which are not claimed.
fn states_figures(line: &str) -> bool {
    report::report(0, line).is_some()
}

#[cfg(test)]
mod tests {
    use activebench_model::command::CommandLine;

    use crate::dd::Dd;
    use crate::pasted::read_pasted;

    #[test]
    fn each_report_of_a_text_is_one_output() {
        let text = "$ dd if=/dev/zero of=a\n1+0 records in\n1+0 records out\n512 bytes copied, 0.5 s, 1.0 kB/s\n\
                    and again\n2+0 records in\n2+0 records out\n1024 bytes (1.0 kB, 1.0 KiB) copied, 0.5 s, 2.0 kB/s\n";
        let outputs = read_pasted(&Dd, &CommandLine::default(), text.as_bytes(), None);
        let printed: Vec<&str> = outputs.iter().map(|output| output.claims[0].printed.text.as_str()).collect();
        assert_eq!(printed, ["1.0", "2.0"]);
    }
}
