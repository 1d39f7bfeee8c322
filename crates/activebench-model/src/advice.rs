//! How a command can be changed: what detectors request, and what the tool's adapter answers.

use std::fmt::Debug;

use crate::output::ToolFile;
use crate::phase::Phase;

/// A change that another run of the same command should make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Improvement {
    /// Sync the data before the clock stops.
    SyncInsideClock,
    /// Make the data survive a power loss before the clock stops.
    SurvivePowerLoss,
    /// Read from storage and not from the page cache.
    ReadFromStorage,
    /// Open the files with O_DIRECT, as the command asks.
    OpenDirect,
    /// Use a larger file.
    LargerFile,
    /// Do not visit a block again before all blocks were visited.
    VisitBlocksOnce,
    /// Draw other offsets in each run.
    NewOffsetsEachRun,
    /// Reach the queue depth.
    ReachDepth,
    /// Write data that cannot be reduced.
    RandomPayload,
    /// Run longer.
    RunLonger,
    /// Count the work of all tasks over one clock.
    CountAllTasks,
    /// Map the files, so that an option on mapped files takes effect.
    MapFiles,
    /// Move data by calls and not through mapped files.
    AvoidMappings,
    /// Leave out the check of the data while the clock runs.
    LeaveOutVerification,
    /// Leave out pauses and limits that the tool was asked for.
    LeaveOutPauses,
}

/// Information that an adapter needs to give advice.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The tool's own command line, its name first, without wrappers.
    pub argv: &'a [String],
    /// The files from which the tool read its work, as the run keeps them. Empty where it read none, and for advice in
    /// words.
    pub files: &'a [ToolFile],
    /// The tool's version, where its output states one.
    pub version: Option<&'a str>,
    /// All passes of the run.
    pub phases: &'a [Phase],
    /// The pass that the advice is for; `None` for the whole run.
    pub phase: Option<&'a Phase>,
    /// Bytes that the page cache cannot hold (twice the memory). `None` where unknown, or where as much was requested.
    pub beyond_memory_bytes: Option<u64>,
    /// Where the file system of the pass's first file is mounted.
    pub mount_point: Option<&'a str>,
    /// Factor by which the pass should run longer.
    pub times_longer: f64,
}

/// A change of the tool's own command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Words that go directly after the tool's name, so that they apply to all its jobs.
    AddFirst(&'static [&'static str]),
    /// Words that go after all others.
    AddLast(&'static [&'static str]),
    /// Long options, by name, that are removed with their values. Those of the second list do not take a value in a
    /// word of their own.
    Drop(&'static [&'static str], &'static [&'static str]),
    /// A whole word that is removed.
    DropWord(&'static str),
}

/// The wanted length of passes, for [`Advisor::sized`].
#[derive(Clone, Copy, Debug)]
pub struct Sizing<'a> {
    /// As [`Circumstances::files`].
    pub files: &'a [ToolFile],
    /// All passes of the run.
    pub phases: &'a [Phase],
    /// The lowest honest rate of a pass, in bytes per second; `None` where none is known.
    pub rate_bytes_per_sec: Option<f64>,
    /// Wanted time of a pass, in seconds.
    pub seconds: f64,
    /// Most bytes that all files together may have.
    pub most_bytes: u64,
    /// Bytes that the page cache cannot hold (twice the memory); `None` where unknown.
    pub beyond_memory_bytes: Option<u64>,
    /// The changes that the findings ask for.
    pub wanted: &'a [Improvement],
}

/// A command line with another size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resized {
    /// The tool's own words.
    pub argv: Vec<String>,
    /// The wanted changes that the size makes.
    pub makes: Vec<Improvement>,
}

/// A tool adapter's knowledge of changing its command line. It never advises an option that was already given.
pub trait Advisor: Debug + Sync {
    /// Returns how to change the command, as a lower-case sentence; `None` where the tool has no way of its own.
    fn advise(&self, wanted: Improvement, about: &Circumstances<'_>) -> Option<String>;

    /// Returns the change of the command line.
    ///
    /// # Errors
    /// Returns the reason, in words, when there is no such change.
    fn change(&self, wanted: Option<Improvement>, about: &Circumstances<'_>) -> Result<Change, String>;

    /// Returns the tool's own words, already changed, with a size at which each pass takes the wanted time, and with what
    /// a pass needs besides to answer the same question: a block size at which a sequential direct pass is that of the
    /// device. Unchanged where nothing is known better, and never with a smaller size.
    fn sized(&self, argv: &[String], about: &Sizing<'_>) -> Resized;

    /// Returns the option that makes the tool pause, as it was given; `None` where no word of the command does.
    fn option_of_pauses(&self, argv: &[String]) -> Option<String>;
}

/// The advisor for tools that no adapter knows.
#[derive(Clone, Copy, Debug)]
pub struct NoAdvisor;

impl Advisor for NoAdvisor {
    fn advise(&self, _wanted: Improvement, _about: &Circumstances<'_>) -> Option<String> {
        None
    }

    fn change(&self, _wanted: Option<Improvement>, _about: &Circumstances<'_>) -> Result<Change, String> {
        Err("no option of the tool fixes it".to_owned())
    }

    fn sized(&self, argv: &[String], _about: &Sizing<'_>) -> Resized {
        Resized { argv: argv.to_vec(), makes: Vec::new() }
    }

    fn option_of_pauses(&self, _argv: &[String]) -> Option<String> {
        None
    }
}
