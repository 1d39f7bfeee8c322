//! Plan of a benchmark command: its passes and findings, before anything runs.

use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::phase::{Direction, Mechanism, Phase};
use activebench_model::units::Quantity;
use serde::Serialize;

use crate::document::{Block, Content, Document, Line, Room, Section, Table};
use crate::findings;
use crate::page::{Set, Tone};
use crate::wording::{PHASES_NAMED, list, merged, shell_command};

/// Passes shown; the rest is counted (iozone's auto mode makes hundreds).
const PASSES_SHOWN: usize = 24;
/// Maximum hooks named.
const HOOKS_NAMED: usize = 4;

/// A plan in its displayed form.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlanReport {
    /// Command that would be started.
    pub command: Vec<String>,
    /// Arguments that activebench would add, so that the tool also prints figures for programs.
    pub added_arguments: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// Adapter that would read the output; `None` for a tool without one.
    pub tool: Option<String>,
    /// Passes with expected claims.
    pub phases: Vec<Phase>,
    /// Facts that are unknown before the run.
    pub notes: Vec<String>,
    /// Findings from the command line alone: every detector of the plan, all outcomes.
    pub findings: Vec<Finding>,
    /// Tracepoints that would be used.
    pub hooks: Vec<String>,
    /// Storage below the working directory, in one line; `None` if it is not known.
    pub target: Option<String>,
    /// Codes of the detectors that would judge the run.
    pub detectors: Vec<String>,
    /// Name of the set of thresholds.
    pub profile: String,
    /// Where defaults of the options come from: the file of settings and its keys.
    pub settings: String,
}

impl Document for PlanReport {
    const NOUN: &'static str = "a plan";
    const SCHEMA: &'static str = "activebench.plan/1";

    fn keys(&self) -> impl Serialize {
        self
    }

