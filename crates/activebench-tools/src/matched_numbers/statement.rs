//! Lines that state an amount, a time and the rate of both: `512 MB in 1.98 seconds = 258.59 MB/sec`.

use activebench_model::units::Unit;

use super::{Candidate, is_amount};
use crate::printed_numbers::Counted;

/// Coarsest digits that show that a rate is the quotient of the others.
const COARSE: f64 = 0.02;

/// Returns the amount, the time and the rate of a line of which a number is one; `None` where the line has none or several.
pub(super) fn around(candidates: &[Candidate], line: &[usize], place: usize) -> Option<[usize; 3]> {
    let number = |place: usize| &candidates[place].number;
    let is_time = |place: usize| number(place).unit == Unit::Ns && number(place).counted == Counted::Amount;
    let rate_of = |amount: Unit| if amount == Unit::Bytes { Unit::BytesPerSec } else { Unit::OpsPerSec };
    let mut found = Vec::new();
    for amount in line.iter().copied().filter(|other| is_amount(number(*other).unit)) {
        for time in line.iter().copied().filter(|other| is_time(*other)) {
            let rates = line.iter().copied().filter(|other| number(*other).unit == rate_of(number(amount).unit));
            found.extend(
                rates.filter(|rate| is_quotient(candidates, amount, time, *rate)).map(|rate| [amount, time, rate]),
            );
        }
    }
    found.retain(|statement| statement.contains(&place));
    if let [one] = found[..] { Some(one) } else { None }
}

/// Returns true if a rate is an amount by a time, within the printed digits.
fn is_quotient(candidates: &[Candidate], amount: usize, time: usize, rate: usize) -> bool {
    let readings = |place: usize| &candidates[place].number.readings;
    readings(amount).iter().any(|amount| {
        readings(time).iter().any(|time| {
            let of_rate = |rate: &&crate::printed_numbers::Reading| rate.is_binary == amount.is_binary;
            readings(rate).iter().filter(of_rate).any(|rate| {
                let digits = [amount, time, rate].iter().map(|one| one.resolution / one.value).sum::<f64>();
                let quotient = amount.value / (time.value / 1e9);
                digits < COARSE && (rate.value / quotient - 1.0).abs() <= digits
            })
        })
    })
}
