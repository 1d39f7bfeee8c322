//! `bundle` packs a run into one file for somebody else; `verify-bundle` checks such a file. `recheck`, `report` and
//! `show` accept it in place of a directory.

mod redacted;
mod whole;

use std::fs;
use std::path::{Path, PathBuf};

use activebench_bundle::{
    BundleError, BundleKind, BundleManifest, Content, EXTENSION, Fault, Limits, PrivateKey, PublicKey, RUN,
    SignatureCheck, TestResult, Unpacked, is_bundle, unpack,
};
use activebench_model::units::Quantity;
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};
use tempfile::TempDir;

use crate::arguments::{Bundle, VerifyBundle};
use crate::exit::{ExitCode, Failure, OrExit};
use crate::print;

use whole::Whole;

/// Maximum number of files listed by name; the rest is counted.
const NAMED: usize = 5;

/// Writes the bundle of a run.
pub(crate) fn main(arguments: &Bundle) -> Result<(), Failure> {
    let key = arguments.sign.as_deref().map(|path| key(path, PrivateKey::from_pem)).transpose()?;
    let whole = whole::judged(&arguments.run)?;
    let (whole, copy) = match arguments.redact {
        true => {
            let (whole, copy) = redacted::copied(&arguments.run, &arguments.redact_word, whole)?;
            (whole, Some(copy))
        }
        false => (whole, None),
    };
    let Whole { described, tests, sources, strays } = whole;
    let path = match (&arguments.out, &copy) {
        (Some(path), _) => path.clone(),
        (None, None) => PathBuf::from(name(&arguments.run)? + EXTENSION),
        (None, Some(copy)) => PathBuf::from(copy.redactor.text(&name(&arguments.run)?) + "-redacted" + EXTENSION),
    };
    let signing = key.as_ref().map(|key| (key, tests));
    let written = activebench_bundle::write(&path, arguments.force, described, sources, signing)
        .map_err(|error| failure(&path, error))?;
    if !strays.is_empty() {
        eprintln!("activebench: left out, because no run.json lists them: {}", listed(&strays));
    }
    let signed = match &key {
        Some(key) => format!("signed by the key {}", key.public().id().or_exit(ExitCode::Bug)?),
        None => "not signed".to_owned(),
    };
    print(&format!("{}: {}; {}, {signed}\n", path.display(), content(&written), verdict(&written)))
}

/// Checks a bundle; returns the exit code of the run in it.
pub(crate) fn verify(arguments: &VerifyBundle) -> Result<i32, Failure> {
    let key = arguments.key.as_deref().map(|path| key(path, PublicKey::from_pem)).transpose()?;
    let limits = Limits { unpacked_bytes: arguments.max_size, ..Limits::default() };
    let folder = folder()?;
    let path = &arguments.bundle;
    let Unpacked { manifest, signature } =
        unpack(path, folder.path(), limits, key.as_ref()).map_err(|error| failure(path, error))?;
    // From here on only checked data is used: the files in the folder, and the manifest as read.
    let found = whole::judged(&folder.path().join(RUN))
        .map_err(|failure| not_verified(path, &[format!("the run in it cannot be judged: {:#}", failure.error)]))?;
    let differences = whole::differences(&manifest, &found, folder.path()).or_exit(ExitCode::Bug)?;
    if !differences.is_empty() {
        return Err(not_verified(path, &differences));
    }
    print(&summary(path, &manifest, &signature))?;
    Ok(manifest.exit_code)
}

/// Returns the text that `verify-bundle` prints for a good bundle.
fn summary(path: &Path, manifest: &BundleManifest, signature: &SignatureCheck) -> String {
    let result = TestResult::of(manifest.verdict, manifest.exit_code, &manifest.profile);
    let signature = match signature {
        SignatureCheck::Right(id) => format!("right under the key {id}; states {}", result.as_str()),
        SignatureCheck::NotChecked => {
            "there is one, NOT CHECKED: no --key was given, so anybody can have made this bundle".to_owned()
        }
        SignatureCheck::Absent => "none: anybody can have made this bundle".to_owned(),
    };
    let redacted = match &manifest.redacted {
        None => "no".to_owned(),
        Some(redaction) => {
            let kinds: Vec<String> = redaction.replaced.iter().map(|(kind, words)| format!("{kind} {words}")).collect();
            format!("a redacted copy; replaced: {}", kinds.join(", "))
        }
    };
    let same_version = manifest.activebench == env!("CARGO_PKG_VERSION");
    let reports = match same_version {
        true => "every one is what the evidence gives".to_owned(),
        false => format!(
            "not compared: activebench {} wrote them, this is {}",
            manifest.activebench,
            env!("CARGO_PKG_VERSION")
        ),
    };
    let lines = [
        ("bundle", format!("{}: {}, all as bundle.json says", path.display(), content(manifest))),
        ("signature", signature),
        ("redacted", redacted),
        ("command", manifest.tool.command.join(" ")),
        ("reports", reports),
        ("verdict", format!("{}, as the bundle claims; judged anew from the evidence", verdict(manifest))),
    ];
    lines.iter().map(|(label, text)| format!("{label:<9} {}\n", terminal(text))).collect()
}

fn content(manifest: &BundleManifest) -> String {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let of = match manifest.kind {
        BundleKind::Run => "a run".to_owned(),
        BundleKind::Series => format!("a series of {} runs", manifest.runs.len()),
        BundleKind::WithAdvice => "a run and one with its advice".to_owned(),
    };
    format!("{of}, {} files, {}", manifest.files.len(), Quantity::bytes(bytes))
}

fn verdict(manifest: &BundleManifest) -> String {
    format!("{}, exit code {}", manifest.verdict.as_str(), manifest.exit_code)
}

fn listed(names: &[String]) -> String {
    let mut text: Vec<String> = names.iter().take(NAMED).map(|name| terminal(name)).collect();
    if names.len() > NAMED {
        text.push(format!("and {} more", names.len() - NAMED));
    }
    text.join(", ")
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
    let mut text = format!("{} does not verify:", path.display());
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
pub(crate) struct Located {
    /// Its path.
    pub(crate) directory: PathBuf,
    /// The folder of an unpacked bundle, removed on drop.
    _folder: Option<TempDir>,
}

/// Returns the directory that the user named. A bundle is checked and unpacked to a temporary folder.
pub(crate) fn located(named: &Path) -> Result<Located, Failure> {
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
        eprintln!("activebench: the signature was not checked (hint: `activebench verify-bundle --key PUB` does)");
    }
    Ok(Located { directory: folder.path().join(RUN), _folder: Some(folder) })
}

/// True if the file in the bundle has the expected content.
fn same(content: &Content, path: &Path) -> std::io::Result<bool> {
    match content {
        // Its SHA-256 is in the run's own manifest, and was checked when the run was judged.
        Content::Stored(_) => Ok(true),
        Content::Given(bytes) => Ok(fs::read(path)? == *bytes),
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
            let arguments = Bundle {
                run: folder.path().to_owned(),
                out: Some(bundle.clone()),
                force: false,
                sign: None,
                redact,
                redact_word: Vec::new(),
            };
            main(&arguments).unwrap_or_else(|failure| panic!("{:#}", failure.error));
            // Judging it anew gives the same result.
            let checked = verify(&VerifyBundle { bundle: bundle.clone(), key: None, max_size: 1 << 30 });
            assert_eq!(checked.unwrap_or_else(|failure| panic!("{:#}", failure.error)), 3);
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
