//! `activebench compare`: stored runs, or series of runs, side by side.

use std::path::PathBuf;

use activebench_detect::compare::compare;
use activebench_engine::comparison::column;
use activebench_engine::failure::Failure;
use activebench_model::compare::Comparison;
use clap::Args;

use super::{Rights, Subcommand};
use crate::formats::FormatRequest;
use crate::output;

const ABOUT: &str = "\
Compare stored runs side by side: what each claimed, the honest figures, and their ratios to the first run.

Only honest figures are compared: a claim that is confirmed, or the figure that replaces a refuted one. A figure \
without an honest value is shown as such. Each number has its verdict, and other differences between the runs \
(tool, command, storage, host, kernel, rules) are listed.

RUN is the directory of a run or of a series (`verify --repeat`), or a bundle of either. The median of a series is \
compared; the ratio of two series of at least 7 runs has a 95 % interval.

Exit code: 0 if the runs could be read and compared, whatever their verdicts; otherwise 2.

Examples:
  activebench compare runs/disk-a runs/disk-b
  activebench compare before after --format markdown=ticket.md";

/// Compare stored runs side by side: what each claimed, the honest figures, and their ratios.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct CompareRuns {
    /// Directories of runs or of series; the others are compared with the first.
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `markdown=ticket.md`. May be given several
    /// times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    formats: Vec<FormatRequest>,
}

impl Subcommand for CompareRuns {
    fn rights(&self) -> Rights {
        Rights::User
    }

    /// Compares runs. The verdicts do not affect the exit code: the command did what it was asked.
    fn run(&self) -> Result<i32, Failure> {
        output::document_formats_exist::<Comparison>(&self.formats)?;
        let columns = self.runs.iter().map(|path| column(path)).collect::<Result<Vec<_>, _>>()?;
        output::deliver_document(&self.formats, &compare(&columns))?;
        Ok(0)
    }
}
