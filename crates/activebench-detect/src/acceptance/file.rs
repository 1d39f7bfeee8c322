//! The acceptance file: what both parties agreed on before anything was measured. `docs/accept.md` is the reference.

use std::collections::BTreeMap;
use std::ops::Range;

use activebench_model::acceptance::{AcceptanceMark, Bound, DecisionRule, Parties, WrittenUnit};
use activebench_model::claim::{Metric, Subject};
use activebench_model::run::{Choices, FailOn, ThresholdFile};
use activebench_model::series::Until;
use activebench_model::units::{Quantity, Unit};
use toml::de::DeTable;

use super::command::{Sizes, Word, quantity, written_quantity};
use super::document::{Faulty, Fields, Placed, alike, listed};
use super::fault::{Fault, Faults};
use crate::registry;
use crate::thresholds::Thresholds;

/// Version of the file's format.
pub const FORMAT: u32 = 1;
/// Runs of a benchmark that does not say how many.
const DEFAULT_RUNS: u32 = 5;
/// Most runs of a benchmark.
const MOST_RUNS: u32 = 1_000;
/// Most characters of a benchmark's name, which is a folder's too.
const NAME_MOST: usize = 64;

/// An acceptance file that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct AcceptanceFile {
    /// Who agreed.
    pub parties: Parties,
    /// What is tested.
    pub target: Target,
    /// The suite, at least one.
    pub benchmarks: Vec<Benchmark>,
    /// The limits; none in a file that is still to be agreed on.
    pub limits: Vec<Limit>,
    /// What must hold.
    pub conditions: Conditions,
    /// How figures near a limit are decided.
    pub decision: Decision,
}

/// What is tested.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// A directory, or the node of a device.
    pub path: Placed<String>,
    /// Whether it is a device.
    pub is_device: bool,
    /// Whether a device may be written to.
    pub destroy: bool,
    /// By what the device must be known; `None` where nobody asks.
    pub model: Option<String>,
    /// The same.
    pub serial: Option<String>,
    /// The same.
    pub firmware: Option<String>,
}

/// One command of the suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Unique in the file; also the name of its folder.
    pub name: Placed<String>,
    /// Its words.
    pub command: Vec<Word>,
    /// Where they stand.
    pub command_span: Range<usize>,
    /// How often it runs.
    pub repetition: Repetition,
    /// Whether its device must have settled; `None` as the conditions say.
    pub steady_state: Option<bool>,
    /// Set of thresholds that it is judged with.
    pub profile: String,
    /// What its figures are taken to describe, instead of what the command line suggests.
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
        /// What ends it.
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
    /// Honest figures that are needed; `None`: as many as the benchmark has runs.
    pub runs: Option<u32>,
}

/// What must hold for figures to be judged.
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
    /// What follows when one does not hold: fail, or not judged.
    pub not_met_fails: bool,
}

/// How figures near a limit are decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The rule.
    pub rule: DecisionRule,
    /// Whether the buyer takes a device with a conditional pass.
    pub accepts_conditional_pass: bool,
}

impl AcceptanceFile {
    /// Reads a file. `name` is what the user calls it.
    ///
    /// # Errors
    /// Everything that is wrong with it, as far as it could be read.
    pub fn parse(name: &str, text: &str) -> Result<Self, Faults> {
        let (document, broken) = DeTable::parse_recoverable(text);
        if !broken.is_empty() {
            let fault = |error: toml::de::Error| {
                Fault::new(error.span().unwrap_or(0..0), error.message().to_owned(), "this is no TOML: https://toml.io")
            };
            return Err(Faults::new(name, text, broken.into_iter().map(fault).collect()));
        }
        let faulty = Faulty::default();
        let fields = Fields::new("the file", document.get_ref(), 0..0, &faulty);
        let file = read(&fields, &faulty);
        fields.finish();
        let faults = faulty.into_inner();
        match file {
            Some(file) if faults.is_empty() => Ok(file),
            _ => Err(Faults::new(name, text, faults)),
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
            suppressed.insert("AB505".to_owned(), "the acceptance file allows limits of control groups".to_owned());
        }
        Choices {
            subject: benchmark.subject,
            profile: benchmark.profile.clone(),
            thresholds: self.foreign_io_thresholds(),
            suppressed,
            fail_on: FailOn::Fail,
            acceptance,
            ..Choices::default()
        }
    }

