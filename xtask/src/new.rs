//! `cargo xtask new`: the files that a detector, an adapter, a fact, a format, a kernel record or a subcommand begins
//! with, and its lines in the lists.
//!
//! The generated files compile and judge nothing; failing tests name what is still to be written. `CONTRIBUTING.md`
//! lists the files of each kind; a test compares them with those that are touched here. `cargo xtask new check`
//! compiles one of each in a copy of the workspace.

mod adapter;
mod detector;
mod fact;
mod format;
mod record;
mod scaffold;
mod subcommand;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::workspace;
use fact::Unit;
use scaffold::Scaffold;

/// Options of `cargo xtask new`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// A detector: its file, its lines in the lists, a corpus case and a case of the judgement tests
    Detector {
        /// Its finding, in kebab case: cpu-bound
        name: String,
        /// Its code (AB507), or a group (AB5xx) whose next one it gets
        #[arg(long)]
        code: String,
    },
    /// An adapter: its files, its lines in the lists, a test that fails until there is a fixture
    Adapter {
        /// The benchmark's name, which is also that of its program: iozone
        name: String,
    },
    /// A fact about a pass that follows from its calls: its file, its name and unit
    Fact {
        /// Its subject, in kebab case and without unit: short-calls
        name: String,
        /// The unit of its values
        #[arg(long)]
        unit: Unit,
    },
    /// A report format
    Format {
        /// Its name for `--format`
        name: String,
    },
    /// A class of kernel records: its layouts, its event, its table
    Record {
        /// Its name, in kebab case: page-cache
        name: String,
    },
    /// A subcommand of activebench
    Subcommand {
        /// Its name on the command line: verify-bundle
        name: String,
    },
    /// Writes one of each into a copy of the workspace, and compiles that
    Check,
}

/// Runs the task.
///
/// # Errors
/// When a name is taken or malformed, a file cannot be written, or a scaffold does not compile.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let root = workspace::root();
    let Some((scaffold, next)) = scaffold(&root, &options.kind)? else {
        check(&root)?;
        return Ok(ExitCode::SUCCESS);
    };
    let files = scaffold.write()?;
    // rustfmt wraps the lists, depending on the length of the names.
    let status = workspace::cargo().args(["fmt", "--all"]).status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("cargo fmt failed: run it before you commit");
    }
    for path in &files {
        println!("wrote {}", path.strip_prefix(&root).unwrap_or(path).display());
    }
    println!("\n{next}\nCONTRIBUTING.md describes each step.");
    Ok(ExitCode::SUCCESS)
}

/// Returns the files of an addition, and what to do with them; `None` for the check.
fn scaffold(root: &Path, kind: &Kind) -> Result<Option<(Scaffold, String)>> {
    Ok(Some(match kind {
        Kind::Detector { name, code } => {
            let (scaffold, code) = detector::detector(root, name, code)?;
            let next = format!(
                "{code} is in the registry and judges nothing yet. Write, in this order:\n\
                 1. the six sections of its manual page, what it declares, and `judge`\n\
                 2. the cases of the judgement tests: one that fires, one that is silent, one that is undecided\n\
                 3. the planted lie and its honest twin\n\
                 cargo xtask test --unit and cargo xtask truth --only {code} say what is missing; cargo xtask docs \
                 writes its page."
            );
            (scaffold, next)
        }
        Kind::Adapter { name } => {
            let next = format!(
                "{name} is in the registry; it claims nothing yet. Write, in this order:\n\
                 1. its program, its packages and its version in {name}.rs\n\
                 2. outputs in fixtures/{name}, each with a provenance.toml, and `options` and `output`\n\
                 3. `plan` and `phases`, then `advice`, and what else {name}.rs answers with nothing\n\
                 cargo xtask test --unit says what is missing."
            );
            (adapter::adapter(root, name)?, next)
        }
        Kind::Fact { name, unit } => {
            let next = "The fact is missing in every report. Write what it counts, and a story in facts_of_stories.";
            (fact::fact(root, name, *unit)?, next.to_owned())
        }
        Kind::Format { name } => {
            let next =
                format!("`--format {name}` prints nothing yet. Write `render`, and a snapshot in tests/formats.");
            (format::format(root, name)?, next)
        }
        Kind::Record { name } => {
            let next = "The kernel programs do not make such records yet. Write the fields in both layouts, the program \
                        that fills them, then `cargo xtask bpf`. A test compares the layouts.";
            (record::record(root, name)?, next.to_owned())
        }
        Kind::Subcommand { name } => {
            let next = format!("`activebench {name}` fails yet. Write its arguments, their help and `run`.");
            (subcommand::subcommand(root, name)?, next)
        }
        Kind::Check => return Ok(None),
    }))
}

/// One addition of each kind, as `CONTRIBUTING.md` shows them.
fn examples() -> [Kind; 6] {
    let name = |text: &str| text.to_owned();
    [
        Kind::Detector { name: name("new-name"), code: name("AB599") },
        Kind::Adapter { name: name("newtool") },
        Kind::Fact { name: name("new-name"), unit: Unit::Count },
        Kind::Format { name: name("new-name") },
        Kind::Record { name: name("new-record") },
        Kind::Subcommand { name: name("new-name") },
    ]
}

