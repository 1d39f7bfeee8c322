//! What the threads' accounts of CPU time say, which a tracer reads while a thread is stopped
//! (`/proc/PID/task/TID/schedstat`).
//!
//! A reading is exact, and seldom falls on the ends of a window. What grew between the readings inside the window is the
//! least; what grew between those around it, or that and the time without a reading, is the most. So each fact here is a
//! bound, and complete as such.

use activebench_model::coverage::{ThreadAccount, ThreadReading};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::grouped::Grouped;
use activebench_model::units::Quantity;

use super::record_losses::RIGHT;
use super::tally::ThreadSpan;

const SOURCE: &str = "/proc/PID/task/TID/schedstat";
/// Source of the stops.
const STOPS: &str = "ptrace";

/// The accounts of all threads.
pub(super) struct Accounts<'a>(Grouped<u32, &'a ThreadAccount>);

/// The time of the threads of a phase.
#[derive(Debug, Default, PartialEq, Eq)]
struct Times {
    cpu_least_ns: u64,
    waited_most_ns: u64,
    waited_least_ns: u64,
    idle_least_ns: u64,
}

/// The least and the most by which a total grew in a time.
fn grown(readings: &[ThreadReading], start_ns: u64, end_ns: u64, of: fn(&ThreadReading) -> u64) -> (u64, u64) {
    let from = readings.partition_point(|reading| reading.at_ns < start_ns);
    let until = readings.partition_point(|reading| reading.at_ns <= end_ns).max(from);
    let (least_ns, read_ns) = match &readings[from..until] {
        [first, .., last] => (of(last).saturating_sub(of(first)), last.at_ns - first.at_ns),
        _ => (0, 0),
    };
    // No total grows faster than the clock.
    let most_ns = least_ns + (end_ns - start_ns).saturating_sub(read_ns);
    let before = readings[..readings.partition_point(|reading| reading.at_ns <= start_ns)].last();
    let after = readings.get(readings.partition_point(|reading| reading.at_ns < end_ns));
    let around_ns = before.zip(after).map_or(u64::MAX, |(before, after)| of(after).saturating_sub(of(before)));
    (least_ns, most_ns.min(around_ns).max(least_ns))
}

fn unknown() -> String {
    format!("the account of a thread's time was not read, or not kept (hint: {RIGHT})")
}

impl<'a> Accounts<'a> {
    pub(super) fn new(accounts: &'a [ThreadAccount]) -> Self {
        let started = |account: &&ThreadAccount| account.readings.first().map_or(0, |reading| reading.at_ns);
        Self(Grouped::new(accounts.iter().map(|account| (account.tid, account)), started))
    }

