//! Calls and copies that no storage serves: on files of memory that have no name (memfd, a file of the kernel's tmpfs).

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use activebench_model::ceiling::{Part, PartKind};
use activebench_model::phase::Direction;
use activebench_model::units::Quantity;

use super::{REPETITIONS, Stop, measured};

/// What each thread goes over where the processor's caches may hold it.
pub(super) const SMALL_EACH: u64 = 1 << 20;
/// What all threads together go over where they mostly cannot.
pub(super) const LARGE: u64 = 256 << 20;
/// One page: where the size of a call is one byte.
const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

/// Files of memory, one a thread, with data in every page.
struct Set {
    files: Vec<File>,
    each: u64,
}

impl Set {
    fn new(threads: u32, each: u64) -> io::Result<Self> {
        let data = vec![0x5a; each.min(MIB) as usize];
        let files: io::Result<Vec<File>> = (0..threads)
            .map(|_| {
                // SAFETY: the name is a C string; the descriptor, if any, is nobody else's.
                let file = unsafe {
                    let fd = libc::memfd_create(c"activebench-ceiling".as_ptr(), libc::MFD_CLOEXEC);
                    if fd < 0 {
                        return Err(io::Error::last_os_error());
                    }
                    File::from_raw_fd(fd)
                };
                for offset in (0..each).step_by(data.len()) {
                    file.write_all_at(&data, offset)?;
                }
                Ok(file)
            })
            .collect();
        Ok(Self { files: files?, each })
    }

    /// Calls a second of all threads together.
    fn rate(&self, direction: Direction, request: u64, time: Duration, stop: &Stop) -> io::Result<f64> {
        let barrier = Barrier::new(self.files.len());
        let one = |file: &File| -> io::Result<f64> {
            let mut buffer = vec![0x5a_u8; request as usize];
            // Few enough that the clock costs nothing, often enough that a slow call does not overrun.
            let between = (PAGE / request).clamp(1, 256);
            let places = (self.each / request).max(1);
            let (mut place, mut calls) = (0_u64, 0_u64);
            barrier.wait();
            let begin = Instant::now();
            let elapsed = loop {
                for _ in 0..between {
                    let offset = if request == 1 { 0 } else { place * request };
                    let moved = match direction {
                        Direction::Write => file.write_at(&buffer, offset)?,
                        _ => file.read_at(&mut buffer, offset)?,
                    };
                    if moved != buffer.len() {
                        return Err(io::Error::other(format!("{moved} of {request} bytes moved")));
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
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = self.files.iter().map(|file| scope.spawn(|| one(file))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("a measuring thread panicked"))))
                .sum()
        })
    }
}

/// Every part of one number of threads, as it is measured.
pub(super) fn measure(
    threads: u32,
    memory_bytes: Option<u64>,
    time: Duration,
    stop: &Stop,
    mut done: impl FnMut(&Part),
) -> Vec<Part> {
    // Never more than an eighth of the memory, which the machine may need.
    let large = memory_bytes.map_or(LARGE, |bytes| LARGE.min(bytes / 8)) / u64::from(threads) / MIB * MIB;
    let mut parts = Vec::new();
    for (kind, each, requests) in [
        (PartKind::Calls, PAGE, &[1][..]),
        (PartKind::Copy, SMALL_EACH, &[PAGE, MIB]),
        (PartKind::Copy, large.max(MIB), &[PAGE, MIB]),
    ] {
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
    let call = if direction == Direction::Write { "pwrite" } else { "pread" };
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
    let rates: io::Result<Vec<f64>> =
        (0..REPETITIONS).map(|_| set.rate(direction, request, time / REPETITIONS, stop)).collect();
    match rates {
        Ok(rates) if kind == PartKind::Copy => {
            let bytes = rates.iter().map(|rate| rate * request as f64).collect();
            measured(base, bytes, Quantity::bytes_per_sec)
        }
        Ok(rates) => measured(base, rates, Quantity::ops_per_sec),
        Err(error) => Part { missing: Some(format!("{call} failed: {error}")), ..base },
    }
}
