//! `cargo xtask test`: every test of the workspace in one run, and an honest count.
//!
//! # Tests that cannot run
//!
//! libtest distinguishes only passed and failed, and hides the output of a passing test; a skipped test would count as
//! passed. A test that cannot run here (not root, no BTF, a tool missing) therefore records it in a file and returns:
//!
//! * `ACTIVEBENCH_SKIP_LOG` names the file. The test appends one line,
//!   `NAME<tab>REASON`, in a single write to a file opened for appending. NAME is its
//!   libtest name: `std::thread::current().name()` in the test's own thread.
//! * If the variable is not set (plain `cargo test`), it prints `ACTIVEBENCH-SKIP NAME: REASON` to standard error
//!   instead.
//!
//! This task subtracts the logged tests from the passed ones, lists each as
//! `skipped: NAME: REASON`, and ends with `N passed, N failed, N skipped` alone on a line.
//! Ignored tests count as skipped too: a skip is never a pass.
//!
//! # The product's binary
//!
//! `ACTIVEBENCH_BIN` names the binary under test for the end-to-end crate.
//!
//! # Tests that others disturbed
//!
//! End-to-end tests share a machine with each other, and with guests that take its processors. The few that failed run
//! once more, each alone ([`MOST_AGAIN`]). One that passes then is counted as passed and listed as
//! `passed alone: NAME` with the lines of its failure; one that fails again has failed. A test of another crate needs
//! no machine of its own, and does not run again.
//!
//! # What each test costs
//!
//! `ACTIVEBENCH_COST_LOG` names a file to which each end-to-end test appends `NAME<tab>SECONDS`: its own time, without
//! the wait for its turn. `--slowest` lists the largest.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::libtest::{Counter, Tally};
use crate::workspace;
use crate::{packages, process, tools};

/// Environment variable with the file in which tests record that they cannot run.
const SKIP_LOG: &str = "ACTIVEBENCH_SKIP_LOG";
/// Environment variable with the binary under test.
const BINARY: &str = "ACTIVEBENCH_BIN";

/// Environment variable with the file in which end-to-end tests record their durations in seconds.
const COST_LOG: &str = "ACTIVEBENCH_COST_LOG";
/// Number of listed slowest tests.
const SLOWEST: usize = 20;
/// Largest number of failed tests that run again alone. Where more fail, it is not the others that disturb them: a spell
/// of copying beside the tests failed eight of 400.
const MOST_AGAIN: usize = 12;
/// Number of tests that are started at once.
const TEST_THREADS: &str = "32";
/// The crate that the unit tier omits: it needs root, real tools and minutes.
const END_TO_END: &str = "activebench-e2e";

/// Options of `cargo xtask test`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Leave the end-to-end tests out: no root, no tools, minutes less
    #[arg(long)]
    unit: bool,
    /// List the slowest end-to-end tests, each with its seconds
    #[arg(long)]
    slowest: bool,
    /// Leave missing tools missing: the tests that need them are skipped
    #[arg(long)]
    no_install: bool,
    /// Run only tests whose name contains this
    filter: Option<String>,
}

/// Runs the task.
///
/// # Errors
/// When cargo cannot be run or the tests do not build.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let binary = match options.unit {
        true => None,
        false => {
            prepare(options);
            Some(workspace::build_with_tests().context("the tests do not build")?)
        }
    };
    let folder = tempfile::Builder::new().prefix("activebench-test-").tempdir().context("cannot make a folder")?;
    let logs = Logs::create(folder.path())?;

    let (mut tally, mut cargo_succeeded) = run_tests(&tests_of(options), binary.as_deref(), &logs)?;
    let disturbed = match options.unit {
        true => Vec::new(),
        false => passed_alone(&tally, |name| run_alone(name, binary.as_deref(), &logs))?,
    };
    if !disturbed.is_empty() {
        disturbed.iter().for_each(|name| tally.has_passed(name));
        cargo_succeeded = tally.failed == 0;
    }
    let summary = Summary::of(&tally, &read(&logs.skipped)?);

    if options.slowest {
        for (seconds, name) in slowest(&read(&logs.costs)?) {
            println!("slowest: {seconds:6.1} s {name}");
        }
    }
    for (name, reason) in &summary.reasons {
        println!("skipped: {name}: {reason}");
    }
    if tally.ignored > 0 {
        println!("skipped: {} tests marked as ignored", tally.ignored);
    }
    if tally.died > 0 {
        println!("{} test binaries ended before their result", tally.died);
    }
    if !cargo_succeeded && summary.failed == 0 {
        println!("cargo test failed, though no test did: its own messages above say why");
    }
    for (name, lines) in &tally.failures {
        let what = if disturbed.contains(name) { "passed alone" } else { "failed" };
        println!("{what}: {name}");
        lines.iter().for_each(|line| println!("    {line}"));
    }
    println!("{} passed, {} failed, {} skipped", summary.passed, summary.failed, summary.skipped);
    Ok(if cargo_succeeded && summary.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The files in which tests record results that libtest does not support.
struct Logs {
    skipped: PathBuf,
    costs: PathBuf,
}

impl Logs {
    /// Creates empty files, so that an absent file is an error and does not mean "nothing recorded".
    fn create(folder: &Path) -> Result<Logs> {
        let logs = Logs { skipped: folder.join("skipped"), costs: folder.join("costs") };
        for file in [&logs.skipped, &logs.costs] {
            fs::write(file, "").with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(logs)
    }
}

fn read(log: &Path) -> Result<String> {
    fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))
}

