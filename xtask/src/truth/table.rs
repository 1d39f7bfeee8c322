//! Counts of the outcomes: found, missed, accused, not run.

use std::fmt::Write as _;

use serde::Deserialize;

/// The runner's output.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcomes {
    /// `true` when an interrupt kept cases from running.
    pub(crate) interrupted: bool,
    /// `true` when the whole corpus was requested.
    pub(crate) whole: bool,
    /// Every detector of the product, by code.
    pub(crate) detectors: Vec<Detector>,
    /// Every requested case.
    pub(crate) cases: Vec<Case>,
}

/// A detector.
#[derive(Debug, Deserialize)]
pub(crate) struct Detector {
    /// `AB302`.
    pub(crate) code: String,
    /// `sync-outside-clock`.
    pub(crate) name: String,
}

/// Kind of a case: lie or honest twin.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// The detector must find it.
    Lie,
    /// It must be left alone.
    Honest,
}

/// Outcome of a case.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A lie that was found.
    #[serde(rename = "hit")]
    Hit,
    /// A twin that was left alone.
    #[serde(rename = "silent")]
    Silent,
    /// A lie that was not found.
    #[serde(rename = "miss")]
    Miss,
    /// A twin that was accused.
    #[serde(rename = "false accusation")]
    Accused,
    /// A confirmed figure that differs from an independent count.
    #[serde(rename = "figure off")]
    Off,
    /// A drawn run whose variant got other answers.
    #[serde(rename = "answers differ")]
    Differs,
    /// The detector was undecided.
    #[serde(rename = "undecided")]
    Undecided,
    /// Not possible on this host.
    #[serde(rename = "not run")]
    NotRun,
    /// The case itself does not work.
    #[serde(rename = "broken")]
    Broken,
}

/// One case.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    /// The detector's code.
    pub(crate) code: String,
    /// `lie-iozone-default`.
    pub(crate) name: String,
    /// Lie or twin.
    pub(crate) kind: Kind,
    /// Its description, in one sentence.
    pub(crate) what: String,
    /// Its outcome.
    pub(crate) outcome: Outcome,
    /// Explanation of the outcome; empty when all is well.
    pub(crate) why: String,
    /// Duration in seconds, including its preparation.
    pub(crate) seconds: f64,
    /// `true` when something has to be fixed.
    pub(crate) failed: bool,
    /// Figures that a lie is about and that are said to hold.
    #[serde(default)]
    pub(crate) falsely_confirmed: usize,
    /// The right that would settle an undecided case, as its report names it.
    #[serde(default)]
    pub(crate) right: Option<String>,
}

/// The counts of one detector, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) lies: usize,
    pub(crate) hits: usize,
    pub(crate) misses: usize,
    pub(crate) twins: usize,
    pub(crate) silent: usize,
    pub(crate) accused: usize,
    pub(crate) off: usize,
    pub(crate) differs: usize,
    pub(crate) undecided: usize,
    pub(crate) not_run: usize,
    pub(crate) broken: usize,
}

impl Counts {
    /// Counts some cases. Those that could not run are among the lies and twins, but are neither found nor silent.
    pub(crate) fn of<'a>(cases: impl Iterator<Item = &'a Case>) -> Counts {
        let mut counts = Counts::default();
        for case in cases {
            *match case.kind {
                Kind::Lie => &mut counts.lies,
                Kind::Honest => &mut counts.twins,
            } += 1;
            *match case.outcome {
                Outcome::Hit => &mut counts.hits,
                Outcome::Silent => &mut counts.silent,
                Outcome::Miss => &mut counts.misses,
                Outcome::Accused => &mut counts.accused,
                Outcome::Off => &mut counts.off,
                Outcome::Differs => &mut counts.differs,
                Outcome::Undecided => &mut counts.undecided,
                Outcome::NotRun => &mut counts.not_run,
                Outcome::Broken => &mut counts.broken,
            } += 1;
        }
        counts
    }

    /// Returns the kind of case that the detector lacks: `no case`, `no lie`, `no twin`; empty when it lacks none.
    pub(crate) fn lacks(&self) -> &'static str {
        match (self.lies, self.twins) {
            (0, 0) => "no case",
            (0, _) => "no lie",
            (_, 0) => "no twin",
            _ => "",
        }
    }
}

