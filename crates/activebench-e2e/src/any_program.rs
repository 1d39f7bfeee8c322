//! Measurement of claims without an adapter: known tools are recorded and judged as if no adapter knew them, and then
//! judged again with their adapters, whose figures are the truth.
//!
//! [`drawn`] draws the commands, [`compared`] compares both judgements of a run. `cargo xtask any-program` runs all of
//! it and writes the page.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use crate::any_program::compared::{Compared, compared};
use crate::any_program::drawn::Draw;
use crate::{Turn, Verified, Volume, binary, obstacle, recheck, stage, verify_within};

pub mod compared;
pub mod drawn;
mod own;

/// Attempts to make a volume.
const ATTEMPTS: u32 = 20;
/// Time limit of a run, which takes some seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// One run after its comparison.
#[derive(Debug, Serialize)]
pub struct Ended {
    /// The tool.
    pub tool: &'static str,
    /// Name of the run: tool, seed and number.
    pub name: String,
    /// The command, with placeholders.
    pub command: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// Why there is nothing to compare; `None` for a run that was compared.
    pub not_run: Option<String>,
    /// The comparison.
    pub compared: Compared,
}

/// Records one run and compares its judgements. The run directories are kept in `keep`; with `again` those that are there
/// are judged again, and nothing is recorded.
pub fn run(draw: &Draw, keep: &Path, again: bool) -> Ended {
    let started = Instant::now();
    let run = keep.join(&draw.name);
    // A device that cannot be made is a run less, and no end of the others.
    let recorded =
        || catch_unwind(|| recorded(draw, &run)).unwrap_or_else(|_| Err("the host cannot run it".to_owned()));
    let recorded = if again { stored(&run) } else { recorded() };
    let (not_run, compared) = match recorded {
        Err(why) => (Some(why), Compared::default()),
        Ok(()) => {
            let without = Judged::of(&run, true);
            let with = if draw.has_adapter { Some(Judged::of(&run, false)) } else { None };
            let stated = fs::read_to_string(run.join("stderr.txt")).expect("what the run wrote to standard error");
            (None, compared(&without, with.as_ref(), &stated))
        }
    };
    let not_run = not_run.or_else(|| compared.broken.clone());
    let command = draw.command.join(" ");
    Ended {
        tool: draw.tool,
        name: draw.name.clone(),
        command,
        seconds: started.elapsed().as_secs_f64(),
        not_run,
        compared,
    }
}

fn stored(run: &Path) -> Result<(), String> {
    let is_there = run.join("run.json").is_file();
    if is_there { Ok(()) } else { Err(format!("no run is in {}", run.display())) }
}

/// Records a run as of a program that no adapter knows.
fn recorded(draw: &Draw, run: &Path) -> Result<(), String> {
    let mut needed = vec!["mkfs.ext4", "losetup"];
    needed.extend(&draw.needs);
    if let Some(reason) = obstacle(&needed) {
        return Err(reason);
    }
    if run.exists() {
        fs::remove_dir_all(run).map_err(|error| format!("cannot remove {}: {error}", run.display()))?;
    }
    // Others may have volumes at the same time.
    let _turn = Turn::beside_others(draw.name.clone());
    let volume = volume(draw.mib)?;
    own::write(&volume.beside(""));
    let fill = |text: &str| {
        let path = |path: PathBuf| path.to_str().expect("a UTF-8 path").to_owned();
        text.replace("{mount}", &path(volume.path()))
            .replace("{device}", volume.device().expect("a loop device"))
            .replace("{beside}", path(volume.beside("")).trim_end_matches('/'))
    };
    for script in &draw.prepare {
        let output = Command::new("sh")
            .args(["-ec", &fill(script)])
            .current_dir(volume.path())
            .env("PATH", crate::search_path())
            .output()
            .expect("sh runs");
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("the preparation failed: {script}: {said}"));
        }
    }
    volume.drop_caches();
    let command: Vec<String> = draw.command.iter().map(|word| fill(word)).collect();
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let mut options = vec!["--without-adapters", "--fail-on", "never"];
    options.extend(&draw.options);
    let ended = verify_within(LIMIT, &volume.path(), run.to_owned(), &options, &command);
    match ended {
        Some(verified) if !verified.report.is_null() => Ok(()),
        Some(verified) => Err(format!("activebench printed no report: {}", verified.stderr())),
        None => Err(format!("no end after {} s", LIMIT.as_secs())),
    }
}

/// Makes a volume. The kernel grants devices together at most all of the dirty pages, and others may have some of them for
/// a while.
fn volume(mib: u64) -> Result<Volume, String> {
    for _ in 0..ATTEMPTS {
        if let Ok(volume) = catch_unwind(|| Volume::on_loop("ext4", mib, "noatime")) {
            return Ok(volume);
        }
        std::thread::sleep(Duration::from_secs(2));
    }
    Err("the host cannot make a volume".to_owned())
}

/// A judgement of a stored run.
#[derive(Debug)]
pub struct Judged {
    /// Its report.
    pub report: Value,
    /// The phases as `show` prints them.
    pub phases: Vec<Value>,
}

impl Judged {
    /// Judges a stored run as if no adapter knew its tool, or with the adapters.
    ///
    /// # Panics
    /// When the run directory cannot be read or judged.
    fn of(run: &Path, without_adapters: bool) -> Self {
        let path = run.join("run.json");
        let text = fs::read(&path).expect("a run has its manifest");
        let mut manifest: Value = serde_json::from_slice(&text).expect("a manifest is JSON");
        if manifest["choices"]["without_adapters"] != without_adapters {
            manifest["choices"]["without_adapters"] = without_adapters.into();
            fs::write(&path, manifest.to_string()).expect("the manifest can be written");
            // The seal is that of the manifest as recorded.
            let _: Result<(), std::io::Error> = fs::remove_file(run.join("run.json.sha256"));
        }
        let Verified { report, .. } = recheck(run, &["--fail-on", "never"]);
        let phases = if report.is_null() { Vec::new() } else { stage(run, "phases") };
        Self { report, phases }
    }
}

/// Returns the version of activebench under test.
///
/// # Panics
/// When the binary does not start.
pub fn version() -> String {
    let output = Command::new(binary()).arg("--version").output().expect("the binary runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
