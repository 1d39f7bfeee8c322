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

use activebench_model::hook::Hook;
use activebench_model::program_times::{Calibration, ProgramReading, ProgramTimes, Runs};
use aya::Ebpf;
use aya::maps::{Array, MapData, MapError, PerCpuArray};
use aya_obj::generated::bpf_cmd;
use rustix::time::{ClockId, clock_gettime};

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

/// A program by what its runs belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Entry and exit of system calls.
    Calls,
    /// Submission and completion of requests of io_uring.
    Requests,
    /// The sampling clock.
    Samples,
    /// Anything else.
    Others,
}

impl Group {
    /// Returns the group of the programs of a hook.
    pub(crate) fn of(hook: Hook) -> Self {
        match hook {
            Hook::SysEnter | Hook::SysExit => Group::Calls,
            Hook::UringSubmit | Hook::UringRefuse | Hook::UringComplete => Group::Requests,
            Hook::CpuClock => Group::Samples,
            _ => Group::Others,
        }
    }

    fn runs_in(self, reading: &mut ProgramReading) -> &mut Runs {
        match self {
            Group::Calls => &mut reading.calls,
            Group::Requests => &mut reading.requests,
            Group::Samples => &mut reading.samples,
            Group::Others => &mut reading.others,
        }
    }
}

/// The descriptors of the attached programs.
pub(crate) type Programs = Vec<(Group, OwnedFd)>;

/// Adds what was timed in a slice, and the runs that had started in it and ended after it. Of these there are at most
/// `most_running`; more were timed for somebody else, who started in between.
fn in_slice(inside: ProgramReading, after: ProgramReading, most_running: u64) -> ProgramReading {
    match after.all().runs <= most_running {
        true => inside.map(after, u64::saturating_add),
        false => inside,
    }
}

/// The running totals, extrapolated from slices.
struct Totals {
    times: ProgramTimes,
    total: ProgramReading,
    /// Time of walks that the programs timed themselves; it is subtracted from what is extrapolated.
    walks: [u64; 2],
}

impl Totals {
    /// Adds a slice that stands for all time since the last reading. `walks` are the running totals of the time in
    /// walks that started inside slices, and in all others: they count as they are.
    fn add(&mut self, at_ns: u64, slice: ProgramReading, wall: Duration, walks: [u64; 2]) {
        let wall_ns = wall.as_nanos().max(1);
        let length_ns = u128::from(at_ns.saturating_sub(self.total.at_ns));
        let scaled = |value: u64| u64::try_from(u128::from(value) * length_ns / wall_ns).unwrap_or(u64::MAX);
        let [in_slices_ns, others_ns] = [walks[0] - self.walks[0], walks[1] - self.walks[1]];
        self.walks = walks;
        // A walk is a part of a run. Runs that were left out as somebody else's may have contained one.
        let mut rest_ns = in_slices_ns;
        let mut slice = slice;
        for group in [Group::Others, Group::Requests, Group::Calls] {
            let runs = group.runs_in(&mut slice);
            let taken = rest_ns.min(runs.ns);
            runs.ns -= taken;
            rest_ns -= taken;
        }
        let mut total = self.total.map(slice, |before, value| before.saturating_add(scaled(value)));
        total.calls.ns = total.calls.ns.saturating_add(in_slices_ns + others_ns);
        total.at_ns = at_ns;
        self.total = total;
        self.times.add(total);
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
    thread: JoinHandle<io::Result<ProgramTimes>>,
}

impl RunTimeMeter {
    /// Starts measuring these programs.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub(crate) fn start(
        programs: Programs,
        walks: Walks,
        calibration: Option<Calibration>,
    ) -> Result<Self, ProbeError> {
        let stop = Arc::<AtomicBool>::default();
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("activebench-run".to_owned())
            .spawn(move || measure(&programs, walks, calibration, &told))
            .map_err(|error| ProbeError::Reader(error.to_string()))?;
        Ok(Self { stop, thread })
    }

    /// Ends the measurement. `None` when the kernel does not time programs for us, or the time was too short for a
    /// slice.
    pub(crate) fn finish(self) -> Option<ProgramTimes> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().ok()?.ok().filter(|times| times.readings.len() > 1)
    }
}

