//! `cargo xtask buildtime`: the cost of building and testing, for a newcomer and after a change.
//!
//! Each revision is cloned and built as on a new machine: nothing is compiled, no crate is downloaded. Every revision
//! uses the same plain cargo commands, so that an earlier revision can be compared with it in the same table. The cargo
//! commands are here, the page in `page.rs`, cargo's own timing of the crates in `timings.rs`.

mod page;
mod timings;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::provenance;
use crate::workspace;
use timings::CrateTime;

/// The committed page.
const PAGE: &str = "docs/cost.md";
/// Ticks per second of the times in `/proc/PID/stat`: part of the kernel's interface, the same on every machine.
const TICKS_PER_SECOND: f64 = 100.0;

/// Options of `cargo xtask buildtime`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure this revision too, before the present one, and show both side by side
    #[arg(long, value_name = "REVISION")]
    before: Option<String>,
    /// Run the tests too: `cargo xtask test`, twenty minutes and more for each revision
    #[arg(long)]
    tests: bool,
    /// Where the page goes
    #[arg(long, value_name = "FILE", default_value = PAGE)]
    page: String,
}

/// Cost of one step.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: Duration,
    /// User and kernel time of every process that the step started and waited for.
    cpu: Duration,
    /// Crates that were compiled or checked, including our own.
    crates: usize,
    succeeded: bool,
}

/// A step of every revision.
struct Step {
    what: &'static str,
    command: &'static [&'static str],
    /// A source file that gets another line before the step, which imitates an edit.
    edits: Option<&'static str>,
}

/// Steps in this order: each step uses the results of the earlier ones.
const STEPS: &[Step] = &[
    Step { what: "download the crates", command: &["fetch", "--locked"], edits: None },
    Step { what: "demo: compile xtask", command: &["build", "--package", "xtask", "--timings"], edits: None },
    Step {
        what: "demo: compile the product",
        command: &["build", "--package", "activebench", "--timings"],
        edits: None,
    },
    Step {
        what: "tests: compile what the demo did not",
        command: &["build", "--workspace", "--lib", "--bins", "--tests", "--timings"],
        edits: None,
    },
    Step {
        what: "unit tests, compiled",
        command: &["test", "--workspace", "--exclude", "activebench-e2e", "--quiet"],
        edits: None,
    },
    Step {
        what: "clippy",
        command: &["clippy", "--workspace", "--all-targets", "--timings", "--", "--deny", "warnings"],
        edits: None,
    },
    Step {
        what: "product after an edit of one detector",
        command: &["build", "--package", "activebench"],
        edits: Some("crates/activebench-detect/src/detectors/sync_outside_clock.rs"),
    },
    Step {
        what: "product after an edit of `activebench-model`",
        command: &["build", "--package", "activebench"],
        edits: Some("crates/activebench-model/src/claim.rs"),
    },
    Step {
        what: "release build of the product",
        command: &["build", "--release", "--package", "activebench", "--timings"],
        edits: None,
    },
];

/// The step that runs all tests.
const TESTS: Step = Step { what: "tests, compiled: `cargo xtask test`", command: &["xtask", "test"], edits: None };

/// One revision with the costs of its steps.
struct Measured {
    /// Its abbreviated hash and title.
    revision: String,
    costs: Vec<(&'static str, Cost)>,
    /// Crates by cargo's time for them until the tests were compiled, the longest first.
    crates: Vec<CrateTime>,
}

/// Runs the task.
///
/// # Errors
/// When a revision cannot be cloned or cargo cannot be run. A failed step is reported in the table.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let started = Instant::now();
    let revisions = options.before.iter().map(String::as_str).chain(["HEAD"]);
    let measured = revisions.map(|revision| measure(revision, options.tests)).collect::<Result<Vec<_>>>()?;
    let page = page::render(&measured, &provenance::line(&[], started.elapsed())?);
    let path = workspace::root().join(&options.page);
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(ExitCode::SUCCESS)
}

fn measure(revision: &str, with_tests: bool) -> Result<Measured> {
    // Beside the target folder: on the disk that the build uses anyway. A temporary folder may lack the space.
    let target = workspace::target_dir()?;
    fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
    let folder = tempfile::Builder::new()
        .prefix("buildtime-")
        .tempdir_in(&target)
        .with_context(|| format!("cannot make a folder in {}", target.display()))?;
    let tree = folder.path().join("tree");
    let commit = git(&workspace::root(), &["rev-parse", revision])?;
    git(folder.path(), &["clone", "--quiet", "--no-checkout", &workspace::root().display().to_string(), "tree"])?;
    git(&tree, &["checkout", "--quiet", "--detach", &commit])?;
    let revision = git(&tree, &["log", "-1", "--format=%h %s"])?;

    let steps = STEPS.iter().chain(with_tests.then_some(&TESTS));
    let mut costs = Vec::new();
    let mut crates = Vec::new();
    for step in steps {
        eprintln!("\n== {revision}: {}: cargo {}", step.what, step.command.join(" "));
        let cost = take(step, &tree, &folder.path().join("cargo"))?;
        eprintln!("{:.1} s, CPU {:.1} s", cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
        if step.command.contains(&"--timings")
            && !step.command.iter().any(|word| matches!(*word, "clippy" | "--release"))
        {
            timings::add(&mut crates, &tree.join("target/cargo-timings/cargo-timing.html"))?;
        }
        costs.push((step.what, cost));
    }
    crates.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    Ok(Measured { revision, costs, crates })
}

/// Runs a step and measures it; cargo's messages are passed on.
fn take(step: &Step, tree: &Path, cargo_home: &Path) -> Result<Cost> {
    if let Some(file) = step.edits {
        let path = tree.join(file);
        let mut source = fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        writeln!(source, "// An edit.").with_context(|| format!("cannot write {}", path.display()))?;
    }
    let (started, cpu_before) = (Instant::now(), children_cpu()?);
    let output = workspace::cargo()
        .args(step.command)
        .current_dir(tree)
        .env("CARGO_HOME", cargo_home)
        .env_remove("CARGO_TARGET_DIR")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("cannot run cargo {}", step.command.join(" ")))?;
    let wall = started.elapsed();
    let cpu = children_cpu()?.saturating_sub(cpu_before);
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        eprint!("{messages}");
    }
    let crates = messages.lines().filter(|line| line.starts_with("   Compiling ") || line.starts_with("    Checking "));
    Ok(Cost { wall, cpu, crates: crates.count(), succeeded: output.status.success() })
}

/// Returns the CPU time of all ended children, including their own children.
fn children_cpu() -> Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").context("cannot read /proc/self/stat")?;
    cpu_of_children(&stat).context("cannot understand /proc/self/stat")
}

/// Returns the sum of `cutime` and `cstime` of a line of `/proc/PID/stat`: the 14th and 15th field after the name. The
/// name itself may contain blanks and brackets.
fn cpu_of_children(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let kernel: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_secs_f64((user + kernel) as f64 / TICKS_PER_SECOND))
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .with_context(|| format!("cannot run git {}", arguments[0]))?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_children_is_read_behind_any_name() {
        let stat = "12 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 500 600 1250 50 20 0 1 0 99\n";
        assert_eq!(cpu_of_children(stat), Some(Duration::from_secs(13)));
        assert_eq!(cpu_of_children("12 (a) S 1"), None);
        assert_eq!(cpu_of_children(""), None);
    }

    #[test]
    fn cpu_time_of_children_can_be_read_here() {
        assert!(children_cpu().is_ok());
    }
}
