//! `cargo xtask bpf`: compiles the kernel programs to the object that is committed.
//!
//! One clang major version, relative names and no debug sections make the object identical on every machine, so that
//! `--check` can compare. The sums of the sources are stored beside it: they reveal a forgotten rebuild even where that
//! clang is not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::sha256_list::{self, Sums};
use crate::{packages, tools, workspace};

/// Options of `cargo xtask bpf`.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Compare with the committed object, change nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Install the compiler when it is missing
    #[arg(long)]
    pub(crate) install: bool,
}

/// Removes debug information and the relocations of BTF, which no loader reads.
const STRIP_FLAGS: &[&str] = &[
    "-g",
    "--remove-section=.rel.BTF",
    "--remove-section=.rel.BTF.ext",
    "--remove-section=.llvm_addrsig",
    "--wildcard",
    "--strip-symbol=LBB*",
];

/// List of the sources' sums, beside the objects.
const SUMS_FILE: &str = "sources.sha256";
/// The object that observes. Its sum lies beside it and is compiled in: only this object is loaded.
const OBSERVING: &str = "activebench.bpf.o";
/// Flags for compiling the object; the paths are relative to the folder of the sources.
const CLANG_FLAGS: &[&str] = &[
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-gno-column-info",
    "-O2",
    "-Wall",
    "-Werror",
    "-fdebug-compilation-dir=.",
    "-c",
];

