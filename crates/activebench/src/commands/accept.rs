//! `activebench accept`: a suite of benchmarks against limits that two parties agreed on.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use activebench_engine::acceptance::batch::{self, Stored};
use activebench_engine::acceptance::record::{RecordedSuite, Request, record};
use activebench_engine::acceptance::units::{Chosen, Named, no_unit};
use activebench_engine::acceptance::{Agreed, check, check_summary, template};
use activebench_engine::failure::{ExitCode, Failure, INTERRUPTED, OrExit};
use activebench_model::acceptance::Acceptance;
use anyhow::Context;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::RunsFolder;
use crate::formats::FormatRequest;
use crate::output::{self, print};

/// The first paragraph of `accept --help`.
const ABOUT: &str = "\
Test a disk against limits that buyer and vendor agreed on beforehand.

FILE.toml contains the agreement: a suite of benchmark commands with their number of runs, a limit for each figure, the \
conditions that must be met, and the decision rule. Limits are applied to the honest figures: a claim that is confirmed, \
or the figure that replaces a refuted one.

The unit under test is the target that the file names, or each --unit: one agreement serves any number of disks. They \
are tested one after the other, each with its own folder and protocol, and a summary shows all of them. What goes wrong \
with one does not stop the others.

Without RUN the suite is run and recorded (as root): each benchmark as a series below OUT, with the file, the judgement \
and the reports. With RUN nothing is run: stored runs, series, or the directory of a whole acceptance are judged, \
without root and on any machine.

The outcome of each limit is pass, conditional pass, conditional fail or fail (ILAC-G8:09/2019), or not judged if the \
evidence is incomplete or a condition is not met. docs/accept.md describes the file and the uncertainty.

Exit code: 0 for pass, and for conditional pass if the file accepts it; 1 for fail, conditional fail, and conditional \
pass if the file does not accept it; 3 for not judged; 2 for a file that cannot be used, or a device that must not be \
written or is not the agreed one; 4 if the benchmarks could not start; 5 if nothing could be observed; 130 if \
interrupted: what was recorded is kept and not judged.

Examples:
  activebench accept --init /mnt/bench > offer-42.toml
  activebench accept --check offer-42.toml
  sudo activebench accept offer-42.toml --out offer-42
  sudo activebench accept offer-42.toml --unit /dev/sdb --unit /dev/sdc --out offer-42
  activebench accept offer-42/acceptance.toml offer-42
  activebench accept offer-42.toml offer-42 --format markdown=ticket.md --format html=report.html";

/// Test a disk against limits that were agreed on beforehand.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct Accept {
    /// The file that both parties agreed on; with --init the file to create [default: standard output].
    #[arg(value_name = "FILE.toml", required_unless_present = "init")]
    file: Option<PathBuf>,
    /// Judge these instead of running anything: directories of runs, of series, or of a whole acceptance, or bundles.
    #[arg(value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Unit under test, a device or a directory, for a file that names none. May be given several times: one after the
    /// other is tested.
    #[arg(long = "unit", value_name = "DEVICE", conflicts_with = "init")]
    units: Vec<PathBuf>,
    /// File with a section [[unit]] for each unit under test: `device` or `path`, and what identifies it (`model`,
    /// `serial`, `firmware`).
    #[arg(long = "units", value_name = "FILE", conflicts_with = "init")]
    list: Option<PathBuf>,
    /// Only check whether the file can be used on this machine. Prints what its commands will run and can claim, how long
    /// that takes, and how many bytes it writes to each unit.
    #[arg(long, conflicts_with_all = ["runs", "init", "out"])]
    check: bool,
    /// Write a commented file for this directory or device, with its identity and sensible benchmarks.
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["runs", "out", "formats"])]
    init: Option<PathBuf>,
    /// Directory of the recorded suite [default: a new one in the folder of runs, UTC-accept].
    #[arg(long, value_name = "DIR", conflicts_with = "runs")]
    out: Option<PathBuf>,
    /// Unit that is a raw device, and that the file permits to destroy, by its exact path: both are required. May be
    /// given several times. Refused if the device is mounted, swap, or part of a stack, whatever the file permits.
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["runs", "init", "check"])]
    destroy: Vec<PathBuf>,
    /// `text`, `json`, `markdown` or `html`, with a file to write it to: `html=report.html`. May be given several times.
    #[arg(long = "format", value_name = "FORMAT[=FILE]")]
    formats: Vec<FormatRequest>,
    /// User that runs the benchmarks [default: under sudo the invoking user, else your own].
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Print nothing but the report.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    runs_folder: RunsFolder,
}