    /// Returns the account of the thread that had an id in a time.
    fn of(&self, span: &ThreadSpan) -> Option<&'a ThreadAccount> {
        let overlaps = |account: &&&ThreadAccount| match account.readings.as_slice() {
            [first, .., last] => first.at_ns <= span.end_ns && last.at_ns >= span.start_ns,
            _ => false,
        };
        self.0.get(&span.tid).iter().find(overlaps).copied()
    }

    fn times(&self, spans: &[ThreadSpan]) -> Result<Times, String> {
        let mut times = Times::default();
        for span in spans {
            let account = self.of(span).ok_or_else(unknown)?;
            let of = |of| grown(&account.readings, span.start_ns, span.end_ns, of);
            let ((waited_ns, waited_most_ns), (_, tracer_ns)) =
                (of(|reading| reading.waited_ns), of(|reading| reading.waited_for_tracer_ns));
            times.cpu_least_ns += of(|reading| reading.cpu_ns).0;
            times.waited_most_ns += waited_most_ns;
            times.waited_least_ns += waited_ns.saturating_sub(tracer_ns);
            times.idle_least_ns += of(|reading| reading.idle_ns).0;
        }
        match spans.is_empty() {
            true => Err("the pass has no threads".to_owned()),
            false => Ok(times),
        }
    }

    /// Returns the longest time for which a thread was stopped.
    fn stopped_ns(&self, spans: &[ThreadSpan]) -> Option<u64> {
        let mut longest_ns = 0;
        for of_thread in spans.chunk_by(|one, other| one.tid == other.tid) {
            let mut of_this_ns = 0;
            for span in of_thread {
                let stops = self.of(span)?.stops.as_ref()?;
                let inside = |from: u64, to: u64| to.min(span.end_ns).saturating_sub(from.max(span.start_ns));
                of_this_ns += stops.iter().map(|stop| inside(stop.from_ns, stop.to_ns)).sum::<u64>();
            }
            longest_ns = longest_ns.max(of_this_ns);
        }
        (!spans.is_empty()).then_some(longest_ns)
    }

    /// Adds the facts of a phase. `spans` are those of its threads, in the order of these.
    pub(super) fn add_facts(&self, spans: &[ThreadSpan], facts: &mut Facts) {
        let times = self.times(spans);
        let mut add = |name, of: fn(&Times) -> u64| {
            let fact = match &times {
                Ok(times) => Fact::complete(Quantity::ns(of(times)), Scope::Tree, SOURCE),
                Err(why) => Fact::missing(why.clone(), Scope::Tree, SOURCE),
            };
            facts.insert(name, fact);
        };
        add(FactName::ThreadCpuAtLeast, |times| times.cpu_least_ns);
        add(FactName::ThreadWaitAtMost, |times| times.waited_most_ns);
        add(FactName::ThreadWaitAtLeast, |times| times.waited_least_ns);
        add(FactName::ThreadIdleAtLeast, |times| times.idle_least_ns);
        if let Some(stopped_ns) = self.stopped_ns(spans) {
            facts.insert(FactName::Stopped, Fact::complete(Quantity::ns(stopped_ns), Scope::Tree, STOPS));
        }
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::coverage::StoppedTime;

    use super::*;

    fn reading(at_ns: u64, cpu_ns: u64, waited_ns: u64, waited_for_tracer_ns: u64, idle_ns: u64) -> ThreadReading {
        ThreadReading { at_ns, cpu_ns, waited_ns, waited_for_tracer_ns, idle_ns }
    }

    fn account(readings: Vec<ThreadReading>) -> ThreadAccount {
        let stops = vec![StoppedTime { from_ns: 30, to_ns: 50 }, StoppedTime { from_ns: 90, to_ns: 300 }];
        ThreadAccount { tid: 7, readings, stops: Some(stops) }
    }

    #[test]
    fn what_grew_inside_is_the_least_and_what_grew_around_it_or_may_have_is_the_most() {
        let readings =
            [reading(10, 0, 0, 0, 0), reading(20, 4, 1, 0, 0), reading(80, 34, 11, 0, 0), reading(200, 84, 11, 0, 0)];
        let of_cpu = |start_ns, end_ns| grown(&readings, start_ns, end_ns, |reading| reading.cpu_ns);
        assert_eq!(of_cpu(20, 80), (30, 30));
        assert_eq!(of_cpu(15, 85), (30, 40));
        assert_eq!(of_cpu(10, 200), (84, 84));
        assert_eq!(of_cpu(30, 40), (0, 10));
        assert_eq!(of_cpu(150, 300), (0, 150));
        assert_eq!(of_cpu(0, 5), (0, 5));
        // Between the readings around it, it waited no more.
        assert_eq!(grown(&readings, 90, 190, |reading| reading.waited_ns), (0, 0));
        assert_eq!(grown(&[], 90, 190, |reading| reading.waited_ns), (0, 100));
    }

    #[test]
    fn the_facts_are_bounds_and_missing_where_an_account_is() {
        let all = [account(vec![
            reading(10, 0, 0, 0, 0),
            reading(20, 4, 1, 1, 0),
            reading(80, 34, 11, 4, 12),
            reading(90, 40, 12, 5, 20),
        ])];
        let accounts = Accounts::new(&all);
        let mut facts = Facts::default();
        accounts.add_facts(&[ThreadSpan::of(0, 7, 20, 85)], &mut facts);
        let fact = |name| facts.complete(name).expect("it is known");
        assert_eq!(fact(FactName::ThreadCpuAtLeast), 30.0);
        assert_eq!(fact(FactName::ThreadWaitAtMost), 11.0);
        // The tracer may have caused one more between the readings around it.
        assert_eq!(fact(FactName::ThreadWaitAtLeast), 6.0);
        assert_eq!(fact(FactName::ThreadIdleAtLeast), 12.0);
        assert_eq!(fact(FactName::Stopped), 20.0);
        let mut facts = Facts::default();
        accounts.add_facts(&[ThreadSpan::of(0, 7, 20, 85), ThreadSpan::of(0, 8, 20, 85)], &mut facts);
        assert!(facts.get(FactName::Stopped).is_none());
        assert!(facts.0.len() == 4 && facts.0.keys().all(|name| facts.complete(*name).is_err()), "{facts:?}");
        // A later thread of this number.
        assert!(accounts.times(&[ThreadSpan::of(0, 7, 91, 95)]).is_err());
        assert!(accounts.times(&[]).is_err());
    }

    #[test]
    fn stops_that_were_too_many_are_not_known() {
        let readings = vec![reading(10, 0, 0, 0, 0), reading(400, 4, 1, 1, 0)];
        let all = [ThreadAccount { stops: None, ..account(readings) }];
        assert_eq!(Accounts::new(&all).stopped_ns(&[ThreadSpan::of(0, 7, 20, 85)]), None);
    }
}
