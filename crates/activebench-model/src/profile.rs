//! What the threads were doing: stacks as recorded, and what they add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::ThreadTimes;

/// The distinct stacks of a run: `stacks.json`.
///
/// Names in it are those of files and symbols that the tool brought with it: hostile text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Executables and libraries by path, `[kernel]`, `[vdso]`, and `[anonymous]` for code that
    /// belongs to no file.
    pub modules: Vec<String>,
    /// Distinct places in them.
    pub frames: Vec<Frame>,
    /// Places in `frames`, the innermost first; those of the kernel come before those of user mode.
    pub stacks: Vec<Vec<u32>>,
}

impl Stacks {
    /// A frame for people: the function, or the place, and the module.
    pub fn described(&self, frame: &Frame) -> String {
        let module = frame.module.and_then(|module| self.modules.get(module as usize));
        let place = match (&frame.symbol, frame.file_offset) {
            (Some(symbol), _) => symbol.clone(),
            (None, Some(offset)) => format!("+{offset:#x}"),
            (None, None) => "?".to_owned(),
        };
        format!("{place} {}", module.map_or("?", String::as_str))
    }
}

/// A place in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its place in the modules; `None` when the address lay in nothing that was mapped, as far as that is known.
    pub module: Option<u32>,
    /// Bytes from the start of the module's file; `None` in the kernel (whose addresses stay secret)
    /// and where there is no file.
    pub file_offset: Option<u64>,
    /// The function, demangled; `None` where no symbol covers the place.
    pub symbol: Option<String>,
}

/// The module of everything in the kernel.
pub const KERNEL_MODULE: &str = "[kernel]";

/// The profiles of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profiles {
    /// Of every task over its life.
    pub run: CpuProfile,
    /// Of the threads of each phase inside its window, by the phase's id.
    pub phases: BTreeMap<String, CpuProfile>,
}

/// Where a phase's (or the run's) threads spent their time, and in which functions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuProfile {
    /// One entry a thread, at most [`CpuProfile::MOST_THREADS`]: those with the most time on a CPU.
    pub threads: Vec<ThreadCpu>,
    /// Threads that are not listed; they count in everything else.
    #[serde(default)]
    pub unlisted_threads: u64,
    /// Where the threads' windows went, all added up; `None` when that is not known to within 1 %.
    pub shares: Option<TimeShares>,
    /// Samples taken while the threads were on a CPU inside the window.
    pub samples: u64,
    /// Of those: in user mode.
    pub user_samples: u64,
    /// Of those: without a stack, because there was no room for another distinct one.
    pub stackless_samples: u64,
    /// The functions in which most samples were taken (the innermost frame counts), at most
    /// [`CpuProfile::MOST_FUNCTIONS`], the hottest first.
    pub functions: Vec<HotFunction>,
    /// Why there are no samples or fewer than there should be; `None` when they are whole.
    pub short: Option<String>,
}

impl CpuProfile {
    /// How many threads are listed.
    pub const MOST_THREADS: usize = 256;
    /// How many functions are listed.
    pub const MOST_FUNCTIONS: usize = 10;
}

/// Shares of time, 0 to 1; user, kernel, blocked and preempted add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// On CPU in user mode.
    pub user_ratio: f64,
    /// On CPU in the kernel.
    pub kernel_ratio: f64,
    /// Off CPU and not runnable, I/O wait included.
    pub blocked_ratio: f64,
    /// In I/O wait.
    pub iowait_ratio: f64,
    /// Off CPU though runnable.
    pub preempted_ratio: f64,
}

/// The time of one thread inside a phase's window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCpu {
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name; the tool chooses it.
    pub comm: String,
    /// Length of its part of the window.
    pub window_ns: u64,
    /// Where that went.
    pub times: ThreadTimes,
    /// By how much each of `times` can be wrong at most: totals are known at moments, and between two
    /// of them they are interpolated to the window's ends.
    pub error_ns: u64,
}

/// A function with its share of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotFunction {
    /// The function; `None` for all places of the module that no symbol covers.
    pub symbol: Option<String>,
    /// Its module; `None` when the address lay in nothing known.
    pub module: Option<String>,
    /// Without a symbol: the place with the most samples, in bytes from the start of the module's file.
    pub file_offset: Option<u64>,
    /// Whether it runs in the kernel.
    pub in_kernel: bool,
    /// Samples in it.
    pub samples: u64,
    /// Their share of the profile's samples, 0 to 1.
    pub sample_ratio: f64,
}
