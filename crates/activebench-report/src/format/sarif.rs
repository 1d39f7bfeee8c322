//! SARIF 2.1.0, for code scanning and other consumers of findings.
//!
//! A rule is a detector with an outcome, a result is a finding that fires, and the invocation is the benchmark run.
//! Undecided findings and the gaps of a record are notifications of the invocation. The invocation is successful unless
//! the run is inconclusive or failed. Claims are in `report.json`; a result names the claims that it concerns.
//!
//! **Location of a result.** The line of the benchmark's output that the result is about, in `stdout.txt` of the run
//! directory. For a finding on a phase it is the line of the phase's first claim, else `run.json`. GitHub refuses a
//! whole file if one result lacks such a location. The phase is the logical location.
//!
//! **Fingerprints** combine tool, command line, code, phase and the kinds of its claims. Two runs of one command have
//! the same fingerprints, whatever their figures.
//!
//! **Limits.** GitHub accepts 10 MB (gzipped), 20 runs and 25,000 results. A file has one run, and is smaller than 10
//! MB before gzip. Beyond either limit the most severe results are kept, and a notification has the number of results
//! left out.

mod log;

use std::collections::BTreeMap;
use std::io;

use activebench_model::claim::{Claim, SourceLine};
use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::report::{DetectorPage, JudgedRun};
use activebench_model::sha256::Sha256;
use activebench_model::units::Quantity;
use activebench_model::verdict::RunVerdict;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use self::log::{
    Artifact, ArtifactLocation, AutomationDetails, Configuration, Driver, Invocation, Level, Location, Log,
    LogicalLocation, Notification, PhysicalLocation, Region, Report, Rule, RuleReference, Run, Suppression, Text, Tool,
};
use super::{Format, Rendering};
use crate::findings::severity_name;
use crate::lookup::Lookup;
use crate::run::keys::claims_by_verdict;
use crate::wording::{PHASES_NAMED, list, merged, quoted, utc};
use crate::{escape, headline};

/// URL of the schema to which the file conforms.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// URL of the project and its detectors' pages.
const PROJECT: &str = env!("CARGO_PKG_REPOSITORY");
/// Maximum results of one file (GitHub's limit).
pub const MOST_RESULTS: usize = 25_000;
/// Maximum bytes of all results before gzip. With the rest of the file this is below GitHub's 10 MB.
pub const MOST_RESULT_BYTES: usize = 8_000_000;
/// Maximum notifications; the rest is counted.
const MOST_NOTIFICATIONS: usize = 500;
/// Maximum locations of one result.
const MOST_LOCATIONS: usize = 10;
/// Maximum characters of a paragraph of a manual page.
const MOST_OF_A_PAGE: usize = 4_000;
/// Base directory of all locations.
const RUN_DIRECTORY: &str = "RUN";
/// Characters of a path to escape: all except those that a URI may contain unescaped.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Format `sarif`.
pub(crate) static FORMAT: Format = Format {
    name: "sarif",
    extension: "sarif",
    is_unasked: false,
    shows_timelines: false,
    rendering: Rendering::OfRuns(write),
};

fn write(run: &JudgedRun, to: &mut dyn io::Write) -> io::Result<()> {
    escape::write_json(&Log { schema: SCHEMA, version: "2.1.0", runs: vec![of(run)] }, to)
}

