//! A case in its file format: a small TOML file.
//!
//! In `command`, `options` and the scripts these placeholders are replaced:
//! `{mount}` the volume, `{device}` its device, `{other}` the second volume, `{beside}` a folder outside of the volume,
//! `{case}` the folder of the case's own file, `{run}` the run directory, `{ready}` a file that a neighbour creates
//! when the run may begin, `{allow-read}` a shell command that sets the read limit (bytes per second) in place of the
//! one from `limits`, `{user}` the user who runs the product, `{activebench}` the product and `{orion}` the stand-in for
//! Orion.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Kind of a case: lie or honest twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The detector must find it.
    Lie,
    /// No detector may accuse it, the folder's own included.
    Honest,
}

/// Way in which the report is made.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// `activebench verify -- COMMAND`.
    #[default]
    Verify,
    /// `activebench verify --plan -- COMMAND`: nothing runs.
    Plan,
    /// `activebench recheck {run}`; `prepare` writes the run directory. For situations that a host cannot create
    /// itself.
    Recheck,
}

/// A finding's severity, ascending.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// A reason to look.
    Warn,
    /// The figure is not valid.
    Fail,
}

/// Storage of a case's volume.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// A loop device with direct I/O to its backing file.
    Loop,
    /// A loop device through the page cache of its backing file.
    CachedLoop,
    /// A loop device without a file system; the command names `{device}`.
    RawLoop,
    /// btrfs in stripes over two loop devices.
    StripedBtrfs,
    /// btrfs in two copies on two loop devices.
    MirroredBtrfs,
    /// The same, with one device removed.
    DegradedBtrfs,
    /// A device that the kernel swaps to; nothing is mounted.
    Swap,
    /// A device in compressed memory.
    Zram,
    /// Memory.
    Tmpfs,
    /// An overlay over ext4 on a loop device.
    Overlay,
    /// The same, mounted with folder names relative to the directory in which mount ran.
    RelativeOverlay,
    /// ext4 in a file, served by a process.
    Fuse,
    /// The folder of another file system on a loop device, served by a process.
    Bindfs,
}

/// The volume of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeSpec {
    /// Storage of the volume.
    pub kind: Medium,
    /// File system, for storage that allows a choice.
    #[serde(default = "ext4")]
    pub fs: String,
    /// Size of each device in MiB.
    pub mib: u64,
    /// Mount options.
    #[serde(default = "noatime")]
    pub mount: String,
}

/// Other storage on which the runs of a corpus written for loop devices are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Storage {
    /// The file system of the folder for temporary files, whatever it is.
    Host,
    /// xfs on a loop device.
    Xfs,
}

fn ext4() -> String {
    "ext4".to_owned()
}

fn noatime() -> String {
    "noatime".to_owned()
}

/// Limits of the control group that the command runs in. The rates apply to the volume's device.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// Limit on reads, in bytes per second.
    pub read_bytes_per_sec: Option<u64>,
    /// Limit on writes, in bytes per second.
    pub write_bytes_per_sec: Option<u64>,
}

/// Expected report of a case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Of a lie: the lowest severity with which the folder's detector fires.
    pub severity: Option<Severity>,
    /// Of a lie: the phases on which it fires. When empty, any phase or the run is enough.
    #[serde(default)]
    pub phases: Vec<String>,
    /// Of a lie: the verdict on the claims of these phases.
    pub claim: Option<String>,
    /// The metric to which `claim` applies; rates when absent.
    pub metric: Option<String>,
    /// Other codes that are true of this run, with the reason why. A twin may get no other warning.
    #[serde(default)]
    pub beside: BTreeMap<String, String>,
    /// The run's verdict; for a twin without `beside` it is verified or qualified.
    pub verdict: Option<String>,
    /// Of a twin: the reason why the folder's detector may give a note.
    pub note: Option<String>,
    /// The reason why the folder's detector may be undecided here.
    pub undecided: Option<String>,
}

