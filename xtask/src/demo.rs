//! `cargo xtask demo`: from a fresh clone to a report on a real benchmark, in one command.
//!
//! Prints each step before it starts, installs iozone if it is missing, and falls back to the product's own small
//! workload if that fails. The benchmark's file is in a folder of its own that is removed at the end, also after an
//! interrupt; the run directory stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::mounts::{self, Mount};
use crate::tools::IOZONE;
use crate::workspace;
use crate::{packages, process, tools};

/// Options of `cargo xtask demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Size of the benchmark's file, as iozone writes it: 512m, 1g (default: 1g, built-in workload 256m)
    #[arg(long, value_parser = Size::parse)]
    size: Option<Size>,
    /// Use the product's own workload although iozone could be run
    #[arg(long)]
    builtin: bool,
}

/// A size in iozone's notation: a number of KiB, or with `k`, `m` or `g`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Size {
    text: String,
    bytes: u64,
}

impl Size {
    fn parse(text: &str) -> Result<Size, String> {
        let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
        let shift = match &text[digits.len()..] {
            "" | "k" | "K" => 10,
            "m" | "M" => 20,
            "g" | "G" => 30,
            suffix => return Err(format!("unknown suffix {suffix:?} (hint: write 512m or 1g)")),
        };
        let number: u64 = digits.parse().map_err(|error| format!("{digits:?}: {error} (hint: write 512m or 1g)"))?;
        let bytes = number.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or("out of range")?;
        Ok(Size { text: text.to_owned(), bytes })
    }

    fn fixed(text: &str, bytes: u64) -> Size {
        Size { text: text.to_owned(), bytes }
    }
}

/// Runs the task.
///
/// # Errors
/// When a step before the benchmark fails, for example for lack of rights, space or a build.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    eprintln!(
        "This demo builds activebench, runs a disk benchmark under it, and shows the report:\n\
         which of the benchmark's figures hold, which do not, and what the honest figure is.\n"
    );
    if !process::is_root() {
        bail!(
            "cannot observe the kernel as an ordinary user: loading BPF needs root (hint: {})",
            process::as_root(&task_arguments(options))
        );
    }
    let iozone = if options.builtin { None } else { find_iozone() };

    eprintln!("\n[1/3] Building activebench. The first build compiles its dependencies too and takes minutes.");
    let activebench = workspace::build_product()?;

    let place = Place::choose(&workspace::target_dir()?)?;
    let work = tempfile::Builder::new()
        .prefix("work-")
        .tempdir_in(&place.folder)
        .with_context(|| format!("cannot make a folder in {}", place.folder.display()))?;
    let run_dir = place.new_run_dir()?;
    let demo = Demo::new(options, iozone.as_deref(), &activebench);
    eprintln!("\n[2/3] Running the benchmark under observation in {}", work.path().display());
    eprintln!("      {}", place.describe());
    place.check_room(&demo.size)?;
    eprintln!("      activebench verify --out {} -- {}\n", run_dir.display(), demo.command.join(" "));

    process::outlive_interrupt();
    let status = Command::new(&activebench)
        .current_dir(work.path())
        .args(["verify", "--out"])
        .arg(&run_dir)
        .arg("--")
        .args(&demo.command)
        .status()
        .with_context(|| format!("cannot start {}", activebench.display()))?;
    work.close().context("cannot remove the benchmark's folder")?;

    eprintln!("\n[3/3] What this means");
    let outcome = Outcome::of(status);
    eprintln!("      {}", outcome.meaning(demo.finding));
    if outcome.is_a_shown_demo() {
        eprintln!("      The evidence stays in {}.", run_dir.display());
        eprintln!(
            "      Judge it again without root, on any machine: {} recheck {}",
            activebench.display(),
            run_dir.display()
        );
        eprintln!("      The same benchmark, run so that its figures hold: {}", demo.honest_command);
        eprintln!(
            "      The program is {0}; to call it by name: install -m755 {0} /usr/local/bin/",
            activebench.display()
        );
        return Ok(ExitCode::SUCCESS);
    }
    Ok(outcome.exit_code())
}

/// Returns the task's arguments as given, for a hint that repeats them.
fn task_arguments(options: &Options) -> String {
    let size = options.size.as_ref().map(|size| format!(" --size {}", size.text));
    format!("demo{}{}", size.as_deref().unwrap_or(""), if options.builtin { " --builtin" } else { "" })
}