    /// AB601 judges with the file's own share; it never fails below that.
    fn foreign_io_thresholds(&self) -> Option<ThresholdFile> {
        let agreed = self.conditions.foreign_io_ratio;
        let default = Thresholds::profile("default").ok()?;
        let (warn, fail) = (default.ab601_foreign_warn_ratio.value.value, default.ab601_foreign_fail_ratio.value.value);
        (agreed != warn).then(|| ThresholdFile {
            file: "the acceptance file".to_owned(),
            text: format!("ab601_foreign_warn_ratio = {agreed:?}\nab601_foreign_fail_ratio = {:?}\n", fail.max(agreed)),
        })
    }
}

impl Benchmark {
    /// The command as it is run.
    ///
    /// # Errors
    /// Why a size cannot be told.
    pub fn resolved(&self, sizes: &Sizes) -> Result<Vec<String>, String> {
        self.command.iter().map(|word| word.resolved(sizes)).collect()
    }

    /// Whether a word names the target.
    pub fn names_target(&self) -> bool {
        self.command.iter().any(Word::names_target)
    }
}

impl Repetition {
    /// Least runs that fulfil it.
    pub fn least(self) -> u32 {
        match self {
            Repetition::Runs(runs) => runs,
            // Fewer have no interval, and fewer rounds no window.
            Repetition::Until { until: Until::MedianWithin { .. }, most } => most.min(6),
            Repetition::Until { until: Until::SteadyState, most } => most.min(5),
        }
    }

