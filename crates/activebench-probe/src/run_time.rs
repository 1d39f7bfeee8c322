//! How long the kernel programs run, measured in slices.
//!
//! The kernel can time every run of every program, which costs more than most of our programs
//! themselves do. It is asked to for a slice of two milliseconds in a hundred, and the slices
//! stand for the rest.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use aya_obj::generated::bpf_cmd;

use crate::bpf_call::{bpf, zeroed_attributes};
use crate::kernel::ProbeError;

/// Length of a slice.
const SLICE: Duration = Duration::from_millis(2);
/// From the end of a slice to the next: with it no round number, so that what the tool does at
/// regular times is not always met or missed.
const BETWEEN: Duration = Duration::from_micros(97_300);
/// Before the first one: short runs get a slice too.
const BEFORE_FIRST: Duration = Duration::from_millis(3);
/// `enum bpf_stats_type`.
const RUN_TIME: u32 = 0;

/// What the slices found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slices {
    /// Time in them.
    wall_ns: u64,
    /// The programs' run time in them, all processors added up.
    run_ns: u64,
}

impl Slices {
    /// Run time in all of a span of which the slices are a sample; `None` without a slice.
    fn extrapolated_ns(self, span_ns: u64) -> Option<u64> {
        (self.wall_ns > 0).then(|| (self.run_ns as f64 / self.wall_ns as f64 * span_ns as f64) as u64)
    }
}

/// A thread that measures until it is told to stop.
#[derive(Debug)]
pub(crate) struct RunTimeMeter {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Slices>>,
}

impl RunTimeMeter {
    /// Starts measuring these programs.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn start(programs: Vec<OwnedFd>) -> Result<Self, ProbeError> {
        let stop = Arc::<AtomicBool>::default();
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("activebench-run".to_owned())
            .spawn(move || measure(&programs, &told))
            .map_err(|error| ProbeError::Reader(error.to_string()))?;
        Ok(Self { stop, thread })
    }

    /// Ends the measurement: the programs' run time in a span that began with it. `None` when
    /// the kernel does not time programs for us, or the span was too short for a slice.
    pub(crate) fn finish(self, span_ns: u64) -> Option<u64> {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().ok()?.ok()?.extrapolated_ns(span_ns)
    }
}

fn measure(programs: &[OwnedFd], stop: &AtomicBool) -> io::Result<Slices> {
    let mut slices = Slices::default();
    let mut pause = BEFORE_FIRST;
    loop {
        sleep(pause, stop);
        if stop.load(Ordering::Acquire) {
            return Ok(slices);
        }
        pause = BETWEEN;
        let timing = time_programs()?;
        let (started, before) = (Instant::now(), run_ns(programs)?);
        sleep(SLICE, stop);
        let (after, wall) = (run_ns(programs)?, started.elapsed());
        drop(timing);
        slices.wall_ns += wall.as_nanos() as u64;
        slices.run_ns += after.saturating_sub(before);
    }
}

/// Sleeps, but not past the call to stop.
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

/// Run time of all programs since they were loaded, as far as it was timed.
fn run_ns(programs: &[OwnedFd]) -> io::Result<u64> {
    programs.iter().map(|program| program_info(program.as_raw_fd()).map(|info| info.run_time_ns)).sum()
}

/// What the kernel says of a loaded program.
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
        let slices = Slices { wall_ns: 4_000_000, run_ns: 1_000_000 };
        assert_eq!(slices.extrapolated_ns(1_000_000_000), Some(250_000_000));
        assert_eq!(Slices::default().extrapolated_ns(1_000_000_000), None);
    }
}
