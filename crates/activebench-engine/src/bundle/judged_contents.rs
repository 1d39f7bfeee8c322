//! The judged contents of a bundle: a run, a series, or two runs side by side. A directory to bundle and an unpacked
//! bundle are judged alike, so that both can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use activebench_bundle::{
    BundleKind, BundleManifest, BundledRun, BundledTool, Content, RUN, SCHEMA, Source, Stored, Tests,
};
use activebench_model::finding::{Outcome, Severity};
use activebench_model::report::JudgedRun;
use activebench_model::run::Redaction;
use activebench_model::series::JudgedSeries;
use activebench_record::{
    EntryKind, MANIFEST as RUN_MANIFEST, Mismatch, RecordError, RunFolder, RunReader, SEAL, SERIES_MANIFEST,
    SERIES_SEAL, is_derived,
};
use anyhow::anyhow;

use crate::corrected_run::{AS_GIVEN, WITH_ADVICE};
use crate::failure::{ExitCode, Failure, OrExit};
use crate::{derived_files, judge, series};

/// All statements and files of a bundle.
pub(super) struct Whole {
    /// The manifest without its list of files.
    pub(super) described: BundleManifest,
    pub(super) tests: Tests,
    pub(super) sources: Vec<Source>,
    /// Files of the directory that belong to no run.
    pub(super) strays: Vec<String>,
    /// The run that the verdict is about; of a series its first one.
    pub(super) first: Option<JudgedRun>,
    /// The series.
    pub(super) series: Option<JudgedSeries>,
}

/// Judges the runs in a directory. Reports name it as in a bundle, wherever the directory is.
pub(super) fn judged(directory: &Path) -> Result<Whole, Failure> {
    let mut gathered = Gathered::default();
    let mut preconditioning = Gathered::default();
    let folder = RunFolder::open(directory).or_exit(ExitCode::Usage)?;
    let is_run = |name: &str| {
        let inner = folder.inner(name).and_then(|inner| inner.kind(RUN_MANIFEST));
        matches!(inner, Ok(Some(EntryKind::File)))
    };
    let mut run =
        |name: &str, reader: &RunReader, judged: &JudgedRun| gathered.add(&format!("{RUN}/{name}"), reader, judged);
    // The preconditioning is evidence but not one of the runs: only its files are added.
    let mut evidence = |name: &str, reader: &RunReader, judged: &JudgedRun| {
        preconditioning.files(&format!("{RUN}/{name}"), reader, judged)
    };
    let of_series = series::judged_each(
        directory,
        Path::new(RUN),
        |_| {},
        &mut run,
        Some(&mut evidence),
        judge::Timelines::Computed,
    )?;
    gathered.sources.extend(preconditioning.sources);
    let (kind, verdict, exit_code) = match &of_series {
        Some(judged) => {
            gathered.stored(RUN, &folder, SERIES_MANIFEST, None);
            if folder.kind(SERIES_SEAL).or_exit(ExitCode::Usage)?.is_some() {
                gathered.stored(RUN, &folder, SERIES_SEAL, None);
            }
            for (name, bytes) in series::reports(judged) {
                gathered.given(RUN, &name, bytes);
            }
            (BundleKind::Series, judged.verdict, judged.exit_code)
        }
        None if !matches!(folder.kind(RUN_MANIFEST), Ok(None)) || !is_run(AS_GIVEN) => {
            gathered.judge(directory, "", RUN)?;
            let run = &gathered.runs[0];
            (BundleKind::Run, run.verdict, run.exit_code)
        }
        None if !is_run(WITH_ADVICE) => {
            let given = directory.join(AS_GIVEN);
            let error = anyhow!("only one run was made there (hint: bundle {})", given.display());
            return Err(Failure::new(ExitCode::Usage, error));
        }
        None => {
            for name in [AS_GIVEN, WITH_ADVICE] {
                gathered.judge(directory, name, &format!("{RUN}/{name}"))?;
            }
            // As with `verify --and-corrected`, the exit code is that of the command as given.
            let run = &gathered.runs[0];
            (BundleKind::WithAdvice, run.verdict, run.exit_code)
        }
    };
    let strays = strays(&folder, &gathered.sources)
        .map_err(|error| anyhow!("cannot list {}: {error}", directory.display()))
        .or_exit(ExitCode::Usage)?;
    let described = BundleManifest {
        schema: SCHEMA.to_owned(),
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        kind,
        verdict,
        exit_code,
        profile: gathered.profile,
        tool: gathered.tool,
        runs: gathered.runs,
        redacted: gathered.redacted,
        files: Vec::new(),
    };
    let mut tests = Tests::default();
    for (test, worst) in gathered.tests {
        match worst {
            Worst::Passed => tests.passed.push(test),
            Worst::Warned => tests.warned.push(test),
            Worst::Failed => tests.failed.push(test),
        }
    }
    Ok(Whole { described, tests, sources: gathered.sources, strays, first: gathered.first, series: of_series })
}

