//! Runs a benchmark a second time, with the advice of its own report applied.

use std::ffi::OsString;
use std::path::Path;

use activebench_detect::advice::corrected_command::{remedied, side_by_side};
use activebench_model::command::CommandLine;
use activebench_model::remedy::{Remedied, SideBySide};
use activebench_model::verdict::RunVerdict;

use crate::device_guard;
use crate::failure::Failure;
use crate::recording::{self, Recorded, Recorder, RunToRecord};

/// Folder of the first run, inside the folder of both.
pub const AS_GIVEN: &str = "as-given";
/// Folder of the second run.
pub const WITH_ADVICE: &str = "with-advice";

/// The run of the command as given, and the one with its advice.
#[derive(Debug)]
pub enum CorrectedRun {
    /// The benchmark was run once: why there is no second run.
    Once(Box<Recorded>, NoSecondRun),
    /// Both runs.
    Both {
        /// Side by side.
        sides: Box<SideBySide>,
        /// Exit code of the command as given.
        exit_code: i32,
        /// True if a signal ended the second run.
        interrupted: bool,
    },
}

/// Reasons why there is no second run.
#[derive(Debug)]
pub enum NoSecondRun {
    /// Nothing to correct, or nothing that an option would correct.
    NotNeeded(String),
    /// It could not be recorded.
    Failed(Failure),
}

/// Records the command, then again as its report advises, in two folders below `run.directory`.
///
/// # Errors
/// Returns an error if the first run could not be recorded.
pub fn record(run: RunToRecord<'_>, recorder: &mut Recorder) -> Result<CorrectedRun, Failure> {
    let (command, directory) = (run.command, run.directory);
    let first = recording::record(RunToRecord { directory: &directory.join(AS_GIVEN), ..run }, recorder)?;
    let remedied = remedied(&first.judged, activebench_tools::advisor_of(&first.judged.parsed.tool));
    if let Some(why) = why_not_again(&first.judged.verdict, first.interrupted, &remedied) {
        return Ok(CorrectedRun::Once(Box::new(first), NoSecondRun::NotNeeded(why)));
    }
    if !run.observing.quiet {
        eprintln!("activebench: again with the advice: {}", remedied.argv.join(" "));
    }
    let changed = CommandLine { argv: remedied.argv.clone(), ..command.clone() };
    match again(run, &changed, &directory.join(WITH_ADVICE), recorder) {
        Ok(Recorded { judged: second, interrupted, .. }) => {
            let exit_code = first.judged.exit_code;
            let sides = Box::new(side_by_side(first.judged, second, remedied));
            Ok(CorrectedRun::Both { sides, exit_code, interrupted })
        }
        // The report of the first run is not lost.
        Err(failure) => Ok(CorrectedRun::Once(Box::new(first), NoSecondRun::Failed(failure))),
    }
}

fn again(
    run: RunToRecord<'_>,
    command: &CommandLine,
    directory: &Path,
    recorder: &mut Recorder,
) -> Result<Recorded, Failure> {
    device_guard::guard_again(command)?;
    let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
    recording::record(RunToRecord { argv: &argv, command, directory, ..run }, recorder)
}

fn why_not_again(verdict: &RunVerdict, interrupted: bool, remedied: &Remedied) -> Option<String> {
    if interrupted {
        return Some("interrupted: the benchmark is not run again".to_owned());
    }
    if *verdict == RunVerdict::Failed {
        return Some("the benchmark failed: it is not run again".to_owned());
    }
    if !remedied.applied.is_empty() {
        return None;
    }
    let left: Vec<String> = remedied.left.iter().map(|left| format!("{}: {}", left.code, left.why)).collect();
    Some(match left.is_empty() {
        true => "nothing to correct: the benchmark is not run again".to_owned(),
        false => format!("no option fixes it, the benchmark is not run again ({})", left.join("; ")),
    })
}
