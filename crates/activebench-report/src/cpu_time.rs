//! Distribution of the threads' time, one line per phase. Raw text; the format escapes it.

use activebench_model::report::JudgedRun;
use activebench_model::thread_stacks::{CpuProfile, HotFunction};

use crate::escape::{clipped, clipped_symbol};
use crate::wording::PhaseNames;

/// Maximum functions named in a line.
const FUNCTIONS_NAMED: usize = 2;
/// Longest name of a function or module, in characters.
const NAME_SHOWN: usize = 60;

/// Returns one line per phase with known times, in the order of the phases, or one line for a run without phases.
/// Beyond `most` lines, only the phases with the most samples are kept.
pub(crate) fn lines(run: &JudgedRun, most: usize) -> Vec<String> {
    let names = PhaseNames::of(run);
    let mut shown: Vec<(&str, &CpuProfile)> = run
        .phases
        .iter()
        .filter_map(|phase| Some((phase.id.as_str(), run.profiles.phases.get(&phase.id)?)))
        .filter(|(_, profile)| is_known(profile))
        .collect();
    if shown.len() > most {
        let mut hottest: Vec<usize> = (0..shown.len()).collect();
        hottest.sort_by_key(|index| std::cmp::Reverse(shown[*index].1.samples));
        let mut hottest: Vec<usize> = hottest.into_iter().take(most).collect();
        hottest.sort_unstable();
        shown = hottest.into_iter().map(|index| shown[index]).collect();
    }
    if run.phases.is_empty() && is_known(&run.profiles.run) {
        return vec![line("whole run", &run.profiles.run)];
    }
    shown.into_iter().map(|(id, profile)| line(names.get(id), profile)).collect()
}

fn is_known(profile: &CpuProfile) -> bool {
    profile.shares.is_some() || profile.samples > 0
}

/// `write: user 12 %, kernel 70 %, blocked 18 % (I/O wait 15 %), preempted 0 %; hottest of 818 samples:
/// copy_page_to_iter (kernel) 31 %`.
fn line(phase: &str, profile: &CpuProfile) -> String {
    let mut parts = Vec::new();
    if let Some(shares) = profile.shares {
        parts.push(format!(
            "user {}, kernel {}, blocked {} (I/O wait {}), preempted {}",
            percent(shares.user_ratio),
            percent(shares.kernel_ratio),
            percent(shares.blocked_ratio),
            percent(shares.iowait_ratio),
            percent(shares.preempted_ratio),
        ));
    }
    let hottest: Vec<String> = profile.functions.iter().take(FUNCTIONS_NAMED).map(function).collect();
    if !hottest.is_empty() {
        parts.push(format!("hottest of {} samples: {}", profile.samples, hottest.join(", ")));
    }
    format!("{phase}: {}", parts.join("; "))
}

fn function(function: &HotFunction) -> String {
    let module = match &function.module {
        _ if function.in_kernel => "kernel",
        Some(path) => path.rsplit('/').next().unwrap_or(path),
        None => "unknown code",
    };
    let module = clipped(module, NAME_SHOWN);
    let share = percent(function.sample_ratio);
    match &function.symbol {
        Some(symbol) => format!("{} ({module}) {share}", clipped_symbol(symbol, NAME_SHOWN)),
        None => format!("{module} without symbols {share}"),
    }
}

fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}
