//! Calls and copies without storage, on unnamed files in memory (memfd, a file of the kernel's tmpfs).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{PoisonError, RwLock};
use std::thread::Builder;
use std::time::{Duration, Instant};

use activebench_model::ceiling::{Part, PartKind};
use activebench_model::phase::Direction;
use activebench_model::units::Quantity;
use rustix::fs::{MemfdFlags, memfd_create};

use super::{REPETITIONS, UnitOf, measured, repeat};
use crate::interruption::Stop;

/// Bytes that each thread accesses where the CPU caches may hold them.
const SMALL_EACH: u64 = 1 << 20;
/// Bytes that all threads together access where the CPU caches mostly cannot hold them.
const LARGE: u64 = 256 << 20;
/// One page: also the file size for calls of one byte.
const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

/// Files in memory, one per thread, with data in every page.
struct Set {
    files: Vec<File>,
    each: u64,
}

impl Set {
    fn new(threads: u32, each: u64) -> io::Result<Self> {
        let data = vec![0x5a; each.min(MIB) as usize];
        let files: io::Result<Vec<File>> = (0..threads)
            .map(|_| {
                let file = File::from(memfd_create("activebench-ceiling", MemfdFlags::CLOEXEC)?);
                for offset in (0..each).step_by(data.len()) {
                    file.write_all_at(&data, offset)?;
                }
                Ok(file)
            })
            .collect();
        Ok(Self { files: files?, each })
    }

    /// Measures the calls per second of all threads together; an error is a message.
    fn rate(&self, direction: Direction, request: u64, time: Duration, stop: &Stop) -> Result<f64, String> {
        at_once(&self.files, |_| Builder::new(), |file| self.rate_of(file, direction, request, time, stop))
    }

    /// Measures the calls per second of one thread.
    fn rate_of(
        &self,
        file: &File,
        direction: Direction,
        request: u64,
        time: Duration,
        stop: &Stop,
    ) -> Result<f64, String> {
        let failed = |why: String| format!("{} failed: {why}", call(direction));
        let mut buffer = vec![0x5a_u8; request as usize];
        // Calls between two looks at the clock: enough that the clock costs nothing, few enough that slow calls do not
        // overrun.
        let between = (PAGE / request).clamp(1, 256);
        let places = (self.each / request).max(1);
        let (mut place, mut calls) = (0_u64, 0_u64);
        let begin = Instant::now();
        let elapsed = loop {
            for _ in 0..between {
                let offset = if request == 1 { 0 } else { place * request };
                let moved = match direction {
                    Direction::Write => file.write_at(&buffer, offset),
                    _ => file.read_at(&mut buffer, offset),
                };
                let moved = moved.map_err(|error| failed(error.to_string()))?;
                if moved != buffer.len() {
                    return Err(failed(format!("{moved} of {request} bytes moved")));
                }
                place = if place + 1 == places { 0 } else { place + 1 };
            }
            calls += between;
            let elapsed = begin.elapsed();
            if elapsed >= time || stop.is_set() {
                break elapsed;
            }
        };
        Ok(calls as f64 / elapsed.as_secs_f64())
    }
}

/// Runs `work` on every file at once, each in a thread of its own; returns the sum.
///
/// No thread begins its work before all threads exist: the system may refuse one (`pids.max`, `ulimit -u`), and then
/// none works.
fn at_once(
    files: &[File],
    builder: impl Fn(usize) -> Builder,
    work: impl Fn(&File) -> Result<f64, String> + Sync,
) -> Result<f64, String> {
    // `true` if the threads may begin; locked until that is known.
    let gate = RwLock::new(false);
    let one = |file: &File| match gate.read().is_ok_and(|open| *open) {
        true => work(file),
        false => Ok(0.0),
    };
    std::thread::scope(|scope| {
        let mut open = gate.write().unwrap_or_else(PoisonError::into_inner);
        let threads: io::Result<Vec<_>> =
            files.iter().enumerate().map(|(place, file)| builder(place).spawn_scoped(scope, || one(file))).collect();
        *open = threads.is_ok();
        drop(open);
        let threads =
            threads.map_err(|error| format!("cannot start a thread for each of {} files: {error}", files.len()))?;
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a measuring thread panicked".to_owned())))
            .sum()
    })
}

fn call(direction: Direction) -> &'static str {
    if direction == Direction::Write { "pwrite" } else { "pread" }
}

