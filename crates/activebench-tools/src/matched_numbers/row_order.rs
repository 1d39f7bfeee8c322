//! Numbers of one row that were printed together, behind as many passes: the first is about the first pass.

use activebench_model::observed_pass::ObservedPass;

use super::Candidate;
use crate::printed_numbers::Reading;

/// Share of the bytes of a pass from which on a part of it is the pass itself.
const WHOLE: f64 = 0.9;

/// Returns the passes that each candidate can be about by its place in a row; `None` where rows and passes do not show it.
pub(super) fn of_rows(
    candidates: &[Candidate],
    passes: &[ObservedPass],
    since: &[Option<u64>],
) -> Vec<Option<Vec<usize>>> {
    let mut found: Vec<Option<Vec<usize>>> = candidates.iter().map(|_| None).collect();
    for place in 0..candidates.len() {
        let first = &candidates[place];
        let is_like = |other: &usize| {
            let one = &candidates[*other];
            let (own, others) = (&first.number.source, &one.number.source);
            (own.line, &own.stream) == (others.line, &others.stream)
                && (first.metric, first.number.direction) == (one.metric, one.number.direction)
                && since[place] == since[*other]
        };
        // Of each row once.
        if found[place].is_some() || first.metric.is_none() || first.number.direction.is_none() {
            continue;
        }
        let row: Vec<usize> = (place..candidates.len()).take(super::MOST_OF_BLOCK).filter(is_like).collect();
        let until_ns = row.iter().filter_map(|other| candidates[*other].printed_ns).max();
        let (Some(since_ns), Some(until_ns)) = (since[place], until_ns) else { continue };
        // `1110 MiB/s (1164 MB/s)` is one figure.
        let is_one = |one: usize, other: usize| is_same_figure(&candidates[one], &candidates[other]);
        if row.iter().any(|one| row.iter().any(|other| one < other && is_one(*one, *other))) {
            continue;
        }
        let one_by_one = one_by_one(first, passes, since_ns, until_ns);
        if row.len() > 1 && one_by_one.len() == row.len() {
            row.into_iter().zip(one_by_one).for_each(|(other, own)| found[other] = Some(own));
        }
    }
    found
}

/// Returns true if two numbers of different units may be one figure that is printed twice.
fn is_same_figure(one: &Candidate, other: &Candidate) -> bool {
    let (one, other) = (&one.number, &other.number);
    let is_same = |own: &Reading| {
        other.readings.iter().any(|reading| (own.value - reading.value).abs() <= own.resolution + reading.resolution)
    };
    one.printed.unit != other.printed.unit && one.readings.iter().any(is_same)
}

/// Returns the passes of a direction in a span that follow one another, in order, each as all that describe it. Passes
/// that consist of several of them are left out.
fn one_by_one(candidate: &Candidate, passes: &[ObservedPass], since_ns: u64, until_ns: u64) -> Vec<Vec<usize>> {
    let span = |place: usize| (passes[place].windows[0].start_ns, passes[place].windows[0].end_ns);
    let is_of = |place: &usize| {
        let (start_ns, end_ns) = span(*place);
        passes[*place].names.is_none()
            && Some(passes[*place].direction) == candidate.number.direction
            && start_ns >= since_ns
            && end_ns <= until_ns
    };
    let own: Vec<usize> = (0..passes.len()).filter(is_of).collect();
    let has_parts = |place: &usize| {
        let (start_ns, end_ns) = span(*place);
        own.iter().any(|other| {
            let part = span(*other);
            part.0 >= start_ns
                && part.1 <= end_ns
                && (passes[*other].bytes as f64) < passes[*place].bytes as f64 * WHOLE
        })
    };
    let mut single: Vec<usize> = own.iter().copied().filter(|place| !has_parts(place)).collect();
    single.sort_by_key(|place| span(*place));
    let mut one_by_one: Vec<Vec<usize>> = Vec::new();
    let mut until_ns = 0;
    for place in single {
        let (start_ns, end_ns) = span(place);
        match one_by_one.last_mut().filter(|_| start_ns < until_ns) {
            Some(last) => last.push(place),
            None => one_by_one.push(vec![place]),
        }
        until_ns = end_ns.max(until_ns);
    }
    one_by_one
}
