//! Several units under one agreement: each is tested by itself, one after the other, with its own folder and protocol,
//! and one summary shows all of them. What goes wrong with one does not stop the others.

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::batch::{UnitOutcome, summary};
use activebench_detect::acceptance::{Target, folders};
use activebench_model::acceptance::{Acceptance, AgreedFile};
use activebench_model::acceptance_batch::{AcceptanceBatch, UnitRecord};
use activebench_record::RunFolder;
use activebench_report::escape::terminal;
use anyhow::Context;

use super::check::{self, Checked};
use super::record::{Request, Suite, confirmed, create, is_apart, is_possible, remove_unused, write_reports};
use super::unit_record::{self, OfUnit, inside, record_of};
use super::units::{Chosen, no_unit};
use super::{AGREED, Agreed, stored};
use crate::derived_files;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::interruption::{self, Stop};
use crate::recording::Recorder;
use crate::runs_folder::{default_directory, point_latest};

/// Stem of the files of the summary.
const SUMMARY: &str = "summary";

/// What stored runs give: the acceptance of one unit, or of several.
#[derive(Debug)]
pub enum Stored {
    /// One unit.
    One(Box<Acceptance>),
    /// Several units.
    Several(Box<AcceptanceBatch>),
}

/// A unit before its suite.
struct Planned<'a> {
    unit: &'a Target,
    directory: PathBuf,
    record: UnitRecord,
    /// Its benchmarks, and the device that may be written; or why it cannot be tested.
    ready: Result<(Checked, Option<PathBuf>), Failure>,
}

/// Runs the suite on each unit and judges it; returns `true` if a signal ended it.
///
/// # Errors
/// Returns an error if no unit can be tested.
pub fn record(request: &Request<'_>, agreed: &Agreed, units: &[Target]) -> Result<(AcceptanceBatch, bool), Failure> {
    check::check_agreement(agreed)?;
    is_possible()?;
    let out = request.out.map_or_else(|| default_directory(request.runs_folder, "accept"), Path::to_owned);
    let mut planned = Vec::new();
    for (number, (unit, name)) in (1..).zip(units.iter().zip(folders(units))) {
        let ready = ready(request, agreed, unit);
        let record = record_of(number, unit, check::identity_of(unit));
        planned.push(Planned { unit, directory: out.join(name), record, ready });
    }
    if planned.iter().all(|one| one.ready.is_err()) {
        return Err(planned.into_iter().find_map(|one| one.ready.err()).unwrap_or_else(|| no_unit(agreed)));
    }
    create(&out, agreed)?;
    units.iter().try_for_each(|unit| is_apart(&out, unit)).inspect_err(|_| remove_unused(&out))?;
    let mut recorder = Recorder::start().inspect_err(|_| remove_unused(&out))?;
    let stop = Stop::on_signals().or_exit(ExitCode::Bug)?;
    let all = planned.len();
    for (number, one) in (1..).zip(planned) {
        if !request.quiet {
            say!("unit {number} of {all}: {}", terminal(&one.unit.path.value));
        }
        one.test(request, agreed, &mut recorder, &stop)?;
    }
    let interrupted = stop.is_set();
    let again = format!("activebench accept {} {}", out.join(AGREED).display(), out.display());
    interruption::end_on_signals(&again).or_exit(ExitCode::Bug)?;
    let copy = Agreed::read(&out.join(AGREED))?;
    let Stored::Several(batch) = stored(&copy, &Chosen::Open, std::slice::from_ref(&out))? else {
        return Err(no_unit(agreed));
    };
    if let Err(error) = derived_files::write_every_format(&out, SUMMARY, &*batch) {
        say!("{error:#}");
    }
    point_latest(request.runs_folder, &out);
    Ok((*batch, interrupted))
}

/// Checks a unit before anything runs, and asks whether it may be destroyed.
fn ready(request: &Request<'_>, agreed: &Agreed, unit: &Target) -> Result<(Checked, Option<PathBuf>), Failure> {
    let checked = check::check(agreed, unit)?;
    let destroy = confirmed(request, unit);
    Suite { request, agreed, unit, destroy: destroy.clone() }.devices(&checked.benchmarks)?;
    Ok((checked, destroy))
}

