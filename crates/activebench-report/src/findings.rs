//! Findings for people: merged over phases, most severe first. Raw text; the format escapes it.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use activebench_model::finding::{Finding, Outcome, Severity, Threshold};
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;

use crate::similar_sentences::{Said, condensed};
use crate::wording::{PHASES_NAMED, PhaseNames, count, list, merged};

/// Maximum statements per detector; the rest is counted.
const STATEMENTS: usize = 4;
/// Maximum thresholds in a detector's title; the rest is counted.
const LIMITS_NAMED: usize = 2;
/// Maximum reasons for undecided detectors; the rest is counted.
const REASONS: usize = 6;
/// Maximum codes per reason.
const CODES_NAMED: usize = 16;

/// One detector that fires, merged over all phases.
pub(crate) struct Group {
    /// Code: `AB302`.
    pub(crate) code: String,
    /// Name: `sync-outside-clock`.
    pub(crate) name: String,
    /// Its severity.
    pub(crate) severity: Severity,
    /// Names of its phases: `write, rewrite`.
    pub(crate) phases: String,
    /// First sentence of every phase, preceded by the phase names if the phases differ.
    pub(crate) statements: Vec<String>,
    /// First sentence of the first phase, and the observed figures of phases with a similar sentence.
    pub(crate) statement: String,
    /// Second sentence; only one, unless phases differ.
    pub(crate) meaning: String,
    /// Advice; only one, unless phases differ.
    pub(crate) advice: String,
    /// Text after the title: `: threshold 5 %`; empty without a threshold.
    pub(crate) limit: String,
    /// Thresholds with their full origin, and the facts; empty without either.
    pub(crate) evidence: String,
}

/// Returns a threshold as it is shown beside a title: with the first of its origins, unless that is our own default.
fn beside_title(threshold: &Threshold) -> String {
    let value = round(threshold.value);
    match threshold.source.split([';', ',', ':']).next().unwrap_or_default().trim() {
        "" | "default" => value,
        origin => format!("{value}, {origin}"),
    }
}

/// Returns a threshold without the zeros after its last significant digit: `20 %`.
pub(crate) fn round(value: Quantity) -> String {
    let text = value.to_string();
    let Some((number, unit)) = text.split_once(' ') else { return text };
    match number.contains('.') {
        true => format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => text,
    }
}

/// Returns the printed name of a severity: `fail`.
pub(crate) fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warn => "warn",
        Severity::Fail => "fail",
    }
}

/// Returns the findings that fire, most severe first, then by code.
pub(crate) fn firing(run: &JudgedRun) -> Vec<Group> {
    let names = PhaseNames::of(run);
    let firing = run.findings.iter().filter(|finding| finding.outcome == Outcome::Fires);
    // A firing finding has a severity. A foreign run directory may lack it; such a finding gets the lowest severity.
    let by_detector = merged(firing.map(|f| {
        let key = (f.severity.unwrap_or(Severity::Note), f.code.as_str(), f.name.as_str());
        (ByIdentity(f), key)
    }));
    let mut groups: Vec<Group> = by_detector
        .into_iter()
        .map(|(findings, (severity, code, name))| {
            let findings: Vec<&Finding> = findings.into_iter().map(|finding| finding.0).collect();
            group(&names, &findings, severity, code, name)
        })
        .collect();
    groups.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.code.cmp(&b.code)));
    groups
}

/// Compares findings by identity: equal findings on two claims are both counted.
#[derive(Clone, Copy)]
struct ByIdentity<'run>(&'run Finding);

impl PartialEq for ByIdentity<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for ByIdentity<'_> {}

impl Hash for ByIdentity<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