/// Returns where the claims of a bundle differ from its evidence.
pub(super) fn differences(
    claimed: &BundleManifest,
    found: &Whole,
    folder: &RunFolder,
) -> Result<Vec<String>, RecordError> {
    let mut differences = Vec::new();
    let gives = |what: &str, claimed: String, found: String| {
        format!("bundle.json claims {what} {claimed}, the evidence gives {found}")
    };
    let described = &found.described;
    let outcome = |verdict: &str, exit_code: i32| format!("{verdict} with exit code {exit_code}");
    if (claimed.verdict, claimed.exit_code) != (described.verdict, described.exit_code) {
        differences.push(gives(
            "the verdict",
            outcome(claimed.verdict.as_str(), claimed.exit_code),
            outcome(described.verdict.as_str(), described.exit_code),
        ));
    }
    if claimed.runs != described.runs {
        let of = |runs: &[BundledRun]| {
            let each =
                runs.iter().map(|run| format!("{} {}", run.directory, outcome(run.verdict.as_str(), run.exit_code)));
            each.collect::<Vec<_>>().join(", ")
        };
        differences.push(gives("of its runs", of(&claimed.runs), of(&described.runs)));
    }
    for (what, same) in [
        ("kind", claimed.kind == described.kind),
        ("profile", claimed.profile == described.profile),
        ("tool", claimed.tool == described.tool),
        ("redacted", claimed.redacted == described.redacted),
    ] {
        if !same {
            differences.push(format!("`{what}` in bundle.json is not what the evidence gives"));
        }
    }
    let held: BTreeSet<&str> = claimed.files.iter().map(|file| file.name.as_str()).collect();
    let expected: BTreeMap<&str, &Source> = found.sources.iter().map(|source| (source.name.as_str(), source)).collect();
    // The reports of one version may differ from those of another.
    let same_version = claimed.activebench == described.activebench;
    for name in held {
        match expected.get(name) {
            None if same_version || !is_report(name) => differences.push(format!("{name:?} belongs to no run")),
            Some(source) if same_version && !super::same(&source.content, folder, name)? => {
                differences.push(format!("{name:?} is not what the evidence gives"));
            }
            _ => {}
        }
    }
    Ok(differences)
}

