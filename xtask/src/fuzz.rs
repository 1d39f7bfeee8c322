//! `cargo xtask fuzz`: feeds the adapters' parsers with input that no tool ever printed.
//!
//! The target is a workspace of its own, built by the stable compiler with libFuzzer's instrumentation. The first
//! inputs are the fixtures. Further inputs that the fuzzer finds stay in cargo's target directory, and the next run
//! continues from them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use activebench_tools::ADAPTERS;
use anyhow::{Context, Result, bail};

use crate::workspace;

/// Instrumentation that libFuzzer needs to see the path that an input takes.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
/// Length of the longest input in bytes: no fixture is longer.
const MOST_BYTES: usize = 64 << 10;

/// Options of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The tools whose adapters are fed, by name; all when none is named
    adapters: Vec<String>,
    /// How long each is fed, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Name of the target.
const TARGET: &str = "adapter";
/// The environment variable in which the target finds the adapter.
const ADAPTER: &str = "ACTIVEBENCH_FUZZED_ADAPTER";

/// Builds the target and runs it for each adapter for the given time.
///
/// # Errors
/// When the target cannot be built or an adapter is not known. A parser's defect is not an error of the task: the task
/// names the input and ends with a failure.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let package = workspace::root().join("crates/activebench-tools/fuzz");
    let known: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.name()).collect();
    if let Some(unknown) = options.adapters.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no adapter {unknown} (hint: one of {})", known.join(", "));
    }
    let target_dir = workspace::target_dir()?.join("fuzz");
    let triple = host_triple()?;
    build(&package, &target_dir, &triple)?;
    let mut failed = Vec::new();
    let program = target_dir.join(&triple).join("release").join(TARGET);
    let is_wanted = |name: &str| options.adapters.is_empty() || options.adapters.iter().any(|wanted| wanted == name);
    for name in known.into_iter().filter(|name| is_wanted(name)) {
        if !feed(name, &program, &target_dir.join("corpus").join(name), options.seconds)? {
            failed.push(name);
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
        bail!("the fuzz target cannot be built: cargo build ended with {status} (hint: a C++ compiler is needed)");
    }
    Ok(())
}

/// Runs the fuzzer; returns `true` when the parser passed.
fn feed(name: &str, program: &Path, corpus: &Path, seconds: u32) -> Result<bool> {
    let seeds = seed(name, corpus)?;
    eprintln!("xtask: {name}: {seconds} s, from {seeds} fixtures");
    let findings = corpus.with_file_name(format!("{name}-findings/"));
    fs::create_dir_all(&findings).with_context(|| format!("cannot make {}", findings.display()))?;
    let status = Command::new(program)
        .env(ADAPTER, name)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={MOST_BYTES}"))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"])
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(corpus)
        .status()
        .with_context(|| format!("cannot run {}", program.display()))?;
    if !status.success() {
        eprintln!("xtask: {name} failed; the input lies in {}", findings.display());
    }
    Ok(status.success())
}

/// Writes an input for each fixture; returns their number.
fn seed(name: &str, corpus: &Path) -> Result<usize> {
    fs::create_dir_all(corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let folder = workspace::root().join("fixtures").join(name);
    let mut cases: Vec<PathBuf> = match fs::read_dir(&folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect(),
        Err(error) => bail!("cannot read {}: {error}", folder.display()),
    };
    cases.sort();
    for case in &cases {
        let read = |file: &str| fs::read(case.join(file)).unwrap_or_default();
        let provenance = String::from_utf8_lossy(&read("provenance.toml")).into_owned();
        let command = provenance.lines().find_map(|line| line.strip_prefix("command = ")).unwrap_or_default();
        let command = command.trim_matches('"').as_bytes();
        let printed = [command, &read("stdout.txt"), &read("stderr.txt")].join(&0);
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::write(corpus.join(&name), &printed).context("cannot write a first input")?;
        let others = fs::read_dir(case).with_context(|| format!("cannot read {}", case.display()))?;
        for other in others.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
            if !["provenance.toml", "stdout.txt", "stderr.txt"].contains(&other.as_str()) {
                let input = [printed.as_slice(), &read(&other)].join(&0);
                fs::write(corpus.join(format!("{name}-{other}")), input).context("cannot write a first input")?;
            }
        }
    }
    Ok(cases.len())
}
