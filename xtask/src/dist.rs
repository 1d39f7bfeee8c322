//! `cargo xtask dist`: the archive and the Debian package that users install.
//!
//! Both have the same files. GNU tar, gzip and dpkg-deb write them, with sorted names, one owner and one time, so that
//! the same binary makes the same bytes. `cargo-deb` would do the package alone, and is compiled for minutes first.
//!
//! The binary links the system's C library and names the oldest one that it works with. A static one would look up
//! users with its own code, and miss those of a directory service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::{packages, process, sha256_list, workspace};

/// Options of `cargo xtask dist`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Install both in a new minimal Debian system and try them; needs root, a Debian mirror and debootstrap
    #[arg(long)]
    check: bool,
}

/// The script that tries both in a Debian system of its own.
const CHECK: &str = include_str!("dist/check.sh");
/// The list of the sums beside the files.
const SUMS: &str = "SHA256SUMS";
/// Completion scripts: the shell, the name in the archive, the place in the package.
const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "activebench.bash", "usr/share/bash-completion/completions/activebench"),
    ("zsh", "_activebench", "usr/share/zsh/vendor-completions/_activebench"),
    ("fish", "activebench.fish", "usr/share/fish/vendor_completions.d/activebench.fish"),
];

/// Runs the task.
///
/// # Errors
/// When the build or one of the programs fails. A failed check is not an error: the task ends with a failure.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    ensure!(cfg!(target_arch = "x86_64"), "activebench observes on x86-64 only");
    let binary = workspace::build_release()?;
    let out = workspace::target_dir()?.join("dist");
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let release = Release { version: env!("CARGO_PKG_VERSION"), epoch: epoch()? };
    let made = release.make(&binary, &out)?;
    let mut sums = sha256_list::Sums::new();
    for path in [&made.archive, &made.package] {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        sums.insert(file_name(path), sha256_list::sum(&bytes));
        println!("{}: {:.1} MB", path.display(), bytes.len() as f64 / 1e6);
    }
    let list = sha256_list::render(&sums);
    fs::write(out.join(SUMS), &list).context("cannot write the sums")?;
    println!("{}:\n{list}needs glibc {} or later", out.join(SUMS).display(), made.glibc);
    if options.check { check(&made) } else { Ok(ExitCode::SUCCESS) }
}

/// What was made.
struct Made {
    archive: PathBuf,
    package: PathBuf,
    glibc: String,
}

/// A release: its version, and the time of all its files.
struct Release {
    version: &'static str,
    epoch: u64,
}

impl Release {
    fn make(&self, binary: &Path, out: &Path) -> Result<Made> {
        let work = tempfile::tempdir_in(out).context("cannot make a folder")?;
        let stripped = work.path().join("activebench");
        packages::run_visibly(Command::new("strip").arg("-o").arg(&stripped).arg(binary))?;
        let glibc = needed_glibc(&output(Command::new("objdump").arg("-T").arg(&stripped))?)
            .context("the binary names no version of glibc")?;
        let pages = work.path().join("pages");
        output(Command::new(&stripped).arg("__man-pages").arg(&pages))?;
        let root = work.path().join("root");
        let archive = self.archive(&stripped, &pages, &root, out)?;
        let package = self.package(&stripped, &pages, &root, &glibc, out)?;
        Ok(Made { archive, package, glibc })
    }

    fn archive(&self, binary: &Path, pages: &Path, root: &Path, out: &Path) -> Result<PathBuf> {
        let name = format!("activebench-{}-x86_64-linux", self.version);
        let folder = root.join(&name);
        place(binary, &folder.join("activebench"), 0o755)?;
        for page in entries(pages)? {
            place(&page, &folder.join("man/man1").join(file_name(&page)), 0o644)?;
        }
        for (shell, file, _) in COMPLETIONS {
            write(&folder.join("completions").join(file), &output(Command::new(binary).args(["completions", shell]))?)?;
        }
        documents(&folder, &["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-APACHE", "LICENSE-MIT"])?;
        let archive = out.join(format!("{name}.tar.gz"));
        output(
            Command::new("tar")
                .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
                .arg(format!("--mtime=@{}", self.epoch))
                .args(["-I", "gzip -n -9", "-cf"])
                .arg(&archive)
                .arg("-C")
                .arg(root)
                .arg(&name),
        )?;
        Ok(archive)
    }

