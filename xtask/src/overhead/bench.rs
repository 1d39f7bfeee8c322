//! The test bench: a folder with the files to read, a loop device, and one run at a time.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::loop_device::LoopDevice;
use crate::overhead::outputs::{OwnAccount, Records};
use crate::overhead::results::LossCheck;
use crate::overhead::variants::Variant;
use crate::overhead::workloads::{
    self, Amount, BACKING_FILE, CACHED_FILE, DIRECT_FILE, FILE_BYTES, Names, Program, RESULT_FILE, Target, Workload,
};

/// The script of the workload.
const SCRIPT: &str = "run.sh";
/// The script of the observed tree when the workload runs outside of it.
const IDLE_SCRIPT: &str = "idle.sh";
/// Content of that script: reports that it runs, then sleeps in a read until we close its input.
const IDLE: &str = "echo ready\nexec cat\n";
/// File with the standard error of an observer that idles.
const IDLE_STDERR: &str = "idle.stderr";
/// activebench's run directory.
const RUN_DIR: &str = "run";
/// Time that our own programs may stay loaded after their process has ended. Observed: some milliseconds.
const REMNANTS: Duration = Duration::from_secs(1);
/// Threads of the check for lost records.
const LOSS_THREADS: u64 = 8;

/// Result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Nanoseconds per call.
    pub(crate) ns_per_call: f64,
    /// Median nanoseconds per call, for workloads in which the device takes most of the time.
    pub(crate) median_ns: Option<f64>,
    /// The account of records and of the observation's own cost, under activebench.
    pub(crate) accounts: Option<(Records, OwnAccount)>,
}

/// Environment of all runs.
#[derive(Debug)]
pub(crate) struct Bench {
    activebench: PathBuf,
    amount: Amount,
    /// Declared before the folder, which contains its file.
    loop_device: Option<LoopDevice>,
    folder: TempDir,
}

impl Bench {
    /// Makes a folder with the files below the given one.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn new(activebench: &Path, amount: Amount, parent: &Path) -> Result<Bench> {
        let folder = tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(parent)
            .with_context(|| format!("cannot make a folder in {}", parent.display()))?;
        for name in [CACHED_FILE, DIRECT_FILE, BACKING_FILE] {
            write_file(&folder.path().join(name))?;
        }
        write_text(&folder.path().join(IDLE_SCRIPT), IDLE)?;
        Ok(Bench { activebench: activebench.to_owned(), amount, loop_device: None, folder })
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the binary under test.
    pub(crate) fn activebench(&self) -> &Path {
        &self.activebench
    }

    /// Prepares the requirements of this workload: a warm cache, a loop device.
    ///
    /// # Errors
    /// When that is not possible; the workload is then not measured.
    pub(crate) fn prepare(&mut self, workload: &Workload) -> Result<()> {
        match workload.program {
            Program::Fio { target: Target::DirectLoop, .. } => {
                if self.loop_device.is_none() {
                    self.loop_device = Some(LoopDevice::new(&self.folder().join(BACKING_FILE))?);
                }
            }
            Program::Preads | Program::Fio { target: Target::CachedFile, .. } => {
                let path = self.folder().join(CACHED_FILE);
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            }
            Program::Fio { target: Target::DirectFile, .. } | Program::Bonnie => {}
        }
        Ok(())
    }

    /// Runs a workload once under a variant.
    ///
    /// # Errors
    /// When either fails; the message is a reason for the table.
    pub(crate) fn run(&self, workload: &Workload, variant: Variant) -> Result<Sample> {
        let names =
            Names { activebench: &self.activebench, loop_device: self.loop_device.as_ref().map(LoopDevice::path) };
        write_text(&self.folder().join(SCRIPT), &workload.script(&names, self.amount, variant.is_slow()))?;
        self.remove_results()?;
        if workload.outside && variant != Variant::Untraced {
            let idle = self.start_idle(workload, variant)?;
            let outcome = self.complete(self.command(workload, Variant::Untraced, SCRIPT), Variant::Untraced);
            self.end_idle(idle, variant)?;
            outcome?;
        } else {
            self.complete(self.command(workload, variant, SCRIPT), variant)?;
        }
        let path = self.folder().join(RESULT_FILE);
        let output = fs::read_to_string(&path).context("the workload left no result")?;
        let accounts = if variant.leaves_a_run() { Some(self.accounts()?) } else { None };
        Ok(Sample { ns_per_call: workload.ns_per_call(&output)?, median_ns: workload.median_ns(&output), accounts })
    }

