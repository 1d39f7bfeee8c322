//! `cargo xtask any-program`: the measurement of claims that are read without an adapter.
//!
//! The end-to-end crate runs the tools and compares (its program `any-program`). This module does the work before and
//! after: the tools, the build, the page, the exit code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{packages, process, provenance, tools, workspace};

/// The committed page.
const PAGE: &str = "docs/any-program-measured.md";
/// The program that runs the tools.
const RUNNER: &str = "any-program";
/// Environment variable with the binary under test.
const BINARY: &str = "ACTIVEBENCH_BIN";
/// The share of the printed rates that should be matched with the right pass, in percent.
const AIM_PERCENT: f64 = 90.0;

/// Options of `cargo xtask any-program`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run these tools alone; the page then stays as it is
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    only: Vec<String>,
    /// Seed of the draws: the same seed draws the same commands
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Multiply the number of commands by N
    #[arg(long, value_name = "N", default_value_t = 1)]
    times: u32,
    /// Keep the run directories in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Judge the kept runs again, and record none; the page then stays as it is
    #[arg(long, requires = "keep")]
    again: bool,
    /// Where the outcomes go as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Try this binary, and run the tools by the program beside it, instead of building both
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Leave missing tools missing: their runs are counted as not run
    #[arg(long)]
    no_install: bool,
}

/// What the runner writes.
#[derive(Debug, Deserialize)]
struct Outcomes {
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    tool: String,
    name: String,
    command: String,
    not_run: Option<String>,
    compared: Compared,
}

#[derive(Debug, Deserialize)]
struct Compared {
    figures: Vec<Figure>,
    strange: Vec<String>,
    accused: Vec<String>,
    is_honest: bool,
}

#[derive(Debug, Deserialize)]
struct Figure {
    outcome: String,
    printed: String,
    line: String,
    why: String,
    is_open_with_adapter: bool,
}

/// The counts of a tool, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    runs: usize,
    honest: usize,
    not_run: usize,
    right: usize,
    wrong: usize,
    unverifiable: usize,
    /// Of the unverifiable ones, those that are unverifiable with the adapter, too.
    open_with_adapter: usize,
    accused: usize,
    strange: usize,
}

impl Counts {
    fn add(&mut self, run: &Run) {
        if run.not_run.is_some() {
            self.not_run += 1;
            return;
        }
        let count = |outcome: &str| run.compared.figures.iter().filter(|figure| figure.outcome == outcome).count();
        self.runs += 1;
        self.honest += usize::from(run.compared.is_honest);
        self.right += count("right");
        self.wrong += count("wrong");
        self.unverifiable += count("unverifiable");
        let is_open = |figure: &&Figure| figure.outcome == "unverifiable" && figure.is_open_with_adapter;
        self.open_with_adapter += run.compared.figures.iter().filter(is_open).count();
        self.accused += usize::from(!run.compared.accused.is_empty());
        self.strange += run.compared.strange.len();
    }

    fn printed(&self) -> usize {
        self.right + self.wrong + self.unverifiable
    }

    fn percent(&self) -> f64 {
        self.right as f64 * 100.0 / self.printed().max(1) as f64
    }

    fn row(&self, name: &str) -> String {
        let Self { runs, honest, right, wrong, unverifiable, open_with_adapter, accused, strange, .. } = self;
        let printed = self.printed();
        let percent = if printed == 0 { "-".to_owned() } else { format!("{:.0} %", self.percent()) };
        format!(
            "| {name} | {runs} | {printed} | {right} | {percent} | {wrong} | {unverifiable} | {open_with_adapter} | {strange} | {honest} | {accused} |\n"
        )
    }
}

