//! The words around a number: which way the data went, in which order, and whether the number is a figure at all.

use activebench_model::direction::Direction;
use activebench_model::units::Unit;

use super::units::{Found, unit_of_label};

/// The order of offsets that words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `seq`, `sequential`, `linear`.
    Sequential,
    /// `rand`, `random`.
    Random,
}

/// What the words around a number say.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    pub(super) direction: Option<Direction>,
    pub(super) order: Option<Order>,
    pub(super) is_statistic: bool,
    pub(super) is_extreme: bool,
    names_setting: bool,
    names_figure: bool,
}

impl Words {
    /// Reads the words around the number between two places of a line. `label` stands between the number before and
    /// this one, `head` above its column.
    pub(super) fn around(
        line: &str,
        start: usize,
        end: usize,
        label: &str,
        head: Option<&str>,
        heading: &Heading,
    ) -> Self {
        let after = &line[end..];
        let after = &after[..after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len())];
        // In order of nearness. What stands behind a comma belongs to the next number.
        let clause = &after[..after.find([',', ';', '|', '\t']).unwrap_or(after.len())];
        let clause = clause.split("  ").next().unwrap_or(clause);
        let near = [head.unwrap_or(""), label, clause];
        let all = [line, heading.text.as_str()];
        let named = |read: &dyn Fn(&str) -> Option<Direction>| {
            near.iter().find_map(|text| read(text)).or_else(|| read(&line[..start])).or_else(|| read(line))
        };
        let direction = named(&direction_of).or_else(|| direction_of(&heading.text));
        let order = near.iter().chain(&all).find_map(|text| order_of(text));
        let has =
            |texts: &[&str], names: &[&str]| texts.iter().any(|text| words(text).any(|word| is_one(&word, names)));
        let own = [head.unwrap_or(""), label, clause];
        let statistics = [own[0], own[1], own[2], heading.text.as_str()];
        Self {
            direction,
            order,
            is_statistic: has(&statistics, STATISTICS),
            is_extreme: has(&own, EXTREMES),
            names_setting: has(&own, SETTINGS),
            names_figure: has(&own, FIGURES),
        }
    }

    /// Returns true if the number states a setting and not a result.
    pub(super) fn is_setting(&self, unit: Unit) -> bool {
        match unit {
            Unit::Bytes | Unit::Ns | Unit::Count => self.names_setting && !self.names_figure,
            _ => self.names_setting && !self.names_figure && self.direction.is_none(),
        }
    }
}

const STATISTICS: &[&str] = &[
    "latency",
    "lat",
    "clat",
    "slat",
    "avg",
    "average",
    "mean",
    "median",
    "min",
    "max",
    "minimum",
    "maximum",
    "stddev",
    "stdev",
    "mdev",
    "percentile",
    "percentiles",
    "p50",
    "p90",
    "p95",
    "p99",
    "fairness",
    "variance",
];

const EXTREMES: &[&str] =
    &["min", "max", "minimum", "maximum", "stddev", "stdev", "mdev", "variance", "percentile", "samples", "peak"];

const SETTINGS: &[&str] = &[
    "timestamp",
    "size",
    "sizes",
    "blocksize",
    "limit",
    "limits",
    "buffer",
    "buffers",
    "memory",
    "ram",
    "free",
    "available",
    "timeout",
    "interval",
    "target",
    "every",
    "each",
    "stripe",
    "alignment",
    "offset",
    "warmup",
    "cached",
    "configured",
    "threads",
    "seed",
    "version",
    "max_size",
    "cpucache",
    "pagesize",
    "sector",
];

const FIGURES: &[&str] = &["copied", "transferred", "moved", "wrote", "written", "throughput", "bandwidth", "elapsed"];

fn is_one(word: &str, names: &[&str]) -> bool {
    names.contains(&word)
}

