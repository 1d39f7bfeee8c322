//! The report that `-R` and `-b` append: the table's numbers again, one block per pass.
//!
//! Its numbers become claims only if the table stated none: one number is one claim.

use super::catalogue::Kind;

/// A number of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportCell {
    /// The pass.
    pub kind: Kind,
    /// The row's title.
    pub file_kib: u64,
    /// The column's title.
    pub record_kib: u64,
    /// As printed.
    pub digits: String,
    /// Line number from 1.
    pub line: u64,
}

/// Reads the report line by line.
#[derive(Debug, Default)]
pub(super) struct Report {
    block: Block,
    records_kib: Vec<u64>,
    /// True while the block's line of record sizes may go on: no row has been read.
    in_records: bool,
    /// Every number of the known blocks, zeros included, in the order of the output.
    pub cells: Vec<ReportCell>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Block {
    #[default]
    None,
    /// A throughput block of this pass.
    Rates(Kind),
    /// Any other block with a title: CPU time, the throughput mode's summary.
    Other,
}

impl Report {
    /// Returns true if a line is the title of a block, also without the line that announces the report.
    pub(super) fn begins(line: &str) -> bool {
        let title = line.trim().strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(quoted, _)| quoted);
        title.is_some_and(|title| {
            let of_pass = |kind: Kind| title.strip_suffix(" report") == Some(kind.report_title());
            title.starts_with("Throughput report") || Kind::COLUMNS.into_iter().any(of_pass)
        })
    }

    /// Reads a line; returns `true` if it belongs to the report.
    pub(super) fn take(&mut self, number: u64, line: &str) -> bool {
        let Some(rest) = line.trim_start().strip_prefix('"') else {
            return self.block == Block::Other && is_record_line(line);
        };
        let Some((quoted, rest)) = rest.split_once('"') else { return false };
        if let Some(title) = quoted.strip_suffix(" report") {
            self.records_kib.clear();
            self.in_records = true;
            self.block = match Kind::COLUMNS.into_iter().find(|kind| kind.report_title() == title) {
                Some(kind) => Block::Rates(kind),
                None => Block::Other,
            };
            return true;
        }
        let Ok(size) = quoted.trim().parse::<u64>() else {
            if quoted.contains("report") {
                self.block = Block::Other;
            }
            return true;
        };
        let Block::Rates(kind) = self.block else { return true };
        if rest.contains('"') || (rest.trim().is_empty() && self.records_kib.is_empty()) {
            if self.in_records {
                // A wrapped line goes on in the next one; where it was cut in a number, the rest has no names.
                self.in_records = line.matches('"').count().is_multiple_of(2);
                let quoted = line.split('"').skip(1).step_by(2).take(line.matches('"').count() / 2);
                self.records_kib.extend(quoted.map_while(|word| word.trim().parse::<u64>().ok()));
            }
            return true;
        }
        self.in_records = false;
        let count = rest.split_whitespace().count();
        // A row that lacks numbers was cut, and its last number may be.
        let whole = if count < self.records_kib.len() { count.saturating_sub(1) } else { count };
        for (digits, &record_kib) in rest.split_whitespace().take(whole).zip(&self.records_kib) {
            if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                self.cells.push(ReportCell {
                    kind,
                    file_kib: size,
                    record_kib,
                    digits: digits.to_owned(),
                    line: number,
                });
            }
        }
        true
    }

    /// Returns true if the last title belongs to a block without rates.
    pub(super) fn in_other_block(&self) -> bool {
        self.block == Block::Other
    }
}

fn is_record_line(line: &str) -> bool {
    !line.trim().is_empty() && line.contains('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_rates_are_read_and_others_are_passed_over() {
        let text = "\"Writer report\"\n        \"4\"  \"8\"  \"16\"\n\"64\"   432398  312204  0 \n\"128\"   156257  0  515822 \n\n\
                    \"Writer CPU utilization report (Zero values should be ignored)\"\n        \"4\"\n\"64\"    23.74\n\n\
                    \"Re-Reader report\"\n        \"64\"\n\"2048\"   13552946 \n";
        let mut report = Report::default();
        for (line, number) in text.lines().zip(1..) {
            assert!(report.take(number, line) || line.is_empty(), "{line}");
        }
        let cells: Vec<_> = report
            .cells
            .iter()
            .map(|cell| (cell.kind, cell.file_kib, cell.record_kib, cell.digits.as_str(), cell.line))
            .collect();
        assert_eq!(
            cells,
            [
                (Kind::Write, 64, 4, "432398", 3),
                (Kind::Write, 64, 8, "312204", 3),
                (Kind::Write, 64, 16, "0", 3),
                (Kind::Write, 128, 4, "156257", 4),
                (Kind::Write, 128, 8, "0", 4),
                (Kind::Write, 128, 16, "515822", 4),
                (Kind::Reread, 2048, 64, "13552946", 12),
            ]
        );
    }
}
