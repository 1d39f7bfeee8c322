//! `cargo xtask ci`: what must hold before a merge, cheapest first, the tests last.
//!
//! A failed step does not stop the next, so that one run shows all there is to mend. The
//! last line is the tests' count, `N passed, N failed, N skipped`; above it stands each
//! step that failed.

use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::{self, Selection};
use crate::{bpf, detector_pages, suite};

/// A step: its name and what it does.
type Step = (&'static str, fn() -> Result<()>);

/// Runs the task.
///
/// # Errors
/// When the tests do not build: there is no count then, and no last line.
pub(crate) fn run() -> Result<ExitCode> {
    let steps: [Step; 4] =
        [("format", format), ("lints", lints), ("kernel object", kernel_object), ("detector pages", pages)];
    let mut failed = Vec::new();
    for (name, step) in steps {
        eprintln!("\n== {name}");
        if let Err(error) = step() {
            eprintln!("{name}: {error:#}");
            failed.push(format!("{name}: {error:#}"));
        }
    }
    eprintln!("\n== tests");
    let outcome = suite::run_with(&suite::Options::default(), &failed);
    if outcome.is_err() {
        for step in &failed {
            eprintln!("failed: {step}");
        }
    }
    outcome
}

fn format() -> Result<()> {
    component("fmt", "rustfmt")?;
    cargo(&["fmt", "--all", "--check"], "cargo fmt --all")
}

fn lints() -> Result<()> {
    component("clippy", "clippy")?;
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    cargo(&arguments, "mend the warnings above")
}

fn kernel_object() -> Result<()> {
    bpf::run(&bpf::Options { check: true, install: true }).map(|_| ())
}

/// Builds with the tests' features: what is built here is found built by the tests.
fn pages() -> Result<()> {
    detector_pages::check(&workspace::build_product(Selection::WithTests)?)
}

/// Fails with the command that mends it when cargo lacks a component.
fn component(subcommand: &str, name: &str) -> Result<()> {
    let status = workspace::cargo()
        .args([subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot run cargo {subcommand}"))?;
    if !status.success() {
        bail!("cargo has no {subcommand} (hint: rustup component add {name}, or install your system's package of it)");
    }
    Ok(())
}

fn cargo(arguments: &[&str], hint: &str) -> Result<()> {
    let status =
        workspace::cargo().args(arguments).status().with_context(|| format!("cannot run cargo {}", arguments[0]))?;
    if !status.success() {
        bail!("cargo {} ended with {status} (hint: {hint})", arguments[0]);
    }
    Ok(())
}