    fn command(&self, workload: &Workload, variant: Variant, script: &str) -> Command {
        let mut command = variant.command(&self.activebench, script, workload.syscall, RUN_DIR);
        command.current_dir(self.folder());
        command
    }

    fn complete(&self, mut command: Command, variant: Variant) -> Result<()> {
        let name = command.get_program().to_string_lossy().into_owned();
        let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
        accept(variant, output.status, &output.stderr, &output.stdout)
    }

    /// Starts an observer around a tree that idles, and waits until that tree runs: then the observer has attached.
    fn start_idle(&self, workload: &Workload, variant: Variant) -> Result<Idle> {
        let stderr = File::create(self.folder().join(IDLE_STDERR)).context("cannot make a file")?;
        let mut command = self.command(workload, variant, IDLE_SCRIPT);
        let name = command.get_program().to_string_lossy().into_owned();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take().context("the observer has no standard input")?;
        let mut stdout = BufReader::new(child.stdout.take().context("the observer has no standard output")?);
        let mut line = String::new();
        while stdout.read_line(&mut line).context("cannot read the observer's output")? > 0 {
            if line.trim() == "ready" {
                return Ok(Idle { child, stdin, stdout });
            }
            line.clear();
        }
        drop(stdin);
        let status = child.wait().context("cannot wait for the observer")?;
        let stderr = fs::read(self.folder().join(IDLE_STDERR)).context("cannot read the observer's messages")?;
        accept(variant, status, &stderr, &[])?;
        bail!("{name} ended before its command said that it runs")
    }