/// Measures every part for one number of threads; `done` receives each one as it is measured.
pub(super) fn measure(
    threads: u32,
    memory_bytes: Option<u64>,
    time: Duration,
    stop: &Stop,
    mut done: impl FnMut(&Part),
) -> Vec<Part> {
    let mut parts = Vec::new();
    for (kind, each, requests) in sets(threads, memory_bytes) {
        if stop.is_set() {
            break;
        }
        let set = Set::new(threads, each);
        for request in requests {
            for direction in [Direction::Read, Direction::Write] {
                let part = part(&set, kind, direction, *request, threads, each, time, stop);
                done(&part);
                parts.push(part);
            }
        }
    }
    parts
}

/// Returns the measurements for a number of threads: the kind, the bytes of each thread's file, and those of its calls.
fn sets(threads: u32, memory_bytes: Option<u64>) -> Vec<(PartKind, u64, &'static [u64])> {
    // At most an eighth of the memory: the machine may need the rest.
    let large = memory_bytes.map_or(LARGE, |bytes| LARGE.min(bytes / 8)) / u64::from(threads) / MIB * MIB;
    let mut sets: Vec<(PartKind, u64, &[u64])> =
        vec![(PartKind::Calls, PAGE, &[1]), (PartKind::Copy, SMALL_EACH, &[PAGE, MIB])];
    // With many threads or little memory it would be the small set again.
    if large > SMALL_EACH {
        sets.push((PartKind::Copy, large, &[PAGE, MIB]));
    }
    sets
}

#[allow(clippy::too_many_arguments)]
fn part(
    set: &io::Result<Set>,
    kind: PartKind,
    direction: Direction,
    request: u64,
    threads: u32,
    each: u64,
    time: Duration,
    stop: &Stop,
) -> Part {
    let call = call(direction);
    let base = Part {
        kind,
        direction,
        request_bytes: Some(request),
        depth: 1,
        threads,
        region_bytes: (kind == PartKind::Copy).then_some(each * u64::from(threads)),
        value: None,
        missing: None,
        how: match kind {
            PartKind::Copy => format!(
                "{call} of {request} bytes, ascending and over again, on a file in memory (memfd) a thread of {each} bytes"
            ),
            _ => format!("{call} of one byte at the beginning of a file in memory (memfd), one a thread"),
        },
        repetitions: Vec::new(),
        spread_ratio: None,
        served: None,
    };
    let set = match set {
        Ok(set) => set,
        Err(error) => return Part { missing: Some(format!("cannot make a file in memory: {error}")), ..base },
    };
    let (unit, of_call): (UnitOf, f64) = match kind {
        PartKind::Copy => (Quantity::bytes_per_sec, request as f64),
        _ => (Quantity::ops_per_sec, 1.0),
    };
    let once = || Ok(set.rate(direction, request, time / REPETITIONS, stop)? * of_call);
    match repeat(unit, once) {
        Ok(rates) => measured(base, rates, unit),
        Err(why) => Part { missing: Some(why), ..base },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_thread_that_the_system_refuses_is_said_and_waited_for_by_none() {
        let set = Set::new(3, PAGE).expect("files in memory");
        let began = AtomicU32::new(0);
        let work = |_: &File| {
            began.fetch_add(1, Ordering::Relaxed);
            Ok(2.0)
        };
        assert_eq!(at_once(&set.files, |_| Builder::new(), work), Ok(6.0));
        assert_eq!(began.load(Ordering::Relaxed), 3);
        // No address space is large enough for the last one's stack.
        let builder = |place| if place == 2 { Builder::new().stack_size(1 << 60) } else { Builder::new() };
        let refused = at_once(&set.files, builder, work).expect_err("it is refused");
        assert!(refused.starts_with("cannot start a thread for each of 3 files: "), "{refused}");
        assert_eq!(began.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn no_region_is_measured_twice() {
        let copies = |threads, memory_bytes| -> Vec<u64> {
            let of = sets(threads, memory_bytes).into_iter().filter(|(kind, _, _)| *kind == PartKind::Copy);
            of.map(|(_, each, _)| each / MIB).collect()
        };
        for (threads, memory_bytes, expected) in [
            (1, Some(8 << 30), &[1, 256][..]),
            (1, Some(64 << 20), &[1, 8]),
            (1, Some(8 << 20), &[1]),
            (128, None, &[1, 2]),
            (256, None, &[1]),
            (1024, None, &[1]),
        ] {
            assert_eq!(copies(threads, memory_bytes), expected, "{threads} threads");
        }
    }
}
