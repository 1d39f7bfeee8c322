//! `cargo xtask truth`: runs and counts the planted lies and their honest twins.
//!
//! The end-to-end crate runs the cases (`fixtures/truth`, its program `truth`) and records the outcome of each. This
//! module does the work before and after: the tools, the build, the table, the page, the exit code.

mod page;
mod table;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::truth::table::Outcomes;
use crate::workspace;
use crate::{packages, process, provenance, tools};

/// The committed page.
const PAGE: &str = "docs/truth.md";
/// The committed page on an ordinary user's runs.
const PAGE_WITHOUT_RIGHTS: &str = "docs/truth-without-rights.md";
/// Durations of the cases, from which the test of the corpus chooses its part.
const SECONDS: &str = "fixtures/truth/seconds.toml";
/// The program that runs the cases.
const RUNNER: &str = "truth";
/// Environment variable with the binary under test.
const BINARY: &str = "ACTIVEBENCH_BIN";

/// Options of `cargo xtask truth`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run the cases of these detectors alone, by their codes; the page then stays as it is
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    only: Vec<String>,
    /// Run the cases alone whose name (AB302/lie-iozone-default) contains this; the page then stays as it is
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Draw so many honest runs and run them instead of the corpus: none may be accused
    #[arg(long, value_name = "N", default_value_t = 0)]
    honest: u32,
    /// Draw so many lies and run them instead of the corpus: each has to be found
    #[arg(long, value_name = "N", default_value_t = 0)]
    lies: u32,
    /// Seed of the draws: the same seed makes the same runs
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Put the counts of the drawn runs into the page
    #[arg(long)]
    page: bool,
    /// Run each drawn run a second time, behind another program and in another format: the answers have to be the same
    #[arg(long)]
    again: bool,
    /// Run the command that the report of each lie advises, in place of judging the cases: it has to hold and to answer
    /// the same question
    #[arg(long, conflicts_with_all = ["honest", "lies", "again"])]
    advice: bool,
    /// Run the product as an ordinary user without rights, for whom a tracer observes: what it does not see may leave a run
    /// undecided. This writes a page of its own
    #[arg(long, conflicts_with = "advice")]
    trace: bool,
    /// Let others have more than half of each CPU meanwhile
    #[arg(long)]
    busy: bool,
    /// Play the cases for a loop device on other storage (host, xfs), and no others: what holds on one device has to
    /// hold on the next; the page then stays as it is
    #[arg(long, value_name = "STORAGE", conflicts_with = "page")]
    on: Option<String>,
    /// Keep the run directory of each case, and what was said of it, in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Where the outcomes go as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Try this binary, and run the cases by the program beside it, instead of building both
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Leave missing tools missing: the cases that need them are counted as not run
    #[arg(long)]
    no_install: bool,
}

/// Common beginning of the titles of the sections on drawn runs.
const DRAWN: &str = "Drawn runs";
/// Title of the section on advised commands.
const ADVISED: &str = "Advised commands";

impl Options {
    /// Returns the command for the page.
    fn shown(&self) -> String {
        let again = if self.again { " --again" } else { "" };
        let busy = if self.busy { " --busy" } else { "" };
        let trace = if self.trace { " --trace" } else { "" };
        format!(
            "cargo xtask truth{trace} --honest {} --lies {} --seed {}{again}{busy}",
            self.honest, self.lies, self.seed
        )
    }

    /// Returns the section of the page for these runs.
    fn section(&self) -> &'static str {
        match (self.busy, self.again) {
            (true, _) => "Drawn runs on busy CPUs",
            (false, true) => "Drawn runs in other words",
            (false, false) => DRAWN,
        }
    }
}

