//! Environment of a case: volumes, preparation, a control group, neighbours. It is removed afterwards.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::ordinary::{Given, give_folder, is_ordinary, product_words, user};
use crate::small_memory::has_killed;
use crate::truth::case::{Case, How, Limits, Medium, VolumeSpec};
use crate::truth::drawn::check::Moved;
use crate::{Volume, built, drop_all_caches};

/// Longest wait for a neighbour to become ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// The environment. Dropping it takes it down, in the order of the fields.
#[derive(Debug)]
pub struct Stage {
    neighbours: Vec<Neighbour>,
    group: Option<Group>,
    /// What of it the user was given.
    given: Vec<Given>,
    volume: Option<Volume>,
    other: Option<Volume>,
    /// File system below an overlay; dropped after the overlay.
    below: Option<Volume>,
    run: PathBuf,
    case: PathBuf,
    beside: TempDir,
}

impl Stage {
    /// Creates the environment and starts the neighbours.
    ///
    /// # Errors
    /// Returns the reason why this host cannot provide it.
    ///
    /// # Panics
    /// When a preparation fails, or a neighbour is not ready within half a minute.
    pub fn set(case: &Case, keep: Option<&Path>) -> Result<Self, String> {
        let beside = TempDir::with_prefix("activebench-truth-").expect("a temporary folder");
        let run = match keep {
            Some(folder) => folder.join(case.id().replace('/', "-")),
            None => beside.path().join("run"),
        };
        if let Some(folder) = keep {
            give_folder(folder);
        }
        // Remove what an earlier run of the case left there.
        if run.join("run.json").exists() || run.join("series.json").exists() {
            fs::remove_dir_all(&run).expect("an old run directory can be removed");
        }
        let folder = case.folder.canonicalize().unwrap_or_else(|_| case.folder.clone());
        let mut stage = Self {
            neighbours: Vec::new(),
            group: None,
            given: Vec::new(),
            volume: None,
            other: None,
            below: None,
            run,
            case: folder,
            beside,
        };
        if let Some(spec) = &case.volume {
            stage.volume = Some(stage.make(spec)?);
        }
        if let Some(spec) = &case.other {
            stage.other = Some(stage.make(spec)?);
        }
        stage.give(case);
        for script in &case.prepare {
            let script = stage.fill(script);
            let output = stage.shell(&script).output().expect("sh runs");
            assert!(
                output.status.success(),
                "the preparation failed: {script}\n{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            stage.give_folders();
        }
        if case.how == How::Verify {
            stage.settle(case.keep_cache);
        }
        stage.group = Group::new(&case.limits, stage.volume.as_ref())?;
        let files = stage.group.iter().flat_map(Group::files);
        stage.given.extend(files.filter_map(|file| Given::new(&file)));
        for script in &case.neighbours {
            let neighbour = stage.neighbour(script);
            stage.neighbours.push(neighbour);
        }
        Ok(stage)
    }

    /// Gives the user what the run is about, where the product runs as one.
    fn give(&mut self, case: &Case) {
        self.give_folders();
        let names_device = case.command.iter().chain(&case.prepare).any(|word| word.contains("{device}"));
        let device = self.volume.as_ref().and_then(Volume::device).filter(|_| names_device);
        self.given.extend(device.and_then(|device| Given::new(Path::new(device))));
    }

    fn give_folders(&self) {
        if !is_ordinary() {
            return;
        }
        let mounted = [&self.volume, &self.other].into_iter().flatten().map(Volume::path);
        let folders = mounted.chain([self.beside.path().to_owned(), self.run.clone()]);
        folders.filter(|folder| folder.exists()).for_each(|folder| give_folder(&folder));
    }

    fn make(&mut self, spec: &VolumeSpec) -> Result<Volume, String> {
        Ok(match spec.kind {
            Medium::Loop => Volume::on_loop(&spec.fs, spec.mib, &spec.mount),
            Medium::CachedLoop => Volume::on_cached_loop(&spec.fs, spec.mib, &spec.mount),
            Medium::RawLoop => {
                let volume = Volume::on_loop(&spec.fs, spec.mib, &spec.mount);
                volume.unmount();
                volume
            }
            Medium::StripedBtrfs => Volume::striped_btrfs(spec.mib, 2),
            Medium::MirroredBtrfs => Volume::mirrored_btrfs(spec.mib),
            Medium::DegradedBtrfs => {
                let mut volume = Volume::mirrored_btrfs(spec.mib);
                volume.lose_a_member();
                volume
            }
            Medium::Swap => Volume::swap(spec.mib)?,
            Medium::Zram => Volume::on_zram(&spec.fs, spec.mib, &spec.mount)?,
            Medium::Tmpfs => Volume::tmpfs(spec.mib),
            Medium::Fuse => Volume::fuse(spec.mib),
            Medium::Bindfs => {
                let below = Volume::on_loop(&spec.fs, spec.mib, &spec.mount);
                let served = Volume::bindfs(&below);
                self.below = Some(below);
                served
            }
            Medium::Overlay | Medium::RelativeOverlay => {
                let below = Volume::on_loop(&spec.fs, spec.mib, &spec.mount);
                let overlay = match spec.kind {
                    Medium::RelativeOverlay => Volume::relative_overlay(&below),
                    _ => Volume::overlay(&below),
                };
                self.below = Some(below);
                overlay
            }
        })
    }

    fn shell(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-ec", script]).current_dir(self.folder());
        shell
    }

    fn neighbour(&self, script: &str) -> Neighbour {
        let ready = self.beside.path().join("ready");
        let child = self
            .shell(&self.fill(script))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        let neighbour = Neighbour(Some(child));
        if script.contains("{ready}") {
            let started = Instant::now();
            while !ready.exists() {
                assert!(started.elapsed() < READY_WITHIN, "the neighbour is not ready: {script}");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        neighbour
    }

    /// Returns the folder in which everything runs.
    pub fn folder(&self) -> PathBuf {
        match &self.volume {
            Some(volume) => volume.path(),
            None => self.beside.path().to_owned(),
        }
    }

    /// A folder outside of the volume.
    pub fn beside(&self) -> &Path {
        self.beside.path()
    }

    /// Returns the bytes that the volume's device has moved so far, from its own counters; `None` without a device.
    pub fn moved(&self) -> Option<Moved> {
        let volume = self.volume.as_ref().filter(|volume| volume.device().is_some())?;
        let stat = fs::read_to_string(volume.block_attribute("stat")).expect("a device has counters");
        Some(Moved::parse(&stat).expect("counters are numbers"))
    }

    /// The run directory.
    pub fn run_folder(&self) -> PathBuf {
        self.run.clone()
    }

    /// Replaces the placeholders for places, see [`crate::truth::case`].
    pub fn fill(&self, text: &str) -> String {
        let path = |path: &Path| path.to_str().expect("a UTF-8 path").to_owned();
        let places: [(&str, &dyn Fn() -> String); 11] = [
            ("{mount}", &|| path(&self.folder())),
            ("{device}", &|| self.volume.as_ref().and_then(Volume::device).expect("a device").to_owned()),
            ("{other}", &|| path(&self.other.as_ref().expect("another volume").path())),
            ("{beside}", &|| path(self.beside.path())),
            ("{case}", &|| path(&self.case)),
            ("{run}", &|| path(&self.run)),
            ("{ready}", &|| path(&self.beside.path().join("ready"))),
            ("{allow-read}", &|| format!("sh {}", path(&self.allow_read()))),
            ("{activebench}", &|| {
                let words = product_words();
                words.iter().map(|word| path(Path::new(word))).collect::<Vec<_>>().join(" ")
            }),
            ("{user}", &|| user().to_owned()),
            ("{orion}", &|| path(&built("orion-stand-in", "activebench-e2e"))),
        ];
        places.iter().fold(text.to_owned(), |text, (word, place)| match text.contains(word) {
            true => text.replace(word, &place()),
            false => text,
        })
    }

    /// Writes a script that replaces the limit on reads.
    fn allow_read(&self) -> PathBuf {
        let limit = self.group.as_ref().and_then(|group| group.reads.as_ref()).expect("a limit on reads");
        let script = self.beside.path().join("allow-read");
        fs::write(&script, format!("echo \"{}$1\" > {}\n", limit.before, limit.file.display())).expect("it is written");
        script
    }

    /// Returns the command line, inside its control group if there is one.
    pub fn command(&self, case: &Case) -> Vec<String> {
        let mut command: Vec<String> = self.group.as_ref().map_or_else(Vec::new, Group::join);
        command.extend(case.command.iter().map(|word| self.fill(word)));
        command
    }

    /// Writes everything back, and empties the page cache unless it is to stay.
    pub(super) fn settle(&self, keep_cache: bool) {
        if keep_cache {
            rustix::fs::sync();
            return;
        }
        // The file system below an overlay cannot be unmounted.
        if self.below.is_some() || self.volume.is_none() {
            return drop_all_caches();
        }
        [&self.volume, &self.other].into_iter().flatten().for_each(Volume::drop_caches);
    }

    /// Returns `true` if the kernel killed a process of the case for lack of memory in its control group.
    pub fn lacked_memory(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.folders.iter().any(|folder| has_killed(folder)))
    }

    /// Ends the neighbours, so that the volume is no longer in use.
    pub fn end_neighbours(&mut self) {
        self.neighbours.clear();
    }
}

/// A process group of our own; ended when dropped.
#[derive(Debug)]
struct Neighbour(Option<Child>);

impl Drop for Neighbour {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        // The process group that we made and have not waited for.
        if let Err(error) = kill_process_group(Pid::from_child(&child), Signal::KILL) {
            eprintln!("cleaning up: a neighbour: {error}");
        }
        if let Err(error) = child.wait() {
            eprintln!("cleaning up: a neighbour: {error}");
        }
    }
}

/// Control groups with the limits of a case; removed when dropped.
#[derive(Debug)]
struct Group {
    name: String,
    folders: Vec<PathBuf>,
    reads: Option<ReadLimit>,
}

/// The limit on reads: its file, and the text that precedes the bytes per second.
#[derive(Debug)]
struct ReadLimit {
    file: PathBuf,
    before: String,
}

impl Group {
    /// Returns `None` when nothing is limited.
    fn new(limits: &Limits, volume: Option<&Volume>) -> Result<Option<Self>, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("activebench-truth-{}-{number}", std::process::id());
        let mut group = Self { name, folders: Vec::new(), reads: None };
        if let Some(mib) = limits.memory_mib {
            let bytes = (mib << 20).to_string();
            group.limit("memory", &[("memory", "memory.limit_in_bytes", &bytes), ("", "memory.max", &bytes)])?;
        }
        for (direction, letter, limit) in
            [("read", 'r', limits.read_bytes_per_sec), ("write", 'w', limits.write_bytes_per_sec)]
        {
            let Some(limit) = limit else { continue };
            let device = volume.expect("a limit of I/O needs a volume").block_attribute("dev");
            let device = fs::read_to_string(device).expect("a device number");
            let device = device.trim();
            let first = (format!("blkio.throttle.{direction}_bps_device"), format!("{device} "));
            let second = format!("{device} {letter}bps=");
            let value = |before: &str| format!("{before}{limit}");
            let ways = [("blkio", first.0.as_str(), value(&first.1)), ("", "io.max", value(&second))];
            let file =
                group.limit("I/O", &ways.each_ref().map(|(root, file, value)| (*root, *file, value.as_str())))?;
            if letter == 'r' {
                let before = if file.ends_with("io.max") { second } else { first.1 };
                group.reads = Some(ReadLimit { file, before });
            }
        }
        Ok((!group.folders.is_empty()).then_some(group))
    }

