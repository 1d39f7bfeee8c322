//! What limited each phase, in a line each. Raw text; the format escapes it.

use activebench_model::limiter::Limiter;
use activebench_model::report::JudgedRun;

use crate::wording::{PhaseNames, count};

/// One line a phase, in the order of the phases; of many phases the first `most`, and how many are left out.
pub(crate) fn lines(run: &JudgedRun, most: usize) -> Vec<String> {
    lines_of(run, most, |_| true)
}

/// As [`lines`], without the phase whose limit the answers to the seven questions give already.
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