/// Runs the task: exit code 1 on a miss, a false accusation or a broken case.
///
/// # Errors
/// When nothing can be run, or a case's file is not valid.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if !options.no_install {
        packages::report_missing(&packages::ensure(tools::FOR_TRUTH));
    }
    if !process::is_root() {
        eprintln!("not root: most cases cannot run (hint: {})", process::as_root("truth"));
    }
    let binary = match &options.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?,
        None => workspace::build_with_tests()?,
    };
    let runner = binary.with_file_name(RUNNER);
    if !runner.is_file() {
        bail!("no program {RUNNER} is beside {} (hint: cargo build -p activebench-e2e)", binary.display());
    }
    let folder = tempfile::Builder::new().prefix("activebench-truth-").tempdir().context("cannot make a folder")?;
    let json = folder.path().join("outcomes.json");
    if let Some(keep) = &options.keep {
        fs::create_dir_all(keep).with_context(|| format!("cannot make {}", keep.display()))?;
    }

    process::outlive_interrupt();
    let started = Instant::now();
    let mut command = Command::new(&runner);
    command.env(BINARY, &binary).arg("--json").arg(&json);
    for code in &options.only {
        command.arg("--only").arg(code);
    }
    for (option, number) in [("--honest", options.honest), ("--lies", options.lies)] {
        command.arg(option).arg(number.to_string());
    }
    command.arg("--seed").arg(options.seed.to_string());
    for (option, is_asked) in
        [("--again", options.again), ("--busy", options.busy), ("--advice", options.advice), ("--trace", options.trace)]
    {
        command.args(is_asked.then_some(option));
    }
    for (option, value) in [("--case", &options.case), ("--on", &options.on)] {
        if let Some(value) = value {
            command.arg(option).arg(value);
        }
    }
    if let Some(keep) = &options.keep {
        // The runner's cases have working directories of their own, so the path must be absolute.
        command.arg("--keep").arg(keep.canonicalize().with_context(|| format!("cannot find {}", keep.display()))?);
    }
    let status = command.status().with_context(|| format!("cannot start {}", runner.display()))?;
    if !status.success() {
        bail!("{RUNNER} ended with {status}");
    }
    let text = fs::read_to_string(&json).with_context(|| format!("cannot read {}", json.display()))?;
    let outcomes: Outcomes = serde_json::from_str(&text).context("cannot read the outcomes")?;
    if let Some(path) = &options.json {
        fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }

    let are_drawn = options.honest + options.lies > 0;
    let rendered = match (are_drawn, options.advice) {
        (true, _) => table::render_drawn(&outcomes),
        (false, true) => table::render_advised(&outcomes),
        (false, false) => table::render(&outcomes),
    };
    print!("{rendered}");
    let all_of_them =
        options.on.is_none() && options.only.is_empty() && options.case.is_none() && !outcomes.interrupted;
    if all_of_them && if are_drawn { options.page } else { !options.busy } {
        let path = workspace::root().join(if options.trace { PAGE_WITHOUT_RIGHTS } else { PAGE });
        let present = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let provenance = provenance::line(tools::FOR_TRUTH, started.elapsed())?;
        let page = match (are_drawn, options.advice) {
            (true, _) => {
                let section = page::drawn(&outcomes, &options.shown(), &provenance);
                page::with_section(&present, options.section(), &section)
            }
            (false, true) => page::with_section(&present, ADVISED, &page::advised(&outcomes, &provenance)),
            (false, false) if options.trace => {
                page::without_rights(&outcomes, &provenance) + &page::sections(&present, DRAWN)
            }
            (false, false) => {
                let kept = [ADVISED, DRAWN].map(|title| page::sections(&present, title)).concat();
                page::render(&outcomes, &provenance) + &kept
            }
        };
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    if all_of_them && outcomes.whole && !options.busy {
        let path = workspace::root().join(SECONDS);
        fs::write(&path, seconds(&outcomes)).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    if outcomes.interrupted {
        // The shell's own convention for an interrupt.
        return Ok(ExitCode::from(130));
    }
    Ok(if outcomes.cases.iter().any(|case| case.failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the duration of each case as TOML, by its name.
fn seconds(outcomes: &Outcomes) -> String {
    let mut lines: Vec<String> =
        outcomes.cases.iter().map(|case| format!("\"{}/{}\" = {:.1}\n", case.code, case.name, case.seconds)).collect();
    lines.sort();
    format!("# Seconds of each case, written by `cargo xtask truth`.\n{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_its_cost() {
        let outcomes = table::tests::outcomes(&[("AB102", "lie", "hit"), ("AB101", "honest", "silent")]);
        let expected = "# Seconds of each case, written by `cargo xtask truth`.\n\
                        \"AB101/honest-a\" = 1.5\n\"AB102/lie-a\" = 1.5\n";
        assert_eq!(seconds(&outcomes), expected);
    }
}
