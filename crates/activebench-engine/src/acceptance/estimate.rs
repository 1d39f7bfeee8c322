//! How long a benchmark takes, and how many bytes it writes, as far as its command says so. What the command does not
//! say is named, never guessed.

use activebench_detect::acceptance::{Limit, Repetition};
use activebench_model::acceptance::Bound;
use activebench_model::claim::Metric;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

/// What is known of a benchmark before it runs.
#[derive(Clone, Debug)]
pub(super) struct Work<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// Its passes; none if they are known only when it runs.
    pub(super) phases: &'a [Phase],
    /// Its limits.
    pub(super) limits: Vec<&'a Limit>,
    /// How often it runs.
    pub(super) repetition: Repetition,
    /// `true` if the tool writes the files that it reads, where they are not there.
    pub(super) lays_out: bool,
    /// Bytes that are written before its first run to precondition the device; `None` without preconditioning.
    pub(super) preconditioning: Option<Result<u64, String>>,
}

/// Time and bytes of a benchmark, all its runs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    /// Time that the runs take at most, as far as the command limits it.
    pub(super) limited_ns: f64,
    /// Time of the passes that end by their size, if each rate just meets its limit.
    pub(super) at_limits_ns: f64,
    /// Bytes that are written, at most if a run may end earlier.
    pub(super) written_bytes: f64,
    /// Parts of the time that are not known, one fragment each.
    pub(super) unknown_time: Vec<String>,
    /// Parts of the bytes that are not known, one fragment each.
    pub(super) unknown_bytes: Vec<String>,
}

impl Estimate {
    /// Returns what both take together.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.limited_ns += other.limited_ns;
        self.at_limits_ns += other.at_limits_ns;
        self.written_bytes += other.written_bytes;
        self.unknown_time.extend(other.unknown_time);
        self.unknown_bytes.extend(other.unknown_bytes);
        self
    }

    /// The time in words: `at most 6 min, and what is not known: ...`.
    pub(super) fn time(&self) -> String {
        let mut known = Vec::new();
        if self.limited_ns > 0.0 {
            known.push(format!("at most {} of measuring", duration(self.limited_ns)));
        }
        if self.at_limits_ns > 0.0 {
            known.push(format!("{} if each rate just meets its limit", duration(self.at_limits_ns)));
        }
        joined(&known, &self.unknown_time, "not known")
    }

    /// The bytes in words: `192 GiB`.
    pub(super) fn bytes(&self) -> String {
        let known = match self.written_bytes {
            0.0 => Vec::new(),
            bytes => vec![format!("at most {}", bytes_in_words(bytes))],
        };
        joined(&known, &self.unknown_bytes, "nothing")
    }
}

fn joined(known: &[String], unknown: &[String], nothing: &str) -> String {
    match (known.is_empty(), unknown.is_empty()) {
        (true, true) => nothing.to_owned(),
        (false, true) => known.join(", and "),
        (true, false) => format!("not known: {}", unknown.join("; ")),
        (false, false) => format!("{}; not known: {}", known.join(", and "), unknown.join("; ")),
    }
}

/// Returns what a benchmark takes.
pub(super) fn estimate(work: &Work<'_>) -> Estimate {
    let mut estimate = Estimate::default();
    let (name, runs) = (work.name, f64::from(work.repetition.most()));
    if work.phases.is_empty() {
        let why = format!("{name}: what it does is known only when it runs");
        estimate.unknown_time.push(why.clone());
        estimate.unknown_bytes.push(why);
    }
    let mut laid_out = 0_u64;
    for phase in work.phases {
        estimate.time_of(work, phase, runs);
        estimate.bytes_of(work, phase, runs);
        if phase.direction == Direction::Read && work.lays_out {
            match phase.region_bytes.or(phase.size_bytes).or(phase.requested_bytes) {
                Some(bytes) => laid_out = laid_out.max(bytes),
                None => estimate.unknown_bytes.push(format!("{name} {}: the size of the file that it reads", phase.id)),
            }
        }
    }
    // The file stays for the later runs.
    estimate.written_bytes += laid_out as f64;
    match &work.preconditioning {
        None => {}
        Some(Ok(bytes)) => {
            estimate.written_bytes += *bytes as f64;
            let bytes = bytes_in_words(*bytes as f64);
            estimate.unknown_time.push(format!("{name}: how fast the device is preconditioned ({bytes})"));
        }
        Some(Err(why)) => {
            estimate.unknown_time.push(format!("{name}: how long preconditioning takes"));
            estimate.unknown_bytes.push(format!("{name}: what preconditioning writes: {why}"));
        }
    }
    estimate
}

