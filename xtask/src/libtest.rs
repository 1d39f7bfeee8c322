//! Counts tests in the output of `cargo test`: those that ran, those that failed, and output that only looks like a
//! result.
//!
//! libtest prints `running N tests` at the start of each test binary, one line per test, and `test result: ...` at its
//! end. A result counts only after a start and with matching sums, because the output of a failed test is repeated
//! between the two and may look like a result itself. A binary that dies before its result is counted from its lines,
//! and every test without a line has failed.

use std::collections::BTreeMap;

/// The counts of a whole `cargo test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed, including skipped ones: libtest does not distinguish them.
    pub(crate) passed: u64,
    /// Tests that failed, and those of a binary that died.
    pub(crate) failed: u64,
    /// Tests marked `#[ignore]` (and doc tests marked `ignore`).
    pub(crate) ignored: u64,
    /// Binaries that died before their result.
    pub(crate) died: u64,
    /// Numbers of passed and failed tests by name.
    pub(crate) by_name: BTreeMap<String, Ended>,
    /// The first lines that each failed test printed: name, lines. At most [`LINES_OF_A_FAILURE`] each.
    pub(crate) failures: Vec<(String, Vec<String>)>,
}

impl Tally {
    /// Counts a test that failed, and passed when it ran again alone, as passed.
    pub(crate) fn has_passed(&mut self, name: &str) {
        let ended = self.by_name.entry(name.to_owned()).or_default();
        let failed = std::mem::take(&mut ended.failed);
        ended.passed += failed;
        self.failed = self.failed.saturating_sub(failed);
        self.passed += failed;
    }
}

/// Number of kept lines of a failed test's output. The reason stands in the first ones.
const LINES_OF_A_FAILURE: usize = 30;

/// Results of the tests of one name; several binaries may have a test of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Passed.
    pub(crate) passed: u64,
    /// Failed.
    pub(crate) failed: u64,
}

/// Counts from the output as it arrives.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    tally: Tally,
    line: Vec<u8>,
    running: Option<Running>,
}

/// A test binary between its start and its result.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    expected: u64,
    passed: u64,
    ignored: u64,
    /// Inside the output of the failed test that is last in [`Tally::failures`].
    in_failure: bool,
}

impl Counter {
    /// Takes a piece of the output, cut at any place.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.take_line(&String::from_utf8_lossy(&line));
            } else {
                self.line.push(byte);
            }
        }
    }

    /// Returns the counts, after the last piece.
    pub(crate) fn finish(mut self) -> Tally {
        if !self.line.is_empty() {
            self.feed(b"\n");
        }
        self.close_dead_binary();
        self.tally
    }

    fn take_line(&mut self, line: &str) {
        if let Some(expected) = start(line) {
            self.close_dead_binary();
            self.running = Some(Running { expected, ..Running::default() });
        } else if let Some(result) = TestResult::parse(line) {
            let Some(running) = self.running else { return };
            if result.total() == Some(running.expected) {
                self.tally.passed += result.passed + result.measured;
                self.tally.failed += result.failed;
                self.tally.ignored += result.ignored;
                self.running = None;
            }
        } else if let Some((name, end)) = test_line(line) {
            let Some(running) = &mut self.running else { return };
            let ended = self.tally.by_name.entry(name.to_owned()).or_default();
            match end {
                End::Passed => {
                    ended.passed += 1;
                    running.passed += 1;
                }
                End::Failed => ended.failed += 1,
                End::Ignored => running.ignored += 1,
            }
        } else {
            self.take_output(line);
        }
    }

    /// Keeps the first lines of what libtest repeats of a failed test.
    fn take_output(&mut self, line: &str) {
        let Some(running) = &mut self.running else { return };
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.tally.failures.push((name.to_owned(), Vec::new()));
            running.in_failure = true;
        } else if line == "failures:" {
            running.in_failure = false;
        } else if let (true, Some((_, lines))) = (running.in_failure, self.tally.failures.last_mut())
            && lines.len() < LINES_OF_A_FAILURE
            && !line.is_empty()
        {
            lines.push(line.to_owned());
        }
    }

    fn close_dead_binary(&mut self) {
        if let Some(running) = self.running.take() {
            self.tally.died += 1;
            self.tally.passed += running.passed;
            self.tally.ignored += running.ignored;
            // More lines than announced can appear only when a test forges them.
            self.tally.failed += running.expected.saturating_sub(running.passed + running.ignored).max(1);
        }
    }
}

/// Parses `running 3 tests` and `running 1 test`.
fn start(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?;
    count.parse().ok()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Ignored,
}