/// True if a file of a bundle is computed from evidence.
fn is_report(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    is_derived(name) || series::is_report(name)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worst {
    Passed,
    Warned,
    Failed,
}

/// Collects runs as they are judged.
#[derive(Default)]
struct Gathered {
    runs: Vec<BundledRun>,
    sources: Vec<Source>,
    tests: BTreeMap<String, Worst>,
    profile: String,
    tool: BundledTool,
    redacted: Option<Redaction>,
    first: Option<JudgedRun>,
}

impl Gathered {
    /// Judges the run in `folder` of a directory; `name` is its folder in the bundle.
    fn judge(&mut self, directory: &Path, folder: &str, name: &str) -> Result<(), Failure> {
        let reader = RunReader::open_inside(directory, folder).or_exit(ExitCode::Usage)?;
        let judged = judge::judge(Path::new(name), &reader, reader.manifest().clone(), judge::Timelines::Computed)
            .or_exit(ExitCode::Usage)?;
        self.add(name, &reader, &judged)
    }

    /// Adds the files of a run; `name` is its folder in the bundle.
    fn files(&mut self, name: &str, reader: &RunReader, judged: &JudgedRun) -> Result<(), Failure> {
        let directory = reader.directory();
        if let Some(Mismatch { name, .. }) = reader.verify_hashes().first() {
            let error = anyhow!(
                "{} is not what was recorded: a bundle of it would prove nothing (hint: `activebench recheck` says what is left)",
                directory.join(name).display()
            );
            return Err(Failure::new(ExitCode::Usage, error));
        }
        self.stored(name, reader.folder(), RUN_MANIFEST, Some(reader.manifest_sha256()));
        if reader.is_sealed() {
            self.stored(name, reader.folder(), SEAL, None);
        }
        for (file, sha256) in &reader.manifest().sha256 {
            self.stored(name, reader.folder(), file, Some(sha256));
        }
        let given = |file: String, bytes| {
            self.given(name, &file, bytes);
            Ok(())
        };
        derived_files::each(reader, judged, given).or_exit(ExitCode::Bug)
    }

    fn add(&mut self, name: &str, reader: &RunReader, judged: &JudgedRun) -> Result<(), Failure> {
        self.files(name, reader, judged)?;
        for finding in &judged.findings {
            let worst = match (finding.outcome, finding.severity) {
                (Outcome::Fires, Some(Severity::Fail)) => Worst::Failed,
                (Outcome::Fires, Some(Severity::Warn)) | (Outcome::Undecided, _) => Worst::Warned,
                (Outcome::Fires | Outcome::Silent, _) => Worst::Passed,
                (Outcome::NotApplicable, _) => continue,
            };
            let entry = self.tests.entry(format!("{} {}", finding.code, finding.name)).or_insert(worst);
            *entry = worst.max(*entry);
        }
        if self.runs.is_empty() {
            self.first = Some(judged.clone());
            self.profile.clone_from(&judged.manifest.choices.profile);
            let name = Some(judged.parsed.tool.clone()).filter(|name| !name.is_empty());
            let command = judged.manifest.command.argv.clone();
            self.tool = BundledTool { name, version: judged.parsed.version.clone(), command };
        }
        if let Some(redaction) = &judged.manifest.redacted {
            self.redacted.get_or_insert_with(|| redaction.clone());
        }
        let (verdict, exit_code) = (judged.verdict, judged.exit_code);
        self.runs.push(BundledRun { directory: name.to_owned(), verdict, exit_code });
        Ok(())
    }

    /// Adds a stored file with the sum that it was found to have.
    fn stored(&mut self, name: &str, folder: &RunFolder, file: &str, sha256: Option<&str>) {
        let (folder, opened) = (folder.clone(), file.to_owned());
        let path = folder.path().join(file);
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let open = move || folder.file(&opened).map_err(io::Error::other)?.ok_or_else(gone);
        let stored = Stored { path, sha256: sha256.map(str::to_owned), open: Box::new(open) };
        self.sources.push(Source { name: format!("{name}/{file}"), content: Content::Stored(stored) });
    }

    fn given(&mut self, folder: &str, file: &str, bytes: Vec<u8>) {
        self.sources.push(Source { name: format!("{folder}/{file}"), content: Content::Given(bytes) });
    }
}

/// Returns the files of a directory that do not go into its bundle, ascending.
fn strays(directory: &RunFolder, sources: &[Source]) -> Result<Vec<String>, RecordError> {
    let held: BTreeSet<&str> =
        sources.iter().filter_map(|source| source.name.strip_prefix(RUN)?.strip_prefix('/')).collect();
    let mut strays = Vec::new();
    let mut folders = vec![(String::new(), directory.clone())];
    while let Some((above, folder)) = folders.pop() {
        for (name, kind) in folder.entries()? {
            let shown = format!("{above}{}", name.to_string_lossy());
            match (kind, name.to_str()) {
                (EntryKind::Folder, Some(inner)) => folders.push((format!("{shown}/"), folder.inner(inner)?)),
                _ if held.contains(shown.as_str()) => {}
                _ => strays.push(shown),
            }
        }
    }
    strays.sort_unstable();
    Ok(strays)
}
