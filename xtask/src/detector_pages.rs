//! `cargo xtask docs`: the detectors' manual pages, from the detectors' own doc comments, and the page of the tables, from
//! the declarations of their columns.
//!
//! The product writes the pages (`activebench __detector-pages DIR`, including the index, and `activebench __tables-page`).
//! This task copies them to `docs/` or compares them. They are never edited by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{word_list, workspace};

/// Options of `cargo xtask docs`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Compare with the committed pages, change nothing
    #[arg(long)]
    check: bool,
}

/// The index among the pages.
const INDEX: &str = "README.md";
/// The page of the tables.
const TABLES: &str = "docs/tables.md";

/// Runs the task.
///
/// # Errors
/// When the product does not build or fails, and with `--check` when pages are stale.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let binary = workspace::build_product()?;
    if options.check {
        check(&binary)?;
        word_list::check()?;
    } else {
        write(&binary)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails when the committed pages differ from those that the binary writes.
///
/// # Errors
/// In that case, and when pages cannot be generated or read.
pub(crate) fn check(binary: &Path) -> Result<()> {
    let differences = differences(&read(&pages_folder())?, &generate(binary)?);
    if !differences.is_empty() {
        bail!("the detectors' pages are stale: {} (hint: cargo xtask docs, then commit)", differences.join(", "));
    }
    println!("the detectors' pages are those that the detectors give");
    let committed = fs::read(workspace::root().join(TABLES)).with_context(|| format!("cannot read {TABLES}"))?;
    if committed != tables_page(binary)? {
        bail!("{TABLES} is stale (hint: cargo xtask docs, then commit)");
    }
    println!("{TABLES} lists the columns that are written");
    Ok(())
}

/// Returns the page of the tables.
fn tables_page(binary: &Path) -> Result<Vec<u8>> {
    let output = Command::new(binary)
        .arg("__tables-page")
        .output()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if !output.status.success() || output.stdout.is_empty() {
        bail!("{} __tables-page ended with {}", binary.display(), output.status);
    }
    Ok(output.stdout)
}

fn write(binary: &Path) -> Result<()> {
    let folder = pages_folder();
    let (old, new) = (read(&folder)?, generate(binary)?);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, bytes) in &new {
        let path = folder.join(name);
        // An unchanged page keeps its modification time.
        if old.get(name) != Some(bytes) {
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
            println!("wrote {}", path.display());
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        let path = folder.join(name);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        println!("removed {}: no detector has this page", path.display());
    }
    println!("{} pages in {}", new.len(), folder.display());
    let page = workspace::root().join(TABLES);
    fs::write(&page, tables_page(binary)?).with_context(|| format!("cannot write {}", page.display()))?;
    println!("wrote {}", page.display());
    Ok(())
}

fn pages_folder() -> PathBuf {
    workspace::root().join("docs/detectors")
}

/// Markdown pages by file name.
type Pages = BTreeMap<String, Vec<u8>>;

fn generate(binary: &Path) -> Result<Pages> {
    let folder = tempfile::Builder::new().prefix("activebench-docs-").tempdir().context("cannot make a folder")?;
    let status = Command::new(binary)
        .arg("__detector-pages")
        .arg(folder.path())
        .status()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    if !status.success() {
        bail!("{} __detector-pages ended with {status}", binary.display());
    }
    let pages = read(folder.path())?;
    if !pages.contains_key(INDEX) || pages.len() < 2 {
        bail!("{} __detector-pages wrote no index ({INDEX}) with pages", binary.display());
    }
    Ok(pages)
}

/// Returns the pages in a folder; empty when the folder does not exist.
fn read(folder: &Path) -> Result<Pages> {
    let mut pages = Pages::new();
    if !folder.exists() {
        return Ok(pages);
    }
    let context = || format!("cannot list {}", folder.display());
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".md")) else {
            continue;
        };
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        pages.insert(name.to_owned(), bytes);
    }
    Ok(pages)
}

/// Describes pages that are missing in the committed ones, superfluous, or different.
fn differences(committed: &Pages, generated: &Pages) -> Vec<String> {
    let mut sentences = Vec::new();
    for (name, bytes) in generated {
        match committed.get(name) {
            None => sentences.push(format!("{name} is missing")),
            Some(old) if old != bytes => sentences.push(format!("{name} differs")),
            Some(_) => {}
        }
    }
    sentences.extend(
        committed.keys().filter(|name| !generated.contains_key(*name)).map(|name| format!("{name} has no detector")),
    );
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(entries: &[(&str, &str)]) -> Pages {
        entries.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn differences_name_each_page() {
        #[track_caller]
        fn check(committed: &[(&str, &str)], generated: &[(&str, &str)], expected: &[&str]) {
            assert_eq!(differences(&pages(committed), &pages(generated)), expected);
        }
        check(&[("AB101.md", "a")], &[("AB101.md", "a")], &[]);
        check(&[("AB101.md", "a")], &[("AB101.md", "b")], &["AB101.md differs"]);
        check(&[], &[("AB101.md", "a")], &["AB101.md is missing"]);
        check(&[("AB101.md", "a")], &[], &["AB101.md has no detector"]);
    }

    #[test]
    fn only_markdown_is_a_page_and_no_folder_is_no_pages() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("AB101.md"), "a").expect("a file");
        fs::write(folder.path().join("notes.txt"), "b").expect("a file");
        assert_eq!(read(folder.path()).expect("readable"), pages(&[("AB101.md", "a")]));
        assert_eq!(read(&folder.path().join("absent")).expect("no folder"), Pages::new());
    }
}
