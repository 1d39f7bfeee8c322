//! Bottleneck of each phase, one line each. Raw text; the format escapes it.

use activebench_model::limiter::Limiter;
use activebench_model::report::JudgedRun;

use crate::wording::{PhaseNames, count};

/// Returns one line per phase, in the order of the phases. Beyond `most` lines, the last line has the number of phases
/// left out.
pub(crate) fn lines(run: &JudgedRun, most: usize) -> Vec<String> {
    lines_of(run, most, |_| true)
}

/// Like [`lines`], without the phases whose bottleneck is already in an answer to the seven questions.
pub(crate) fn lines_beside_answers(run: &JudgedRun, most: usize) -> Vec<String> {
    lines_of(run, most, |limiter| !run.questions.values().any(|answer| answer.answer.ends_with(&limiter.sentence)))
}

fn lines_of(run: &JudgedRun, most: usize, wanted: impl Fn(&Limiter) -> bool) -> Vec<String> {
    let names = PhaseNames::of(run);
    let line = |limiter: &&Limiter| format!("{}: {}", names.get(&limiter.phase), limiter.sentence);
    let limiters: Vec<&Limiter> = run.limiters.iter().filter(|limiter| wanted(limiter)).collect();
    let mut lines: Vec<String> = limiters.iter().take(most).map(line).collect();
    if limiters.len() > most {
        lines.push(format!("and {} in the JSON report", count(limiters.len() - most, "phase")));
    }
    lines
}