/// Writes one of each into a copy of the workspace, and compiles that. Dependencies are those that are compiled already.
///
/// # Errors
/// When the copy cannot be made, or does not compile.
pub(crate) fn check(root: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    copy_tracked(root, folder.path())?;
    for kind in examples() {
        if let Some((scaffold, _)) = scaffold(folder.path(), &kind)? {
            scaffold.write()?;
        }
    }
    // Cargo tells packages of one name apart by their folder in the workspace. In the same one, those of the copy would
    // replace those of this workspace in its target folder.
    let manifest = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).context("cannot read the copy's Cargo.toml")?;
    fs::write(&manifest, text.replace("\"crates/", "\"scaffolds/")).context("cannot write the copy's Cargo.toml")?;
    fs::rename(folder.path().join("crates"), folder.path().join("scaffolds")).context("cannot rename a folder")?;
    let status = workspace::cargo()
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", root.join("target"))
        .args(["check", "--workspace", "--exclude", "xtask", "--lib", "--bins", "--quiet"])
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the files that `cargo xtask new` writes do not compile");
    }
    println!("one of each: the files compile");
    Ok(())
}

/// Copies the files that are not ignored, as they are in the work tree.
fn copy_tracked(from: &Path, to: &Path) -> Result<()> {
    let listed = Command::new("git")
        .arg("-C")
        .arg(from)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("cannot start git")?;
    if !listed.status.success() {
        bail!("git cannot list the files: {}", String::from_utf8_lossy(&listed.stderr).trim());
    }
    for name in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
        // A deleted file is still listed.
        let source = from.join(name);
        if !source.is_file() {
            continue;
        }
        let target = to.join(name);
        let folder = target.parent().context("a file is in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::copy(&source, &target).with_context(|| format!("cannot copy {}", source.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Copies the files that the scaffolds read.
    fn copied() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = workspace::root();
        let listed = Command::new("git").arg("-C").arg(&root).args(["ls-files", "crates"]).output().expect("git runs");
        for name in String::from_utf8_lossy(&listed.stdout).lines() {
            let is_source = (name.ends_with(".rs") || name.ends_with(".h")) && root.join(name).is_file();
            if is_source {
                let target = folder.path().join(name);
                fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
                fs::copy(root.join(name), target).expect("a copy");
            }
        }
        folder
    }

    /// Returns the text of every file below a folder.
    fn texts(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut texts = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(inside) = folders.pop() {
            for entry in fs::read_dir(&inside).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(folder).expect("it is inside").display().to_string();
                    texts.insert(name, fs::read(&path).expect("a file"));
                }
            }
        }
        texts
    }

    /// Returns the lists of `CONTRIBUTING.md`: for each command the files, `+` for a new one, `~` for one with more
    /// lines.
    fn listed() -> BTreeMap<String, BTreeSet<String>> {
        let text = fs::read_to_string(workspace::root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
        let mut lists: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut command = None;
        for line in text.lines() {
            if let Some(new) = line.strip_prefix("$ cargo xtask new ") {
                command = new.split_whitespace().next().map(str::to_owned);
            } else if line.starts_with("```") {
                command = None;
            } else if let Some(command) = &command {
                let file: Vec<&str> = line.split_whitespace().take(2).collect();
                lists.entry(command.clone()).or_default().insert(file.join(" "));
            }
        }
        lists
    }

    #[test]
    fn each_addition_touches_the_files_that_the_guide_lists() {
        let listed = listed();
        assert_eq!(listed.len(), examples().len(), "{listed:?}");
        for kind in examples() {
            let folder = copied();
            let before = texts(folder.path());
            let (scaffold, _) = scaffold(folder.path(), &kind).expect("it can be written").expect("a scaffold");
            scaffold.write().expect("it is written");
            let after = texts(folder.path());
            let touched: BTreeSet<String> = after
                .iter()
                .filter_map(|(path, text)| match before.get(path) {
                    None => Some(format!("+ {path}")),
                    Some(old) => (old != text).then(|| format!("~ {path}")),
                })
                .collect();
            let command = match &kind {
                Kind::Detector { .. } => "detector",
                Kind::Adapter { .. } => "adapter",
                Kind::Fact { .. } => "fact",
                Kind::Format { .. } => "format",
                Kind::Record { .. } => "record",
                Kind::Subcommand { .. } => "subcommand",
                Kind::Check => unreachable!("it adds nothing"),
            };
            assert_eq!(Some(&touched), listed.get(command), "{command}");
        }
    }

    #[test]
    fn nothing_is_written_for_a_name_that_is_taken() {
        let folder = copied();
        let before = texts(folder.path());
        for kind in [
            Kind::Adapter { name: "fio".to_owned() },
            Kind::Adapter { name: "two-words".to_owned() },
            Kind::Format { name: "html".to_owned() },
            Kind::Fact { name: "shared".to_owned(), unit: Unit::Bytes },
            Kind::Subcommand { name: "verify".to_owned() },
            Kind::Detector { name: "cpu-bound".to_owned(), code: "AB5xx".to_owned() },
            Kind::Record { name: "Calls".to_owned() },
        ] {
            assert!(scaffold(folder.path(), &kind).is_err(), "{kind:?}");
        }
        assert_eq!(texts(folder.path()), before);
    }
}