/// Returns iozone's path, after an installation if it is missing; `None` when that fails.
fn find_iozone() -> Option<PathBuf> {
    let missing = packages::ensure(tools::FOR_DEMO);
    packages::report_missing(&missing);
    let found = IOZONE.find();
    if found.is_none() {
        eprintln!("without iozone the demo uses the built-in workload: buffered writes without an fsync");
    }
    found
}

/// The benchmark to run, and its expected result.
struct Demo {
    command: Vec<String>,
    size: Size,
    /// Reason why a discrepancy is the intended result of this demo.
    finding: &'static str,
    /// Command that makes the same measurement honestly.
    honest_command: String,
}

impl Demo {
    fn new(options: &Options, iozone: Option<&Path>, activebench: &Path) -> Demo {
        let activebench = activebench.display().to_string();
        match iozone {
            Some(iozone) => {
                let size = options.size.clone().unwrap_or_else(|| Size::fixed("1g", 1 << 30));
                let iozone = iozone.display().to_string();
                let honest_command = format!("{activebench} verify -- {iozone} -e -c -I -i0 -i1 -s{}", size.text);
                let command = vec![iozone, "-i0".into(), "-i1".into(), format!("-s{}", size.text)];
                let finding = "iozone's own default leaves the fsync outside the clock, \
                               and reads back what it has just written from the page cache";
                Demo { command, size, finding, honest_command }
            }
            None => {
                let size = options.size.clone().unwrap_or_else(|| Size::fixed("256m", 256 << 20));
                let mib = size.bytes.div_ceil(1 << 20).to_string();
                let command = [&activebench, "__workload", "writes", "--mib", &mib].map(String::from).to_vec();
                let finding = "the built-in workload never calls fsync, so its figure is that of the page cache";
                let honest_command = format!(
                    "{activebench} verify -- fio --name=w --rw=write --bs=128k --size={} --direct=1 --end_fsync=1",
                    size.text
                );
                Demo { command, size, finding, honest_command }
            }
        }
    }
}

/// Folder of the benchmark's file and the run directory.
struct Place {
    folder: PathBuf,
    mount: Option<Mount>,
}

impl Place {
    /// Chooses the target directory if it is on a file system with a device. Otherwise chooses a fresh folder in
    /// `/var/tmp` if that is on one, and else the target directory anyway.
    fn choose(target_dir: &Path) -> Result<Place> {
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").context("cannot read /proc/self/mountinfo")?;
        let folder = target_dir.join("demo");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let preferred = Place::at(&folder, &mountinfo)?;
        let elsewhere = Path::new("/var/tmp");
        if preferred.has_device() || !elsewhere.is_dir() || !Place::at(elsewhere, &mountinfo)?.has_device() {
            return Ok(preferred);
        }
        // Every user may write to /var/tmp, and we are root: only a name that nobody could have created before is safe.
        let folder = tempfile::Builder::new().prefix("activebench-demo-").tempdir_in(elsewhere);
        Place::at(&folder.context("cannot make a folder in /var/tmp")?.keep(), &mountinfo)
    }

    fn at(folder: &Path, mountinfo: &str) -> Result<Place> {
        let folder = folder.canonicalize().with_context(|| format!("cannot resolve {}", folder.display()))?;
        let mount = mounts::mount_of(&folder, mountinfo);
        Ok(Place { folder, mount })
    }

    fn has_device(&self) -> bool {
        self.mount.as_ref().is_some_and(|mount| !mount.is_memory_or_overlay())
    }

    fn describe(&self) -> String {
        match &self.mount {
            Some(mount) if self.has_device() => {
                format!("on {} ({}, mounted at {})", mount.fs_type, mount.source, mount.mount_point)
            }
            Some(mount) => format!(
                "on {}: no disk is directly below it, so the report can say little about one \
                 (hint: set CARGO_TARGET_DIR to a folder on a disk)",
                mount.fs_type
            ),
            None => "on a file system that /proc/self/mountinfo does not name".to_owned(),
        }
    }

    /// Returns a name for the run directory that no other run has.
    fn new_run_dir(&self) -> Result<PathBuf> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
        Ok(self.folder.join(format!("run-{}-{}", now.as_secs(), std::process::id())))
    }

    /// Checks the space for the benchmark's file, plus a quarter of it for the run directory and other files.
    fn check_room(&self, size: &Size) -> Result<()> {
        let available = mounts::available_bytes(&self.folder)?;
        let needed = size.bytes.saturating_add(size.bytes / 4);
        if available < needed {
            bail!(
                "{} has {} MiB left, the benchmark needs {} MiB (hint: a smaller file with --size)",
                self.folder.display(),
                available >> 20,
                needed >> 20
            );
        }
        Ok(())
    }
}

