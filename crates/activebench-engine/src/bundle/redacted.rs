//! The redacted copy of the runs that are bundled.

use std::fs;
use std::path::Path;

use activebench_bundle::{BundleKind, RUN};
use activebench_record::{Given, Redactor, RunReader, copy_series, read_series};
use anyhow::anyhow;
use tempfile::TempDir;

use super::judged_contents::{self, Whole};
use crate::failure::{ExitCode, Failure, OrExit};

/// File that holds this machine's host name.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// Environment variables that hold the current user's name.
const USERS: &[&str] = &["SUDO_USER", "USER", "LOGNAME"];

/// A redacted copy, removed when dropped.
pub(super) struct Copy {
    pub(super) redactor: Redactor,
    _folder: TempDir,
}

/// Makes a redacted copy of the judged runs, and judges the copy: the outcome must be the same.
pub(super) fn copied(directory: &Path, named: &[String], original: Whole) -> Result<(Whole, Copy), Failure> {
    let folder = super::folder()?;
    let to = folder.path().join(RUN);
    // The runs have the same names as in the bundle: `run`, `run/1`.
    let below = |name: &str| name.strip_prefix(RUN).unwrap_or(name).trim_start_matches('/').to_owned();
    let series = match original.described.kind {
        BundleKind::Series => read_series(directory).or_exit(ExitCode::Usage)?.map(|stored| stored.manifest),
        BundleKind::Run | BundleKind::WithAdvice => None,
    };
    // The preconditioning first: the runs state its SHA-256.
    let preconditioning = series.as_ref().and_then(|series| series.preconditioning.clone());
    let runs = original.described.runs.iter().map(|run| below(&run.directory));
    let names: Vec<String> = preconditioning.iter().cloned().chain(runs).collect();
    let mut redactor = Redactor::default();
    let mut readers = Vec::new();
    for name in &names {
        let reader = RunReader::open_inside(directory, name).or_exit(ExitCode::Usage)?;
        let output = reader.output().or_exit(ExitCode::Usage)?;
        let hosts = activebench_tools::ADAPTERS.iter().flat_map(|adapter| adapter.host_names(&output)).collect();
        redactor.learn_given(&Given { hosts, ..Given::default() });
        redactor.learn_run(&reader).or_exit(ExitCode::Usage)?;
        readers.push(reader);
    }
    redactor.learn_given(&here(named));
    redactor.finish();
    if let Some(manifest) = &series {
        fs::create_dir_all(&to).or_exit(ExitCode::Usage)?;
        copy_series(&redactor, manifest, &to).or_exit(ExitCode::Usage)?;
    }
    let mut sha256 = None;
    for (name, reader) in names.iter().zip(&readers) {
        redactor.copy_run(reader, &to.join(name), sha256.as_deref()).or_exit(ExitCode::Usage)?;
        if preconditioning.as_ref() == Some(name) {
            let copy = RunReader::open_inside(&to, name).or_exit(ExitCode::Usage)?;
            sha256 = Some(copy.manifest_sha256().to_owned());
        }
    }
    let copy = judged_contents::judged(&to)?;
    if let Some(difference) = difference(&original, &copy) {
        let error = anyhow!(
            "the redacted copy gets another verdict than the run ({difference}): one of the replaced words changes \
             it, so nothing was written (hint: bundle it without --redact-word, or without --redact)"
        );
        return Err(Failure::new(ExitCode::Usage, error));
    }
    let kept: Vec<&str> = redactor.kept().collect();
    if !kept.is_empty() {
        say!(
            "kept, because they are ordinary words too: {} (hint: --redact-word WORD replaces one all the same)",
            kept.join(", ")
        );
    }
    Ok((Whole { strays: original.strays, ..copy }, Copy { redactor, _folder: folder }))
}

/// Returns the first difference between two judgements; `None` if there is none.
fn difference(original: &Whole, copy: &Whole) -> Option<String> {
    let told = |whole: &Whole| (whole.described.verdict, whole.described.exit_code, whole.described.runs.clone());
    if told(original) != told(copy) {
        let verdict = |whole: &Whole| whole.described.verdict.as_str();
        return Some(format!("{} became {}", verdict(original), verdict(copy)));
    }
    let (before, after) = (&original.tests, &copy.tests);
    for (what, before, after) in [
        ("fails", &before.failed, &after.failed),
        ("warns", &before.warned, &after.warned),
        ("is silent", &before.passed, &after.passed),
    ] {
        let only = |one: &[String], other: &[String]| one.iter().find(|test| !other.contains(test)).cloned();
        if let Some(test) = only(before, after) {
            return Some(format!("{test} {what} no longer"));
        }
        if let Some(test) = only(after, before) {
            return Some(format!("{test} {what} now"));
        }
    }
    None
}

/// Returns the names of this machine and its user: a run is mostly bundled where it was made.
fn here(named: &[String]) -> Given {
    let host = fs::read_to_string(HOSTNAME).map(|name| name.trim().to_owned());
    Given {
        hosts: host.into_iter().collect(),
        users: USERS.iter().filter_map(|name| std::env::var(name).ok()).collect(),
        named: named.to_vec(),
    }
}
