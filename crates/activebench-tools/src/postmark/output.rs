//! PostMark's verbose report as claims.
//!
//! Its clock has whole seconds, and no second becomes one. Of the files only those that it creates before and deletes
//! behind the transactions are claimed: the others mix with opens that append. A terse report has no words and is not
//! read.

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::output::ToolOutput;

use super::phases::{CREATE, DELETE, READ, TRANSACTIONS, WRITE};
use super::texts::is_banner;
use crate::printed::{About, Claims, Line, Number, lines};

/// Step of its clock.
const STEP_NS: u64 = 1_000_000_000;
const UNITS: [(&str, f64); 4] =
    [("bytes", 1.0), ("kilobytes", 1024.0), ("megabytes", 1_048_576.0), ("gigabytes", 1_073_741_824.0)];
/// Numbers of a terse report.
const TERSE: usize = 13;

/// Returns the claims of an output.
pub(super) fn parse(output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), clock_step_ns: Some(STEP_NS), ..Parsed::default() };
    let mut claims = Claims::default();
    let (mut reports, mut noted) = (0, false);
    for line in lines(output) {
        let text = line.text.trim_start_matches("pm>").trim();
        if line.stream == "stderr" || text == "Eh?" {
            if !text.is_empty() {
                parsed.errors.push(line.note("the tool reports an error, which its exit code does not show"));
            }
            continue;
        }
        if !line.is_whole {
            continue;
        }
        if is_banner(text) {
            parsed.version = text["PostMark v".len()..].split_whitespace().next().map(str::to_owned);
        }
        if text == "Time:" {
            reports += 1;
        }
        if is_terse(text) {
            parsed.complete = true;
            parsed.notes.push(line.note("a terse report (`set report terse`) is not read"));
            continue;
        }
        if reports > 1 {
            if text == "Time:" {
                parsed.notes.push(line.note("the report of a further run is not read"));
            }
            continue;
        }
        let read = claimed(&mut claims, text, &line, chosen);
        parsed.complete |= text.contains(" written (");
        if !read && text.ends_with("per second)") && !noted {
            noted = true;
            let message = "files that were created, read, appended and deleted among others are not read";
            parsed.notes.push(line.note(message));
        }
    }
    parsed.claims = claims.made;
    parsed
}

fn is_terse(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.len() == TERSE && words.iter().all(|word| Number::parse(word).is_some())
}

/// Adds the claims of a line; returns true if it has some.
fn claimed(claims: &mut Claims, text: &str, line: &Line, chosen: Option<Subject>) -> bool {
    let words: Vec<&str> = text.split([' ', '(', ')']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["Creation", "alone:", count, "files", rate, "per", "second"] => {
            files(claims, CREATE, (count, rate), line, chosen)
        }
        ["Deletion", "alone:", count, "files", rate, "per", "second"] => {
            files(claims, DELETE, (count, rate), line, chosen)
        }
        [_, "seconds", "of", "transactions", rate, "per", "second"] => {
            let subject = (Subject::CachedFilesystem, "nothing of a transaction is synced".to_owned());
            let about = About { phase: TRANSACTIONS, subject: chosen.map_or(subject, given) };
            per_second(claims, &about, rate, "per second", line)
        }
        [amount, unit, verb @ ("read" | "written"), rate, rate_unit, "per", "second"] => {
            let phase = if *verb == "read" { READ } else { WRITE };
            let reason = "a figure of data without further words is taken for the storage".to_owned();
            let about = About { phase, subject: chosen.map_or((Subject::Device, reason), given) };
            data(claims, &about, ((amount, unit), (rate, rate_unit)), line)
        }
        _ => false,
    }
}

fn given(subject: Subject) -> (Subject, String) {
    (subject, "--subject".to_owned())
}

fn files(claims: &mut Claims, phase: &str, (count, rate): (&str, &str), line: &Line, chosen: Option<Subject>) -> bool {
    let Some(count) = Number::parse(count) else { return false };
    let reason = "files per second are a figure of names".to_owned();
    let about = About { phase, subject: chosen.map_or((Subject::Metadata, reason), given) };
    let place = claims.add(&about, Metric::OperationsDone, &count, (1.0, "files"), line);
    claims.made[place].resolution = 0.0;
    per_second(claims, &about, rate, "files per second", line)
}

/// Adds a rate that is the quotient of integers: it is cut off, not rounded.
fn per_second(claims: &mut Claims, about: &About<'_>, rate: &str, unit: &str, line: &Line) -> bool {
    let Some(rate) = Number::parse(rate) else { return false };
    let place = claims.add(about, Metric::OperationRate, &rate, (1.0, unit), line);
    claims.made[place].resolution = 1.0;
    true
}

/// An amount and a rate, each with its unit.
type Data<'a> = ((&'a str, &'a str), (&'a str, &'a str));

fn data(claims: &mut Claims, about: &About<'_>, (amount, rate): Data<'_>, line: &Line) -> bool {
    let scaled = |(number, unit): (&str, &str)| {
        let (name, scale) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        Some((Number::parse(number)?, name, scale))
    };
    let (Some((amount, unit, scale)), Some((rate, rate_unit, rate_scale))) = (scaled(amount), scaled(rate)) else {
        return false;
    };
    claims.add(about, Metric::BytesMoved, &amount, (scale, unit), line);
    claims.add(about, Metric::Throughput, &rate, (rate_scale, &format!("{rate_unit} per second")), line);
    true
}
