//! The throughput of a phase over time: its rate in each fifth.

use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::phase::{Phase, Window};
use activebench_model::units::Quantity;

use super::part_index::PartTasks;
use super::record_losses::Gap;
use super::windows::end_of;

/// Number of slices of the time. Ten slices make a fifth, and show by how much its rate varies.
const SLICES: usize = 50;
const IN_A_FIFTH: usize = SLICES / 5;
/// Least share of the window in which all tasks must work together for its fifths to be meaningful.
const LEAST_TOGETHER: f64 = 0.5;

/// Bytes that moved in each slice of a span, or operations that were done. Those of a call count evenly over its
/// duration.
///
/// Memory: fixed.
#[derive(Clone, Debug)]
pub(super) struct Fifths {
    span: Window,
    bytes: [f64; SLICES],
}

/// What counts as noise in the slices of a fifth.
#[derive(Clone, Copy, Debug)]
enum Noise {
    /// Each difference from the fifth's mean rate. A rate that falls inside a fifth counts as noise too, because a pause
    /// looks the same.
    OfRates,
    /// Each difference from a line through the slices' times per operation. In a folder that grows, each name takes longer
    /// than the one before it, and this steady growth is not counted as noise.
    OfTimes,
}

/// Names of the five rates, and of the error of the difference between the first and the last.
pub(super) struct FifthNames {
    rates: [FactName; 5],
    error: FactName,
    noise: Noise,
}

impl FifthNames {
    pub(super) const CALLS: Self = Self {
        rates: [
            FactName::Fifth1Rate,
            FactName::Fifth2Rate,
            FactName::Fifth3Rate,
            FactName::Fifth4Rate,
            FactName::Fifth5Rate,
        ],
        error: FactName::FifthsError,
        noise: Noise::OfRates,
    };
    pub(super) const NAMES: Self = Self {
        rates: [
            FactName::NameFifth1Rate,
            FactName::NameFifth2Rate,
            FactName::NameFifth3Rate,
            FactName::NameFifth4Rate,
            FactName::NameFifth5Rate,
        ],
        error: FactName::NameFifthsError,
        noise: Noise::OfTimes,
    };
    pub(super) const DEVICE: Self = Self {
        rates: [
            FactName::DeviceFifth1Rate,
            FactName::DeviceFifth2Rate,
            FactName::DeviceFifth3Rate,
            FactName::DeviceFifth4Rate,
            FactName::DeviceFifth5Rate,
        ],
        error: FactName::DeviceFifthsError,
        noise: Noise::OfRates,
    };

    /// Sets all these facts to missing, with the reason.
    pub(super) fn missing(&self, why: &str, scope: Scope, source: &str, facts: &mut Facts) {
        for name in self.rates.into_iter().chain([self.error]) {
            facts.insert(name, Fact::missing(why, scope, source));
        }
    }
}

/// Returns the time in which all tasks of a phase were working.
///
/// # Errors
/// Returns the reason when there is no such time, or too little to divide.
pub(super) fn time_together(phase: &Phase, tasks: &PartTasks) -> Result<Window, String> {
    let window = phase.window.ok_or("the times of the pass are not known")?;
    let mut windows: Vec<Option<Window>> = vec![None; tasks.count];
    for (part, task) in phase.parts.iter().zip(&tasks.of_parts).filter(|(part, _)| end_of(part) > part.start_ns) {
        let own = Window { start_ns: part.start_ns, end_ns: end_of(part) };
        let task = windows[*task as usize].get_or_insert(own);
        task.start_ns = task.start_ns.min(own.start_ns);
        task.end_ns = task.end_ns.max(own.end_ns);
    }
    let timed = || windows.iter().flatten();
    let start_ns = timed().map(|task| task.start_ns).max().ok_or("no task was timed")?;
    let end_ns = timed().map(|task| task.end_ns).min().unwrap_or(start_ns);
    let together_ns = end_ns.saturating_sub(start_ns);
    if together_ns < SLICES as u64 || (together_ns as f64) < LEAST_TOGETHER * window.duration_ns() as f64 {
        let (together, window) = (Quantity::ns(together_ns), Quantity::ns(window.duration_ns()));
        return Err(format!("all tasks were at work together for {together} of {window} only"));
    }
    Ok(Window { start_ns, end_ns })
}

