//! iozone's output among other words: where it begins, and which of its lines state figures.

use super::columns::Header;
use super::output::COMMAND;
use super::throughput;
use crate::pasted::Forms;

pub(super) const FORMS: Forms =
    Forms { begins, states_figures, states_command: |line| line.trim_start().starts_with(COMMAND) };

/// The first line of every output.
const BANNER: &str = "Iozone: Performance Test of File I/O";

/// An output begins with its first line, or with its table or its report where the lines before are missing.
fn begins(lines: &[&str]) -> Vec<usize> {
    let mut begins = Vec::new();
    // What the present output has so far.
    let (mut named, mut ordered, mut tabled, mut reported) = (false, false, false, false);
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim();
        let is_banner = text.contains(BANNER);
        let is_command = text.starts_with(COMMAND);
        let is_table = Header::read(line).is_some();
        let is_report = text == "\"Writer report\"";
        let is_further = is_banner && (named || ordered || tabled || reported)
            || is_command && (ordered || tabled || reported)
            || is_table && (tabled || reported)
            || is_report && reported;
        if is_further {
            begins.push(index);
            (named, ordered, tabled, reported) = (false, false, false, false);
        }
        named |= is_banner;
        ordered |= is_command;
        tabled |= is_table;
        reported |= is_report;
    }
    begins
}

/// Returns true for a row of the table, for a line of the throughput mode, and for a title of the report.
fn states_figures(line: &str) -> bool {
    // The rest of a row that a mail program has broken may be one number.
    let mut words = line.split_whitespace();
    let numbers = !line.trim().is_empty() && words.all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    let of_throughput = throughput::read_line(line).is_some()
        || ["Children see throughput", "Parent sees throughput", "Child["]
            .iter()
            .any(|begin| line.trim_start().starts_with(begin));
    numbers || of_throughput
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_banner_command_and_table_begins_an_output_once() {
        let header = "              kB  reclen    write  rewrite";
        let whole = ["Iozone: Performance Test of File I/O", "Command line used: iozone -a", header, "row"];
        assert_eq!(begins(&whole), [0_usize; 0]);
        assert_eq!(begins(&[whole, whole].concat()), [4]);
        assert_eq!(begins(&[&whole[1..], &whole[1..]].concat()), [3]);
        assert_eq!(begins(&[&whole[2..], &whole[2..]].concat()), [2]);
        assert_eq!(begins(&["\"Writer report\"", "\"Reader report\"", "\"Writer report\""]), [2]);
    }
}
