//! `activebench verify-bundle`: checks a bundle and judges the run in it again.

use std::path::{Path, PathBuf};

use activebench_bundle::{BundleManifest, SignatureCheck, TestResult};
use activebench_detect::judge::verdicts::exit_code;
use activebench_engine::bundle::{Checked, check};
use activebench_engine::failure::Failure;
use activebench_report::escape::terminal;
use activebench_report::{Detail, format_by_name};
use clap::Args;

use super::bundle::{content, verdict};
use super::{Rights, Subcommand};
use crate::arguments::{FailOnArgument, parse_size};
use crate::output::{print, terminal_style};

const ABOUT: &str = "\
Check a bundle, and judge the run in it again. No root needed, any machine.

Everything is checked before anything is used: with --key the signature, which must then exist and be valid; the \
checksums of all files; that there are no other files, and no links or names that lead elsewhere; that the unpacked size \
is at most --max-size. Then the run is judged again, and verdict, exit code and reports must be the ones that the bundle \
claims. Each difference is reported with its file.

Exit code: 0 if the bundle is genuine. 6 if it is not: nothing is then reported about the run. With --fail-on also 1, 3 \
or 4 by the verdict on the run in it. 2 if the file or key does not exist.";

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
    /// Exit also by the verdict: 1 for a discrepancy (`warn`: for a warning too), 3 for an inconclusive run, 4 for a
    /// benchmark that failed [default: 0 for every genuine bundle].
    #[arg(long, value_enum)]
    fail_on: Option<FailOnArgument>,
    /// Print the long report of the run.
    #[arg(long, short)]
    verbose: bool,
}

impl Subcommand for VerifyBundle {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let checked = check(&self.bundle, self.key.as_deref(), self.max_size)?;
        let detail = if self.verbose { Detail::Long } else { Detail::Glance };
        let style = terminal_style(detail);
        let mut text = answer(&checked);
        let shown = match (&checked.series, &checked.run) {
            (Some(series), _) => format_by_name("text").and_then(|format| format.render_document(series, style)),
            (None, Some(run)) => format_by_name("text").and_then(|format| format.render_document(run, style)),
            (None, None) => None,
        };
        text.push_str(&shown.unwrap_or_default());
        text.push('\n');
        text.push_str(&summary(&self.bundle, &checked.manifest, &checked.signature));
        print(&text)?;
        Ok(self.fail_on.map_or(0, |fail_on| exit_code(checked.manifest.verdict, fail_on.into())))
    }
}

/// Whether it is genuine, by which key, and what was measured where and when.
fn answer(checked: &Checked) -> String {
    let genuine = match &checked.signature {
        SignatureCheck::Right(id) => {
            let id: String = id.chars().take(16).collect();
            format!("GENUINE  signed by the key {id}…, and the evidence gives the same verdict.")
        }
        SignatureCheck::NotChecked => {
            "NOT AUTHENTICATED  the contents agree, but the signature was NOT CHECKED: no --key was given.".to_owned()
        }
        SignatureCheck::Absent => {
            "NOT AUTHENTICATED  the contents agree, but there is no signature: anybody can have made it.".to_owned()
        }
    };
    let Some(run) = &checked.run else { return format!("{genuine}\n\n") };
    let host = &run.manifest.host;
    let started = time::OffsetDateTime::from_unix_timestamp(run.manifest.clocks.started_unix_s).ok();
    let started = started.map_or_else(
        || "at an unknown time".to_owned(),
        |at| format!("{} {:02}:{:02} UTC", at.date(), at.hour(), at.minute()),
    );
    let devices: Vec<String> = host
        .targets
        .iter()
        .map(|target| {
            let device = target.device().map_or_else(
                || "no block device".to_owned(),
                |device| match device.model() {
                    Some(model) => format!("{} ({model})", device.name),
                    None => device.name.clone(),
                },
            );
            format!("{device}, {}", target.fs_type)
        })
        .collect();
    let place = if devices.is_empty() { "an unknown device".to_owned() } else { devices.join("; ") };
    let recorded = format!("recorded {started} on {place}; kernel {}", host.kernel);
    format!("{genuine}\n         {}\n\n", terminal(&recorded))
}

/// Returns the text that `verify-bundle` prints for a good bundle.
fn summary(path: &Path, manifest: &BundleManifest, signature: &SignatureCheck) -> String {
    let result = TestResult::of(manifest.verdict, manifest.exit_code, &manifest.profile);
    let signature = match signature {
        SignatureCheck::Right(id) => format!("valid (key {id}). Signed result: {}", result.as_str()),
        SignatureCheck::NotChecked => {
            "NOT CHECKED: no --key was given, so anybody can have made this bundle".to_owned()
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
        true => "all match the evidence".to_owned(),
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
        ("verdict", format!("{}, judged again from the evidence", verdict(manifest))),
    ];
    lines.iter().map(|(label, text)| format!("{label:<9} {}\n", terminal(text))).collect()
}
