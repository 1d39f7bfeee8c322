//! Where the threads' time goes, as the kernel accounts for it (`/proc/PID/task/TID/schedstat`, the three numbers of
//! Documentation/scheduler/sched-stats.rst). Anybody may read it. While a thread is stopped, its figures are exact.
//!
//! Tracing itself makes a thread wait: each time it is let go on it is woken, and we use a CPU meanwhile. What may be our
//! part of each wait is kept apart, so that the rest is the work of others.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use activebench_model::coverage::{StoppedTime, ThreadAccount, ThreadReading};

use super::ptrace::Tid;
use crate::kernel::own_cpu_ns;

/// Least time between two readings that are kept.
const APART_NS: u64 = 2_000_000;
/// Readings that are kept of one thread, of the threads that ended, and of all at the end: of more, every second one goes.
const MOST_OF_THREAD: usize = 2048;
const MOST_OF_ENDED: usize = 1 << 16;
const MOST_READINGS: usize = 1 << 14;
/// Threads whose accounts are kept.
const MOST_THREADS: usize = 256;
/// Stops by signals that are kept of one thread.
const MOST_STOPS: usize = 1024;
/// Shorter stops are not counted.
const LEAST_STOP_NS: u64 = 2_000_000;
/// What waking a thread may take at most, without anybody's being in its way: an idle virtual CPU takes some 50 us, a tick
/// up to 1 ms.
const WAKING_NS: u64 = 1_000_000;
/// More than the account has.
const ACCOUNT_BYTES: usize = 128;

/// The totals of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    cpu_ns: u64,
    waited_ns: u64,
}

impl Totals {
    /// `None` too where the kernel keeps no accounts: it then gives three zeros, and a thread that stops has run.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        let (cpu_ns, waited_ns, turns) = (numbers.next()??, numbers.next()??, numbers.next()??);
        (cpu_ns > 0 || turns > 0).then_some(Self { cpu_ns, waited_ns })
    }

    fn read(file: Option<&File>) -> Option<Self> {
        let mut bytes = [0; ACCOUNT_BYTES];
        let read = file?.read_at(&mut bytes, 0).ok()?;
        Self::parse(std::str::from_utf8(&bytes[..read]).ok()?)
    }
}

/// What the observation itself takes: CPU time of this process, and the wait of the tracing thread for a CPU. Both may be
/// read later than they are used, and then say more.
#[derive(Debug, Default)]
pub(super) struct Own {
    account: Option<File>,
    waited_at_start_ns: Option<u64>,
    taken: Taken,
}

#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    cpu_ns: u64,
    waited_ns: Option<u64>,
}

impl Own {
    /// Begins to count; called by the tracing thread.
    pub(super) fn begin(&mut self) {
        self.account = File::open("/proc/thread-self/schedstat").ok();
        self.read_waited();
        self.waited_at_start_ns = self.taken.waited_ns;
    }

    fn read_waited(&mut self) {
        self.taken.waited_ns = Totals::read(self.account.as_ref()).map(|totals| totals.waited_ns);
    }

    /// Returns the time for which the tracing thread waited for a CPU; `None` if it is not known.
    pub(super) fn waited_ns(&mut self) -> Option<u64> {
        self.read_waited();
        self.taken.waited_ns?.checked_sub(self.waited_at_start_ns?)
    }
}

/// How a thread was let go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goes {
    /// Outside of calls, and nothing else of its process can be at work.
    Alone,
    /// In a call, or not alone.
    Busy,
    /// It stays stopped with its group.
    Stopped,
}

/// The account of one thread.
#[derive(Debug)]
pub(super) struct Thread {
    file: Option<File>,
    since: Option<Since>,
    /// Time in calls that were noted since then, and are over.
    noted_ns: u64,
    now: ThreadReading,
    kept: ThreadAccount,
}

/// The last time at which it was let go on.
#[derive(Clone, Copy, Debug)]
struct Since {
    at_ns: u64,
    totals: Totals,
    taken: Taken,
    goes: Goes,
}

impl Thread {
    /// Opens the account of a thread.
    pub(super) fn new(tgid: u32, tid: Tid) -> Self {
        Self {
            file: File::open(format!("/proc/{tgid}/task/{tid}/schedstat")).ok(),
            since: None,
            noted_ns: 0,
            now: ThreadReading::default(),
            kept: ThreadAccount { tid: tid.cast_unsigned(), readings: Vec::new(), stops: Some(Vec::new()) },
        }
    }

