//! The location of the workspace, and the calls of cargo that build the product.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The product's package and its binary.
const PRODUCT: &str = "activebench";

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest_dir.parent().unwrap_or(manifest_dir).to_owned()
}

/// Returns a cargo command in the root of the workspace. It uses the cargo that runs this task, so that `cargo +nightly
/// xtask` uses one toolchain throughout.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Returns cargo's target directory; `CARGO_TARGET_DIR` and cargo's configuration apply.
///
/// # Errors
/// When `cargo metadata` fails or prints no target directory.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata ended with {}", output.status);
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cannot read the output of cargo metadata")?;
    let target = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(target))
}

/// Builds the product, with cargo's progress on stderr, and returns the binary's path.
///
/// `cargo test --workspace` reuses this build: `activebench-features` gives both the same features of every third-party
/// crate.
///
/// # Errors
/// When the build fails, or makes no binary named `activebench`.
pub(crate) fn build_product() -> Result<PathBuf> {
    build(&["--package", PRODUCT])
}

/// Builds the product as users get it, with the versions of `Cargo.lock`, and returns the binary's path.
///
/// # Errors
/// As [`build_product`].
pub(crate) fn build_release() -> Result<PathBuf> {
    build(&["--release", "--locked", "--package", PRODUCT])
}

/// Builds every binary and test, and returns the path of the product's binary.
///
/// # Errors
/// As [`build_product`].
pub(crate) fn build_with_tests() -> Result<PathBuf> {
    build(&["--workspace", "--lib", "--bins", "--tests"])
}

fn build(selection: &[&str]) -> Result<PathBuf> {
    let mut child = cargo()
        .arg("build")
        .args(selection)
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo build")?;
    let stdout = child.stdout.take().context("cargo build has no standard output")?;
    let mut binary = None;
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read the messages of cargo build")?;
        if let Some(path) = product_executable(&line) {
            binary = Some(path);
        }
    }
    let status = child.wait().context("cannot wait for cargo build")?;
    if !status.success() {
        bail!("cargo build {} ended with {status}", selection.join(" "));
    }
    binary.with_context(|| format!("cargo build made no binary named {PRODUCT}"))
}

/// Returns the path of the product's binary, when a message of cargo announces it.
fn product_executable(message: &str) -> Option<PathBuf> {
    // A line that is not JSON is a build script's own output, not a message.
    let Ok(message) = serde_json::from_str::<Value>(message) else { return None };
    let is_product = message["reason"] == "compiler-artifact"
        && message["target"]["name"] == PRODUCT
        && message["target"]["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
        && message["profile"]["test"] == false;
    let executable = message["executable"].as_str()?;
    is_product.then(|| PathBuf::from(executable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, expected: Option<&str>) {
        assert_eq!(product_executable(message), expected.map(PathBuf::from));
    }

    #[test]
    fn the_binary_is_found_in_cargos_messages() {
        let artifact = |name: &str, kind: &str, test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}","kind":["{kind}"]}},"profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        check(&artifact("activebench", "bin", false, r#""/t/debug/activebench""#), Some("/t/debug/activebench"));
        check(&artifact("activebench", "bin", true, r#""/t/debug/deps/activebench-1""#), None);
        check(&artifact("activebench", "lib", false, "null"), None);
        check(&artifact("xtask", "bin", false, r#""/t/debug/xtask""#), None);
        check(r#"{"reason":"build-finished","success":true}"#, None);
        check("not JSON", None);
    }
}
