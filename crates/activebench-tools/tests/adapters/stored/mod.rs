//! Stored outputs of the tools in `fixtures/`, and their parsed form as text.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fmt::Write as _;

use activebench_fixtures::tool_case::{ToolCase, tool_case, tool_cases};
use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_tools::adapter_by_name;

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
        self.assert_named(&parsed);
        let other_unit = parsed.claims.iter().find(|claim| claim.value.unit != claim.metric.unit());
        assert!(other_unit.is_none(), "{}: {other_unit:?} has another unit than its metric", self.name);
        parsed
    }

    /// The metrics that a command can print, as queried before a run, must be complete.
    pub(crate) fn assert_named(&self, parsed: &Parsed) {
        let adapter = adapter_by_name(&self.tool).expect("the adapter is registered");
        let named = adapter.metrics_of(&self.command, &self.output.files);
        assert!(named.iter().all(|metric| adapter.metrics().contains(metric)), "{}: {named:?}", self.name);
        let unknown = parsed.claims.iter().find(|claim| !named.contains(&claim.metric));
        assert!(unknown.is_none(), "{}: {unknown:?} is of no kind that the adapter names", self.name);
    }
}

pub(crate) fn command_line(command: &str) -> CommandLine {
    CommandLine { argv: command.split_whitespace().map(str::to_owned).collect(), cwd: "/".to_owned() }
}

/// Returns every case of a tool, by name.
pub(crate) fn fixtures(tool: &str) -> Vec<Fixture> {
    tool_cases(tool).into_iter().map(|case| stored(tool, case)).collect()
}

fn stored(tool: &str, case: ToolCase) -> Fixture {
    let files = case.files.into_iter().map(|(name, bytes)| ToolFile { name, bytes }).collect();
    Fixture {
        name: case.name,
        tool: tool.to_owned(),
        command: command_line(&case.command),
        output: ToolOutput { stdout: case.stdout, stderr: case.stderr, files },
    }
}

/// Returns one case of a tool.
pub(crate) fn fixture(tool: &str, name: &str) -> Fixture {
    stored(tool, tool_case(tool, name))
}

/// Rounds to six digits: the later ones are arithmetic noise.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Formats one line per claim, then the other parsed values.
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
