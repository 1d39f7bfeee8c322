//! dbench's lines among other words.

use crate::pasted::Forms;
use crate::printed::Number;

pub(super) const FORMS: Forms = Forms {
    begins,
    states_figures: |line| throughput(line).is_some() || second(line).is_some(),
    states_command: |_| false,
};

/// Returns true for `dbench version 4.00 - Copyright Andrew Tridgell 1999-2004`.
pub(super) fn is_banner(line: &str) -> bool {
    version(line).is_some()
}

/// Returns the version that the first line states.
pub(super) fn version(line: &str) -> Option<&str> {
    line.strip_prefix("dbench version ")?.split_once(" - Copyright").map(|(version, _)| version)
}

/// Returns the number of `Throughput 27.7884 MB/sec  1 clients  1 procs  max_latency=10.034 ms`.
pub(super) fn throughput(line: &str) -> Option<Number> {
    let mut words = line.split_whitespace();
    let number = (words.next()? == "Throughput").then(|| words.next()).flatten()?;
    let is_own = words.next() == Some("MB/sec") && line.contains(" procs ");
    is_own.then(|| Number::parse(number)).flatten()
}

/// The kind of a line of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    /// Before the clock.
    Warmup,
    /// While the clock runs.
    Execute,
}

/// Reads `   1     12157    27.79 MB/sec  execute   3 sec  latency 8.700 ms`.
pub(super) fn second(line: &str) -> Option<Second> {
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [_, _, rate, "MB/sec", word, _, "sec", "latency", _, "ms"] if Number::parse(rate).is_some() => match *word {
            "warmup" => Some(Second::Warmup),
            "execute" => Some(Second::Execute),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the seconds of `Running for 4 seconds with load 'x' and minimum warmup 0 secs`.
pub(super) fn warmup_seconds(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Running for ")?;
    rest.rsplit_once(" and minimum warmup ")?.1.strip_suffix(" secs")?.parse().ok()
}

/// The line before the clock starts.
pub(super) const RELEASED: &str = "releasing clients";

fn begins(lines: &[&str]) -> Vec<usize> {
    (0..lines.len()).filter(|index| is_banner(lines[*index])).skip(1).collect()
}
