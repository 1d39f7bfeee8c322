//! What the user says that numbers of an output mean: `--claim 'write=(\d+) MB/s'`.

use activebench_model::claim::{Metric, Printed, SourceLine};
use activebench_model::direction::Direction;
use activebench_model::output::ToolOutput;
use activebench_model::units::Unit;
use regex::{Regex, RegexBuilder};

use crate::printed_numbers::{Counted, Order, PrintedNumber, Reading, each_line, number_of, unit_at};

/// How to write one, for messages.
pub const HOW: &str = r"write `write=wrote (\d+) MB/s`, `randread=([\d.]+) IOPS`, `read p99=p99: ([\d.]+) us`";

/// Bytes of memory that a compiled expression may need.
const MOST_REGEX_BYTES: usize = 1 << 20;

/// Largest number of figures that one statement finds: the last ones.
const MOST_MATCHES: usize = 32;

/// Latencies by the words that choose one, as in `--target`.
const LATENCIES: &[(&str, Metric)] = &[
    ("mean", Metric::LatencyMean),
    ("p50", Metric::LatencyP50),
    ("p95", Metric::LatencyP95),
    ("p99", Metric::LatencyP99),
    ("p99.9", Metric::LatencyP999),
    ("max", Metric::LatencyMax),
];

/// Directions and orders by their names.
const NAMES: &[(&str, Direction, Option<Order>)] = &[
    ("read", Direction::Read, None),
    ("write", Direction::Write, None),
    ("randread", Direction::Read, Some(Order::Random)),
    ("randwrite", Direction::Write, Some(Order::Random)),
    ("seqread", Direction::Read, Some(Order::Sequential)),
    ("seqwrite", Direction::Write, Some(Order::Sequential)),
    ("rw", Direction::Mixed, None),
    ("randrw", Direction::Mixed, Some(Order::Random)),
];

/// What a number of an output means.
#[derive(Clone, Debug)]
pub struct StatedClaim {
    direction: Direction,
    order: Option<Order>,
    latency: Option<Metric>,
    expression: Regex,
    unit: Unit,
    factors: Vec<f64>,
    counted: Counted,
    unit_text: String,
}

/// A number that a statement found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatedNumber {
    pub(crate) number: PrintedNumber,
    /// The latency that it states; `None` for a figure that the pass itself has.
    pub(crate) latency: Option<Metric>,
}

impl StatedClaim {
    /// Reads `NAME[ mean|p50|p95|p99|p99.9|max]=REGEX` with one group and a unit behind it.
    ///
    /// # Errors
    /// A message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault = |what: String| format!("{what} (hint: {HOW})");
        let (name, expression) =
            text.split_once('=').ok_or_else(|| fault(format!("no `=` behind the name in {text:?}")))?;
        let mut words: Vec<&str> = name.split_whitespace().collect();
        let latency = words.last().and_then(|last| LATENCIES.iter().find(|(word, _)| word == last));
        if latency.is_some() {
            words.pop();
        }
        let known = || NAMES.iter().map(|(word, ..)| *word).collect::<Vec<_>>().join(", ");
        let [name] = words[..] else {
            return Err(fault(format!("{name:?} is not one name of {}", known())));
        };
        let (_, direction, order) = NAMES
            .iter()
            .find(|(word, ..)| *word == name)
            .ok_or_else(|| fault(format!("{name:?} is not one of {}", known())))?;
        let compiled = RegexBuilder::new(expression)
            .size_limit(MOST_REGEX_BYTES)
            .dfa_size_limit(MOST_REGEX_BYTES)
            .build()
            .map_err(|why| fault(format!("{expression:?} is not a regular expression: {}", last_line(&why))))?;
        if compiled.captures_len() != 2 {
            return Err(fault(format!(
                "{expression:?} has {} groups, and the number is one",
                compiled.captures_len() - 1
            )));
        }
        let behind = behind_group(expression).unwrap_or_default();
        let unit = unit_at(&behind).ok_or_else(|| {
            let words = "`MB/s`, `KiB/s`, `IOPS`, `ops/s`, `us`, `us/op`, `bytes`, `ops`";
            fault(format!("no unit of a figure behind the group of {expression:?}: one like {words} is needed"))
        })?;
        let latency = latency.map(|(_, metric)| *metric);
        let is_time = unit.unit == Unit::Ns && unit.counted != Counted::PerOperation;
        let latency = match (is_time, latency) {
            (true, latency) => Some(latency.unwrap_or(Metric::LatencyMean)),
            (false, Some(_)) => return Err(fault(format!("{name:?} is a latency, and {} is not a time", unit.text))),
            (false, None) => None,
        };
        Ok(Self {
            direction: *direction,
            order: *order,
            latency,
            expression: compiled,
            unit: unit.unit,
            factors: unit.factors,
            counted: unit.counted,
            unit_text: unit.text,
        })
    }

    /// Finds its numbers in an output, the last ones.
    pub(crate) fn numbers(&self, output: &ToolOutput) -> Vec<StatedNumber> {
        let mut found = Vec::new();
        each_line(output, |stream, line, text, begin| {
            let Some(group) = self.expression.captures(text).and_then(|captures| captures.get(1)) else { return };
            let Some((value, step)) = number_of(group.as_str()) else { return };
            let readings = Reading::all(value, step, &self.factors);
            if readings.is_empty() {
                return;
            }
            let number = PrintedNumber {
                unit: self.unit,
                readings,
                counted: self.counted,
                printed: Printed { text: group.as_str().to_owned(), unit: self.unit_text.clone() },
                direction: Some(self.direction),
                operation: None,
                order: self.order,
                is_statistic: self.latency.is_some(),
                is_extreme: false,
                of_task: None,
                is_mean_of_several: false,
                is_unsynced: false,
                column: None,
                row: None,
                source: SourceLine { stream: stream.to_owned(), line, text: text.to_owned() },
                place: group.range(),
                end: group.end(),
                printed_bytes: begin + group.end() as u64,
            };
            found.push(StatedNumber { number, latency: self.latency });
        });
        let excess = found.len().saturating_sub(MOST_MATCHES);
        found.drain(..excess);
        found
    }
}

