//! fs_mark's rows as claims: the files of each row per second. With several tasks this is the sum of their own rates.

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::output::ToolOutput;

use super::options::{Options, Sync};
use super::phases::id;
use crate::printed::{About, Claims, Line, Number, lines};

/// Columns of a row without `-v`.
const COLUMNS: usize = 5;

/// Returns the numbers of a row: share in use, files so far, size, files per second, overhead, and with `-v` times.
pub(super) fn row(line: &str) -> Option<Vec<Number>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers: Vec<Number> = words.iter().filter_map(|word| Number::parse(word)).collect();
    let is_row = numbers.len() == words.len() && numbers.len() >= COLUMNS && numbers[3].text.contains('.');
    is_row.then_some(numbers)
}

/// Returns the claims of an output.
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    let mut claims = Claims::default();
    let (mut in_table, mut rows) = (false, 0);
    for line in lines(output) {
        if line.stream == "stderr" {
            if !line.text.trim().is_empty() {
                parsed.errors.push(line.note("the tool reports an error"));
            }
            continue;
        }
        if let Some(rest) = line.text.strip_prefix("#\tVersion ").filter(|_| line.is_whole) {
            parsed.version = rest.split(',').next().map(str::to_owned);
        }
        if line.text.starts_with("FSUse%") && line.is_whole {
            in_table = true;
            if line.text.contains("(Min/Avg/Max)") {
                parsed.notes.push(line.note("the times of single calls (-v) are not read"));
            }
            continue;
        }
        let Some(numbers) = row(&line.text).filter(|_| in_table && line.is_whole) else { continue };
        rows += 1;
        add(&mut claims, options, rows, &numbers, &line, chosen);
    }
    parsed.complete = rows >= options.rows && parsed.errors.is_empty();
    parsed.claims = claims.made;
    parsed
}

fn add(claims: &mut Claims, options: &Options, row: u32, numbers: &[Number], line: &Line, chosen: Option<Subject>) {
    let phase = id(row);
    let about = About { phase: &phase, subject: subject(options, chosen) };
    let metric = if options.tasks > 1 { Metric::SumOfTaskOperationRate } else { Metric::OperationRate };
    claims.add(&about, metric, &numbers[3], (1.0, "Files/sec"), line);
    // Later rows count the files of all rows before them, too.
    if row == 1 {
        let place = claims.add(&about, Metric::OperationsDone, &numbers[1], (1.0, "files"), line);
        claims.made[place].resolution = 0.0;
    }
}

fn subject(options: &Options, chosen: Option<Subject>) -> (Subject, String) {
    let (subject, reason) = match chosen {
        Some(subject) => (subject, "--subject".to_owned()),
        None if options.size == 0 => (Subject::Metadata, "the files are empty".to_owned()),
        None if options.sync == Sync::Nothing => {
            (Subject::Device, "files per second without further words are taken for the storage".to_owned())
        }
        None => (Subject::DurableWrite, format!("{} syncs the files inside the clock", options.sync_option)),
    };
    (subject, reason)
}