    fn end_idle(&self, idle: Idle, variant: Variant) -> Result<()> {
        let Idle { mut child, stdin, mut stdout } = idle;
        drop(stdin);
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).context("cannot read the observer's output")?;
        let status = child.wait().context("cannot wait for the observer")?;
        let stderr = fs::read(self.folder().join(IDLE_STDERR)).context("cannot read the observer's messages")?;
        accept(variant, status, &stderr, &rest)
    }

    fn remove_results(&self) -> Result<()> {
        let (result, run) = (self.folder().join(RESULT_FILE), self.folder().join(RUN_DIR));
        if result.exists() {
            fs::remove_file(&result).with_context(|| format!("cannot remove {}", result.display()))?;
        }
        if run.exists() {
            fs::remove_dir_all(&run).with_context(|| format!("cannot remove {}", run.display()))?;
        }
        Ok(())
    }

    fn accounts(&self) -> Result<(Records, OwnAccount)> {
        let path = self.folder().join(RUN_DIR).join("run.json");
        let manifest = fs::read_to_string(path).context("activebench left no manifest")?;
        Ok((Records::read(&manifest)?, OwnAccount::read(&manifest)?))
    }

    /// Checks for lost records while several threads read at once under activebench.
    pub(crate) fn loss_check(&self) -> LossCheck {
        let preads = LOSS_THREADS * self.amount.preads / 2;
        let mut check = LossCheck { threads: LOSS_THREADS, preads, preads_per_sec: None, records: None, reason: None };
        match self.read_with_threads(preads / LOSS_THREADS) {
            Ok((preads_per_sec, records)) => {
                check.preads_per_sec = Some(preads_per_sec);
                check.records = Some(records);
            }
            Err(error) => check.reason = Some(format!("{error:#}")),
        }
        check
    }

    fn read_with_threads(&self, count: u64) -> Result<(f64, Records)> {
        let script = format!(
            "exec {} __workload preads --threads {LOSS_THREADS} --count {count} {CACHED_FILE} > {RESULT_FILE}\n",
            workloads::quoted(&self.activebench.display().to_string())
        );
        write_text(&self.folder().join(SCRIPT), &script)?;
        self.remove_results()?;
        let mut command = Variant::Activebench.command(&self.activebench, SCRIPT, "pread64", RUN_DIR);
        command.current_dir(self.folder());
        self.complete(command, Variant::Activebench)?;
        let output = fs::read_to_string(self.folder().join(RESULT_FILE)).context("the workload left no result")?;
        let line: serde_json::Value = serde_json::from_str(&output).context("cannot read the loop's line")?;
        let rate = line["calls"].as_f64().zip(line["elapsed_ns"].as_f64()).map(|(calls, ns)| calls * 1e9 / ns);
        Ok((rate.context("the loop's line lacks calls or elapsed_ns")?, self.accounts()?.0))
    }

    /// Returns the names of tracing programs that other processes have loaded.
    ///
    /// To be called between runs. Our own programs disappear shortly after the process that loaded them.
    ///
    /// # Errors
    /// When the kernel does not provide them.
    pub(crate) fn foreign_tracers(&self) -> Result<Vec<String>> {
        let asked = Instant::now();
        loop {
            let names = self.tracers()?;
            if names.is_empty() || asked.elapsed() > REMNANTS {
                return Ok(names);
            }
            std::thread::sleep(REMNANTS / 20);
        }
    }

    fn tracers(&self) -> Result<Vec<String>> {
        let output = Command::new(&self.activebench).arg("__tracers").output().context("cannot start activebench")?;
        accept(Variant::Untraced, output.status, &output.stderr, &output.stdout)?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    }
}

/// An observer of a tree that idles.
struct Idle {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<std::process::ChildStdout>,
}

/// Fails with the last line of a program that did not end as expected.
fn accept(variant: Variant, status: ExitStatus, stderr: &[u8], stdout: &[u8]) -> Result<()> {
    if variant.accepts(status.code()) {
        return Ok(());
    }
    match last_line(stderr).or_else(|| last_line(stdout)) {
        Some(line) => bail!("{} ended with {status}: {line}", variant.name()),
        None => bail!("{} ended with {status} and said nothing", variant.name()),
    }
}

fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file of data to its device: reads of holes or of unwritten extents do not reach a device.
fn write_file(path: &Path) -> Result<()> {
    let context = || format!("cannot write {}", path.display());
    let block: Vec<u8> = (0..1_u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut file = File::create(path).with_context(context)?;
    for _ in 0..FILE_BYTES / block.len() {
        file.write_all(&block).with_context(context)?;
    }
    file.sync_all().with_context(context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn a_failure_is_told_by_its_last_words() {
        let status = |code: i32| ExitStatus::from_raw(code << 8);
        let check = |stderr: &str, stdout: &str, expected: &str| {
            let error =
                accept(Variant::Strace, status(1), stderr.as_bytes(), stdout.as_bytes()).expect_err("a failure");
            assert_eq!(error.to_string(), format!("strace ended with exit status: 1{expected}"));
        };
        check("first\nptrace: not permitted\n\n", "output", ": ptrace: not permitted");
        check("", "only\noutput\n", ": output");
        check("\n", "", " and said nothing");
        assert!(accept(Variant::Strace, status(0), b"words", b"").is_ok());
    }

    #[test]
    fn the_script_of_an_idle_tree_says_when_it_runs_and_ends_with_its_input() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(IDLE_SCRIPT);
        write_text(&path, IDLE).expect("a file");
        let output = Command::new("/bin/sh").arg(&path).stdin(Stdio::null()).output().expect("a shell");
        assert_eq!(output.stdout, b"ready\n");
    }
}