/// Runs the task.
///
/// # Errors
/// When the compiler is missing or fails, and with `--check` when the object is stale.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let crate_folder = workspace::root().join("crates/activebench-ebpf");
    let sources = Sources::read(&crate_folder.join("src"))?;
    let prebuilt = crate_folder.join("prebuilt");
    if options.check {
        check(&sources, &prebuilt, options)?;
        println!("the kernel object is the one that its sources give");
    } else {
        let compiler = Compiler::find(options)?;
        fs::create_dir_all(&prebuilt).with_context(|| format!("cannot make {}", prebuilt.display()))?;
        let objects = compiler.compile(&sources, &prebuilt)?;
        let list = prebuilt.join(SUMS_FILE);
        fs::write(&list, sha256_list::render(&sources.sums))
            .with_context(|| format!("cannot write {}", list.display()))?;
        remove_stale_objects(&prebuilt, &objects)?;
        write_object_sum(&prebuilt)?;
        for object in objects {
            let path = prebuilt.join(object);
            let size = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
            println!("wrote {} ({size} bytes)", path.display());
        }
        println!("wrote {}", list.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares the sums first: they need no compiler and identify the changed file.
fn check(sources: &Sources, prebuilt: &Path, options: &Options) -> Result<()> {
    let list = prebuilt.join(SUMS_FILE);
    let text =
        fs::read_to_string(&list).with_context(|| format!("cannot read {} (hint: cargo xtask bpf)", list.display()))?;
    let recorded = sha256_list::parse(&text).with_context(|| format!("cannot read {}", list.display()))?;
    let differences = sha256_list::differences(&recorded, &sources.sums);
    if !differences.is_empty() {
        bail!(
            "the kernel object is older than its sources: {} (hint: cargo xtask bpf, then commit both)",
            differences.join(", ")
        );
    }
    let sum = object_sum(prebuilt)?;
    let recorded =
        fs::read_to_string(sum_file(prebuilt)).context("cannot read the object's sum (hint: cargo xtask bpf)")?;
    if recorded != sum {
        bail!("{OBSERVING} is not the object whose sum is recorded beside it (hint: cargo xtask bpf, then commit)");
    }
    let compiler = Compiler::find(options)?;
    let folder = tempfile::Builder::new().prefix("activebench-bpf-").tempdir().context("cannot make a folder")?;
    let objects = compiler.compile(sources, folder.path())?;
    for object in &objects {
        let committed = prebuilt.join(object);
        let committed_bytes = fs::read(&committed)
            .with_context(|| format!("cannot read {} (hint: cargo xtask bpf)", committed.display()))?;
        let rebuilt = folder.path().join(object);
        let rebuilt_bytes = fs::read(&rebuilt).with_context(|| format!("cannot read {}", rebuilt.display()))?;
        if committed_bytes != rebuilt_bytes {
            bail!(
                "{} is not what its sources give: {} bytes committed, {} rebuilt (hint: cargo xtask bpf, then commit)",
                committed.display(),
                committed_bytes.len(),
                rebuilt_bytes.len()
            );
        }
    }
    let stale = stale_objects(prebuilt, &objects)?;
    if let Some(path) = stale.first() {
        bail!("{} has no source any more (hint: cargo xtask bpf, then commit)", path.display());
    }
    Ok(())
}

fn sum_file(prebuilt: &Path) -> PathBuf {
    prebuilt.join(format!("{OBSERVING}.sha256"))
}

/// Returns the list with the sum of the observing object.
fn object_sum(prebuilt: &Path) -> Result<String> {
    let path = prebuilt.join(OBSERVING);
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(sha256_list::render(&Sums::from([(OBSERVING.to_owned(), sha256_list::sum(&bytes))])))
}

fn write_object_sum(prebuilt: &Path) -> Result<()> {
    let path = sum_file(prebuilt);
    fs::write(&path, object_sum(prebuilt)?).with_context(|| format!("cannot write {}", path.display()))
}

/// The C files of the kernel programs.
struct Sources {
    folder: PathBuf,
    /// Sums of every source and header.
    sums: Sums,
}

impl Sources {
    fn read(folder: &Path) -> Result<Sources> {
        let mut sums = Sums::new();
        for path in files(folder)? {
            let name = file_name(&path)?;
            if name.ends_with(".c") || name.ends_with(".h") {
                let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                sums.insert(name, sha256_list::sum(&bytes));
            }
        }
        let sources = Sources { folder: folder.to_owned(), sums };
        if sources.programs().next().is_none() {
            bail!("no *.bpf.c in {}", folder.display());
        }
        Ok(sources)
    }

    /// Returns the sources that compile to an object, with the object's name.
    fn programs(&self) -> impl Iterator<Item = (&str, String)> {
        self.sums.keys().filter_map(|name| Some((name.as_str(), object_name(name)?)))
    }
}

/// Returns `activebench.bpf.o` for `activebench.bpf.c`; `None` for other files.
fn object_name(source: &str) -> Option<String> {
    let stem = source.strip_suffix(".bpf.c")?;
    (!stem.is_empty()).then(|| format!("{stem}.bpf.o"))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot list {}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    Ok(name.with_context(|| format!("{} has no UTF-8 name", path.display()))?.to_owned())
}

/// Returns objects without a source.
fn stale_objects(prebuilt: &Path, objects: &[String]) -> Result<Vec<PathBuf>> {
    let mut stale = Vec::new();
    for path in files(prebuilt)? {
        let name = file_name(&path)?;
        if name.ends_with(".bpf.o") && !objects.contains(&name) {
            stale.push(path);
        }
    }
    Ok(stale)
}

fn remove_stale_objects(prebuilt: &Path, objects: &[String]) -> Result<()> {
    for path in stale_objects(prebuilt, objects)? {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        println!("removed {}: no source gives it", path.display());
    }
    Ok(())
}

/// The pinned compiler.
struct Compiler {
    clang: PathBuf,
    strip: PathBuf,
}

impl Compiler {
    fn find(options: &Options) -> Result<Compiler> {
        if options.install {
            packages::report_missing(&packages::ensure(tools::FOR_BPF));
        }
        match (tools::CLANG.find(), tools::LLVM_STRIP.find()) {
            (Some(clang), Some(strip)) => Ok(Compiler { clang, strip }),
            _ => {
                let names: Vec<&str> = packages::missing(tools::FOR_BPF).iter().map(|tool| tool.command).collect();
                let task = if options.check { "bpf --check --install" } else { "bpf --install" };
                let hint = if options.install {
                    "the object is pinned to this clang major; Debian 12 and Ubuntu 22.04 have it".to_owned()
                } else {
                    format!("cargo xtask {task} installs the packages clang-14 and llvm-14")
                };
                bail!("cannot compile the kernel programs: {} not found (hint: {hint})", names.join(" and "))
            }
        }
    }

    /// Compiles every program into a folder and returns the objects' names.
    fn compile(&self, sources: &Sources, folder: &Path) -> Result<Vec<String>> {
        let mut objects = Vec::new();
        for (source, object) in sources.programs() {
            let path = folder.join(&object);
            succeed(
                Command::new(&self.clang)
                    .current_dir(&sources.folder)
                    .args(CLANG_FLAGS)
                    .arg(source)
                    .arg("-o")
                    .arg(&path),
            )?;
            succeed(Command::new(&self.strip).args(STRIP_FLAGS).arg(&path))?;
            objects.push(object);
        }
        Ok(objects)
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bpf_sources_give_objects() {
        for (source, expected) in [
            ("activebench.bpf.c", Some("activebench.bpf.o")),
            ("maps.h", None),
            ("plain.c", None),
            (".bpf.c", None),
            ("activebench.bpf.o", None),
        ] {
            assert_eq!(object_name(source).as_deref(), expected, "{source}");
        }
    }

    #[test]
    fn sources_and_headers_are_summed_and_the_rest_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["b.bpf.c", "a.h", "lib.rs"] {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        let sources = Sources::read(folder.path()).expect("sources");
        assert_eq!(sources.sums.keys().collect::<Vec<_>>(), ["a.h", "b.bpf.c"]);
        assert_eq!(sources.programs().collect::<Vec<_>>(), [("b.bpf.c", "b.bpf.o".to_owned())]);
    }

    #[test]
    fn a_folder_without_programs_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("a.h"), "").expect("a file");
        assert!(Sources::read(folder.path()).is_err());
    }

    #[test]
    fn an_object_without_a_source_is_stale() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["a.bpf.o", "b.bpf.o", SUMS_FILE] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let stale = stale_objects(folder.path(), &["a.bpf.o".to_owned()]).expect("a readable folder");
        assert_eq!(stale, [folder.path().join("b.bpf.o")]);
    }
}
