//! The activity of threads: recorded stacks and their totals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::ThreadTimes;
use crate::library::CountedFunction;

/// The distinct stacks of a run: `stacks.json`.
///
/// Its names come from files and symbols of the tool: untrusted text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Executables and libraries by path, `[kernel]`, `[vdso]`, and `[anonymous]` for code that
    /// does not belong to a file.
    pub modules: Vec<String>,
    /// Distinct code locations in the modules.
    pub frames: Vec<Frame>,
    /// Indices in `frames`, the innermost first; kernel frames come before user-mode frames.
    pub stacks: Vec<Vec<u32>>,
}

impl Stacks {
    /// Describes a frame for people: the function or its offset, and the module.
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

/// A location in the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Index of its module; `None` when the address was not in any known mapping.
    pub module: Option<u32>,
    /// Bytes from the start of the module's file; `None` in the kernel (whose addresses stay secret)
    /// and where there is no file.
    pub file_offset: Option<u64>,
    /// The function, demangled; `None` where no symbol covers the location.
    pub symbol: Option<String>,
}

/// The module of everything in the kernel.
pub const KERNEL_MODULE: &str = "[kernel]";

/// The profiles of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profiles {
    /// Profile of every task over its life.
    pub run: CpuProfile,
    /// Profile of the threads of each phase inside its window, by the phase's id.
    pub phases: BTreeMap<String, CpuProfile>,
}

/// Where a phase's (or the run's) threads spent their time, and in which functions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuProfile {
    /// One entry per thread, at most [`CpuProfile::MOST_THREADS`]: those with the most CPU time.
    pub threads: Vec<ThreadCpu>,
    /// Number of threads that are not listed; they count in everything else.
    #[serde(default)]
    pub unlisted_threads: u64,
    /// Sum of how the threads spent their windows; `None` when the error is above 1 %.
    pub shares: Option<TimeShares>,
    /// Samples taken while the threads were on CPU inside the window.
    pub samples: u64,
    /// Part of `samples` in user mode.
    pub user_samples: u64,
    /// Part of `samples` without a stack, because there was no room for another distinct one.
    pub stackless_samples: u64,
    /// The functions in which most samples were taken (the innermost frame counts), at most
    /// [`CpuProfile::MOST_FUNCTIONS`], the hottest first.
    pub functions: Vec<HotFunction>,
    /// Why samples are missing; `None` when they are complete.
    pub short: Option<String>,
    /// The library functions that the threads called inside the window, the most called first; empty where they were not
    /// counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub library: Vec<CountedFunction>,
    /// Threads that worked beside these for the storage, inside the window, those with the most CPU time first; empty where
    /// they were not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serving: Vec<ServingCpu>,
}

/// CPU time of a daemon, or of threads of the kernel of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingCpu {
    /// Name of the process, of the thread, or of the work.
    pub name: String,
    /// The process of a daemon; `None` for the kernel.
    pub tgid: Option<u32>,
    /// CPU time inside the window.
    pub cpu_ns: u64,
}

impl ServingCpu {
    /// Largest number of listed ones.
    pub const MOST: usize = 16;
}

impl CpuProfile {
    /// Largest number of listed threads.
    pub const MOST_THREADS: usize = 256;
    /// Largest number of listed functions.
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
    /// How the thread spent that time.
    pub times: ThreadTimes,
    /// Largest possible error of each of `times`: totals are known only at certain moments, and are interpolated
    /// between them to the window's ends.
    pub error_ns: u64,
}

/// A function and its share of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotFunction {
    /// The function; `None` for all locations of the module that no symbol covers.
    pub symbol: Option<String>,
    /// Its module; `None` when the address was not in a known module.
    pub module: Option<String>,
    /// Without a symbol: the location with the most samples, in bytes from the start of the module's file.
    pub file_offset: Option<u64>,
    /// True if it runs in the kernel.
    pub in_kernel: bool,
    /// Samples in it.
    pub samples: u64,
    /// Their share of the profile's samples, 0 to 1.
    pub sample_ratio: f64,
}