    /// What ends it before its cap.
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

fn read(fields: &Fields<'_>, faulty: &Faulty) -> Option<AcceptanceFile> {
    let format = fields.number("format", FORMAT..=FORMAT);
    if format.is_none() && !fields.has("format") {
        fields.missing("format", "write `format = 1` above everything else");
    }
    let section = |field, name| {
        let section = fields.table(field, name);
        if section.is_none() && !fields.has(field) {
            fields.missing(field, &format!("write a section {name}"));
        }
        section
    };
    let parties = section("parties", "[parties]").and_then(parties);
    let target = section("target", "[target]").and_then(|fields| target(fields, faulty));
    let benchmarks = benchmarks(fields, faulty);
    let limits = limits(fields, &benchmarks, faulty);
    let conditions = conditions(fields.table("conditions", "[conditions]"), faulty);
    let decision = section("decision", "[decision]").and_then(decision);
    let target = target?;
    for benchmark in &benchmarks {
        if target.is_device && !benchmark.names_target() {
            let hint = "write `{target}` where the tool takes the device";
            faulty.add(&benchmark.command_span, "the command never names the device", hint);
        }
        enough_runs(benchmark, &conditions, faulty);
    }
    Some(AcceptanceFile { parties: parties?, target, benchmarks, limits, conditions, decision: decision? })
}

/// Five rounds are needed to say whether a device has settled, and five runs whether they agree.
fn enough_runs(benchmark: &Benchmark, conditions: &Conditions, faulty: &Faulty) {
    let thresholds = Thresholds::profile(&benchmark.profile).ok();
    let most = benchmark.repetition.most();
    let needs = |count: fn(&Thresholds) -> f64| thresholds.as_ref().map_or(0, |thresholds| count(thresholds) as u32);
    let asked = [
        (
            "steady_state",
            benchmark.steady_state.unwrap_or(conditions.steady_state),
            needs(|limits| limits.ab702_rounds_count.value.value),
        ),
        ("reproducible", conditions.reproducible, needs(|limits| limits.ab705_runs_least_count.value.value)),
    ];
    for (condition, is_asked, least) in asked {
        if is_asked && most < least {
            faulty.add(
                &benchmark.name.span,
                format!(
                    "the condition `{condition}` needs at least {least} runs, {:?} has {most}",
                    benchmark.name.value
                ),
                format!("raise its `runs`, or write `{condition} = false` in [conditions]"),
            );
        }
    }
}

fn parties(fields: Fields<'_>) -> Option<Parties> {
    let buyer = fields.required("buyer", "who decides on the device");
    let vendor = fields.required("vendor", "who offers it");
    let reference = fields.text("reference", "contract, offer or order").map(|text| text.value);
    let date = fields.text_or_date("date", "write it as 2026-11-22");
    fields.finish();
    Some(Parties { buyer: buyer?.value, vendor: vendor?.value, reference, date })
}

fn target(fields: Fields<'_>, faulty: &Faulty) -> Option<Target> {
    const HINT: &str = "a directory as `path = \"/mnt/bench\"`, or a device as `device = \"/dev/nvme0n1\"`";
    let path = fields.text("path", HINT);
    let device = fields.text("device", HINT);
    let destroy = fields.flag("destroy").unwrap_or(false);
    let mut identity = [None, None, None];
    if let Some(expected) = fields.table("identity", "[target.identity]") {
        let hint = "as `activebench accept --init TARGET` writes it";
        identity = ["model", "serial", "firmware"].map(|field| expected.text(field, hint).map(|text| text.value));
        expected.finish();
    }
    let span = fields.span.clone();
    fields.finish();
    let (path, is_device) = match (path, device) {
        (Some(path), None) => (path, false),
        (None, Some(device)) => (device, true),
        (Some(path), Some(_)) => {
            faulty.add(&path.span, "[target] has both `path` and `device`", HINT);
            return None;
        }
        (None, None) => {
            faulty.add(&span, "[target] has no `path` and no `device`", HINT);
            return None;
        }
    };
    if !path.value.starts_with('/') {
        faulty.add(&path.span, "the target is no path from the root on", "begin it with `/`");
    }
    if destroy && !is_device {
        let hint = "leave it out: files are made and removed as the benchmarks say";
        faulty.add(&path.span, "`destroy` is for a device, the target is a directory", hint);
    }
    let [model, serial, firmware] = identity;
    Some(Target { path, is_device, destroy, model, serial, firmware })
}

fn benchmarks(fields: &Fields<'_>, faulty: &Faulty) -> Vec<Benchmark> {
    let tables = fields.tables("benchmark", "[[benchmark]]");
    if tables.is_empty() && !fields.has("benchmark") {
        fields.missing("benchmark", "write a section [[benchmark]] with `name` and `command`");
    }
    let mut names: Vec<String> = Vec::new();
    let mut benchmarks = Vec::new();
    for table in tables {
        let Some(benchmark) = benchmark(table, faulty) else { continue };
        if names.contains(&benchmark.name.value) {
            let message = format!("two benchmarks have the name {:?}", benchmark.name.value);
            faulty.add(&benchmark.name.span, message, "each needs one of its own");
        }
        names.push(benchmark.name.value.clone());
        benchmarks.push(benchmark);
    }
    benchmarks
}

fn benchmark(fields: Fields<'_>, faulty: &Faulty) -> Option<Benchmark> {
    const NAME: &str = "letters, digits, `-`, `_` and `.`: it is a folder's name too";
    let name = fields.required("name", NAME);
    if let Some(name) = &name {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let plain = name.value.chars().all(is_plain) && !name.value.starts_with('.') && name.value.len() <= NAME_MOST;
        if !plain {
            faulty.add(&name.span, format!("{:?} cannot be the name of a benchmark", name.value), NAME);
        }
    }
    let words = fields.words("command", "`command = [\"fio\", \"--name=a\"]`: a word each, no shell");
    let runs = fields.number("runs", 1..=MOST_RUNS);
    let until = fields.text("until", "`until = \"2 %\"` or `until = \"steady\"`");
    let most = fields.number("max_runs", 2..=MOST_RUNS);
    let until = until.and_then(|until| match until.value.as_str() {
        "steady" => Some((Until::SteadyState, until.span)),
        _ => Some((Until::MedianWithin { ratio: share(&until, faulty)? }, until.span)),
    });
    let repetition = repetition(runs, until, most, faulty);
    let steady_state = fields.flag("steady_state");
    let profiles: Vec<(&str, &str)> = crate::profiles::PROFILES.iter().map(|one| (one.name, one.name)).collect();
    let profile = fields.choice("profile", &profiles).unwrap_or("default").to_owned();
    let subjects = [Subject::Device, Subject::CachedFilesystem, Subject::DurableWrite, Subject::Metadata, Subject::Cpu];
    let subject = fields.choice("subject", &subjects.map(|subject| (subject.as_str(), subject)));
    let suppress = fields.table("suppress", "[benchmark.suppress]").map(|table| suppressed(&table, faulty));
    let command_span = match words.as_deref() {
        Some([first, .., last]) => first.span.start..last.span.end,
        Some([only]) => only.span.clone(),
        _ => fields.span.clone(),
    };
    fields.finish();
    let mut command = Vec::new();
    for word in words? {
        match Word::parse(&word.value) {
            Ok(word) => command.push(word),
            Err((message, hint)) => faulty.add(&word.span, message, hint),
        }
    }
    Some(Benchmark {
        name: name?,
        command,
        command_span,
        repetition,
        steady_state,
        profile,
        subject,
        suppress: suppress.unwrap_or_default(),
    })
}

fn repetition(
    runs: Option<Placed<u32>>,
    until: Option<(Until, Range<usize>)>,
    most: Option<Placed<u32>>,
    faulty: &Faulty,
) -> Repetition {
    match (runs, until, most) {
        (Some(runs), None, None) => Repetition::Runs(runs.value),
        (None, None, None) => Repetition::Runs(DEFAULT_RUNS),
        (None, Some((until, _)), Some(most)) => Repetition::Until { until, most: most.value },
        (None, Some((until, span)), None) => {
            faulty.add(&span, "`until` has no `max_runs`", "write `max_runs = 20` beside it: a cap is needed");
            Repetition::Until { until, most: MOST_RUNS }
        }
        (Some(runs), ..) => {
            faulty.add(&runs.span, "`runs` stands beside `until` or `max_runs`", "write one or the other");
            Repetition::Runs(runs.value)
        }
        (None, None, Some(most)) => {
            faulty.add(&most.span, "`max_runs` has no `until`", "write `runs`, or `until = \"2 %\"` beside it");
            Repetition::Runs(most.value)
        }
    }
}

fn suppressed(fields: &Fields<'_>, faulty: &Faulty) -> BTreeMap<String, String> {
    let mut suppressed = BTreeMap::new();
    for (code, reason) in fields.all_texts("`AB404 = \"the reason that both parties agreed on\"`") {
        if registry::find(&code.value).is_none() {
            let message = format!("there is no detector {:?}", code.value);
            faulty.add(&code.span, message, "`activebench detectors` lists them");
        }
        if ["AB901", "AB902"].iter().any(|whole| code.value.eq_ignore_ascii_case(whole)) {
            let message =
                format!("{} cannot be suppressed: nothing is judged from evidence that is not whole", code.value);
            faulty.add(&code.span, message, "leave it out");
        }
        suppressed.insert(code.value, reason.value);
    }
    suppressed
}

fn share(text: &Placed<String>, faulty: &Faulty) -> Option<f64> {
    let found = quantity(&text.value).ok().filter(|found| found.unit == Unit::Ratio).map(|found| found.value);
    let found = found.filter(|ratio| (0.0..=1.0).contains(ratio));
    if found.is_none() {
        faulty.add(&text.span, format!("{:?} is no share from 0 % to 100 %", text.value), "write it as \"2 %\"");
    }
    found
}

/// There may be none: a file that is still to be agreed on can be checked, and runs; then nothing is judged.
fn limits(fields: &Fields<'_>, benchmarks: &[Benchmark], faulty: &Faulty) -> Vec<Limit> {
    fields.tables("limit", "[[limit]]").into_iter().filter_map(|table| limit(table, benchmarks, faulty)).collect()
}

fn limit(fields: Fields<'_>, benchmarks: &[Benchmark], faulty: &Faulty) -> Option<Limit> {
    let benchmark = fields.required("benchmark", "the `name` of a [[benchmark]]");
    let of = benchmark.as_ref().and_then(|name| {
        let of = benchmarks.iter().find(|benchmark| benchmark.name.value == name.value);
        if of.is_none() {
            let names: Vec<&str> = benchmarks.iter().map(|benchmark| benchmark.name.value.as_str()).collect();
            let hint = match alike(&name.value, &names) {
                Some(name) => format!("did you mean {name:?}?"),
                None => format!("one of {}", listed(&names)),
            };
            faulty.add(&name.span, format!("there is no benchmark {:?}", name.value), hint);
        }
        of
    });
    let phase = fields.required("phase", "`activebench accept --check FILE` names those that a command has");
    let metric = metric(&fields, faulty);
    let least = fields.text("at_least", "`at_least = \"200 MB/s\"`");
    let most = fields.text("at_most", "`at_most = \"5 ms\"`");
    let tolerance = fields.text("tolerance", "`tolerance = \"2 %\"` of the limit, or in its unit");
    let runs = fields.number("runs", 1..=MOST_RUNS);
    fields.choice("statistic", &[("median", ())]);
    if let (Some(runs), Some(of)) = (&runs, of)
        && runs.value > of.repetition.most()
    {
        let message = format!("{} runs are asked for, the benchmark has at most {}", runs.value, of.repetition.most());
        faulty.add(&runs.span, message, "raise `runs` of the benchmark");
    }
    let (bound, written) = match (least, most) {
        (Some(limit), None) => (Bound::AtLeast, limit),
        (None, Some(limit)) => (Bound::AtMost, limit),
        (Some(limit), Some(_)) => {
            faulty.add(&limit.span, "the limit has both `at_least` and `at_most`", "write two sections [[limit]]");
            return None;
        }
        (None, None) => {
            if !fields.has("at_least") && !fields.has("at_most") {
                fields.missing("at_least` or `at_most", "`at_least = \"200 MB/s\"`, `at_most = \"5 ms\"`");
            }
            fields.finish();
            return None;
        }
    };
    fields.finish();
    let (limit, unit) = figure(&written, metric.as_ref(), faulty)?;
    let tolerance = match tolerance {
        Some(written) => tolerance_in(&written, limit, faulty)?,
        None => 0.0,
    };
    Some(Limit {
        benchmark: benchmark?,
        phase: phase?,
        metric: metric?,
        bound,
        limit,
        as_written: written.value,
        unit,
        tolerance,
        runs: runs.map(|runs| runs.value),
    })
}

fn metric(fields: &Fields<'_>, faulty: &Faulty) -> Option<Placed<Metric>> {
    let name = fields.required("metric", "as in report.json: `throughput`, `operation-rate`, `latency-p99`")?;
    let found = Metric::ALL.into_iter().find(|metric| metric.as_str() == name.value);
    if found.is_none() {
        let names = Metric::ALL.map(Metric::as_str);
        let hint = match alike(&name.value, &names) {
            Some(name) => format!("did you mean {name:?}?"),
            None => "as in report.json: `throughput`, `operation-rate`, `latency-p99`".to_owned(),
        };
        faulty.add(&name.span, format!("there is no metric {:?}", name.value), hint);
    }
    Some(Placed { value: found?, span: name.span })
}

/// How a value of a unit is written.
fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "10 GiB",
        Unit::Ns => "5 ms",
        Unit::BytesPerSec => "200 MB/s",
        Unit::OpsPerSec => "30000 IOPS",
        Unit::Ratio => "50 %",
        Unit::Count => "1000",
    }
}