/// Returns the seconds and names of the slowest tests, the slowest first. Skips lines that are not `NAME<tab>SECONDS`.
fn slowest(log: &str) -> Vec<(f64, &str)> {
    let cost = |line| -> Option<(f64, &str)> {
        let (name, seconds) = str::rsplit_once(line, '\t')?;
        Some((seconds.parse().ok()?, name))
    };
    let mut costs: Vec<(f64, &str)> = log.lines().filter_map(cost).collect();
    costs.sort_by(|one, other| other.0.total_cmp(&one.0));
    costs.truncate(SLOWEST);
    costs
}

/// Installs the tools that the tests need, and reports beforehand which tests will be skipped without them.
fn prepare(options: &Options) {
    if options.no_install {
        for tool in packages::missing(tools::FOR_TESTS) {
            eprintln!("{} is not installed (--no-install): the tests that need it will be skipped", tool.command);
        }
    } else {
        let missing = packages::ensure(tools::FOR_TESTS);
        packages::report_missing(&missing);
        if !missing.is_empty() {
            eprintln!("the tests that need them will be skipped");
        }
    }
    if !process::is_root() {
        eprintln!(
            "not root: the tests that load BPF or make loop devices will be skipped (hint: {})",
            process::as_root("test")
        );
    }
}

/// Returns the arguments of `cargo test` for the whole run.
fn tests_of(options: &Options) -> Vec<&str> {
    let mut arguments = vec!["--workspace"];
    if options.unit {
        arguments.extend(["--exclude", END_TO_END]);
    }
    arguments.extend(options.filter.as_deref());
    arguments
}

/// Runs the end-to-end tests of one name, and nothing beside them.
fn run_alone(name: &str, binary: Option<&Path>, logs: &Logs) -> Result<Tally> {
    eprintln!("{name} failed beside other tests, and runs again alone");
    Ok(run_tests(&["--package", END_TO_END, "--", "--exact", name], binary, logs)?.0)
}

/// Returns the failed tests that pass when they run again. `again` runs the tests of one name.
fn passed_alone(tally: &Tally, again: impl Fn(&str) -> Result<Tally>) -> Result<Vec<String>> {
    let mut passed = Vec::new();
    if tally.died == 0 && tally.failures.len() <= MOST_AGAIN {
        for (name, _) in &tally.failures {
            let alone = again(name)?;
            if alone.passed > 0 && alone.failed == 0 && alone.died == 0 {
                passed.push(name.clone());
            }
        }
    }
    Ok(passed)
}

/// Runs `cargo test` and passes its output on as it arrives.
fn run_tests(arguments: &[&str], binary: Option<&Path>, logs: &Logs) -> Result<(Tally, bool)> {
    let mut command = workspace::cargo();
    // Without the documentation, which has no examples to run: looking for them takes half a minute.
    command.args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"]).args(arguments);
    // Most threads wait for their test's turn; the end-to-end crate decides which tests may run beside each other.
    command.env("RUST_TEST_THREADS", TEST_THREADS);
    command.env(SKIP_LOG, &logs.skipped).env(COST_LOG, &logs.costs).stdout(Stdio::piped());
    if let Some(binary) = binary {
        command.env(BINARY, binary);
    }
    let mut child = command.spawn().context("cannot run cargo test")?;
    let mut output = child.stdout.take().context("cargo test has no standard output")?;
    let mut counter = Counter::default();
    let mut buffer = [0; 8192];
    let mut stdout = std::io::stdout();
    loop {
        let length = output.read(&mut buffer).context("cannot read the output of cargo test")?;
        if length == 0 {
            break;
        }
        counter.feed(&buffer[..length]);
        stdout.write_all(&buffer[..length]).and_then(|()| stdout.flush()).context("cannot pass the output on")?;
    }
    let status = child.wait().context("cannot wait for cargo test")?;
    Ok((counter.finish(), status.success()))
}

/// The counts, with skips separate from passes.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    passed: u64,
    failed: u64,
    skipped: u64,
    /// Name and reason of each skip, sorted.
    reasons: Vec<(String, String)>,
}

