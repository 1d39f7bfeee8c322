//! The clocks of a run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Longest time between two readings of `CLOCK_MONOTONIC` whose middle is taken for the time of a reading in between.
const LONGEST_READING_NS: u64 = 100_000;

/// Returns `CLOCK_MONOTONIC` in nanoseconds: the clock of every kernel record.
pub fn monotonic_ns() -> u64 {
    ns(ClockId::Monotonic)
}

/// Returns `CLOCK_REALTIME` and `CLOCK_BOOTTIME`, each less `CLOCK_MONOTONIC`; `None` where we lost the CPU between the
/// readings, or a clock is behind.
pub(crate) fn leads_ns() -> Option<[u64; 2]> {
    let begin = monotonic_ns();
    let clocks = [ns(ClockId::Realtime), ns(ClockId::Boottime)];
    let end = monotonic_ns();
    let middle = begin + (end - begin) / 2;
    let [wall, boot] = clocks.map(|clock| clock.checked_sub(middle));
    // Without a suspension the two readings differ by the time between them, in either direction.
    let boot = boot.or_else(|| (middle - clocks[1] < LONGEST_READING_NS).then_some(0));
    (end - begin < LONGEST_READING_NS).then_some([wall?, boot?])
}

/// Returns the CPU time of this thread: what it did, without the time that it waited for a CPU.
pub(crate) fn thread_cpu() -> Duration {
    Duration::from_nanos(ns(ClockId::ThreadCPUTime))
}

fn ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the seconds since 1970, UTC; negative before.
pub fn unix_s() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(passed) => passed.as_secs() as i64,
        Err(before) => -(before.duration().as_secs() as i64),
    }
}
