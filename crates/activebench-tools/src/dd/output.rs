//! The output of dd as claims: the bytes and the rate of the whole copy.

use activebench_model::claim::{Claim, Contradiction, Metric, Note, Parsed, Printed, Restated, SourceLine, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::Quantity;

use super::options::{Options, Side};
use super::plan::PHASE;
use super::report::{self, Report};

/// The stream that has dd's report. dd prints it on standard error. A text that was pasted has one stream, and there
/// standard output holds everything: in a run it may hold the copied data.
pub(super) fn reported(options: &Options, output: &ToolOutput) -> (&'static str, String) {
    let (stream, bytes) = match output.stderr.is_empty() && !options.is_silent() {
        true => ("stdout", &output.stdout),
        false => ("stderr", &output.stderr),
    };
    (stream, String::from_utf8_lossy(bytes).into_owned())
}

/// Reads everything. Never fails; see [`crate::Adapter::parse`].
pub(super) fn parse(options: &Options, output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let (stream, text) = reported(options, output);
    let mut parsed = Parsed { tool: "dd".to_owned(), ..Parsed::default() };
    let source = |line: u64, text: &str| SourceLine { stream: stream.to_owned(), line, text: text.to_owned() };
    let note = |line: u64, text: &str, message: &str| Note { source: source(line, text), message: message.to_owned() };
    for (number, line) in report::lines(&text) {
        match line.strip_prefix("dd: ") {
            Some(warning) if warning.starts_with("warning: ") => {
                parsed.notes.push(note(number, line, "dd warns"));
            }
            Some(_) => parsed.errors.push(note(number, line, "dd reports an error")),
            None => {}
        }
    }
    let report = report::last(&text);
    parsed.complete = parsed.errors.is_empty() && (report.is_some() || options.is_silent());
    match report {
        Some(report) => claims(&report, options, chosen, &source(report.line, report.text), &mut parsed),
        None => {
            let foreign = |(_, line): &(u64, &str)| {
                report::is_records(line) && !line.ends_with(" records in") && !line.ends_with(" records out")
            };
            if let Some((number, line)) = report::lines(&text).find(foreign) {
                let message = "the report is in another language and is not read: run dd with LC_ALL=C";
                parsed.notes.push(note(number, line, message));
            }
        }
    }
    parsed
}

fn claims(report: &Report<'_>, options: &Options, chosen: Option<Subject>, source: &SourceLine, parsed: &mut Parsed) {
    let note = |message: &str| Note { source: source.clone(), message: message.to_owned() };
    if report.bytes == 0 {
        parsed.notes.push(note("nothing was copied: the rate is that of nothing"));
        return;
    }
    let (subject, reason) = subject(options, chosen);
    let claim = |number: usize, metric, value, printed: (&str, &str), resolution| Claim {
        id: format!("c{number}"),
        phase: PHASE.to_owned(),
        metric,
        value,
        printed: Printed { text: printed.0.to_owned(), unit: printed.1.to_owned() },
        resolution,
        subject,
        subject_reason: reason.clone(),
        claimed_bytes: Some(report.bytes),
        source: source.clone(),
    };
    match report.rate.filter(|_| report.seconds > 0.0) {
        Some(rate) => {
            // The bytes and the seconds of the line have more digits than its rate.
            let exact = report.bytes as f64 / report.seconds;
            let of_exact = exact * report.seconds_half_step / report.seconds;
            let printed = (rate.text, rate.unit);
            let quotient = (format!("{} bytes in {}", report.bytes_text, report.seconds), "s".to_owned());
            // Where they are not its digits, the rate is what the reader quotes.
            let agrees = (rate.bytes_per_sec - exact).abs() <= 2.0 * (rate.resolution + of_exact);
            let ((value, resolution), (other, of_other), again) = match agrees {
                true => (
                    (exact, of_exact),
                    (rate.bytes_per_sec, rate.resolution),
                    (rate.text.to_owned(), rate.unit.to_owned()),
                ),
                false => ((rate.bytes_per_sec, rate.resolution), (exact, of_exact), quotient),
            };
            parsed.claims.push(claim(1, Metric::Throughput, Quantity::bytes_per_sec(value), printed, resolution));
            parsed.restated.push(Restated {
                claim: "c1".to_owned(),
                value: Quantity::bytes_per_sec(other),
                printed: Printed { text: again.0, unit: again.1 },
                resolution: of_other,
                shared_resolution: 0.0,
                known_defect: None,
                source: source.clone(),
            });
        }
        None if report.seconds > 0.0 => parsed.contradictions.push(Contradiction {
            source: source.clone(),
            message: "a copy that took time has no endless rate".to_owned(),
            claims: Vec::new(),
            apart: Some(1.0),
        }),
        None => parsed.notes.push(note("dd's clock did not move: there is no rate")),
    }
    if let Some((whole, partial)) = report.records_out
        && let Some(block) = options.write_block().filter(|_| options.keeps_size())
    {
        let (least, most) = (whole as f64 * block as f64, whole.saturating_add(partial) as f64 * block as f64);
        let bytes = report.bytes as f64;
        if bytes < least || bytes > most {
            let nearest = if bytes < least { least } else { most };
            parsed.contradictions.push(Contradiction {
                source: source.clone(),
                message: format!("{whole}+{partial} records of {block} bytes are not {} bytes", report.bytes_text),
                claims: Vec::new(),
                apart: Some((nearest - bytes).abs() / bytes),
            });
        }
    }
    if options.keeps_size() {
        let number = parsed.claims.len() + 1;
        let printed = (report.bytes_text, "bytes");
        parsed.claims.push(claim(number, Metric::BytesMoved, Quantity::bytes(report.bytes), printed, 0.5));
    }
}

/// Returns what the figures are about, with the reason.
fn subject(options: &Options, chosen: Option<Subject>) -> (Subject, String) {
    if let Some(subject) = chosen {
        return (subject, "--subject".to_owned());
    }
    let no_storage = |side: Side| side == Side::NoStorage;
    if no_storage(options.input()) && no_storage(options.output()) {
        return (Subject::Cpu, "neither the input nor the output is storage".to_owned());
    }
    if no_storage(options.output()) {
        let reason = match options.has_iflag("direct") {
            true => "iflag=direct asks for direct I/O",
            false => "a read figure without further words is taken for the storage",
        };
        return (Subject::Device, reason.to_owned());
    }
    match options.durable() {
        Some(option) => (Subject::DurableWrite, format!("{option} makes the data durable inside the clock")),
        None if options.has_oflag("direct") => (Subject::Device, "oflag=direct asks for direct I/O".to_owned()),
        None => (Subject::Device, "a figure without further words is taken for the storage".to_owned()),
    }
}
