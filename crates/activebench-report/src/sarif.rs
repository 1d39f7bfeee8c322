//! SARIF 2.1.0, for code scanning and other readers of findings.
//!
//! A rule is a detector that has spoken, a result a finding that fires, the invocation the benchmark as it was run.
//! What could not be decided, and why a record is not whole, are notifications of the invocation, which is then not
//! successful. Claims are in `report.json`; a result names those that it concerns.
//!
//! **Where a result lies.** The line of the benchmark's output that it is about, in `stdout.txt` of the run directory;
//! of a finding on a phase that of its first claim, else `run.json`. GitHub refuses a whole file for one result
//! without such a place. The phase is its logical location.
//!
//! **Fingerprints** hold tool, command line, code, phase and which of its claims: two runs of one command have the
//! same, whatever their figures.
//!
//! **Bounds.** GitHub takes 10 MB (gzipped), 20 runs and 25,000 results. A file is one run, and smaller than 10 MB
//! before gzip; past either bound the gravest results stay, and a notification says how many were left out.

mod log;

use std::collections::BTreeMap;

use activebench_model::claim::{Claim, SourceLine};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::report::{DetectorPage, JudgedRun};
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use sha2::{Digest, Sha256};

use self::log::{
    Artifact, ArtifactLocation, AutomationDetails, Configuration, Driver, Invocation, Level, Location, Log,
    LogicalLocation, Notification, PhysicalLocation, Region, Report, Rule, RuleReference, Run, Suppression, Text, Tool,
};
use crate::findings::{message, severity_name};
use crate::json::claims_by_verdict;
use crate::wording::{PHASES_NAMED, list, merged, quoted, utc};
use crate::{Format, Style, escape, headline};

/// Where the schema lies that the file is valid by.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Where the project and its detectors' pages lie.
const PROJECT: &str = env!("CARGO_PKG_REPOSITORY");
/// Results of one file (GitHub's bound).
pub const MOST_RESULTS: usize = 25_000;
/// Bytes of all results, before gzip: with the rest of the file below the 10 MB of GitHub.
pub const MOST_RESULT_BYTES: usize = 8_000_000;
/// Notifications; the rest is counted.
const MOST_NOTIFICATIONS: usize = 500;
/// Places of one result.
const MOST_LOCATIONS: usize = 10;
/// Characters of a paragraph of a manual page.
const MOST_OF_A_PAGE: usize = 4_000;
/// The directory that all places are relative to.
const RUN_DIRECTORY: &str = "RUN";
/// Of a path everything but what an URI may hold as it is.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// `sarif`.
pub struct Sarif;

impl Format for Sarif {
    fn name(&self) -> &'static str {
        "sarif"
    }

    fn extension(&self) -> &'static str {
        "sarif"
    }

    fn render(&self, run: &JudgedRun, _style: Style) -> String {
        let log = Log { schema: SCHEMA, version: "2.1.0", runs: vec![of(run)] };
        let document = serde_json::to_string_pretty(&log).expect("it has text keys and no serialiser that fails");
        escape::json(&document) + "\n"
    }
}

fn of(run: &JudgedRun) -> Run {
    let rules = merged(run.findings.iter().map(|finding| ((), finding.code.as_str())));
    let rules: Vec<&str> = rules.into_iter().map(|(_, code)| code).collect();
    let index = |code: &str| rules.iter().position(|known| *known == code).unwrap_or(0);
    let (results, left_out) = results(run, &index);
    let mut notifications = notifications(run, &index);
    if left_out > 0 {
        let text = format!(
            "{left_out} results are left out, the least grave ones: a file holds {MOST_RESULTS} results and 10 MB at most; the JSON report has all"
        );
        notifications.insert(0, notification(Level::Warning, &text));
    }
    Run {
        tool: Tool {
            driver: Driver {
                name: "activebench",
                version: escape::terminal(&run.manifest.activebench),
                information_uri: PROJECT,
                rules: rules.iter().map(|code| rule(run, code)).collect(),
            },
        },
        invocations: vec![invocation(run, notifications)],
        automation_details: AutomationDetails {
            id: format!("activebench/{}/", &hash(&[tool(run), &run.manifest.command.argv.join("\0")])[..16]),
        },
        original_uri_base_ids: BTreeMap::from([(RUN_DIRECTORY, directory(&run.directory, "the run directory"))]),
        artifacts: artifacts(run),
        results,
        properties: BTreeMap::from([
            ("verdict", json!(run.verdict)),
            ("claimsByVerdict", json!(claims_by_verdict(run))),
            ("exitCode", json!(run.exit_code)),
            ("profile", json!(escape::terminal(&run.manifest.choices.profile))),
        ]),
    }
}

