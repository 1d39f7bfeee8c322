//! Numbers beside a claim: of its line or, where that has none, of a line near it.
//!
//! What a claim beside it is about says what a number is about, so it is compared with that pass alone, in the windows
//! that the claim agrees with. Far fewer figures agree with it by chance. Such numbers have a part of the chance of the
//! run for themselves, and the claims that they stand beside are those that were found without them.
//!
//! A pass whose throughput is claimed beside a number is not compared with another throughput: the next column of a table
//! is about the next pass.

use super::{
    Fit, MOST_CHANCE, Matching, Outcome, Target, attainable, chance, fits, has_other_base, is_amount, targets,
};

/// Part of the chance of a run with which numbers beside claims are taken for claims.
pub(super) const SHARE: f64 = 0.15;

/// Lines around a number in which a claim says what it is about. A figure that is not read may stand between them.
const NEAR_LINES: u64 = 3;

/// A number that is compared with the passes of the claims beside it.
struct Beside {
    place: usize,
    fits: Vec<Fit>,
    /// The chance that it agrees, and the least that it could have.
    chance: f64,
    least: f64,
    /// True if the claims are of its own line.
    is_of_line: bool,
}

impl Matching<'_> {
    /// Compares open numbers with the passes of the claims beside them.
    pub(super) fn let_claims_speak(&mut self) {
        let mut open: Vec<Beside> = (0..self.candidates.len()).filter_map(|place| self.beside(place)).collect();
        loop {
            let places: Vec<usize> = open.iter().map(|one| one.place).collect();
            let distinct = self.distinct(&places);
            let least: Vec<f64> =
                open.iter().filter(|one| distinct.contains(&one.place)).map(|one| one.least).collect();
            let number = attainable::count(&least, MOST_CHANCE * SHARE);
            let is_found = |one: &Beside| one.chance * number < MOST_CHANCE * SHARE;
            let (found, rest): (Vec<Beside>, Vec<Beside>) = open.into_iter().partition(is_found);
            for one in &found {
                if let Some(outcome) = self.claim_of(one, number) {
                    self.outcomes[one.place] = outcome;
                }
            }
            open = rest;
            if found.is_empty() {
                return;
            }
        }
    }

    /// Compares a number with the claims beside it; `None` where there is nothing to compare.
    fn beside(&self, place: usize) -> Option<Beside> {
        let candidate = &self.candidates[place];
        let (Some(metric), Outcome::Open(_)) = (candidate.metric, &self.outcomes[place]) else { return None };
        if candidate.latency.is_some() || candidate.is_stated || candidate.is_bare {
            return None;
        }
        let claims = |group: Vec<usize>| -> Vec<(usize, Target)> {
            let claim = |other: usize| match &self.outcomes[other] {
                Outcome::Claim { fit, .. } if self.candidates[other].latency.is_none() => Some((other, fit.target)),
                _ => None,
            };
            group.into_iter().filter_map(claim).collect()
        };
        let of_line = claims(self.line_of(place));
        let is_of_line = !of_line.is_empty();
        let beside = if is_of_line { of_line } else { claims(self.near(place)) };
        let is_taken = |pass: usize| {
            let mut same = beside.iter().filter(|(_, target)| target.pass == pass);
            same.any(|(other, _)| self.candidates[*other].metric == Some(metric))
        };
        let agrees = |target: &Target| {
            let of_pass = beside.iter().filter(|(_, claimed)| claimed.pass == target.pass);
            of_pass.clone().any(|(other, _)| {
                is_amount(self.candidates[*other].number.unit)
                    || self.all.fits[*other].iter().any(|fit| {
                        (fit.target.pass, fit.target.window, fit.target.each_task)
                            == (target.pass, target.window, target.each_task)
                    })
            })
        };
        let mut own = targets(candidate, self.passes, None);
        own.retain(|target| agrees(target) && !is_taken(target.pass));
        if own.is_empty() {
            return None;
        }
        let fits = fits(&candidate.number, &own);
        let values: Vec<f64> = own.iter().map(|target| target.value).collect();
        let of_distance = |distance| chance::of_number(&candidate.number, &values, distance);
        let distance = fits.iter().map(|fit| fit.distance).fold(f64::MAX, f64::min);
        let chance = if fits.is_empty() { 1.0 } else { of_distance(distance) };
        Some(Beside { place, fits, chance, least: of_distance(0.0), is_of_line })
    }

    /// Returns the numbers of the lines near one.
    fn near(&self, place: usize) -> Vec<usize> {
        let own = &self.candidates[place].number.source;
        let is_near = |other: &usize| {
            let source = &self.candidates[*other].number.source;
            source.stream == own.stream && source.line.abs_diff(own.line) <= NEAR_LINES
        };
        (0..self.candidates.len()).filter(is_near).collect()
    }

    /// Returns the claim of a number beside others; `None` where another pass may be meant.
    fn claim_of(&self, one: &Beside, number: f64) -> Option<Outcome> {
        let best = one.fits.iter().min_by(|fit, other| fit.distance.total_cmp(&other.distance)).copied()?;
        let pass = best.target.pass;
        let is_near = |other: usize| {
            other == pass || self.is_same(other, pass) || self.is_inside(other, pass) || self.is_inside(pass, other)
        };
        if one.fits.iter().any(|fit| !is_near(fit.target.pass)) {
            return None;
        }
        // One that agrees elsewhere may be about that. A claim of the same line says more than one of a line near it.
        let elsewhere = |fit: &&Fit| !is_near(fit.target.pass) && (!one.is_of_line || fit.distance <= best.distance);
        if self.all.fits[one.place].iter().any(|fit| elsewhere(&fit)) {
            return None;
        }
        if self.states_other_amount(one.place, &best, &self.all) {
            return None;
        }
        let candidate = &self.candidates[one.place];
        let of_pass = one.fits.iter().filter(|fit| fit.target.pass == pass);
        if !self.is_base_known && has_other_base(&best, &candidate.number, of_pass) {
            return None;
        }
        let bytes = if is_amount(candidate.number.unit) { None } else { self.bytes_beside(one.place, pass) };
        Some(Outcome::Claim { fit: best, chance: (one.chance * number).min(1.0), bytes })
    }
}