impl Summary {
    /// Moves the logged skips from the passes to the skips.
    ///
    /// A test that logged a skip and then failed stays failed. A name that libtest did not print counts once anyway:
    /// one pass too few is better than a skip counted as a pass.
    fn of(tally: &Tally, log: &str) -> Summary {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in log.lines().filter(|line| !line.is_empty()) {
            let (name, reason) = line.split_once('\t').unwrap_or((line, "no reason was given"));
            by_name.entry(name).or_default().push(reason);
        }
        let mut skipped_of_passed = 0;
        let mut reasons = Vec::new();
        for (name, logged) in by_name {
            let tests = match tally.by_name.get(name) {
                Some(ended) if ended.passed == 0 => 0,
                Some(ended) => ended.passed.min(logged.len() as u64),
                None => 1,
            };
            skipped_of_passed += tests;
            reasons.extend(logged.iter().take(tests as usize).map(|reason| (name.to_owned(), (*reason).to_owned())));
        }
        let skipped_of_passed = skipped_of_passed.min(tally.passed);
        Summary {
            passed: tally.passed - skipped_of_passed,
            failed: tally.failed,
            skipped: skipped_of_passed + tally.ignored,
            reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_failed_tests_run_again_and_count_as_passed_when_they_pass_alone() {
        let failing = |names: &[&str]| Tally {
            failures: names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect(),
            ..tally(&names.iter().map(|name| (*name, 0, 1)).collect::<Vec<_>>(), 0)
        };
        let again = |name: &str| Ok(if name == "b" { tally(&[("b", 1, 0)], 0) } else { tally(&[(name, 0, 1)], 0) });
        let mut run = failing(&["a", "b"]);
        let passed = passed_alone(&run, again).expect("they run");
        assert_eq!(passed, ["b"]);
        passed.iter().for_each(|name| run.has_passed(name));
        assert_eq!((run.passed, run.failed), (1, 1));
        assert_eq!(run.by_name["b"], crate::libtest::Ended { passed: 1, failed: 0 });

        // A name that no end-to-end test has.
        assert!(passed_alone(&failing(&["unit"]), |_| Ok(Tally::default())).expect("they run").is_empty());
        let died = Tally { died: 1, ..failing(&["b"]) };
        assert!(passed_alone(&died, again).expect("they run").is_empty());
        assert!(passed_alone(&failing(&["b"; MOST_AGAIN + 1]), again).expect("they run").is_empty());
    }

    fn tally(tests: &[(&str, u64, u64)], ignored: u64) -> Tally {
        let mut tally = Tally { ignored, ..Tally::default() };
        for &(name, passed, failed) in tests {
            tally.passed += passed;
            tally.failed += failed;
            tally.by_name.insert(name.to_owned(), crate::libtest::Ended { passed, failed });
        }
        tally
    }

    #[track_caller]
    fn check(tally: &Tally, log: &str, expected: (u64, u64, u64), reasons: &[(&str, &str)]) {
        let summary = Summary::of(tally, log);
        assert_eq!((summary.passed, summary.failed, summary.skipped), expected);
        let found: Vec<(&str, &str)> =
            summary.reasons.iter().map(|(name, reason)| (name.as_str(), reason.as_str())).collect();
        assert_eq!(found, reasons);
    }

    #[test]
    fn without_skips_the_counts_are_libtests() {
        check(&tally(&[("a", 1, 0), ("b", 0, 1)], 0), "", (1, 1, 0), &[]);
    }

    #[test]
    fn a_logged_skip_is_no_pass() {
        check(&tally(&[("a", 1, 0), ("b", 1, 0)], 0), "b\tnot root\n", (1, 0, 1), &[("b", "not root")]);
    }

    #[test]
    fn an_ignored_test_is_a_skip() {
        check(&tally(&[("a", 1, 0)], 2), "", (1, 0, 2), &[]);
    }

    #[test]
    fn a_test_that_failed_after_its_skip_has_failed() {
        check(&tally(&[("a", 0, 1), ("b", 1, 0)], 0), "a\tno fio\n", (1, 1, 0), &[]);
    }

    #[test]
    fn several_reasons_of_one_test_are_one_skip() {
        check(&tally(&[("a", 1, 0), ("b", 1, 0)], 0), "a\tno fio\na\tno xfs\n", (1, 0, 1), &[("a", "no fio")]);
    }

    #[test]
    fn two_tests_of_one_name_are_two_skips() {
        let both = tally(&[("a", 2, 0)], 0);
        check(&both, "a\tnot root\na\tnot root\n", (0, 0, 2), &[("a", "not root"), ("a", "not root")]);
        check(&both, "a\tnot root\n", (1, 0, 1), &[("a", "not root")]);
    }

    #[test]
    fn a_name_that_libtest_did_not_print_counts_once() {
        check(&tally(&[("a", 1, 0), ("b", 1, 0)], 0), "other\twhy\nother\twhy\n", (1, 0, 1), &[("other", "why")]);
        check(&tally(&[], 0), "other\twhy\n", (0, 0, 0), &[("other", "why")]);
    }

    #[test]
    fn the_slowest_tests_come_first() {
        assert_eq!(slowest("a\t1.5\nb::c\t20\nno seconds\nd\tmany\n"), [(20.0, "b::c"), (1.5, "a")]);
        let many: String = (0..30).map(|number| format!("t{number}\t{number}\n")).collect();
        assert_eq!((slowest(&many).len(), slowest(&many)[0]), (SLOWEST, (29.0, "t29")));
    }

    #[test]
    fn a_line_without_a_reason_says_so() {
        check(&tally(&[("a", 1, 0)], 0), "a\n\n", (0, 0, 1), &[("a", "no reason was given")]);
    }
}
