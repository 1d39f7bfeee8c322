//! Plan of a benchmark command: its passes and findings, before anything runs.

use activebench_model::finding::{Finding, Outcome, Severity};
use activebench_model::phase::{Direction, Mechanism, Phase};
use activebench_model::units::Quantity;
use serde::Serialize;

use crate::page::{Page, Set, Tone};
use crate::wording::{PHASES_NAMED, list, merged, shell_command};
use crate::{Style, escape, findings};

/// Value of the key `schema`.
const SCHEMA: &str = "activebench.plan/1";
/// Passes shown; the rest is counted (iozone's auto mode makes hundreds).
const PASSES_SHOWN: usize = 24;
/// Maximum hooks named.
const HOOKS_NAMED: usize = 4;

/// A plan in its displayed form.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    /// Version of this format.
    pub schema: &'static str,
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
}

impl Default for PlanReport {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            command: Vec::new(),
            added_arguments: Vec::new(),
            cwd: String::new(),
            tool: None,
            phases: Vec::new(),
            notes: Vec::new(),
            findings: Vec::new(),
            hooks: Vec::new(),
            target: None,
            detectors: Vec::new(),
            profile: String::new(),
        }
    }
}

impl PlanReport {
    /// Returns the plan as JSON, without control characters.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be represented as JSON.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|json| escape::json(&json) + "\n")
    }

    /// Renders the plan for a terminal.
    pub fn text(&self, style: Style) -> String {
        let mut page = Page::new(style);
        let command = shell_command(&self.command);
        page.headed("PLAN", Tone::Head, &format!("  {command}: nothing is run."));
        page.blank();
        self.add_passes(&mut page);
        self.add_findings(&mut page);
        page.blank();
        let added = match self.added_arguments.as_slice() {
            [] => String::new(),
            added => format!(" and {}", shell_command(added)),
        };
        page.labelled("run", &format!("{command}{added}, in {}", self.cwd));
        if !added.is_empty() {
            page.labelled("", "the added figures are taken out again of what you see");
        }
        let hooks = match self.hooks.len() {
            0 => "nothing: this kernel has no call table".to_owned(),
            count => format!("{count} tracepoints: {}", list(&self.hooks, HOOKS_NAMED)),
        };
        page.labelled("observe", &hooks);
        if let Some(target) = &self.target {
            page.labelled("target", target);
        }
        page.labelled("check", &format!("{} detectors; profile {}", self.detectors.len(), self.profile));
        for note in &self.notes {
            page.labelled("note", note);
        }
        page.labelled_verbatim("next", &format!("activebench verify -- {command}"));
        page.finish()
    }

    fn add_passes(&self, page: &mut Page) {
        let Some(tool) = &self.tool else {
            page.paragraph(
                "no adapter knows this tool: its I/O would be observed and reported, with no claims to check",
                Tone::Plain,
            );
            return;
        };
        if self.phases.is_empty() {
            page.paragraph(&format!("{tool} would make no pass that is known from this command line"), Tone::Plain);
            return;
        }
        let rows: Vec<Vec<String>> = self.phases.iter().take(PASSES_SHOWN).map(row).collect();
        let heads = ["pass", "moves", "block", "tasks", "clock", "promised"];
        let sets = [Set::Left, Set::Right, Set::Right, Set::Right, Set::Left, Set::Left];
        page.table(&heads, &sets, &rows, |_| Tone::Plain);
        if self.phases.len() > PASSES_SHOWN {
            page.paragraph(&format!("and {} more (--format json)", self.phases.len() - PASSES_SHOWN), Tone::Plain);
        }
    }

    fn add_findings(&self, page: &mut Page) {
        let firing = self.findings.iter().filter(|finding| finding.outcome == Outcome::Fires);
        let said = |finding: &Finding| {
            let Finding { code, name, message, meaning, advice, .. } = finding;
            let severity = finding.severity.unwrap_or(Severity::Note);
            (severity, code.clone(), name.clone(), message.clone(), meaning.clone(), advice.clone())
        };
        let groups = merged(firing.map(|finding| (finding.phase.clone().unwrap_or_default(), said(finding))));
        for (phases, (severity, code, name, message, meaning, advice)) in groups {
            page.blank();
            let tone = if severity == Severity::Note { Tone::Head } else { Tone::Doubtful };
            let head = format!("{}[{code}]", findings::severity_name(severity));
            page.headed(&head, tone, &format!(" {name} ({})", list(&phases, PHASES_NAMED)));
            page.paragraph(&message, Tone::Plain);
            page.paragraph(&meaning, Tone::Plain);
            page.marked("→ ", &advice, Tone::Head);
        }
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
        Mechanism::CloseInsideClock => "close inside the clock".to_owned(),
        Mechanism::MappedIo => "mapped files".to_owned(),
        Mechanism::SynchronousMsync => "msync of each record".to_owned(),
        Mechanism::AsynchronousMsync => "asynchronous msync of each record".to_owned(),
        Mechanism::QueueDepth(depth) => format!("depth {depth}"),
        Mechanism::CachePurge => "empty page cache".to_owned(),
        Mechanism::CpuCachePurge => "empty processor cache".to_owned(),
    }
}
