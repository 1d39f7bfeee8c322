//! One data point: a constant number of requests outstanding for a fixed time.

use std::io;
use std::time::{Duration, Instant};

use crate::aio::{Done, Queue, Request};
use crate::options::{Options, Point};
use crate::tally::Tally;
use crate::volumes::Volumes;

/// Duration of the cache fill when no size is given.
const CACHE_FILL: Duration = Duration::from_secs(120);
/// Requests outstanding while the cache is filled.
const CACHE_FILL_DEPTH: usize = 4;

/// Result of a data point: the requests that completed within its time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) small_reads: Tally,
    pub(crate) small_writes: Tally,
    pub(crate) large_reads: Tally,
    pub(crate) large_writes: Tally,
}

/// Kind of a slot's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Small,
    LargeRandom,
    /// A part of the sequential stream of this number.
    Stream(usize),
}

struct Slot {
    load: Load,
    is_write: bool,
    volume: usize,
    submitted: Instant,
}

struct Running<'a> {
    options: &'a Options,
    volumes: &'a Volumes,
    /// Next block of each stream.
    streams: Vec<u64>,
    slots: Vec<Slot>,
    queue: Queue,
}

pub(crate) fn run(options: &Options, volumes: &Volumes, point: Point) -> Result<Outcome, String> {
    let mut loads = vec![Load::Small; point.small as usize];
    match options.sequential {
        true => {
            let streams = 0..point.large as usize;
            let each = options.requests_per_stream as usize;
            loads.extend(streams.flat_map(|stream| std::iter::repeat_n(Load::Stream(stream), each)));
        }
        false => loads.extend(std::iter::repeat_n(Load::LargeRandom, point.large as usize)),
    }
    let mut running = Running::new(options, volumes, &loads)?;
    let mut outcome = Outcome::default();
    let started = Instant::now();
    running.submit(0..loads.len())?;
    let mut outstanding = loads.len();
    while outstanding > 0 {
        let done = running.wait()?;
        let now = Instant::now();
        let in_time = now - started <= options.duration;
        for done in &done {
            let slot = &running.slots[done.slot];
            let tally = match (slot.load, slot.is_write) {
                (Load::Small, false) => &mut outcome.small_reads,
                (Load::Small, true) => &mut outcome.small_writes,
                (_, false) => &mut outcome.large_reads,
                (_, true) => &mut outcome.large_writes,
            };
            // Requests that complete after the end are awaited but not counted.
            if in_time {
                tally.add(now - slot.submitted);
            }
        }
        match in_time {
            true => running.submit(done.iter().map(|done| done.slot))?,
            false => outstanding -= done.len(),
        }
    }
    Ok(outcome)
}

/// Fills an array's cache with random reads of its assumed size, so that the cache does not serve a sequential stream.
pub(crate) fn fill_cache(options: &Options, volumes: &Volumes) -> Result<(), String> {
    let wanted = options.cache_megabytes.map(|megabytes| megabytes << 20);
    let mut reading = options.clone();
    reading.write_percent = 0;
    let mut running = Running::new(&reading, volumes, &[Load::LargeRandom; CACHE_FILL_DEPTH])?;
    let (started, mut read) = (Instant::now(), 0);
    running.submit(0..CACHE_FILL_DEPTH)?;
    let mut outstanding = CACHE_FILL_DEPTH;
    while outstanding > 0 {
        let done = running.wait()?;
        read += done.iter().map(|done| done.result as u64).sum::<u64>();
        let filled = wanted.map_or_else(|| started.elapsed() >= CACHE_FILL, |wanted| read >= wanted);
        match filled {
            true => outstanding -= done.len(),
            false => running.submit(done.iter().map(|done| done.slot))?,
        }
    }
    Ok(())
}

impl<'a> Running<'a> {
    fn new(options: &'a Options, volumes: &'a Volumes, loads: &[Load]) -> Result<Self, String> {
        let bytes = |load: &Load| if *load == Load::Small { options.small_bytes } else { options.large_bytes };
        let sizes: Vec<u64> = loads.iter().map(bytes).collect();
        let queue = Queue::new(&sizes).map_err(|error| format!("rwbase_run_test: io_setup failed: {error}"))?;
        let streams =
            loads.iter().filter_map(|load| if let Load::Stream(number) = load { Some(*number) } else { None });
        let count = streams.max().map_or(0, |most| most as u64 + 1);
        let blocks = volumes.blocks(options.large_bytes);
        // The streams start at evenly spread positions; each wraps around the whole space.
        let streams = (0..count).map(|stream| blocks / count * stream).collect();
        let slot = |load: &Load| Slot { load: *load, is_write: false, volume: 0, submitted: Instant::now() };
        Ok(Self { options, volumes, streams, slots: loads.iter().map(slot).collect(), queue })
    }

    fn submit(&mut self, slots: impl Iterator<Item = usize>) -> Result<(), String> {
        let requests: Vec<Request> = slots.map(|slot| self.next(slot)).collect();
        let now = Instant::now();
        for request in &requests {
            self.slots[request.slot].submitted = now;
        }
        self.queue.submit(&requests).map_err(|error| self.failed(requests[0].slot, &error))
    }

    /// Returns the next request of a slot.
    fn next(&mut self, number: usize) -> Request {
        let load = self.slots[number].load;
        let bytes = if load == Load::Small { self.options.small_bytes } else { self.options.large_bytes };
        let place = match load {
            Load::Small | Load::LargeRandom => self.volumes.random(bytes),
            Load::Stream(stream) => {
                let block = self.streams[stream];
                self.streams[stream] = (block + 1) % self.volumes.blocks(bytes);
                self.volumes.place(block, bytes)
            }
        };
        let is_write = fastrand::u8(0..100) < self.options.write_percent;
        let slot = &mut self.slots[number];
        (slot.is_write, slot.volume) = (is_write, place.volume);
        Request { slot: number, is_write, fd: place.fd, bytes, offset: place.offset }
    }

    fn wait(&mut self) -> Result<Vec<Done>, String> {
        let done: Vec<Done> =
            self.queue.wait().map_err(|error| format!("rwbase_run_test: io_getevents failed: {error}"))?.collect();
        for done in &done {
            let small = self.slots[done.slot].load == Load::Small;
            let bytes = if small { self.options.small_bytes } else { self.options.large_bytes };
            if done.result != bytes as i64 {
                let error = match i32::try_from(-done.result) {
                    Ok(errno @ 1..) => io::Error::from_raw_os_error(errno),
                    _ => io::Error::other(format!("{} of {bytes} bytes", done.result)),
                };
                return Err(self.failed(done.slot, &error));
            }
        }
        Ok(done)
    }

    fn failed(&self, slot: usize, error: &io::Error) -> String {
        let slot = &self.slots[slot];
        let verb = if slot.is_write { "write" } else { "read" };
        format!(
            "SKGFR Returned Error -- Async. {verb} failed on FILE: {}\nOER {}: please look up error in Oracle \
             documentation ({error})\nrwbase_issue_req: lun_aiorq failed on {verb}\nrwbase_run_test: rwbase_issue_req \
             failed",
            self.volumes.name(slot.volume),
            error.raw_os_error().unwrap_or(0),
        )
    }
}