fn figure(
    written: &Placed<String>,
    metric: Option<&Placed<Metric>>,
    faulty: &Faulty,
) -> Option<(Quantity, WrittenUnit)> {
    let of_metric = metric.map(|metric| metric.value.unit());
    let hint = || format!("write it like \"{}\"", example(of_metric.unwrap_or(Unit::BytesPerSec)));
    let (found, unit) = match written_quantity(&written.value) {
        Ok(found) => found,
        Err(why) => {
            faulty.add(&written.span, why, hint());
            return None;
        }
    };
    if let Some(metric) = metric
        && found.unit != metric.value.unit()
    {
        let message = format!("{:?} is no value of {}", written.value, metric.value.as_str());
        faulty.add(&written.span, message, hint());
        return None;
    }
    if found.value <= 0.0 {
        faulty.add(&written.span, "a limit of 0 says nothing", hint());
        return None;
    }
    Some((found, unit))
}

/// A share of the limit, or a value in its unit.
fn tolerance_in(written: &Placed<String>, limit: Quantity, faulty: &Faulty) -> Option<f64> {
    let found = match quantity(&written.value) {
        Ok(found) if found.unit == Unit::Ratio && limit.unit != Unit::Ratio => Some(found.value * limit.value),
        Ok(found) if found.unit == limit.unit => Some(found.value),
        _ => None,
    };
    let found = found.filter(|tolerance| *tolerance < limit.value);
    if found.is_none() {
        let hint =
            format!("write a share below 100 % of the limit, \"2 %\", or a value like \"{}\"", example(limit.unit));
        faulty.add(&written.span, format!("{:?} is no tolerance of this limit", written.value), hint);
    }
    found
}

