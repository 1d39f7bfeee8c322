//! The figure that a run is for: `--target '>= 200 MB/s'`, and whether the run's figures reach it.

use std::collections::HashMap;

use activebench_model::claim::{Claim, Metric};
use activebench_model::phase::{Direction, Phase};
use activebench_model::target::{JudgedTarget, TargetFigure};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::JudgedClaim;

use crate::acceptance::alike;
use crate::run::Run;

/// How to write one, for messages.
pub const HOW: &str = "write `>= 200 MB/s`, `write >= 1.5 GiB/s`, `>= 20 kIOPS`, `p99 <= 5 ms`";

/// Units with what one of them is in the normalised unit. Those of bytes are powers of 1000, or of 1024 with an i.
const UNITS: &[(&str, Unit, f64)] = &[
    ("B/s", Unit::BytesPerSec, 1.0),
    ("kB/s", Unit::BytesPerSec, 1e3),
    ("KB/s", Unit::BytesPerSec, 1e3),
    ("MB/s", Unit::BytesPerSec, 1e6),
    ("GB/s", Unit::BytesPerSec, 1e9),
    ("TB/s", Unit::BytesPerSec, 1e12),
    ("KiB/s", Unit::BytesPerSec, 1024.0),
    ("MiB/s", Unit::BytesPerSec, 1_048_576.0),
    ("GiB/s", Unit::BytesPerSec, 1_073_741_824.0),
    ("TiB/s", Unit::BytesPerSec, 1_099_511_627_776.0),
    ("IOPS", Unit::OpsPerSec, 1.0),
    ("kIOPS", Unit::OpsPerSec, 1e3),
    ("MIOPS", Unit::OpsPerSec, 1e6),
    ("ops/s", Unit::OpsPerSec, 1.0),
    ("ns", Unit::Ns, 1.0),
    ("us", Unit::Ns, 1e3),
    ("ms", Unit::Ns, 1e6),
    ("s", Unit::Ns, 1e9),
];

/// Latencies by the words that choose one.
const LATENCIES: &[(&str, Metric)] = &[
    ("mean", Metric::LatencyMean),
    ("p50", Metric::LatencyP50),
    ("p95", Metric::LatencyP95),
    ("p99", Metric::LatencyP99),
    ("p99.9", Metric::LatencyP999),
    ("max", Metric::LatencyMax),
];

/// A figure that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// The phase that it is about, by id or name; `None` for every phase.
    phase: Option<String>,
    /// Which latency, for a limit of time.
    latency: Metric,
    bound: Bound,
    threshold: Quantity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl Bound {
    fn is_met(self, value: f64, threshold: f64) -> bool {
        match self {
            Bound::AtLeast => value >= threshold,
            Bound::Above => value > threshold,
            Bound::AtMost => value <= threshold,
            Bound::Below => value < threshold,
        }
    }
}

impl Bound {
    fn words(self) -> &'static str {
        match self {
            Bound::AtLeast => "at least",
            Bound::Above => "more than",
            Bound::AtMost => "at most",
            Bound::Below => "less than",
        }
    }
}

