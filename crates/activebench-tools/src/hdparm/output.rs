//! hdparm's lines of timings as claims. Its MB are MiB, its kB KiB.

use activebench_model::claim::{Metric, Parsed, Subject};
use activebench_model::output::ToolOutput;

use super::timings::Timing;
use crate::printed::{About, Claims, Number, lines};

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// The figures of one line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) timing: Timing,
    /// `MB`.
    pub(super) moved: Number,
    pub(super) rate: Number,
    /// Bytes of the rate's unit, and the unit as printed.
    pub(super) unit: (f64, &'static str),
}

/// Reads ` Timing buffered disk reads: 256 MB in  0.20 seconds = 1251.14 MB/sec`; `None` for another line.
pub(super) fn figures(line: &str) -> Option<Figures> {
    // The offset of the reads may be between the label and the colon: ` (offset 1 GB)`.
    let (label, figures) = line.trim_start().strip_prefix("Timing ")?.split_once(':')?;
    let timing = match label.split('(').next().unwrap_or(label).trim_end() {
        "cached reads" | "O_DIRECT cached reads" => Timing::Cached,
        "buffered disk reads" | "O_DIRECT disk reads" => Timing::Disk,
        _ => return None,
    };
    let words: Vec<&str> = figures.split_whitespace().collect();
    let [moved, "MB", "in", _, "seconds", "=", ..] = words.as_slice() else { return None };
    let (rate, unit) = match words.get(6..)? {
        [rate, "MB/sec"] => (rate, (MIB, "MB/sec")),
        [rate, "kB/sec"] => (rate, (KIB, "kB/sec")),
        _ => return None,
    };
    Some(Figures { timing, moved: Number::parse(moved)?, rate: Number::parse(rate)?, unit })
}

/// Returns the claims of an output.
pub(super) fn parse(output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    let mut claims = Claims::default();
    let (mut device, mut is_cut) = (0, false);
    for line in lines(output) {
        let text = line.text.trim();
        if line.stream == "stderr" {
            if !text.is_empty() {
                parsed.errors.push(line.note("the tool reports an error"));
            }
            continue;
        }
        if let Some(version) = text.strip_prefix("hdparm v").filter(|_| line.is_whole) {
            parsed.version = Some(version.to_owned());
        }
        // The name of a device is alone in its line.
        if line.is_whole && line.text.ends_with(':') && !line.text.starts_with(' ') {
            device += 1;
        } else if let Some(figures) = figures(&line.text).filter(|_| line.is_whole || text.ends_with("/sec")) {
            let phase = figures.timing.id(device);
            if claims.made.iter().any(|claim| claim.phase == phase) {
                parsed.notes.push(line.note("the device has this timing already; a further one is not read"));
                continue;
            }
            let (subject, reason) = match chosen {
                Some(subject) => (subject, "--subject"),
                None => figures.timing.subject(),
            };
            let about = About { phase: &phase, subject: (subject, reason.to_owned()) };
            let rate = claims.add(&about, Metric::Throughput, &figures.rate, figures.unit, &line);
            let moved = claims.add(&about, Metric::BytesMoved, &figures.moved, (MIB, "MB"), &line);
            // Reads of 2 MiB are counted.
            claims.made[moved].resolution = 0.0;
            claims.made[rate].claimed_bytes = Some((figures.moved.value * MIB) as u64);
        } else if text.starts_with("Timing ") {
            is_cut = true;
            parsed.notes.push(line.note("the timing has no figure"));
        }
    }
    parsed.complete = !claims.made.is_empty() && !is_cut && parsed.errors.is_empty();
    parsed.claims = claims.made;
    parsed
}