fn conditions(fields: Option<Fields<'_>>, faulty: &Faulty) -> Conditions {
    let mut conditions = Conditions {
        foreign_io_ratio: 0.02,
        no_throttling: true,
        steady_state: true,
        probes_complete: true,
        reproducible: true,
        not_met_fails: false,
    };
    let Some(fields) = fields else { return conditions };
    if let Some(ratio) = fields.text("foreign_io_at_most", "write it as \"2 %\"") {
        conditions.foreign_io_ratio = share(&ratio, faulty).unwrap_or(conditions.foreign_io_ratio);
    }
    let flag = |field, value: &mut bool| *value = fields.flag(field).unwrap_or(*value);
    flag("no_throttling", &mut conditions.no_throttling);
    flag("steady_state", &mut conditions.steady_state);
    flag("probes_complete", &mut conditions.probes_complete);
    flag("reproducible", &mut conditions.reproducible);
    conditions.not_met_fails =
        fields.choice("not_met", &[("not-judged", false), ("fail", true)]).unwrap_or(conditions.not_met_fails);
    fields.finish();
    conditions
}

fn decision(fields: Fields<'_>) -> Option<Decision> {
    const RULES: [(&str, DecisionRule); 2] =
        [("simple", DecisionRule::Simple), ("guard-band", DecisionRule::GuardBand)];
    if !fields.has("rule") {
        fields.missing("rule", "`rule = \"guard-band\"` or `rule = \"simple\"`: it is agreed before measuring");
    }
    let rule = fields.choice("rule", &RULES);
    let conditional = fields.choice("conditional_pass", &[("accept", true), ("reject", false)]);
    fields.finish();
    Some(Decision { rule: rule?, accepts_conditional_pass: conditional.unwrap_or(true) })
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
AB404 = "the payload is agreed on"
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
runs = 6
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
        assert_eq!(file.target.model.as_deref(), Some("EXAMPLE 1"));
        let repetitions: Vec<Repetition> = file.benchmarks.iter().map(|benchmark| benchmark.repetition).collect();
        assert_eq!(
            repetitions,
            [Repetition::Runs(7), Repetition::Until { until: Until::MedianWithin { ratio: 0.02 }, most: 20 }]
        );
        let [rate, latency] = &file.limits[..] else { panic!("two limits") };
        assert_eq!((rate.bound, rate.limit, rate.tolerance), (Bound::AtLeast, Quantity::ops_per_sec(30_000.0), 600.0));
        assert_eq!((latency.bound, latency.limit), (Bound::AtMost, Quantity::ns(5_000_000)));
        assert_eq!((latency.tolerance, latency.runs), (100_000.0, Some(6)));
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
        let usual = WHOLE.replace("foreign_io_at_most = \"15 %\"\n", "");
        let usual = AcceptanceFile::parse("offer.toml", &usual).expect("a whole file");
        assert_eq!(usual.choices(&usual.benchmarks[0], None).thresholds, None);
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
            .replace("AB404", "AB999")
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
            ("\"2 %\"\n[[limit]]", "\"100 %\"\n[[limit]]", "no tolerance of this limit"),
            ("\"2 %\"\n[[limit]]", "\"5 ms\"\n[[limit]]", "no tolerance of this limit"),
            ("runs = 6", "runs = 8", "the benchmark has at most 7"),
            ("runs = 7", "runs = 0", "not a whole number from 1 to 1000"),
            ("runs = 7", "runs = 7\nmax_runs = 9", "`runs` stands beside"),
            ("at_most = \"5 ms\"", "at_most = \"5 ms\"\nat_least = \"1 ms\"", "both `at_least` and `at_most`"),
            ("at_most = \"5 ms\"", "", "has no `at_least` or `at_most`"),
            ("name = \"sequential\"", "name = \"random-read\"", "two benchmarks"),
            ("name = \"sequential\"", "name = \"../x\"", "cannot be the name"),
            ("AB404", "AB902", "cannot be suppressed"),
            ("benchmark = \"random-read\"", "benchmark = \"randomread\"", "did you mean \"random-read\"?"),
            ("runs = 6", "statistic = \"mean\"", "`statistic` cannot be \"mean\""),
        ] {
            let text = WHOLE.replacen(from, to, 1);
            assert_ne!(text, WHOLE, "{from}");
            let told = told(&text);
            assert!(told.contains(part), "{to}: {told}");
        }
    }
}