/// Returns the words of a text in lower case; those of `writeSpeed`, `write_speed` and `write-speed` are two.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut parts: Vec<String> = Vec::new();
    let mut is_inside = false;
    let mut was_lower = false;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            is_inside = false;
            continue;
        }
        let begins = !is_inside || (was_lower && c.is_ascii_uppercase());
        if begins {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut() {
            last.push(c.to_ascii_lowercase());
        }
        is_inside = true;
        was_lower = c.is_ascii_lowercase();
    }
    parts.into_iter()
}

/// Returns the direction that a text names last.
pub(crate) fn direction_of(text: &str) -> Option<Direction> {
    // `read/write`, `r/w`, `rw`: both together.
    let lower = text.to_ascii_lowercase();
    if ["read/write", "read-write", "read+write", "r/w", "reads/writes"].iter().any(|both| lower.contains(both)) {
        return Some(Direction::Mixed);
    }
    let mut found = None;
    for word in words(text) {
        let one = match word.as_str() {
            "rw" | "readwrite" | "randrw" | "combined" | "mixed" => Direction::Mixed,
            "read" | "reads" | "reading" | "reader" | "rd" | "randread" | "seqread" | "reread" | "readback" | "r" => {
                Direction::Read
            }
            "write" | "writes" | "writing" | "written" | "wrote" | "writer" | "wr" | "randwrite" | "seqwrite"
            | "rewrite" | "overwrite" | "w" | "append" | "appended" => Direction::Write,
            other if other.starts_with("seqrd") || other.starts_with("rndrd") => Direction::Read,
            other if other.starts_with("seqwr") || other.starts_with("rndwr") => Direction::Write,
            _ => continue,
        };
        // Of several, the last is the nearest.
        found = Some(one);
    }
    found
}

/// Returns the order of offsets that a text names last.
pub(crate) fn order_of(text: &str) -> Option<Order> {
    let mut found = None;
    for word in words(text) {
        if word.starts_with("rand") || word.starts_with("rnd") {
            found = Some(Order::Random);
        } else if word.starts_with("seq") || word == "linear" {
            found = Some(Order::Sequential);
        }
    }
    found
}

/// Returns true if the word before a number makes it an identifier: of a process, a version.
pub(super) fn is_identifier(label: &str) -> bool {
    let last = words(label).last();
    last.is_some_and(|last| matches!(last.as_str(), "pid" | "tid" | "version" | "v" | "port" | "seed" | "id" | "line"))
}

/// The last line that heads those below it.
#[derive(Clone, Debug, Default)]
pub(super) struct Heading {
    pub(super) text: String,
    indent: usize,
    unit: Option<Found>,
}

impl Heading {
    /// Longest heading that does not end with a colon, in words.
    const MOST_WORDS: usize = 5;

    /// Takes a line for the heading if it looks like one: it ends with a colon or a bracket, or is short, and has no
    /// number.
    pub(super) fn read(&mut self, line: &str, has_number: bool) {
        let text = line.trim();
        let is_marked = text.ends_with([':', '{', '[']);
        let is_short = text.split_whitespace().count() <= Self::MOST_WORDS && !text.ends_with(['.', ',']);
        if has_number || !(is_marked || is_short) || !text.contains(char::is_alphabetic) {
            return;
        }
        let in_brackets = text.find('(').map(|at| &text[at..]).and_then(unit_of_label);
        *self = Self { text: text.to_owned(), indent: indent(line), unit: in_brackets };
    }

    /// Returns the unit that it states for a line below it, which is indented further.
    pub(super) fn unit(&self, line: &str) -> Option<Found> {
        self.unit.clone().filter(|_| indent(line) > self.indent)
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Splits a line at two or more blanks.
pub(super) fn wide_cells(line: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut cells = Vec::new();
    for cell in line.split("  ") {
        if !cell.trim().is_empty() {
            cells.push((at, cell));
        }
        at += cell.len() + 2;
    }
    cells
}
