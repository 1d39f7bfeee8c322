//! `activebench verify-bundle`: checks a bundle and judges the run in it again.

use std::path::{Path, PathBuf};

use activebench_bundle::{BundleManifest, SignatureCheck, TestResult};
use activebench_engine::bundle::{Checked, check};
use activebench_engine::failure::Failure;
use activebench_report::escape::terminal;
use clap::Args;

use super::bundle::{content, verdict};
use super::{Rights, Subcommand};
use crate::arguments::parse_size;
use crate::output::print;

const ABOUT: &str = "\
Check a bundle, and judge the run in it again. No root needed, any machine.

Everything is checked before anything is used: with --key the signature, which must then exist and be valid; the \
checksums of all files; that there are no other files, and no links or names that lead elsewhere; that the unpacked size \
is at most --max-size. Then the run is judged again, and verdict, exit code and reports must be the ones that the bundle \
claims. Each difference is reported with its file.

Exit code: that of the run in the bundle (0 verified or qualified, 1 discrepancy, 3 inconclusive, 4 the benchmark \
failed), as from `recheck`. 6 if the bundle does not verify: nothing is then reported about the run. 2 if the file or \
key does not exist.";

/// Check a bundle, and judge the run in it again.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct VerifyBundle {
    /// The bundle.
    #[arg(value_name = "FILE")]
    bundle: PathBuf,
    /// Require a signature by this public key (PEM, as openssl makes it).
    #[arg(long, value_name = "PUB")]
    key: Option<PathBuf>,
    /// Maximum size of the unpacked files.
    #[arg(long, value_name = "SIZE", default_value = "8GiB", value_parser = parse_size)]
    max_size: u64,
}

impl Subcommand for VerifyBundle {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let Checked { manifest, signature } = check(&self.bundle, self.key.as_deref(), self.max_size)?;
        print(&summary(&self.bundle, &manifest, &signature))?;
        Ok(manifest.exit_code)
    }
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
        ("verdict", format!("{}, as the bundle claims; judged again from the evidence", verdict(manifest))),
    ];
    lines.iter().map(|(label, text)| format!("{label:<9} {}\n", terminal(text))).collect()
}
