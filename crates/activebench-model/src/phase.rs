//! One pass of a tool, and the window that the tool's own clock covered.

use serde::{Deserialize, Serialize};

use crate::activity::CallSpan;
use crate::call::{FileId, Op};
use crate::fact::{FactName, Facts};

/// One pass of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Unique in the run, stable between runs of one command: `write`, `write-1048576k-4k`.
    pub id: String,
    /// The tool's own word for the pass, for a person: `rewrite`.
    pub name: String,
    /// Which way data moves.
    pub direction: Direction,
    /// What order of offsets the pass makes by design.
    pub pattern: Pattern,
    /// Bytes of one operation that the tool was told to use; `None` when it varies.
    pub block_bytes: Option<u64>,
    /// Bytes that a call must ask for to be one of this pass's; `None` when every call on its
    /// descriptors is. A pass of requests of two sizes at once is two phases with the same parts.
    /// What the device did cannot be told apart in this way.
    #[serde(default)]
    pub call_bytes: Option<u64>,
    /// Bytes that the command asks to be moved, over all tasks; `None` when not stated.
    pub requested_bytes: Option<u64>,
    /// Bytes that the command names as the size of the pass without promising that they move this way: a time
    /// limit can end it before, and both directions of a mix share them. `None` where `requested_bytes` says it.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Bytes of the region that it goes over, all files together; `None` when not stated. Fewer than
    /// those asked for where it goes over them more than once by design.
    #[serde(default)]
    pub region_bytes: Option<u64>,
    /// How often the command makes it go over the same offsets: loops, and tasks that share a
    /// file in the same order. At least 1.
    #[serde(default = "once")]
    pub rounds: u32,
    /// Tasks that the command asks for.
    pub requested_tasks: u32,
    /// What the tool's clock covers, in words: `first write to last write`.
    pub clock: String,
    /// Over which time the tool divides what all tasks did together.
    #[serde(default)]
    pub rate_clock: RateClock,
    /// How the command makes it hand requests to the kernel.
    #[serde(default)]
    pub submission: Submission,
    /// Mechanisms that the command promised for this pass.
    pub promises: Vec<Promise>,
    /// The mix of reads and writes that the command promises; `None` when it promises none. Where a tool
    /// states each direction's figures apart, both directions' phases have it, over the same parts.
    #[serde(default)]
    pub mix: Option<Mix>,
    /// Options by which the command makes the tool hold itself back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_limits: Vec<OwnLimit>,
    /// How long the command lets it run at most; `None` when it ends by its amount of work.
    #[serde(default)]
    pub time_limit_ns: Option<u64>,
    /// Each task's part; empty when the pass was not found in the observed calls, and for a
    /// pass over names.
    pub parts: Vec<Part>,
    /// What it does with names, for a pass that moves no data; `None` for one that does.
    #[serde(default)]
    pub names: Option<NamePass>,
    /// The union of the parts' windows; `None` when there are none or they are not resolved yet.
    pub window: Option<Window>,
    /// The pass's reads are taken to come from storage because the tool purged the cache
    /// before (iozone -U) or the command says so.
    pub cold_by_design: bool,
    /// Whether the tool's clock begins after a ramp, with the first operation that ends then: up to one operation later
    /// than the window.
    #[serde(default)]
    pub after_ramp: bool,
    /// Checking of the data happens inside the clock because the command asks for it, with
    /// the option's name.
    pub verifies: Option<String>,
    /// Why options of the command may hold for the pass that were not read; `None` when all were. What the command does
    /// not state is then not known: no default stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Who makes the I/O of this pass in place of the observed processes: `the fio server at 192.0.2.1`. `None` where they do
    /// it themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Why the pass is not what the command promises (not found, killed, cut short).
    pub incomplete: Option<String>,
    /// Where the first calls of each task of a random pass began in its file, in their order; at most
    /// [`Phase::MOST_FIRST_OFFSETS`] together, as many of each task. Empty for other passes, and where calls were
    /// lost. Filled by `activebench-facts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_offsets: Vec<Vec<u64>>,
    /// Filled by `activebench-facts`.
    #[serde(default)]
    pub facts: Facts,
}

fn once() -> u32 {
    1
}

impl Phase {
    /// Offsets of first calls that are kept of a phase.
    pub const MOST_FIRST_OFFSETS: usize = 1024;