    /// The thread was in calls for so long since it was let go on, without a stop.
    pub(super) fn noted(&mut self, took_ns: u64) {
        self.noted_ns = self.noted_ns.saturating_add(took_ns);
    }

    /// The thread has stopped. `is_alone` says if its process had no other thread since a time, and has no request in
    /// flight.
    pub(super) fn stopped(&mut self, at_ns: u64, own: &mut Own, is_alone: impl FnOnce(u64) -> bool) {
        own.taken.cpu_ns = own_cpu_ns();
        let Some(totals) = Totals::read(self.file.as_ref()) else {
            // Without this one, nothing is known of the time between the readings around it.
            self.since = None;
            return;
        };
        match self.since.take() {
            Some(since) => self.add(&since, at_ns, totals, own, is_alone),
            // Whose the wait was is not known.
            None => self.now.waited_for_tracer_ns += totals.waited_ns.saturating_sub(self.now.waited_ns),
        }
        self.now = ThreadReading { at_ns, cpu_ns: totals.cpu_ns, waited_ns: totals.waited_ns, ..self.now };
        if self.kept.readings.last().is_none_or(|last| at_ns.saturating_sub(last.at_ns) >= APART_NS) {
            self.keep();
        }
    }

    fn add(&mut self, since: &Since, at_ns: u64, totals: Totals, own: &mut Own, is_alone: impl FnOnce(u64) -> bool) {
        let passed_ns = at_ns.saturating_sub(since.at_ns);
        let waited_ns = totals.waited_ns.saturating_sub(since.totals.waited_ns);
        let cpu_ns = totals.cpu_ns.saturating_sub(since.totals.cpu_ns);
        let ours_ns = own.taken.cpu_ns.saturating_sub(since.taken.cpu_ns).saturating_add(WAKING_NS);
        self.now.waited_for_tracer_ns += waited_ns.min(ours_ns);
        // In a call it is not idle. What it was on a CPU and waited there is taken off twice: this is the least.
        let busy_ns = ours_ns.saturating_add(std::mem::take(&mut self.noted_ns));
        let idle_ns = passed_ns.saturating_sub(waited_ns).saturating_sub(cpu_ns).saturating_sub(busy_ns);
        match since.goes {
            Goes::Stopped if passed_ns >= LEAST_STOP_NS => {
                let stop = StoppedTime { from_ns: since.at_ns, to_ns: at_ns };
                self.kept.stops = self.kept.stops.take().filter(|stops| stops.len() < MOST_STOPS);
                self.kept.stops.iter_mut().for_each(|stops| stops.push(stop));
            }
            Goes::Alone if idle_ns > 0 && is_alone(since.at_ns) => {
                // It may have stopped before we were on a CPU to see it.
                own.read_waited();
                let late_ns = own.taken.waited_ns.zip(since.taken.waited_ns).map(|(now, then)| now - then.min(now));
                self.now.idle_ns += late_ns.map_or(0, |late_ns| idle_ns.saturating_sub(late_ns));
            }
            _ => {}
        }
    }

    /// It is about to be let go on.
    pub(super) fn goes_on(&mut self, at_ns: u64, own: &Own, goes: Goes) {
        let totals = Totals { cpu_ns: self.now.cpu_ns, waited_ns: self.now.waited_ns };
        self.noted_ns = 0;
        self.since = (self.now.at_ns > 0).then_some(Since { at_ns, totals, taken: own.taken, goes });
    }

    /// Keeps the reading of the last stop, if it is new: a pass may begin or end here.
    pub(super) fn keep(&mut self) {
        let readings = &mut self.kept.readings;
        if self.now.at_ns == 0 || readings.last().is_some_and(|last| last.at_ns >= self.now.at_ns) {
            return;
        }
        readings.push(self.now);
        if readings.len() > MOST_OF_THREAD {
            thin(readings);
        }
    }
}

/// Leaves every second reading, the first and the last.
fn thin(readings: &mut Vec<ThreadReading>) {
    let end = readings.len().saturating_sub(1);
    let mut place = 0;
    readings.retain(|_| {
        place += 1;
        (place - 1) % 2 == 0 || place - 1 == end
    });
}

