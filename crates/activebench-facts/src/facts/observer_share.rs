//! How much of a phase's window the observation took: what the phase would have been without it.
//!
//! The kernel's account gives the run time of the programs around the pass, with the caches as the benchmark leaves
//! them. It leaves out what calling a program costs, which a calibration before the run gives
//! ([`Calibration`]), and says nothing of processes: the programs run at the calls of everybody. The recorded calls
//! say which part is the tree's. The sampling clock's interrupts are counted in the window.
//!
//! Not all of this time lies on the path of the figure. Where a device or the tool itself limits the pass, it would have
//! taken as long without the observation; where nothing but the CPU does, it would have been shorter by all of it. So
//! there are two figures, and the truth is between them.

use activebench_model::coverage::Coverage;
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::phase::{Phase, Window};
use activebench_model::program_times::{Calibration, ProgramReading, ProgramTimes, Runs};
use activebench_model::units::Quantity;

const SOURCE: &str = "bpf_prog_info, calibration, tp_btf/sys_exit, perf_event/cpu-clock";

/// Time around a window over which the programs' run time is read at least: five slices.
const LEAST_READ_NS: u64 = 500_000_000;
/// The part of the account that counts at least and at most: slices are a sample, and so are the loops of the
/// calibration.
const SAMPLED: (f64, f64) = (0.9, 1.2);
/// How much longer it takes to call a program from a benchmark than in the calibration's loop: at most as long again.
/// Measured: two empty programs added 46 ns to a call in a loop of nothing else, and 62 ns to one of fio.
const COLDNESS: (f64, f64) = (0.0, 1.0);
/// Part of an interrupt's time that counts at least and at most. Measured in a loop that touches no memory.
const INTERRUPT: (f64, f64) = (0.8, 1.5);
/// The part of our own process's CPU time that the benchmark may have lost: it runs on another CPU, which may be the
/// other half of the same core.
const READER: f64 = 0.5;
/// The same where the benchmark's threads had to wait for a CPU.
const READER_WITHOUT_IDLE_CPU: f64 = 1.0;
/// Part of the threads' time from which on they waited for a CPU.
const LEAST_PREEMPTED: f64 = 0.01;
/// The share never exceeds this: behind it, the figure would be more than ten times as good without observation, which
/// nothing here can show.
const MOST_SHARE: f64 = 0.9;

/// The time that the programs took from the phase's threads.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taken {
    least_ns: f64,
    most_ns: f64,
}

/// What the phase did, from its facts.
#[derive(Clone, Copy, Debug)]
struct Done {
    system_calls: f64,
    stack_samples: f64,
    /// Time of one interrupt of the sampling clock without its program; 0 without samples.
    interrupt_ns: f64,
}

/// Adds the facts of one phase, which already has those of its calls, CPU times and stack samples.
pub(super) fn add(coverage: &Coverage, window: Window, phase: &mut Phase) {
    let limited = may_be_limited(phase);
    let facts = &mut phase.facts;
    let names = [FactName::ObserverShareLeast, FactName::ObserverShareMost];
    let known =
        times(coverage).and_then(|(times, calibration)| share(coverage, times, calibration, window, limited, facts));
    let call = match &known {
        Ok((_, taken)) => per_call(*taken, facts).map(|ns| Quantity { value: ns, ..Quantity::ns(0) }),
        Err(why) => Err(why.clone()),
    };
    let shares = known.map(|((least, most), _)| [least, most].map(Quantity::ratio));
    for (index, name) in names.into_iter().enumerate() {
        facts.insert(name, fact(shares.as_ref().map(|shares| shares[index]).map_err(Clone::clone)));
    }
    facts.insert(FactName::ObserverCallDelay, fact(call));
}

/// Returns `true` unless the CPU alone limited the phase: no data came from a device or went to one inside the window,
/// and the tool did not slow itself down.
fn may_be_limited(phase: &Phase) -> bool {
    let none = |name| phase.facts.complete(name) == Ok(0.0);
    let by_cpu = none(FactName::DeviceReadBytes) && none(FactName::DeviceWriteBytes);
    !by_cpu || !phase.own_limits.is_empty() || phase.unread.is_some()
}

fn fact(known: Result<Quantity, String>) -> Fact {
    match known {
        Ok(value) => Fact::complete(value, Scope::Tree, SOURCE),
        Err(why) => Fact::missing(why, Scope::Tree, SOURCE),
    }
}