/// Outcome of the product, from its exit code (`docs/exit-codes.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Exited(i32),
    /// Ended by a signal, or in another way without an exit code.
    Killed,
}

impl Outcome {
    fn of(status: ExitStatus) -> Outcome {
        status.code().map_or(Outcome::Killed, Outcome::Exited)
    }

    /// Returns `true` when the product did its job: it observed a benchmark and judged it.
    fn is_a_shown_demo(self) -> bool {
        matches!(self, Outcome::Exited(0 | 1 | 3))
    }

    fn meaning(self, finding: &str) -> String {
        match self {
            Outcome::Exited(0) => "Exit code 0, verified or qualified: every figure holds here.".to_owned(),
            Outcome::Exited(1) => {
                format!("Exit code 1, discrepancy. This is what the demo is for: {finding}.")
            }
            Outcome::Exited(3) => {
                "Exit code 3, inconclusive: evidence is missing or was lost; the report says which.".to_owned()
            }
            Outcome::Exited(2) => {
                "Exit code 2: activebench refused the arguments that this task gave it. That is a bug of ours."
                    .to_owned()
            }
            Outcome::Exited(4) => {
                "Exit code 4: the benchmark could not start or failed; its own message is above.".to_owned()
            }
            Outcome::Exited(5) => "Exit code 5: activebench could not observe the kernel; its message above names \
                                   the reason, and activebench doctor the command that fixes it."
                .to_owned(),
            Outcome::Exited(70 | 101) => {
                "activebench itself failed: a bug of ours. Please report the message above.".to_owned()
            }
            Outcome::Exited(130) => "Exit code 130: interrupted; the report covers what ran until then.".to_owned(),
            Outcome::Exited(code) => format!("Exit code {code}, which activebench does not use: see above."),
            Outcome::Killed => "activebench was ended by a signal before it could report.".to_owned(),
        }
    }

    fn exit_code(self) -> ExitCode {
        match self {
            Outcome::Exited(code) => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
            Outcome::Killed => ExitCode::FAILURE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_iozone_reads_them() {
        #[track_caller]
        fn check(text: &str, expected: Result<u64, &str>) {
            match (Size::parse(text), expected) {
                (Ok(size), Ok(bytes)) => assert_eq!((size.bytes, size.text.as_str()), (bytes, text)),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error:?} lacks {part:?}"),
                (found, expected) => panic!("{text:?}: {found:?}, expected {expected:?}"),
            }
        }
        check("1g", Ok(1 << 30));
        check("512m", Ok(512 << 20));
        check("64K", Ok(64 << 10));
        check("100", Ok(100 << 10));
        check("0", Err("out of range"));
        check("99999999999999g", Err("out of range"));
        check("1t", Err("hint"));
        check("1gg", Err("unknown suffix"));
        check("", Err("hint"));
        check("-1", Err("hint"));
        check("1 g", Err("hint"));
    }

    #[test]
    fn a_judged_run_is_a_shown_demo_and_a_broken_one_is_not() {
        for (code, expected) in [(0, true), (1, true), (3, true), (2, false), (4, false), (5, false), (70, false)] {
            assert_eq!(Outcome::Exited(code).is_a_shown_demo(), expected, "{code}");
        }
        assert!(!Outcome::Exited(101).is_a_shown_demo());
        assert!(!Outcome::Killed.is_a_shown_demo());
    }

    #[test]
    fn a_hint_repeats_the_arguments() {
        let check = |size: Option<&str>, builtin: bool, expected: &str| {
            let size = size.map(|text| Size::parse(text).expect("a size"));
            assert_eq!(task_arguments(&Options { size, builtin }), expected);
        };
        check(None, false, "demo");
        check(Some("512m"), true, "demo --size 512m --builtin");
    }

    #[test]
    fn the_command_follows_from_the_tool_that_is_there() {
        let check = |iozone: Option<&str>, size: Option<&str>, expected: &[&str]| {
            let options = Options { size: size.map(|text| Size::parse(text).expect("a size")), builtin: false };
            assert_eq!(Demo::new(&options, iozone.map(Path::new), Path::new("/t/activebench")).command, expected);
        };
        check(Some("/usr/bin/iozone"), None, &["/usr/bin/iozone", "-i0", "-i1", "-s1g"]);
        check(Some("/usr/bin/iozone"), Some("64m"), &["/usr/bin/iozone", "-i0", "-i1", "-s64m"]);
        check(None, None, &["/t/activebench", "__workload", "writes", "--mib", "256"]);
        check(None, Some("1536k"), &["/t/activebench", "__workload", "writes", "--mib", "2"]);
    }
}
