//! How a command can be changed: what detectors ask for, and what the tool's adapter answers.

use std::fmt::Debug;

use crate::phase::Phase;

/// What another run of the same command should do.
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
    /// Visit no block a second time before all were visited.
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
}

/// What an adapter must know to advise.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The tool's own words, its name first, without wrappers.
    pub argv: &'a [String],
    /// The tool's version, where its output states one.
    pub version: Option<&'a str>,
    /// All passes of the run.
    pub phases: &'a [Phase],
    /// The pass that the advice is for; `None` for the whole run.
    pub phase: Option<&'a Phase>,
    /// Bytes that the page cache cannot hold (twice the memory); `None` where that is not known, or as much was asked for.
    pub beyond_memory_bytes: Option<u64>,
    /// Where the file system of the pass's first file is mounted.
    pub mount_point: Option<&'a str>,
    /// How many times longer the pass should run.
    pub times_longer: f64,
}

/// A change of a tool's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Words that go directly behind the tool's name, so that they hold for all its jobs.
    AddFirst(&'static [&'static str]),
    /// Words that go behind all others.
    AddLast(&'static [&'static str]),
    /// Long options, by name, that are taken out with their values. Those of the second list take no value in a word of its
    /// own.
    Drop(&'static [&'static str], &'static [&'static str]),
}

/// What a tool's adapter knows of changing its command line. Never an option that was already given.
pub trait Advisor: Debug + Sync {
    /// How to change the command, as a lower-case sentence; `None` where the tool has no way of its own.
    fn advise(&self, _wanted: Improvement, _about: &Circumstances<'_>) -> Option<String> {
        None
    }

    /// The change of the command's words.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn change(&self, _wanted: Option<Improvement>, _about: &Circumstances<'_>) -> Result<Change, String> {
        Err("no option of the tool mends it".to_owned())
    }

    /// The option by which the command makes the tool pause, as it was given; `None` where no word of the command does.
    fn option_of_pauses(&self, _argv: &[String]) -> Option<String> {
        None
    }
}

/// Stands in where no adapter knows the tool.
#[derive(Clone, Copy, Debug)]
pub struct NoAdvisor;

impl Advisor for NoAdvisor {}