    fn package(&self, binary: &Path, pages: &Path, root: &Path, glibc: &str, out: &Path) -> Result<PathBuf> {
        let folder = root.join("deb");
        place(binary, &folder.join("usr/bin/activebench"), 0o755)?;
        for page in entries(pages)? {
            let packed = folder.join("usr/share/man/man1").join(file_name(&page) + ".gz");
            write(&packed, &output(Command::new("gzip").args(["-n", "-9", "-c"]).arg(&page))?)?;
        }
        for (shell, _, place) in COMPLETIONS {
            write(&folder.join(place), &output(Command::new(binary).args(["completions", shell]))?)?;
        }
        let doc = folder.join("usr/share/doc/activebench");
        documents(&doc, &["README.md", "SECURITY.md", "LICENSE-APACHE", "LICENSE-MIT"])?;
        write(&doc.join("copyright"), COPYRIGHT.as_bytes())?;
        let changes = workspace::root().join("CHANGELOG.md");
        write(&doc.join("changelog.gz"), &output(Command::new("gzip").args(["-n", "-9", "-c"]).arg(changes))?)?;
        let size = output(Command::new("du").args(["-sk", "--apparent-size"]).arg(&folder))?;
        let size = String::from_utf8_lossy(&size);
        let kib = size.split_whitespace().next().context("du printed no size")?;
        write(&folder.join("DEBIAN/control"), control(self.version, glibc, kib).as_bytes())?;
        let package = out.join(format!("activebench_{}_amd64.deb", self.version));
        output(
            Command::new("dpkg-deb")
                .env("SOURCE_DATE_EPOCH", self.epoch.to_string())
                .args(["--root-owner-group", "-Zxz", "--build"])
                .arg(&folder)
                .arg(&package),
        )?;
        Ok(package)
    }
}

/// The licence notice of the package.
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: activebench

Files: *
Copyright: the authors of activebench
License: Apache-2.0 or MIT

License: Apache-2.0
 The text is in LICENSE-APACHE in this folder.

License: MIT
 The text is in LICENSE-MIT in this folder.
";

/// Returns the control file of the package.
fn control(version: &str, glibc: &str, kib: &str) -> String {
    format!(
        "Package: activebench\nVersion: {version}\nArchitecture: amd64\nMaintainer: the authors of activebench\n\
         Installed-Size: {kib}\nDepends: libc6 (>= {glibc}), libgcc-s1\nSuggests: fio, bonnie++\nSection: utils\n\
         Priority: optional\nHomepage: https://github.com/activebench/activebench\n\
         Description: verifies disk benchmarks by observing them with eBPF\n \
         activebench runs a disk benchmark, watches with eBPF what the kernel really did\n \
         for it, and says for every number that the benchmark printed whether it is\n \
         true, what it really measures, and what the honest figure is.\n"
    )
}

/// Returns the newest version of glibc's symbols in the output of `objdump -T`.
fn needed_glibc(symbols: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(symbols);
    let versions = text.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()
    });
    let newest = versions.max()?;
    Some(newest.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}

/// Returns the time of all files: that of the environment, or of the commit.
fn epoch() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = Command::new("git");
            git.current_dir(workspace::root()).args(["log", "-1", "--format=%ct"]);
            String::from_utf8(output(&mut git)?).context("git printed no number")?
        }
    };
    text.trim().parse().with_context(|| format!("no time in seconds: {text:?} (hint: set SOURCE_DATE_EPOCH)"))
}

