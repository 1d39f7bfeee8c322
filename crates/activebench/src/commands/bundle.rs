//! `activebench bundle`: packs a stored run into one file.

use std::path::PathBuf;

use activebench_bundle::{BundleKind, BundleManifest};
use activebench_engine::bundle::{Pack, pack};
use activebench_engine::failure::Failure;
use activebench_model::units::Quantity;
use activebench_report::escape::terminal;
use clap::Args;

use super::{Rights, Subcommand};
use crate::output::print;

/// Maximum number of files listed by name; the rest is counted.
const NAMED: usize = 5;

const ABOUT: &str = "\
Pack a stored run into one file that somebody else can check.

The bundle is a tar archive compressed with zstd: bundle.json with the verdict, the exit code and the SHA-256 of every \
file, then the files. The run is judged again for it, and its reports are written by this version of activebench. The \
same run results in the same bytes.

RUN is the directory of a run, of a series (verify --repeat), or of two runs side by side (verify --and-corrected).

With --sign KEY the bundle contains a statement of the tests and their result (in-toto, in a DSSE envelope), signed with \
an ed25519 key:
  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out key.pub.pem

With --redact it is a copy without names: of hosts and users, serial numbers, models, addresses and paths. Ordinary \
words stay (`data`, `test`), as do figures, times, device names and the kernel version. Read it before you publish it, \
and name further words that must not be in it with --redact-word.

Exit code: 0 if the bundle was written, whatever the verdict of the run; otherwise 2.";

/// Pack a stored run into one file that somebody else can check.
#[derive(Args, Debug)]
#[command(long_about = ABOUT)]
pub(crate) struct Bundle {
    /// The run's directory, that of a series, or of two runs side by side.
    run: PathBuf,
    /// The bundle [default: ./RUN.activebench.tar.zst].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
    /// Sign it with this ed25519 key (PEM, as openssl makes it).
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Replace names of hosts and users, serial numbers, models, addresses and paths, the same word by the same
    /// replacement of the same length everywhere. The copy is judged too, and written only if its result is the same.
    #[arg(long)]
    redact: bool,
    /// Replace this word too, everywhere; may be given several times.
    #[arg(long, value_name = "WORD", requires = "redact")]
    redact_word: Vec<String>,
}

impl Subcommand for Bundle {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        let packed = pack(&Pack {
            run: &self.run,
            out: self.out.as_deref(),
            force: self.force,
            sign: self.sign.as_deref(),
            redact: self.redact,
            redact_words: &self.redact_word,
        })?;
        if !packed.strays.is_empty() {
            eprintln!("activebench: left out, because no run.json lists them: {}", listed(&packed.strays));
        }
        let signed = match &packed.signed_by {
            Some(key) => format!("signed by the key {key}"),
            None => "not signed".to_owned(),
        };
        let (path, manifest) = (packed.path.display(), &packed.manifest);
        print(&format!("{path}: {}; {}, {signed}\n", content(manifest), verdict(manifest)))?;
        Ok(0)
    }
}

/// Describes the content of a bundle.
pub(super) fn content(manifest: &BundleManifest) -> String {
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let of = match manifest.kind {
        BundleKind::Run => "a run".to_owned(),
        BundleKind::Series => format!("a series of {} runs", manifest.runs.len()),
        BundleKind::WithAdvice => "a run and one with its advice".to_owned(),
    };
    format!("{of}, {} files, {}", manifest.files.len(), Quantity::bytes(bytes))
}

/// Describes the verdict that a bundle states.
pub(super) fn verdict(manifest: &BundleManifest) -> String {
    format!("{}, exit code {}", manifest.verdict.as_str(), manifest.exit_code)
}

fn listed(names: &[String]) -> String {
    let mut text: Vec<String> = names.iter().take(NAMED).map(|name| terminal(name)).collect();
    if names.len() > NAMED {
        text.push(format!("and {} more", names.len() - NAMED));
    }
    text.join(", ")
}