impl Goal {
    /// Reads one: `[PHASE] [mean|p50|p95|p99|p99.9|max] >=|>|<=|< NUMBER UNIT`. Without a word for it a
    /// limit of time is about the mean.
    ///
    /// # Errors
    /// A message for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault = |what: String| format!("{what} (hint: {HOW})");
        let at = text.find(['<', '>']).ok_or_else(|| fault(format!("no `>=` or `<=` in {text:?}")))?;
        let (before, rest) = text.split_at(at);
        let (bound, length) = match (rest.starts_with('<'), rest[1..].starts_with('=')) {
            (true, true) => (Bound::AtMost, 2),
            (true, false) => (Bound::Below, 1),
            (false, true) => (Bound::AtLeast, 2),
            (false, false) => (Bound::Above, 1),
        };
        let figure = rest[length..].trim();
        let digits = figure.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(figure.len());
        let (number, unit) = (&figure[..digits], figure[digits..].trim());
        let number: f64 = number.parse().map_err(|_| fault(format!("no number after the sign in {text:?}")))?;
        let (unit, factor) = unit_of(unit).ok_or_else(|| {
            let meant = meant_unit(unit).map_or_else(String::new, |name| format!(": did you mean {name}?"));
            fault(format!("{unit:?} is not a unit of a figure{meant}"))
        })?;
        let mut goal = Self {
            phase: None,
            latency: Metric::LatencyMean,
            bound,
            threshold: Quantity { value: number * factor, unit },
        };
        let mut words: Vec<&str> = before.split_whitespace().collect();
        if let Some(latency) = words.last().and_then(|word| LATENCIES.iter().find(|(name, _)| name == word)) {
            if unit != Unit::Ns {
                return Err(fault(format!("{} is a latency, the limit is not", latency.0)));
            }
            goal.latency = latency.1;
            words.pop();
        }
        goal.phase = (!words.is_empty()).then(|| words.join(" "));
        Ok(goal)
    }

    /// The claims that the goal is about. A word that names no phase may name a direction.
    fn claims<'a>(&self, run: &Run<'a>) -> Vec<&'a Claim> {
        let claims = &run.parsed.claims;
        let names_one = |wanted: &str| run.phases.iter().any(|phase| phase.id == wanted || phase.name == wanted);
        let of_phase = |claim: &&Claim| {
            let Some(wanted) = &self.phase else { return true };
            match (run.phase_of(claim), names_one(wanted)) {
                (Some(phase), true) => phase.id == *wanted || phase.name == *wanted,
                (Some(phase), false) => is_direction(wanted, phase),
                (None, _) => claim.phase == *wanted,
            }
        };
        let with = |metrics: &[Metric]| -> Vec<&'a Claim> {
            claims.iter().filter(of_phase).filter(|claim| metrics.contains(&claim.metric)).collect()
        };
        let kinds = self.kinds();
        match self.threshold.unit {
            Unit::Ns => kinds.iter().map(|kind| with(&[*kind])).find(|found| !found.is_empty()).unwrap_or_default(),
            _ => with(&kinds),
        }
    }

    /// Compares the run's honest figures with it. `text` is the target in the user's words.
    pub(crate) fn judged(&self, text: &str, run: &Run<'_>, judged: &[JudgedClaim]) -> JudgedTarget {
        let judged: HashMap<&str, &JudgedClaim> =
            judged.iter().rev().map(|judged| (judged.claim.as_str(), judged)).collect();
        let figure = |claim: &Claim| {
            let honest = judged.get(claim.id.as_str()).and_then(|judged| judged.honest(claim));
            TargetFigure {
                claim: claim.id.clone(),
                phase: run.phase_of(claim).map_or(claim.phase.as_str(), |phase| &phase.name).to_owned(),
                honest,
                met: honest.map(|honest| self.bound.is_met(honest.value, self.threshold.value)),
            }
        };
        let figures: Vec<TargetFigure> = self.claims(run).into_iter().map(figure).collect();
        let met = match figures.as_slice() {
            [] => None,
            all if all.iter().any(|figure| figure.met == Some(false)) => Some(false),
            all if all.iter().all(|figure| figure.met == Some(true)) => Some(true),
            _ => None,
        };
        let sentence = self.sentence(&figures, met);
        JudgedTarget { text: text.to_owned(), met, threshold: self.threshold, figures, sentence }
    }

    /// Names the figure that decides: one that misses, one that is unknown, or the one nearest to the threshold.
    fn sentence(&self, figures: &[TargetFigure], met: Option<bool>) -> String {
        let required = format!("{} {}", self.bound.words(), self.threshold);
        let Some(first) = figures.first() else {
            return format!("The run has no figure of this kind ({required} required).");
        };
        let value = |figure: &TargetFigure| figure.honest.map_or(f64::NAN, |honest| honest.value);
        let is_worse = |figure: &TargetFigure, than: &TargetFigure| match self.bound {
            Bound::AtLeast | Bound::Above => value(figure) < value(than),
            Bound::AtMost | Bound::Below => value(figure) > value(than),
        };
        let mut with: Vec<&TargetFigure> = figures.iter().filter(|figure| figure.met == met).collect();
        if with.is_empty() {
            with.push(first);
        }
        let decides = with.iter().skip(1).fold(with[0], |worst, one| if is_worse(one, worst) { one } else { worst });
        let others = if with.len() > 1 { format!(" and {} more", with.len() - 1) } else { String::new() };
        match decides.honest {
            Some(honest) => format!("{}{others} {honest}, {required} required.", decides.phase),
            None => format!("The honest figure of {}{others} is not known, {required} required.", decides.phase),
        }
    }

    /// Returns why no run of this command can have the figure; `None` if one may have it. `phases` are those that the
    /// command asks for, `stated` the kinds of numbers that it can print.
    pub fn impossible(&self, phases: &[Phase], tool: &str, stated: &[Metric]) -> Option<String> {
        let kinds = self.kinds();
        if !stated.iter().any(|metric| kinds.contains(metric)) {
            let wanted = self.kind_in_words();
            return Some(format!(
                "this command of {tool} prints no {wanted} (hint: it prints {})",
                kinds_in_words(stated)
            ));
        }
        let wanted = self.phase.as_deref()?;
        let is_there = |phase: &Phase| phase.id == wanted || phase.name == wanted || is_direction(wanted, phase);
        // Passes that are not known may have any name and direction.
        let is_open = phases.is_empty() || phases.iter().any(|phase| phase.unread.is_some());
        if is_open || phases.iter().any(is_there) {
            return None;
        }
        let mut names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        names.dedup();
        let mut known = names.clone();
        known.extend(["read", "write"].iter().filter(|word| phases.iter().any(|phase| is_direction(word, phase))));
        names.truncate(12);
        let meant = alike(wanted, &known).map_or_else(String::new, |name| format!("did you mean {name:?}? "));
        Some(format!("the command has no figure {wanted:?} (hint: {meant}it has {})", names.join(", ")))
    }

    /// Returns the kinds of numbers that the target may be about, the first one preferred.
    fn kinds(&self) -> Vec<Metric> {
        match self.threshold.unit {
            // A tool that states only the latency from submission to completion states no other.
            Unit::Ns => [Some(self.latency), completion_of(self.latency)].into_iter().flatten().collect(),
            // A task's own rate is not what the run was for; a parent's, which counts all time, is.
            Unit::BytesPerSec => vec![Metric::Throughput, Metric::ParentThroughput],
            _ => vec![Metric::OperationRate, Metric::ParentOperationRate],
        }
    }

    fn kind_in_words(&self) -> String {
        match self.threshold.unit {
            Unit::Ns => {
                let word =
                    LATENCIES.iter().find(|(_, metric)| *metric == self.latency).map_or("mean", |(word, _)| *word);
                format!("{word} latency")
            }
            Unit::BytesPerSec => "rate in bytes".to_owned(),
            _ => "rate in operations".to_owned(),
        }
    }
}