impl Outcomes {
    /// Returns each detector with its counts.
    pub(crate) fn by_detector(&self) -> Vec<(&Detector, Counts)> {
        let of = |detector: &Detector| Counts::of(self.cases.iter().filter(|case| case.code == detector.code));
        self.detectors.iter().map(|detector| (detector, of(detector))).collect()
    }

    /// Returns the cases with this outcome.
    pub(crate) fn that_are(&self, outcome: Outcome) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.outcome == outcome)
    }
}

/// Returns the sentence below the table.
pub(crate) fn sum(outcomes: &Outcomes) -> String {
    let all = Counts::of(outcomes.cases.iter());
    format!(
        "{} of {} lies found, {} missed; {} of {} honest runs left alone, {} accused; {} undecided, {} could not run \
         here, {} broken",
        all.hits, all.lies, all.misses, all.silent, all.twins, all.accused, all.undecided, all.not_run, all.broken
    )
}

/// Renders the table for a terminal.
pub(crate) fn render(outcomes: &Outcomes) -> String {
    let mut text = String::from("code   lies  hits  twins  silent  missed  accused  undecided  not run  broken\n");
    for (detector, counts) in outcomes.by_detector() {
        // A part of the corpus gives no result on the detectors that it omits.
        let is_whole = outcomes.whole && !outcomes.interrupted;
        if !is_whole && counts.lies + counts.twins == 0 {
            continue;
        }
        let Counts { lies, hits, misses, twins, silent, accused, undecided, not_run, broken, .. } = counts;
        let line = format!(
            "{}  {lies:4}  {hits:4}  {twins:5}  {silent:6}  {misses:6}  {accused:7}  {undecided:9}  {not_run:7}  {broken:6}  {} {}",
            detector.code,
            detector.name,
            if counts.lacks().is_empty() { String::new() } else { format!("({})", counts.lacks()) }
        );
        writeln!(text, "{}", line.trim_end()).expect("a String takes every character");
    }
    text.push_str(&named(outcomes));
    writeln!(text, "{}", sum(outcomes)).expect("a String takes every character");
    text
}

/// Renders drawn runs for a terminal: those with an unexpected outcome, and the counts.
pub(crate) fn render_drawn(outcomes: &Outcomes) -> String {
    format!("{}{}\n", named(outcomes), sum_of_drawn(&Counts::of(outcomes.cases.iter())))
}

/// Renders the runs of advised commands for a terminal: those that do not hold, and the counts.
pub(crate) fn render_advised(outcomes: &Outcomes) -> String {
    format!("{}{}\n", named(outcomes), sum_of_advised(&Counts::of(outcomes.cases.iter())))
}

/// Returns the counts of advised commands in a sentence.
pub(crate) fn sum_of_advised(counts: &Counts) -> String {
    format!(
        "advised commands that hold and answer the same question: {} of {}; lies without an advised command: {}; \
         broken: {}",
        counts.hits,
        counts.hits + counts.misses,
        counts.not_run,
        counts.broken
    )
}

/// Returns the counts of drawn runs in a sentence, with the upper bounds of their shares.
pub(crate) fn sum_of_drawn(counts: &Counts) -> String {
    let Counts { lies: _, hits, misses, twins, accused, off, differs, undecided, not_run, broken, silent } = *counts;
    // Runs that could not start, and draws that are not runs of the kind, do not count.
    let honest = silent + accused + off + (undecided + differs).min(twins);
    let share = |of: usize, all: usize| match upper_bound(of, all) {
        Some(bound) => format!("{of} of {all} (at most {:.2} % with 95 % confidence)", bound * 100.0),
        None => format!("{of} of {all}"),
    };
    format!(
        "honest runs accused: {}; confirmed figures that are off: {off}; other answers in other \
         words: {differs}; lies missed: {}; lies found: {hits}; \
         undecided: {undecided}; could not run here: {not_run}; broken draws: {broken}",
        share(accused, honest),
        share(misses, hits + misses)
    )
}

