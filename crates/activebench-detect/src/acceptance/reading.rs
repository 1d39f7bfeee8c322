//! Section by section from TOML to what was agreed on; what is wrong is collected and never ends the reading.

use std::collections::BTreeMap;
use std::ops::Range;

use activebench_model::acceptance::{Bound, DecisionRule, Parties, WrittenUnit};
use activebench_model::claim::{Metric, Subject};
use activebench_model::series::Until;
use activebench_model::units::{Quantity, Unit};
use toml::de::DeTable;

use super::command::{Word, quantity, written_quantity};
use super::condition_detectors::WHOLE;
use super::document::{Faulty, Fields, Placed, alike, listed};
use super::fault::{Fault, Faults};
use super::file::{AcceptanceFile, Benchmark, Conditions, Decision, FORMAT, Limit, Repetition};
use super::parties::is_placeholder;
use super::unit::{self, Terms, Units};
use crate::registry;

/// Runs of a benchmark that does not say how many.
const DEFAULT_RUNS: u32 = 5;
/// Most runs of a benchmark.
const MOST_RUNS: u32 = 1_000;
/// Most characters of a benchmark's name, which is a folder's too.
pub(super) const NAME_MOST: usize = 64;

impl AcceptanceFile {
    /// Reads a file. `name` is the user's name for it.
    ///
    /// # Errors
    /// Everything that is wrong with it, as far as it could be read.
    pub fn parse(name: &str, text: &str) -> Result<Self, Faults> {
        document(name, text, read)
    }
}

