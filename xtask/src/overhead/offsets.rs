//! Cost of finding repeated offsets among recorded reads, compared with `sort | uniq -c`.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

/// Blocks of 8 KiB in a file of 96 GiB.
const BLOCKS: u64 = 12_582_912;
/// Reads of the whole task, and of a quick one.
pub(crate) const READS: u64 = 100_000_000;
const QUICK_READS: u64 = 2_000_000;

/// Both analyses of the same reads.
#[derive(Debug, Serialize)]
pub(crate) struct OffsetsCheck {
    /// Recorded reads.
    pub(crate) reads: u64,
    /// The measurement; `None` with a reason.
    pub(crate) measured: Option<Analyses>,
    /// Reason for a missing measurement; `None` when it is present.
    pub(crate) reason: Option<String>,
}

/// One measurement of each analysis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Analyses {
    /// Distinct offsets, the same by both.
    pub(crate) distinct: u64,
    /// `activebench show --stage offsets`, in seconds.
    pub(crate) ours_seconds: f64,
    /// Its peak memory.
    pub(crate) ours_peak_bytes: u64,
    /// `sort | uniq -c`, in seconds.
    pub(crate) sort_seconds: f64,
}

impl Analyses {
    /// Returns the factor by which ours is faster.
    pub(crate) fn factor(&self) -> f64 {
        self.sort_seconds / self.ours_seconds
    }
}

/// Measures both, one after the other, on synthetic reads in a folder.
pub(crate) fn check(activebench: &Path, folder: &Path, quick: bool) -> OffsetsCheck {
    let reads = if quick { QUICK_READS } else { READS };
    match measure(activebench, folder, reads) {
        Ok(measured) => OffsetsCheck { reads, measured: Some(measured), reason: None },
        Err(error) => OffsetsCheck { reads, measured: None, reason: Some(format!("{error:#}")) },
    }
}

fn measure(activebench: &Path, folder: &Path, reads: u64) -> Result<Analyses> {
    let folder = tempfile::Builder::new().prefix("offsets-").tempdir_in(folder).context("cannot make a folder")?;
    let (run, text) = (folder.path().join("run"), folder.path().join("offsets.txt"));
    let status = Command::new(activebench)
        .args(["__recorded", "--reads", &reads.to_string(), "--blocks", &BLOCKS.to_string(), "--offsets"])
        .args([&text, &run])
        .status()
        .context("cannot start activebench")?;
    accept("writing the reads", status)?;

    let started = Instant::now();
    let child = Command::new(activebench)
        .args(["show", "--stage", "offsets", "--format", "json"])
        .arg(&run)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start activebench")?;
    let (output, ours_peak_bytes) = output_and_peak(child)?;
    let ours_seconds = started.elapsed().as_secs_f64();
    let row: serde_json::Value = serde_json::from_slice(&output).context("its answer is not JSON")?;
    let distinct = row["blocks"].as_u64().context("its answer has no blocks")?;

    let started = Instant::now();
    let mut sort = Command::new("sort")
        .env("LC_ALL", "C")
        .arg("-T")
        .args([folder.path(), &text])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start sort")?;
    let sorted = sort.stdout.take().context("sort has no output")?;
    let counted = folder.path().join("counted.txt");
    let uniq = Command::new("uniq")
        .arg("-c")
        .stdin(sorted)
        .stdout(File::create(&counted).context("cannot write what uniq counts")?)
        .status()
        .context("cannot start uniq")?;
    accept("uniq", uniq)?;
    accept("sort", sort.wait().context("cannot wait for sort")?)?;
    let sort_seconds = started.elapsed().as_secs_f64();

    let lines = Command::new("wc").arg("-l").stdin(File::open(&counted)?).output().context("cannot start wc")?;
    let lines: u64 = String::from_utf8_lossy(&lines.stdout).trim().parse().context("wc gave no number")?;
    ensure!(lines == distinct, "activebench counts {distinct} distinct offsets, uniq {lines}");
    Ok(Analyses { distinct, ours_seconds, ours_peak_bytes, sort_seconds })
}

/// Returns a process's output, and its peak resident memory in bytes.
fn output_and_peak(mut child: std::process::Child) -> Result<(Vec<u8>, u64)> {
    let mut output = Vec::new();
    let mut stdout = child.stdout.take().context("it has no output")?;
    std::io::Read::read_to_end(&mut stdout, &mut output).context("cannot read its answer")?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both are writable and of the types that wait4(2) fills; the child is ours and no other code waits for it.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, usage.as_mut_ptr()) };
    if waited < 0 {
        return Err(std::io::Error::last_os_error()).context("cannot wait for activebench");
    }
    accept("activebench show", std::os::unix::process::ExitStatusExt::from_raw(status))?;
    // SAFETY: zeroed above, and the kernel has filled it.
    let peak_kib = unsafe { usage.assume_init() }.ru_maxrss;
    Ok((output, peak_kib as u64 * 1024))
}

fn accept(what: &str, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{what} ended with {status}");
    }
    Ok(())
}
