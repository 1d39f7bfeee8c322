//! Numbers under the same words: a column of a table, a line that is printed after each test.
//!
//! Such numbers are about the same thing, each of its own pass. Where those that were printed behind a pass of their own
//! agree with it, again and again and with different values, they are not unrelated to the I/O, and fewer numbers of the run
//! may agree by chance: of such a series as many as do not agree, and one.

use std::collections::BTreeMap;

use activebench_model::claim::Metric;

use super::{Candidate, MOST_CHANCE, Matching, Outcome, TOLERANCE};

/// Words of a line that decide whether two numbers are under the same words.
const WORDS: usize = 2;

/// Candidates under the same words.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) places: Vec<usize>,
    /// True if they are not unrelated to the I/O.
    pub(super) is_related: bool,
    /// Those that agree with no pass of their own.
    misses: usize,
}

/// Returns the series of the found numbers that may become claims.
pub(super) fn of_words(candidates: &[Candidate]) -> Vec<Series> {
    type Key<'a> = (&'a str, Vec<String>, usize, &'static str, &'a str);
    let mut by_words: BTreeMap<Key<'_>, Vec<usize>> = BTreeMap::new();
    let mut of_line = (("", 0), 0);
    for (place, candidate) in candidates.iter().enumerate() {
        let source = &candidate.number.source;
        let line = (source.stream.as_str(), source.line);
        of_line = if of_line.0 == line { (line, of_line.1 + 1) } else { (line, 0) };
        let Some(metric) = candidate.metric.filter(|_| !candidate.is_stated) else { continue };
        let words = source.text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let words = words.take(WORDS).map(str::to_lowercase).collect();
        let key = (line.0, words, of_line.1, Metric::as_str(metric), candidate.number.printed.unit.as_str());
        by_words.entry(key).or_default().push(place);
    }
    by_words.into_values().map(|places| Series { places, is_related: false, misses: 0 }).collect()
}

impl Matching<'_> {
    /// Finds the series that are not unrelated to the I/O.
    pub(super) fn find_related(&mut self) {
        let mut found = self.series.clone();
        let number = found.len() as f64;
        for series in &mut found {
            // Those with I/O between them and the number before.
            let behind: Vec<usize> =
                series.places.iter().copied().filter(|place| self.new.targets[*place] > 0).collect();
            let mut chances: Vec<(f64, f64)> = Vec::new();
            let mut agreeing = 0;
            for place in &behind {
                let Ok(one) = self.agreeing(*place, &self.new) else { continue };
                agreeing += 1;
                let value = one.fit.reading.value;
                // What is printed twice is no second agreement.
                let is_other = |(known, _): &(f64, f64)| (value / known - 1.0).abs() > 2.0 * TOLERANCE;
                if chances.iter().all(is_other) {
                    chances.push((value, one.chance));
                }
            }
            series.misses = behind.len() - agreeing;
            let ways = ways(behind.len(), chances.len());
            let chance = chances.iter().map(|(_, chance)| chance).product::<f64>() * ways * number;
            series.is_related = chances.len() > 1 && chance < MOST_CHANCE && series.misses < agreeing;
        }
        self.series = found;
    }

    /// Returns the number of lines that may still agree by chance: with found numbers, with stated ones.
    pub(super) fn count_tests(&self) -> [f64; 2] {
        let is_claim = |place: usize| matches!(self.outcomes[place], Outcome::Claim { .. });
        let related = self.series.iter().filter(|series| series.is_related);
        let of_related: usize = related.clone().map(|series| series.misses + 1).sum();
        let in_related = |place: usize| related.clone().any(|series| series.places.contains(&place));
        let lines = |is_stated: bool| {
            let mut lines: BTreeMap<(&str, u64), bool> = BTreeMap::new();
            for (place, candidate) in self.candidates.iter().enumerate() {
                if candidate.metric.is_none() || candidate.is_stated != is_stated || in_related(place) {
                    continue;
                }
                let source = &candidate.number.source;
                *lines.entry((source.stream.as_str(), source.line)).or_default() |= is_claim(place);
            }
            lines.values().filter(|has_claim| !**has_claim).count()
        };
        [(lines(false) + of_related).max(1) as f64, lines(true).max(1) as f64]
    }

    pub(super) fn claims(&self) -> usize {
        self.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Claim { .. })).count()
    }
}

/// Returns in how many ways some of several can be chosen.
fn ways(of: usize, some: usize) -> f64 {
    (0..some).map(|place| (of - place) as f64 / (place + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::ways;

    #[test]
    fn two_of_four_are_chosen_in_six_ways() {
        assert_eq!((ways(4, 2), ways(4, 4), ways(5, 0)), (6.0, 1.0, 1.0));
    }
}
