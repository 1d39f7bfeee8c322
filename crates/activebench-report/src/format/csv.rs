//! CSV (RFC 4180, but with `\n` at the end of a line): the tables for spreadsheets and scripts.
//!
//! A missing value is an empty field. Text that a spreadsheet would read as a formula gets a leading apostrophe;
//! numbers never get one.

use activebench_model::report::JudgedRun;
use activebench_model::table::{Table, Values};

use super::{Format, Rendering};
use crate::escape;
use crate::tables::{RunTable, TABLES};

/// Format `claims-csv`.
pub(crate) static CLAIMS: Format = format("claims-csv", "claims.csv", &TABLES[0], |run| written(&(TABLES[0].of)(run)));
/// Format `facts-csv`.
pub(crate) static FACTS: Format = format("facts-csv", "facts.csv", &TABLES[1], |run| written(&(TABLES[1].of)(run)));
/// Format `timeline-csv`.
pub(crate) static TIMELINE: Format =
    format("timeline-csv", "timeline.csv", &TABLES[2], |run| written(&(TABLES[2].of)(run)));

const fn format(
    name: &'static str,
    extension: &'static str,
    table: &'static RunTable,
    render: fn(&JudgedRun) -> String,
) -> Format {
    Format { name, extension, shows_timelines: table.shows_timelines, rendering: Rendering::OfRuns(render) }
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
