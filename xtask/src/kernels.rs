//! `cargo xtask kernels`: tries the committed object and the product on other kernels.
//!
//! Debian's kernels are downloaded, never installed. They are booted in an emulated machine without hardware support,
//! so the task works wherever the other tasks do. The same smoke set then runs on this machine. The results become a
//! page. Kernel packages, boot, runs, judgement and page are modules of their own. `--layers` runs benchmarks on layers
//! of storage instead, which the kernels of small machines do not have.

mod debian;
mod layers;
mod machine;
mod modules;
mod native;
mod outcome;
mod page;
mod results;
mod set;
mod steps;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::kernels::debian::{DebianKernel, Kernel};
use crate::kernels::machine::Boot;
use crate::kernels::results::{KernelResult, Place, SCHEMA, Trial};
use crate::kernels::set::Set;
use crate::kernels::steps::Amount;
use crate::tools::Tool;
use crate::workspace;
use crate::{mounts, packages, process, sha256_list, tools};

/// The committed object.
const OBJECT: &str = "crates/activebench-ebpf/prebuilt/activebench.bpf.o";
/// The name of this machine's own kernel.
const HOST: &str = "host";
/// Amount of work for an emulated machine: its disk takes 8 MiB per second, and it is some fifty times slower than this
/// one.
const EMULATED: Amount = Amount { iozone_mib: 8, calls: 100, blocks: 256, seconds: 300 };
/// Amount of work on this machine, as in the end-to-end tests.
const NATIVE: Amount = Amount { iozone_mib: 256, calls: 1000, blocks: 1024, seconds: 120 };
/// Time limit of an emulated machine. Observed: 4 minutes on two CPUs that had other work too.
const LIMIT: Duration = Duration::from_secs(40 * 60);
/// Largest space that the packages and disks take, in bytes.
const ROOM: u64 = 6 << 30;

/// Options of `cargo xtask kernels`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Try honest and misleading benchmarks on arrays, encryption, network block devices and the journal modes of ext4,
    /// instead of every path of I/O
    #[arg(long)]
    layers: bool,
    /// Try this kernel alone, may be given several times; the page then stays out of docs/
    #[arg(long, value_name = "KERNEL", value_parser = names())]
    only: Vec<String>,
    /// Keep the disks and what was extracted, and say how to boot each machine again
    #[arg(long)]
    keep: bool,
    /// Try this binary instead of building one as `cargo xtask demo` does; the page then stays out of docs/
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Where the page goes [default: docs/kernels.md or docs/layers.md, otherwise a file in the target directory]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl Options {
    fn set(&self) -> Set {
        if self.layers { Set::Layers } else { Set::Smoke }
    }

    /// Returns `true` when the committed object is tried on every kernel, as the committed page requires.
    fn is_whole(&self) -> bool {
        self.only.is_empty() && self.binary.is_none()
    }
}

fn names() -> Vec<&'static str> {
    debian::ALL.iter().map(|kernel| kernel.name).chain([HOST]).collect()
}

/// Runs the task.
///
/// # Errors
/// When nothing can be tried: no rights, no tools, no packages, no space. A kernel on which something fails is a row of
/// the page, and a failure of the task.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if !process::is_root() {
        bail!(
            "cannot observe the kernel as an ordinary user: loading BPF needs root (hint: {})",
            process::as_root("kernels")
        );
    }
    let set = options.set();
    let folder = workspace::target_dir()?.join(set.name());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let available = mounts::available_bytes(&folder)?;
    if available < ROOM {
        bail!(
            "{} has {} MiB left, the packages and disks take up to {} MiB (hint: set CARGO_TARGET_DIR to a folder with more)",
            folder.display(),
            available >> 20,
            ROOM >> 20
        );
    }
    let needed: Vec<&Tool> = tools::FOR_KERNELS.iter().chain(set.programs()).copied().collect();
    let missing = packages::ensure(&needed);
    if !missing.is_empty() {
        packages::report_missing(&missing);
        bail!("the programs named above are needed (hint: install them by hand, then run this again)");
    }
    let activebench = match &options.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("cannot find {}", binary.display()))?,
        None => {
            eprintln!("building activebench, with the profile that cargo xtask demo builds");
            workspace::build_product()?
        }
    };
    let object = workspace::root().join(OBJECT);
    let object = fs::read(&object).with_context(|| format!("cannot read {}", object.display()))?;

    process::outlive_interrupt();
    let wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    let emulated: Vec<&'static Kernel> = debian::ALL.iter().filter(|kernel| wanted(kernel.name)).collect();
    let bench = Bench { set, folder: &folder, activebench: &activebench, keep: options.keep };
    let mut kernels = if emulated.is_empty() { Vec::new() } else { bench.emulated(&emulated)? };
    // This machine's kernel may lack the modules of layers.
    if set == Set::Smoke && wanted(HOST) && !process::interrupted() {
        kernels.push(bench.host()?);
    }
    let trial = Trial {
        schema: SCHEMA,
        set,
        object_sha256: sha256_list::sum(&object),
        day: today(),
        emulator: version(&tools::QEMU),
        tool_versions: [&tools::FIO, &tools::IOZONE].into_iter().filter_map(version).collect(),
        kernels,
        incomplete: process::interrupted().then(|| "it was interrupted".to_owned()),
    };
    conclude(options, &folder, &trial)
}

