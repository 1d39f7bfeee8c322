//! The average speed that f3write and f3read print, as a claim. Their units are powers of 1024 with the names of powers
//! of 1000.

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::output::ToolOutput;

use super::F3;
use super::texts::banner;
use crate::printed::{About, Claims, Number, lines};

/// The units, each 1024 times the one before it.
const UNITS: [&str; 7] = ["Byte/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s"];

/// Returns the speed of a line, its unit, and the bytes per second of one unit.
pub(super) fn speed(line: &str) -> Option<(F3, Number, &'static str, f64)> {
    let (tool, rest) = match line.strip_prefix("Average writing speed: ") {
        Some(rest) => (F3::Write, rest),
        None => (F3::Read, line.strip_prefix("Average reading speed: ")?),
    };
    let (number, unit) = rest.split_once(' ')?;
    let place = UNITS.iter().position(|known| *known == unit.trim_end())?;
    Some((tool, Number::parse(number)?, UNITS[place], 1024_f64.powi(place as i32)))
}

/// Returns the claims of an output.
pub(super) fn parse(tool: F3, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let name = super::Adapter::program(&tool).name;
    let mut parsed = Parsed { tool: name.to_owned(), ..Parsed::default() };
    let mut claims = Claims::default();
    for line in lines(output) {
        let text = line.text.as_str();
        if line.stream == "stderr" {
            if !text.trim().is_empty() {
                parsed.errors.push(line.note("the tool reports an error"));
            }
            continue;
        }
        if let Some((_, version)) = banner(text).filter(|(own, _)| *own == tool && line.is_whole) {
            parsed.version = Some(version.to_owned());
        }
        if text.contains(" speed not available") && line.is_whole {
            parsed.notes.push(line.note("the tool counted no whole chunk, or no time, and prints no speed"));
            parsed.complete = true;
        } else if text.starts_with("Data LOST: ") && line.is_whole && !text.ends_with("(0 sectors)") {
            parsed.errors.push(line.note("data was lost, which the exit code does not show"));
        } else if ["Write failure: ", "WARNING: Not all", "No space!"].iter().any(|begin| text.starts_with(begin))
            || text.contains(" - NOT fully read")
            || text.contains("Write failure: ")
        {
            parsed.errors.push(line.note("the tool reports an error"));
        }
        let Some((of, number, unit, scale)) = speed(text).filter(|_| line.is_whole) else { continue };
        parsed.complete = true;
        if of != tool || !claims.made.is_empty() {
            parsed.notes.push(line.note("a further speed is not read"));
            continue;
        }
        let about = About { phase: super::phases::id(tool), subject: subject(tool, chosen) };
        claims.add(&about, Metric::Throughput, &number, (scale, unit), &line);
    }
    parsed.claims = claims.made;
    parsed
}

fn subject(tool: F3, chosen: Option<Subject>) -> (Subject, String) {
    match (chosen, tool) {
        (Some(subject), _) => (subject, "--subject".to_owned()),
        (None, F3::Write) => (Subject::DurableWrite, "f3write syncs each chunk inside its clock".to_owned()),
        (None, F3::Read) => (Subject::Device, "f3read drops the files from the page cache before it reads".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_powers_of_1000_are_powers_of_1024() {
        for (line, expected) in [
            ("Average writing speed: 156.86 MB/s", Some((F3::Write, 156.86, 1_048_576.0))),
            ("Average reading speed: 1.06 GB/s", Some((F3::Read, 1.06, 1_073_741_824.0))),
            ("Average reading speed: 512.00 Byte/s", Some((F3::Read, 512.0, 1.0))),
            ("Average reading speed: 1.06 GiB/s", None),
            ("Average reading speed: 1.0", None),
            ("Reading speed not available", None),
        ] {
            assert_eq!(speed(line).map(|(tool, number, _, scale)| (tool, number.value, scale)), expected, "{line}");
        }
    }
}
