//! Numbers which could not be verified, of a program that no adapter knows, and figures that an adapter could not read:
//! listed, and counted past ten.

use activebench_model::claim::UnmatchedNumber;
use activebench_model::report::JudgedRun;

use crate::wording::count;

/// What the list is.
pub(crate) const LABEL: &str = "not matched";

/// Lines of the list.
const LINES: usize = 10;

/// One sentence on them; `None` if there are none beside claims.
pub(crate) fn notice(run: &JudgedRun) -> Option<String> {
    let unmatched = &run.parsed.unmatched;
    if unmatched.is_empty() || run.parsed.claims.is_empty() {
        return None;
    }
    let rates = match unmatched.rates() {
        0 => String::new(),
        rates => format!(", {} among them", count(rates, "rate")),
    };
    if !run.parsed.tool.is_empty() {
        let unread = count(unmatched.numbers.len(), "figure");
        return Some(format!("{unread} of the output could not be read, and nothing is said of them."));
    }
    let all = count(unmatched.numbers.len() + unmatched.left_out as usize, "number");
    Some(format!("{all} of the output{rates}: no I/O is certainly theirs, and nothing is said of them."))
}

/// The numbers, rates first, each with the pass that is nearest; the rest is counted.
pub(crate) fn lines(run: &JudgedRun) -> Vec<String> {
    let unmatched = &run.parsed.unmatched;
    let mut numbers: Vec<&UnmatchedNumber> = unmatched.numbers.iter().collect();
    numbers.sort_by_key(|number| (!number.is_stated, !number.is_rate));
    let all = numbers.len() + unmatched.left_out as usize;
    let mut lines: Vec<String> = numbers.into_iter().take(LINES).map(line).collect();
    if all > lines.len() {
        lines.push(format!("and {} (`--format json` has them)", count(all - lines.len(), "more number")));
    }
    lines
}

fn line(number: &UnmatchedNumber) -> String {
    let nearest = number.nearest.as_ref().map_or_else(String::new, |nearest| {
        let distance = match nearest.excess {
            excess if excess.abs() < 10.0 => format!("{:+.1} %", excess * 100.0),
            excess => format!("{:.0} times as much", excess + 1.0),
        };
        format!("; nearest: {}, {} ({distance})", nearest.pass, nearest.observed)
    });
    let (text, unit, source) = (&number.printed.text, &number.printed.unit, &number.source);
    format!("{text} {unit} ({} line {}): {}{nearest}", source.stream, source.line, number.reason)
}