fn group(names: &PhaseNames<'_>, findings: &[&Finding], severity: Severity, code: &str, name: &str) -> Group {
    let phases = distinct(findings.iter().map(|f| names.of_finding(f.phase.as_deref())));
    let facts = distinct(findings.iter().flat_map(|f| f.facts.iter().map(|fact| fact.as_str())));
    let thresholds = || findings.iter().filter_map(|f| f.threshold.as_ref());
    let limits = distinct(thresholds().map(|limit| format!("threshold {} ({})", round(limit.value), limit.source)));
    let mut evidence: Vec<String> = limits.into_iter().take(STATEMENTS).collect();
    if !facts.is_empty() {
        evidence.push(format!("from {}", list(&facts, 8)));
    }
    let limits = distinct(thresholds().map(beside_title));
    let limit = if limits.is_empty() { String::new() } else { format!(": threshold {}", list(&limits, LIMITS_NAMED)) };

    // Several claims of one phase make one statement. Findings on the whole run may differ.
    let mut once: Vec<&Finding> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for finding in findings {
        if finding.phase.as_ref().is_none_or(|phase| known.insert(phase)) {
            once.push(finding);
        }
    }
    let per_phase = |text: fn(&Finding) -> &str| -> Vec<(&str, &str)> {
        once.iter().map(|f| (names.of_finding(f.phase.as_deref()), text(f))).collect()
    };
    let statements: Vec<(&str, &str)> =
        once.iter().map(|f| (names.of_finding(f.phase.as_deref()), f.message.sentence())).collect();
    // Of equal statements the first one counts.
    let observed: HashMap<&str, Option<Quantity>> =
        once.iter().rev().map(|finding| (finding.message.sentence(), finding.observed)).collect();
    let figure = |message: &str| observed.get(message)?.map(|observed| observed.to_string());

    Group {
        code: code.to_owned(),
        name: name.to_owned(),
        severity,
        phases: list(&phases, PHASES_NAMED),
        statements: sentences(merged(
            findings.iter().map(|f| (names.of_finding(f.phase.as_deref()), f.message.sentence())),
        )),
        statement: one_sentence(&statements, figure),
        meaning: one_sentence(&per_phase(|finding| &finding.meaning), |_| None),
        advice: one_sentence(&per_phase(|finding| &finding.advice), |_| None),
        limit,
        evidence: evidence.join("; "),
    }
}

/// Merges the texts of the phases; `short` returns the text that replaces one similar to another.
fn one_sentence(said: &[(&str, &str)], short: impl Fn(&str) -> Option<String>) -> String {
    let groups = merged(said.iter().copied());
    condensed(groups.into_iter().map(|(phases, text)| Said { phases, text, short: short(text) }).collect())
}

/// Removes duplicates and keeps the order of first appearance.
fn distinct<T: Clone + Eq + Hash>(items: impl Iterator<Item = T>) -> Vec<T> {
    merged(items.map(|item| ((), item))).into_iter().map(|(_, item)| item).collect()
}

/// A sentence that all phases share has no prefix; differing sentences are preceded by their phases.
fn sentences(groups: Vec<(Vec<&str>, &str)>) -> Vec<String> {
    let groups: Vec<_> = groups.into_iter().filter(|(_, text)| !text.is_empty()).collect();
    if let [(_, only)] = groups.as_slice() {
        return vec![(*only).to_owned()];
    }
    let left_out = groups.len().saturating_sub(STATEMENTS);
    let mut sentences: Vec<String> = groups
        .into_iter()
        .take(STATEMENTS)
        .map(|(phases, text)| format!("{}: {text}", list(&phases, PHASES_NAMED)))
        .collect();
    if left_out > 0 {
        sentences.push(format!("and {left_out} more like these"));
    }
    sentences
}

/// Returns the detectors that could not decide: `AB201, AB601: block records were lost`. `None` when all could.
pub(crate) fn undecided(run: &JudgedRun) -> Option<String> {
    let undecided = run.findings.iter().filter(|finding| finding.outcome == Outcome::Undecided);
    let reasons = merged(undecided.map(|f| (f.code.as_str(), f.message.sentence().trim_end_matches('.'))));
    if reasons.is_empty() {
        return None;
    }
    let reasons: Vec<String> = reasons
        .into_iter()
        .map(|(codes, message)| {
            let codes = list(&codes, CODES_NAMED);
            if message.is_empty() { codes } else { format!("{codes}: {message}") }
        })
        .collect();
    let left_out = reasons.len().saturating_sub(REASONS);
    let shown: Vec<String> = reasons.into_iter().take(REASONS).collect();
    let more = if left_out > 0 { format!("; and {left_out} more reasons") } else { String::new() };
    Some(format!("{}{more}", shown.join("; ")))
}

/// Returns the number of checks by their outcomes: `43 checks: 2 findings, 31 passed, 9 not applicable, 1 undecided`.
/// Several claims of one phase count once per detector.
pub(crate) fn tally(run: &JudgedRun) -> String {
    let with = |outcome: Outcome| {
        let such = run.findings.iter().filter(|finding| finding.outcome == outcome);
        such.map(|finding| (&finding.code, &finding.phase)).collect::<HashSet<_>>().len()
    };
    let found = with(Outcome::Fires);
    let others = [
        (with(Outcome::Silent), "passed"),
        (with(Outcome::NotApplicable), "not applicable"),
        (with(Outcome::Undecided), "undecided"),
    ];
    let all = others.iter().fold(found, |all, (number, _)| all + number);
    let others = others.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!(", {number} {what}"));
    format!("{}: {}{}", count(all, "check"), count(found, "finding"), others.collect::<String>())
}
