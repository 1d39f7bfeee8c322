//! The seven questions of active benchmarking in the order in which they are asked.

use activebench_model::report::{Answer, JudgedRun};

/// A word that only this question's key contains, and the question (Gregg, *Evaluating the Evaluation: A Benchmarking
/// Checklist*, 2018).
const QUESTIONS: [(&str, &str); 7] = [
    ("double", "Why not double?"),
    ("tuned", "Was it tuned?"),
    ("limit", "Did it break limits?"),
    ("error", "Did it error?"),
    ("reproduce", "Does it reproduce?"),
    ("matter", "Does it matter?"),
    ("happen", "Did it even happen?"),
];

/// Returns questions and answers. Answers to other questions come last, under their keys.
pub(crate) fn answered(run: &JudgedRun) -> Vec<(&str, &Answer)> {
    let place = |key: &str| QUESTIONS.iter().position(|(word, _)| key.to_lowercase().contains(word));
    let mut answered: Vec<(usize, &str, &Answer)> = run
        .questions
        .iter()
        .map(|(key, answer)| match place(key) {
            Some(index) => (index, QUESTIONS[index].1, answer),
            None => (QUESTIONS.len(), key.as_str(), answer),
        })
        .collect();
    answered.sort_by_key(|(index, ..)| *index);
    answered.into_iter().map(|(_, question, answer)| (question, answer)).collect()
}