impl Planned<'_> {
    /// Tests the unit, if that is possible, and writes its protocol. Why it was not tested stands in its folder.
    fn test(
        mut self,
        request: &Request<'_>,
        agreed: &Agreed,
        recorder: &mut Recorder,
        stop: &Stop,
    ) -> Result<(), Failure> {
        let cannot = || format!("cannot create {}", self.directory.display());
        std::fs::create_dir(&self.directory).with_context(cannot).or_exit(ExitCode::Usage)?;
        let folder = RunFolder::open(&self.directory).or_exit(ExitCode::Usage)?;
        folder.replace(AGREED, agreed.text.as_bytes()).with_context(cannot).or_exit(ExitCode::Usage)?;
        unit_record::write(&self.directory, &self.record)?;
        let tested = match (stop.is_set(), self.ready) {
            (true, _) => Err("interrupted before it began".to_owned()),
            (false, Err(failure)) => Err(format!("{:#}", failure.error)),
            (false, Ok((checked, destroy))) => {
                let suite = Suite { request, agreed, unit: self.unit, destroy };
                let recorded = suite.record(&checked.benchmarks, &self.directory, recorder, stop);
                recorded.map_err(|failure| format!("{:#}", failure.error))
            }
        };
        if let Err(why) = tested {
            say!("{} was not tested: {why}", terminal(&self.unit.path.value));
            self.record.not_tested = Some(why);
            return unit_record::write(&self.directory, &self.record);
        }
        let copy = Agreed::read(&self.directory.join(AGREED))?;
        let judged = stored::judged(&copy, self.unit, std::slice::from_ref(&self.directory));
        match judged {
            Ok(judged) => write_reports(&self.directory, &judged),
            // The summary says it too.
            Err(failure) => say!("{:#}", failure.error),
        }
        Ok(())
    }
}

/// Judges stored runs: those of one unit, or the folders of several.
///
/// # Errors
/// Returns an error if the runs cannot be read, or belong to no known unit.
pub fn stored(agreed: &Agreed, chosen: &Chosen, named: &[PathBuf]) -> Result<Stored, Failure> {
    let mut units: Vec<OfUnit> = Vec::new();
    let mut others = 0;
    for path in named {
        let inner = inside(path)?;
        let own = if path.is_dir() { unit_record::read(path)? } else { None };
        others += usize::from(inner.is_empty() && own.is_none());
        units.extend(own.into_iter().chain(inner));
    }
    let terms = &agreed.file.terms;
    if units.is_empty() {
        let unit = match chosen {
            Chosen::One(unit) => unit,
            Chosen::Several(units) if units.len() == 1 => &units[0],
            Chosen::Several(_) | Chosen::Open => return Err(no_unit(agreed)),
        };
        return Ok(Stored::One(Box::new(stored::judged(agreed, unit, named)?)));
    }
    if let (true, [one]) = (named.len() == 1 && others == 0 && named[0] == units[0].directory, &units[..]) {
        return Ok(Stored::One(Box::new(stored::judged(agreed, &one.unit(terms.destroy), named)?)));
    }
    let outcome = |of: &OfUnit| -> UnitOutcome {
        let judged = match &of.record.not_tested {
            Some(why) => Err(why.clone()),
            None => stored::judged(agreed, &of.unit(terms.destroy), std::slice::from_ref(&of.directory))
                .map_err(|failure| format!("{:#}", failure.error)),
        };
        let found = of.record.found.clone();
        let device = judged.as_ref().ok().and_then(|judged| check::tested(judged.target.devices.clone())).or(found);
        UnitOutcome {
            name: of.name.clone(),
            path: of.record.path.clone(),
            device,
            directory: of.directory.display().to_string(),
            judged,
        }
    };
    let outcomes: Vec<UnitOutcome> = units.iter().map(outcome).collect();
    let words = ["activebench", "accept"].map(str::to_owned).into_iter();
    let paths = std::iter::once(&agreed.path).chain(named).map(|path| path.display().to_string());
    let file = AgreedFile { name: agreed.name(), sha256: agreed.sha256.clone() };
    let recheck = words.chain(paths).collect();
    Ok(Stored::Several(Box::new(summary(&agreed.file, env!("CARGO_PKG_VERSION"), file, outcomes, recheck))))
}
