//! `activebench report`: renders a stored run.

use std::path::PathBuf;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::{bundle, judge, series};
use activebench_record::RunReader;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::Output;
use crate::{formats, output};

/// Render a stored run.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// The directory of a run or a series, or a bundle of either.
    run: PathBuf,
    #[command(flatten)]
    output: Output,
}

impl Subcommand for Report {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let located = bundle::located(&self.run)?;
        if let Some(judged) = series::stored(&located.directory, &self.run, |_| {})? {
            output::deliver_document(&self.output.formats, &judged)?;
            return Ok(0);
        }
        let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
        let timelines = formats::timelines_of(&self.output.formats);
        let judged = judge::judge(&self.run, &reader, reader.manifest().clone(), timelines).or_exit(ExitCode::Usage)?;
        output::render(&judged, &reader, &self.output)?;
        Ok(0)
    }
}
