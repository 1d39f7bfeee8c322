//! `cargo xtask fuzz`: feeds every reader of foreign bytes what nobody ever wrote.
//!
//! The targets are a workspace of its own (`fuzz`), built by the stable compiler with libFuzzer's instrumentation. The
//! first inputs are fixtures and what the product itself writes. Further inputs that the fuzzer finds stay in cargo's
//! target directory, and the next run continues from them. An input that ends in a panic, takes more than 256 MiB or
//! more than ten seconds is a finding: it is kept as a file, and `--play` plays it again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::workspace;

/// Instrumentation that libFuzzer needs to see the path that an input takes.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
/// Length of the longest input in bytes: no fixture is longer.
const MOST_BYTES: usize = 64 << 10;
/// Memory outside of Rust's allocator, the fuzzer's own included, in MiB. The target itself bounds the rest.
const MOST_RESIDENT_MIB: u32 = 2048;
/// Most seconds for one input.
const MOST_SECONDS: u32 = 10;
/// A file system in memory: some targets read files.
const MEMORY: &str = "/dev/shm";

/// Options of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The targets that are fed, by name; all when none is named
    targets: Vec<String>,
    /// How long each is fed, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Feed one target this file once, as it is
    #[arg(long, value_name = "FILE")]
    play: Option<PathBuf>,
    /// List the targets
    #[arg(long)]
    list: bool,
}

/// Builds the program and runs it for each target for the given time.
///
/// # Errors
/// When the program cannot be built or a target is not known. A reader's defect is not an error of the task: the task
/// names the input and ends with a failure.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let target_dir = workspace::target_dir()?.join("fuzz");
    let triple = host_triple()?;
    build(&workspace::root().join("fuzz"), &target_dir, &triple)?;
    let program = target_dir.join(&triple).join("release/target");
    let known = names(&program)?;
    if options.list {
        known.iter().for_each(|name| println!("{name}"));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = options.targets.iter().find(|name| !known.contains(name)) {
        bail!("no target {unknown} (hint: one of {})", known.join(", "));
    }
    let samples = target_dir.join("samples");
    sample(&samples)?;
    let work = scratch()?;
    let scene = Scene { program, samples, corpus: target_dir.join("corpus"), work: work.path().to_owned() };
    if let Some(input) = &options.play {
        let [name] = &options.targets[..] else { bail!("--play needs one target (hint: {})", known.join(", ")) };
        let status = scene.command(name).arg(input).status().context("cannot run the target")?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mut failed = Vec::new();
    for name in known.iter().filter(|name| options.targets.is_empty() || options.targets.contains(name)) {
        if !scene.feed(name, options.seconds)? {
            failed.push(name.as_str());
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("xtask: failed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Returns the host's target triple. An instrumented build must name its target; otherwise build scripts would be
/// instrumented too.
fn host_triple() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc names no host")
}

fn build(package: &Path, target_dir: &Path, triple: &str) -> Result<()> {
    let status = workspace::cargo()
        .current_dir(package)
        .args(["build", "--release", "--target", triple])
        .env("CARGO_TARGET_DIR", target_dir)
        .env("RUSTFLAGS", INSTRUMENTATION)
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the fuzz targets cannot be built: cargo build ended with {status} (hint: a C++ compiler is needed)");
    }
    Ok(())
}

/// Returns the names of the targets.
fn names(program: &Path) -> Result<Vec<String>> {
    let output = Command::new(program).env("ACTIVEBENCH_FUZZ_LIST", "1").output();
    let output = output.with_context(|| format!("cannot run {}", program.display()))?;
    let names: Vec<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    if names.is_empty() {
        bail!("{} lists no targets", program.display());
    }
    Ok(names)
}

/// Makes a stored run and its bundle, without root: the run is made up.
fn sample(samples: &Path) -> Result<()> {
    let product = workspace::build_product()?;
    let context = || format!("cannot make samples in {}", samples.display());
    if samples.exists() {
        fs::remove_dir_all(samples).with_context(context)?;
    }
    fs::create_dir_all(samples).with_context(context)?;
    let (run, bundle) = (samples.join("run"), samples.join("bundle.tar.zst"));
    let mut recorded = Command::new(&product);
    recorded.args(["__recorded", "--reads", "200", "--blocks", "256", "--orion-set", "40"]).arg(&run);
    let mut bundled = Command::new(&product);
    bundled.arg("bundle").arg(&run).arg("--out").arg(&bundle);
    for command in [&mut recorded, &mut bundled] {
        let output = command.output().with_context(context)?;
        if !output.status.success() {
            bail!("cannot make samples: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
    }
    Ok(())
}

/// Makes the folder for the files of the targets, in memory if there is a file system in memory. It is removed at the
/// end: a fuzzer ends without removing what its target made.
fn scratch() -> Result<TempDir> {
    let mut prefix = tempfile::Builder::new();
    prefix.prefix("activebench-fuzz-");
    let made = if Path::new(MEMORY).is_dir() { prefix.tempdir_in(MEMORY) } else { prefix.tempdir() };
    made.context("cannot make a folder for the targets' files")
}

/// What every target needs.
struct Scene {
    program: PathBuf,
    samples: PathBuf,
    corpus: PathBuf,
    work: PathBuf,
}

impl Scene {
    /// Returns the command that feeds a target what follows.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.env("ACTIVEBENCH_FUZZ_TARGET", name).env("ACTIVEBENCH_FUZZ_SAMPLES", &self.samples);
        command.env("TMPDIR", &self.work);
        command.args([format!("-timeout={MOST_SECONDS}"), format!("-rss_limit_mb={MOST_RESIDENT_MIB}")]);
        command
    }

    /// Runs the fuzzer; returns `true` when the reader passed.
    fn feed(&self, name: &str, seconds: u32) -> Result<bool> {
        let corpus = self.corpus.join(name);
        let findings = self.corpus.join(format!("{name}-findings"));
        for folder in [&corpus, &findings] {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let seeded = self.command(name).env("ACTIVEBENCH_FUZZ_SEEDS", &corpus).status();
        if !seeded.context("cannot run the target")?.success() {
            bail!("cannot write the first inputs of {name}");
        }
        eprintln!("xtask: {name}: {seconds} s");
        let status = self
            .command(name)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-max_len={MOST_BYTES}"))
            .args(["-print_final_stats=1", "-verbosity=0"])
            .arg(format!("-artifact_prefix={}/", findings.display()))
            .arg(&corpus)
            .status()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        if !status.success() {
            eprintln!(
                "xtask: {name} failed; the input lies in {} (hint: cargo xtask fuzz {name} --play FILE)",
                findings.display()
            );
        }
        Ok(status.success())
    }
}
