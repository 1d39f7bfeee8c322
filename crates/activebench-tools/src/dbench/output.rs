//! dbench's last line as a claim: the bytes of its reads and writes over the time to the last second that it printed.
//! MB are powers of 1000.

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::output::ToolOutput;

use super::options::Options;
use super::phases::LOAD;
use super::texts::{Second, second, throughput, version};
use crate::printed::{About, Claims, lines};

/// Bytes of a megabyte.
const MEGABYTE: f64 = 1e6;
/// Significant digits of `%g`.
const DIGITS: usize = 6;

/// Returns the claims of an output.
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    let mut claims = Claims::default();
    let mut in_table = false;
    for line in lines(output).iter().filter(|line| line.is_whole) {
        let text = line.text.trim();
        if line.stream == "stderr" || text == "You need to specify NPROCS" || text.starts_with("FAILED TO START ") {
            if !text.is_empty() {
                parsed.errors.push(line.note("the tool reports an error"));
            }
            continue;
        }
        if let Some(version) = version(text) {
            parsed.version = Some(version.to_owned());
        }
        in_table = text.starts_with("Operation ") || in_table && !text.is_empty();
        if in_table && text.split_whitespace().count() == 4 && !text.starts_with("Operation ") {
            parsed.notes.push(line.note("counts and latencies of single operations are not read"));
        } else if text.starts_with("Client ") && text.ends_with(" bytes") {
            parsed.notes.push(line.note("the figures of single clients are not read"));
        } else if second(text) == Some(Second::Execute) {
            parsed.notes.push(line.note("figures of a part of the run are not read"));
        } else if let Some(number) = throughput(text) {
            parsed.complete = true;
            if number.value == 0.0 {
                parsed.notes.push(line.note("the run ended before its first second, so that no figure was measured"));
            } else if claims.made.is_empty() {
                let about = About { phase: LOAD, subject: subject(options, chosen) };
                let place = claims.add(&about, Metric::Throughput, &number, (MEGABYTE, "MB/sec"), line);
                claims.made[place].resolution = resolution(number.value) * MEGABYTE;
                parsed.notes.push(line.note("the longest latency is not read"));
            } else {
                parsed.notes.push(line.note("a further figure is not read"));
            }
        }
    }
    parsed.claims = claims.made;
    parsed
}

/// Half a step of the last digit that `%g` prints, which leaves out zeros at the end.
fn resolution(value: f64) -> f64 {
    let whole_digits = value.log10().floor() as i32 + 1;
    0.5 * 10_f64.powi(whole_digits - DIGITS as i32)
}

fn subject(options: &Options, chosen: Option<Subject>) -> (Subject, String) {
    match chosen {
        Some(subject) => (subject, "--subject".to_owned()),
        None if options.sync_open => (Subject::DurableWrite, "-s opens each file with O_SYNC".to_owned()),
        None if options.fsync => (Subject::DurableWrite, "-F syncs each write".to_owned()),
        None => (Subject::Device, "a throughput without further words is taken for the storage".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_known_to_its_sixth_digit() {
        for (value, expected) in [(333.889, 0.0005), (27.7884, 0.00005), (421.75, 0.0005), (4.99466, 0.000005)] {
            assert!((resolution(value) / expected - 1.0).abs() < 1e-9, "{value}");
        }
    }
}