impl Estimate {
    fn time_of(&mut self, work: &Work<'_>, phase: &Phase, runs: f64) {
        let subject = format!("{} {}", work.name, phase.id);
        if let Some(limit_ns) = phase.time_limit_ns {
            self.limited_ns += runs * limit_ns as f64;
            return;
        }
        let Some(bytes) = phase.requested_bytes.or(phase.size_bytes) else {
            self.unknown_time.push(format!("{subject}: neither a time nor a size is given"));
            return;
        };
        let rate = |limit: &&&Limit| {
            limit.phase.value == phase.id && limit.metric.value == Metric::Throughput && limit.bound == Bound::AtLeast
        };
        match work.limits.iter().find(rate) {
            Some(limit) => self.at_limits_ns += runs * bytes as f64 / limit.limit.value * 1e9,
            None => {
                let all = bytes_in_words(runs * bytes as f64);
                self.unknown_time.push(format!("{subject}: how fast {all} are moved"));
            }
        }
    }

    fn bytes_of(&mut self, work: &Work<'_>, phase: &Phase, runs: f64) {
        let subject = format!("{} {}", work.name, phase.id);
        if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
            return;
        }
        match (phase.time_limit_ns, phase.requested_bytes.or(phase.size_bytes)) {
            (None, Some(bytes)) => self.written_bytes += runs * bytes as f64,
            (None, None) => self.unknown_bytes.push(format!("{subject}: no size is given")),
            (Some(limit_ns), _) => {
                let time = duration(runs * limit_ns as f64);
                self.unknown_bytes.push(format!("{subject}: as much as the disk takes in {time}"));
            }
        }
    }
}

/// Bytes as people compare them with the size of a disk.
fn bytes_in_words(bytes: f64) -> String {
    Quantity { value: bytes, ..Quantity::bytes(0) }.to_string()
}

/// A time for a person, rounded up: `45 s`, `6 min`, `2 h 5 min`.
fn duration(ns: f64) -> String {
    let seconds = (ns / 1e9).ceil().max(1.0);
    let minutes = (seconds / 60.0).ceil();
    match (seconds, minutes) {
        (seconds, _) if seconds < 120.0 => format!("{seconds} s"),
        (_, minutes) if minutes < 120.0 => format!("{minutes} min"),
        (_, minutes) => format!("{} h {} min", (minutes / 60.0).floor(), minutes % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use activebench_detect::acceptance::AcceptanceFile;

    use super::*;

    const FILE: &str = r#"format = 1
[parties]
buyer = "B"
vendor = "V"
[[benchmark]]
name = "w"
command = ["fio"]
[[limit]]
benchmark = "w"
phase = "a"
metric = "throughput"
at_least = "1 GB/s"
[decision]
rule = "guard-band"
"#;

    fn phase(direction: Direction, bytes: Option<u64>, seconds: Option<u64>) -> Phase {
        Phase {
            requested_bytes: bytes,
            time_limit_ns: seconds.map(|seconds| seconds * 1_000_000_000),
            ..Phase::planned("a", "a", direction)
        }
    }

    fn told(phases: &[Phase], preconditioning: Option<Result<u64, String>>, with_limit: bool) -> (String, String) {
        let file = AcceptanceFile::parse("offer.toml", FILE).unwrap_or_else(|faults| panic!("{faults}"));
        let limits = file.limits.iter().filter(|_| with_limit).collect();
        let repetition = Repetition::Runs(6);
        let found = estimate(&Work { name: "w", phases, limits, repetition, lays_out: true, preconditioning });
        (found.time(), found.bytes())
    }

    #[test]
    fn what_is_known_is_added_up_and_what_is_not_is_named() {
        let gb = Some(10_000_000_000);
        for (phases, with_limit, time, bytes) in [
            (
                vec![phase(Direction::Read, None, Some(60))],
                true,
                "at most 6 min of measuring",
                "not known: w a: the size of the file that it reads",
            ),
            (
                vec![phase(Direction::Write, gb, None)],
                true,
                "60 s if each rate just meets its limit",
                "at most 55.9 GiB",
            ),
            (
                vec![phase(Direction::Write, gb, None)],
                false,
                "not known: w a: how fast 55.9 GiB are moved",
                "at most 55.9 GiB",
            ),
            (
                vec![phase(Direction::Write, None, Some(1_300))],
                false,
                "at most 2 h 10 min of measuring",
                "not known: w a: as much as the disk takes in 2 h 10 min",
            ),
            (
                vec![],
                true,
                "not known: w: what it does is known only when it runs",
                "not known: w: what it does is known only when it runs",
            ),
            // The files that are read are written once.
            (vec![phase(Direction::Read, Some(1 << 30), Some(10))], true, "at most 60 s of measuring", "at most 1 GiB"),
        ] {
            assert_eq!(told(&phases, None, with_limit), (time.to_owned(), bytes.to_owned()));
        }
        let (time, bytes) = told(&[phase(Direction::Read, None, Some(60))], Some(Ok(2 << 40)), true);
        assert_eq!(bytes, "at most 2 TiB; not known: w a: the size of the file that it reads");
        assert_eq!(time, "at most 6 min of measuring; not known: w: how fast the device is preconditioned (2 TiB)");
    }
}
