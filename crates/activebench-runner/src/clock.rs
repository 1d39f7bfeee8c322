//! The two clocks of a run.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Returns `CLOCK_MONOTONIC` in nanoseconds: the clock of every kernel record.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the seconds since 1970, UTC; negative before.
pub fn unix_s() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(passed) => passed.as_secs() as i64,
        Err(before) => -(before.duration().as_secs() as i64),
    }
}
