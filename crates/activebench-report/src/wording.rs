//! Shared wording: lists, plurals, shell words, names of metrics and signals.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use activebench_model::claim::{Metric, Note};
pub(crate) use activebench_model::command::{shell_command, shell_word};
use activebench_model::errno::signal_name;
use activebench_model::report::JudgedRun;

/// Maximum phases named in one place; the rest is counted.
pub(crate) const PHASES_NAMED: usize = 6;

/// Number with its noun: `1 claim`, `2 claims`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Joins items: `a, b, c`, or `a, b and 7 more` beyond `most` items.
pub(crate) fn list<T: AsRef<str>>(items: &[T], most: usize) -> String {
    let shown: Vec<&str> = items.iter().take(most).map(AsRef::as_ref).collect();
    let left_out = items.len().saturating_sub(most);
    if left_out == 0 { shown.join(", ") } else { format!("{} and {left_out} more", shown.join(", ")) }
}

/// Groups the left sides by equal right sides. Both keep the order of first appearance, and left sides are not
/// repeated.
pub(crate) fn merged<L, R>(pairs: impl IntoIterator<Item = (L, R)>) -> Vec<(Vec<L>, R)>
where
    L: Clone + Eq + Hash,
    R: Clone + Eq + Hash,
{
    let mut groups: Vec<(Vec<L>, R)> = Vec::new();
    let mut places: HashMap<R, usize> = HashMap::new();
    let mut known: HashSet<(usize, L)> = HashSet::new();
    for (left, right) in pairs {
        let place = *places.entry(right).or_insert_with_key(|right| {
            groups.push((Vec::new(), right.clone()));
            groups.len() - 1
        });
        if known.insert((place, left.clone())) {
            groups[place].0.push(left);
        }
    }
    groups
}

/// Line of output with the parser's message: `stdout line 7: "Error writing block"`.
pub(crate) fn quoted(note: &Note) -> String {
    let source = &note.source;
    format!("{} line {}: \"{}\" ({})", source.stream, source.line, source.text.trim(), note.message)
}

/// Converts seconds since the epoch to RFC 3339 in UTC; `None` if they are not a valid date.
pub(crate) fn utc(unix_s: i64) -> Option<String> {
    let date = time::OffsetDateTime::from_unix_timestamp(unix_s).ok()?;
    date.format(&time::format_description::well_known::Rfc3339).ok()
}

/// A time for people: `2026-11-21 05:25:30 UTC`.
pub(crate) fn started(unix_s: i64) -> String {
    let stamp = time::OffsetDateTime::from_unix_timestamp(unix_s).ok();
    let format = time::macros::format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");
    stamp.and_then(|at| at.format(format).ok()).unwrap_or_else(|| format!("{unix_s} s after 1970"))
}

/// Returns a range, with one unit if both ends have it: `90.2 to 93.5 MiB/s`.
pub(crate) fn between(low: &str, high: &str) -> String {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((low, unit)), Some((_, same))) if unit == same => format!("{low} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// Returns a fragment as the beginning of a sentence.
pub(crate) fn capitalised(fragment: &str) -> String {
    let mut characters = fragment.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Name of a metric for people.
pub(crate) fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::OperationRate => "operation rate",
        Metric::TimePerOperation => "time per operation",
        Metric::SumOfTaskThroughput | Metric::SumOfTaskOperationRate => "sum of tasks",
        Metric::ParentThroughput | Metric::ParentOperationRate => "parent",
        Metric::MinTaskThroughput => "slowest task",
        Metric::MaxTaskThroughput => "fastest task",
        Metric::MeanTaskThroughput => "mean of tasks",
        Metric::TaskThroughput => "one task",
        Metric::BytesMoved => "bytes moved",
        Metric::MinTaskBytes => "fewest bytes",
        Metric::OperationsDone => "operations",
        Metric::LatencyMean => "mean latency",
        Metric::LatencyP50 => "median latency",
        Metric::LatencyP95 => "p95 latency",
        Metric::LatencyP99 => "p99 latency",
        Metric::LatencyP999 => "p99.9 latency",
        Metric::LatencyMax => "longest latency",
        Metric::CompletionLatencyMean => "mean completion latency",
        Metric::CompletionLatencyP50 => "median completion latency",
        Metric::CompletionLatencyP95 => "p95 completion latency",
        Metric::CompletionLatencyP99 => "p99 completion latency",
        Metric::CompletionLatencyP999 => "p99.9 completion latency",
        Metric::SyncsDone => "syncs",
        Metric::SyncLatencyMean => "mean sync latency",
        Metric::SyncLatencyP50 => "median sync latency",
        Metric::SyncLatencyP95 => "p95 sync latency",
        Metric::SyncLatencyP99 => "p99 sync latency",
        Metric::SyncLatencyP999 => "p99.9 sync latency",
        Metric::CpuUser => "CPU in user mode",
        Metric::CpuSystem => "CPU in the kernel",
        Metric::CpuTotal => "CPU",
    }
}

/// Name of a signal: `signal 9 (SIGKILL)`. Numbers as on x86-64 and arm64 (signal(7)).
pub(crate) fn signal(number: i32) -> String {
    match signal_name(number) {
        Some(name) => format!("signal {number} ({name})"),
        None => format!("signal {number}"),
    }
}

/// Names of phases in a report.
pub(crate) struct PhaseNames<'run>(BTreeMap<&'run str, &'run str>);

impl<'run> PhaseNames<'run> {
    /// Uses the tool's own name if it is unique in the run (`rewrite`), else the id (`rewrite-1048576k-4k`).
    pub(crate) fn of(run: &'run JudgedRun) -> Self {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for phase in &run.phases {
            *uses.entry(&phase.name).or_insert(0) += 1;
        }
        let is_clear = |name: &str| !name.is_empty() && uses.get(name) == Some(&1);
        Self(
            run.phases
                .iter()
                .map(|phase| (phase.id.as_str(), if is_clear(&phase.name) { phase.name.as_str() } else { &phase.id }))
                .collect(),
        )
    }

    /// Returns the name of a phase; the id itself for a phase that is not in the run.
    pub(crate) fn get<'id>(&self, id: &'id str) -> &'id str
    where
        'run: 'id,
    {
        self.0.get(id).copied().unwrap_or(id)
    }

    /// Like [`PhaseNames::get`]; `None` is the whole run.
    pub(crate) fn of_finding<'id>(&self, phase: Option<&'id str>) -> &'id str
    where
        'run: 'id,
    {
        phase.map_or("the whole run", |id| self.get(id))
    }
}

/// A count with its thousands apart: `1,324,727`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().map(|digit| char::from(*digit)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (1_324_727, "1,324,727"), (12_345, "12,345")]
        {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn lists_say_how_much_they_leave_out() {
        assert_eq!(list(&["a", "b"], 2), "a, b");
        assert_eq!(list(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(list::<&str>(&[], 2), "");
    }

    #[test]
    fn equal_texts_are_said_once() {
        let pairs = [("write", 1), ("read", 2), ("rewrite", 1), ("write", 1)];
        assert_eq!(merged(pairs), [(vec!["write", "rewrite"], 1), (vec!["read"], 2)]);
    }
}
