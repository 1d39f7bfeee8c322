//! `activebench recheck`: judges a stored run again.

use std::path::PathBuf;

use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::{bundle, derived_files, judge, recording, series, thresholds};
use activebench_model::report::JudgedRun;
use activebench_model::run::Choices;
use activebench_record::RunReader;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::{Output, StoredRun, known_profile};
use crate::{formats, output};

/// Judge a stored run again: no root needed, any machine.
#[derive(Args, Debug)]
pub(crate) struct Recheck {
    #[command(flatten)]
    run: StoredRun,
    /// Judge with another profile than the one of the run.
    #[arg(long, value_name = "NAME", value_parser = known_profile())]
    profile: Option<String>,
    /// Judge with the thresholds of this file instead of the file of the run.
    #[arg(long, value_name = "FILE.toml")]
    thresholds: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Subcommand for Recheck {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let run = self.run.path()?;
        let file = match &self.thresholds {
            Some(path) => Some(thresholds::read(path).or_exit(ExitCode::Usage)?),
            None => None,
        };
        let choose = |choices: &mut Choices| {
            if file.is_some() {
                choices.thresholds.clone_from(&file);
            }
            if let Some(profile) = &self.profile {
                choices.profile.clone_from(profile);
            }
            choices.fail_on = self.output.fail_on.into();
        };
        let located = bundle::located(&run)?;
        recording::repair(&located.directory).or_exit(ExitCode::Usage)?;
        // A judgement by other rules than those of the run is not stored with it.
        let as_recorded = self.thresholds.is_none() && self.profile.is_none();
        let mut renew = |_: &str, reader: &RunReader, judged: &JudgedRun| {
            if as_recorded {
                derived_files::renew_figures(reader, judged);
            }
            Ok(())
        };
        // The preconditioning is evidence, and not one of the runs that a history follows.
        let mut preconditioning = |_: &str, _: &RunReader, _: &JudgedRun| Ok(());
        let prepared: Option<series::Each<'_>> = Some(&mut preconditioning);
        if let Some(judged) =
            series::judged_each(&located.directory, &run, choose, &mut renew, prepared, judge::Timelines::LeftOut)?
        {
            output::deliver_document(&self.output.formats, &judged)?;
            return Ok(judged.exit_code);
        }
        let reader = RunReader::open(&located.directory).or_exit(ExitCode::Usage)?;
        let mut manifest = reader.manifest().clone();
        choose(&mut manifest.choices);
        let timelines = formats::timelines_of(&self.output.formats);
        let judged = judge::judge(&run, &reader, manifest, timelines).or_exit(ExitCode::Usage)?;
        output::render(&judged, &reader, &self.output, output::Beside::Nothing)?;
        if as_recorded {
            derived_files::renew_figures(&reader, &judged);
        }
        Ok(judged.exit_code)
    }
}
