//! db_bench's lines among other words.

use crate::pasted::Forms;
use crate::printed::Number;

pub(super) const FORMS: Forms =
    Forms { begins, states_figures: |line| result(line).is_some(), states_command: |_| false };

/// A line of results.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures<'a> {
    /// The benchmark.
    pub(super) name: &'a str,
    /// Operations per second of all threads over the clock of the slowest.
    pub(super) rate: Number,
    pub(super) operations: Number,
    /// Bytes of keys and values, in MiB per second; `None` where none were moved.
    pub(super) data: Option<Number>,
}

/// Reads `fillseq      :       4.689 micros/op 213262 ops/sec 1.407 seconds 300000 operations;   23.6 MB/s`.
pub(super) fn result(line: &str) -> Option<Figures<'_>> {
    let (name, rest) = line.split_once(':')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [time, "micros/op", rate, "ops/sec", seconds, "seconds", operations, "operations;", others @ ..] =
        words.as_slice()
    else {
        return None;
    };
    Number::parse(time)?;
    Number::parse(seconds)?;
    let data = match others {
        [number, "MB/s", ..] => Some(Number::parse(number)?),
        _ => None,
    };
    let name = name.trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-[]".contains(&byte));
    is_name.then_some(Figures { name, rate: Number::parse(rate)?, operations: Number::parse(operations)?, data })
}

/// Reads `Keys:       16 bytes each (+ 0 bytes user-defined timestamp)`.
pub(super) fn size_each(line: &str, name: &str) -> Option<f64> {
    let (bytes, rest) = line.strip_prefix(name)?.trim_start().split_once(" bytes each")?;
    let is_all = !rest.contains("(+ ") || rest.contains("(+ 0 bytes ");
    Number::parse(bytes).filter(|_| is_all).map(|number| number.value)
}

/// Each run states the sizes of its keys once.
fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| lines[*index].starts_with("Keys: ")).skip(1).collect()
}