/// The accounts of the threads that ended, and which threads the processes have.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    ended: Vec<ThreadAccount>,
    readings: usize,
    /// Number of threads, and when it changed last.
    members: HashMap<u32, (usize, u64)>,
}

impl Accounts {
    /// A process has one thread more.
    pub(super) fn joined(&mut self, tgid: u32, at_ns: u64) {
        let (threads, changed_ns) = self.members.entry(tgid).or_default();
        (*threads, *changed_ns) = (*threads + 1, at_ns);
    }

    /// A thread is gone.
    pub(super) fn left(&mut self, tgid: u32, mut thread: Thread, at_ns: u64) {
        if let Some((threads, changed_ns)) = self.members.get_mut(&tgid) {
            (*threads, *changed_ns) = (threads.saturating_sub(1), at_ns);
            if *threads == 0 {
                self.members.remove(&tgid);
            }
        }
        thread.keep();
        if thread.kept.readings.len() < 2 {
            return;
        }
        self.readings += thread.kept.readings.len();
        self.ended.push(thread.kept);
        if self.ended.len() >= 2 * MOST_THREADS {
            keep_longest(&mut self.ended);
            self.readings = count(&self.ended);
        }
        self.bound(MOST_OF_ENDED);
    }

    /// Returns `true` if a process has had one thread since a time.
    pub(super) fn has_one(&self, tgid: u32, since_ns: u64) -> bool {
        self.members.get(&tgid).is_some_and(|(threads, changed_ns)| *threads == 1 && *changed_ns <= since_ns)
    }

    fn bound(&mut self, most: usize) {
        while self.readings > most.max(2 * self.ended.len()) {
            self.ended.iter_mut().for_each(|account| thin(&mut account.readings));
            self.readings = count(&self.ended);
        }
    }

    /// Returns the accounts, of the threads that lived the longest, after all threads have left.
    pub(super) fn all(&self) -> Vec<ThreadAccount> {
        let mut kept = Self { ended: self.ended.clone(), ..Self::default() };
        keep_longest(&mut kept.ended);
        kept.readings = count(&kept.ended);
        kept.bound(MOST_READINGS);
        kept.ended
    }
}

fn count(accounts: &[ThreadAccount]) -> usize {
    accounts.iter().map(|account| account.readings.len()).sum()
}

