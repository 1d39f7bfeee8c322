//! CSV (RFC 4180, but with `\n` at the end of a line): the tables for spreadsheets and scripts.
//!
//! A missing value is an empty field. Text that a spreadsheet would read as a formula gets a leading apostrophe;
//! numbers never get one.

use activebench_model::report::JudgedRun;
use activebench_model::table::{Table, Values};

use crate::tables::{RunTable, TABLES};
use crate::{Format, Style, escape};

/// A table as CSV.
pub struct Csv {
    name: &'static str,
    extension: &'static str,
    table: &'static RunTable,
}

/// Format `claims-csv`.
pub const CLAIMS: Csv = Csv { name: "claims-csv", extension: "claims.csv", table: &TABLES[0] };
/// Format `facts-csv`.
pub const FACTS: Csv = Csv { name: "facts-csv", extension: "facts.csv", table: &TABLES[1] };
/// Format `timeline-csv`.
pub const TIMELINE: Csv = Csv { name: "timeline-csv", extension: "timeline.csv", table: &TABLES[2] };

impl Format for Csv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn extension(&self) -> &'static str {
        self.extension
    }

    fn shows_timelines(&self) -> bool {
        self.table.shows_timelines
    }

    fn render(&self, run: &JudgedRun, _style: Style) -> String {
        written(&(self.table.of)(run))
    }
}

/// Writes a table as CSV.
pub(crate) fn written(table: &Table) -> String {
    const WHY: &str = "memory takes every row, and all columns are of one length";
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.columns.iter().map(|column| column.name.as_str())).expect(WHY);
    let rows = table.columns.first().map_or(0, |column| column.values.len());
    for row in 0..rows {
        writer.write_record(table.columns.iter().map(|column| field(&column.values, row))).expect(WHY);
    }
    let bytes = writer.into_inner().expect(WHY);
    String::from_utf8(bytes).expect("it was made of text")
}

fn field(values: &Values, row: usize) -> String {
    let shown = match values {
        Values::Integers(values) => values.get(row).copied().flatten().map(|value| value.to_string()),
        Values::Signed(values) => values.get(row).copied().flatten().map(|value| value.to_string()),
        Values::Numbers(values) => values.get(row).copied().flatten().map(|value| value.to_string()),
        Values::Texts(values) => values.get(row).and_then(Option::as_deref).map(escape::spreadsheet),
    };
    shown.unwrap_or_default()
}
