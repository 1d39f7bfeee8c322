//! Stored outputs of the tools below `fixtures/`, and what was read from one as text.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_tools::adapter_by_name;
use serde::Deserialize;

/// The files of a case that are no file of the tool.
const OURS: [&str; 4] = ["provenance.toml", "stdout.txt", "stderr.txt", "calls.txt"];

#[derive(Deserialize)]
struct Provenance {
    command: String,
    /// Files that the tool read or wrote; all others of the case where there is no list.
    files: Option<Vec<String>>,
}

/// One run of a tool.
pub(crate) struct Fixture {
    /// Its folder.
    pub(crate) name: String,
    /// The tool's name, which is also the folder of its fixtures.
    pub(crate) tool: String,
    pub(crate) command: CommandLine,
    pub(crate) output: ToolOutput,
}

impl Fixture {
    pub(crate) fn parsed(&self) -> Parsed {
        let adapter = adapter_by_name(&self.tool).expect("the adapter is registered");
        let parsed = adapter.parse(&self.command, &self.output, None);
        // Whoever asks before a run what a tool can state must not be told too little.
        let unknown = parsed.claims.iter().find(|claim| !adapter.metrics().contains(&claim.metric));
        assert!(unknown.is_none(), "{}: {unknown:?} is of no kind that the adapter names", self.name);
        let other_unit = parsed.claims.iter().find(|claim| claim.value.unit != claim.metric.unit());
        assert!(other_unit.is_none(), "{}: {other_unit:?} has another unit than its metric", self.name);
        parsed
    }
}

pub(crate) fn command_line(command: &str) -> CommandLine {
    CommandLine { argv: command.split_whitespace().map(str::to_owned).collect(), cwd: "/".to_owned() }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of it").path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Every case of a tool, by name.
pub(crate) fn fixtures(tool: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(tool);
    let cases = entries(&folder).into_iter().filter(|path| path.is_dir());
    cases
        .map(|case| {
            let read = |file: &str| std::fs::read(case.join(file)).unwrap_or_else(|error| panic!("{case:?}: {error}"));
            let provenance = String::from_utf8(read("provenance.toml")).expect("UTF-8");
            let provenance: Provenance =
                toml::from_str(&provenance).unwrap_or_else(|error| panic!("{case:?}: {error}"));
            let files = provenance.files.unwrap_or_else(|| {
                let names = entries(&case).iter().map(|path| file_name(path)).collect::<Vec<_>>();
                names.into_iter().filter(|name| !OURS.contains(&name.as_str())).collect()
            });
            let files = files.into_iter().map(|name| ToolFile { bytes: read(&name), name }).collect();
            Fixture {
                name: file_name(&case),
                tool: tool.to_owned(),
                command: command_line(&provenance.command),
                output: ToolOutput { stdout: read("stdout.txt"), stderr: read("stderr.txt"), files },
            }
        })
        .collect()
}

/// One case of a tool.
pub(crate) fn fixture(tool: &str, name: &str) -> Fixture {
    let found = fixtures(tool).into_iter().find(|fixture| fixture.name == name);
    found.unwrap_or_else(|| panic!("{tool} has no fixture {name}"))
}

/// To six digits: what lies behind is noise of the arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// One line a claim, then what else was read.
pub(crate) fn compact(parsed: &Parsed) -> String {
    let mut text = format!("version {} complete {}", parsed.version.as_deref().unwrap_or("-"), parsed.complete);
    if let Some(step_ns) = parsed.clock_step_ns {
        write!(text, " clock step {step_ns} ns").expect("a String takes everything");
    }
    let mut line = |line: String| {
        text.push('\n');
        text.push_str(&line);
    };
    for claim in &parsed.claims {
        let bytes = claim.claimed_bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
        line(format!(
            "{} {} {:?} {} {} = {} {} +-{} {} ({}) {} bytes, {}:{}",
            claim.id,
            claim.phase,
            claim.metric,
            claim.printed.text,
            claim.printed.unit,
            claim.value.value,
            claim.value.unit.as_str(),
            rounded(claim.resolution),
            claim.subject.as_str(),
            claim.subject_reason,
            bytes,
            claim.source.stream,
            claim.source.line,
        ));
    }
    for again in &parsed.restated {
        line(format!(
            "again {} {} {} = {} {} +-{} {}:{}{}",
            again.claim,
            again.printed.text,
            again.printed.unit,
            again.value.value,
            again.value.unit.as_str(),
            rounded(again.resolution),
            again.source.stream,
            again.source.line,
            again.known_defect.as_ref().map_or_else(String::new, |defect| format!(" ({defect})")),
        ));
    }
    for odd in &parsed.contradictions {
        let (stream, number) = (&odd.source.stream, odd.source.line);
        line(format!("contradiction {stream}:{number} {} ({})", odd.message, odd.claims.join(" ")));
    }
    for (kind, notes) in [("note", &parsed.notes), ("error", &parsed.errors)] {
        for note in notes {
            let (stream, number) = (&note.source.stream, note.source.line);
            line(format!("{kind} {stream}:{number} {} | {:?}", note.message, note.source.text));
        }
    }
    text.push('\n');
    text
}