    fn content(&self, _room: Room) -> Content {
        let command = shell_command(&self.command);
        let mut passes = self.passes();
        passes.extend(self.finding_blocks());
        Content {
            title: "Plan".to_owned(),
            head: Line::new("PLAN", Tone::Head, format!("{command}: nothing is run.")),
            sections: vec![
                Section::new("Passes", "passes", passes),
                Section::new("Run", "lines", self.run_blocks(&command)),
            ],
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl PlanReport {
    fn run_blocks(&self, command: &str) -> Vec<Block> {
        let added = match self.added_arguments.as_slice() {
            [] => String::new(),
            added => format!(" and {}", shell_command(added)),
        };
        let mut facts = vec![("run", format!("{command}{added}, in {}", self.cwd))];
        if !added.is_empty() {
            facts.push(("", "the added figures are removed again from what you see".to_owned()));
        }
        let hooks = match self.hooks.len() {
            0 => "nothing: this kernel has no call table".to_owned(),
            count => format!("{count} tracepoints: {}", list(&self.hooks, HOOKS_NAMED)),
        };
        facts.push(("observe", hooks));
        facts.extend(self.target.clone().map(|target| ("target", target)));
        facts.push(("check", format!("{} detectors; profile {}", self.detectors.len(), self.profile)));
        facts.push(("settings", self.settings.clone()));
        facts.extend(self.notes.iter().map(|note| ("note", note.clone())));
        let next = Block::Verbatim { label: "next", text: format!("activebench verify -- {command}") };
        vec![Block::Facts(facts), next]
    }

    fn passes(&self) -> Vec<Block> {
        let Some(tool) = &self.tool else {
            let text = "no adapter knows this tool: its I/O would be observed and reported, with no claims to check";
            return vec![Block::Paragraph(text.to_owned())];
        };
        if self.phases.is_empty() {
            return vec![Block::Paragraph(format!("the command line alone does not determine the passes of {tool}"))];
        }
        let rows: Vec<Vec<String>> = self.phases.iter().take(PASSES_SHOWN).map(row).collect();
        let heads = ["pass", "moves", "block", "tasks", "clock", "promised"];
        let sets = [Set::Left, Set::Right, Set::Right, Set::Right, Set::Left, Set::Left];
        let mut blocks = vec![Block::Table(Table::new("Passes", &heads, &sets, rows))];
        if self.phases.len() > PASSES_SHOWN {
            blocks.push(Block::Paragraph(format!("and {} more (--format json)", self.phases.len() - PASSES_SHOWN)));
        }
        blocks
    }

    fn finding_blocks(&self) -> Vec<Block> {
        let firing = self.findings.iter().filter(|finding| finding.outcome == Outcome::Fires);
        let said = |finding: &Finding| {
            let Finding { code, name, message, meaning, advice, .. } = finding;
            let severity = finding.severity.unwrap_or(Severity::Note);
            (severity, code.clone(), name.clone(), message.to_string(), meaning.clone(), advice.clone())
        };
        let groups = merged(firing.map(|finding| (finding.phase.clone().unwrap_or_default(), said(finding))));
        let mut blocks = Vec::new();
        for (phases, (severity, code, name, message, meaning, advice)) in groups {
            let tone = if severity == Severity::Note { Tone::Head } else { Tone::Doubtful };
            let head = format!("{}[{code}]", findings::severity_name(severity));
            let rest = format!(" {name} ({})", list(&phases, PHASES_NAMED));
            blocks.push(Block::Heading(Line::new(head, tone, rest)));
            blocks.extend([Block::Paragraph(message.to_string()), Block::Paragraph(meaning), Block::Advice(advice)]);
        }
        blocks
    }
}

fn row(phase: &Phase) -> Vec<String> {
    let way = match (&phase.names, phase.direction) {
        (Some(names), _) => {
            return vec![
                phase.id.clone(),
                names.requested.map_or_else(|| "files".to_owned(), |count| format!("{count} files")),
                String::new(),
                phase.requested_tasks.to_string(),
                phase.clock.clone(),
                String::new(),
            ];
        }
        (None, Direction::Read) => "read",
        (None, Direction::Write) => "written",
        (None, Direction::Mixed) => "read and written",
        (None, Direction::Discard) => "discarded",
        (None, Direction::None) => "",
    };
    let size = match (phase.requested_bytes, phase.time_limit_ns) {
        (_, Some(limit)) => format!("for {}", Quantity::ns(limit)),
        (Some(bytes), None) => format!("{} {way}", Quantity::bytes(bytes)),
        (None, None) => way.to_owned(),
    };
    vec![
        phase.id.clone(),
        size,
        phase.block_bytes.map_or_else(String::new, |bytes| Quantity::bytes(bytes).to_string()),
        phase.requested_tasks.to_string(),
        phase.clock.clone(),
        phase.promises.iter().map(|promise| promised(promise.mechanism)).collect::<Vec<_>>().join(", "),
    ]
}

fn promised(mechanism: Mechanism) -> String {
    match mechanism {
        Mechanism::DirectIo => "O_DIRECT".to_owned(),
        Mechanism::SyncWrites => "O_SYNC".to_owned(),
        Mechanism::DataSyncWrites => "O_DSYNC".to_owned(),
        Mechanism::SyncInsideClock => "sync inside the clock".to_owned(),
        Mechanism::SyncEachWrites(1) => "sync after each write".to_owned(),
        Mechanism::SyncEachWrites(writes) => format!("sync after each {writes} writes"),
        Mechanism::CloseInsideClock => "close inside the clock".to_owned(),
        Mechanism::MappedIo => "mapped files".to_owned(),
        Mechanism::SynchronousMsync => "msync of each record".to_owned(),
        Mechanism::AsynchronousMsync => "asynchronous msync of each record".to_owned(),
        Mechanism::QueueDepth(depth) => format!("depth {depth}"),
        Mechanism::CachePurge => "empty page cache".to_owned(),
        Mechanism::CpuCachePurge => "empty CPU cache".to_owned(),
        Mechanism::CompressibleData(percent) => format!("data that compresses by {percent} %"),
        Mechanism::DuplicateData(percent) => format!("data with {percent} % duplicates"),
        Mechanism::FreshData => "random data for each write".to_owned(),
    }
}
