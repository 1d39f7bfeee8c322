//! The host's steal time inside a window.

use std::collections::BTreeMap;

use activebench_model::coverage::Coverage;
use activebench_model::event::StealEvent;
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::phase::{Phase, Window};
use activebench_model::units::Quantity;

use super::cpu_times::NEAR_ENOUGH;
use super::rate_in_fifths::last_fifth;
use activebench_model::source::{EventSource, Unreadable};

/// Source of steal time.
const SOURCE: &str = "/proc/stat";
const UNCOVERED: &str = "the readings of the steal time do not cover the pass";

/// Readings by CPU, each `(time, steal)`, in order.
#[derive(Debug, Default)]
pub(super) struct Readings(BTreeMap<u32, Vec<(u64, u64)>>);

/// Steal time of one window.
struct Stolen {
    steal_ns: u64,
    error_ns: u64,
    /// CPUs whose readings do not cover the pass.
    unread: usize,
}

impl Readings {
    pub(super) fn read(source: &dyn EventSource) -> Result<Self, Unreadable> {
        let mut readings = Self::default();
        for batch in source.steal() {
            for StealEvent { at_ns, cpu, steal_ns } in batch? {
                readings.0.entry(cpu).or_default().push((at_ns, steal_ns));
            }
        }
        readings.0.values_mut().for_each(|readings| readings.sort_unstable());
        Ok(readings)
    }

    fn stolen(&self, window: Window) -> Stolen {
        let mut stolen = Stolen { steal_ns: 0, error_ns: 0, unread: 0 };
        for readings in self.0.values() {
            match (at(readings, window.start_ns), at(readings, window.end_ns)) {
                (Some((start, start_error)), Some((end, end_error))) if end >= start => {
                    stolen.steal_ns += end - start;
                    stolen.error_ns += start_error + end_error;
                }
                _ => stolen.unread += 1,
            }
        }
        stolen
    }

    pub(super) fn add_facts(&self, coverage: &Coverage, window: Window, facts: &mut Facts) {
        let processors = self.0.len();
        let capacity_ns = window.duration_ns() as f64 * processors as f64;
        let stolen = self.stolen(window);
        let readable = processors > 0 && stolen.unread == 0 && coverage.steal_unread.is_none();
        let error = match readable {
            true => Fact::complete(Quantity::ns(stolen.error_ns), Scope::Host, SOURCE),
            false => Fact::missing(UNCOVERED, Scope::Host, SOURCE),
        };
        let (time, share) = if processors == 0 || stolen.unread == processors {
            let why = coverage.steal_unread.as_deref().unwrap_or("this run has no readings of the steal time");
            let missing = Fact::missing(why, Scope::Host, SOURCE);
            (missing.clone(), missing)
        } else {
            let complete = |quantity| Fact::complete(quantity, Scope::Host, SOURCE);
            let time = complete(Quantity::ns(stolen.steal_ns));
            let share = match capacity_ns {
                0.0 => Fact::missing("the pass does not have a measurable duration", Scope::Host, SOURCE),
                _ => complete(Quantity::ratio(stolen.steal_ns as f64 / capacity_ns)),
            };
            let short = if stolen.unread > 0 {
                Some(format!("the readings of {} of {processors} CPUs do not cover the pass", stolen.unread))
            } else if stolen.error_ns as f64 > NEAR_ENOUGH * capacity_ns {
                Some(format!("accurate to ± {}", Quantity::ns(stolen.error_ns)))
            } else {
                coverage.steal_unread.clone()
            };
            match short {
                Some(why) => (time.partial(why.clone()), share.partial(why)),
                None => (time, share),
            }
        };
        facts.insert(FactName::Steal, time);
        facts.insert(FactName::StealError, error);
        facts.insert(FactName::StealShare, share);
    }

    /// Adds how much of the last fifth of a pass the hypervisor took at most.
    pub(super) fn add_last_fifth(&self, coverage: &Coverage, phase: &mut Phase) {
        let most = last_fifth(phase).and_then(|last| {
            let stolen = self.stolen(last);
            match &coverage.steal_unread {
                Some(why) => Err(why.clone()),
                None if self.0.is_empty() || stolen.unread > 0 => Err(UNCOVERED.to_owned()),
                None => Ok((stolen.steal_ns + stolen.error_ns) as f64 / last.duration_ns() as f64),
            }
        });
        let fact = match most {
            Ok(share) => Fact::complete(Quantity::ratio(share), Scope::Host, SOURCE),
            Err(why) => Fact::missing(why, Scope::Host, SOURCE),
        };
        phase.facts.insert(FactName::LastFifthStealAtMost, fact);
    }
}

