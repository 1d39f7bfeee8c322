//! Checks of this host: the observations that are possible, and the command that closes each gap.
//!
//! This file gathers the data; `checks` interprets it as a pure function.

mod checks;
mod document;

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Instant;

use activebench_host::{Gap, Mend, Observability, Process, Roots, StorageRef, Survey, device_number};
use activebench_model::host::Target;
use activebench_probe::{Interposer, KernelTypes, Probe, ProbeError, ProbeOptions};
use activebench_runner::with_roots_files;
use anyhow::{Context, anyhow};
use serde::Serialize;

use crate::benchmarks;
use crate::failure::{ExitCode, Failure, OrExit};
use checks::{Attached, System};

pub use checks::{Check, Group, State};

/// The diagnosis as it is printed.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// `true` if `verify` can observe here.
    pub can_observe: bool,
    /// The reason why it cannot; `None` if it can.
    pub why_not: Option<String>,
    /// One line each, by group.
    pub checks: Vec<Check>,
}

impl Diagnosis {
    /// Interprets what was gathered.
    fn of(system: &System, program: &str) -> Self {
        let why_not = system.attached.as_ref().err().cloned();
        Self { can_observe: why_not.is_none(), why_not, checks: checks::all(system, program) }
    }
}

/// Diagnoses this host, and the storage below a path. `settings` is the line on the file of settings.
///
/// # Errors
/// Returns an error if the path cannot be read.
pub fn diagnose(path: &Path, settings: Check) -> Result<Diagnosis, Failure> {
    let system = with_roots_files(|| gather(&Roots::default(), path))?;
    let mut diagnosis = Diagnosis::of(&system, &own_program());
    diagnosis.checks.push(settings);
    Ok(diagnosis)
}

fn own_program() -> String {
    std::env::current_exe().map_or_else(|_| "activebench".to_owned(), |path| path.display().to_string())
}

fn gather(roots: &Roots, path: &Path) -> Result<System, Failure> {
    let (target, storage_unread) = storage_below(roots, path)?;
    // Listed before our programs are attached, which would otherwise be among them.
    let other_tracers = activebench_probe::other_tracers().map_err(|error| error.to_string());
    let benchmarks = benchmarks::look().context("cannot start the event loop").or_exit(ExitCode::Bug)?;
    let host = activebench_host::read_host(roots, Process::Own, &[]);
    Ok(System {
        observability: Observability::read(roots),
        kernel: host.kernel,
        architecture: host.architecture,
        has_call_table: activebench_probe::has_call_table(),
        types: KernelTypes::read(&roots.sys.join("kernel/btf/vmlinux")),
        attached: attach().map_err(|error| error.to_string()),
        tracing_refused: activebench_probe::tracing_refused(),
        interposer_refused: Interposer::new(false).err().map(|error| error.to_string()),
        other_tracers,
        target,
        storage_unread,
        benchmarks,
    })
}

/// Attaches the probes as `verify` does before the benchmark starts, and detaches them.
fn attach() -> Result<Attached, ProbeError> {
    let begin = Instant::now();
    let probe = Probe::attach(ProbeOptions::default())?;
    let took = begin.elapsed();
    Ok(Attached { took, probes: probe.finish(0)?.coverage.probes })
}

/// Returns the storage below a path, and what could not be read while looking for it.
fn storage_below(roots: &Roots, path: &Path) -> Result<(Option<Target>, Vec<String>), Failure> {
    let metadata = std::fs::metadata(path)
        .map_err(|error| {
            let path = path.display();
            anyhow!("cannot look at {path}: {error} (hint: name a directory, file or block device that exists)")
        })
        .or_exit(ExitCode::Usage)?;
    let mut survey = Survey::of(roots, Process::Own);
    let target = if metadata.file_type().is_block_device() {
        survey.targets_of(&[StorageRef::Device(device_number(metadata.rdev()))]).pop()
    } else {
        survey.target_of_path(path)
    };
    Ok((target, survey.unread().to_vec()))
}

/// Describes a gap of this host, with the command that fixes it.
pub(crate) fn gap_text(gap: &Gap, program: &str) -> String {
    match &gap.mend {
        Mend::Command(command) => {
            format!("{} (hint: `{}`)", gap.what, command.replace("{program}", program))
        }
        Mend::Advice(advice) => format!("{} (hint: {advice})", gap.what),
    }
}
