//! `activebench doctor`: shows what can be observed on this host, and the command that fixes each gap.
//!
//! This file gathers the data; `checks` interprets it as a pure function, and `text` renders it.

mod checks;
mod text;

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::Instant;

use activebench_host::{Observability, Process, Roots, StorageRef, Survey};
use activebench_model::call::DeviceNumber;
use activebench_model::host::Target;
use activebench_probe::{KernelTypes, Probe, ProbeError, ProbeOptions};
use activebench_report::escape;
use anyhow::{Context, anyhow};
use serde::Serialize;

use crate::arguments::{Doctor, DoctorFormat};
use crate::exit::{ExitCode, Failure, OrExit};
use crate::{benchmarks, output, print};
use checks::{Attached, Check, System};

/// The value of the key `schema`.
const SCHEMA: &str = "activebench.doctor/1";

/// The diagnosis as it is printed.
#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: &'static str,
    /// `true` if `verify` can observe here.
    can_observe: bool,
    /// The reason why it cannot; `None` if it can.
    why_not: Option<String>,
    checks: Vec<Check>,
}

impl Diagnosis {
    fn of(system: &System, program: &str) -> Self {
        let why_not = system.attached.as_ref().err().cloned();
        Self { schema: SCHEMA, can_observe: why_not.is_none(), why_not, checks: checks::all(system, program) }
    }
}

/// Runs the whole command; returns the exit code.
pub(crate) fn main(arguments: &Doctor) -> Result<i32, Failure> {
    let program = std::env::current_exe().map_or_else(|_| "activebench".to_owned(), |path| path.display().to_string());
    let system = gather(&Roots::default(), &arguments.path)?;
    let diagnosis = Diagnosis::of(&system, &program);
    let text = match arguments.format {
        DoctorFormat::Text => text::render(&diagnosis, output::terminal_style()),
        DoctorFormat::Json => {
            let json = serde_json::to_string_pretty(&diagnosis)
                .context("cannot serialise the diagnosis")
                .or_exit(ExitCode::Bug)?;
            escape::json(&json) + "\n"
        }
    };
    print(&text)?;
    Ok(if diagnosis.can_observe { 0 } else { ExitCode::CannotObserve as i32 })
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
        let number = metadata.rdev();
        let device = DeviceNumber::new(libc::major(number), libc::minor(number));
        survey.targets_of(&[StorageRef::Device(device)]).pop()
    } else {
        survey.target_of_path(path)
    };
    Ok((target, survey.unread().to_vec()))
}
