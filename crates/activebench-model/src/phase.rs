//! One pass of a tool, and the window that the tool's own clock covered.

use serde::{Deserialize, Serialize};

use crate::activity::CallSpan;
use crate::call::{FileId, Op};
pub use crate::direction::Direction;
use crate::fact::{FactName, Facts};

/// One pass of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Unique in the run, and the same in all runs of one command: `write`, `write-1048576k-4k`.
    pub id: String,
    /// The tool's own word for the pass, for a person: `rewrite`.
    pub name: String,
    /// Direction of the data.
    pub direction: Direction,
    /// Order of offsets by design.
    pub pattern: Pattern,
    /// Bytes of one operation as requested from the tool; `None` when it varies.
    pub block_bytes: Option<u64>,
    /// Bytes that a call must request to belong to this pass; `None` when every call on its
    /// descriptors does. A pass with requests of two sizes at once is two phases with the same parts.
    /// Device activity cannot be separated in this way.
    #[serde(default)]
    pub call_bytes: Option<u64>,
    /// The calls that make one operation of `block_bytes` by design.
    #[serde(default, skip_serializing_if = "Division::is_one_call")]
    pub division: Division,
    /// Bytes to be moved according to the command, over all tasks; `None` when not stated.
    pub requested_bytes: Option<u64>,
    /// Bytes that the command names as the size of the pass without promising that all of them move this way. A time
    /// limit can end the pass earlier, and both directions of a mix share them. `None` where `requested_bytes` has the
    /// size.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Bytes of the region that it covers, all files together; `None` when not stated. Fewer than the requested
    /// bytes where the pass covers the region more than once by design.
    #[serde(default)]
    pub region_bytes: Option<u64>,
    /// Number of times that the command makes it cover the same offsets: loops, and tasks that share a
    /// file in the same order. At least 1.
    #[serde(default = "once")]
    pub loops: u32,
    /// Number of times that each loop begins anew in the same files, until it has moved the bytes that the command asks
    /// for. Each time it visits the same blocks in the same order. At least 1.
    #[serde(default = "once")]
    pub turns: u32,
    /// Number of tasks that the command requests.
    pub requested_tasks: u32,
    /// Span that the tool's clock covers, in words: `first write to last write`.
    pub clock: String,
    /// The time by which the tool divides the work of all tasks.
    #[serde(default)]
    pub rate_clock: RateClock,
    /// How it submits requests to the kernel, according to the command.
    #[serde(default)]
    pub submission: Submission,
    /// Time that the tool takes out of its clock, measured from its calls: hdparm's `-T` subtracts the cost of its own
    /// calls. Rates are divided by the window without it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded_ns: u64,
    /// Longest work of the tool before its clock that the window may contain, because no call lies between it and the
    /// pass: iozone fills its record, then starts its clock, then writes through a mapping. 0 where a call shows when
    /// the clock began, `u64::MAX` where nothing bounds that work.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untimed_start_ns: u64,
    /// Mechanisms that the command promised for this pass.
    pub promises: Vec<Promise>,
    /// The mix of reads and writes that the command promises; `None` without such a promise. Where a tool prints
    /// separate figures for each direction, the phases of both directions have the mix, with the same parts.
    #[serde(default)]
    pub mix: Option<Mix>,
    /// Options by which the command slows the tool down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_limits: Vec<OwnLimit>,
    /// Longest time that the command lets it run; `None` when it ends by its amount of work.
    #[serde(default)]
    pub time_limit_ns: Option<u64>,
    /// The part of each task; empty when the pass was not found in the observed calls, and for a
    /// pass over names.
    pub parts: Vec<Part>,
    /// The calls on names, for a pass that does not move data; `None` for a pass that does.
    #[serde(default)]
    pub names: Option<NamePass>,
    /// Union of the parts' windows; `None` when there are no parts or they are not resolved yet.
    pub window: Option<Window>,
    /// True if the pass's reads should come from storage, because the tool purged the cache
    /// before (iozone -U) or the command says so.
    pub cold_by_design: bool,
    /// True if the tool's clock begins after a ramp, with the first operation that ends after it. The clock then begins
    /// up to one operation later than the window.
    #[serde(default)]
    pub after_ramp: bool,
    /// The option by which the command requests checking of the data inside the clock.
    pub verifies: Option<String>,
    /// Why the pass may have options of the command that were not read; `None` when all were read. Then anything that
    /// the command does not state is unknown, and no default is assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
    /// Who makes the I/O of this pass instead of the observed processes: `the fio server at 192.0.2.1`. `None` where the
    /// observed processes make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// Why the pass is not what the command promises (not found, killed, cut short).
    pub incomplete: Option<String>,
    /// Offsets in its file of the first calls of each task of a random pass, in their order. At most
    /// [`Phase::MOST_FIRST_OFFSETS`] together, equally many per task. Empty for other passes, and where calls were
    /// lost. Filled by `activebench-facts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_offsets: Vec<Vec<u64>>,
    /// Facts of the phase. Filled by `activebench-facts`.
    #[serde(default)]
    pub facts: Facts,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

