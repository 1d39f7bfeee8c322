//! Run time of the kernel programs, measured in slices.
//!
//! The kernel can time every run of every program, which costs more than most of our programs themselves. It does so
//! in slices of two milliseconds in every hundred; the slices are a sample of the whole run.
//!
//! The kernel decides at the start of a run whether it times it, and adds the time at the end of the run. So a run that
//! outlasts its slice is found between slices, with its whole time: a sample by the start of a run is right for runs of
//! any length. If somebody else has programs timed, every run is timed, and nothing is extrapolated.
//!
//! Long walks of lists are timed by the programs themselves, each of them: they are too few for a sample, and not
//! independent of it, because no thread of ours runs on a CPU during a walk.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use aya::Ebpf;
use aya::maps::{Array, MapData, MapError, PerCpuArray};
use aya_obj::generated::bpf_cmd;

use crate::bpf_call::{bpf, zeroed_attributes};
use crate::error::ProbeError;
use crate::maps::map_error;

/// Length of a slice.
const SLICE: Duration = Duration::from_millis(2);
/// From the end of a slice to the start of the next. The sum with a slice is not a round number, so that regular
/// activity of the tool is neither always nor never inside a slice.
const BETWEEN: Duration = Duration::from_micros(97_300);
/// Delay before the first slice: short, so that short runs have a slice too.
const BEFORE_FIRST: Duration = Duration::from_millis(3);
/// `enum bpf_stats_type`.
const RUN_TIME: u32 = 0;

/// What the kernel has counted of all programs up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Timed {
    /// Their run time, summed over all CPUs.
    run_ns: u64,
    /// Their runs.
    runs: u64,
}

impl Timed {
    fn since(self, before: Timed) -> Timed {
        Timed { run_ns: self.run_ns.saturating_sub(before.run_ns), runs: self.runs.saturating_sub(before.runs) }
    }
}

/// The sums over all slices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slices {
    /// Time inside the slices.
    wall_ns: u64,
    /// Run time of the programs whose runs started inside the slices, summed over all CPUs.
    run_ns: u64,
    /// Part of it in walks.
    walk_ns: u64,
    /// Time in walks, also outside the slices.
    all_walks_ns: u64,
}

impl Slices {
    /// Adds a slice: what was timed in it, and the runs that had started in it and ended after it. Of these there are
    /// at most `most_running`; more were timed for somebody else, who started in between.
    fn add(&mut self, wall: Duration, inside: Timed, after: Timed, most_running: u64) {
        self.wall_ns += wall.as_nanos() as u64;
        self.run_ns += inside.run_ns;
        if after.runs <= most_running {
            self.run_ns += after.run_ns;
        }
    }

    /// Extrapolates the run time to a whole span of which the slices are a sample; `None` without a slice.
    fn extrapolated_ns(self, span_ns: u64) -> Option<u64> {
        // A walk is a part of a run. Runs that were left out as somebody else's may have contained one.
        let without_walks = self.run_ns.saturating_sub(self.walk_ns);
        (self.wall_ns > 0)
            .then(|| (without_walks as f64 / self.wall_ns as f64 * span_ns as f64) as u64 + self.all_walks_ns)
    }
}

/// The measured run time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measured {
    /// Of a sample.
    InSlices(Slices),
    /// Of every run: the kernel timed them for somebody else too.
    Throughout(u64),
}

impl Measured {
    fn run_ns(self, span_ns: u64) -> Option<u64> {
        match self {
            Measured::InSlices(slices) => slices.extrapolated_ns(span_ns),
            Measured::Throughout(run_ns) => Some(run_ns),
        }
    }
}

/// Run time of long walks, which the programs time themselves.
pub(crate) struct Walks {
    timing: Array<MapData, u32>,
    walk_ns: PerCpuArray<MapData, u64>,
}

impl Walks {
    /// Takes the maps of the walks from the object.
    ///
    /// # Errors
    /// Returns an error if the object does not have them.
    pub(crate) fn take(ebpf: &mut Ebpf) -> Result<Self, ProbeError> {
        let mut taken =
            |map| ebpf.take_map(map).ok_or_else(|| ProbeError::Map { map, why: "it is not in the object".to_owned() });
        let (timing, walk_ns) = (taken("timing")?, taken("walk_ns")?);
        Ok(Self {
            timing: Array::try_from(timing).map_err(|error| map_error("timing", &error))?,
            walk_ns: PerCpuArray::try_from(walk_ns).map_err(|error| map_error("walk_ns", &error))?,
        })
    }

    /// Says to the programs if a slice runs.
    fn set_timed(&mut self, timed: bool) -> Result<(), MapError> {
        self.timing.set(0, u32::from(timed), 0)
    }

    /// Returns the time in walks that started inside a slice, and in all others.
    fn times(&self) -> Result<[u64; 2], MapError> {
        let sum = |index| Ok::<u64, MapError>(self.walk_ns.get(&index, 0)?.iter().sum());
        Ok([sum(1)?, sum(0)?])
    }
}

/// A thread that measures until it receives the stop flag.
#[derive(Debug)]
pub(crate) struct RunTimeMeter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Measured>>,
}

