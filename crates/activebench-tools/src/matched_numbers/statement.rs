//! Lines that state an amount, a time and the rate of both: `512 MB in 1.98 seconds = 258.59 MB/sec`.

use activebench_model::units::Unit;

use super::{Candidate, is_amount};
use crate::printed_numbers::{Counted, PrintedNumber, Reading};

/// Coarsest digits that show that a rate is the quotient of the others.
const COARSE: f64 = 0.02;

/// Returns the amount, the time and the rate of a line of which a number is one; `None` where the line has none or several.
pub(super) fn around(candidates: &[Candidate], line: &[usize], place: usize) -> Option<[usize; 3]> {
    let number = |place: usize| &candidates[place].number;
    let rate_of = |amount: Unit| if amount == Unit::Bytes { Unit::BytesPerSec } else { Unit::OpsPerSec };
    let mut found = Vec::new();
    for amount in line.iter().copied().filter(|other| is_amount(number(*other).unit)) {
        for time in line.iter().copied().filter(|other| is_time(number(*other))) {
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
            let of_rate = |rate: &&Reading| rate.is_binary == amount.is_binary;
            readings(rate).iter().filter(of_rate).any(|rate| is_by(amount, time, rate))
        })
    })
}

/// Returns true if a rate is an amount by a time, within their printed digits.
fn is_by(amount: &Reading, time: &Reading, rate: &Reading) -> bool {
    let digits = [amount, time, rate].iter().map(|one| one.resolution / one.value).sum::<f64>();
    let quotient = amount.value / (time.value / 1e9);
    digits < COARSE && (rate.value / quotient - 1.0).abs() <= digits
}

/// Settles the unit of rates by an amount of a clear unit and a time of their line: in `67108864 bytes in 0.2 s, 335.5 MB/s`
/// a `MB` is 10^6 bytes. `line` has all numbers of a line.
pub(super) fn settle_units(candidates: &mut [Candidate], line: &[usize]) {
    for place in line {
        let shown = {
            let number = |place: usize| &candidates[place].number;
            let rate = number(*place);
            let of_unit = |is: fn(&PrintedNumber) -> bool| {
                line.iter().map(|place| number(*place)).filter(move |one| is(one)).flat_map(|one| &one.readings)
            };
            let amounts = || of_unit(|one| one.unit == Unit::Bytes).filter(|amount| amount.is_binary.is_none());
            let times = || of_unit(is_time);
            let is_shown =
                |reading: &&Reading| amounts().any(|amount| times().any(|time| is_by(amount, time, reading)));
            let mut shown = rate.readings.iter().filter(is_shown).copied();
            let is_open = rate.unit == Unit::BytesPerSec && rate.readings.len() > 1;
            shown.next().filter(|_| is_open && shown.next().is_none())
        };
        if let Some(reading) = shown {
            candidates[*place].number.readings = vec![Reading { is_binary: None, ..reading }];
        }
    }
}

fn is_time(number: &PrintedNumber) -> bool {
    number.unit == Unit::Ns && number.counted == Counted::Amount
}
