//! The acceptance file: what both parties agreed on before anything was measured. `docs/accept.md` is the reference.

use std::collections::BTreeMap;
use std::ops::Range;

use activebench_model::acceptance::{AcceptanceMark, AgreedLimit, Bound, DecisionRule, Parties, WrittenUnit};
use activebench_model::claim::{Metric, Subject};
use activebench_model::run::{Choices, FailOn, ThresholdFile};
use activebench_model::series::{LEAST_RUNS, Until};
use activebench_model::units::Quantity;

use super::command::{Sizes, Word};
use super::document::Placed;
use super::fault::Fault;
use super::unit::{Target, Terms, Units};
use crate::detectors::throttled_by_policy;
use crate::thresholds::Thresholds;

/// Version of the file's format.
pub const FORMAT: u32 = 1;

/// An acceptance file that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptanceFile {
    /// Who agreed.
    pub parties: Parties,
    /// What is agreed on for every unit.
    pub terms: Terms,
    /// The units under test.
    pub units: Units,
    /// The suite, at least one.
    pub benchmarks: Vec<Benchmark>,
    /// The limits; none in a file that is still to be agreed on.
    pub limits: Vec<Limit>,
    /// The conditions for judging the figures.
    pub conditions: Conditions,
    /// How figures near a limit are decided.
    pub decision: Decision,
    /// What nobody can have agreed on yet: names of a template, benchmarks without a limit. Stored runs can be judged
    /// all the same.
    pub unfinished: Vec<Fault>,
}

/// One command of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Unique in the file; also the name of its folder.
    pub name: Placed<String>,
    /// Its words.
    pub command: Vec<Word>,
    /// Their position in the file.
    pub command_span: Range<usize>,
    /// How often it runs.
    pub repetition: Repetition,
    /// `true` if its device must have settled; `None` as the conditions say.
    pub steady_state: Option<bool>,
    /// Set of thresholds that it is judged with.
    pub profile: String,
    /// The subject of its figures, in place of the one that the command line suggests.
    pub subject: Option<Subject>,
    /// Detectors that both parties agreed not to count, with the reason.
    pub suppress: BTreeMap<String, String>,
}

/// How often a benchmark runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repetition {
    /// So often.
    Runs(u32),
    /// Until the median or the device is steady, but at most so often.
    Until {
        /// The condition that ends it.
        until: Until,
        /// The cap.
        most: u32,
    },
}

/// A limit on one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The benchmark's name.
    pub benchmark: Placed<String>,
    /// [`activebench_model::phase::Phase::id`].
    pub phase: Placed<String>,
    /// Which figure of the phase.
    pub metric: Placed<Metric>,
    /// The good side.
    pub bound: Bound,
    /// The limit.
    pub limit: Quantity,
    /// As written.
    pub as_written: String,
    /// The unit that it is written in.
    pub unit: WrittenUnit,
    /// Uncertainty that the parties add, in the unit of the limit.
    pub tolerance: f64,
}

/// Conditions that have to be met before figures are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Most bytes of others at the device, as a share of all.
    pub foreign_io_ratio: f64,
    /// Nothing throttled the runs.
    pub no_throttling: bool,
    /// The last five runs agree as SNIA PTS asks.
    pub steady_state: bool,
    /// Nothing of the observation was lost, and no I/O went a way that no probe sees.
    pub probes_complete: bool,
    /// The runs agree with each other.
    pub reproducible: bool,
    /// The consequence of a condition that is not met: `true` for fail, `false` for not judged.
    pub not_met_fails: bool,
}

/// How figures near a limit are decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The rule.
    pub rule: DecisionRule,
    /// `true` if the buyer takes a device with a conditional pass.
    pub accepts_conditional_pass: bool,
}

impl AcceptanceFile {
    /// The units that the file names; none if the command line does.
    pub fn units_in_file(&self) -> &[Target] {
        match &self.units {
            Units::One(unit) => std::slice::from_ref(unit),
            Units::Several(units) => units,
            Units::Open => &[],
        }
    }