/// `test name ... ok`, `... FAILED`, `... ignored, why`; with ` - should panic` after the name, or, where the
/// tests are made as they run (libtest-mimic), with blanks that align the results.
fn test_line(line: &str) -> Option<(&str, End)> {
    let (name, end) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let end = match end {
        "ok" => End::Passed,
        "FAILED" => End::Failed,
        _ if end == "ignored" || end.starts_with("ignored, ") => End::Ignored,
        _ => return None,
    };
    let name = name.trim_end();
    Some((name.strip_suffix(" - should panic").unwrap_or(name), end))
}

/// `test result: ok. 10 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TestResult {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
}

impl TestResult {
    fn parse(line: &str) -> Option<TestResult> {
        let rest = line.strip_prefix("test result: ")?;
        let (_, counts) = rest.split_once(". ")?;
        let count = |label: &str| -> Option<u64> {
            counts.split("; ").find_map(|part| part.strip_suffix(label)?.trim_end().parse().ok())
        };
        Some(TestResult {
            passed: count("passed")?,
            failed: count("failed")?,
            ignored: count("ignored")?,
            measured: count("measured")?,
        })
    }

    fn total(self) -> Option<u64> {
        self.passed.checked_add(self.failed)?.checked_add(self.ignored)?.checked_add(self.measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: (u64, u64, u64, u64)) {
        for piece in [1, 7, output.len().max(1)] {
            let mut counter = Counter::default();
            output.as_bytes().chunks(piece).for_each(|bytes| counter.feed(bytes));
            let tally = counter.finish();
            let found = (tally.passed, tally.failed, tally.ignored, tally.died);
            assert_eq!(found, expected, "in pieces of {piece}:\n{output}");
        }
    }

    #[test]
    fn results_of_several_binaries_add_up() {
        check(
            "\nrunning 2 tests\ntest a ... ok\ntest b::c - should panic ... ok\n\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.00s\n\n\
             \nrunning 3 tests\ntest d ... ok\ntest e ... FAILED\ntest f ... ignored, slow\n\n\
             failures:\n\n---- e stdout ----\nexpected 1\n\nfailures:\n    e\n\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s\n",
            (3, 1, 1, 0),
        );
    }

    #[test]
    fn no_tests_are_no_tests() {
        check("", (0, 0, 0, 0));
        check(
            "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            (0, 0, 0, 0),
        );
    }

    #[test]
    fn output_of_a_failed_test_is_no_result() {
        check(
            "running 1 test\ntest e ... FAILED\n\nfailures:\n\n---- e stdout ----\n\
             test result: ok. 999 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: nonsense\n\nfailures:\n    e\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            (0, 1, 0, 0),
        );
    }

    #[test]
    fn a_binary_that_dies_fails_the_tests_that_it_did_not_finish() {
        let died = "running 4 tests\ntest a ... ok\ntest b ... ignored\n";
        check(died, (1, 2, 1, 1));
        check(
            &format!(
                "{died}running 1 test\ntest z ... ok\n\n\
                 test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
            ),
            (2, 2, 1, 1),
        );
        // It died after its last test: that is one failure that no test has.
        check("running 1 test\ntest a ... ok\n", (1, 1, 0, 1));
        check("running 1 test", (0, 1, 0, 1));
    }

    #[test]
    fn names_are_kept_with_how_they_ended() {
        let mut counter = Counter::default();
        counter.feed(
            b"running 2 tests\ntest same ... ok\ntest crates/x/src/lib.rs - f (line 3)   ... ok\n\
              test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
              running 1 test\ntest same ... FAILED\n\
              test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        );
        let tally = counter.finish();
        assert_eq!(tally.by_name.get("same"), Some(&Ended { passed: 1, failed: 1 }));
        assert_eq!(tally.by_name.get("crates/x/src/lib.rs - f (line 3)"), Some(&Ended { passed: 1, failed: 0 }));
    }

    #[test]
    fn the_first_lines_of_a_failed_test_are_kept() {
        let mut counter = Counter::default();
        counter.feed(
            b"---- x stdout ----\nno test runs\nrunning 2 tests\ntest e ... FAILED\ntest f ... FAILED\n\nfailures:\n\n\
              ---- e stdout ----\nexpected 1\nfound 2\n\n---- f stdout ----\nno device\n\nfailures:\n    e\n    f\n\n\
              test result: FAILED. 0 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        );
        let failures = counter.finish().failures;
        let found: Vec<(&str, Vec<&str>)> =
            failures.iter().map(|(name, lines)| (name.as_str(), lines.iter().map(String::as_str).collect())).collect();
        assert_eq!(found, [("e", vec!["expected 1", "found 2"]), ("f", vec!["no device"])]);
    }

    #[test]
    fn lines_that_only_resemble_libtests_count_for_nothing() {
        for line in [
            "running many tests",
            "running 3 testers",
            "test a ... perhaps",
            "test result: ok. many passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "test result: ok. 99999999999999999999999 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "running 99999999999999999999999 tests",
        ] {
            check(line, (0, 0, 0, 0));
        }
    }
}