fn of(run: &JudgedRun) -> Run {
    let rules = merged(run.findings.iter().map(|finding| ((), finding.code.as_str())));
    let rules: Vec<&str> = rules.into_iter().map(|(_, code)| code).collect();
    let index = |code: &str| rules.iter().position(|known| *known == code).unwrap_or(0);
    let (results, left_out) = results(run, &index);
    let mut notifications = notifications(run, &index);
    if left_out > 0 {
        let text = format!(
            "{left_out} results are left out, the least grave ones: a file has {MOST_RESULTS} results and 10 MB at most; the JSON report has all"
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

/// Escapes one field.
fn field(text: &str) -> String {
    escape::sarif(text, escape::FIELD_LIMIT)
}

fn text(text: &str) -> Text {
    Text { text: field(text), markdown: None }
}

/// Escapes a part of a manual page, paragraph by paragraph.
fn page(part: &str) -> Text {
    let paragraphs: Vec<String> = part.split("\n\n").map(|text| escape::sarif(text, MOST_OF_A_PAGE)).collect();
    Text { text: paragraphs.join("\n\n"), markdown: None }
}

/// The same, also as Markdown, which the pages are written in.
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
        // Each result has its own level, because the severity depends on the distance of a figure from the limit.
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

/// Returns the findings that fire, and the number of those that do not fit.
fn results(run: &JudgedRun, index: &dyn Fn(&str) -> usize) -> (Vec<Report>, usize) {
    let mut seen = BTreeMap::new();
    let lookup = Lookup::of(run);
    let firing: Vec<Report> = run
        .findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Fires)
        .map(|finding| result(run, &lookup, finding, index, &mut seen))
        .collect();
    let mut by_weight: Vec<usize> = (0..firing.len()).collect();
    by_weight.sort_by_key(|place| std::cmp::Reverse(firing[*place].level));
    let mut room = MOST_RESULT_BYTES;
    let mut stays = vec![false; firing.len()];
    for place in by_weight.into_iter().take(MOST_RESULTS) {
        let document = serde_json::to_string_pretty(&firing[place]).expect("it has text keys only");
        // In the file every line has more indentation.
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
    lookup: &Lookup<'_>,
    finding: &Finding,
    index: &dyn Fn(&str) -> usize,
    seen: &mut BTreeMap<String, usize>,
) -> Report {
    let concerned: Vec<&Claim> = finding.claims.iter().filter_map(|id| lookup.claim(id)).collect();
    let sentences = [finding.message.sentence(), &finding.meaning].map(str::trim);
    let sentences = sentences.iter().filter(|sentence| !sentence.is_empty());
    // GitHub shows only the first sentence if there is little room. Advice ends with text that people copy.
    let sentences = sentences.map(|sentence| format!("{}.", field(sentence.trim_end_matches('.'))));
    let advice = (!finding.advice.is_empty()).then(|| field(&finding.advice));
    let sentences: Vec<String> = sentences.chain(advice).collect();
    let said = match sentences.is_empty() {
        true => field(&format!("{} {}", finding.code, finding.name)),
        false => sentences.join(" "),
    };
    let suppressions = finding.message.suppression();
    let suppressions = suppressions.map(|reason| Suppression { kind: "external", justification: field(reason) });
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
        locations: locations(run, lookup, finding, &concerned),
        partial_fingerprints: fingerprints(run, finding, &concerned, seen),
        suppressions: suppressions.into_iter().collect(),
        properties,
    }
}

/// Returns the fingerprints of a result. GitHub tracks an alert by `primaryLocationLineHash`; without it, GitHub uses
/// the line's text, which contains the figure.
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
    // Equal hashes are distinguished by their order, which is that of the output.
    let times = seen.entry(hash.clone()).or_insert(0);
    *times += 1;
    let fingerprint = format!("{}:{times}", &hash[..32]);
    BTreeMap::from([("activebenchFinding/v1", fingerprint.clone()), ("primaryLocationLineHash", fingerprint)])
}

/// Returns the SHA-256 of texts, each preceded by its length, so that different lists have different input.
fn hash(texts: &[&str]) -> String {
    let mut sum = Sha256::default();
    for text in texts {
        sum.update((text.len() as u64).to_be_bytes());
        sum.update(text.as_bytes());
    }
    sum.finish()
}

fn locations(run: &JudgedRun, lookup: &Lookup<'_>, finding: &Finding, concerned: &[&Claim]) -> Vec<Location> {
    let of_phase = || lookup.first_claim_of(finding.phase.as_ref()?);
    let claims: Vec<&Claim> = match concerned.is_empty() {
        true => of_phase().into_iter().collect(),
        false => concerned.iter().copied().take(MOST_LOCATIONS).collect(),
    };
    if claims.is_empty() {
        let physical_location = PhysicalLocation { artifact_location: in_run("run.json"), region: None };
        let logical_locations = logical(run, lookup, finding.phase.as_deref()).into_iter().collect();
        return vec![Location { physical_location, logical_locations }];
    }
    let location = |claim: &&Claim| Location {
        physical_location: line(&claim.source),
        logical_locations: logical(run, lookup, Some(&claim.phase)).into_iter().collect(),
    };
    claims.iter().map(location).collect()
}

/// Returns the location of a line of output. For files written by the tool it is the list in the run directory.
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

fn logical(run: &JudgedRun, lookup: &Lookup<'_>, phase: Option<&str>) -> Option<LogicalLocation> {
    let id = phase?;
    let name = lookup.phase(id).map_or(id, |phase| &phase.name);
    Some(LogicalLocation {
        name: escape::terminal(name),
        fully_qualified_name: escape::terminal(&format!("{}/{id}", tool(run))),
        kind: "phase",
    })
}

/// Returns the location of a file of the run directory.
fn in_run(name: &str) -> ArtifactLocation {
    let uri = utf8_percent_encode(name, IN_PATH).to_string();
    ArtifactLocation { uri: Some(uri), uri_base_id: Some(RUN_DIRECTORY), description: None }
}

/// Returns the location of a directory. A relative path is only described, because its base is unknown.
fn directory(path: &str, what: &str) -> ArtifactLocation {
    let uri = path.starts_with('/').then(|| {
        let encoded = utf8_percent_encode(path.trim_end_matches('/'), IN_PATH);
        format!("file://{encoded}/")
    });
    ArtifactLocation { uri, uri_base_id: None, description: Some(text(&format!("{what}: {path}"))) }
}

/// Returns the files of the tool's output, with their checksums.
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

/// Returns the reasons for an incomplete run, the tool's own messages, and the undecided findings.
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
        (phase, (finding.code.as_str(), finding.name.as_str(), finding.message.sentence()))
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
