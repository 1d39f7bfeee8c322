//! Packs a run into one file for somebody else, and checks such a file. Subcommands that read a stored run accept it in
//! place of a directory.

mod judged_contents;
mod redacted;

use std::fs;
use std::path::{Path, PathBuf};

use activebench_bundle::{
    BundleError, BundleKind, BundleManifest, Content, EXTENSION, Fault, Limits, PrivateKey, PublicKey, RUN,
    SignatureCheck, Unpacked, is_bundle, unpack,
};
use activebench_model::report::JudgedRun;
use activebench_model::series::JudgedSeries;
use activebench_record::{RecordError, RunFolder};
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};
use tempfile::TempDir;

use crate::failure::{ExitCode, Failure, OrExit};

use judged_contents::Whole;

/// A run to pack.
#[derive(Debug)]
pub struct Pack<'a> {
    /// The directory of a run, of a series, or of two runs side by side.
    pub run: &'a Path,
    /// The bundle; `None`: in the working directory, named after the run.
    pub out: Option<&'a Path>,
    /// True to replace an existing file.
    pub force: bool,
    /// File of the private key (PEM) that signs the bundle.
    pub sign: Option<&'a Path>,
    /// True for a copy without names.
    pub redact: bool,
    /// Further words that the copy must not contain.
    pub redact_words: &'a [String],
}

/// A bundle that was written.
#[derive(Debug)]
pub struct Packed {
    /// Its path.
    pub path: PathBuf,
    /// The bundle's manifest.
    pub manifest: BundleManifest,
    /// Identifier of the key that signed it.
    pub signed_by: Option<String>,
    /// Files of the directory that were left out, because no run lists them.
    pub strays: Vec<String>,
}

/// Writes the bundle of a run.
///
/// # Errors
/// Returns an error if the run cannot be read or judged, the key cannot be used, or the file cannot be written.
pub fn pack(pack: &Pack<'_>) -> Result<Packed, Failure> {
    let key = pack.sign.map(|path| key(path, PrivateKey::from_pem)).transpose()?;
    let whole = judged_contents::judged(pack.run)?;
    let (whole, copy) = match pack.redact {
        true => {
            let (whole, copy) = redacted::copied(pack.run, pack.redact_words, whole)?;
            (whole, Some(copy))
        }
        false => (whole, None),
    };
    let Whole { described, tests, sources, strays, .. } = whole;
    let path = match (pack.out, &copy) {
        (Some(path), _) => path.to_owned(),
        (None, None) => PathBuf::from(name(pack.run)? + EXTENSION),
        (None, Some(copy)) => PathBuf::from(copy.redactor.text(&name(pack.run)?) + "-redacted" + EXTENSION),
    };
    let signing = key.as_ref().map(|key| (key, tests));
    let manifest = activebench_bundle::write(&path, pack.force, described, sources, signing)
        .map_err(|error| failure(&path, error))?;
    let signed_by = key.map(|key| key.public().id().or_exit(ExitCode::Bug)).transpose()?;
    Ok(Packed { path, manifest, signed_by, strays })
}

/// A bundle that verifies: everything in it is what it claims to be.
#[derive(Debug)]
pub struct Checked {
    /// The bundle's manifest.
    pub manifest: BundleManifest,
    /// The result of the check of its signature.
    pub signature: SignatureCheck,
    /// The run that the verdict is about; of a series its first one. Judged from the evidence in the bundle.
    pub run: Option<JudgedRun>,
    /// The series in it, judged likewise.
    pub series: Option<JudgedSeries>,
}

/// Checks a bundle and judges the run in it again. It unpacks to at most `unpacked_bytes`; `key` is the file of the
/// public key (PEM) that must have signed it.
///
/// # Errors
/// Returns an error if the file or the key cannot be read, or if the bundle does not verify.
pub fn check(path: &Path, key_file: Option<&Path>, unpacked_bytes: u64) -> Result<Checked, Failure> {
    if path.is_dir() {
        let error = anyhow!(
            "{0} is a directory, not a bundle (hint: `activebench recheck {0}` judges a run directory, `activebench \
             bundle {0}` makes a bundle of it)",
            path.display()
        );
        return Err(Failure::new(ExitCode::Usage, error));
    }
    let key = key_file.map(|path| key(path, PublicKey::from_pem)).transpose()?;
    let limits = Limits { unpacked_bytes, ..Limits::default() };
    let folder = folder()?;
    let Unpacked { manifest, signature } =
        unpack(path, folder.path(), limits, key.as_ref()).map_err(|error| failure(path, error))?;
    // From here on only checked data is used: the files in the folder, and the manifest as read.
    let found = judged_contents::judged(&folder.path().join(RUN))
        .map_err(|failure| not_verified(path, &[format!("the run in it cannot be judged: {:#}", failure.error)]))?;
    let unpacked = RunFolder::open(folder.path()).or_exit(ExitCode::Bug)?;
    let differences = judged_contents::differences(&manifest, &found, &unpacked).or_exit(ExitCode::Bug)?;
    match differences.is_empty() {
        true => Ok(Checked { manifest, signature, run: found.first, series: found.series }),
        false => Err(not_verified(path, &differences)),
    }
}