/// Reads a TOML document.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn document<T>(
    name: &str,
    text: &str,
    read: impl FnOnce(&Fields<'_>, &Faulty) -> Option<T>,
) -> Result<T, Faults> {
    let (document, broken) = DeTable::parse_recoverable(text);
    if !broken.is_empty() {
        let fault = |error: toml::de::Error| {
            Fault::new(error.span().unwrap_or(0..0), error.message().to_owned(), "this is not TOML: https://toml.io")
        };
        return Err(Faults::new(name, text, broken.into_iter().map(fault).collect()));
    }
    let faulty = Faulty::default();
    let fields = Fields::new("the file", document.get_ref(), 0..0, &faulty);
    let content = read(&fields, &faulty);
    fields.finish();
    let faults = faulty.into_inner();
    match content {
        Some(content) if faults.is_empty() => Ok(content),
        _ => Err(Faults::new(name, text, faults)),
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
    let target = match fields.table("target", "[target]") {
        Some(fields) => unit::target(fields, faulty),
        None => Some((Terms::default(), None)),
    };
    let units = unit::units(fields, target.as_ref().map_or(&Terms::default(), |(terms, _)| terms), faulty);
    let benchmarks = benchmarks(fields, faulty);
    let limits = limits(fields, &benchmarks, faulty);
    let conditions = conditions(fields.table("conditions", "[conditions]"), faulty);
    let decision = section("decision", "[decision]").and_then(decision);
    for benchmark in &benchmarks {
        let is_guarded = decision.is_some_and(|decision| decision.rule == DecisionRule::GuardBand)
            && limits.iter().any(|limit| limit.benchmark.value == benchmark.name.value);
        enough_runs(benchmark, &conditions, is_guarded, faulty);
    }
    let (terms, one) = target?;
    let units = match (one, units) {
        (Some(one), units) if !units.is_empty() => {
            let hint = "leave its `path` or `device` out: what else [target] says holds for each unit";
            faulty.add(&one.path.span, "[target] names a unit, and so does [[unit]]", hint);
            return None;
        }
        (Some(one), _) => Units::One(Box::new(one)),
        (None, units) if units.is_empty() => Units::Open,
        (None, units) => Units::Several(units),
    };
    let (parties, mut unfinished) = parties?;
    let has_limit = |name: &str| limits.iter().any(|limit| limit.benchmark.value == name);
    for benchmark in benchmarks.iter().filter(|benchmark| !has_limit(&benchmark.name.value)) {
        let message = format!("the benchmark {:?} has no limit: nothing of it would be judged", benchmark.name.value);
        let hint = format!("write a section [[limit]] with `benchmark = {:?}`, or leave it out", benchmark.name.value);
        unfinished.push(Fault::new(benchmark.name.span.clone(), message, hint));
    }
    let decision = decision?;
    let file = AcceptanceFile { parties, terms, units, benchmarks, limits, conditions, decision, unfinished };
    for fault in file.units_in_file().iter().filter_map(|unit| file.objection(unit)) {
        faulty.add(&fault.span, fault.message, fault.hint);
    }
    Some(file)
}

/// Reports a suite that can never be judged, before it is run.
fn enough_runs(benchmark: &Benchmark, conditions: &Conditions, is_guarded: bool, faulty: &Faulty) {
    let thresholds = benchmark.thresholds();
    let (most, until) = (benchmark.repetition.most(), benchmark.repetition.until());
    let field = if until.is_some() { "max_runs" } else { "runs" };
    let or_without = |condition: &str| format!("raise its `{field}`, or write `{condition} = false` in [conditions]");
    let asked = [
        (
            benchmark.steady_state.unwrap_or(conditions.steady_state),
            "the condition `steady_state`",
            thresholds.ab702_rounds_count.value.value as u32,
            or_without("steady_state"),
        ),
        (
            conditions.reproducible,
            "the condition `reproducible`",
            thresholds.ab705_runs_least_count.value.value as u32,
            or_without("reproducible"),
        ),
        (until.is_some(), "`until`", benchmark.repetition.least(), "raise its `max_runs`".to_owned()),
        (is_guarded, "the rule `guard-band`", 2, "raise its `runs`: the uncertainty of one is not known".to_owned()),
    ];
    for (is_asked, what, least, hint) in asked {
        if is_asked && most < least {
            let message = format!("{what} needs at least {least} runs, {:?} has {most}", benchmark.name.value);
            faulty.add(&benchmark.name.span, message, hint);
        }
    }
}

fn parties(fields: Fields<'_>) -> Option<(Parties, Vec<Fault>)> {
    let buyer = fields.required("buyer", "who decides on the device");
    let vendor = fields.required("vendor", "who offers it");
    let named = [("buyer", &buyer, "who decides on the device"), ("vendor", &vendor, "who offers it")];
    let unfinished = named.into_iter().filter_map(|(field, name, hint)| {
        let name = name.as_ref().filter(|name| is_placeholder(&name.value))?;
        let message = format!("{:?} is a placeholder, not a party", name.value);
        Some(Fault::new(name.span.clone(), message, format!("write as `{field}` {hint}")))
    });
    let unfinished = unfinished.collect();
    let reference = fields.text("reference", "contract, offer or order").map(|text| text.value);
    let date = fields.text_or_date("date", "write it as 2026-11-22");
    fields.finish();
    Some((Parties { buyer: buyer?.value, vendor: vendor?.value, reference, date }, unfinished))
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
    let profiles: Vec<(&str, &str)> =
        crate::thresholds::profiles::PROFILES.iter().map(|one| (one.name, one.name)).collect();
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
        (None, Some((until, _)), Some(most)) => {
            let least = Repetition::Until { until, most: MOST_RUNS }.least();
            if most.value < least {
                let message = format!("`max_runs` allows fewer than the {least} runs that `until` takes");
                faulty.add(&most.span, message, "write `max_runs = 20`");
            }
            Repetition::Until { until, most: most.value }
        }
        (None, Some((until, span)), None) => {
            faulty.add(&span, "`until` has no `max_runs`", "write `max_runs = 20` beside it: a cap is needed");
            Repetition::Until { until, most: MOST_RUNS }
        }
        (Some(runs), ..) => {
            faulty.add(&runs.span, "`runs` is given with `until` or `max_runs`", "write one or the other");
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
        let Some(detector) = registry::find(&code.value) else {
            let message = format!("there is no detector {:?}", code.value);
            faulty.add(&code.span, message, "`activebench detectors` lists them");
            continue;
        };
        let known = detector.code;
        if WHOLE.iter().any(|whole| whole.code == known) {
            let message = format!("{known} cannot be suppressed: nothing is judged from evidence that is incomplete");
            faulty.add(&code.span, message, "leave it out");
        }
        if suppressed.insert(known.to_owned(), reason.value).is_some() {
            faulty.add(&code.span, format!("{known} is suppressed twice"), "give one reason");
        }
    }
    suppressed
}

fn share(text: &Placed<String>, faulty: &Faulty) -> Option<f64> {
    let found = quantity(&text.value).ok().filter(|found| found.unit == Unit::Ratio).map(|found| found.value);
    let found = found.filter(|ratio| (0.0..=1.0).contains(ratio));
    if found.is_none() {
        faulty.add(&text.span, format!("{:?} is not a share from 0 % to 100 %", text.value), "write it as \"2 %\"");
    }
    found
}

/// There may be none: a file that is still to be agreed on can be checked, and runs; then nothing is judged.
fn limits(fields: &Fields<'_>, benchmarks: &[Benchmark], faulty: &Faulty) -> Vec<Limit> {
    fields.tables("limit", "[[limit]]").into_iter().filter_map(|table| limit(table, benchmarks, faulty)).collect()
}

fn limit(fields: Fields<'_>, benchmarks: &[Benchmark], faulty: &Faulty) -> Option<Limit> {
    let benchmark = fields.required("benchmark", "the `name` of a [[benchmark]]");
    let names: Vec<&str> = benchmarks.iter().map(|benchmark| benchmark.name.value.as_str()).collect();
    if let Some(name) = benchmark.as_ref().filter(|name| !names.contains(&name.value.as_str())) {
        let hint = match alike(&name.value, &names) {
            Some(name) => format!("did you mean {name:?}?"),
            None => format!("one of {}", listed(&names)),
        };
        faulty.add(&name.span, format!("there is no benchmark {:?}", name.value), hint);
    }
    let phase = fields.required("phase", "`activebench accept --check FILE` names those that a command has");
    let metric = metric(&fields, faulty);
    let least = fields.text("at_least", "`at_least = \"200 MB/s\"`");
    let most = fields.text("at_most", "`at_most = \"5 ms\"`");
    let tolerance = fields.text("tolerance", "`tolerance = \"2 %\"` of the limit, or in its unit");
    fields.choice("statistic", &[("median", ())]);
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
    })
}

fn metric(fields: &Fields<'_>, faulty: &Faulty) -> Option<Placed<Metric>> {
    let name = fields.required("metric", "as in report.json: `throughput`, `operation-rate`, `latency-p99`")?;
    let found = name.value.parse().ok();
    if found.is_none() {
        let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.as_str()).collect();
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
        let message = format!("{:?} is not a value of {}", written.value, metric.value.as_str());
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
        faulty.add(&written.span, format!("{:?} is not a tolerance of this limit", written.value), hint);
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