/// Returns the upper end of the one-sided 95 % confidence interval of a share by Clopper and Pearson; `None` for no
/// cases.
fn upper_bound(of: usize, all: usize) -> Option<f64> {
    use statrs::distribution::{Beta, ContinuousCDF};
    if of >= all {
        return (all > 0).then_some(1.0);
    }
    let beta = Beta::new(of as f64 + 1.0, (all - of) as f64).ok()?;
    Some(beta.inverse_cdf(0.95))
}

/// Returns a line for each case with an unexpected outcome.
fn named(outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for (outcome, word) in [
        (Outcome::Miss, "missed"),
        (Outcome::Accused, "accused"),
        (Outcome::Off, "figure off"),
        (Outcome::Differs, "answers differ"),
        (Outcome::Undecided, "undecided"),
        (Outcome::Broken, "broken"),
        (Outcome::NotRun, "not run"),
    ] {
        for case in outcomes.that_are(outcome) {
            writeln!(text, "{word}: {}/{}: {}", case.code, case.name, case.why)
                .expect("a String takes every character");
        }
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes outcomes as the runner writes them: code, kind, outcome.
    pub(crate) fn outcomes(cases: &[(&str, &str, &str)]) -> Outcomes {
        let cases: Vec<serde_json::Value> = cases
            .iter()
            .map(|(code, kind, outcome)| {
                serde_json::json!({"code": code, "name": format!("{kind}-a"), "kind": kind, "what": "A | b.",
                    "outcome": outcome, "why": "because", "seconds": 1.5, "failed": false})
            })
            .collect();
        let detectors = serde_json::json!([{"code": "AB101", "name": "a-b"}, {"code": "AB102", "name": "c"}]);
        let all = serde_json::json!({"interrupted": false, "whole": true, "detectors": detectors, "cases": cases});
        serde_json::from_value(all).expect("outcomes")
    }

    #[test]
    fn a_share_is_told_with_its_bound() {
        // The rule of three: nothing in a thousand is at most 0.3 %.
        let bound = |of, all| (upper_bound(of, all).expect("a bound") * 10_000.0).round() / 10_000.0;
        assert_eq!((bound(0, 1000), bound(1, 1000), bound(5, 5)), (0.003, 0.0047, 1.0));
        assert_eq!(upper_bound(0, 0), None);
        let outcomes =
            outcomes(&[("drawn", "honest", "silent"), ("drawn", "honest", "figure off"), ("a", "lie", "miss")]);
        let text = render_drawn(&outcomes);
        assert!(text.contains("figure off: drawn/honest-a: because"), "{text}");
        assert!(text.contains("honest runs accused: 0 of 2 (at most 77.64 % with 95 % confidence)"), "{text}");
        assert!(
            text.contains("figures that are off: 1; other answers in other words: 0; lies missed: 1 of 1"),
            "{text}"
        );
    }

    #[test]
    fn what_could_not_run_is_counted_apart() {
        let outcomes = outcomes(&[
            ("AB101", "lie", "hit"),
            ("AB101", "lie", "not run"),
            ("AB101", "honest", "false accusation"),
            ("AB101", "honest", "undecided"),
        ]);
        let rows = outcomes.by_detector();
        let expected = Counts { lies: 2, hits: 1, twins: 2, accused: 1, undecided: 1, not_run: 1, ..Counts::default() };
        assert_eq!(rows[0].1, expected);
        assert_eq!((rows[0].1.lacks(), rows[1].1.lacks()), ("", "no case"));
        let text = render(&outcomes);
        assert!(text.contains("c (no case)") && text.contains("not run: AB101/lie-a: because"), "{text}");
        assert!(text.ends_with(
            "1 of 2 lies found, 0 missed; 0 of 2 honest runs left alone, 1 accused; 1 undecided, 1 could not run here, 0 broken\n"
        ));
    }
}