/// Names the figures that a target can be about, of those that a tool can state.
fn kinds_in_words(stated: &[Metric]) -> String {
    let mut words: Vec<String> = Vec::new();
    for (metric, word) in [(Metric::Throughput, "rates in bytes"), (Metric::OperationRate, "rates in operations")] {
        if stated.contains(&metric) {
            words.push(word.to_owned());
        }
    }
    let has =
        |metric: &Metric| stated.contains(metric) || completion_of(*metric).is_some_and(|of| stated.contains(&of));
    words.extend(LATENCIES.iter().filter(|(_, metric)| has(metric)).map(|(word, _)| format!("{word} latency")));
    if words.is_empty() { "no figure at all".to_owned() } else { words.join(", ") }
}

/// Returns the target of a run, compared with its honest figures; `None` without a target that can be read.
pub(crate) fn of_run(run: &Run<'_>, judged: &[JudgedClaim]) -> Option<JudgedTarget> {
    let text = run.manifest.choices.target.as_deref()?.trim();
    Some(Goal::parse(text).ok()?.judged(text, run, judged))
}

fn is_direction(word: &str, phase: &Phase) -> bool {
    match phase.direction {
        Direction::Read => word == "read",
        Direction::Write => word == "write",
        _ => false,
    }
}

/// Returns the latency from submission to completion for one of the whole operation.
fn completion_of(latency: Metric) -> Option<Metric> {
    Some(match latency {
        Metric::LatencyMean => Metric::CompletionLatencyMean,
        Metric::LatencyP50 => Metric::CompletionLatencyP50,
        Metric::LatencyP95 => Metric::CompletionLatencyP95,
        Metric::LatencyP99 => Metric::CompletionLatencyP99,
        Metric::LatencyP999 => Metric::CompletionLatencyP999,
        _ => return None,
    })
}

/// A unit, with blanks and the prefixes of operations as people write them: `k IOPS`, `µs`.
pub(crate) fn unit_of(text: &str) -> Option<(Unit, f64)> {
    let text: String = text.split_whitespace().collect::<String>().replace(['µ', 'μ'], "u");
    UNITS.iter().find(|(name, ..)| *name == text).map(|(_, unit, factor)| (*unit, *factor))
}

