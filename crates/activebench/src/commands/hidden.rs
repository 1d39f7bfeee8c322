//! Subcommands for the tests and tools of this repository; `--help` does not list them.

mod empty_programs;
mod made_up_run;
mod man_pages;
mod tables_page;
mod workload;

use std::ffi::OsString;
use std::path::PathBuf;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use anyhow::Context;

use super::{Rights, Subcommand, detectors};
use crate::output::print;

/// The hidden subcommands.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Hidden {
    /// Internal: run a small workload of our own.
    #[command(name = "__workload", hide = true)]
    Workload {
        #[command(subcommand)]
        workload: workload::Workload,
    },
    /// Internal: run a command while programs that do nothing are attached to every call and request.
    #[command(name = "__floor", hide = true)]
    Floor {
        /// Attach only to the exit of calls.
        #[arg(long)]
        exit_only: bool,
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Internal: write a run directory of reads that nobody made.
    #[command(name = "__recorded", hide = true)]
    Recorded(made_up_run::Recorded),
    /// Internal: list the BPF programs that trace this machine, one name per line.
    #[command(name = "__tracers", hide = true)]
    Tracers,
    /// Internal: write every detector's page into a folder.
    #[command(name = "__detector-pages", hide = true)]
    DetectorPages { folder: PathBuf },
    /// Internal: print the page that lists the tables and their columns.
    #[command(name = "__tables-page", hide = true)]
    TablesPage,
    /// Internal: write the manual pages of the program and its subcommands into a folder.
    #[command(name = "__man-pages", hide = true)]
    ManPages { folder: PathBuf },
}

impl Subcommand for Hidden {
    fn rights(&self) -> Rights {
        Rights::Own
    }

    fn run(&self) -> Result<i32, Failure> {
        match self {
            Hidden::Workload { workload } => {
                workload.run().context("the workload failed").or_exit(ExitCode::BenchmarkFailed)?;
            }
            Hidden::Floor { exit_only, command } => return empty_programs::run_beside(*exit_only, command),
            Hidden::Recorded(recorded) => recorded.write().or_exit(ExitCode::Usage)?,
            Hidden::Tracers => {
                let names = activebench_probe::tracing_programs().or_exit(ExitCode::CannotObserve)?;
                print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
            }
            Hidden::DetectorPages { folder } => detectors::write_pages(folder).or_exit(ExitCode::Usage)?,
            Hidden::TablesPage => print(&tables_page::page())?,
            Hidden::ManPages { folder } => man_pages::write(folder).or_exit(ExitCode::Usage)?,
        }
        Ok(0)
    }
}