fn keep_longest(accounts: &mut Vec<ThreadAccount>) {
    let age = |account: &ThreadAccount| match account.readings.as_slice() {
        [first, .., last] => last.at_ns - first.at_ns,
        _ => 0,
    };
    accounts.sort_by_key(|account| std::cmp::Reverse(age(account)));
    accounts.truncate(MOST_THREADS);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn own(cpu_ns: u64) -> Own {
        Own { taken: Taken { cpu_ns, waited_ns: Some(0) }, ..Own::default() }
    }

    fn thread() -> Thread {
        Thread {
            file: None,
            since: None,
            noted_ns: 0,
            now: ThreadReading { at_ns: 1, ..ThreadReading::default() },
            kept: ThreadAccount { tid: 7, readings: Vec::new(), stops: Some(Vec::new()) },
        }
    }

    #[test]
    fn an_account_is_parsed_and_none_is_not_zero() {
        assert_eq!(Totals::parse("901168 2281137 2\n"), Some(Totals { cpu_ns: 901_168, waited_ns: 2_281_137 }));
        assert_eq!(Totals::parse("0 0 0\n"), None);
        assert_eq!(Totals::parse("1 2\n"), None);
        assert_eq!(Totals::parse("1 2 x\n"), None);
        assert_eq!(Totals::read(None), None);
    }

    /// Lets a thread go for a time of which so much was spent on a CPU and waiting for one, while we used `ours_ns`.
    fn gap(goes: Goes, (passed_ns, cpu_ns, waited_ns): (u64, u64, u64), ours_ns: u64, is_alone: bool) -> Thread {
        let mut thread = thread();
        thread.goes_on(10, &own(0), goes);
        let since = thread.since.take().expect("it goes on");
        thread.add(&since, 10 + passed_ns, Totals { cpu_ns, waited_ns }, &mut own(ours_ns), |_| is_alone);
        thread
    }

    #[test]
    fn of_a_wait_our_cpu_time_and_what_waking_takes_are_ours() {
        for (waited_ns, ours_ns, expected_ns) in
            [(3 * MS, MS / 2, 3 * MS / 2), (MS / 2, 0, MS / 2), (5 * MS, 9 * MS, 5 * MS)]
        {
            let thread = gap(Goes::Busy, (9 * MS, MS, waited_ns), ours_ns, true);
            assert_eq!((thread.now.waited_for_tracer_ns, thread.now.idle_ns), (expected_ns, 0));
        }
    }

    #[test]
    fn only_a_thread_alone_and_outside_of_calls_is_idle_and_only_if_we_were_there_to_see_it_stop() {
        let times = (20 * MS, 2 * MS, 3 * MS);
        // The wait of this test for a CPU is not known.
        assert_eq!(gap(Goes::Alone, times, MS, true).now.idle_ns, 0);
        assert_eq!(gap(Goes::Busy, times, MS, true).now.idle_ns, 0);
        let mut here = Own::default();
        here.begin();
        let mut thread = thread();
        thread.goes_on(10, &here, Goes::Alone);
        let since = thread.since.take().expect("it goes on");
        here.taken.cpu_ns = MS;
        let totals = Totals { cpu_ns: 2 * MS, waited_ns: 3 * MS };
        thread.add(&since, 10 + 20_000 * MS, totals, &mut here, |_| true);
        let late_ns = here.taken.waited_ns.expect("it is known") - since.taken.waited_ns.expect("it is known");
        assert_eq!(thread.now.idle_ns, 19_993 * MS - late_ns);
        thread.add(&since, 10 + 20_000 * MS, totals, &mut here, |_| false);
        assert_eq!(thread.now.idle_ns, 19_993 * MS - late_ns);
    }

    #[test]
    fn stops_by_a_signal_are_kept_and_too_many_are_not_known() {
        let thread = gap(Goes::Stopped, (300 * MS, 0, 0), 0, true);
        assert_eq!(thread.kept.stops, Some(vec![StoppedTime { from_ns: 10, to_ns: 10 + 300 * MS }]));
        assert_eq!(thread.now.idle_ns, 0);
        assert_eq!(gap(Goes::Stopped, (MS, 0, 0), 0, true).kept.stops, Some(Vec::new()));
        let mut thread = thread;
        for _ in 0..MOST_STOPS {
            thread.goes_on(10, &own(0), Goes::Stopped);
            let since = thread.since.take().expect("it goes on");
            thread.add(&since, 10 + 300 * MS, Totals::default(), &mut own(0), |_| true);
        }
        assert_eq!(thread.kept.stops, None);
    }

    #[test]
    fn our_own_account_grows_and_is_kept_at_times() {
        let pid = std::process::id();
        let mut thread = Thread::new(pid, pid.cast_signed());
        let mut own = Own::default();
        own.begin();
        assert!(own.waited_ns().is_some());
        for at_ns in [1, 2, 3 * MS, 3 * MS + 1] {
            thread.stopped(at_ns, &mut own, |_| true);
            thread.goes_on(at_ns, &own, Goes::Busy);
        }
        let at: Vec<u64> = thread.kept.readings.iter().map(|reading| reading.at_ns).collect();
        assert_eq!(at, [1, 3 * MS]);
        assert!(thread.kept.readings[1].cpu_ns > 0);
        thread.keep();
        thread.keep();
        assert_eq!(thread.kept.readings.len(), 3);
    }

    #[test]
    fn accounts_stay_few_and_span_the_same_time() {
        let mut accounts = Accounts::default();
        for number in 0..700_u64 {
            let mut thread = thread();
            for at in 0..100 {
                thread.now.at_ns = 1 + at * (10 + number);
                thread.keep();
            }
            accounts.joined(9, number);
            accounts.left(9, thread, number);
        }
        let all = accounts.all();
        assert!(all.len() == MOST_THREADS && count(&all) <= MOST_READINGS, "{} {}", all.len(), count(&all));
        for account in &all {
            let (first, last) = (account.readings[0].at_ns, account.readings.last().expect("two").at_ns);
            assert!(first == 1 && last >= 99 * 400, "{first} {last}");
        }
        accounts.joined(1, 5);
        assert!(accounts.has_one(1, 5) && !accounts.has_one(1, 4) && !accounts.has_one(2, 9));
        accounts.joined(1, 6);
        assert!(!accounts.has_one(1, 9));
    }
}
