//! Numbers under the same words: a column of a table, a line that is printed after each test.
//!
//! Such numbers are about the same thing, each of its own pass. Where those that were printed behind a pass of their own
//! agree with it, again and again and with different values, they are not unrelated to the I/O. Of such a series no more
//! numbers may agree by chance than a test of the least certain ones leaves (a partial conjunction, Benjamini and Heller,
//! *Screening for partial conjunction hypotheses*, Biometrics 64, 2008). The test has a part of the chance for itself.

use std::collections::{BTreeMap, BTreeSet};

use activebench_model::claim::Metric;

use super::{Candidate, MOST_CHANCE, Matching, Outcome, TOLERANCE, attainable};

/// Words of a line that decide whether two numbers are under the same words.
const WORDS: usize = 2;

/// Part of the chance of a run with which a series is taken for related.
pub(super) const SHARE: f64 = 0.05;

/// Candidates under the same words.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) places: Vec<usize>,
    /// True if they are not unrelated to the I/O.
    pub(super) is_related: bool,
    /// Of them at most so many are unrelated nevertheless.
    unrelated: usize,
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
        let Some(metric) = candidate.metric.filter(|_| !candidate.is_stated && !candidate.is_bare) else { continue };
        let words = source.text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let words = words.take(WORDS).map(str::to_lowercase).collect();
        let key = (line.0, words, of_line.1, Metric::as_str(metric), candidate.number.printed.unit.as_str());
        by_words.entry(key).or_default().push(place);
    }
    by_words.into_values().map(|places| Series { places, is_related: false, unrelated: 0 }).collect()
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
            let chances = chances.into_iter().map(|(_, chance)| chance).collect();
            let unrelated = most_unrelated(behind.len(), chances, MOST_CHANCE * SHARE / number);
            if let Some(unrelated) = unrelated.filter(|unrelated| *unrelated < agreeing) {
                series.is_related = true;
                // Those that were not compared with a pass of their own are not part of the test.
                series.unrelated = unrelated + series.places.len() - behind.len();
            }
        }
        self.series = found;
    }

    /// Returns how many numbers may still agree by chance: found ones, stated ones.
    pub(super) fn count_tests(&self) -> [f64; 2] {
        let related = || self.series.iter().filter(|series| series.is_related);
        let in_related = |place: usize| related().any(|series| series.places.contains(&place));
        let count = |is_stated: bool| {
            let is_own = |place: &usize| {
                let one = &self.candidates[*place];
                one.metric.is_some() && one.is_stated == is_stated && !in_related(*place) && !self.is_claim(*place)
            };
            let own: Vec<usize> = (0..self.candidates.len()).filter(is_own).collect();
            let mut least: Vec<f64> =
                self.distinct(&own).into_iter().filter_map(|place| self.attainable[place]).collect();
            // A program's numbers are of like magnitude, and no fewer than its lines without a claim are counted.
            let of_lines = self.open_lines(&own);
            let mut of_series = 0;
            for series in related().filter(|_| !is_stated) {
                let mut own: Vec<f64> = series.places.iter().filter_map(|place| self.attainable[*place]).collect();
                own.sort_by(f64::total_cmp);
                own.truncate(series.unrelated);
                of_series += own.len();
                least.extend(own);
            }
            attainable::count(&least, super::MOST_CHANCE_OF_NUMBER).max((of_lines + of_series) as f64)
        };
        [count(false), count(true)]
    }

    /// Returns the number of lines of numbers of which none is a claim.
    fn open_lines(&self, places: &[usize]) -> usize {
        let line = |place: usize| {
            let source = &self.candidates[place].number.source;
            (source.stream.as_str(), source.line)
        };
        let claimed: BTreeSet<(&str, u64)> =
            (0..self.candidates.len()).filter(|place| self.is_claim(*place)).map(line).collect();
        let is_compared = |place: &usize| self.attainable[*place].is_some();
        let lines = places.iter().copied().filter(is_compared).map(line);
        lines.filter(|line| !claimed.contains(line)).collect::<BTreeSet<_>>().len()
    }

    pub(super) fn is_claim(&self, place: usize) -> bool {
        matches!(self.outcomes[place], Outcome::Claim { .. })
    }

    pub(super) fn claims(&self) -> usize {
        (0..self.outcomes.len()).filter(|place| self.is_claim(*place)).count()
    }
}

/// Returns how many numbers of a series are unrelated to the I/O at most: the fewest for which the least certain of those
/// that agree would do so by chance with a probability below `most`. `None` if not even two of them are certain. `chances`
/// are those of numbers with different values that agree, `all` is the number of numbers.
fn most_unrelated(all: usize, mut chances: Vec<f64>, most: f64) -> Option<usize> {
    if chances.len() < 2 {
        return None;
    }
    chances.sort_by(|one, other| other.total_cmp(one));
    let others = all - chances.len();
    // If one more were unrelated, so many numbers would be, and those that agree among them by chance.
    let chance = |agreeing: usize| chances[..agreeing].iter().product::<f64>() * ways(others + agreeing, agreeing);
    let agreeing = (1..=chances.len()).find(|agreeing| chance(*agreeing) < most)?;
    Some(others + agreeing - 1)
}

/// Returns in how many ways some of several can be chosen.
fn ways(of: usize, some: usize) -> f64 {
    (0..some).map(|place| (of - place) as f64 / (place + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::{most_unrelated, ways};

    #[test]
    fn two_of_four_are_chosen_in_six_ways() {
        assert_eq!((ways(4, 2), ways(4, 4), ways(5, 0)), (6.0, 1.0, 1.0));
    }

    #[test]
    fn no_more_of_a_series_are_unrelated_than_its_least_certain_numbers_leave() {
        // Each is certain alone.
        assert_eq!(most_unrelated(3, vec![1e-5; 3], 1e-3), Some(0));
        // Two together are.
        assert_eq!(most_unrelated(3, vec![1e-2; 3], 1e-3), Some(1));
        // Beside five that agree with nothing.
        assert_eq!(most_unrelated(8, vec![1e-2; 3], 1e-3), Some(7));
        assert_eq!(most_unrelated(8, vec![1e-3; 3], 1e-3), Some(6));
        // One number is not a series.
        assert_eq!(most_unrelated(1, vec![1e-9], 1e-3), None);
        assert_eq!(most_unrelated(4, vec![0.3; 4], 1e-3), None);
    }
}
