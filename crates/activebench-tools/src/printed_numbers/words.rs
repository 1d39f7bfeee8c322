//! The words around a number: which way the data went, in which order, and whether the number is a figure at all.

use std::sync::LazyLock;

use activebench_model::direction::Direction;
use activebench_model::units::Unit;
use regex::Regex;

use super::units::{Counted, Found, size, unit_at, unit_of_label};
use super::{OfTask, Operation, numerals};

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
    pub(super) is_unsynced: bool,
    pub(super) of_task: Option<OfTask>,
    /// True if they say that the number is a mean of several.
    pub(super) is_mean_of_several: bool,
    /// What one operation is, where they describe it.
    pub(super) operation: Option<Operation>,
    /// `created`, `deleted`: what happens to the files.
    happens: Option<Counted>,
    names_setting: bool,
    names_limit: bool,
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
        let of_head = head.and_then(direction_of_head);
        let direction =
            of_head.or_else(|| named(&direction_of)).or_else(|| heading.direction_for(line, head.is_some()));
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
            of_task: of_task(&own),
            is_mean_of_several: is_mean_of_several(line),
            is_unsynced: all.iter().any(|text| is_unsynced(text)),
            operation: operation_of(line).or_else(|| operation_of(&heading.text)),
            happens: own.iter().rev().chain([&&line[..start]]).find_map(|text| happens(text)),
            names_setting: has(&own, SETTINGS) || has(&own, LIMITS),
            names_limit: has(&own, LIMITS),
            names_figure: has(&own, FIGURES),
        }
    }

    /// Returns what is counted: files, where the words say what happens to them, are made or deleted.
    pub(super) fn counted(&self, counted: Counted) -> Counted {
        match counted {
            Counted::Files | Counted::Operations => self.happens.unwrap_or(counted),
            counted => counted,
        }
    }

    /// Returns true if the number states a setting and not a result.
    pub(super) fn is_setting(&self, unit: Unit) -> bool {
        match unit {
            Unit::Bytes | Unit::Ns | Unit::Count => self.names_setting && !self.names_figure,
            // `4 threads: 58394 IOPS` says of which load the rate is.
            _ => self.names_limit && !self.names_figure && self.direction.is_none(),
        }
    }
}

/// Words of a latency and of statistics.
pub(crate) const STATISTICS: &[&str] = &[
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

/// Words of what is set, and is no rate.
const SETTINGS: &[&str] = &[
    "timestamp",
    "size",
    "sizes",
    "blocksize",
    "timeout",
    "interval",
    "stripe",
    "alignment",
    "offset",
    "threads",
    "seed",
    "version",
    "max_size",
    "pagesize",
    "sector",
];

/// Words of what is set, allowed or there, rates too.
const LIMITS: &[&str] = &[
    "limit",
    "limits",
    "buffer",
    "buffers",
    "memory",
    "ram",
    "free",
    "available",
    "target",
    "every",
    "each",
    "warmup",
    "cached",
    "configured",
    "cpucache",
];

const FIGURES: &[&str] = &["copied", "transferred", "moved", "wrote", "written", "throughput", "bandwidth", "elapsed"];

/// Words for everything together.
const ALL: &[&str] = &["total", "all", "overall", "combined", "aggregate", "sum", "together"];

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

/// Returns the statistic of the tasks that words name: `Min throughput per process`.
fn of_task(texts: &[&str]) -> Option<OfTask> {
    let all: Vec<String> = texts.iter().flat_map(|text| words(text)).collect();
    let is_task = |word: &String| {
        matches!(
            word.as_str(),
            "process" | "thread" | "child" | "task" | "job" | "client" | "worker" | "writer" | "reader"
        )
    };
    all.windows(2).any(|pair| pair[0] == "per" && is_task(&pair[1])).then_some(())?;
    all.iter().find_map(|word| match word.as_str() {
        "min" | "minimum" | "lowest" => Some(OfTask::Min),
        "max" | "maximum" | "highest" => Some(OfTask::Max),
        "avg" | "average" | "mean" => Some(OfTask::Mean),
        _ => None,
    })
}

/// A mean and what it is of.
static MEAN_OF: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:mean|average|avg|median) of (\d+)\b").expect("the expression is right"));

/// Returns true for `mean of 2 instances`: a figure of none of them. In `average of 809 MiB/s` the number is the mean.
fn is_mean_of_several(text: &str) -> bool {
    MEAN_OF.captures_iter(text).any(|found| {
        let number = found.get(1).expect("the group is not optional");
        let rest = &text[number.end()..];
        let is_whole = !rest.starts_with(['.', ',']) || rest[1..].starts_with(|c: char| !c.is_ascii_digit());
        let has_unit = unit_at(rest).is_some_and(|found| found.unit != Unit::Count);
        is_whole && !has_unit && number.as_str().parse::<u64>().is_ok_and(|several| several > 1)
    })
}

/// Returns true for a text that says that nothing is synced.
fn is_unsynced(text: &str) -> bool {
    let words: Vec<String> = words(text).collect();
    let is_negated =
        |pair: &[String]| matches!(pair[0].as_str(), "no" | "non" | "not" | "without") && is_sync(&pair[1]);
    words.iter().any(|word| ["un", "non", "no"].iter().any(|no| word.strip_prefix(no).is_some_and(is_sync)))
        || words.windows(2).any(is_negated)
}