/// Returns the steal time at a moment, and its largest possible error: it grew at an unknown time between
/// the two readings around the moment.
fn at(readings: &[(u64, u64)], at_ns: u64) -> Option<(u64, u64)> {
    let after = readings.partition_point(|(read_ns, _)| *read_ns <= at_ns);
    let (before_ns, before) = *readings[..after].last()?;
    if before_ns == at_ns {
        return Some((before, 0));
    }
    let (after_ns, after) = *readings.get(after)?;
    let grown = after.checked_sub(before)?;
    let part = (u128::from(grown) * u128::from(at_ns - before_ns) / u128::from(after_ns - before_ns)) as u64;
    Some((before + part, part.max(grown - part)))
}

#[cfg(test)]
mod tests {
    use activebench_model::fact::Completeness;
    use activebench_model::phase::{Direction, NameOperation, NamePass};

    use super::*;

    fn of(readings: &[(u64, u32, u64)]) -> Readings {
        let mut all = Readings::default();
        for (at_ns, cpu, steal_ns) in readings {
            all.0.entry(*cpu).or_default().push((*at_ns, *steal_ns));
        }
        all
    }

    fn facts(readings: &[(u64, u32, u64)], coverage: &Coverage, window: (u64, u64)) -> Facts {
        let mut facts = Facts::default();
        of(readings).add_facts(coverage, Window { start_ns: window.0, end_ns: window.1 }, &mut facts);
        facts
    }

    #[test]
    fn steal_is_added_over_processors_and_none_is_a_measured_zero() {
        let coverage = Coverage::default();
        // CPU 0 loses 40 ns between 1000 and 2000, CPU 1 loses nothing.
        let readings = [(0, 0, 7), (1_000, 0, 7), (2_000, 0, 47), (9_000, 0, 47), (0, 1, 3), (9_000, 1, 3)];
        for (window, expected) in [((500, 3_000), 40.0), ((3_000, 9_000), 0.0), ((1_000, 1_500), 20.0)] {
            let facts = facts(&readings, &coverage, window);
            assert_eq!(facts.get(FactName::Steal).and_then(|fact| fact.value).map(|value| value.value), Some(expected));
        }
        let whole = facts(&readings, &coverage, (500, 3_000));
        assert_eq!(whole.complete(FactName::StealShare), Ok(40.0 / 5_000.0));
        let cut = facts(&readings, &coverage, (1_000, 1_500));
        assert!(matches!(&cut.0[&FactName::Steal].completeness, Completeness::Partial(why) if why.contains("20 ns")));
    }

    #[test]
    fn one_task_can_have_lost_in_the_last_fifth_what_all_processors_lost() {
        let names = NamePass { operation: NameOperation::Create, requested: None, spans: Vec::new() };
        let window = Some(Window { start_ns: 1_000, end_ns: 6_000 });
        let share = |readings: &[(u64, u32, u64)], coverage: &Coverage| {
            let mut phase = Phase { window, names: Some(names.clone()), ..Phase::planned("p", "p", Direction::None) };
            of(readings).add_last_fifth(coverage, &mut phase);
            phase.facts.complete(FactName::LastFifthStealAtMost)
        };
        let coverage = Coverage::default();
        let before = [(0, 0, 0), (5_000, 0, 900), (6_000, 0, 900), (0, 1, 0), (6_000, 1, 0)];
        assert_eq!(share(&before, &coverage), Ok(0.0));
        let both = [(0, 0, 0), (5_000, 0, 0), (6_000, 0, 700), (0, 1, 0), (5_000, 1, 0), (6_000, 1, 500)];
        assert_eq!(share(&both, &coverage), Ok(1.2));
        // Between readings at 4,000 and 6,000 it grew at an unknown time, all of it in the fifth at most.
        let unsure = [(0, 0, 0), (4_000, 0, 0), (6_000, 0, 100)];
        assert_eq!(share(&unsure, &coverage), Ok(0.1));
        assert!(share(&[(0, 0, 0), (5_500, 0, 0)], &coverage).is_err());
        assert!(share(&[], &coverage).is_err());
        let unread = Coverage { steal_unread: Some("no steal time".to_owned()), ..Coverage::default() };
        assert!(share(&before, &unread).is_err_and(|why| why.contains("no steal time")));
    }

    #[test]
    fn what_was_not_read_is_missing_and_a_part_is_partial() {
        let coverage = Coverage { steal_unread: Some("no steal time".to_owned()), ..Coverage::default() };
        let none = facts(&[], &coverage, (0, 10));
        assert_eq!(none.0[&FactName::Steal].completeness, Completeness::Missing("no steal time".to_owned()));
        let part = facts(&[(0, 0, 0), (10, 0, 0), (0, 1, 0), (5, 1, 0)], &Coverage::default(), (0, 10));
        let why = "the readings of 1 of 2 CPUs do not cover the pass".to_owned();
        assert_eq!(part.0[&FactName::Steal].completeness, Completeness::Partial(why));
        let short = facts(&[(0, 0, 0), (10, 0, 0)], &coverage, (0, 10));
        assert_eq!(short.0[&FactName::Steal].completeness, Completeness::Partial("no steal time".to_owned()));
    }
}
