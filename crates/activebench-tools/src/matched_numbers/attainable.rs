//! How many numbers of a run may agree by chance.
//!
//! A number whose chance is too large even at the smallest distance never becomes a claim, whatever it states: of a rate
//! with two digits, of one that is compared with hundreds of figures. Such numbers are not counted (Tarone, *A modified
//! Bonferroni method for discrete data*, Biometrics 46, 1990). A number that is printed again is not counted again. Where
//! several agree, the least certain of them has to be as certain as if it were alone (Hochberg, *A sharper Bonferroni
//! procedure for multiple tests of significance*, Biometrika 75, 1988).

use super::{Look, MOST_CHANCE_OF_NUMBER, Matching, Outcome, View, is_amount, statement};

/// Returns how many numbers may agree by chance if each has at least such a chance before it is multiplied by their
/// number, and becomes a claim below `most`. At least 1.
pub(super) fn count(least: &[f64], most: f64) -> f64 {
    let mut sorted = least.to_vec();
    sorted.sort_by(f64::total_cmp);
    let is_enough = |number: &usize| {
        let factor = *number as f64;
        sorted.partition_point(|chance| chance * factor < most) <= *number
    };
    (1..=sorted.len()).find(is_enough).unwrap_or(1) as f64
}

/// Returns the chances of numbers with regard to the number of all: `chances` ascend, and what is not among them agrees
/// with nothing.
fn together(chances: &[f64], number: f64) -> Vec<f64> {
    let mut least = f64::MAX;
    let with_number = chances.iter().enumerate().rev().map(|(place, chance)| {
        least = least.min(chance * (number - place as f64).max(1.0));
        least
    });
    let mut adjusted: Vec<f64> = with_number.collect();
    adjusted.reverse();
    adjusted
}

impl Matching<'_> {
    /// Takes numbers for claims that agree together. Returns false if there are none.
    pub(super) fn claim_together(&mut self) -> bool {
        let mut is_found = false;
        for kind in 0..self.tests.len() {
            let number = std::mem::replace(&mut self.tests[kind], 1.0);
            let open = |factor: f64| -> Vec<usize> {
                let is_open = |place: &usize| {
                    let can_agree = self.attainable[*place].is_some_and(|least| least * factor < MOST_CHANCE_OF_NUMBER);
                    let one = &self.candidates[*place];
                    let is_own = one.metric.is_some() && usize::from(one.is_stated) == kind;
                    can_agree && is_own && !self.is_claim(*place)
                };
                let open: Vec<usize> = (0..self.candidates.len()).filter(is_open).collect();
                self.distinct(&open)
            };
            // Those that could agree alone, if they are no more than are counted.
            let all = open(1.0);
            let open = if all.len() as f64 <= number { all } else { open(number) };
            let alone = |place: &usize| match self.decided(*place) {
                Outcome::Claim { fit, chance, bytes } => Some((*place, fit, chance, bytes)),
                _ => None,
            };
            let mut agreeing: Vec<_> = open.iter().filter_map(alone).collect();
            agreeing.sort_by(|one, other| one.2.total_cmp(&other.2));
            let chances: Vec<f64> = agreeing.iter().map(|(_, _, chance, _)| *chance).collect();
            for ((place, fit, _, bytes), chance) in agreeing.into_iter().zip(together(&chances, number)) {
                if chance < MOST_CHANCE_OF_NUMBER {
                    self.outcomes[place] = Outcome::Claim { fit, chance, bytes };
                    is_found = true;
                }
            }
            self.tests[kind] = number;
        }
        is_found
    }

    /// Returns numbers without those that are printed again: what agrees with one by chance agrees with the other, too.
    pub(super) fn distinct(&self, places: &[usize]) -> Vec<usize> {
        let is_again = |one: &usize, other: &usize| {
            let (own, known) = (&self.candidates[*one].number, &self.candidates[*other].number);
            let is_same = |of: fn(&View) -> &Vec<usize>| {
                [&self.new, &self.all].into_iter().all(|view| of(view)[*one] == of(view)[*other])
            };
            own.readings == known.readings
                && (own.unit, own.counted, own.direction) == (known.unit, known.counted, known.direction)
                && (own.operation, own.of_task) == (known.operation, known.of_task)
                && self.attainable[*one] == self.attainable[*other]
                && is_same(|view| &view.targets)
        };
        let mut distinct: Vec<usize> = Vec::new();
        for place in places {
            if !distinct.iter().any(|known| is_again(place, known)) {
                distinct.push(*place);
            }
        }
        distinct
    }

    /// Returns the least chance that a number can have, before the number of numbers; `None` where it is compared with
    /// nothing.
    pub(super) fn attainable_of(&self, place: usize) -> Option<f64> {
        let of_look = |Look { view, factor, .. }: Look<'_>| {
            let alone = view.least[place]?;
            Some(self.supported_at_best(place, view).map_or(alone, |both| both.min(alone)) * factor)
        };
        self.looks(place).into_iter().filter_map(of_look).min_by(f64::total_cmp)
    }

    /// Returns the least chance of a number together with those beside it.
    fn supported_at_best(&self, place: usize, view: &View) -> Option<f64> {
        let line = self.line_of(place);
        let least = |group: &[usize], is_of: bool| {
            let of_kind = group.iter().filter(|other| is_amount(self.candidates[**other].number.unit) == is_of);
            of_kind.filter_map(|other| view.least[*other]).min_by(f64::total_cmp)
        };
        let of_group =
            |group: &[usize]| Some(least(group, true)? * least(group, false)? * super::of_pairs(group.len()));
        let of_statement = statement::around(self.candidates, &line, place)
            .and_then(|[_, time, rate]| Some(view.least[time]? * view.least[rate]?));
        [of_group(&line), of_statement].into_iter().flatten().min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::{count, together};

    #[test]
    fn several_that_agree_are_as_certain_as_the_least_of_them_alone() {
        assert_eq!(together(&[0.004, 0.008], 2.0), [0.008, 0.008]);
        assert_eq!(together(&[0.001, 0.008], 4.0), [0.004, 0.024]);
        assert_eq!(together(&[0.002, 0.002, 0.002], 5.0), [0.006, 0.006, 0.006]);
        assert_eq!(together(&[], 5.0), [0.0; 0]);
    }

    #[test]
    fn numbers_that_can_never_become_claims_are_not_counted() {
        assert_eq!(count(&[], 0.01), 1.0);
        assert_eq!(count(&[1e-4; 7], 0.01), 7.0);
        // Ten that could not at any number, three that could.
        let coarse = [[0.02; 10].as_slice(), &[1e-5; 3]].concat();
        assert_eq!(count(&coarse, 0.01), 3.0);
        // As one of two the fourth could not: those that could are three, and three are counted.
        assert_eq!(count(&[1e-5, 1e-5, 1e-5, 0.006], 0.01), 3.0);
        assert_eq!(count(&[0.006, 0.006, 0.006], 0.01), 2.0);
    }
}