fn is_sync(word: &str) -> bool {
    matches!(word, "sync" | "synced" | "syncs" | "fsync" | "fsyncs" | "synchronized" | "flushed")
}

/// Returns what a text says of files: that they are made, or deleted.
fn happens(text: &str) -> Option<Counted> {
    words(text).find_map(|word| match word.as_str() {
        "create" | "creates" | "created" | "creation" | "creations" => Some(Counted::Creates),
        "delete" | "deletes" | "deleted" | "deletion" | "deletions" | "unlink" | "unlinks" | "unlinked" => {
            Some(Counted::Deletes)
        }
        _ => None,
    })
}

/// Returns the operation that a text describes: `two 8kB writes`, `16 *  1kB open_sync writes`.
fn operation_of(text: &str) -> Option<Operation> {
    const NAMES: [&str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
    let tokens: Vec<&str> = text.split_whitespace().collect();
    tokens.iter().enumerate().find_map(|(place, token)| {
        let named = NAMES.iter().position(|name| name.eq_ignore_ascii_case(token)).map(|place| place as u64 + 1);
        let (is_product, sized) = match tokens.get(place + 1)? {
            &("*" | "x" | "×") => (true, tokens.get(place + 2)?),
            next => (false, next),
        };
        let calls = named.or_else(|| token.parse().ok().filter(|_| is_product))?;
        let numeral = numerals(sized).next().filter(|numeral| numeral.start == 0)?;
        let factors = size(&sized[numeral.end..])?;
        let bytes = |factor: Option<&f64>| factor.map(|factor| (numeral.value * factor) as u64);
        Some(Operation { calls, call_bytes: [bytes(factors.first())?, bytes(factors.last())?] })
    })
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
            "read" | "reads" | "reading" | "reader" | "readers" | "rd" | "randread" | "rread" | "seqread"
            | "reread" | "rereaders" | "readback" | "fread" | "freread" | "r" | "lesen" | "gelesen" | "lecture"
            | "lectura" | "lettura" | "leitura" => Direction::Read,
            "write" | "writes" | "writing" | "written" | "wrote" | "writer" | "writers" | "wr" | "randwrite"
            | "rwrite" | "seqwrite" | "rewrite" | "rewriters" | "overwrite" | "fwrite" | "frewrite" | "w"
            | "append" | "appended" | "schreiben" | "geschrieben" | "criture" | "escritura" | "scrittura"
            | "escrita" => Direction::Write,
            other if other.starts_with("seqrd") || other.starts_with("rndrd") => Direction::Read,
            other if other.starts_with("seqwr") || other.starts_with("rndwr") => Direction::Write,
            _ => continue,
        };
        // Of several, the last is the nearest.
        found = Some(one);
    }
    found
}

/// Returns the direction that the head of a column names: `Sequential Output` is a write there.
pub(crate) fn direction_of_head(head: &str) -> Option<Direction> {
    let of_stream = || {
        words(head).find_map(|word| match word.as_str() {
            "input" => Some(Direction::Read),
            "output" => Some(Direction::Write),
            _ => None,
        })
    };
    direction_of(head).or_else(of_stream)
}

/// Returns the order of offsets that a text names last.
pub(crate) fn order_of(text: &str) -> Option<Order> {
    let mut found = None;
    for word in words(text) {
        if word.starts_with("rand") || word.starts_with("rnd") || matches!(word.as_str(), "rread" | "rwrite") {
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
    /// True if it ends with a colon or a bracket.
    is_marked: bool,
    /// The direction that an earlier line of the present block names, without a blank line between.
    of_block: Option<Direction>,
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
        // A short line below a heading is one of its own.
        if !is_marked && self.is_marked && indent(line) > self.indent {
            return;
        }
        let in_brackets = text.find('(').map(|at| &text[at..]).and_then(unit_of_label);
        // What a heading names goes before the lines above it.
        let of_block = self.of_block.filter(|_| direction_of(text).is_none());
        *self = Self { text: text.to_owned(), indent: indent(line), unit: in_brackets, of_block, is_marked };
    }

    /// Ends where a line is indented less than a heading with a colon or a bracket: that line is not below it.
    pub(super) fn leave(&mut self, line: &str) {
        if self.is_marked && indent(line) < self.indent {
            *self = Self { of_block: self.of_block, ..Self::default() };
        }
    }

    /// Takes a line of a block with figures.
    pub(super) fn read_block(&mut self, line: &str) {
        self.of_block = direction_of(line).or(self.of_block);
    }

    /// Returns the direction that the lines before this one name, if it does not speak of all.
    /// Rows of a table do not continue each other.
    fn direction_for(&self, line: &str, is_row: bool) -> Option<Direction> {
        if words(line).any(|word| is_one(&word, ALL)) {
            return None;
        }
        self.of_block.filter(|_| !is_row).or_else(|| direction_of(&self.text))
    }

    /// Ends the block: a blank line.
    pub(super) fn end_block(&mut self) {
        self.of_block = None;
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
