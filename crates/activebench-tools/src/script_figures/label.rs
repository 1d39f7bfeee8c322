//! The words of a script around one of its numbers.

use std::collections::BTreeSet;

use activebench_model::claim::Printed;
use activebench_model::direction::Direction;
use activebench_model::script_figure::{Derivation, Fault};

use super::candidates::{Candidate, Candidates};
use crate::printed_numbers::{Order, direction_of, order_of, words};

/// What the words around a number say.
#[derive(Debug, Default)]
pub(super) struct Label {
    direction: Option<Direction>,
    order: Option<Order>,
    derivation: Option<Derivation>,
    /// It speaks of a best, a peak or a limit.
    names_best: bool,
    /// Its words, in lower case.
    words: BTreeSet<String>,
}

impl Label {
    /// Reads the label of a number of a line, from a place on; returns the place behind its unit. The label stands before
    /// the number. Where nothing does, it is what follows: `812 MB/s written`.
    pub(super) fn of(line: &str, begin: usize, number: &Printed) -> (Self, usize) {
        let rest = line.get(begin..).unwrap_or("");
        let at = rest.find(&number.text).unwrap_or(0);
        let (before, rest) = (&rest[..at], rest.get(at + number.text.len()..).unwrap_or(""));
        let own = rest.trim_start().strip_prefix(&number.unit).unwrap_or(rest);
        let end = line.len() - own.len();
        let after = &own[..own.find(|c: char| c.is_ascii_digit() || ",;|".contains(c)).unwrap_or(own.len())];
        // Behind another number, what stands before a comma is still about that one.
        let before = if begin > 0 { before.rsplit([',', ';', '|']).next().unwrap_or(before) } else { before };
        let text = if before.contains(char::is_alphabetic) { before } else { after };
        let words: BTreeSet<String> = words(text).collect();
        let has = |names: &[&str]| names.iter().any(|name| words.contains(*name));
        let derivation = if has(&["total", "sum", "aggregate", "aggregated", "combined", "overall", "together", "all"])
        {
            Some(Derivation::Sum)
        } else if has(&["mean", "average", "avg"]) {
            Some(Derivation::Mean)
        } else if has(&["median"]) {
            Some(Derivation::Median)
        } else if has(&["min", "minimum", "lowest", "slowest", "worst", "least"]) {
            Some(Derivation::Smallest)
        } else if has(&["max", "maximum", "highest", "fastest", "best", "peak", "top"]) {
            Some(Derivation::Largest)
        } else {
            None
        };
        let names_best =
            has(&["best", "peak", "max", "maximum", "highest", "fastest", "top", "min", "minimum", "lowest"]);
        // A text that names both directions names none.
        let direction = direction_of(text).filter(|_| !names_both(&words));
        (Self { direction, order: order_of(text), derivation, names_best, words }, end)
    }

    /// Returns how far a candidate is from what the words say: 0 when they name it.
    pub(super) fn distance(&self, candidate: &Candidate) -> u32 {
        let other_kind = match (self.derivation, candidate.derivation) {
            (Some(named), derivation) if named == derivation => 0,
            (None, Derivation::Equal) => 0,
            (_, Derivation::Equal) => 1,
            _ => 2,
        };
        let apart = u32::from(!self.admits_direction(candidate)) * 8 + u32::from(!self.admits_order(candidate)) * 4;
        apart + other_kind
    }

    /// Returns `true` if the words name no other direction and no other order.
    pub(super) fn admits(&self, candidate: &Candidate) -> bool {
        self.admits_direction(candidate) && self.admits_order(candidate)
    }

    fn admits_direction(&self, candidate: &Candidate) -> bool {
        match (self.one_way(), candidate.direction) {
            (Some(named), Some(Direction::Read | Direction::Write)) => Some(named) == candidate.direction,
            _ => true,
        }
    }

    fn admits_order(&self, candidate: &Candidate) -> bool {
        self.order.is_none() || candidate.order.is_none() || self.order == candidate.order
    }

    /// Returns the only direction that the words name.
    fn one_way(&self) -> Option<Direction> {
        self.direction.filter(|direction| matches!(direction, Direction::Read | Direction::Write))
    }

    /// Returns what the words conceal, if each of the candidates that agree with the number contradicts them.
    pub(super) fn contradicted_by(&self, honest: &[&Candidate], candidates: &Candidates<'_>) -> Option<Fault> {
        let is_other_pass =
            |candidate: &&Candidate| !self.admits(candidate) || self.names_another(candidate, candidates);
        // The largest of several is one of them: it explains a number only where the words speak of it.
        let is_extreme = |candidate: &&&Candidate| {
            matches!(candidate.derivation, Derivation::Smallest | Derivation::Largest)
                && self.derivation != Some(candidate.derivation)
        };
        if honest.iter().filter(|candidate| !is_extreme(candidate)).all(is_other_pass) {
            // There is a figure that the words do name.
            let unit = honest.first()?.origin().value.unit;
            let is_named = |candidate: &&Candidate| {
                candidate.derivation == Derivation::Equal && !is_other_pass(candidate) && candidate.is_rate(candidates)
            };
            let of_kind = candidates.of_unit(unit).any(|candidate| is_named(&candidate));
            return of_kind.then_some(Fault::OtherPass);
        }
        let adds_both =
            |candidate: &&Candidate| candidate.derivation == Derivation::Sum && candidate.direction.is_none();
        if honest.iter().all(adds_both) {
            let says_so = self.derivation == Some(Derivation::Sum) || self.direction == Some(Direction::Mixed);
            let is_silent = !says_so && !names_both(&self.words) || self.one_way().is_some();
            return is_silent.then_some(Fault::AddedDirections);
        }
        let is_single = |candidate: &&Candidate| {
            matches!(candidate.derivation, Derivation::Equal | Derivation::Largest | Derivation::Smallest)
        };
        let mut best = honest.iter().filter(|candidate| candidate.derivation == Derivation::Equal);
        let is_best = honest.iter().all(is_single) && best.next().is_some_and(|one| candidates.is_best_of_several(one));
        (is_best && !self.names_best && self.derivation.is_none()).then_some(Fault::BestOfSeveral)
    }

    /// Returns `true` if the words name the pass of one other measurement.
    fn names_another(&self, candidate: &Candidate, candidates: &Candidates<'_>) -> bool {
        let named: BTreeSet<u32> = self.words.iter().filter_map(|word| candidates.words.get(word)).copied().collect();
        let mut named = named.into_iter();
        let (Some(only), None) = (named.next(), named.next()) else { return false };
        candidate.measurement.is_some_and(|number| number != only)
    }
}

/// Returns `true` if words name reads as well as writes.
fn names_both(words: &BTreeSet<String>) -> bool {
    let names = |direction: Direction| words.iter().any(|word| direction_of(word) == Some(direction));
    names(Direction::Read) && names(Direction::Write)
}
