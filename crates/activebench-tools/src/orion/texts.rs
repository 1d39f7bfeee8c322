//! Orion's summaries and matrices in a text with others.

use super::matrix::HEADER;
use crate::pasted::Forms;

/// Start of the first line of a summary.
const SUMMARY: &str = "ORION VERSION";

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |line| line.contains("ommand line:") };

/// Each summary, and each matrix with the words before it, is an output of its own: what a matrix says holds for no
/// other.
fn begins(lines: &[&str]) -> Vec<usize> {
    let starts = |index: &usize| lines[*index].starts_with(SUMMARY) || lines[*index].starts_with(HEADER);
    (0..lines.len())
        .filter(starts)
        .map(|index| if is_matrix(lines[index]) { words_before(lines, index) } else { index })
        .collect()
}

fn is_matrix(line: &str) -> bool {
    line.starts_with(HEADER)
}

/// Returns the first of the lines of words above a matrix. Figures and settings belong to what is above them.
fn words_before(lines: &[&str], matrix: usize) -> usize {
    let is_word =
        |line: &str| !line.trim_start().starts_with(|first: char| first.is_ascii_digit()) && !line.contains(['=', ':']);
    (0..matrix).rev().take_while(|index| is_word(lines[*index])).last().unwrap_or(matrix)
}

fn states_figures(line: &str) -> bool {
    line.contains("@ Small=") || is_matrix(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orion::Orion;
    use crate::pasted::read_pasted;
    use activebench_model::command::CommandLine;

    const RATES: &str = "It contains the rates in IOPS.\n\nLarge/Small, 1, 2\n 0, 100, 200\n";
    const LATENCIES: &str = "It contains the average latency in microseconds.\nLarge/Small, 1, 2\n 0, 9000, 8000\n";

    fn claims(text: &str) -> Vec<Vec<String>> {
        let outputs = read_pasted(&Orion, &CommandLine::default(), text.as_bytes(), None);
        let of = |claim: &activebench_model::claim::Claim| format!("{} {}", claim.metric.as_str(), claim.printed.text);
        outputs.iter().map(|output| output.claims.iter().map(of).collect()).collect()
    }

    #[test]
    fn a_matrix_ends_where_the_next_one_begins() {
        let (rates, latencies) = (claims(RATES), claims(LATENCIES));
        assert_eq!((rates[0].len(), latencies[0].len()), (2, 2), "{rates:?} {latencies:?}");
        let both = claims(&format!("{RATES}\n{LATENCIES}"));
        assert_eq!(both, [rates[0].clone(), latencies[0].clone()]);
    }

    #[test]
    fn two_summaries_are_two_runs() {
        let summary = |iops: u32| {
            format!(
                "ORION VERSION 11.2.0.1.0\n\nCommand line:\n-run simple\n\nMaximum Small IOPS={iops} @ Small=16 and Large=0\n"
            )
        };
        let both = claims(&(summary(700) + &summary(900)));
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0][0].ends_with("700") && both[1][0].ends_with("900"), "{both:?}");
    }

    #[test]
    fn two_statements_in_a_line_are_two_figures() {
        let (rate, latency) = (
            "Maximum Small IOPS=700 @ Small=16 and Large=0",
            "Minimum Small Latency=81.81 usecs @ Small=1 and Large=0",
        );
        let apart = claims(&format!("ORION VERSION 11.2.0.1.0\n{rate}\n{latency}\n"));
        assert_eq!(apart[0].len(), 2, "{apart:?}");
        assert_eq!(claims(&format!("ORION VERSION 11.2.0.1.0\n{rate} {latency}\n")), apart);
        // What stands between them belongs to neither: the first is not read.
        let between = claims(&format!("ORION VERSION 11.2.0.1.0\n{rate} 5 {latency}\n"));
        assert_eq!(between, [[apart[0][1].clone()]]);
    }

    #[test]
    fn a_matrix_behind_a_summary_takes_no_figure_from_it() {
        let lines = ["ORION VERSION 1", "Maximum Small IOPS=7 @ Small=1 and Large=0", "", "In IOPS.", "Large/Small, 1"];
        assert_eq!(begins(&lines), [0, 2]);
    }
}