/// Runs the task: exit code 1 on a wrong match or an accusation.
///
/// # Errors
/// When nothing can be run.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if !options.no_install {
        packages::report_missing(&packages::ensure(tools::FOR_ANY_PROGRAM));
    }
    if !process::is_root() {
        bail!("needs root for kernel probes and loop devices (hint: {})", process::as_root(RUNNER));
    }
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?,
        None => workspace::build_with_tests()?,
    };
    let runner = binary.with_file_name(RUNNER);
    if !runner.is_file() {
        bail!("no program {RUNNER} is beside {} (hint: cargo build -p activebench-e2e)", binary.display());
    }
    let folder =
        tempfile::Builder::new().prefix("activebench-any-program-").tempdir().context("cannot make a folder")?;
    let json = options.json.clone().unwrap_or_else(|| folder.path().join("outcomes.json"));
    let started = Instant::now();
    let mut command = Command::new(&runner);
    command.env(BINARY, &binary).arg("--json").arg(&json);
    command.arg("--seed").arg(options.seed.to_string()).arg("--times").arg(options.times.to_string());
    command.args(options.only.iter().flat_map(|tool| ["--only", tool]));
    if let Some(keep) = &options.keep {
        command.arg("--keep").arg(keep).args(options.again.then_some("--again"));
    }
    let status = command.status().with_context(|| format!("cannot start {}", runner.display()))?;
    if !status.success() {
        bail!("{RUNNER} ended with {status}");
    }
    let text = fs::read_to_string(&json).with_context(|| format!("cannot read {}", json.display()))?;
    let outcomes: Outcomes = serde_json::from_str(&text).context("cannot read the outcomes")?;
    print!("{}", table(&outcomes));
    if options.only.is_empty() && !options.again {
        let path = workspace::root().join(PAGE);
        let provenance = provenance::line(tools::FOR_ANY_PROGRAM, started.elapsed())?;
        let shown = format!("cargo xtask any-program --seed {} --times {}", options.seed, options.times);
        fs::write(&path, page(&outcomes, &shown, &provenance))
            .with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    let all = all(&outcomes);
    Ok(if all.wrong + all.accused > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the counts of each tool, in the order of the runs.
fn of_tools(outcomes: &Outcomes) -> Vec<(&str, Counts)> {
    let mut tools: Vec<(&str, Counts)> = Vec::new();
    for run in &outcomes.runs {
        match tools.iter_mut().find(|(tool, _)| *tool == run.tool) {
            Some((_, counts)) => counts.add(run),
            None => {
                let mut counts = Counts::default();
                counts.add(run);
                tools.push((&run.tool, counts));
            }
        }
    }
    tools
}

fn all(outcomes: &Outcomes) -> Counts {
    let mut all = Counts::default();
    outcomes.runs.iter().for_each(|run| all.add(run));
    all
}

fn table(outcomes: &Outcomes) -> String {
    let mut table = String::from(
        "| tool | runs | printed rates | right | | wrong | unverifiable | with adapter too | beside | honest runs | \
         accused |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (tool, counts) in of_tools(outcomes) {
        table.push_str(&counts.row(tool));
    }
    table.push_str(&all(outcomes).row("all"));
    table
}

fn page(outcomes: &Outcomes, command: &str, provenance: &str) -> String {
    let all = all(outcomes);
    let mut page = format!(
        "# Claims without an adapter, measured\n\n\
         Measured by `{command}`, which writes this page; nobody edits it.\n\n\
         Known tools are recorded and judged as if no adapter knew them ([any program](any-program.md)). Then the same \
         recording is judged with the adapter. The adapter's figures say what each printed rate is about. The programs \
         `pace.py` and `pace.c` have no adapter and state it themselves.\n\n\
         - *Printed rates*: throughputs, operation rates and times per operation that the adapter reads.\n\
         - *Right*: it is a claim on the pass of the adapter: the same direction, a common file, the amount within 2 %, \
         the value within 2 % or half a printed step, windows that overlap by at least 90 %. Of a figure of single \
         processes neither the amount nor the end of the window is compared. A figure that is printed twice counts once, \
         and is right if one of its prints is.\n\
         - *Wrong*: it is a claim on another pass. None may be.\n\
         - *Unverifiable*: it is no claim, and the report says so. *With adapter too*: the adapter cannot verify it \
         either, for example a rate over a clock of whole seconds.\n\
         - *Beside*: a rate became a claim that the adapter does not read, on a pass of which it has no figure.\n\
         - *Accused*: runs that the adapter holds for honest and that are a discrepancy without it. None may be.\n\n\
         Provenance: {provenance}.\n\n"
    );
    let word = if all.percent() >= AIM_PERCENT { "reached" } else { "missed" };
    let line = format!(
        "Right: {} of {} printed rates, {:.1} % (aim {AIM_PERCENT} %: {word}); {:.1} % of the {} that an adapter verifies. \
         Wrong: {}. Accused: {} of {} honest runs. Not run: {}.\n\n",
        all.right,
        all.printed(),
        all.percent(),
        all.right as f64 * 100.0 / (all.printed() - all.open_with_adapter).max(1) as f64,
        all.printed() - all.open_with_adapter,
        all.wrong,
        all.accused,
        all.honest,
        all.not_run
    );
    page.push_str(&line);
    page.push_str(&table(outcomes));
    page.push_str(
        "\n## Why rates are unverifiable\n\n| tool | rates | reason | for example |\n| --- | ---: | --- | --- |\n",
    );
    for ((tool, reason), (count, example)) in reasons(outcomes) {
        writeln!(page, "| {tool} | {count} | {reason} | {example} |").expect("a String takes every character");
    }
    let faults = faults(outcomes);
    if !faults.is_empty() {
        writeln!(page, "\n## Faults\n\n{faults}").expect("a String takes every character");
    }
    page
}

/// Returns the reasons of each tool without their numbers, with their counts and an example.
fn reasons(outcomes: &Outcomes) -> BTreeMap<(String, String), (usize, String)> {
    let mut reasons: BTreeMap<(String, String), (usize, String)> = BTreeMap::new();
    for run in &outcomes.runs {
        for figure in run.compared.figures.iter().filter(|figure| figure.outcome == "unverifiable") {
            let reason = figure.why.split([':', '(']).next().unwrap_or_default();
            let reason = reason.split(" agrees with ").next().unwrap_or_default().trim();
            let reason = match reason {
                "it" => "it agrees with a pass, but the probability of chance is too large",
                reason if reason.ends_with("passes agree with it") => "several passes agree with it",
                reason => reason,
            };
            let line = figure.line.replace('|', "\\|");
            let example =
                if line.is_empty() { figure.printed.clone() } else { format!("{} of `{line}`", figure.printed) };
            let known = reasons.entry((run.tool.clone(), reason.to_owned())).or_insert((0, example));
            known.0 += 1;
        }
    }
    reasons
}

/// Returns wrong matches and accusations as a list; empty if there are none.
fn faults(outcomes: &Outcomes) -> String {
    let mut list = String::new();
    for run in &outcomes.runs {
        let wrong = run.compared.figures.iter().filter(|figure| figure.outcome == "wrong");
        let wrong = wrong.map(|figure| format!("wrong: {} of `{}`: {}", figure.printed, figure.line, figure.why));
        let accused = run.compared.accused.iter().map(|why| format!("accused: {why}"));
        for fault in wrong.chain(accused) {
            writeln!(list, "- `{}` ({}): {fault}", run.command, run.name).expect("a String takes every character");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes() -> Outcomes {
        let text = r#"{"runs": [
            {"tool": "a", "name": "a-1-0", "command": "a", "not_run": null, "compared": {
                "figures": [
                    {"outcome": "right", "printed": "5", "line": "5 MB/s", "why": "", "is_open_with_adapter": false},
                    {"outcome": "unverifiable", "printed": "6", "line": "6 | MB/s", "why": "2 passes agree with it: b, c",
                     "is_open_with_adapter": true}
                ], "strange": [], "accused": [], "is_honest": true}},
            {"tool": "b", "name": "b-1-0", "command": "b", "not_run": "missing", "compared": {
                "figures": [], "strange": [], "accused": [], "is_honest": false}},
            {"tool": "a", "name": "a-1-1", "command": "a x", "not_run": null, "compared": {
                "figures": [{"outcome": "wrong", "printed": "7", "line": "7 MB/s", "why": "read in place of write",
                    "is_open_with_adapter": false}],
                "strange": [], "accused": ["it is refuted"], "is_honest": true}}
        ]}"#;
        serde_json::from_str(text).expect("outcomes")
    }

    #[test]
    fn the_page_counts_by_tool_and_lists_each_fault() {
        let page = page(&outcomes(), "x", "here");
        for part in [
            "| a | 2 | 3 | 1 | 33 % | 1 | 1 | 1 | 0 | 2 | 1 |",
            "| b | 0 | 0 | 0 | - | 0 | 0 | 0 | 0 | 0 | 0 |",
            "Right: 1 of 3 printed rates, 33.3 % (aim 90 %: missed); 50.0 % of the 2 that an adapter verifies. Wrong: 1. \
             Accused: 1 of 2 honest runs. Not run: 1.",
            "| a | 1 | several passes agree with it | 6 of `6 \\| MB/s` |",
            "- `a x` (a-1-1): wrong: 7 of `7 MB/s`: read in place of write",
            "- `a x` (a-1-1): accused: it is refuted",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
}