impl Subcommand for Accept {
    fn rights(&self) -> Rights {
        Rights::Root
    }

    fn run(&self) -> Result<i32, Failure> {
        if let Some(target) = &self.init {
            return self.write_template(target);
        }
        output::document_formats_exist::<Acceptance>(&self.formats)?;
        let path = self.file.as_deref().context("no acceptance file was named").or_exit(ExitCode::Usage)?;
        let agreed = Agreed::read(path)?;
        let chosen = Named { paths: self.units.clone(), list: self.list.clone() }.chosen(&agreed)?;
        if self.check {
            return Self::print_check(&agreed, &chosen);
        }
        if self.runs.is_empty() {
            return self.record(&agreed, &chosen);
        }
        match batch::stored(&agreed, &chosen, &self.runs)? {
            Stored::One(judged) => {
                output::deliver_document(&self.formats, &*judged)?;
                Ok(judged.exit_code)
            }
            Stored::Several(judged) => {
                output::deliver_document(&self.formats, &*judged)?;
                Ok(judged.exit_code)
            }
        }
    }
}

impl Accept {
    /// Checks the file for every unit, or alone if there is none.
    fn print_check(agreed: &Agreed, chosen: &Chosen) -> Result<i32, Failure> {
        let units = match chosen {
            Chosen::Open => {
                print(&check_summary::summary(agreed, &[], Some(&check::check_agreement(agreed)?)))?;
                return Ok(0);
            }
            Chosen::One(unit) => std::slice::from_ref(unit),
            Chosen::Several(units) => units,
        };
        let mut checked = Vec::new();
        for unit in units {
            checked.push((unit, check::check(agreed, unit)?));
        }
        print(&check_summary::summary(agreed, &checked, None))?;
        Ok(0)
    }

    /// Runs the suite on the units, and delivers what was judged.
    fn record(&self, agreed: &Agreed, chosen: &Chosen) -> Result<i32, Failure> {
        let (out, user) = (self.out.as_deref(), self.user.as_deref());
        let request =
            Request { out, runs_folder: &self.runs_folder.path, destroy: &self.destroy, user, quiet: self.quiet };
        let (exit_code, interrupted) = match chosen {
            Chosen::Open => return Err(no_unit(agreed)),
            Chosen::One(unit) => {
                let RecordedSuite { judged, interrupted } = record(&request, agreed, unit)?;
                output::deliver_answer(&self.formats, &judged)?;
                (judged.exit_code, interrupted)
            }
            Chosen::Several(units) => {
                let (judged, interrupted) = batch::record(&request, agreed, units)?;
                output::deliver_answer(&self.formats, &judged)?;
                (judged.exit_code, interrupted)
            }
        };
        Ok(if interrupted { INTERRUPTED } else { exit_code })
    }

    /// Writes a commented file for a target: to a new file, or to standard output.
    fn write_template(&self, target: &Path) -> Result<i32, Failure> {
        let text = template::template(target)?;
        match &self.file {
            None => print(&text)?,
            Some(path) => {
                let made = OpenOptions::new().write(true).create_new(true).open(path);
                made.and_then(|mut file| file.write_all(text.as_bytes()))
                    .with_context(|| format!("cannot write {} (hint: name a new file)", path.display()))
                    .or_exit(ExitCode::Usage)?;
            }
        }
        Ok(0)
    }
}