/// A condition on a fact; when it is not met, the case shows nothing on this machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Phase of the fact.
    pub phase: String,
    /// Name of the fact.
    pub fact: String,
    /// Fact by which the value is divided; none when the value itself is compared with the bounds.
    pub share_of: Option<String>,
    /// Smallest value.
    pub at_least: Option<f64>,
    /// Largest value.
    pub at_most: Option<f64>,
    /// Meaning of an unmet condition.
    pub why: String,
}

/// A case that is the same as one of another detector.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    /// Path of that case below the corpus, as in `AB302-sync-outside-clock/honest-iozone.toml`.
    same_as: String,
}

/// A case as read from its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// One sentence: what the run does, and why its figure is or is not honest.
    pub what: String,
    /// Way in which the report is made.
    #[serde(default)]
    pub how: How,
    /// Programs that have to be installed.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Volume of the run; when absent, a folder on an unspecified file system.
    pub volume: Option<VolumeSpec>,
    /// `true` when the run writes until its volume is full, which the host's own file system must never be.
    #[serde(default)]
    pub fills: bool,
    /// A second volume.
    pub other: Option<VolumeSpec>,
    /// Shell scripts that run in the volume beforehand. Their writes are written back before the run.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// `true` when the page cache stays as the preparation left it.
    #[serde(default)]
    pub keep_cache: bool,
    /// Shell scripts that run in the volume beside the command and are ended after it.
    #[serde(default)]
    pub neighbours: Vec<String>,
    /// Limits of the command's control group.
    #[serde(default)]
    pub limits: Limits,
    /// Further options of activebench.
    #[serde(default)]
    pub options: Vec<String>,
    /// Number of runs of a series (`verify --repeat`). The series' report is judged; for a twin the runs are judged
    /// too.
    pub repeat: Option<u32>,
    /// The benchmark's command line.
    #[serde(default)]
    pub command: Vec<String>,
    /// Expected report.
    #[serde(default)]
    pub expect: Expect,
    /// Conditions without which the case shows nothing on this machine.
    #[serde(default)]
    pub only_when: Vec<Condition>,
    /// Codes that may be true of any run on this machine, with the reason; the corpus has one list of them.
    #[serde(skip, default)]
    pub of_the_machine: BTreeMap<String, String>,
    /// The detector's code, from the folder's name.
    #[serde(skip, default)]
    pub code: String,
    /// The file's name without its extension.
    #[serde(skip, default)]
    pub name: String,
    /// The folder of the file, or of the one that it names with `same_as`.
    #[serde(skip, default)]
    pub folder: PathBuf,
    /// Expectation for a drawn run, which has no file.
    #[serde(skip, default)]
    pub drawn: Option<Drawn>,
    /// The same drawn run behind another program and in another format; its answers must be the same.
    #[serde(skip)]
    pub again: Option<Box<Case>>,
}

/// Expectation for a drawn run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// No accusation, an answer, and figures that agree with independent counts.
    Honest,
    /// One of these codes fires as a warning at least.
    Lie(&'static [&'static str]),
}

impl Case {
    /// Returns the case with the codes that are true of this machine.
    pub fn on_machine(self, codes: &BTreeMap<String, String>) -> Self {
        let again = self.again.map(|again| Box::new(again.on_machine(codes)));
        Self { of_the_machine: codes.clone(), again, ..self }
    }