fn times(coverage: &Coverage) -> Result<(&ProgramTimes, &Calibration), String> {
    let times = coverage.program_times.as_ref().ok_or("the run time of the kernel programs was not measured")?;
    let calibration =
        times.calibration.as_ref().ok_or("what the programs cost beside their run time was not measured")?;
    Ok((times, calibration))
}

/// Returns the least and the most share of the window, and the time of the programs behind them.
fn share(
    coverage: &Coverage,
    times: &ProgramTimes,
    calibration: &Calibration,
    window: Window,
    limited: bool,
    facts: &Facts,
) -> Result<((f64, f64), Taken), String> {
    let length_ns = window.end_ns.saturating_sub(window.start_ns);
    let widened_ns = LEAST_READ_NS.saturating_sub(length_ns) / 2;
    let (start_ns, end_ns) = (window.start_ns.saturating_sub(widened_ns), window.end_ns.saturating_add(widened_ns));
    let around = times
        .between(start_ns, end_ns)
        .or_else(|| times.between(window.start_ns, window.end_ns))
        .ok_or("the run time of the kernel programs was not measured in this pass")?;
    let of_window = length_ns as f64 / around.at_ns.max(1) as f64;
    let stack_samples = stack_samples(coverage, facts)?;
    let interrupt_ns = match calibration.interrupt_ns {
        _ if stack_samples == 0.0 => 0.0,
        Some(interrupt_ns) => interrupt_ns,
        None => return Err("what an interrupt of the sampling clock costs was not measured".to_owned()),
    };
    let done = Done { system_calls: facts.complete(FactName::SystemCalls)?, stack_samples, interrupt_ns };
    let taken = taken(&around, calibration, of_window, done);
    let (user_ns, kernel_ns) = (facts.complete(FactName::UserCpu)?, facts.complete(FactName::KernelCpu)?);
    // Several threads share what they lose.
    let time_ns = (user_ns + kernel_ns).max(length_ns as f64);
    let share_of_threads = |name: FactName| {
        let (blocked_ns, preempted_ns) = (facts.complete(FactName::Blocked)?, facts.complete(FactName::Preempted)?);
        Ok::<f64, String>(facts.complete(name)? / (user_ns + kernel_ns + blocked_ns + preempted_ns).max(1.0))
    };
    // Where it is not known whether the threads waited, they may have.
    let waits = match limited {
        true => 1.0,
        false => share_of_threads(FactName::Blocked).unwrap_or(1.0),
    };
    let lost_to_reader = match share_of_threads(FactName::Preempted) {
        Ok(preempted) if preempted < LEAST_PREEMPTED => READER,
        _ => READER_WITHOUT_IDLE_CPU,
    };
    let overhead = coverage.overhead;
    let reader = match overhead.observer_cpu_ns {
        Some(cpu_ns) if overhead.run_ns > 0 => lost_to_reader * cpu_ns as f64 / overhead.run_ns as f64,
        _ => return Err("the CPU time of activebench was not measured".to_owned()),
    };
    let least = (taken.least_ns / time_ns - waits).clamp(0.0, MOST_SHARE);
    let most = (taken.most_ns / time_ns + reader).clamp(least, MOST_SHARE);
    Ok(((least, most), taken))
}

fn stack_samples(coverage: &Coverage, facts: &Facts) -> Result<f64, String> {
    match &coverage.sampling {
        Some(sampling) if sampling.frequency_hz == 0 || sampling.why_not.is_some() => Ok(0.0),
        // Partial where the clock was late: those that came are what was taken.
        _ => match facts.get(FactName::StackSamples).and_then(|fact| fact.value) {
            Some(samples) => Ok(samples.value),
            None => facts.complete(FactName::StackSamples),
        },
    }
}