impl RunTimeMeter {
    /// Starts measuring these programs.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(crate) fn start(programs: Vec<OwnedFd>, walks: Walks) -> Result<Self, ProbeError> {
        let stop = Arc::<AtomicBool>::default();
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("activebench-run".to_owned())
            .spawn(move || measure(&programs, walks, &told))
            .map_err(|error| ProbeError::Reader(error.to_string()))?;
        Ok(Self { stop, thread })
    }

    /// Ends the measurement and returns the programs' run time in a span that started with it. `None` when the kernel
    /// does not time programs for us, or the span was too short for a slice.
    pub(crate) fn finish(self, span_ns: u64) -> Option<u64> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().ok()?.ok()?.run_ns(span_ns)
    }
}

fn measure(programs: &[OwnedFd], mut walks: Walks, stop: &AtomicBool) -> io::Result<Measured> {
    let first = timed(programs)?;
    sleep(BEFORE_FIRST, stop);
    // This thread's own sleep ran the program on context switches: a count that has grown is somebody else's doing.
    if timed(programs)?.since(first).runs > 0 {
        while !stop.load(Ordering::Acquire) {
            std::thread::park();
        }
        return Ok(Measured::Throughout(timed(programs)?.since(first).run_ns));
    }
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let mut slices = Slices::default();
    while !stop.load(Ordering::Acquire) {
        let timing = time_programs()?;
        walks.set_timed(true).map_err(io::Error::other)?;
        let (started, before) = (Instant::now(), timed(programs)?);
        sleep(SLICE, stop);
        let (after, wall) = (timed(programs)?, started.elapsed());
        walks.set_timed(false).map_err(io::Error::other)?;
        drop(timing);
        let ended = timed(programs)?;
        sleep(BETWEEN, stop);
        let late = timed(programs)?.since(ended);
        slices.add(wall, after.since(before), late, cpus * programs.len() as u64);
    }
    let [in_slices_ns, others_ns] = walks.times().map_err(io::Error::other)?;
    slices.walk_ns = in_slices_ns;
    slices.all_walks_ns = in_slices_ns + others_ns;
    Ok(Measured::InSlices(slices))
}

/// Sleeps, but ends early when the stop flag is set.
fn sleep(duration: Duration, stop: &AtomicBool) {
    let end = Instant::now() + duration;
    while !stop.load(Ordering::Acquire)
        && let Some(left) = end.checked_duration_since(Instant::now())
    {
        std::thread::park_timeout(left);
    }
}

/// Makes the kernel time every run of every program for as long as the descriptor is open.
fn time_programs() -> io::Result<OwnedFd> {
    let mut attributes = zeroed_attributes();
    attributes.enable_stats.type_ = RUN_TIME;
    // SAFETY: the command reads no pointer.
    let fd = unsafe { bpf(bpf_cmd::BPF_ENABLE_STATS, &mut attributes) }?;
    // SAFETY: the kernel has just made it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the run time of all programs since they were loaded, as far as the kernel timed it.
fn timed(programs: &[OwnedFd]) -> io::Result<Timed> {
    let mut sum = Timed::default();
    for program in programs {
        let info = program_info(program.as_raw_fd())?;
        sum.run_ns += info.run_time_ns;
        sum.runs += info.run_cnt;
    }
    Ok(sum)
}

/// Returns the kernel's information on a loaded program.
pub(crate) fn program_info(fd: i32) -> io::Result<aya_obj::generated::bpf_prog_info> {
    // SAFETY: zero is a value of every field.
    let mut info: aya_obj::generated::bpf_prog_info = unsafe { std::mem::zeroed() };
    let mut attributes = zeroed_attributes();
    attributes.info.bpf_fd = fd as u32;
    attributes.info.info_len = size_of_val(&info) as u32;
    attributes.info.info = (&raw mut info) as u64;
    // SAFETY: `info` lives until the end of this function, with the length given.
    unsafe { bpf(bpf_cmd::BPF_OBJ_GET_INFO_BY_FD, &mut attributes) }?;
    Ok(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_stand_for_the_whole_span_and_none_for_nothing() {
        let slices = Slices { wall_ns: 4_000_000, run_ns: 1_000_000, ..Slices::default() };
        assert_eq!(slices.extrapolated_ns(1_000_000_000), Some(250_000_000));
        // Walks count as they are, whether or not a slice has one.
        let walks = Slices { run_ns: 6_000_000, walk_ns: 5_000_000, all_walks_ns: 40_000_000, ..slices };
        assert_eq!(walks.extrapolated_ns(1_000_000_000), Some(290_000_000));
        assert_eq!(Slices::default().extrapolated_ns(1_000_000_000), None);
        assert_eq!(Measured::Throughout(7).run_ns(1_000_000_000), Some(7));
    }

    #[test]
    fn a_run_counts_whole_where_it_outlasts_its_slice() {
        let slice = Duration::from_millis(2);
        let inside = Timed { run_ns: 100_000, runs: 900 };
        let mut slices = Slices::default();
        slices.add(slice, inside, Timed::default(), 4);
        // A run of 320 ms started in this slice.
        slices.add(slice, inside, Timed { run_ns: 320_000_000, runs: 1 }, 4);
        // More runs than fit on the CPUs at once ended after this one: somebody else has them timed.
        slices.add(slice, inside, Timed { run_ns: 9_000_000, runs: 5 }, 4);
        assert_eq!(slices, Slices { wall_ns: 6_000_000, run_ns: 320_300_000, ..Slices::default() });
    }
}