    /// The benchmark of a name.
    pub fn benchmark(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|benchmark| benchmark.name.value == name)
    }

    /// The choices that every run of a benchmark is judged with: those of the file alone, so that nobody's own choices
    /// bear on the outcome.
    pub fn choices(&self, benchmark: &Benchmark, acceptance: Option<AcceptanceMark>) -> Choices {
        let mut suppressed = benchmark.suppress.clone();
        if !self.conditions.no_throttling {
            let code = throttled_by_policy::DETECTOR.code.to_owned();
            suppressed.insert(code, "the acceptance file allows limits of control groups".to_owned());
        }
        Choices {
            subject: benchmark.subject,
            profile: benchmark.profile.clone(),
            thresholds: Some(self.foreign_io_thresholds(benchmark)),
            suppressed,
            fail_on: FailOn::Fail,
            acceptance,
            ..Choices::default()
        }
    }

    /// The choices that the runs of a benchmark are judged with together, for its conditions: a suppressed detector
    /// still breaks one.
    pub fn choices_of_series(&self, benchmark: &Benchmark) -> Choices {
        Choices { suppressed: BTreeMap::new(), ..self.choices(benchmark, None) }
    }

    /// AB601 judges with the file's own share, whatever the profile says; it never fails below that.
    fn foreign_io_thresholds(&self, benchmark: &Benchmark) -> ThresholdFile {
        let agreed = self.conditions.foreign_io_ratio;
        let fail = benchmark.thresholds().ab601_foreign_fail_ratio.value.value.max(agreed);
        ThresholdFile {
            file: "the acceptance file".to_owned(),
            text: format!("ab601_foreign_warn_ratio = {agreed:?}\nab601_foreign_fail_ratio = {fail:?}\n"),
        }
    }
}

impl Benchmark {
    /// Those of its profile.
    pub(super) fn thresholds(&self) -> Thresholds {
        Thresholds::profile(&self.profile).expect("a file names one of the profiles")
    }

    /// The command as it is run.
    ///
    /// # Errors
    /// Returns the reason if a size is unknown.
    pub fn resolved(&self, sizes: &Sizes) -> Result<Vec<String>, String> {
        self.command.iter().map(|word| word.resolved(sizes)).collect()
    }

    /// Returns `true` if a word names the target.
    pub fn names_target(&self) -> bool {
        self.command.iter().any(Word::names_target)
    }
}

impl Limit {
    /// Returns the limit without its places in the file.
    pub(super) fn agreed(&self) -> AgreedLimit {
        AgreedLimit {
            benchmark: self.benchmark.value.clone(),
            phase: self.phase.value.clone(),
            metric: self.metric.value,
            bound: self.bound,
            limit: self.limit,
            as_written: self.as_written.clone(),
            unit: self.unit.clone(),
        }
    }
}

impl Repetition {
    /// Least runs that fulfil it.
    pub fn least(self) -> u32 {
        match self {
            Repetition::Runs(runs) => runs,
            // Fewer rounds are no window.
            Repetition::Until { until: Until::MedianWithin { .. }, .. } => LEAST_RUNS,
            Repetition::Until { until: Until::SteadyState, .. } => 5,
        }
    }

    /// Returns the condition that ends it before its cap.
    pub fn until(self) -> Option<Until> {
        match self {
            Repetition::Runs(_) => None,
            Repetition::Until { until, .. } => Some(until),
        }
    }

    /// Most runs that it asks for.
    pub fn most(self) -> u32 {
        match self {
            Repetition::Runs(runs) => runs,
            Repetition::Until { most, .. } => most,
        }
    }