/// Copies the documents: those at the root, and the pages below `docs`.
fn documents(folder: &Path, at_root: &[&str]) -> Result<()> {
    for name in at_root {
        place(&workspace::root().join(name), &folder.join(name), 0o644)?;
    }
    for inner in ["docs", "docs/detectors"] {
        for page in entries(&workspace::root().join(inner))? {
            if page.extension().is_some_and(|extension| extension == "md" || extension == "json") {
                place(&page, &folder.join(inner).join(file_name(&page)), 0o644)?;
            }
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot read {}", folder.display());
    let paths = fs::read_dir(folder).with_context(context)?.map(|entry| Ok(entry?.path()));
    paths.collect::<std::io::Result<_>>().with_context(context)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn place(from: &Path, to: &Path, mode: u32) -> Result<()> {
    output(Command::new("install").args(["-D", "-m", &format!("{mode:o}")]).arg(from).arg(to)).map(drop)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let context = || format!("cannot write {}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(context)?;
    fs::write(path, bytes).with_context(context)
}

/// Returns what a program prints to standard output.
fn output(command: &mut Command) -> Result<Vec<u8>> {
    // The modes of folders and files do not depend on the caller's umask.
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !output.status.success() {
        bail!("{:?} ended with {}", command.get_program(), output.status);
    }
    Ok(output.stdout)
}

/// Tries the archive and the package in a new Debian system. Its mounts are in a namespace of the script alone: they
/// are gone when it ends, however it ends.
fn check(made: &Made) -> Result<ExitCode> {
    if !process::is_root() {
        bail!("cannot make a Debian system as an ordinary user (hint: {})", process::as_root("dist --check"));
    }
    let mirror = output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI)",
        "Created-By: Packages",
        "Codename: bookworm",
    ]))?;
    let mirror = String::from_utf8_lossy(&mirror);
    let mirror = mirror.lines().next().context("apt has no source of Debian 12 (hint: apt-get update)")?;
    let work = tempfile::Builder::new().prefix("activebench-dist-").tempdir_in("/var/tmp")?;
    let script = work.path().join("check.sh");
    write(&script, CHECK.as_bytes())?;
    let result = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "bash"])
        .arg(&script)
        .arg(work.path().join("root"))
        .args([&made.archive, &made.package])
        .arg(mirror)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start unshare")?;
    let text = String::from_utf8_lossy(&result.stdout);
    print!("{text}");
    let counted = |word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    let (passed, failed, skipped) = (counted("ok "), counted("FAIL "), counted("skip "));
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    let is_good = result.status.success() && failed == 0 && passed > 0;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_symbol_says_which_glibc_is_needed() {
        let symbols = b"0 DF *UND* 0 (GLIBC_2.9) a\n0 DF *UND* 0 (GLIBC_2.34) b\n0 DF *UND* 0 (GLIBC_2.2.5) c\n";
        assert_eq!(needed_glibc(symbols).as_deref(), Some("2.34"));
        assert_eq!(needed_glibc(b"nothing"), None);
    }

    #[test]
    fn the_control_file_has_what_dpkg_needs() {
        let text = control("1.2.3", "2.34", "100");
        for line in ["Package: activebench", "Version: 1.2.3", "Architecture: amd64", "Installed-Size: 100"] {
            assert!(text.lines().any(|found| found == line), "{line}");
        }
        assert!(text.contains("\nDepends: libc6 (>= 2.34), libgcc-s1\n"));
        let (_, description) = text.split_once("Description: ").expect("a description");
        assert!(description.lines().skip(1).all(|line| line.starts_with(' ') && line.len() <= 81), "{description}");
        assert!(text.ends_with('\n'));
    }

    /// Uses a script in place of the binary: what is checked is the content of both files, and that they are the same
    /// twice.
    #[test]
    fn the_archive_and_the_package_have_their_files_and_are_reproducible() {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            eprintln!("skipped: dpkg-deb is not installed");
            return;
        }
        let release = Release { version: "1.2.3", epoch: 1_700_000_000 };
        let folder = tempfile::tempdir().expect("a folder");
        let binary = folder.path().join("binary");
        fs::write(&binary, "#!/bin/sh\necho completion\n").expect("a script");
        let pages = folder.path().join("pages");
        write(&pages.join("activebench.1"), b".TH ACTIVEBENCH 1\n").expect("a page");
        place(&binary, &binary.with_extension("run"), 0o755).expect("an executable");
        let binary = binary.with_extension("run");
        let made = |name: &str| {
            let (root, out) = (folder.path().join(name), folder.path().join(format!("{name}-out")));
            fs::create_dir(&out).expect("a folder");
            let archive = release.archive(&binary, &pages, &root, &out).expect("an archive");
            let package = release.package(&binary, &pages, &root, "2.34", &out).expect("a package");
            let list = |command: &mut Command| String::from_utf8(output(command).expect("a list")).expect("text");
            let inside = list(Command::new("tar").arg("-tf").arg(&archive));
            let installed = list(Command::new("dpkg-deb").arg("-c").arg(&package));
            (fs::read(archive).expect("bytes"), fs::read(package).expect("bytes"), inside, installed)
        };
        let (archive, package, inside, installed) = made("one");
        for file in ["activebench", "README.md", "LICENSE-MIT", "man/man1/activebench.1", "completions/_activebench"] {
            let path = format!("activebench-1.2.3-x86_64-linux/{file}");
            assert!(inside.lines().any(|line| line == path), "{path} is missing");
        }
        assert!(inside.lines().any(|line| line.ends_with("/docs/detectors/README.md")), "{inside}");
        for file in
            ["usr/bin/activebench", "usr/share/man/man1/activebench.1.gz", "usr/share/doc/activebench/copyright"]
        {
            assert!(installed.lines().any(|line| line.ends_with(&format!(" ./{file}"))), "{file} is missing");
        }
        for (_, _, file) in COMPLETIONS {
            assert!(installed.contains(file), "{file} is missing");
        }
        assert!(installed.lines().all(|line| line.contains("root/root")), "{installed}");
        let (archive_again, package_again, ..) = made("two");
        assert!(archive == archive_again && package == package_again, "the same files made other bytes");
    }
}
