//! `activebench __floor`: runs a command while programs that do nothing are attached.
//!
//! The command is neither suspended nor followed: the programs see every process alike.

use std::ffi::OsString;
use std::process::Command;

use activebench_probe::{Floor, FloorHooks};
use anyhow::Context;

use activebench_engine::failure::{ExitCode, Failure, OrExit};

/// Runs the command; returns its exit code, or 128 plus the signal that ended it.
pub(super) fn run_beside(exit_only: bool, words: &[OsString]) -> Result<i32, Failure> {
    use std::os::unix::process::ExitStatusExt;
    let hooks = if exit_only { FloorHooks::ExitOnly } else { FloorHooks::CallsAndRequests };
    let _floor = Floor::attach(hooks).or_exit(ExitCode::CannotObserve)?;
    let status = Command::new(&words[0])
        .args(&words[1..])
        .status()
        .with_context(|| format!("cannot start {}", words[0].display()))
        .or_exit(ExitCode::BenchmarkFailed)?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}