    /// Bytes that others moved at the device while the clock ran over all bytes that it moved, 0 to 1; `None` where that
    /// is not completely known, or nothing was moved.
    pub fn foreign_io_ratio(&self) -> Option<f64> {
        let fact = |name| self.facts.complete(name).ok();
        let (foreign, total) = (fact(FactName::ForeignBytes)?, fact(FactName::DeviceTotalBytes)?);
        (total > 0.0).then_some(foreign / total)
    }

    /// How many operations the command keeps on their way for each task, and the option that says so; `None` where no
    /// option does.
    pub fn promised_depth(&self) -> Option<(u32, &str)> {
        self.promises.iter().find_map(|promise| match promise.mechanism {
            Mechanism::QueueDepth(depth) => Some((depth, promise.option.as_str())),
            _ => None,
        })
    }

    /// A pass as a command asks for it: nothing promised, nothing observed.
    pub fn planned(id: impl Into<String>, name: impl Into<String>, direction: Direction) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            direction,
            pattern: Pattern::Unknown,
            block_bytes: None,
            call_bytes: None,
            requested_bytes: None,
            size_bytes: None,
            region_bytes: None,
            rounds: once(),
            requested_tasks: 1,
            clock: String::new(),
            rate_clock: RateClock::default(),
            submission: Submission::Unknown,
            promises: Vec::new(),
            mix: None,
            own_limits: Vec::new(),
            time_limit_ns: None,
            parts: Vec::new(),
            names: None,
            window: None,
            cold_by_design: false,
            after_ramp: false,
            verifies: None,
            unread: None,
            elsewhere: None,
            incomplete: None,
            first_offsets: Vec::new(),
            facts: Facts::default(),
        }
    }

    /// Whether the pass was found in the observed calls.
    pub fn is_found(&self) -> bool {
        !self.parts.is_empty() || self.names.as_ref().is_some_and(|names| !names.spans.is_empty())
    }

    /// Until when the event log must reach for every figure of the phase to be whole: the close
    /// of its descriptors and the sync that made its writes durable. The end of time where
    /// either was not seen, because it may come late.
    pub fn needs_log_until_ns(&self) -> u64 {
        let until = |part: &Part| {
            let close_ns = part.close_ns.unwrap_or(u64::MAX);
            let synced_ns = match self.direction {
                Direction::Write | Direction::Mixed => {
                    part.sync_after.or(part.sync_inside).map_or(u64::MAX, |sync| sync.end_ns)
                }
                Direction::Read | Direction::Discard | Direction::None => 0,
            };
            close_ns.max(synced_ns).max(part.last_data_ns)
        };
        let window_ns = self.window.map_or(0, |window| window.end_ns);
        self.parts.iter().map(until).max().map_or(u64::MAX, |until_ns| until_ns.max(window_ns))
    }
}

/// Which way data moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From storage.
    Read,
    /// To storage.
    Write,
    /// Both.
    Mixed,
    /// None: room is given back.
    Discard,
    /// Neither (metadata).
    None,
}

/// The order of offsets that a pass makes by design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Ascending, each block once.
    Sequential,
    /// Descending, each block once.
    Backward,
    /// Random, each block once.
    RandomPermutation,
    /// Random, independent draws.
    RandomIndependent,
    /// One block again and again.
    SingleBlock,
    /// With a stride; blocks may repeat.
    Strided,
    /// Not known.
    Unknown,
}

/// The mix of reads and writes that an option promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// The option as given, or the one that implies it: `rwmixread=70`.
    pub option: String,
    /// The share of reads, from 0 to 1.
    pub read_ratio: f64,
    /// What it is a share of.
    pub of: MixOf,
    /// The phase of the other direction, by its id, where the tool states the figures of each direction apart. A task may
    /// have moved data in one of them alone, so that the two share no part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_phase: Option<String>,
}

/// Over which time a tool divides what the tasks of a pass did together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateClock {
    /// From the first start of their clocks to the last end.
    #[default]
    FirstToLast,
    /// The time of the task that took longest: less, where they began one after the other.
    LongestTask,
}

/// What a promised share of reads is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixOf {
    /// The operations: each is drawn with this chance.
    Operations,
    /// The tasks: each does one of both alone.
    Tasks,
}

