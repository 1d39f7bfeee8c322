//! Purge and preconditioning before a series of the profile `pts`: SNIA PTS begins every test with them.
//!
//! Preconditioning is a run like any other: fio writes the device twice over, under observation. The record of every
//! run that follows states how much the device took.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use activebench_host::Roots;
use activebench_model::command::CommandLine;
use activebench_model::fact::FactName;
use activebench_model::preparation::{Preconditioning, Preparation, Purge};
use activebench_model::report::JudgedRun;
use activebench_model::run::Choices;
use activebench_model::verdict::RunVerdict;
use activebench_runner::Confinement;
use activebench_tools::{ENGINE, engine_path};
use anyhow::{Context, anyhow};

use crate::device_guard::{self, Unused};
use crate::failure::{ExitCode, Failure, OrExit};
use crate::interruption::Stop;
use crate::named_devices::named;
use crate::recording::{self, Observing, Recorded, Recorder, RunToRecord, find_program, identity};

/// Folder of the recorded preconditioning, beside the runs of the series.
pub const DIRECTORY: &str = "preconditioning";
/// How often the device is written over.
pub const TIMES: u64 = 2;

/// Purges and preconditions a device for a command; `None` when a signal ended that.
///
/// # Errors
/// Returns an error if the device is a partition, fio is missing or fails, or the command could not open the device.
pub fn prepare(
    observing: &Observing,
    measured: &CommandLine,
    device: &Unused,
    directory: &Path,
    recorder: &mut Recorder,
    stop: &Stop,
) -> Result<Option<Preparation>, Failure> {
    let say = |words: &str| {
        if !observing.quiet {
            say!("{words}");
        }
    };
    let command = preconditioning(&device.pin.node);
    find_program(&OsString::from(&command[0]))?;
    let shown = device.pin.node.display();
    if let Some(disk) = &device.partition_of {
        // The contents of the rest of the disk affect the figures as much.
        return Err(Failure::new(
            ExitCode::Usage,
            anyhow!(
                "{shown} is a partition of {disk}, and SNIA PTS preconditions whole devices: nothing was written (hint: \
                 `wipefs --all` of {disk} if nothing on it is needed any more, and --destroy with its path)"
            ),
        ));
    }
    let other = identity(observing.user.as_deref())?;
    if let Some(identity) = &other {
        let writes = named(measured).written.contains_key(&device.pin.number);
        device_guard::openable(&device.pin.node, identity, writes)?;
    }
    still_it(device)?;
    let purge = purge(device);
    // Checked before the next write: whoever pressed Ctrl-C did so to keep what is left.
    let Some(purge) = purge.filter(|_| !stop.is_set()) else { return Ok(None) };
    match &purge {
        Purge::Discard => say(&format!("{shown} is purged: all of it was discarded")),
        Purge::Not { why } => say(&format!("{shown} is not purged: {why}")),
    }
    say(&format!("preconditioning: {shown} is written twice over (round 0; the runs that count come after it)"));
    let observing = &Observing {
        // The time limit is that of a measured run.
        timeout: None,
        // Permission to write the device was given to us: the benchmark's user may only read it, or write a part.
        user: other.map(|_| "root".to_owned()),
        // Whatever its name leads to by then, no other device is written.
        confinement: Some(Confinement { devices: vec![device.pin.clone()], ..Confinement::default() }),
        program: None,
        ..observing.clone()
    };
    let cwd = std::env::current_dir().context("cannot determine the working directory").or_exit(ExitCode::Usage)?;
    let line = CommandLine { argv: command.clone(), cwd: cwd.display().to_string() };
    let choices = Choices { profile: "default".to_owned(), ..Choices::default() };
    let place = directory.join(DIRECTORY);
    let Recorded { judged, reader, interrupted } = recording::record(
        RunToRecord {
            observing,
            argv: &command.iter().map(OsString::from).collect::<Vec<_>>(),
            command: &line,
            choices: &choices,
            directory: &place,
            preparation: None,
        },
        recorder,
    )?;
    if interrupted || stop.is_set() {
        return Ok(None);
    }
    if judged.verdict == RunVerdict::Failed {
        return Err(Failure::new(
            ExitCode::BenchmarkFailed,
            anyhow!("cannot precondition {shown}: fio failed (hint: its output is in {})", place.display()),
        ));
    }
    let sha256 = reader.manifest_sha256().to_owned();
    let written_bytes = written(&judged);
    match written_bytes {
        Some(bytes) => {
            say(&format!("preconditioned: the device took {:.2} times its size", bytes / device.size_bytes as f64))
        }
        None => say("preconditioned, and what of it reached the device was not seen whole"),
    }
    Ok(Some(Preparation {
        device: device.pin.node.display().to_string(),
        number: device.pin.number,
        size_bytes: device.size_bytes,
        purge,
        preconditioning: Preconditioning { command, written_bytes, directory: DIRECTORY.to_owned(), sha256 },
    }))
}

/// Returns the fio command that writes the device twice: sequential blocks of 128 KiB, direct I/O, incompressible data.
fn preconditioning(device: &Path) -> Vec<String> {
    let filename = format!("--filename={}", engine_path(device));
    let loops = format!("--loops={TIMES}");
    let words = [
        ENGINE.name,
        "--name=preconditioning",
        &filename,
        "--rw=write",
        "--bs=128k",
        "--ioengine=libaio",
        "--iodepth=32",
        "--direct=1",
        "--size=100%",
        &loops,
        "--refill_buffers",
        "--end_fsync=1",
    ];
    words.into_iter().map(str::to_owned).collect()
}

/// Checks that the device is still the one that may be written.
fn still_it(device: &Unused) -> Result<(), Failure> {
    let differs = |why| anyhow!("{} {why}: nothing was written", device.pin.node.display());
    device.pin.check(&Roots::default()).map_err(|why| Failure::new(ExitCode::Usage, differs(why)))
}

/// Discards all of a device; `None` when a signal ended that.
fn purge(device: &Unused) -> Option<Purge> {
    if device.discards == Some(false) {
        return Some(Purge::Not { why: "it takes no discards".to_owned() });
    }
    match Command::new("blkdiscard").arg(&device.pin.node).output() {
        Ok(output) if output.status.success() => Some(Purge::Discard),
        Ok(output) if output.status.signal().is_some() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(Purge::Not { why: activebench_report::escape::terminal(said.trim()) })
        }
        Err(error) => Some(Purge::Not { why: format!("cannot start blkdiscard: {error}") }),
    }
}

/// Returns the bytes that the device took in the passes of the preconditioning; `None` if not all were seen.
pub(crate) fn written(judged: &JudgedRun) -> Option<f64> {
    let of = |name| judged.phases.iter().map(|phase| phase.facts.complete(name).ok()).sum::<Option<f64>>();
    (!judged.phases.is_empty()).then(|| of(FactName::DeviceWriteBytes)).flatten()
}