/// Returns what the programs took from the phase's threads. `around` is what ran around the pass, `of_window` the
/// window as a share of that time.
fn taken(around: &ProgramReading, calibration: &Calibration, of_window: f64, done: Done) -> Taken {
    let whole_ns = |runs: Runs, coldness: f64| {
        let ns = runs.ns as f64 + calibration.beside_run_ns(coldness) * runs.runs as f64;
        ns.max(0.0) * of_window
    };
    let seen = around.calls.runs as f64 / 2.0 * of_window;
    let others = (seen - done.system_calls).max(0.0);
    // A call of the tree costs no less than one of others. Where the window was widened, fewer calls may have been seen
    // than the phase made.
    let of_calls = |coldness: f64| {
        let all_ns = whole_ns(around.calls, coldness);
        let outside_ns = 2.0 * (calibration.outside_run_ns + calibration.beside_run_ns(coldness)).max(0.0);
        match others > 0.0 {
            true => ((all_ns - others * outside_ns).max(done.system_calls * outside_ns), outside_ns),
            false => (all_ns / seen.max(1.0) * done.system_calls, outside_ns),
        }
    };
    let interrupt_ns = done.interrupt_ns + around.samples.ns as f64 / around.samples.runs.max(1) as f64;
    let (calls_ns, _) = of_calls(COLDNESS.0);
    let least_ns = SAMPLED.0 * (calls_ns + whole_ns(around.requests, COLDNESS.0))
        + INTERRUPT.0 * interrupt_ns * done.stack_samples;
    // Calls that are not recorded look like those of others: at most one for each that is.
    let (calls_ns, outside_ns) = of_calls(COLDNESS.1);
    let unrecorded_ns = others.min(done.system_calls) * outside_ns;
    let rest_ns = whole_ns(around.requests, COLDNESS.1) + whole_ns(around.others, COLDNESS.1);
    let most_ns = SAMPLED.1 * (calls_ns + unrecorded_ns + rest_ns) + INTERRUPT.1 * interrupt_ns * done.stack_samples;
    Taken { least_ns, most_ns: most_ns.max(least_ns) }
}