/// Returns the unit that was meant by one in other letters (`gb/s`, `MBps`); `None` where none is near.
fn meant_unit(text: &str) -> Option<&'static str> {
    let plain = |text: &str| text.split_whitespace().collect::<String>().to_lowercase().replace("ps", "/s");
    let wanted = plain(text);
    // `IOPS` ends in letters that also stand for `per second`.
    let same = UNITS.iter().find(|(name, ..)| plain(name) == wanted && *name != "KB/s").map(|(name, ..)| *name);
    same.or_else(|| {
        let rates: Vec<&str> = UNITS.iter().map(|(name, ..)| *name).filter(|name| name.len() > 2).collect();
        alike(text, &rates).filter(|_| text.len() > 2 && !text.to_lowercase().contains("bit"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_the_command_cannot_have_is_refused() {
        let unread = Phase { unread: Some("why".to_owned()), ..Phase::planned("a", "a", Direction::Mixed) };
        let read = Phase::planned("r-read", "r: randread", Direction::Read);
        let rates = [Metric::Throughput];
        let latencies = [Metric::Throughput, Metric::CompletionLatencyP99];
        for (text, phases, stated, expected) in [
            (
                "p99 <= 1 ms",
                &[][..],
                &rates[..],
                Some("this command of t prints no p99 latency (hint: it prints rates in bytes)"),
            ),
            ("p99 <= 1 ms", &[], &latencies, None),
            (
                ">= 20 kIOPS",
                &[],
                &latencies,
                Some("this command of t prints no rate in operations (hint: it prints rates in bytes, p99 latency)"),
            ),
            (
                "write >= 1 GB/s",
                std::slice::from_ref(&read),
                &rates,
                Some("the command has no figure \"write\" (hint: it has r: randread)"),
            ),
            (
                "raed >= 1 GB/s",
                std::slice::from_ref(&read),
                &rates,
                Some("the command has no figure \"raed\" (hint: did you mean \"read\"? it has r: randread)"),
            ),
            ("read >= 1 GB/s", std::slice::from_ref(&read), &rates, None),
            ("write >= 1 GB/s", &[read.clone(), unread.clone()], &rates, None),
        ] {
            let goal = Goal::parse(text).expect(text);
            assert_eq!(goal.impossible(phases, "t", stated).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_unit_in_other_letters_is_recognised() {
        for (text, expected) in [
            (">= 1 gb/s", Some("GB/s")),
            (">= 1 MBps", Some("MB/s")),
            (">= 1 gib/s", Some("GiB/s")),
            (">= 1 iops", Some("IOPS")),
            ("<= 1 MS", Some("ms")),
            (">= 1 Mbit/s", None),
            (">= 1 parsec", None),
        ] {
            let error = Goal::parse(text).expect_err(text);
            let meant = error.split("did you mean ").nth(1).and_then(|rest| rest.split('?').next());
            assert_eq!(meant, expected, "{error}");
        }
    }

    #[test]
    fn figures_are_read_as_people_write_them() {
        for (text, bound, limit, phase, latency) in [
            (">= 200 MB/s", Bound::AtLeast, Quantity::bytes_per_sec(2e8), None, Metric::LatencyMean),
            (">=1.5GiB/s", Bound::AtLeast, Quantity::bytes_per_sec(1.5 * 1_073_741_824.0), None, Metric::LatencyMean),
            ("> 20k IOPS", Bound::Above, Quantity::ops_per_sec(20_000.0), None, Metric::LatencyMean),
            (
                "initial writers >= 1 B/s",
                Bound::AtLeast,
                Quantity::bytes_per_sec(1.0),
                Some("initial writers"),
                Metric::LatencyMean,
            ),
            ("p99 <= 5 ms", Bound::AtMost, Quantity::ns(5_000_000), None, Metric::LatencyP99),
            ("j-read p99.9 < 250 µs", Bound::Below, Quantity::ns(250_000), Some("j-read"), Metric::LatencyP999),
        ] {
            let expected = Goal { phase: phase.map(str::to_owned), latency, bound, threshold: limit };
            assert_eq!(Goal::parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_figure_is_told_with_an_example() {
        for (text, part) in [
            ("200 MB/s", "no `>=` or `<=`"),
            (">= MB/s", "no number"),
            (">= 1.2.3 MB/s", "no number"),
            (">= 200", "\"\" is not a unit"),
            (">= 200 Mbit/s", "\"Mbit/s\" is not a unit"),
            ("p99 >= 200 MB/s", "p99 is a latency"),
            ("", "no `>=` or `<=`"),
        ] {
            let error = Goal::parse(text).expect_err(text);
            assert!(error.contains(part) && error.contains("hint"), "{text}: {error}");
        }
    }
}
