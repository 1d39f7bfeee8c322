//! Runs a benchmark a second time, with the advice of its own report applied.

use std::ffi::OsString;
use std::path::Path;

use activebench_detect::advice::corrected_command::side_by_side;
use activebench_model::command::{CommandLine, shell_command};
use activebench_model::remedy::SideBySide;

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
    if first.interrupted {
        let why = "interrupted: the benchmark is not run again".to_owned();
        return Ok(CorrectedRun::Once(Box::new(first), NoSecondRun::NotNeeded(why)));
    }
    let advised = match &first.judged.advised {
        Ok(advised) => advised.clone(),
        Err(why) => {
            let why = format!("{why} The benchmark is not run again.");
            return Ok(CorrectedRun::Once(Box::new(first), NoSecondRun::NotNeeded(why)));
        }
    };
    if !run.observing.quiet {
        say!("again with the advice: {}", shell_command(&advised.argv));
    }
    let changed = CommandLine { argv: advised.argv.clone(), ..command.clone() };
    match again(run, &changed, &directory.join(WITH_ADVICE), recorder) {
        Ok(Recorded { judged: second, interrupted, .. }) => {
            let exit_code = first.judged.exit_code;
            let sides = Box::new(side_by_side(first.judged, second, advised));
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
