//! stress-ng's metrics as claims. Everything is on standard error.
//!
//! A bogo operation of `hdd` is one read or one write. The figures of other stressors of storage are claims that cannot
//! be verified: see [`super::stressors`]. The rate by CPU time is no figure of storage. `MB/sec` divides by the sum of
//! the calls' own times, without syncs, and is the geometric mean of the instances: no claim is made of either.

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::output::ToolOutput;

use super::options::Options;
use super::phases::HDD;
use super::stressors;
use super::texts::is_own;
use crate::printed::{About, Claims, Line, Number, lines};

/// The numbers of a row: bogo operations, real, user and system seconds, operations per second by real and by CPU time.
pub(super) fn row(line: &str) -> Option<(&str, Vec<Number>)> {
    let (level, rest) = line.strip_prefix("stress-ng: ")?.split_once('[')?;
    if !matches!(level.trim(), "metrc:" | "info:") {
        return None;
    }
    let mut words = rest.split_once(']')?.1.split_whitespace();
    let name = words.next()?;
    let words: Vec<&str> = words.collect();
    let numbers: Vec<Number> = words.iter().filter_map(|word| Number::parse(word)).collect();
    (numbers.len() == words.len() && matches!(numbers.len(), 6 | 8)).then_some((name, numbers))
}

/// Returns the claims of an output.
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    let mut claims = Claims::default();
    for line in lines(output) {
        let text = line.text.trim();
        if let Some((name, numbers)) = row(text).filter(|_| line.is_whole) {
            if name == HDD {
                add(&mut claims, options, &numbers, &line, chosen, &mut parsed);
            } else {
                match stressors::of_storage(name) {
                    Some(other) => add_other(&mut claims, other.name, &numbers, &line, chosen, &mut parsed),
                    None => {
                        parsed.notes.push(line.note("the figures of stressors that do no I/O on files are not read"))
                    }
                }
            }
        } else if is_own(text) && text.contains(" MB/sec ") {
            let message = "MB/sec divides by the sum of the calls' own times, without syncs, and is not read";
            parsed.notes.push(line.note(message));
        } else if is_own(text) && (text.ends_with(" instances)") || text.ends_with(" instance)")) {
            parsed.notes.push(line.note("the miscellaneous metrics of a stressor are not read"));
        } else if text.contains("] unsuccessful run completed")
            || text.contains(" fail: [")
            || text.contains(" error: [")
        {
            parsed.errors.push(line.note("the tool reports an error"));
        } else if text.starts_with("stress-ng: unrecognized option") || text.starts_with("aborting: ") {
            parsed.errors.push(line.note("the tool refuses its command line"));
        }
        parsed.complete |= is_own(text) && text.contains("] successful run completed") && line.is_whole;
    }
    parsed.claims = claims.made;
    parsed
}

fn add(
    claims: &mut Claims,
    options: &Options,
    numbers: &[Number],
    line: &Line,
    chosen: Option<Subject>,
    parsed: &mut Parsed,
) {
    if claims.made.iter().any(|claim| claim.phase == HDD) {
        parsed.notes.push(line.note("a further row of the stressor is not read"));
        return;
    }
    let about = About { phase: HDD, subject: subject(options, chosen) };
    if options.instances == Some(1) {
        claims.add(&about, Metric::OperationRate, &numbers[4], (1.0, "bogo ops/s"), line);
    } else {
        let message = "the rate of several instances divides by the mean of their times, and is not read";
        parsed.notes.push(line.note(message));
    }
    let done = claims.add(&about, Metric::OperationsDone, &numbers[0], (1.0, "bogo ops"), line);
    claims.made[done].resolution = 0.0;
}

/// Adds the figures of a stressor that has no rule.
fn add_other(
    claims: &mut Claims,
    name: &'static str,
    numbers: &[Number],
    line: &Line,
    chosen: Option<Subject>,
    parsed: &mut Parsed,
) {
    if claims.made.iter().any(|claim| claim.phase == name) {
        parsed.notes.push(line.note("a further row of the stressor is not read"));
        return;
    }
    let reason = "a figure of a stressor of storage without further words is taken for the storage".to_owned();
    let subject = chosen.map_or((Subject::Device, reason), |subject| (subject, "--subject".to_owned()));
    let about = About { phase: name, subject };
    claims.add(&about, Metric::OperationRate, &numbers[4], (1.0, "bogo ops/s"), line);
    let done = claims.add(&about, Metric::OperationsDone, &numbers[0], (1.0, "bogo ops"), line);
    claims.made[done].resolution = 0.0;
}

fn subject(options: &Options, chosen: Option<Subject>) -> (Subject, String) {
    match (chosen, options.sync()) {
        (Some(subject), _) => (subject, "--subject".to_owned()),
        (None, Some(mode)) => (Subject::DurableWrite, format!("--hdd-opts {mode} makes each write durable")),
        (None, None) if options.has("direct") => (Subject::Device, "--hdd-opts direct asks for direct I/O".to_owned()),
        (None, None) => {
            (Subject::Device, "a figure of a disk stressor without further words is taken for the storage".to_owned())
        }
    }
}
