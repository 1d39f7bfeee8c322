//! `cargo xtask deny`: checks licences, known weaknesses, versions and origins of the crates of others.
//!
//! `cargo-deny` does the work, by `deny.toml`. The advisories are a pinned copy in `fixtures/advisories`, so that the
//! same commit gives the same answer on every day and without their server. `cargo deny check` asks today's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{packages, tools, workspace};

/// The version whose rules `deny.toml` was written for.
const VERSION: &str = "0.20.2";
/// The default address of `cargo-deny`'s advisories. The task makes git read the pinned copy in its place.
const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";
/// The pinned copy; `provenance.toml` beside it names the commit.
const PINNED: &str = "fixtures/advisories/rustsec.tar.zst";
/// The workspaces and what is checked of each: the fuzz targets are not shipped.
const WORKSPACES: &[(&str, &str)] = &[("Cargo.toml", "all"), ("fuzz/Cargo.toml", "advisories")];

/// Runs the task.
///
/// # Errors
/// When `cargo-deny` cannot be installed or run. What it finds is not an error of the task: the task ends with a failure.
pub(crate) fn check() -> Result<ExitCode> {
    let missing = packages::ensure(tools::FOR_DENY);
    if !missing.is_empty() {
        packages::report_missing(&missing);
        return Ok(ExitCode::FAILURE);
    }
    let program = cargo_deny()?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let advisories = unpack(&workspace::root().join(PINNED), folder.path())?;
    let config = config(folder.path())?;
    let mut failed = Vec::new();
    for (manifest, which) in WORKSPACES {
        eprintln!("xtask: cargo deny check {which}: {manifest}");
        let status = Command::new(&program)
            .current_dir(workspace::root())
            .args(["--manifest-path", manifest, "--config"])
            .arg(&config)
            .args(["check", "--hide-inclusion-graph", which])
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("url.file://{}.insteadOf", advisories.display()))
            .env("GIT_CONFIG_VALUE_0", ADVISORIES)
            .status()
            .with_context(|| format!("cannot run {}", program.display()))?;
        if !status.success() {
            failed.push(*manifest);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("xtask: failed: {}", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

/// Returns the program of [`VERSION`] in cargo's target folder; compiles it when it is not there.
fn cargo_deny() -> Result<PathBuf> {
    let target = workspace::target_dir()?;
    let root = target.join(format!("tools/cargo-deny-{VERSION}"));
    let program = root.join("bin/cargo-deny");
    if !program.is_file() {
        eprintln!("xtask: cargo-deny {VERSION} is compiled; this takes minutes, once");
        let mut install = workspace::cargo();
        install.args(["install", "cargo-deny", "--locked", "--version", VERSION, "--root"]).arg(&root);
        // Of its own: its build must not wait for the product's, nor leave anything behind.
        let build = tempfile::tempdir_in(&target).context("cannot make a folder")?;
        packages::run_visibly(install.arg("--target-dir").arg(build.path()))?;
    }
    Ok(program)
}

/// Makes a repository of the pinned advisories: `cargo-deny` reads them from git only. Returns its folder.
fn unpack(archive: &Path, folder: &Path) -> Result<PathBuf> {
    let repository = folder.join("pinned");
    fs::create_dir(&repository).context("cannot make a folder")?;
    run(Command::new("tar").args(["--zstd", "-xf"]).arg(archive).arg("-C").arg(&repository))?;
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all", "--force"],
        &["-c", "user.name=pinned", "-c", "user.email=pinned", "commit", "--quiet", "--message=pinned"],
    ] {
        run(Command::new("git").arg("-C").arg(&repository).args(arguments))?;
    }
    Ok(repository)
}

/// Writes the project's configuration with a place for the copy that `cargo-deny` makes: not the user's.
fn config(folder: &Path) -> Result<PathBuf> {
    let text = fs::read_to_string(workspace::root().join("deny.toml")).context("cannot read deny.toml")?;
    let (before, after) = text.split_once("[advisories]\n").context("deny.toml has no [advisories]")?;
    let path = folder.join("deny.toml");
    let copy = folder.join("copy");
    fs::write(&path, format!("{before}[advisories]\ndb-path = {copy:?}\n{after}")).context("cannot write deny.toml")?;
    Ok(path)
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_advisories_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let repository = unpack(&workspace::root().join(PINNED), folder.path()).unwrap();
        let crates = fs::read_dir(repository.join("crates")).unwrap().count();
        assert!(crates > 500, "advisories of {crates} crates");
    }
}
