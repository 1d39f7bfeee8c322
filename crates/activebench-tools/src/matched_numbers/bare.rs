//! Numbers without a unit in a line for a machine: `1.98,2.00a,host,,,1211,6`.
//!
//! Each may be a rate of files that were made, or of files that were deleted. Each of these meanings is a number of its own
//! where the chance is computed, and two that agree say nothing. A rate of data is not read: its unit may be any power of
//! 1000 or of 1024. Such a number is not listed where it agrees with nothing.

use activebench_model::claim::Printed;
use activebench_model::units::Unit;

use super::{Matching, Outcome};
use crate::printed_numbers::{BareNumber, Counted, PrintedNumber, Reading};

/// What such a number may count per second.
const MEANINGS: [Counted; 2] = [Counted::Creates, Counted::Deletes];

/// Returns the meanings of a number without a unit.
pub(super) fn meanings(bare: &BareNumber) -> impl Iterator<Item = PrintedNumber> {
    MEANINGS.into_iter().map(|counted| PrintedNumber {
        unit: Unit::OpsPerSec,
        readings: vec![Reading { value: bare.value, resolution: bare.resolution, is_binary: None }],
        counted,
        printed: Printed { text: bare.text.clone(), unit: String::new() },
        direction: None,
        operation: None,
        order: None,
        is_statistic: false,
        is_extreme: false,
        is_mean_of_several: false,
        of_task: None,
        is_unsynced: false,
        column: None,
        row: None,
        source: bare.source.clone(),
        place: bare.place.clone(),
        end: bare.place.end,
        printed_bytes: bare.printed_bytes,
    })
}

impl Matching<'_> {
    /// Lets go of the claims of a number without a unit that agrees with figures in another meaning, too.
    pub(super) fn keep_one_meaning(&mut self) {
        let number = |place: usize| &self.candidates[place].number;
        let bare = || (0..self.candidates.len()).filter(|place| self.candidates[*place].is_bare);
        let is_same = |one: usize, other: usize| {
            one != other
                && number(one).printed_bytes == number(other).printed_bytes
                && number(one).source == number(other).source
        };
        let agrees_otherwise =
            |one: &usize| bare().any(|other| is_same(*one, other) && !self.all.fits[other].is_empty());
        let several: Vec<usize> = bare().filter(|place| self.is_claim(*place)).filter(agrees_otherwise).collect();
        for place in several {
            self.outcomes[place] = Outcome::Open("it agrees with passes in several meanings".to_owned());
        }
    }
}
