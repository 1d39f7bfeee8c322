//! `activebench check`: how fast is the storage below a folder?

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use activebench_engine::check::{Check, Checked, answer};
use activebench_engine::failure::{ExitCode, Failure, INTERRUPTED, OrExit};
use activebench_engine::recording::{self, ChildOutput, Observing, Recorder, RunToRecord};
use activebench_engine::runs_folder::{default_directory, point_latest};
use activebench_engine::{interruption, say};
use activebench_model::command::CommandLine;
use activebench_model::run::Choices;
use activebench_model::units::Quantity;
use activebench_report::escape::terminal;
use activebench_tools::ENGINE;
use anyhow::Context;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::{Live, Output, RunsFolder};
use crate::{formats, output};

const ABOUT: &str = "\
Measure the storage below a folder: no benchmark needed.

Runs fio for a minute on a file of its own (at most 1 GiB and a quarter of the free space, removed afterwards): \
sequential and random, reads and durable writes with direct I/O, and the latency at depth 1. The run is observed and \
judged like any other, so only honest figures are in the answer, and each is compared with usual disks, links and clouds.

Exit code: as from `verify`.";

/// Measure the storage below a folder: no benchmark needed.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct CheckFolder {
    /// A folder on the disk.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Time of all passes together, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(6..=3600))]
    seconds: u64,
    /// Directory of the run [default: a new one in the folder of runs, UTC-fio].
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// User that runs fio [default: under sudo the invoking user, else your own].
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    live: Live,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    runs_folder: RunsFolder,
}

impl Subcommand for CheckFolder {
    fn rights(&self) -> Rights {
        // It starts the observer before.
        Rights::Own
    }

    fn run(&self) -> Result<i32, Failure> {
        recording::find_program(&OsString::from(ENGINE.name))?;
        let mut recorder = Recorder::start()?;
        recorder.give_up_root(self.user.as_deref())?;
        output::destinations_can_be_written(&self.output.formats)?;
        let passes = 6;
        let check = Check::of(&self.folder, self.seconds / passes).or_exit(ExitCode::Usage)?;
        if !self.output.quiet {
            say!(
                "about {} s of fio on a file of {} in {}",
                self.seconds,
                Quantity::bytes(check.file_bytes),
                self.folder.display()
            );
        }
        let cwd = std::env::current_dir().context("cannot find the working directory").or_exit(ExitCode::Usage)?;
        let command = CommandLine { argv: check.argv.clone(), cwd: cwd.display().to_string() };
        let directory = self.out.clone().unwrap_or_else(|| default_directory(&self.runs_folder.path, ENGINE.name));
        let observing = Observing {
            user: self.user.clone(),
            quiet: self.output.quiet,
            live: self.live.is_wanted,
            child_output: ChildOutput::Recorded,
            timelines: formats::timelines_of(&self.output.formats),
            ..Observing::default()
        };
        let choices = Choices {
            profile: "default".to_owned(),
            purpose: Some("activebench check".to_owned()),
            fail_on: self.output.fail_on.into(),
            ..Choices::default()
        };
        let argv: Vec<OsString> = check.argv.iter().map(OsString::from).collect();
        let run = RunToRecord {
            observing: &observing,
            argv: &argv,
            command: &command,
            choices: &choices,
            directory: &directory,
            preparation: None,
        };
        let kept = recording::keep(run, &mut recorder);
        if let Err(error) = check.clear() {
            say!("cannot remove the file of the check: {error}");
        }
        let kept = kept?;
        interruption::end_on_signals(&format!("activebench recheck {}", directory.display())).or_exit(ExitCode::Bug)?;
        let recorded = kept.judged()?;
        point_latest(&self.runs_folder.path, &directory);
        output::render(&recorded.judged, &recorded.reader, &self.output, output::Beside::Answer)?;
        if self.output.formats.iter().all(|request| request.file.is_some()) {
            output::print(&table(&self.folder, &answer(&recorded.judged)))?;
        }
        Ok(if recorded.interrupted { INTERRUPTED } else { recorded.judged.exit_code })
    }
}

/// Returns the answer as rows of at most 80 columns: the figure, and where it lies among others.
fn table(folder: &Path, answer: &[Checked]) -> String {
    let mut table = format!("\nCHECK  {}\n", terminal(&folder.display().to_string()));
    for Checked { name, figure, place } in answer {
        let figure = figure.map_or_else(|| "not known".to_owned(), |figure| figure.to_string());
        table.push_str(&format!("  {name:<25}{figure:>11}"));
        if let Some(place) = place {
            table.push_str(&format!("  {place}"));
        }
        table.push('\n');
    }
    table
}