/// Returns the last fifth of the time over which a phase has its rates: of the time in which all tasks were working, and
/// of the window for a pass over names.
///
/// # Errors
/// Returns the reason when there is no such time.
pub(super) fn last_fifth(phase: &Phase) -> Result<Window, String> {
    let whole = match &phase.names {
        Some(_) => phase.window.ok_or("the times of the pass are not known")?,
        None => time_together(phase, &PartTasks::of(&phase.parts))?,
    };
    let last = Window { start_ns: whole.end_ns - whole.duration_ns() / 5, end_ns: whole.end_ns };
    if last.duration_ns() == 0 { Err("the pass does not have a measurable duration".to_owned()) } else { Ok(last) }
}

impl Fifths {
    pub(super) fn new(span: Window) -> Self {
        Self { span, bytes: [0.0; SLICES] }
    }

    /// Adds bytes that moved between two times; bytes outside the span do not count.
    pub(super) fn add(&mut self, start_ns: u64, end_ns: u64, bytes: u64) {
        let slice_ns = self.span.duration_ns() as f64 / SLICES as f64;
        let place = |at_ns: u64| (at_ns as f64 - self.span.start_ns as f64) / slice_ns;
        let (from, to) = (place(start_ns.min(end_ns)), place(end_ns));
        if to < 0.0 || from > SLICES as f64 {
            return;
        }
        let in_slice = |slice: usize| (to.min(slice as f64 + 1.0) - from.max(slice as f64)).max(0.0);
        let first = from.max(0.0) as usize;
        let last = (to as usize).min(SLICES - 1);
        if to <= from {
            self.bytes[last] += bytes as f64;
            return;
        }
        for slice in first..=last {
            self.bytes[slice] += bytes as f64 * in_slice(slice) / (to - from);
        }
    }

    /// Returns the rates of the slices of one fifth, in bytes per second.
    fn rates(&self, fifth: usize) -> [f64; IN_A_FIFTH] {
        let slice_ns = self.span.duration_ns() as f64 / SLICES as f64;
        std::array::from_fn(|slice| self.bytes[fifth * IN_A_FIFTH + slice] * 1e9 / slice_ns)
    }

    fn mean(&self, fifth: usize) -> f64 {
        mean(&self.rates(fifth))
    }

    /// Returns the standard error of a fifth's mean rate, from the spread of its slices.
    fn error(&self, fifth: usize, noise: Noise) -> f64 {
        let rates: [f64; IN_A_FIFTH] = self.rates(fifth);
        match noise {
            // A slice without an operation has no time per operation.
            Noise::OfTimes if rates.iter().all(|rate| *rate > 0.0) => {
                self.mean(fifth).powi(2) * error_about_line(&rates.map(|rate| 1.0 / rate))
            }
            Noise::OfTimes | Noise::OfRates => error_about_mean(&rates),
        }
    }

    pub(super) fn add_facts(&self, names: &FifthNames, gap: &Gap, scope: Scope, source: &str, facts: &mut Facts) {
        let mut add = |name: FactName, value| {
            facts.insert(name, gap.fact(Quantity { value, unit: name.unit() }, scope, source));
        };
        for (fifth, name) in names.rates.into_iter().enumerate() {
            add(name, self.mean(fifth));
        }
        add(names.error, self.error(0, names.noise).hypot(self.error(4, names.noise)));
    }
}

fn mean(values: &[f64; IN_A_FIFTH]) -> f64 {
    values.iter().sum::<f64>() / IN_A_FIFTH as f64
}

