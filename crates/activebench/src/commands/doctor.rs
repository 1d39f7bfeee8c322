//! `activebench doctor`: shows what can be observed on this host, and the command that fixes each gap.

use std::path::PathBuf;

use activebench_engine::doctor::{Check, Diagnosis, diagnose};
use activebench_engine::failure::{ExitCode, Failure};
use clap::{Args, CommandFactory};

use super::{Rights, Subcommand};
use crate::formats::FormatRequest;
use crate::settings::Settings;
use crate::{Cli, output};

const ABOUT: &str = "\
Show what this host allows activebench to observe, and the command that fixes each gap.

It loads and attaches the kernel programs as `verify` would, and detaches them again. Nothing is run and nothing is \
changed, except that installed benchmarks are asked for their version.

Each line has a state:
  ok       available
  gap      missing; a line with `$` has the command that fixes it
  never    not available on this kernel, machine or file system
  unknown  it could not be read

and its meaning for the verdicts. The storage is the one below PATH: name the directory in which the benchmark will \
work.

Exit code: 0 if `verify` can observe here, 5 if it cannot. Gaps that cost only a part of the evidence do not change it.

Examples:
  sudo activebench doctor /mnt/bench
  activebench doctor --format json | jq '.checks[] | select(.state == \"gap\")'";

/// Show what this host allows activebench to observe, and the command that fixes each gap.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct Doctor {
    /// A directory, file or block device that a benchmark will use.
    #[arg(default_value = ".")]
    path: PathBuf,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `html=doctor.html`. May be given several times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    formats: Vec<FormatRequest>,
}

impl Subcommand for Doctor {
    fn rights(&self) -> Rights {
        Rights::Root
    }

    fn run(&self) -> Result<i32, Failure> {
        output::document_formats_exist::<Diagnosis>(&self.formats)?;
        let settings = Settings::read(&Cli::command())?;
        let line = Check::settings(settings.words(), settings.refused.is_none());
        let diagnosis = diagnose(&self.path, line)?;
        output::deliver_document(&self.formats, &diagnosis)?;
        Ok(if diagnosis.can_observe { 0 } else { ExitCode::CannotObserve as i32 })
    }
}