/// Returns the largest time that the observation adds to a data call or request.
fn per_call(taken: Taken, facts: &Facts) -> Result<f64, String> {
    let calls = facts.complete(FactName::ReadCalls)? + facts.complete(FactName::WriteCalls)?;
    match calls > 0.0 {
        true => Ok(taken.most_ns / calls),
        false => Err("the phase made no data calls".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::coverage::{Overhead, Sampling};

    use super::*;

    /// A call of others costs 60 ns, and the account has 35 ns for each of its two programs: 5 ns too many.
    const CALIBRATION: Calibration =
        Calibration { outside_call_ns: 60.0, outside_run_ns: 35.0, interrupt_ns: Some(16_000.0) };

    const SECOND: u64 = 1_000_000_000;

    fn around(calls: Runs, others: Runs) -> ProgramReading {
        let samples = Runs { runs: 2_000, ns: 2_000 * 2_000 };
        ProgramReading { at_ns: SECOND, calls, others, samples, ..ProgramReading::default() }
    }

    #[track_caller]
    fn check(around: ProgramReading, of_window: f64, done: (f64, f64), least_ns: f64, most_ns: f64) {
        let done = Done { system_calls: done.0, stack_samples: done.1, interrupt_ns: 16_000.0 };
        let found = taken(&around, &CALIBRATION, of_window, done);
        assert!((found.least_ns - least_ns).abs() < 1.0 && (found.most_ns - most_ns).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn what_the_account_leaves_out_is_added_and_the_calls_of_others_are_taken_off() {
        // A million calls of the tree, 50 ns for each run: 90 ns a call, 150 ns where calling is cold.
        let tree = Runs { runs: 2_000_000, ns: 100_000_000 };
        check(around(tree, Runs::default()), 1.0, (1e6, 0.0), 0.9 * 90e6, 1.2 * 150e6);
        // Half a million of others beside them, at 60 ns, and 120 ns where calling is cold: these may be the tree's too.
        let both = Runs { runs: 3_000_000, ns: 135_000_000 };
        check(around(both, Runs::default()), 1.0, (1e6, 0.0), 0.9 * 90e6, 1.2 * (150e6 + 60e6));
        // Interrupts and other programs.
        check(
            around(tree, Runs { runs: 1_000, ns: 500_000 }),
            1.0,
            (1e6, 997.0),
            0.9 * 90e6 + 0.8 * 997.0 * 18_000.0,
            1.2 * (150e6 + 525e3) + 1.5 * 997.0 * 18_000.0,
        );
    }

    #[test]
    fn a_short_window_is_paid_by_its_own_calls() {
        // A tenth of the time around it, with more calls than a tenth.
        let tree = Runs { runs: 2_000_000, ns: 100_000_000 };
        check(around(tree, Runs::default()), 0.1, (4e5, 0.0), 0.9 * 36e6, 1.2 * 60e6);
    }

    fn coverage() -> Coverage {
        let calls = Runs { runs: 2_000_000, ns: 100_000_000 };
        let readings = vec![
            ProgramReading { at_ns: SECOND, ..ProgramReading::default() },
            ProgramReading { at_ns: 2 * SECOND, calls, ..ProgramReading::default() },
        ];
        Coverage {
            program_times: Some(ProgramTimes { calibration: Some(CALIBRATION), readings }),
            overhead: Overhead { observer_cpu_ns: Some(20_000_000), bpf_run_ns: None, run_ns: SECOND },
            sampling: Some(Sampling::default()),
            ..Coverage::default()
        }
    }

    /// The facts of a second of a million cached reads by one thread.
    fn facts(of: &[(FactName, f64)]) -> Facts {
        let mut facts = Facts::default();
        let usual = [
            (FactName::SystemCalls, 1e6),
            (FactName::ReadCalls, 1e6),
            (FactName::WriteCalls, 0.0),
            (FactName::UserCpu, 2e8),
            (FactName::KernelCpu, 8e8),
            (FactName::Blocked, 0.0),
            (FactName::Preempted, 0.0),
        ];
        for (name, value) in usual.iter().chain(of) {
            let value = Quantity { value: *value, unit: name.unit() };
            facts.insert(*name, Fact::complete(value, Scope::Tree, "test"));
        }
        facts
    }

    #[track_caller]
    fn check_share(limited: bool, of: &[(FactName, f64)], expected: (f64, f64)) {
        let coverage = coverage();
        let (times, calibration) = times(&coverage).expect("both were measured");
        let window = Window { start_ns: SECOND, end_ns: 2 * SECOND };
        let found = share(&coverage, times, calibration, window, limited, &facts(of)).expect("known").0;
        let near = |one: f64, other: f64| (one - other).abs() < 1e-6;
        assert!(near(found.0, expected.0) && near(found.1, expected.1), "{found:?}");
    }

    #[test]
    fn only_a_pass_that_nothing_else_limits_would_surely_be_shorter() {
        check_share(false, &[], (0.081, 0.18 + 0.01));
        check_share(true, &[], (0.0, 0.19));
        // It waited for a twentieth of its time, and for a fifth.
        check_share(false, &[(FactName::KernelCpu, 7.5e8), (FactName::Blocked, 5e7)], (0.031, 0.19));
        check_share(false, &[(FactName::KernelCpu, 6e8), (FactName::Blocked, 2e8)], (0.0, 0.19));
        // Two threads share it; they waited for a CPU, which may be the one that the reader took.
        let two = [(FactName::KernelCpu, 1.7e9), (FactName::Preempted, 1e8)];
        check_share(false, &two, (0.081 / 1.9, 0.18 / 1.9 + 0.02));
    }

    #[test]
    fn without_a_part_of_the_evidence_the_share_is_not_known() {
        let window = Window { start_ns: SECOND, end_ns: 2 * SECOND };
        let whole = coverage();
        let cases: [fn(&mut Coverage, &mut Facts); 6] = [
            |coverage, _| coverage.overhead.observer_cpu_ns = None,
            |coverage, _| coverage.sampling = None,
            |coverage, _| {
                let programs = coverage.program_times.as_mut().expect("timed");
                programs.readings.iter_mut().for_each(|reading| reading.at_ns += 9 * SECOND);
            },
            |_, facts| facts.insert(FactName::SystemCalls, Fact::missing("lost", Scope::Tree, "test")),
            |_, facts| facts.insert(FactName::KernelCpu, Fact::missing("lost", Scope::Tree, "test")),
            |coverage, facts| {
                coverage.sampling = Some(Sampling { frequency_hz: 997, ..Sampling::default() });
                facts.insert(FactName::StackSamples, Fact::complete(Quantity::count(9), Scope::Tree, "test"));
                let times = coverage.program_times.as_mut().expect("timed");
                times.calibration = Some(Calibration { interrupt_ns: None, ..CALIBRATION });
            },
        ];
        for (number, take_away) in cases.iter().enumerate() {
            let (mut coverage, mut facts) = (whole.clone(), facts(&[]));
            take_away(&mut coverage, &mut facts);
            let known = times(&coverage)
                .and_then(|(times, calibration)| share(&coverage, times, calibration, window, false, &facts));
            assert!(known.is_err(), "case {number}: {known:?}");
        }
        for take_away in [(|coverage: &mut Coverage| coverage.program_times = None) as fn(&mut Coverage), |coverage| {
            coverage.program_times.as_mut().expect("timed").calibration = None
        }] {
            let mut coverage = whole.clone();
            take_away(&mut coverage);
            assert!(times(&coverage).is_err());
        }
    }
}