fn squares_about_mean(values: &[f64; IN_A_FIFTH]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Returns the standard error of a mean.
fn error_about_mean(values: &[f64; IN_A_FIFTH]) -> f64 {
    (squares_about_mean(values) / (IN_A_FIFTH - 1) as f64 / IN_A_FIFTH as f64).sqrt()
}

/// Returns the standard error of the mean of values that rise or fall steadily: only their distances from a straight line
/// through them count.
fn error_about_line(values: &[f64; IN_A_FIFTH]) -> f64 {
    let from_middle = |slice: usize| slice as f64 - (IN_A_FIFTH - 1) as f64 / 2.0;
    let mean = mean(values);
    let product: f64 = values.iter().enumerate().map(|(slice, value)| from_middle(slice) * (value - mean)).sum();
    let places: f64 = (0..IN_A_FIFTH).map(|slice| from_middle(slice).powi(2)).sum();
    let rest = (squares_about_mean(values) - product * product / places).max(0.0);
    (rest / (IN_A_FIFTH - 2) as f64 / IN_A_FIFTH as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fifths(moves: &[(u64, u64, u64)]) -> [f64; 5] {
        let mut fifths = Fifths::new(Window { start_ns: 1_000, end_ns: 6_000 });
        moves.iter().for_each(|(start, end, bytes)| fifths.add(*start, *end, *bytes));
        std::array::from_fn(|fifth| fifths.mean(fifth))
    }

    fn check(what: &str, moves: &[(u64, u64, u64)], bytes: [f64; 5]) {
        // A fifth lasts a microsecond.
        let expected = bytes.map(|bytes| bytes * 1e6);
        for (found, expected) in fifths(moves).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{what}: {:?}", fifths(moves));
        }
    }

    #[test]
    fn bytes_count_evenly_over_the_time_that_they_took() {
        check("nothing", &[], [0.0; 5]);
        check("inside one", &[(1_100, 1_900, 80)], [80.0, 0.0, 0.0, 0.0, 0.0]);
        check("over all", &[(1_000, 6_000, 100)], [20.0; 5]);
        check("half of it before", &[(0, 2_000, 100)], [50.0, 0.0, 0.0, 0.0, 0.0]);
        check("half of it after", &[(5_500, 6_500, 100)], [0.0, 0.0, 0.0, 0.0, 50.0]);
        check("in no time", &[(3_500, 3_500, 7), (6_000, 6_000, 9)], [0.0, 0.0, 7.0, 0.0, 9.0]);
        check("outside", &[(0, 900, 5), (7_000, 8_000, 5)], [0.0; 5]);
        check("across a border", &[(1_900, 2_100, 10)], [5.0, 5.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn what_varies_inside_a_fifth_is_its_error() {
        let mut steady = Fifths::new(Window { start_ns: 0, end_ns: 5_000 });
        steady.add(0, 5_000, 5_000);
        assert!(steady.error(0, Noise::OfRates) < 1e-3);
        // One of ten slices has all bytes: mean 1, variance 10.
        let mut lumpy = Fifths::new(Window { start_ns: 0, end_ns: 5_000 });
        lumpy.add(10, 90, 1_000);
        for noise in [Noise::OfRates, Noise::OfTimes] {
            let per_ns = lumpy.error(0, noise) / 1e9;
            assert!((per_ns - 1.0).abs() < 1e-9, "{per_ns}");
        }
    }

    #[test]
    fn names_that_take_longer_with_each_file_are_no_noise() {
        // A slice of 100 ns in which a name takes from 1 to 10 ns.
        let mut falling = Fifths::new(Window { start_ns: 0, end_ns: 5_000 });
        (0..10).for_each(|slice| falling.add(slice * 100, slice * 100 + 100, 100 / (slice + 1)));
        assert!(falling.error(0, Noise::OfRates) > 0.25 * falling.mean(0));
        assert!(falling.error(0, Noise::OfTimes) < 0.02 * falling.mean(0), "{:?}", falling.error(0, Noise::OfTimes));
        // A slower slice is noise for both.
        let mut paused = Fifths::new(Window { start_ns: 0, end_ns: 5_000 });
        (0..10).for_each(|slice| paused.add(slice * 100, slice * 100 + 100, if slice == 4 { 500 } else { 1_000 }));
        for noise in [Noise::OfRates, Noise::OfTimes] {
            assert!((0.04..0.11).contains(&(paused.error(0, noise) / paused.mean(0))), "{noise:?}");
        }
    }
}