fn tool(run: &JudgedRun) -> &str {
    if run.parsed.tool.is_empty() { run.manifest.command.program() } else { &run.parsed.tool }
}

/// One field.
fn field(text: &str) -> String {
    escape::sarif(text, escape::FIELD_LIMIT)
}

fn text(text: &str) -> Text {
    Text { text: field(text), markdown: None }
}

/// A part of a manual page: its paragraphs.
fn page(part: &str) -> Text {
    let paragraphs: Vec<String> = part.split("\n\n").map(|text| escape::sarif(text, MOST_OF_A_PAGE)).collect();
    Text { text: paragraphs.join("\n\n"), markdown: None }
}

/// The same for readers of Markdown too, which the pages are written in.
fn page_in_both(part: &str) -> Text {
    let plain = page(part);
    Text { markdown: Some(plain.text.clone()), ..plain }
}

fn rule(run: &JudgedRun, code: &str) -> Rule {
    let name = run.findings.iter().find(|finding| finding.code == code).map_or("", |finding| &finding.name);
    let introduced = run.detectors.iter().find(|page| page.code == code);
    let of_page = |part: fn(&DetectorPage) -> &str| introduced.map(part).filter(|text| !text.is_empty());
    let path = format!("docs/detectors/{code}-{name}.md");
    Rule {
        id: escape::terminal(code),
        name: escape::terminal(name),
        short_description: of_page(|of| &of.finds).map(page),
        full_description: of_page(|of| &of.matters).map(page),
        help: of_page(|of| &of.to_do).map(page_in_both),
        help_uri: introduced.map(|_| format!("{PROJECT}/blob/main/{}", utf8_percent_encode(&path, IN_PATH))),
        // Each result says its own: how grave it is depends on how far a figure is from the limit.
        default_configuration: Configuration { level: Level::Warning },
    }
}

fn level(severity: Option<Severity>) -> Level {
    match severity {
        Some(Severity::Fail) => Level::Error,
        Some(Severity::Warn) => Level::Warning,
        Some(Severity::Note) | None => Level::Note,
    }
}

/// The findings that fire, and how many of them have no room.
fn results(run: &JudgedRun, index: &dyn Fn(&str) -> usize) -> (Vec<Report>, usize) {
    let mut seen = BTreeMap::new();
    let firing: Vec<Report> = run
        .findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Fires)
        .map(|finding| result(run, finding, index, &mut seen))
        .collect();
    let mut by_weight: Vec<usize> = (0..firing.len()).collect();
    by_weight.sort_by_key(|place| std::cmp::Reverse(firing[*place].level));
    let mut room = MOST_RESULT_BYTES;
    let mut stays = vec![false; firing.len()];
    for place in by_weight.into_iter().take(MOST_RESULTS) {
        let document = serde_json::to_string_pretty(&firing[place]).expect("it has text keys only");
        // In the file every line is indented further.
        let bytes = escape::json(&document).len() + document.lines().count() * 8;
        let Some(rest) = room.checked_sub(bytes) else { break };
        room = rest;
        stays[place] = true;
    }
    let all = firing.len();
    let kept: Vec<Report> =
        firing.into_iter().zip(stays).filter_map(|(result, stays)| stays.then_some(result)).collect();
    let left_out = all - kept.len();
    (kept, left_out)
}

fn result(
    run: &JudgedRun,
    finding: &Finding,
    index: &dyn Fn(&str) -> usize,
    seen: &mut BTreeMap<String, usize>,
) -> Report {
    let concerned: Vec<&Claim> =
        finding.claims.iter().filter_map(|id| run.parsed.claims.iter().find(|claim| claim.id == *id)).collect();
    let sentences = [message(run, finding), &finding.meaning].map(str::trim);
    let sentences = sentences.iter().filter(|sentence| !sentence.is_empty());
    // GitHub shows the first sentence alone where room is short. An advice ends with what a reader copies.
    let sentences = sentences.map(|sentence| format!("{}.", field(sentence.trim_end_matches('.'))));
    let advice = (!finding.advice.is_empty()).then(|| field(&finding.advice));
    let sentences: Vec<String> = sentences.chain(advice).collect();
    let said = match sentences.is_empty() {
        true => field(&format!("{} {}", finding.code, finding.name)),
        false => sentences.join(" "),
    };
    let suppressions =
        reason(run, finding).map(|reason| Suppression { kind: "external", justification: field(reason) });
    let mut properties = BTreeMap::from([
        ("severity", json!(finding.severity.map(severity_name))),
        ("phase", json!(finding.phase.as_deref().map(escape::terminal))),
        ("claims", json!(finding.claims.iter().map(|id| escape::terminal(id)).collect::<Vec<_>>())),
        ("facts", json!(finding.facts)),
    ]);
    let quantity = |value: Quantity| json!({ "value": value.value, "unit": value.unit });
    properties.extend(finding.observed.map(|value| ("observed", quantity(value))));
    properties.extend(finding.threshold.as_ref().map(|limit| ("threshold", quantity(limit.value))));
    Report {
        rule_id: escape::terminal(&finding.code),
        rule_index: index(&finding.code),
        level: level(finding.severity),
        message: Text { text: said, markdown: None },
        locations: locations(run, finding, &concerned),
        partial_fingerprints: fingerprints(run, finding, &concerned, seen),
        suppressions: suppressions.into_iter().collect(),
        properties,
    }
}

