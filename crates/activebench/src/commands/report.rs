//! `activebench report`: renders a stored run.

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::{bundle, judge, series};
use activebench_record::RunReader;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::{Output, StoredRun};
use crate::{formats, output};

/// Render a stored run.
#[derive(Args, Debug)]
pub(crate) struct Report {
    #[command(flatten)]
    run: StoredRun,
    #[command(flatten)]
    output: Output,
}

impl Subcommand for Report {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let run = self.run.path()?;
        let located = bundle::located(&run)?;
        if let Some(judged) = series::stored(&located.directory, &run, |_| {})? {
            output::deliver_document(&self.output.formats, &judged)?;
            return Ok(0);
        }
        let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
        let timelines = formats::timelines_of(&self.output.formats);
        let judged = judge::judge(&run, &reader, reader.manifest().clone(), timelines).or_exit(ExitCode::Usage)?;
        output::render(&judged, &reader, &self.output, output::Beside::Nothing)?;
        Ok(0)
    }
}
