//! # What it finds
//! An observation that used a part of the measured time, and other tracers on the same hooks.
//!
//! # Why it matters
//! The kernel programs of every observer run for each call and request of the tool. They slow a CPU-bound pass (I/O
//! from memory), whose figure would have been better without the observation.
//!
//! # How it decides
//! For each rate it compares two widths. One is that of the interval in which the rate lies without observation
//! (`observer_share_least_ratio` to `observer_share_most_ratio`: what the observation took of the window at least and
//! at most). The other is the tolerance within which the observed figure confirms the claim. Where the interval is
//! wider, it warns: the observation may have changed the figure by more than the claim is checked for. Under `strict`
//! that warning fails, and the rate is unverifiable.
//!
//! The run time of our kernel programs (`bpf_run_ns`) above 1 % of the run's time is a note. The run's time is the
//! larger of its wall time and the CPU time of the whole tree (`user_cpu_ns` + `kernel_cpu_ns` of the run). In runs of
//! an activebench that did not measure the interval, above 5 % is a warning.
//!
//! By itself this changes no claim: the observation makes a figure worse, never better, so a confirmed figure is also
//! true without it. For the same reason no verdict changes when the cost was not measured; it is then undecided.
//!
//! A tracer stops the tool at calls; a library in the tool notes others without a stop. What that takes in all is not
//! known; the time until the tool was let go on, and what noting took, is the least. From 5 % of the run on it is a
//! warning, and rates and latencies are then not verifiable. Below that it is undecided.
//!
//! Two more things are notes:
//!
//! - CPU time of activebench's own process above 1 % of the run. It works beside the tool and disturbs it when no CPU
//!   is idle.
//! - BPF programs of others on hooks that I/O passes.
//!
//! # When it is wrong
//! The interval rests on the kernel's account of the programs' run time, taken in slices of 2 ms in every 100, on a
//! calibration before the run, and on counts of calls and stack samples. What the programs displace from the caches is
//! covered by the interval's upper end as measured on one machine. `cargo xtask overhead` compares the interval with
//! runs without observation ([overhead.md](../overhead.md)).
//!
//! Other tracers that do not use BPF (perf, ftrace, strace) are not seen.
//!
//! # What to do
//! Quote the interval that the report gives for the unobserved figure, or measure CPU-bound passes without observation
//! too. Stop other tracers; `activebench doctor` names them.
//!
//! # References
//! rezolus #1148 (12.7 % lost to probes); bcc's cachestat (up to 34 %); a forgotten bpftrace raised a loop of cached
//! reads from 475 to 711 ns per call, measured on 6.18.

use activebench_model::claim::{Claim, Metric};
use activebench_model::coverage::{Backend, Traced};
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Threshold};
use activebench_model::phase::Phase;
use activebench_model::units::Quantity;
use activebench_model::verdict::Unobserved;

use crate::cases::run::{Case, Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::rebuilt_figure::rebuild;
use crate::judge::confirmation::tolerance;
use crate::judge::unobserved::unobserved;
use crate::run::Run;

const FACTS: &[FactName] =
    &[FactName::UserCpu, FactName::KernelCpu, FactName::ObserverShareLeast, FactName::ObserverShareMost];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB903",
    name: "perturbed-by-observer",
    title: "Observation changed the figure",
    explained_by: &[],
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
    let rates: Vec<&Claim> = run.parsed.claims.iter().filter(|claim| is_rate(claim.metric)).collect();
    let case = Case::of_run(&DETECTOR, run).resting_on(FACTS.to_vec()).concerning(rates);
    if run.manifest.coverage.backend == Backend::None {
        return vec![case.halted(Halt::not_applicable("Nothing was observed, so nothing was disturbed."))];
    }
    let of_programs = programs(&case).unwrap_or_else(|halt| case.halted(halt));
    let of_run = Case::of_run(&DETECTOR, run);
    [Some(of_programs), own_process(&of_run), other_tracers(&of_run)].into_iter().flatten().collect()
}