/// Why the user does not count a detector.
fn reason<'run>(run: &'run JudgedRun, finding: &Finding) -> Option<&'run str> {
    let names = |key: &str| key.eq_ignore_ascii_case(&finding.code) || key.eq_ignore_ascii_case(&finding.name);
    run.manifest.choices.suppressed.iter().find(|(key, _)| names(key)).map(|(_, reason)| reason.as_str())
}

/// GitHub follows an alert by `primaryLocationLineHash`; without it by the line's text, which holds the figure.
fn fingerprints(
    run: &JudgedRun,
    finding: &Finding,
    concerned: &[&Claim],
    seen: &mut BTreeMap<String, usize>,
) -> BTreeMap<&'static str, String> {
    let argv = run.manifest.command.argv.join("\0");
    let metrics: Vec<String> = concerned.iter().map(|claim| format!("{} {:?}", claim.phase, claim.metric)).collect();
    let phase = finding.phase.as_deref().unwrap_or_default();
    let hash = hash(&[tool(run), &argv, &finding.code, phase, &metrics.join("\0")]);
    // Equal ones are told apart by their order, which is that of the output.
    let times = seen.entry(hash.clone()).or_insert(0);
    *times += 1;
    let fingerprint = format!("{}:{times}", &hash[..32]);
    BTreeMap::from([("activebenchFinding/v1", fingerprint.clone()), ("primaryLocationLineHash", fingerprint)])
}

