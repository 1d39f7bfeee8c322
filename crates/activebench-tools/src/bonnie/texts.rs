//! bonnie++'s output among other words: where a further table begins, and which lines state figures.

use super::csv;
use super::figures::{file_bytes, is_unmeasured};
use crate::pasted::Forms;

pub(super) const FORMS: Forms = Forms { begins, states_figures, states_command: |_| false };

/// A table of data begins an output where another one, or the row of a run, is before it; a table of files where one of
/// files is.
fn begins(lines: &[&str]) -> Vec<usize> {
    let mut begins = Vec::new();
    let (mut of_data, mut of_files, mut rowed) = (false, false, false);
    for (index, line) in lines.iter().enumerate() {
        let data = line.contains("------Sequential Output------");
        let files = line.contains("------Sequential Create------");
        let further = data && (of_data || of_files || rowed) || files && (of_files || rowed);
        if further {
            begins.push(index);
            (of_data, of_files, rowed) = (false, false, false);
        }
        of_data |= data;
        of_files |= files;
        rowed |= matches!(csv::read_line(0, line), Some(csv::Line::Row(_)));
    }
    begins
}

/// Returns true for a row of the table: a size or a number of files, and behind it almost nothing but figures.
fn states_figures(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_figure = |word: &&&str| {
        let digits = word.strip_suffix(['k', 'm', 'g']).unwrap_or(word);
        is_unmeasured(word) || !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let sized = words.iter().any(|word| file_bytes(word.split(':').next().unwrap_or(word)).is_some());
    let figures = words.iter().filter(is_figure).count();
    let row = matches!(csv::read_line(0, line), Some(csv::Line::Row(_) | csv::Line::Unknown(_)));
    row || figures >= 6 && (sized || figures >= 12) && words.len() <= figures + 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_begins_an_output() {
        let data = "Version 1.97 ------Sequential Output------";
        let files = "Version 1.97 ------Sequential Create------";
        let row = "deep,1G,47805,96,63399,16,25138,5,40027,76,49522,4,289.1,0,,,,,,,,,,,,,";
        for (lines, expected) in [
            (vec![data, files, row], vec![]),
            (vec![data, files, row, row], vec![]),
            (vec![data, files, data, files], vec![2]),
            (vec![data, data, row, data], vec![1, 3]),
            (vec![files, files], vec![1]),
        ] {
            assert_eq!(begins(&lines), expected, "{lines:?}");
        }
        assert!(states_figures("deep 1G 47805 96 63399 16 25138 5 40027 76 49522 4 289.1 0"));
        assert!(!states_figures("Latency 22us 11us"));
    }
}