/// An option that makes the tool do less than it could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLimit {
    /// The option as given: `rate=10m`.
    pub option: String,
    /// It waits by computing, not by sleeping.
    pub computes: bool,
    /// The tool takes these waits out of its clock, by an amount that no call shows.
    #[serde(default)]
    pub untimed: bool,
}

/// A mechanism that an option promised for a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The option as given: `-I`.
    pub option: String,
    /// What it should have made.
    pub mechanism: Mechanism,
}

/// Mechanisms that options promise and calls can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Files opened with `O_DIRECT`.
    DirectIo,
    /// Files opened with `O_SYNC`.
    SyncWrites,
    /// Files opened with `O_DSYNC`.
    DataSyncWrites,
    /// An fsync (or msync) inside the clock.
    SyncInsideClock,
    /// The close inside the clock.
    CloseInsideClock,
    /// The file is mapped and data moves through memory.
    MappedIo,
    /// msync with `MS_SYNC` for each record.
    SynchronousMsync,
    /// msync with `MS_ASYNC` for each record.
    AsynchronousMsync,
    /// This many requests in flight.
    QueueDepth(u32),
    /// The page cache is emptied before the pass.
    CachePurge,
    /// The processor's cache is emptied; the page cache is not.
    CpuCachePurge,
}

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Submission {
    /// One call at a time and task: each ends before the next begins.
    Synchronous,
    /// Several can be on their way for one task (libaio, io_uring, POSIX aio).
    Asynchronous,
    /// As above where the page cache is passed by, one at a time otherwise (libaio).
    AsynchronousIfDirect,
    /// Through memory: no calls.
    Mapped,
    /// No I/O is made at all (fio's null engine).
    Nothing,
    /// Not known.
    #[default]
    Unknown,
}

/// A pass that creates, looks up or deletes files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamePass {
    /// Which calls count.
    pub operation: NameOperation,
    /// How many of them the command asks for, over all tasks; `None` when not stated.
    pub requested: Option<u64>,
    /// Each task's part; empty when the pass was not found.
    pub spans: Vec<TaskSpan>,
}

/// What is done with names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameOperation {
    /// Opens with `O_CREAT`, and links.
    Create,
    /// stat and its kin.
    Stat,
    /// unlink.
    Delete,
}

impl NameOperation {
    /// Whether a call counts; of opens those that may create.
    pub fn is_done_by(self, op: Op) -> bool {
        match self {
            NameOperation::Create => matches!(op, Op::Open | Op::Link),
            NameOperation::Stat => op == Op::Stat,
            NameOperation::Delete => op == Op::Unlink,
        }
    }
}

/// The time in which the calls of a task count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpan {
    /// The process.
    pub tgid: u32,
    /// The threads whose calls count; empty means every thread of the process.
    pub tids: Vec<u32>,
    /// From here, in ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// To here, not before the start.
    pub end_ns: u64,
}

/// One task's part of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The process.
    pub tgid: u32,
    /// The threads whose calls count; empty means every thread of the process.
    pub tids: Vec<u32>,
    /// The descriptor whose calls count.
    pub fd: i32,
    /// The file.
    pub file: FileId,
    /// Entry of the first call inside the clock.
    pub start_ns: u64,
    /// Where the clock stopped.
    pub end: PartEnd,
    /// Until when this pass still moved data that the clock left out: the exit of its last
    /// data call (a stonewalled task goes on after its clock).
    pub last_data_ns: u64,
    /// The sync inside the clock, if the clock covers one.
    pub sync_inside: Option<CallSpan>,
    /// The first sync of the file after the clock had stopped and before the next pass
    /// over this file (for -c alone: none).
    pub sync_after: Option<CallSpan>,
    /// When the descriptor was closed.
    pub close_ns: Option<u64>,
}

/// Where a part's clock stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartEnd {
    /// At this time.
    At(u64),
    /// At the exit of the call with which this many bytes had been moved since `start_ns`.
    /// `activebench-facts` resolves it to `At`.
    AfterBytes(u64),
}

/// A span of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Start.
    pub start_ns: u64,
    /// End, not before the start.
    pub end_ns: u64,
}

impl Window {
    /// Its length.
    pub fn duration_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
    /// Whether a time lies inside, borders included.
    pub fn contains(self, at_ns: u64) -> bool {
        (self.start_ns..=self.end_ns).contains(&at_ns)
    }
}
