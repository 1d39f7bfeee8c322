//! CSV (RFC 4180, but with `\n` at the end of a line): the tables for spreadsheets and scripts.
//!
//! A missing value is an empty field. Text that a spreadsheet would read as a formula gets a leading apostrophe;
//! numbers never get one.

use std::io;

use activebench_model::report::JudgedRun;
use activebench_model::table::{Table, Values};

use super::{Format, Rendering, text};
use crate::escape;
use crate::tables::{RunTable, TABLES};

/// Format `claims-csv`.
pub(crate) static CLAIMS: Format =
    format("claims-csv", "claims.csv", &TABLES[0], |run, to| write(&(TABLES[0].of)(run), to));
/// Format `facts-csv`.
pub(crate) static FACTS: Format =
    format("facts-csv", "facts.csv", &TABLES[1], |run, to| write(&(TABLES[1].of)(run), to));
/// Format `timeline-csv`.
pub(crate) static TIMELINE: Format =
    format("timeline-csv", "timeline.csv", &TABLES[2], |run, to| write(&(TABLES[2].of)(run), to));

const fn format(
    name: &'static str,
    extension: &'static str,
    table: &'static RunTable,
    write: fn(&JudgedRun, &mut dyn io::Write) -> io::Result<()>,
) -> Format {
    Format {
        name,
        extension,
        is_unasked: false,
        shows_timelines: table.shows_timelines,
        rendering: Rendering::OfRuns(write),
    }
}

/// Returns a table as CSV.
pub(crate) fn written(table: &Table) -> String {
    text(|to| write(table, to))
}

/// Writes a table as CSV.
fn write(table: &Table, to: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(table.columns.iter().map(|column| column.about.name.as_str()))?;
    let rows = table.columns.first().map_or(0, |column| column.values.len());
    for row in 0..rows {
        writer.write_record(table.columns.iter().map(|column| field(&column.values, row)))?;
    }
    writer.flush()
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