/// Writes the results and returns the exit code.
fn conclude(options: &Options, folder: &Path, trial: &Trial) -> Result<ExitCode> {
    let set = options.set();
    let json = folder.join(format!("{}.json", set.name()));
    write(&json, &(serde_json::to_string_pretty(trial).context("cannot serialise what was found")? + "\n"))?;
    let page = match &options.page {
        Some(page) => page.clone(),
        None if options.is_whole() && trial.incomplete.is_none() => workspace::root().join(set.page()),
        None => folder.join(format!("{}.md", set.name())),
    };
    write(&page, &page::render(trial))?;
    eprintln!();
    print!("{}", page::lines(trial));
    eprintln!("wrote {} and {}", page.display(), json.display());
    if process::interrupted() {
        // The shell's own convention for an interrupt.
        return Ok(ExitCode::from(130));
    }
    if trial.kernels.iter().all(KernelResult::is_good) {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "not all is as expected; look into {}: KERNEL/console.log, and KERNEL/out/STEP/stderr and run",
        folder.display()
    );
    Ok(ExitCode::FAILURE)
}

/// Common inputs of all trials.
struct Bench<'a> {
    set: Set,
    folder: &'a Path,
    activebench: &'a Path,
    keep: bool,
}

impl Bench<'_> {
    fn emulated(&self, kernels: &[&'static Kernel]) -> Result<Vec<KernelResult>> {
        let downloads = self.folder.join("downloads");
        fs::create_dir_all(&downloads).with_context(|| format!("cannot make {}", downloads.display()))?;
        let work = fresh(&self.folder.join("work"))?;
        let brought = debian::bring(kernels, &downloads, &work)?;
        eprintln!("making the disk of programs: activebench, fio, iozone and their libraries");
        let programs = machine::programs_disk(&work, self.activebench, &brought.busybox, (self.set, EMULATED))?;
        let mut found = Vec::new();
        for debian in &brought.kernels {
            if process::interrupted() {
                break;
            }
            let own = fresh(&self.folder.join(debian.kernel.name))?;
            let boot = machine::prepare(&own, &debian.folder, &brought.busybox, &programs, self.set)?;
            found.push(self.boot(debian, &boot, &own)?);
        }
        if !self.keep {
            fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
        }
        Ok(found)
    }

    /// Boots a kernel and reads its results from its own folder.
    fn boot(&self, debian: &DebianKernel, boot: &Boot, own: &Path) -> Result<KernelResult> {
        let (name, package) = (debian.kernel.name, &debian.package);
        let place = Place {
            name: name.to_owned(),
            origin: format!("{}, {} {}", debian.kernel.title, package.name, package.version),
            machine: "an emulated machine (QEMU, no KVM)".to_owned(),
        };
        eprintln!("{name}: booting {}, at most {} minutes", package.name, LIMIT.as_secs() / 60);
        let begun = Instant::now();
        let said = boot.run(name, LIMIT, &own.join("console.log"))?;
        let out = own.join("out");
        let mut result = match (boot.unpack_results(&out), &said.failure) {
            // A machine writes its results at its end; if it did not end properly, there are none.
            (Err(error), None) => KernelResult::failed(place, format!("{error:#}")),
            _ => KernelResult::read(place, &out, self.activebench, (self.set, EMULATED), Some(said)),
        };
        result.seconds = begun.elapsed().as_secs();
        if self.keep {
            eprintln!("{name}: boot it again with: {}", boot.shown()?);
        } else {
            boot.remove()?;
        }
        Ok(result)
    }

    fn host(&self) -> Result<KernelResult> {
        let own = fresh(&self.folder.join(HOST))?;
        let place = Place {
            name: HOST.to_owned(),
            origin: "this machine's own".to_owned(),
            machine: "this machine, a loop device".to_owned(),
        };
        eprintln!("{HOST}: the same on this machine's own kernel");
        let begun = Instant::now();
        let out = own.join("out");
        let mut result = match native::run(&own, self.activebench, &self.set.script(NATIVE), &out) {
            Ok(()) => KernelResult::read(place, &out, self.activebench, (self.set, NATIVE), None),
            Err(error) => KernelResult::failed(place, format!("{error:#}")),
        };
        result.seconds = begun.elapsed().as_secs();
        let image = own.join(native::IMAGE);
        if !self.keep && image.exists() {
            fs::remove_file(&image).with_context(|| format!("cannot remove {}", image.display()))?;
        }
        Ok(result)
    }
}

/// Makes an empty folder.
fn fresh(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the first line of `--version`; `None` when the tool does not print it.
fn version(tool: &Tool) -> Option<String> {
    // iozone's option has another name, and its version has the format of its version control.
    let option = if tool == &tools::IOZONE { "-v" } else { "--version" };
    let output = Command::new(tool.find()?).arg(option).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.split_once("$Revision: ") {
        Some((_, rest)) => rest.split_whitespace().next().map(|number| format!("{} {number}", tool.command)),
        None => text.lines().next().map(|line| line.trim().to_owned()),
    }
}

fn today() -> Option<String> {
    let output = Command::new("date").args(["-u", "+%Y-%m-%d"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
