//! `activebench explain`: the manual page of a detector.

use activebench_detect::{manual, registry};
use activebench_engine::failure::{ExitCode, Failure};
use anyhow::anyhow;
use clap::Args;

use super::{Rights, Subcommand};
use crate::output::print;

/// Print the manual page of a detector.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// Code or name: `AB302` or `sync-outside-clock`.
    detector: String,
}

impl Subcommand for Explain {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let Some(detector) = registry::find(&self.detector) else {
            let error = anyhow!("no detector {} (hint: `activebench detectors` lists them)", self.detector);
            return Err(Failure::new(ExitCode::Usage, error));
        };
        print(&manual::manual_page(detector))?;
        Ok(0)
    }
}