/// Judges the run time of the kernel programs.
/// Returns what a tracer did to the tool.
fn interrupted(traced: &Traced) -> String {
    match traced.noted_calls {
        0 => format!("A tracer stopped the tool {} times at calls.", traced.stops),
        noted => format!(
            "A tracer stopped the tool {} times at calls, and a library in it noted {noted} more.",
            traced.stops
        ),
    }
}

fn programs(case: &Case<'_>) -> Result<Finding, Halt> {
    let intervals = intervals(&case.run)?;
    if let Some(finding) = intervals.as_ref().and_then(|intervals| wide(case, intervals)) {
        return Ok(finding);
    }
    let (run, limits) = (&case.run, case.thresholds());
    if let Some(traced) = &run.manifest.coverage.traced {
        let run_ns = run.manifest.coverage.overhead.run_ns as f64;
        let least = traced.stopped_ns.map(|stopped_ns| (stopped_ns, stopped_ns as f64 / run_ns));
        if let Some((stopped_ns, share)) =
            least.filter(|(_, share)| *share > limits.ab903_programs_warn_ratio.value.value)
        {
            // The account of the tracer is no fact.
            return Ok(case.resting_on(Vec::new()).fires(Firing {
                weight: Weight::Warn(Effect::Unverifiable),
                observed: Some(Quantity::ratio(share)),
                threshold: limits.ab903_programs_warn_ratio.clone(),
                message: format!(
                    "{} That took at least {} of {} ({}).",
                    interrupted(traced),
                    Quantity::ns(stopped_ns),
                    Quantity { value: run_ns, ..Quantity::ns(0) },
                    Quantity::ratio(share)
                ),
                meaning: "Passes of fast calls would be faster without it, by more than this share.".to_owned(),
                advice:
                    "observe with kernel programs, which do not stop the tool (--backend bpf: CAP_BPF and CAP_PERFMON, \
                         or root)"
                        .to_owned(),
            }));
        }
        return Err(Halt::undecided(format!(
            "{} What that took of the measured time is not known.",
            interrupted(traced)
        )));
    }
    let programs_ns = run.manifest.coverage.overhead.bpf_run_ns.ok_or_else(|| {
        Halt::undecided(format!("The run time of the observer's BPF programs was not measured.{}", own_share(run)))
    })?;
    let tree_ns = run.facts.complete(FactName::UserCpu)? + run.facts.complete(FactName::KernelCpu)?;
    let run_ns = tree_ns.max(run.manifest.coverage.overhead.run_ns as f64);
    if run_ns <= 0.0 {
        return Err(Halt::undecided("The run does not have a measurable duration."));
    }
    let share = programs_ns as f64 / run_ns;
    let (weight, threshold) = if intervals.is_none() && share > limits.ab903_programs_warn_ratio.value.value {
        (Weight::Warn(Effect::Unverifiable), &limits.ab903_programs_warn_ratio)
    } else if share > limits.ab903_programs_note_ratio.value.value {
        (Weight::Note, &limits.ab903_programs_note_ratio)
    } else {
        return Ok(case.silent(""));
    };
    let took = format!(
        "Observation took {} of {} ({}).",
        Quantity::ns(programs_ns),
        Quantity { value: run_ns, ..Quantity::ns(0) },
        Quantity::ratio(share)
    );
    let (meaning, advice) = match intervals.is_some() {
        true => (
            "Without observation each rate is within the tolerance of its claim.",
            "quote the figure without observation",
        ),
        false => (
            "CPU-bound passes would be faster without it, by about this share.",
            "run the same command without activebench too, and quote that figure beside this report",
        ),
    };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: took,
        meaning: meaning.to_owned(),
        advice: advice.to_owned(),
    }))
}

/// A rate without observation, beside the tolerance of its claim.
struct Interval<'a> {
    claim: &'a Claim,
    unobserved: Unobserved,
    /// Width of the interval, and of the tolerance, both as a share of the claim.
    width_ratio: f64,
    tolerance_ratio: f64,
}

