//! What the kernel's account of the programs' run time leaves out, measured just before the run.
//!
//! The account has the run time of each program as it is in the benchmark, with the caches as they are there. It leaves
//! out what calling a program costs, and contains a part of what measuring costs. Both are the same for every program
//! and every process, so a loop of cheap system calls of our own shows them: without programs, with programs, and with
//! the account. An interrupt of the sampling clock costs far more than its program, most of all on a virtual machine; a
//! loop that only reads the clock shows it as a gap.

use std::io;
use std::time::{Duration, Instant};

use activebench_model::program_times::Calibration;
use rustix::process::getppid;

use crate::run_time::{Programs, since, time_programs, timed};

/// Spans of a loop. The fastest counts: whatever else the machine does makes a span longer, and none shorter.
const SPANS: usize = 15;
/// Calls in a span: some 50 us, so that most spans have no interrupt.
const CALLS: u32 = 500;
/// Longest time in which interrupts are looked for.
const LOOKED: Duration = Duration::from_millis(20);
/// A gap from which on something interrupted the loop, which reads the clock in less than a tenth of this.
const LEAST_GAP: Duration = Duration::from_nanos(1_500);
/// Number of interrupts whose median is taken.
const INTERRUPTS: usize = 7;

/// Returns the time of one cheap system call, in nanoseconds.
pub(crate) fn call_ns() -> f64 {
    (0..SPANS).map(|_| span_ns()).fold(f64::INFINITY, f64::min)
}

fn make_calls() {
    for _ in 0..CALLS {
        std::hint::black_box(getppid());
    }
}

fn span_ns() -> f64 {
    let started = Instant::now();
    make_calls();
    started.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// Measures what the account leaves out. Call it when all programs are attached and before a process is followed.
/// `untraced_ns` is [`call_ns`] before they were attached, `sampled` whether the sampling clock runs.
///
/// # Errors
/// Returns an error if the kernel does not time programs for us.
pub(crate) fn calibrate(untraced_ns: f64, programs: &Programs, sampled: bool) -> io::Result<Calibration> {
    let traced_ns = call_ns();
    let timing = time_programs()?;
    let before = timed(programs)?;
    (0..SPANS).for_each(|_| make_calls());
    let counted = since(timed(programs)?, before).calls;
    drop(timing);
    if counted.runs == 0 {
        return Err(io::Error::other("no program ran at our own calls"));
    }
    Ok(Calibration {
        outside_call_ns: traced_ns - untraced_ns,
        outside_run_ns: counted.ns as f64 / counted.runs as f64,
        interrupt_ns: sampled.then(interrupt_ns).flatten(),
    })
}

/// Returns the median time of an interrupt; `None` when there were few.
fn interrupt_ns() -> Option<f64> {
    let started = Instant::now();
    let mut last = started;
    let mut gaps = Vec::new();
    while gaps.len() < INTERRUPTS && last - started < LOOKED {
        let now = Instant::now();
        if now - last >= LEAST_GAP {
            gaps.push((now - last).as_nanos() as f64);
        }
        last = now;
    }
    (gaps.len() == INTERRUPTS).then(|| median(gaps))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