    /// For a person.
    pub fn words(self) -> String {
        match self {
            Repetition::Runs(1) => "1 run".to_owned(),
            Repetition::Runs(runs) => format!("{runs} runs"),
            Repetition::Until { until: Until::MedianWithin { ratio }, most } => format!(
                "until the 95 % interval of the medians is at most {} wide, at most {most} runs",
                Quantity::ratio(ratio)
            ),
            Repetition::Until { until: Until::SteadyState, most } => {
                format!("until the device is in steady state, at most {most} runs")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"format = 1
[parties]
buyer = "Example Archive"
vendor = "Example Disks"
date = 2026-11-22
[target]
path = "/mnt/bench"
[target.identity]
model = "EXAMPLE 1"
[[benchmark]]
name = "random-read"
command = ["fio", "--name=a", "--rw=randread", "--size={2 x ram in MiB}M", "--directory={target}"]
runs = 7
[benchmark.suppress]
compressible-payload = "the payload is agreed on"
[[benchmark]]
name = "sequential"
command = ["iozone", "-i0"]
until = "2 %"
max_runs = 20
steady_state = false
[[limit]]
benchmark = "random-read"
phase = "a-read"
metric = "operation-rate"
at_least = "30 kIOPS"
tolerance = "2 %"
[[limit]]
benchmark = "random-read"
phase = "a-read"
metric = "latency-p99"
at_most = "5 ms"
tolerance = "100 us"
[conditions]
foreign_io_at_most = "15 %"
no_throttling = false
not_met = "fail"
[decision]
rule = "guard-band"
conditional_pass = "reject"
"#;

    #[test]
    fn a_whole_file_is_read() {
        let file = AcceptanceFile::parse("offer.toml", WHOLE).unwrap_or_else(|faults| panic!("{faults}"));
        assert_eq!(file.parties.date.as_deref(), Some("2026-11-22"));
        assert_eq!(file.units_in_file()[0].model.as_deref(), Some("EXAMPLE 1"));
        let repetitions: Vec<Repetition> = file.benchmarks.iter().map(|benchmark| benchmark.repetition).collect();
        assert_eq!(
            repetitions,
            [Repetition::Runs(7), Repetition::Until { until: Until::MedianWithin { ratio: 0.02 }, most: 20 }]
        );
        let [rate, latency] = &file.limits[..] else { panic!("two limits") };
        assert_eq!((rate.bound, rate.limit, rate.tolerance), (Bound::AtLeast, Quantity::ops_per_sec(30_000.0), 600.0));
        assert_eq!((latency.bound, latency.limit), (Bound::AtMost, Quantity::ns(5_000_000)));
        assert_eq!(latency.tolerance, 100_000.0);
        assert!(!file.conditions.no_throttling && file.conditions.reproducible && file.conditions.not_met_fails);
        assert_eq!(file.decision, Decision { rule: DecisionRule::GuardBand, accepts_conditional_pass: false });
    }

    #[test]
    fn the_choices_are_those_of_the_file() {
        let file = AcceptanceFile::parse("offer.toml", WHOLE).expect("a whole file");
        let choices = file.choices(&file.benchmarks[0], None);
        let suppressed: Vec<&str> = choices.suppressed.keys().map(String::as_str).collect();
        assert_eq!(suppressed, ["AB404", "AB505"]);
        let thresholds = choices.thresholds.expect("another share of others");
        let base = Thresholds::profile("default").expect("it exists");
        let thresholds = base.overridden(&thresholds.text, &thresholds.file).expect("thresholds");
        assert_eq!(thresholds.ab601_foreign_warn_ratio.value.value, 0.15);
        // It does not fail below what was agreed on.
        assert_eq!(thresholds.ab601_foreign_fail_ratio.value.value, 0.15);
        // The agreed conditions apply whatever a profile asks for.
        let strict = WHOLE.replace("runs = 7", "runs = 7\nprofile = \"strict\"").replace("15 %", "2 %");
        let strict = AcceptanceFile::parse("offer.toml", &strict).expect("a whole file");
        let thresholds = strict.choices(&strict.benchmarks[0], None).thresholds.expect("the agreed share");
        assert!(thresholds.text.contains("ab601_foreign_warn_ratio = 0.02"), "{}", thresholds.text);
    }

    fn told(text: &str) -> String {
        AcceptanceFile::parse("offer.toml", text).expect_err("it is broken").to_string()
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_with_its_place() {
        let broken = WHOLE
            .replace("format = 1", "format = 2")
            .replace("vendor", "vendr")
            .replace("path = \"/mnt/bench\"", "path = \"mnt/bench\"\ndestroy = true")
            .replace("{2 x ram in MiB}", "{2 x rom}")
            .replace("runs = 7", "runs = 3")
            .replace("compressible-payload", "AB999")
            .replace("max_runs = 20\n", "")
            .replace("30 kIOPS", "30 MB/s")
            .replace("latency-p99", "latency-p98")
            .replace("tolerance = \"100 us\"", "tolerence = \"100 us\"")
            .replace("\"15 %\"", "\"15\"")
            .replace("no_throttling = false", "no_throttling = \"no\"")
            .replace("\"guard-band\"", "\"guardband\"");
        insta::assert_snapshot!("broken", told(&broken));
    }

    #[test]
    fn what_is_missing_is_told() {
        insta::assert_snapshot!("empty", told(""));
        insta::assert_snapshot!(
            "sections",
            told("format = 1\n[parties]\n[target]\n[[benchmark]]\n[[limit]]\n[decision]\n")
        );
    }

    #[test]
    fn what_is_no_toml_is_told() {
        insta::assert_snapshot!("no-toml", told("format = 1\n[parties\nbuyer = \"x\n"));
    }

    #[test]
    fn a_device_must_be_named_and_two_targets_are_none() {
        let device = WHOLE.replace("path = \"/mnt/bench\"", "device = \"/dev/sdx\"\ndestroy = true");
        // The second benchmark never names it.
        assert!(told(&device).contains("never names the device"), "{}", told(&device));
        let both = WHOLE.replace("path = \"/mnt/bench\"", "path = \"/mnt/bench\"\ndevice = \"/dev/sdx\"");
        assert!(told(&both).contains("both `path` and `device`"), "{}", told(&both));
    }

    #[test]
    fn single_faults_are_told() {
        for (from, to, part) in [
            ("30 kIOPS", "0 IOPS", "a limit of 0"),
            ("30 kIOPS", "many", "begins with no number"),
            ("\"2 %\"\n[[limit]]", "\"100 %\"\n[[limit]]", "not a tolerance of this limit"),
            ("\"2 %\"\n[[limit]]", "\"5 ms\"\n[[limit]]", "not a tolerance of this limit"),
            ("max_runs = 20", "max_runs = 4", "`until` needs at least 6 runs, \"sequential\" has 4"),
            ("until = \"2 %\"\nmax_runs = 20", "until = \"steady\"\nmax_runs = 4", "`until` needs at least 5 runs"),
            ("runs = 7", "runs = 1", "`guard-band` needs at least 2 runs"),
            ("compressible-payload", "evidence-lost", "AB902 cannot be suppressed"),
            ("compressible-payload", "ab901", "AB901 cannot be suppressed"),
            ("compressible-payload =", "AB404 = \"x\"\ncompressible-payload =", "AB404 is suppressed twice"),
            ("runs = 7", "runs = 0", "not a whole number from 1 to 1000"),
            ("runs = 7", "runs = 7\nmax_runs = 9", "`runs` is given with"),
            ("runs = 7", "until = \"2 %\"\nmax_runs = 5", "fewer than the 6 runs"),
            ("runs = 7", "until = \"steady\"\nmax_runs = 4", "fewer than the 5 runs"),
            ("at_most = \"5 ms\"", "at_most = \"5 ms\"\nat_least = \"1 ms\"", "both `at_least` and `at_most`"),
            ("at_most = \"5 ms\"", "", "has no `at_least` or `at_most`"),
            ("name = \"sequential\"", "name = \"random-read\"", "two benchmarks"),
            ("name = \"sequential\"", "name = \"../x\"", "cannot be the name"),
            ("compressible-payload", "AB902", "cannot be suppressed"),
            ("benchmark = \"random-read\"", "benchmark = \"randomread\"", "did you mean \"random-read\"?"),
            ("\"100 us\"", "\"100 us\"\nstatistic = \"mean\"", "`statistic` cannot be \"mean\""),
        ] {
            let text = WHOLE.replacen(from, to, 1);
            assert_ne!(text, WHOLE, "{from}");
            let told = told(&text);
            assert!(told.contains(part), "{to}: {told}");
        }
    }
}