/// Returns the interval of each rate; `None` in runs that did not measure it.
fn intervals<'a>(run: &Run<'a>) -> Result<Option<Vec<Interval<'a>>>, Halt> {
    if run.manifest.coverage.program_times.is_none() {
        return Ok(None);
    }
    let mut intervals = Vec::new();
    for claim in run.parsed.claims.iter().filter(|claim| claim.metric.is_rate(false) && claim.value.value > 0.0) {
        let Some(phase) = run.phase_of(claim).filter(|phase| phase.window.is_some()) else { continue };
        let unobserved = unobserved(phase, claim)?;
        intervals.push(Interval {
            claim,
            unobserved,
            width_ratio: (unobserved.high - unobserved.low) / claim.value.value,
            tolerance_ratio: tolerance_ratio(run, phase, claim),
        });
    }
    Ok(Some(intervals))
}

/// Returns the width of a claim's tolerance as a share; of a claim whose figure was not observed the least width.
fn tolerance_ratio(run: &Run<'_>, phase: &Phase, claim: &Claim) -> f64 {
    let width = rebuild(run, phase, claim).and_then(|rebuilt| {
        let observed = rebuilt.figure?;
        let tolerance = tolerance(run, phase, claim, observed)?;
        Ok((tolerance.high - tolerance.low) / observed.value)
    });
    width.unwrap_or(2.0 * run.thresholds.confirmed_rate_ratio.value.value)
}

/// Returns the finding on the intervals that are wider than the tolerance; `None` if there are none.
fn wide(case: &Case<'_>, intervals: &[Interval<'_>]) -> Option<Finding> {
    let wide: Vec<&Interval<'_>> = intervals.iter().filter(|one| one.width_ratio > one.tolerance_ratio).collect();
    let widest = wide.iter().max_by(|one, other| one.width_ratio.total_cmp(&other.width_ratio))?;
    let value = |value: f64| Quantity { value, ..widest.claim.value };
    let (low, high) = (value(widest.unobserved.low), value(widest.unobserved.high));
    let others = match wide.len() - 1 {
        0 => String::new(),
        1 => " The same is true for another figure.".to_owned(),
        others => format!(" The same is true for {others} other figures."),
    };
    Some(case.concerning(wide.iter().map(|one| one.claim).collect()).fires(Firing {
        weight: Weight::Warn(Effect::Unverifiable),
        observed: Some(Quantity::ratio(widest.width_ratio)),
        threshold: Threshold {
            value: Quantity::ratio(widest.tolerance_ratio),
            source: "the claim's own tolerance".to_owned(),
        },
        message: format!("Without observation {} would be between {low} and {high}.{others}", widest.claim.value),
        meaning: "The effect of the observation is known less exactly than the figure is checked.".to_owned(),
        advice: "run the same command without activebench too, and quote that figure beside this report".to_owned(),
    }))
}

/// Text on activebench's own CPU share, to append to a message; empty when it is unknown.
fn own_share(run: &Run<'_>) -> String {
    let overhead = run.manifest.coverage.overhead;
    match overhead.observer_cpu_ns {
        Some(own_ns) if overhead.run_ns > 0 => {
            let share = Quantity::ratio(own_ns as f64 / overhead.run_ns as f64);
            format!(" The process of activebench took {share} of one CPU.")
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
                "The process of activebench took {} of CPU time in {}.",
                Quantity::ns(own_ns),
                Quantity::ns(overhead.run_ns)
            ),
            meaning: "Where every CPU was busy, it took time from the tool.".to_owned(),
            advice: "leave a CPU idle: use fewer tasks than CPUs".to_owned(),
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
        message: format!("Other tracers used the same hooks when the run began: {}.", named.join(", ")),
        meaning: "Every figure is lower than without them, by an unknown amount.".to_owned(),
        advice: "stop them and repeat the run (`activebench doctor` lists them)".to_owned(),
    }))
}