fn once() -> u32 {
    1
}

/// The calls that make one operation of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Division {
    /// An operation is one call.
    #[default]
    OneCall,
    /// The tool divides an operation into several calls of the same size. The last one may be smaller.
    Calls {
        /// Bytes of each call, above 0.
        bytes: u64,
    },
    /// The tool divides an operation into calls of sizes that nothing states.
    Unstated,
}

impl Division {
    /// Returns the division into calls of this size; `None` stands for one call.
    pub fn into_calls_of(bytes: Option<u64>) -> Self {
        bytes.map_or(Division::OneCall, |bytes| Division::Calls { bytes })
    }

    fn is_one_call(&self) -> bool {
        *self == Division::OneCall
    }
}

impl Phase {
    /// Largest number of first offsets that are kept per phase.
    pub const MOST_FIRST_OFFSETS: usize = 1024;

    /// Returns the bytes that others moved at the device during the window / all bytes that it moved, 0 to 1. `None`
    /// where this is not completely known, or nothing was moved.
    pub fn foreign_io_ratio(&self) -> Option<f64> {
        let fact = |name| self.facts.complete(name).ok();
        let (foreign, total) = (fact(FactName::ForeignBytes)?, fact(FactName::DeviceTotalBytes)?);
        (total > 0.0).then_some(foreign / total)
    }

    /// Returns the number of operations that the command keeps in flight for each task, and the option that sets it;
    /// `None` where no option does.
    pub fn promised_depth(&self) -> Option<(u32, &str)> {
        self.promises.iter().find_map(|promise| match promise.mechanism {
            Mechanism::QueueDepth(depth) => Some((depth, promise.option.as_str())),
            _ => None,
        })
    }

    /// Returns the bytes of most calls as the command states them; `None` when it states none.
    pub fn stated_call_bytes(&self) -> Option<u64> {
        match self.division {
            Division::OneCall => self.block_bytes,
            Division::Calls { bytes } => Some(bytes),
            Division::Unstated => None,
        }
    }

    /// Creates a pass as a command requests it: nothing promised, nothing observed.
    pub fn planned(id: impl Into<String>, name: impl Into<String>, direction: Direction) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            direction,
            pattern: Pattern::Unknown,
            block_bytes: None,
            call_bytes: None,
            division: Division::OneCall,
            requested_bytes: None,
            size_bytes: None,
            region_bytes: None,
            loops: once(),
            turns: once(),
            requested_tasks: 1,
            clock: String::new(),
            rate_clock: RateClock::default(),
            submission: Submission::Unknown,
            excluded_ns: 0,
            untimed_start_ns: 0,
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

    /// Returns `true` when the pass was found in the observed calls.
    pub fn is_found(&self) -> bool {
        !self.parts.is_empty() || self.names.as_ref().is_some_and(|names| !names.spans.is_empty())
    }

    /// Returns the time until which the event log must reach for every figure of the phase to be complete: the close
    /// of its descriptors and the sync that made its writes durable. The end of time where
    /// either was not seen, because it may come late.
    pub fn needs_log_until_ns(&self) -> u64 {
        let until = |part: &Part| {
            let close_ns = part.close_ns.unwrap_or(u64::MAX);
            let synced_ns = match self.direction {
                Direction::Write | Direction::Mixed => {
                    part.sync_after.as_ref().or(part.sync_inside.as_ref()).map_or(u64::MAX, |sync| sync.end_ns)
                }
                Direction::Read | Direction::Discard | Direction::None => 0,
            };
            close_ns.max(synced_ns).max(part.last_data_ns)
        };
        let window_ns = self.window.map_or(0, |window| window.end_ns);
        self.parts.iter().map(until).max().map_or(u64::MAX, |until_ns| until_ns.max(window_ns))
    }
}

/// The order of offsets of a pass by design.
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
    /// One block repeatedly.
    SingleBlock,
    /// With a stride; blocks may repeat.
    Strided,
    /// Unknown.
    Unknown,
}