fn measure(
    programs: &[(Group, OwnedFd)],
    mut walks: Walks,
    calibration: Option<Calibration>,
    stop: &AtomicBool,
) -> io::Result<ProgramTimes> {
    let first = timed(programs)?;
    let start = ProgramReading { at_ns: first.at_ns, ..ProgramReading::default() };
    let times = ProgramTimes { calibration, readings: vec![start] };
    let mut totals = Totals { times, total: start, walks: [0; 2] };
    sleep(BEFORE_FIRST, stop);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let mut from = first;
    while !stop.load(Ordering::Acquire) {
        if are_all_timed() {
            walks.set_timed(true).map_err(io::Error::other)?;
            sleep(SLICE + BETWEEN, stop);
            walks.set_timed(false).map_err(io::Error::other)?;
            let now = timed(programs)?;
            if are_all_timed() {
                let wall = Duration::from_nanos(now.at_ns.saturating_sub(totals.total.at_ns));
                totals.add(now.at_ns, since(now, from), wall, walks.times().map_err(io::Error::other)?);
            }
            from = now;
            continue;
        }
        let timing = time_programs()?;
        walks.set_timed(true).map_err(io::Error::other)?;
        let (started, before) = (Instant::now(), timed(programs)?);
        sleep(SLICE, stop);
        let (after, wall) = (timed(programs)?, started.elapsed());
        walks.set_timed(false).map_err(io::Error::other)?;
        drop(timing);
        let ended = timed(programs)?;
        sleep(BETWEEN, stop);
        let late = timed(programs)?;
        let slice = in_slice(since(after, before), since(late, ended), cpus * programs.len() as u64);
        totals.add(late.at_ns, slice, wall, walks.times().map_err(io::Error::other)?);
        from = late;
    }
    Ok(totals.times)
}

/// Returns true if the kernel times every run of every program without being asked.
fn are_all_timed() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").is_ok_and(|value| value.trim() == "1")
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
pub(crate) fn time_programs() -> io::Result<OwnedFd> {
    let mut attributes = zeroed_attributes();
    attributes.enable_stats.type_ = RUN_TIME;
    // SAFETY: the command reads no pointer.
    let fd = unsafe { bpf(bpf_cmd::BPF_ENABLE_STATS, &mut attributes) }?;
    // SAFETY: the kernel has just made it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the runs of all programs since they were loaded, as far as the kernel timed them.
pub(crate) fn timed(programs: &[(Group, OwnedFd)]) -> io::Result<ProgramReading> {
    let mut sum = ProgramReading { at_ns: monotonic_ns(), ..ProgramReading::default() };
    for (group, program) in programs {
        let info = program_info(program.as_raw_fd())?;
        let runs = group.runs_in(&mut sum);
        runs.runs += info.run_cnt;
        runs.ns += info.run_time_ns;
    }
    Ok(sum)
}

/// Returns what was counted since an earlier reading.
pub(crate) fn since(now: ProgramReading, before: ProgramReading) -> ProgramReading {
    now.map(before, u64::saturating_sub)
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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

    const SLICE_NS: u64 = SLICE.as_nanos() as u64;

    fn calls(runs: u64, ns: u64) -> ProgramReading {
        ProgramReading { calls: Runs { runs, ns }, ..ProgramReading::default() }
    }

    fn totals() -> Totals {
        let start = ProgramReading::default();
        let times = ProgramTimes { calibration: None, readings: vec![start] };
        Totals { times, total: start, walks: [0; 2] }
    }

    #[test]
    fn a_slice_stands_for_the_time_since_the_reading_before() {
        let mut totals = totals();
        totals.add(50 * SLICE_NS, calls(1_000, 40_000), SLICE, [0; 2]);
        totals.add(150 * SLICE_NS, calls(10, 400), SLICE, [0; 2]);
        let expected = [calls(0, 0), calls(50_000, 2_000_000), calls(51_000, 2_040_000)];
        let seen: Vec<Runs> = totals.times.readings.iter().map(|reading| reading.calls).collect();
        assert_eq!(seen, expected.map(|reading| reading.calls));
        assert_eq!(totals.times.readings[2].at_ns, 150 * SLICE_NS);
    }

    #[test]
    fn walks_count_as_they_are_whether_or_not_a_slice_has_one() {
        let mut totals = totals();
        totals.add(50 * SLICE_NS, calls(100, 6_000_000), SLICE, [5_000_000, 35_000_000]);
        assert_eq!(totals.total.all(), Runs { runs: 5_000, ns: 50 * 1_000_000 + 40_000_000 });
    }

    #[test]
    fn a_run_counts_whole_where_it_outlasts_its_slice() {
        let inside = calls(900, 100_000);
        // A run of 320 ms started in this slice.
        assert_eq!(in_slice(inside, calls(1, 320_000_000), 4).calls, Runs { runs: 901, ns: 320_100_000 });
        // More runs than fit on the CPUs at once ended after this one: somebody else has them timed.
        assert_eq!(in_slice(inside, calls(5, 9_000_000), 4), inside);
    }
}