    /// Reads `ABNNN-name/{lie,honest}-*.toml`, or the case that it names with `same_as`.
    ///
    /// # Errors
    /// Describes the defect of the file or its name.
    pub fn load(file: &Path) -> Result<Self, String> {
        let say = |what: &str| format!("{}: {what}", file.display());
        let read = |file: &Path| std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()));
        let mut text = read(file)?;
        let mut source = file.to_owned();
        if let Ok(Reference { same_as }) = toml::from_str(&text) {
            let corpus = file.ancestors().nth(2).ok_or_else(|| say("it is not in a folder of the corpus"))?;
            source = corpus.join(same_as);
            text = read(&source)?;
        }
        let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("");
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or("");
        Self::parse(&text, folder, name)
            .map(|case| Self { folder: source.parent().unwrap_or(&source).to_owned(), ..case })
            .map_err(|what| say(&what))
    }

    fn parse(text: &str, folder: &str, name: &str) -> Result<Self, String> {
        let case: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let code = folder.split('-').next().unwrap_or("");
        if code.len() != 5 || !code.starts_with("AB") {
            return Err(format!("its folder {folder} is not named for a detector, as in AB302-sync-outside-clock"));
        }
        if !name.starts_with("lie-") && !name.starts_with("honest-") {
            return Err("its name begins neither with lie- nor with honest-".to_owned());
        }
        let case = Self { code: code.to_owned(), name: name.to_owned(), ..case };
        if case.kind() == Kind::Lie && case.gap().is_none() && case.expect.severity.is_none() {
            return Err("a lie says with which severity it is found (expect.severity)".to_owned());
        }
        let of_a_run = !case.only_when.is_empty() || case.expect.claim.is_some();
        if case.repeat.is_some() && (of_a_run || case.how != How::Verify) {
            return Err("a series is a verified command; it has neither facts nor verdicts on claims".to_owned());
        }
        if case.kind() == Kind::Honest && case.expect.beside.contains_key(&case.code) {
            return Err(format!("an honest twin of {} cannot expect {}", case.code, case.code));
        }
        Ok(case)
    }

    /// `AB302/lie-iozone-default`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.code, self.name)
    }

    /// Returns lie or twin, from the name.
    pub fn kind(&self) -> Kind {
        if self.name.starts_with("lie-") { Kind::Lie } else { Kind::Honest }
    }

    /// Returns the case on other storage. `None` when it says nothing there: it has other storage than a loop device with
    /// a file system, fills it, or depends on the device, on a limit of its rate or on mount options.
    #[must_use]
    pub fn on(self, storage: Storage) -> Option<Self> {
        let spec = self.volume.as_ref().filter(|spec| spec.kind == Medium::Loop && spec.mount == noatime())?;
        let words = || self.command.iter().chain(&self.prepare).chain(&self.neighbours).chain(&self.options);
        let names_device = words().any(|word| word.contains("{device}"));
        let is_limited = self.limits.read_bytes_per_sec.or(self.limits.write_bytes_per_sec).is_some();
        if self.fills || names_device || is_limited || self.other.is_some() || self.how != How::Verify {
            return None;
        }
        // The smallest xfs has 300 MiB.
        let with = |fs: &str| VolumeSpec { fs: fs.to_owned(), mib: spec.mib.max(256) + 256, ..spec.clone() };
        let volume = match storage {
            Storage::Host => None,
            Storage::Xfs => Some(with("xfs")),
        };
        let again = match self.again {
            Some(again) => Some(Box::new(again.on(storage)?)),
            None => None,
        };
        Some(Self { volume, again, ..self })
    }

    /// Describes what is still to be filled in; `None` for a complete case.
    pub fn gap(&self) -> Option<String> {
        let command = self.command.is_empty() && self.how != How::Recheck;
        let record = self.prepare.is_empty() && self.how == How::Recheck;
        let gaps = [
            (self.what.trim().is_empty(), "`what`: one sentence on what the run does"),
            (command, "`command`: the benchmark's command line"),
            (record, "`prepare`: the scripts that write the run directory {run}"),
        ];
        let open: Vec<&str> = gaps.iter().filter(|(open, _)| *open).map(|(_, what)| *what).collect();
        (!open.is_empty()).then(|| format!("the case is not filled in yet; fill in {}", open.join(", ")))
    }

    /// Returns the programs that must be installed, including those of the volumes.
    pub fn programs(&self) -> Vec<String> {
        let mut programs = self.needs.clone();
        for volume in [&self.volume, &self.other].into_iter().flatten() {
            match volume.kind {
                Medium::Tmpfs => {}
                Medium::Fuse => programs.extend(["fuse2fs", "mkfs.ext4"].map(str::to_owned)),
                Medium::Bindfs => {
                    programs.extend(["bindfs".to_owned(), "losetup".to_owned(), format!("mkfs.{}", volume.fs)]);
                }
                Medium::StripedBtrfs | Medium::MirroredBtrfs => {
                    programs.extend(["losetup", "mkfs.btrfs"].map(str::to_owned));
                }
                Medium::DegradedBtrfs => programs.extend(["losetup", "mkfs.btrfs", "btrfs"].map(str::to_owned)),
                Medium::Swap => programs.extend(["losetup", "mkswap", "swapon", "swapoff"].map(str::to_owned)),
                Medium::Zram => programs.push(format!("mkfs.{}", volume.fs)),
                _ => programs.extend(["losetup".to_owned(), format!("mkfs.{}", volume.fs)]),
            }
        }
        programs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = "AB302-sync-outside-clock";
    const LIE: &str = "what = 'a lie'\ncommand = ['true']\n[expect]\nseverity = 'fail'\n";

    #[test]
    fn a_case_is_named_by_its_place() {
        let case = Case::parse(LIE, FOLDER, "lie-iozone-default").expect("a case");
        assert_eq!((case.id().as_str(), case.kind()), ("AB302/lie-iozone-default", Kind::Lie));
        assert_eq!((case.gap(), case.expect.severity), (None, Some(Severity::Fail)));
    }

    #[test]
    fn what_is_no_case_is_told_from_one() {
        #[track_caller]
        fn check(text: &str, folder: &str, name: &str, part: &str) {
            let error = Case::parse(text, folder, name).expect_err("no case");
            assert!(error.contains(part), "{error}");
        }
        check(LIE, "iozone", "lie-a", "not named for a detector");
        check(LIE, FOLDER, "a-lie", "begins neither");
        check("what = 'a'\ncommand = ['true']", FOLDER, "lie-a", "expect.severity");
        check("what = 'a'\ncomand = ['true']", FOLDER, "honest-a", "unknown field");
        let own = "what = 'a'\ncommand = ['true']\n[expect.beside]\nAB302 = 'why not'";
        check(own, FOLDER, "honest-a", "cannot expect AB302");
        let series = LIE.replace("[expect]", "repeat = 5\n[expect]");
        assert_eq!(Case::parse(&series, FOLDER, "lie-a").expect("a case").repeat, Some(5));
        check(&format!("{series}claim = 'refuted'"), FOLDER, "lie-a", "neither facts nor verdicts");
    }

    #[test]
    fn a_case_says_whether_it_holds_on_other_storage() {
        let parse = |more: &str| Case::parse(&format!("{LIE}{more}"), FOLDER, "lie-a").expect("a case");
        let volume = "[volume]\nkind = 'loop'\nmib = 64\n";
        let moved = parse(volume).on(Storage::Xfs).and_then(|case| case.volume).expect("it holds there too");
        assert_eq!((moved.fs.as_str(), moved.mib), ("xfs", 512));
        assert!(parse(volume).on(Storage::Host).expect("it holds there too").volume.is_none());
        for more in
            ["", "[volume]\nkind = 'raw-loop'\nmib = 64\n", "[volume]\nkind = 'loop'\nmib = 64\nmount = 'sync'\n"]
        {
            assert!(parse(more).on(Storage::Host).is_none(), "{more}");
        }
        let limited = format!("{volume}[limits]\nread_bytes_per_sec = 1\n");
        assert!(parse(&limited).on(Storage::Host).is_none());
        let mut device = parse(volume);
        device.command.push("{device}".to_owned());
        assert!(device.on(Storage::Xfs).is_none());
    }

    #[test]
    fn a_case_that_is_not_filled_in_says_what_is_missing() {
        let gap = Case::parse("what = ''", FOLDER, "lie-a").expect("a case").gap().expect("a gap");
        assert!(gap.contains("`what`") && gap.contains("`command`"), "{gap}");
        let gap = Case::parse("what = 'a'\nhow = 'recheck'", FOLDER, "honest-a").expect("a case").gap();
        assert!(gap.expect("a gap").contains("`prepare`"));
    }
}
