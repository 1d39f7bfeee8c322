//! pg_test_fsync's output as claims: one rate for each line. Its time of one operation is rounded to microseconds, and
//! restates the rate.

use activebench_model::claim::{Metric, Parsed, Printed, Restated, Subject};
use activebench_model::output::ToolOutput;
use activebench_model::units::Quantity;

use super::tests::{Method, Section, Test};
use crate::printed::{About, Claims, Line, Number, lines};

/// The size of a write, if no section stated one.
const BLOCK_KIB: u64 = 8;

/// Returns the claims of an output.
pub(super) fn parse(output: &ToolOutput, chosen: Option<Subject>) -> Parsed {
    let mut reader = Reader { section: None, block_kib: BLOCK_KIB, claims: Claims::default(), chosen };
    let mut parsed = Parsed { tool: super::PROGRAM.name.to_owned(), ..Parsed::default() };
    for line in lines(output) {
        if let Some(version) = line.text.strip_prefix("pg_test_fsync (PostgreSQL) ").filter(|_| line.is_whole) {
            parsed.version = version.split(' ').next().map(str::to_owned);
        }
        if line.stream == "stderr" && !line.text.trim().is_empty() {
            parsed.errors.push(line.note("the tool reports an error"));
        } else {
            reader.read(&line, &mut parsed);
        }
    }
    let is_last = |test: &Test| test.method == Method::Write;
    parsed.complete = parsed.errors.is_empty()
        && reader.claims.made.last().is_some_and(|claim| tests(std::slice::from_ref(&claim.phase)).iter().any(is_last));
    parsed.claims = reader.claims.made;
    parsed
}

/// Returns the tests of phases, in their order.
pub(super) fn tests(ids: &[String]) -> Vec<Test> {
    let all = Test::all();
    ids.iter().filter_map(|id| all.iter().find(|test| test.id() == *id).copied()).collect()
}

struct Reader {
    section: Option<Section>,
    block_kib: u64,
    claims: Claims,
    chosen: Option<Subject>,
}

impl Reader {
    fn read(&mut self, line: &Line, parsed: &mut Parsed) {
        let text = line.text.trim_start();
        if let Some(section) = Section::of_header(text).filter(|_| line.is_whole) {
            if let Section::OneWrite(kib) | Section::TwoWrites(kib) | Section::Unsynced(kib) = section {
                self.block_kib = kib;
            }
            self.section = Some(section);
            return;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let [label @ .., rate, "ops/sec", time, "usecs/op"] = words.as_slice() else { return };
        let label = label.join(" ");
        let (Some(rate), Some(time)) = (Number::parse(rate), Number::parse(time)) else {
            parsed.notes.push(line.note("the figures of this line cannot be read"));
            return;
        };
        let test = self.section.and_then(|section| Test::of_label(section, &label, self.block_kib));
        let Some(test) = test else {
            parsed.notes.push(line.note("the test of this line is not known, so its figures are not read"));
            return;
        };
        let phase = test.id();
        if self.claims.made.iter().any(|claim| claim.phase == phase) {
            parsed.notes.push(line.note("the test has a figure already; a further one is not read"));
            return;
        }
        let (subject, reason) = match self.chosen {
            Some(subject) => (subject, "--subject"),
            None => test.subject(),
        };
        let about = About { phase: &phase, subject: (subject, reason.to_owned()) };
        let place = self.claims.add(&about, Metric::OperationRate, &rate, (1.0, "ops/sec"), line);
        parsed.restated.extend(restated(&self.claims.made[place].id, &time, line));
    }
}

/// Returns the time of one operation as a rate; `None` for a time that is rounded to zero.
fn restated(claim: &str, time: &Number, line: &Line) -> Option<Restated> {
    let shortest = time.value - time.half_step;
    let rate = |us: f64| 1e6 / us;
    (shortest > 0.0).then(|| Restated {
        claim: claim.to_owned(),
        value: Quantity::ops_per_sec(rate(time.value)),
        printed: Printed { text: time.text.clone(), unit: "usecs/op".to_owned() },
        // The rate differs by more below the printed time than above it.
        resolution: rate(shortest) - rate(time.value),
        shared_resolution: 0.0,
        known_defect: None,
        source: line.source(),
    })
}