/// The mix of reads and writes that an option promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// The option as given, or the one that implies it: `rwmixread=70`.
    pub option: String,
    /// The share of reads, from 0 to 1.
    pub read_ratio: f64,
    /// Base of the share.
    pub of: MixOf,
    /// The phase of the other direction, by its id, where the tool prints separate figures for each direction. A task
    /// may have moved data in only one of them, so that the two phases share no part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_phase: Option<String>,
}

/// The time by which a tool divides the work of the tasks of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateClock {
    /// From the first start of the tasks' clocks to the last end.
    #[default]
    FirstToLast,
    /// The time of the longest task; shorter than `FirstToLast` where the tasks began one after the other.
    LongestTask,
}

/// The base of a promised share of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixOf {
    /// Operations: each is a read with this probability.
    Operations,
    /// Tasks: each only reads or only writes.
    Tasks,
}

/// An option that makes the tool do less than it could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnLimit {
    /// The option as given: `rate=10m`.
    pub option: String,
    /// True if it waits by computing, not by sleeping.
    pub computes: bool,
    /// True if the tool subtracts these waits from its clock, by an amount that no call shows.
    #[serde(default)]
    pub untimed: bool,
}

/// A mechanism that an option promised for a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The option as given: `-I`.
    pub option: String,
    /// The mechanism that it should cause.
    pub mechanism: Mechanism,
}

/// Mechanisms that options promise and that calls can prove.
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
    /// A sync inside the clock after each this many writes, at least 1.
    SyncEachWrites(u32),
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
    /// The CPU's cache is emptied; the page cache is not.
    CpuCachePurge,
    /// Written data of which compression saves this percentage, 1 to 100.
    CompressibleData(u32),
    /// Written data of which this percentage repeats other data, 1 to 100.
    DuplicateData(u32),
    /// Each write has random data of its own.
    FreshData,
}

impl Mechanism {
    /// Returns `true` for a sync inside the clock, once or after each few writes.
    pub fn syncs_inside_clock(self) -> bool {
        matches!(self, Self::SyncInsideClock | Self::SyncEachWrites(_))
    }
}

/// How a tool submits requests to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Submission {
    /// One call per task at a time: each ends before the next begins.
    Synchronous,
    /// One task can have several requests in flight (libaio, io_uring, POSIX aio).
    Asynchronous,
    /// Asynchronous with direct I/O, otherwise one request at a time (libaio).
    AsynchronousIfDirect,
    /// Through mapped memory, without calls.
    Mapped,
    /// No I/O at all (fio's null engine).
    Nothing,
    /// Unknown.
    #[default]
    Unknown,
}

/// A pass that creates, looks up or deletes files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamePass {
    /// The calls that count.
    pub operation: NameOperation,
    /// Number of such calls that the command requests, over all tasks; `None` when not stated.
    pub requested: Option<u64>,
    /// Each task's part; empty when the pass was not found.
    pub spans: Vec<TaskSpan>,
}

/// An operation on names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameOperation {
    /// Opens with `O_CREAT`, and links.
    Create,
    /// stat and its variants.
    Stat,
    /// unlink.
    Delete,
}

impl NameOperation {
    /// Returns `true` when a call counts; of opens only those that may create count.
    pub fn is_done_by(self, op: Op) -> bool {
        match self {
            NameOperation::Create => matches!(op, Op::Open | Op::Link),
            NameOperation::Stat => op == Op::Stat,
            NameOperation::Delete => op == Op::Unlink,
        }
    }
}

/// The time span in which the calls of a task count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSpan {
    /// The process.
    pub tgid: u32,
    /// The threads whose calls count; empty means every thread of the process.
    pub tids: Vec<u32>,
    /// Start, in ns of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// End, not before the start.
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
    /// Exit of the pass's last data call, which the clock may leave out (a stonewalled task continues
    /// after its clock stopped).
    pub last_data_ns: u64,
    /// The sync inside the clock, if the clock covers one. Boxed like the next one: there may be a million parts, and
    /// most have neither.
    pub sync_inside: Option<Box<CallSpan>>,
    /// The first sync of the file after the clock stopped and before the next pass
    /// over this file (for -c alone: none).
    pub sync_after: Option<Box<CallSpan>>,
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
    /// Returns its length.
    pub fn duration_ns(self) -> u64 {
        self.end_ns - self.start_ns
    }
    /// Returns `true` when a time is inside, borders included.
    pub fn contains(self, at_ns: u64) -> bool {
        (self.start_ns..=self.end_ns).contains(&at_ns)
    }
}