    /// Sets a limit in the first hierarchy that accepts it: a controller of version 1, or version 2. Returns the file.
    fn limit(&mut self, what: &str, ways: &[(&str, &str, &str)]) -> Result<PathBuf, String> {
        for (controller, file, value) in ways {
            let root = Path::new("/sys/fs/cgroup").join(controller);
            if !root.join("cgroup.procs").exists() {
                continue;
            }
            let folder = root.join(&self.name);
            if !self.folders.contains(&folder) {
                if fs::create_dir(&folder).is_err() {
                    continue;
                }
                self.folders.push(folder.clone());
            }
            let file = folder.join(file);
            if fs::write(&file, value).is_ok() {
                return Ok(file);
            }
        }
        Err(format!("needs a control group that limits {what}"))
    }

    /// Returns the files by which a process joins, and that of the limit on reads.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let joins = self.folders.iter().map(|folder| folder.join("cgroup.procs"));
        joins.chain(self.reads.as_ref().map(|limit| limit.file.clone()))
    }

    /// Returns the words that start a command inside the control group.
    fn join(&self) -> Vec<String> {
        let joins: Vec<String> =
            self.folders.iter().map(|folder| format!("echo $$ > {}/cgroup.procs", folder.display())).collect();
        let script = format!("{}; exec \"$@\"", joins.join("; "));
        ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            if let Err(error) = fs::remove_dir(folder) {
                eprintln!("cleaning up: {}: {error}", folder.display());
            }
        }
    }
}