/// SHA-256 of texts, each with its length in front, so that no two lists are one text.
fn hash(texts: &[&str]) -> String {
    let mut sum = Sha256::new();
    for text in texts {
        sum.update((text.len() as u64).to_be_bytes());
        sum.update(text.as_bytes());
    }
    sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn locations(run: &JudgedRun, finding: &Finding, concerned: &[&Claim]) -> Vec<Location> {
    let of_phase = || run.parsed.claims.iter().find(|claim| Some(&claim.phase) == finding.phase.as_ref());
    let claims: Vec<&Claim> = match concerned.is_empty() {
        true => of_phase().into_iter().collect(),
        false => concerned.iter().copied().take(MOST_LOCATIONS).collect(),
    };
    if claims.is_empty() {
        let physical_location = PhysicalLocation { artifact_location: in_run("run.json"), region: None };
        let logical_locations = logical(run, finding.phase.as_deref()).into_iter().collect();
        return vec![Location { physical_location, logical_locations }];
    }
    let location = |claim: &&Claim| Location {
        physical_location: line(&claim.source),
        logical_locations: logical(run, Some(&claim.phase)).into_iter().collect(),
    };
    claims.iter().map(location).collect()
}

/// The place of a line of output. Of the files that a tool wrote the run directory keeps a list.
fn line(source: &SourceLine) -> PhysicalLocation {
    let file = match source.stream.as_str() {
        "stdout" => "stdout.txt",
        "stderr" => "stderr.txt",
        _ => return PhysicalLocation { artifact_location: in_run("files.json"), region: None },
    };
    let snippet = Some(Text { text: escape::terminal(&source.text), markdown: None });
    let region = (source.line > 0).then_some(Region { start_line: source.line, snippet });
    PhysicalLocation { artifact_location: in_run(file), region }
}

fn logical(run: &JudgedRun, phase: Option<&str>) -> Option<LogicalLocation> {
    let id = phase?;
    let name = run.phases.iter().find(|phase| phase.id == id).map_or(id, |phase| &phase.name);
    Some(LogicalLocation {
        name: escape::terminal(name),
        fully_qualified_name: escape::terminal(&format!("{}/{id}", tool(run))),
        kind: "phase",
    })
}

/// A file of the run directory.
fn in_run(name: &str) -> ArtifactLocation {
    let uri = utf8_percent_encode(name, IN_PATH).to_string();
    ArtifactLocation { uri: Some(uri), uri_base_id: Some(RUN_DIRECTORY), description: None }
}

/// A directory by its path; a relative one is only described, because nobody knows what to.
fn directory(path: &str, what: &str) -> ArtifactLocation {
    let uri = path.starts_with('/').then(|| {
        let encoded = utf8_percent_encode(path.trim_end_matches('/'), IN_PATH);
        format!("file://{encoded}/")
    });
    ArtifactLocation { uri, uri_base_id: None, description: Some(text(&format!("{what}: {path}"))) }
}

/// What the tool printed, with the sums of the evidence.
fn artifacts(run: &JudgedRun) -> Vec<Artifact> {
    let of = |name: &str| {
        let sum = run.manifest.sha256.get(name)?;
        Some(Artifact { location: in_run(name), hashes: BTreeMap::from([("sha-256", escape::terminal(sum))]) })
    };
    ["stdout.txt", "stderr.txt", "files.json"].into_iter().filter_map(of).collect()
}

fn invocation(run: &JudgedRun, notifications: Vec<Notification>) -> Invocation {
    let manifest = &run.manifest;
    let (child, clocks) = (&manifest.child, manifest.clocks);
    let run_s = clocks.ended_ns.saturating_sub(clocks.started_ns).div_ceil(1_000_000_000);
    let ended = i64::try_from(run_s).ok().and_then(|run_s| clocks.started_unix_s.checked_add(run_s));
    Invocation {
        command_line: escape::terminal(&headline::command(run)),
        arguments: manifest.command.argv.iter().skip(1).map(|word| escape::terminal(word)).collect(),
        start_time_utc: utc(clocks.started_unix_s),
        end_time_utc: ended.and_then(utc),
        exit_code: child.exit_code,
        exit_code_description: child
            .exit_code
            .map(|_| format!("of the benchmark; that of activebench is {}: {}", run.exit_code, run.verdict.as_str())),
        exit_signal_number: child.signal,
        process_start_failure_message: child.start_error.as_deref().map(escape::terminal),
        process_id: child.pid,
        execution_successful: !matches!(run.verdict, RunVerdict::Inconclusive | RunVerdict::Failed),
        working_directory: (!manifest.command.cwd.is_empty())
            .then(|| directory(&manifest.command.cwd, "the working directory")),
        tool_execution_notifications: notifications,
    }
}

fn notification(level: Level, said: &str) -> Notification {
    Notification { level, message: text(said), associated_rule: None }
}

/// Why the run is not whole, what the tool reports of itself, and what could not be decided.
fn notifications(run: &JudgedRun, index: &dyn Fn(&str) -> usize) -> Vec<Notification> {
    let mut all = Vec::new();
    if matches!(run.verdict, RunVerdict::Inconclusive | RunVerdict::Failed) {
        all.push(notification(Level::Error, &format!("{}: {}", run.verdict.as_str(), headline::why(run))));
    }
    for notice in headline::notices(run) {
        let level = if notice.grave { Level::Error } else { Level::Note };
        all.push(notification(level, &format!("{}: {}", notice.label, notice.text)));
    }
    all.extend(run.parsed.notes.iter().map(|note| notification(Level::Note, &quoted(note))));
    let undecided = run.findings.iter().filter(|finding| finding.outcome == Outcome::Undecided);
    let undecided = merged(undecided.map(|finding| {
        let phase = finding.phase.as_deref().unwrap_or("the whole run");
        (phase, (finding.code.as_str(), finding.name.as_str(), message(run, finding)))
    }));
    for (phases, (code, name, why)) in undecided {
        let colon = if why.is_empty() { "" } else { ": " };
        let said = format!("{code} {name} is undecided ({}){colon}{why}", list(&phases, PHASES_NAMED));
        let associated_rule = Some(RuleReference { id: escape::terminal(code), index: index(code) });
        all.push(Notification { associated_rule, ..notification(Level::Warning, &said) });
    }
    let more = all.len().saturating_sub(MOST_NOTIFICATIONS);
    if more > 0 {
        all.truncate(MOST_NOTIFICATIONS);
        all.push(notification(Level::Warning, &format!("and {more} more, in the JSON report")));
    }
    all
}
