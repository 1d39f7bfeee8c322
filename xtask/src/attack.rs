//! `cargo xtask attack`: plays every attack that `SECURITY.md` names, as root, as an ordinary user who is made for it.
//!
//! The page is the list: each of its sentences names the test that plays it. In addition a stored run is changed in
//! 10,000 ways. A test that cannot run here is shown as skipped, and is not a passed one.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::libtest::{Counter, Tally};
use crate::{process, workspace};

/// The page with the sentences.
const PAGE: &str = "SECURITY.md";
/// The user that is made for the attacks, and removed at the end.
const USER: &str = "activebench-attack";
/// Exit code of useradd(8) when the user exists: an interrupted run left it.
const EXISTS: i32 = 9;
/// The test that changes a run in 10,000 ways, as its binary names it.
const MUTATIONS: &str = "many_runs_from_strangers_do_no_harm";

/// Options of `cargo xtask attack`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Leave the 10,000 changes of a stored run out
    #[arg(long)]
    quick: bool,
}

/// Runs the task.
///
/// # Errors
/// When it is not root, no user can be made, or the tests do not build.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if !process::is_root() {
        bail!("the attacks need root (hint: {})", process::as_root("attack"));
    }
    let page = fs::read_to_string(workspace::root().join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let attacks = attacks(&page);
    let product = workspace::build_with_tests().context("the tests do not build")?;
    let user = User::make()?;
    let folder = tempfile::Builder::new().prefix("activebench-attack-").tempdir().context("cannot make a folder")?;
    let skipped = folder.path().join("skipped");
    fs::write(&skipped, "").context("cannot write the list of skipped tests")?;
    let played = |arguments: &[&str]| {
        let mut command = workspace::cargo();
        command.args(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests", "--"]).args(arguments);
        command.env("ACTIVEBENCH_BIN", &product).env("ACTIVEBENCH_SKIP_LOG", &skipped);
        command.env("ACTIVEBENCH_E2E_USER", USER).env_remove("RUST_TEST_THREADS");
        let output = command.output().context("cannot run cargo test")?;
        let mut counter = Counter::default();
        counter.feed(&output.stdout);
        let tally = counter.finish();
        // A binary with its own harness takes one filter only, and refuses the list; a test that did not run is told below.
        if tally.failed > 0 {
            eprint!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        }
        Ok::<Tally, anyhow::Error>(tally)
    };
    let names: Vec<&str> = attacks.iter().map(|attack| attack.test).collect();
    let mut tally = played(&names)?;
    let mut rows = attacks;
    if !options.quick {
        let long = played(&[MUTATIONS, "--ignored"])?;
        tally.by_name.extend(long.by_name);
        rows.push(Attack { test: MUTATIONS, name: format!("hostile_runs::{MUTATIONS}") });
    }
    let log = fs::read_to_string(&skipped).context("cannot read the list of skipped tests")?;
    let mut held = true;
    let width = rows.iter().map(|attack| attack.name.len()).max().unwrap_or(0);
    for attack in &rows {
        let outcome = outcome(attack.test, &tally, &log);
        held &= outcome.is_harmless();
        println!("{:width$}  {outcome}", attack.name);
    }
    drop(user);
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An attack: a test.
#[derive(Debug, PartialEq, Eq)]
struct Attack<'a> {
    /// The name of its function.
    test: &'a str,
    /// As the page names it.
    name: String,
}

/// Returns the tests that the tables of the page name, each once.
fn attacks(page: &str) -> Vec<Attack<'_>> {
    let mut attacks: Vec<Attack<'_>> = Vec::new();
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        for name in cell.split('`').skip(1).step_by(2) {
            let Some((_, test)) = name.rsplit_once("::") else { continue };
            if attacks.iter().all(|attack| attack.test != test) {
                attacks.push(Attack { test, name: name.to_owned() });
            }
        }
    }
    attacks
}

/// What became of an attack.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Held,
    Skipped(String),
    Broken,
    NotRun,
}

impl Outcome {
    fn is_harmless(&self) -> bool {
        matches!(self, Self::Held | Self::Skipped(_))
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Held => f.write_str("held"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
            Self::Broken => f.write_str("FAILED"),
            Self::NotRun => f.write_str("NOT RUN"),
        }
    }
}

/// Returns what became of a test, whatever modules it is in. `log` has a line `NAME<tab>REASON` for each skipped test.
fn outcome(test: &str, tally: &Tally, log: &str) -> Outcome {
    let is_it = |name: &str| name.rsplit("::").next() == Some(test);
    let ended: Vec<_> = tally.by_name.iter().filter(|(name, _)| is_it(name)).map(|(_, ended)| *ended).collect();
    let skips: BTreeMap<&str, &str> = log.lines().filter_map(|line| line.split_once('\t')).collect();
    let skipped = skips.iter().find(|(name, _)| is_it(name));
    match (ended.iter().any(|ended| ended.failed > 0), skipped) {
        (true, _) => Outcome::Broken,
        (false, Some((_, why))) => Outcome::Skipped((*why).to_owned()),
        (false, None) if ended.iter().any(|ended| ended.passed > 0) => Outcome::Held,
        (false, None) => Outcome::NotRun,
    }
}

/// The user who attacks: removed when dropped.
struct User;

impl User {
    fn make() -> Result<Self> {
        eprintln!("making the user {USER}, who attacks and is removed at the end");
        let made = Command::new("useradd").args(["--no-create-home", "--shell", "/bin/sh", USER]).output();
        let made = made.context("cannot run useradd (hint: `apt-get install passwd`)")?;
        match made.status.success() || made.status.code() == Some(EXISTS) {
            true => Ok(Self),
            false => bail!("cannot make the user {USER}: {}", String::from_utf8_lossy(&made.stderr).trim()),
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        match Command::new("userdel").arg(USER).output() {
            Ok(output) if output.status.success() => eprintln!("removed the user {USER}"),
            _ => eprintln!("cannot remove the user {USER} (hint: userdel {USER})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libtest::Ended;

    #[test]
    fn the_page_is_the_list() {
        let page = "| sentence | test |\n| --- | --- |\n| A. | `attacks::a_b` |\n| B. | the same |\n\
                    | C. | `output::tests::c`, `attacks::a_b` |\n| D. | `cargo xtask fuzz` |\n";
        let names: Vec<String> =
            attacks(page).into_iter().map(|attack| format!("{} {}", attack.name, attack.test)).collect();
        assert_eq!(names, ["attacks::a_b a_b", "output::tests::c c"]);
    }

    #[test]
    fn a_skip_or_an_absence_is_no_pass() {
        let mut tally = Tally::default();
        for (name, passed, failed) in [("m::held", 1, 0), ("skipped", 1, 0), ("m::broken", 1, 1)] {
            tally.by_name.insert(name.to_owned(), Ended { passed, failed });
        }
        let log = "skipped\tnot root\n";
        assert_eq!(outcome("held", &tally, log), Outcome::Held);
        assert_eq!(outcome("skipped", &tally, log), Outcome::Skipped("not root".to_owned()));
        assert_eq!(outcome("broken", &tally, log), Outcome::Broken);
        assert_eq!(outcome("absent", &tally, log), Outcome::NotRun);
    }
}
