//! fio as the independent engine: its version, and the command that replays a pass.

use std::ffi::OsString;
use std::path::Path;

use activebench_model::phase::Pattern;
use activebench_model::report::JudgedRun;
use activebench_report::escape::terminal;
use activebench_report::export::passes::Pass;
use activebench_tools::ENGINE;
use anyhow::Context;

use super::words;
use crate::benchmarks;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::recording::find_program;

/// The engine of a replay.
const FIO: &str = ENGINE.name;
/// First version of fio whose logs can have times.
const WITH_TIMES: (u32, u32) = (3, 31);
/// Maximum characters quoted of fio's last messages.
const QUOTED: usize = 300;

/// An installed fio.
pub(super) struct Engine {
    /// Its version as it prints it: `fio-3.33`; `fio` alone if it prints none.
    pub(super) version: String,
}

impl Engine {
    pub(super) fn find() -> Result<Self, Failure> {
        find_program(&OsString::from(FIO))?;
        let found = benchmarks::find(ENGINE).context("cannot start the event loop").or_exit(ExitCode::Bug)?;
        Ok(Self { version: found.version.map_or_else(|| FIO.to_owned(), |version| format!("{FIO}-{version}")) })
    }

    /// True if its logs have times.
    pub(super) fn keeps_times(&self) -> bool {
        let mut numbers = self.version.trim_start_matches("fio-").split(|c: char| !c.is_ascii_digit());
        let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
        matches!((next(), next()), (Some(major), Some(minor)) if (major, minor) >= WITH_TIMES)
    }

    /// Returns the command that replays a pass, one job per task. fio's output goes to `said`; `hint` is the advice on
    /// its files that the tool gave to the kernel.
    pub(super) fn command(&self, pass: &Pass, logs: &Path, said: &Path, hint: &str) -> Vec<OsString> {
        let mut output = OsString::from("--output=");
        output.push(said);
        let mut argv = words([FIO.into(), output, "--eta=never".into()]);
        let reads_only = pass.files.values().all(|file| file.work.moved.writes == 0);
        if reads_only {
            argv.push("--readonly".into());
        }
        for (number, task) in (1..).zip(&pass.tasks) {
            argv.push(format!("--name=task-{number}").into());
            argv.push(log_option(&logs.join(&task.log)));
            argv.extend(words(task.options.iter().cloned()));
            // Otherwise fio reads past the end of the log, and forgets what is in flight.
            argv.push(format!("--number_ios={}", task.operations).into());
            if !pass.paced {
                argv.push("--replay_no_stall=1".into());
            }
            // The cache is already prepared; fio would empty it.
            argv.push("--invalidate=0".into());
            argv.push(format!("--fadvise_hint={hint}").into());
        }
        argv
    }
}

/// Returns the option for a log. fio separates logs by colons, so those of the path are escaped.
fn log_option(log: &Path) -> OsString {
    let name = log.as_os_str();
    let mut option = OsString::from("--read_iolog=");
    match name.to_str() {
        Some(name) => option.push(name.replace('\\', "\\\\").replace(':', "\\:")),
        None => option.push(name),
    }
    option
}

/// Returns the advice on its files that fio gives by default, if the run is one of fio. The record does not name the
/// advice of other tools.
pub(super) fn hint(run: &JudgedRun, pass: &Pass) -> &'static str {
    let told = |word: &String| word.contains("fadvise_hint");
    if run.parsed.tool != FIO || run.manifest.command.argv.iter().any(told) {
        return "0";
    }
    let mut patterns = pass.phases.iter().filter_map(|place| run.phases.get(*place)).map(|phase| phase.pattern);
    match patterns.next() {
        Some(Pattern::Sequential) => "sequential",
        Some(Pattern::RandomPermutation | Pattern::RandomIndependent) => "random",
        _ => "0",
    }
}

/// Returns the end of fio's standard error.
pub(super) fn last_words(directory: &Path) -> String {
    let said = std::fs::read(directory.join("stderr.txt")).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let last: Vec<&str> = said.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    let text: String = last.join("; ").chars().take(QUOTED).collect();
    terminal(if text.is_empty() { "it said nothing" } else { &text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_tells_whether_logs_have_times() {
        for (version, expected) in [
            ("fio-3.33", true),
            ("fio-3.31", true),
            ("fio-3.28", false),
            ("fio-4.0", true),
            ("fio-3.36-17-gb7c7", true),
            ("fio-2.21", false),
            ("fio", false),
        ] {
            assert_eq!(Engine { version: version.to_owned() }.keeps_times(), expected, "{version}");
        }
    }

    #[test]
    fn a_colon_in_a_logs_name_is_no_border() {
        let option = log_option(Path::new("/a:b/c\\d.log"));
        assert_eq!(option, OsString::from("--read_iolog=/a\\:b/c\\\\d.log"));
    }
}
