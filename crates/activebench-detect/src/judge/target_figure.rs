//! The figure that a run is for: `--target '>= 200 MB/s'`, and whether the run's figures reach it.

use std::collections::HashMap;

use activebench_model::claim::{Claim, Metric};
use activebench_model::units::{Quantity, Unit};
use activebench_model::verdict::JudgedClaim;

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
    limit: Quantity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl Bound {
    fn is_met(self, value: f64, limit: f64) -> bool {
        match self {
            Bound::AtLeast => value >= limit,
            Bound::Above => value > limit,
            Bound::AtMost => value <= limit,
            Bound::Below => value < limit,
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
        let (unit, factor) = unit_of(unit).ok_or_else(|| fault(format!("{unit:?} is not a unit of a figure")))?;
        let mut goal =
            Self { phase: None, latency: Metric::LatencyMean, bound, limit: Quantity { value: number * factor, unit } };
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

    /// The claims that the goal is about.
    fn claims<'a>(&self, run: &Run<'a>) -> Vec<&'a Claim> {
        let of_phase = |claim: &&Claim| {
            let Some(wanted) = &self.phase else { return true };
            claim.phase == *wanted || run.phase_of(claim).is_some_and(|phase| phase.name == *wanted)
        };
        let is_meant = |claim: &&Claim| match self.limit.unit {
            Unit::Ns => claim.metric == self.latency,
            // A task's own rate is not what the run was for; a parent's, which counts all time, is.
            Unit::BytesPerSec => matches!(claim.metric, Metric::Throughput | Metric::ParentThroughput),
            _ => matches!(claim.metric, Metric::OperationRate | Metric::ParentOperationRate),
        };
        run.parsed.claims.iter().filter(of_phase).filter(is_meant).collect()
    }

    /// Returns `true` if the run's honest figures reach it, in words, with the ids of the claims that were looked at.
    pub(crate) fn compared(&self, run: &Run<'_>, judged: &[JudgedClaim]) -> (String, Vec<String>) {
        let claims = self.claims(run);
        if claims.is_empty() {
            return ("no figure of this run is of this kind".to_owned(), Vec::new());
        }
        let judged: HashMap<&str, &JudgedClaim> =
            judged.iter().rev().map(|judged| (judged.claim.as_str(), judged)).collect();
        let mut met = 0;
        let mut known = 0;
        let mut said = Vec::new();
        for claim in &claims {
            let verdict = judged.get(claim.id.as_str());
            let name = run.phase_of(claim).map_or(claim.phase.as_str(), |phase| &phase.name);
            said.push(match verdict.and_then(|judged| judged.honest(claim)) {
                Some(figure) => {
                    let is_met = self.bound.is_met(figure.value, self.limit.value);
                    known += 1;
                    met += usize::from(is_met);
                    format!("{name} {figure}{}", if is_met { "" } else { " (not met)" })
                }
                None => format!("{name} not known"),
            });
        }
        let all = claims.len();
        let verdict = match (known, met) {
            (0, _) => "whether it is met is not known: no honest figure of this kind".to_owned(),
            _ if met == all => "it is met".to_owned(),
            _ if met < known => format!("it is not met by {} of {all} figures", known - met),
            _ => format!("it is met by {met} of {all} figures, the others are not known"),
        };
        let ids = claims.iter().map(|claim| claim.id.clone()).collect();
        (format!("{verdict}: {}", said.join(", ")), ids)
    }
}

/// A unit, with blanks and the prefixes of operations as people write them: `k IOPS`, `µs`.
pub(crate) fn unit_of(text: &str) -> Option<(Unit, f64)> {
    let text: String = text.split_whitespace().collect::<String>().replace(['µ', 'μ'], "u");
    UNITS.iter().find(|(name, ..)| *name == text).map(|(_, unit, factor)| (*unit, *factor))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let expected = Goal { phase: phase.map(str::to_owned), latency, bound, limit };
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
