//! The run time of the kernel programs over a run: what the observation took.

use serde::{Deserialize, Serialize};

/// Runs of the programs of a group and their time, added over all CPUs, since the observation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    /// Number of runs.
    pub runs: u64,
    /// Their time by the kernel's account, in nanoseconds. The account contains a part of what measuring costs, and
    /// leaves out what calling a program costs: see [`Calibration`].
    pub ns: u64,
}

/// Runs up to a moment, extrapolated from slices of 2 ms in every 100, or exact where somebody else has all programs
/// timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramReading {
    /// The moment (`CLOCK_MONOTONIC`, ns).
    pub at_ns: u64,
    /// Programs at the entry and exit of system calls, of all processes: two runs per call.
    pub calls: Runs,
    /// Programs at the submission and completion of requests of io_uring.
    pub requests: Runs,
    /// The program of the sampling clock.
    pub samples: Runs,
    /// All other programs.
    pub others: Runs,
}

/// What the kernel's account of run time leaves out, measured on this machine before the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Time that the programs at entry and exit add to a cheap system call of a process outside the tree, in a loop of
    /// nothing else, in nanoseconds.
    pub outside_call_ns: f64,
    /// Run time by the account of each of the two programs at such a call, in nanoseconds.
    pub outside_run_ns: f64,
    /// Time that one interrupt of the sampling clock takes from the thread that it interrupts, in nanoseconds. `None`
    /// without a sampling clock, or when too few interrupts were seen.
    pub interrupt_ns: Option<f64>,
}

/// The run time of the kernel programs over a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramTimes {
    /// What the readings leave out; `None` when it was not measured.
    pub calibration: Option<Calibration>,
    /// In order of time; the first one is the beginning, with no runs. About ten per second, at most
    /// [`ProgramTimes::MOST_READINGS`]: of more, only a part is kept.
    pub readings: Vec<ProgramReading>,
}

impl Calibration {
    /// Returns the time that a program takes beside its run time by the account, in nanoseconds. It is negative where
    /// the account contains more of its own cost than calling the program takes. `coldness` is how much longer calling
    /// takes than in the loop of the calibration, which has everything in the caches, as a share: 0 for equally long.
    pub fn beside_run_ns(&self, coldness: f64) -> f64 {
        (1.0 + coldness) * self.outside_call_ns / 2.0 - self.outside_run_ns
    }
}

impl Runs {
    fn map(self, other: Runs, value: impl Fn(u64, u64) -> u64) -> Runs {
        Runs { runs: value(self.runs, other.runs), ns: value(self.ns, other.ns) }
    }
}

impl ProgramReading {
    /// Combines each number with that of another reading. The moment stays.
    #[must_use]
    pub fn map(self, other: ProgramReading, value: impl Fn(u64, u64) -> u64) -> ProgramReading {
        ProgramReading {
            at_ns: self.at_ns,
            calls: self.calls.map(other.calls, &value),
            requests: self.requests.map(other.requests, &value),
            samples: self.samples.map(other.samples, &value),
            others: self.others.map(other.others, &value),
        }
    }

    /// Returns the sum over all groups.
    pub fn all(&self) -> Runs {
        let Self { calls, requests, samples, others, .. } = self;
        [calls, requests, samples, others]
            .into_iter()
            .fold(Runs::default(), |sum, group| sum.map(*group, u64::saturating_add))
    }
}

impl ProgramTimes {
    /// Largest number of readings.
    pub const MOST_READINGS: usize = 512;

    /// Adds a reading. When there are too many, every second one is removed: they are running totals.
    pub fn add(&mut self, reading: ProgramReading) {
        if self.readings.len() >= Self::MOST_READINGS {
            let mut number = 0;
            self.readings.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.readings.push(reading);
    }

    /// Returns what ran between two moments, interpolated between the readings around each; its `at_ns` is the length
    /// of that time. `None` where the readings do not cover more than half of it.
    ///
    /// The last slice ends some time before the run does, and so does the last reading: what is behind it counts like
    /// what is before.
    pub fn between(&self, start_ns: u64, end_ns: u64) -> Option<ProgramReading> {
        let (first, last) = (self.readings.first()?, self.readings.last()?);
        let from_ns = start_ns.max(first.at_ns);
        let to_ns = end_ns.min(last.at_ns);
        // They may come from a file of a stranger, in any order.
        let (covered_ns, length_ns) = (to_ns.checked_sub(from_ns)?, end_ns.checked_sub(start_ns)?);
        if covered_ns == 0 || covered_ns < length_ns / 2 {
            return None;
        }
        let grown = self.at(to_ns)?.map(self.at(from_ns)?, u64::saturating_sub);
        let whole = |value: u64, _| scaled(value, length_ns, covered_ns);
        Some(ProgramReading { at_ns: length_ns, ..grown.map(grown, whole) })
    }

    /// Returns the running totals at a moment from the first to the last reading.
    fn at(&self, moment_ns: u64) -> Option<ProgramReading> {
        let later = self.readings.partition_point(|reading| reading.at_ns < moment_ns);
        let after = self.readings.get(later)?;
        let Some(before) = later.checked_sub(1).map(|index| self.readings[index]) else { return Some(*after) };
        let passed = moment_ns.checked_sub(before.at_ns)?;
        let whole = after.at_ns.checked_sub(before.at_ns)?;
        let between = |from: u64, to: u64| from.saturating_add(scaled(to.saturating_sub(from), passed, whole));
        Some(ProgramReading { at_ns: moment_ns, ..before.map(*after, between) })
    }
}

fn scaled(value: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ns: u64, runs: u64) -> ProgramReading {
        ProgramReading { at_ns, calls: Runs { runs, ns: 40 * runs }, ..ProgramReading::default() }
    }

    fn times(readings: &[ProgramReading]) -> ProgramTimes {
        ProgramTimes { calibration: None, readings: readings.to_vec() }
    }

    #[test]
    fn a_window_gets_what_grew_in_it() {
        let times = times(&[reading(1_000, 0), reading(2_000, 100), reading(4_000, 500)]);
        for (start, end, runs) in [(1_000, 4_000, 500), (1_500, 2_000, 50), (2_000, 3_000, 200), (1_500, 3_000, 250)] {
            let grown = times.between(start, end).expect("readings around it");
            assert_eq!((grown.calls, grown.at_ns), (Runs { runs, ns: 40 * runs }, end - start), "{start}..{end}");
        }
        // What lies behind the last reading counts like what is before it.
        assert_eq!(times.between(3_000, 5_000).expect("half of it").calls.runs, 400);
        for (start, end) in [(3_500, 5_000), (5_000, 6_000), (0, 1_000), (4_000, 3_000)] {
            assert_eq!(times.between(start, end), None, "{start}..{end}");
        }
        assert_eq!(self::times(&[]).between(0, 1), None);
        assert_eq!(self::times(&[reading(9, 5), reading(3, 1)]).between(1, 9), None);
    }

    #[test]
    fn many_readings_are_thinned_out_and_say_the_same() {
        let mut times = times(&[]);
        (0..=10_000).for_each(|number| times.add(reading(100 * number, 7 * number)));
        assert!(times.readings.len() <= ProgramTimes::MOST_READINGS, "{}", times.readings.len());
        assert_eq!((times.readings[0].at_ns, times.readings.last().map(|last| last.at_ns)), (0, Some(1_000_000)));
        assert_eq!(times.between(250_000, 750_000).expect("covered").calls.runs, 35_000);
    }
}
