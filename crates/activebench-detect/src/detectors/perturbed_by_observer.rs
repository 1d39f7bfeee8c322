//! # What it finds
//! An observation that used a part of the measured time, and other tracers on the same hooks.
//!
//! # Why it matters
//! The kernel programs of every observer run for each call and request of the tool. They slow a CPU-bound pass (I/O
//! from memory), whose figure would have been better without the observation.
//!
//! # How it decides
//! It divides the run time of our kernel programs (`bpf_run_ns`) by the run's time. That is the larger of its wall
//! time and the CPU time of the whole tree (`user_cpu_ns` + `kernel_cpu_ns` of the run). Above 1 % it is a note,
//! above 5 % a warning. Under `strict` that warning fails, and rates are unverifiable.
//!
//! By itself this changes no claim: the observation makes a figure worse, never better, so a confirmed figure is also
//! true without it. For the same reason no verdict changes when either time was not measured; it is then undecided. A
//! comparison with an unobserved run needs a second run and is not made here.
//!
//! Two more things are notes:
//!
//! - CPU time of activebench's own process above 1 % of the run. It works beside the tool and disturbs it when no CPU
//!   is idle.
//! - BPF programs of others on hooks that I/O passes.
//!
//! # When it is wrong
//! Measuring run times slows every run of a program, so it is done in slices of 2 ms in every 100. The measured time
//! includes a part of that cost, and excludes the kernel's cost of calling a program. In experiments the two
//! cancelled out to a fifth. A run that outlasts its slice counts with its whole time. Long walks over lists of
//! requests are timed one by one.
//!
//! The share is that of the whole run. Short passes inside it may have been disturbed more, or less. Other tracers
//! that do not use BPF (perf, ftrace, strace) are not seen.
//!
//! # What to do
//! Measure CPU-bound passes without observation too, and quote the observed run for what it explains. Stop other
//! tracers; `activebench doctor` names them.
//!
//! # References
//! rezolus #1148 (12.7 % lost to probes); bcc's cachestat (up to 34 %); a forgotten bpftrace raised a loop of cached
//! reads from 475 to 711 ns per call, measured on 6.18.

use activebench_model::claim::Metric;
use activebench_model::coverage::Backend;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::units::Quantity;

use crate::cases::run::{Case, Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::UserCpu, FactName::KernelCpu];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB903",
    name: "perturbed-by-observer",
    source: include_str!("perturbed_by_observer.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    let is_rate = |metric| !matches!(metric, Metric::BytesMoved | Metric::MinTaskBytes);
    let rates = run.parsed.claims.iter().filter(|claim| is_rate(claim.metric)).collect();
    let case = Case::of_run(&DETECTOR, run).resting_on(FACTS.to_vec()).concerning(rates);
    if run.manifest.coverage.backend == Backend::None {
        return vec![case.halted(Halt::not_applicable("nothing was observed, so nothing was disturbed"))];
    }
    let of_programs = programs(&case).unwrap_or_else(|halt| case.halted(halt));
    let of_run = Case::of_run(&DETECTOR, run);
    [Some(of_programs), own_process(&of_run), other_tracers(&of_run)].into_iter().flatten().collect()
}

/// Judges the run time of the kernel programs.
fn programs(case: &Case<'_>) -> Result<Finding, Halt> {
    let (run, limits) = (&case.run, case.thresholds());
    let programs_ns = run.manifest.coverage.overhead.bpf_run_ns.ok_or_else(|| {
        Halt::undecided(format!("the run time of the kernel programs was not measured{}", own_share(run)))
    })?;
    let tree_ns = run.facts.complete(FactName::UserCpu)? + run.facts.complete(FactName::KernelCpu)?;
    let run_ns = tree_ns.max(run.manifest.coverage.overhead.run_ns as f64);
    if run_ns <= 0.0 {
        return Err(Halt::undecided("the run took no time that could be measured"));
    }
    let share = programs_ns as f64 / run_ns;
    let (weight, threshold) = if share > limits.ab903_programs_warn_ratio.value.value {
        (Weight::Warn(Effect::Unverifiable), &limits.ab903_programs_warn_ratio)
    } else if share > limits.ab903_programs_note_ratio.value.value {
        (Weight::Note, &limits.ab903_programs_note_ratio)
    } else {
        return Ok(case.silent(""));
    };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: format!(
            "the kernel programs that observe took {} of {} ({})",
            Quantity::ns(programs_ns),
            Quantity { value: run_ns, ..Quantity::ns(0) },
            Quantity::ratio(share)
        ),
        meaning: "where the CPU limits, the figures would have been better without, by about this share".to_owned(),
        advice: "run the same command without activebench too, and quote that figure beside this report".to_owned(),
    }))
}

/// Text on activebench's own CPU share, to append to a message; empty when it is unknown.
fn own_share(run: &Run<'_>) -> String {
    let overhead = run.manifest.coverage.overhead;
    match overhead.observer_cpu_ns {
        Some(own_ns) if overhead.run_ns > 0 => {
            let share = Quantity::ratio(own_ns as f64 / overhead.run_ns as f64);
            format!("; activebench's own process took {share} of one CPU")
        }
        _ => String::new(),
    }
}

/// Returns a note when our own process used too much CPU time; `None` otherwise.
fn own_process(case: &Case<'_>) -> Option<Finding> {
    let overhead = case.run.manifest.coverage.overhead;
    let own_ns = overhead.observer_cpu_ns.filter(|_| overhead.run_ns > 0)?;
    let share = own_ns as f64 / overhead.run_ns as f64;
    let threshold = &case.thresholds().ab903_own_process_note_ratio;
    (share > threshold.value.value).then(|| {
        case.fires(Firing {
            weight: Weight::Note,
            observed: Some(Quantity::ratio(share)),
            threshold: threshold.clone(),
            message: format!(
                "activebench's own process took {} of CPU time in {}",
                Quantity::ns(own_ns),
                Quantity::ns(overhead.run_ns)
            ),
            meaning: "it works beside the tool: where every CPU was busy it took time from it".to_owned(),
            advice: "leave a CPU idle: fewer tasks than CPUs".to_owned(),
        })
    })
}

/// Returns a note when others traced the same hooks; `None` otherwise, and when that is unknown.
fn other_tracers(case: &Case<'_>) -> Option<Finding> {
    let tracers = case.run.manifest.coverage.other_tracers.as_deref().unwrap_or_default();
    let threshold = &case.thresholds().ab903_other_tracers_count;
    if tracers.len() as f64 <= threshold.value.value {
        return None;
    }
    let named: Vec<String> = tracers
        .iter()
        .map(|tracer| match (&tracer.comm, tracer.pid) {
            (Some(comm), Some(pid)) => format!("{} by {comm} (pid {pid})", tracer.hook),
            (None, Some(pid)) => format!("{} by pid {pid}", tracer.hook),
            (_, None) => format!("{} by an unknown process", tracer.hook),
        })
        .collect();
    Some(case.fires(Firing {
        weight: Weight::Note,
        observed: Some(Quantity::count(tracers.len() as u64)),
        threshold: threshold.clone(),
        message: format!("others traced the same path when the run began: {}", named.join(", ")),
        meaning:
            "every figure is below what this machine gives without them, by an amount that nobody measured".to_owned(),
        advice: "stop them and repeat the run; `activebench doctor` lists them".to_owned(),
    }))
}