/// Returns the part of an error that names it; the others show the expression.
fn last_line(why: &regex::Error) -> String {
    let text = why.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Returns the plain text behind the only group that captures.
fn behind_group(expression: &str) -> Option<String> {
    let mut depth = 0_u32;
    let mut group_at = None;
    let mut is_class = false;
    let mut characters = expression.char_indices();
    let mut end = None;
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            '[' => is_class = true,
            ']' => is_class = false,
            '(' if !is_class => {
                depth += 1;
                let rest = &expression[at + 1..];
                let captures = !rest.starts_with('?') || rest.starts_with("?P<") || rest.starts_with("?<");
                if captures {
                    group_at = Some(depth);
                }
            }
            ')' if !is_class => {
                if group_at == Some(depth) {
                    end = Some(at + 1);
                    break;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    let mut text = expression[end?..].to_owned();
    for (written, meant) in
        [(r"\s*", " "), (r"\s+", " "), (r"\s", " "), (" +", " "), (" *", " "), (r"\b", ""), ("$", "")]
    {
        text = text.replace(written, meant);
    }
    Some(text.replace('\\', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_finds_its_numbers_with_their_unit() {
        let claim = StatedClaim::parse(r"write=wrote at ([\d.]+)\s*MiB/s$").expect("good");
        let output = ToolOutput { stdout: b"read at 5 MiB/s\nwrote at 2.5 MiB/s\n".to_vec(), ..ToolOutput::default() };
        let found = claim.numbers(&output);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].number.readings, Reading::all(2.5, 0.1, &[1_048_576.0]));
        assert_eq!((found[0].number.direction, found[0].number.source.line), (Some(Direction::Write), 2));
        let latency = StatedClaim::parse(r"randread p99=99th: (\d+) us").expect("good");
        assert_eq!(latency.latency, Some(Metric::LatencyP99));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_a_hint() {
        for (text, expected) in [
            ("write", "no `=` behind the name"),
            (r"speed=(\d+) MB/s", "\"speed\" is not one of read, write"),
            (r"write=(\d+ MB/s", "is not a regular expression"),
            (r"write=\d+ MB/s", "has 0 groups"),
            (r"write=(\d+)(.*) MB/s", "has 2 groups"),
            (r"write=(\d+) apples", "no unit of a figure"),
            (r"write=(\d+)", "no unit of a figure"),
            (r"write p99=(\d+) MB/s", "is not a time"),
            (r"write=(\d{1000}{1000}) MB/s", "is not a regular expression"),
        ] {
            let why = StatedClaim::parse(text).expect_err(text);
            assert!(why.contains(expected) && why.contains("hint"), "{text}: {why}");
        }
    }
}