/// Returns the name of the run's directory.
fn name(run: &Path) -> Result<String, Failure> {
    // `.` and `runs/..` also lead to a directory with a name.
    let whole =
        fs::canonicalize(run).with_context(|| format!("cannot read {}", run.display())).or_exit(ExitCode::Usage)?;
    let name = whole.file_name().context("the run has no name (hint: --out FILE)").or_exit(ExitCode::Usage)?;
    Ok(name.to_string_lossy().into_owned())
}

fn key<T>(path: &Path, read: impl Fn(&str) -> Result<T, BundleError>) -> Result<T, Failure> {
    let about = || format!("cannot use {} as a key", path.display());
    let pem = fs::read_to_string(path).with_context(about).or_exit(ExitCode::Usage)?;
    read(&pem).with_context(about).or_exit(ExitCode::Usage)
}

fn folder() -> Result<TempDir, Failure> {
    TempDir::with_prefix("activebench-bundle-")
        .context("cannot make a temporary directory (hint: TMPDIR=DIR names a place for it)")
        .or_exit(ExitCode::Usage)
}

fn failure(path: &Path, error: BundleError) -> Failure {
    match error {
        BundleError::NotVerified(faults) => {
            not_verified(path, &faults.iter().map(Fault::to_string).collect::<Vec<_>>())
        }
        other => Failure::new(ExitCode::Usage, other),
    }
}

/// Returns the failure of a bundle that does not verify. The faults quote the bundle, so they are escaped.
fn not_verified(path: &Path, faults: &[String]) -> Failure {
    let mut text = format!("NOT GENUINE: {} does not verify:", path.display());
    for fault in faults.iter().take(NAMED_FAULTS) {
        text.push_str(&format!("\n  {}", terminal(fault)));
    }
    if faults.len() > NAMED_FAULTS {
        text.push_str(&format!("\n  and {} more", faults.len() - NAMED_FAULTS));
    }
    Failure::new(ExitCode::NotVerified, anyhow!(text))
}

/// Maximum number of faults listed; the rest is counted.
const NAMED_FAULTS: usize = 20;

/// A run directory as the user named it: itself, or a bundle that was unpacked.
#[derive(Debug)]
pub struct Located {
    /// Its path.
    pub directory: PathBuf,
    /// The folder of an unpacked bundle, removed on drop.
    _folder: Option<TempDir>,
}

/// Returns the directory that the user named. A bundle is checked and unpacked to a temporary folder.
pub fn located(named: &Path) -> Result<Located, Failure> {
    let bundled = named.is_file()
        && is_bundle(named).with_context(|| format!("cannot read {}", named.display())).or_exit(ExitCode::Usage)?;
    if !bundled {
        return Ok(Located { directory: named.to_owned(), _folder: None });
    }
    let folder = folder()?;
    let Unpacked { manifest, signature } =
        unpack(named, folder.path(), Limits::default(), None).map_err(|error| failure(named, error))?;
    if manifest.kind == BundleKind::WithAdvice {
        let error = anyhow!(
            "{0} holds two runs (hint: `activebench verify-bundle {0}` checks both; `tar --zstd -xf {0}` unpacks them)",
            named.display()
        );
        return Err(Failure::new(ExitCode::Usage, error));
    }
    if signature == SignatureCheck::NotChecked {
        say!("the signature was not checked (hint: `activebench verify-bundle --key PUB` does)");
    }
    Ok(Located { directory: folder.path().join(RUN), _folder: Some(folder) })
}

/// True if the file in the bundle has the expected content.
fn same(content: &Content, folder: &RunFolder, name: &str) -> Result<bool, RecordError> {
    match content {
        // Its SHA-256 is in the run's own manifest, and was checked when the run was judged.
        Content::Stored(_) => Ok(true),
        Content::Given(bytes) => Ok(folder.read(name)?.as_ref() == Some(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::samples::prepared_series;

    #[test]
    fn a_bundle_holds_the_files_of_the_preconditioning_and_not_its_verdict() {
        let folder = prepared_series(&|_, preparation| Some(preparation));
        for redact in [false, true] {
            let place = tempfile::tempdir().expect("a folder");
            let bundle = place.path().join("x.activebench.tar.zst");
            let (run, out) = (folder.path(), Some(bundle.as_path()));
            let request = Pack { run, out, force: false, sign: None, redact, redact_words: &[] };
            pack(&request).unwrap_or_else(|failure| panic!("{:#}", failure.error));
            // Judging it anew gives the same result.
            let checked = check(&bundle, None, 1 << 30).unwrap_or_else(|failure| panic!("{:#}", failure.error));
            assert_eq!(checked.manifest.exit_code, 3);
            let to = place.path().join("unpacked");
            fs::create_dir(&to).expect("a folder");
            let Unpacked { manifest, .. } = unpack(&bundle, &to, Limits::default(), None).expect("it is unpacked");
            let runs: Vec<&str> = manifest.runs.iter().map(|run| run.directory.as_str()).collect();
            assert_eq!(runs, ["run/1", "run/2"]);
            assert_eq!(manifest.tool.command, ["true"]);
            for name in ["run/preconditioning/run.json", "run/preconditioning/report.json"] {
                assert!(manifest.files.iter().any(|file| file.name == name), "{name}");
            }
            let report = fs::read_to_string(to.join("run/series-report.json")).expect("a report");
            assert!(report.contains(r#""incomplete": []"#), "{report}");
        }
    }
}
