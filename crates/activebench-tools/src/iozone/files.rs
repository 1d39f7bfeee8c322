//! iozone's files in the observed calls, the passes over them, and the syncs that cover
//! them.

use activebench_model::activity::{Activity, CallSpan, Pass};

use super::options::Options;
use super::window::moves_data;
use crate::syncs::{self, Syncs, last_component};

/// iozone's file if neither `-f` nor `-F` names one.
const DEFAULT_FILE: &str = "iozone.tmp";

/// The calls on iozone's files.
pub(super) struct Observed<'a> {
    /// All calls.
    pub(super) activity: &'a Activity,
    /// Every pass on a file with a name of the target, ordered by time.
    passes: Vec<&'a Pass>,
    syncs: Syncs<'a>,
}

impl<'a> Observed<'a> {
    /// Finds the files by their names.
    pub(super) fn new(options: &Options, activity: &'a Activity) -> Self {
        let names = TargetNames::new(options);
        // iozone's report may reuse the inode of a deleted file.
        let mut passes = activity.passes_named(|name| names.matches(name));
        passes.sort_by_key(|pass| started_ns(pass));
        let syncs = Syncs::new(activity, passes.iter().copied(), syncs::moves_data, last_component);
        Observed { activity, passes, syncs }
    }

    /// Returns the passes that move data, ordered by time.
    pub(super) fn data_passes(&self) -> Vec<&'a Pass> {
        self.passes.iter().copied().filter(|pass| moves_data(pass)).collect()
    }

    /// Returns the reason why nothing was observed.
    pub(super) fn nothing(&self) -> &'static str {
        if self.activity.passes.is_empty() {
            "no calls were observed"
        } else if self.passes.is_empty() {
            "no open of the tool's file was observed"
        } else {
            "this pass was not found in the observed calls"
        }
    }

    /// See [`Syncs::after`].
    pub(super) fn sync_after(&self, pass: &Pass, after_ns: u64) -> Option<CallSpan> {
        self.syncs.after(pass.file, after_ns, Some(pass))
    }
}

/// The names under which iozone opens its files.
enum TargetNames {
    /// Exactly these names, by their last component.
    Exact(Vec<String>),
    /// `iozone.DUMMY.N`.
    Numbered,
}

impl TargetNames {
    fn new(options: &Options) -> Self {
        if !options.files.is_empty() {
            TargetNames::Exact(options.files.iter().map(|name| last_component(name).to_owned()).collect())
        } else if options.is_throughput() {
            TargetNames::Numbered
        } else {
            let name = options.file.as_deref().unwrap_or(DEFAULT_FILE);
            TargetNames::Exact(vec![last_component(name).to_owned()])
        }
    }

    fn matches(&self, name: &str) -> bool {
        let name = last_component(name);
        match self {
            TargetNames::Exact(names) => names.iter().any(|target| target == name),
            TargetNames::Numbered => child_number(name).is_some(),
        }
    }
}

/// Returns N of `iozone.DUMMY.N`.
fn child_number(name: &str) -> Option<usize> {
    last_component(name).strip_prefix("iozone.DUMMY.")?.parse().ok()
}

pub(super) fn started_ns(pass: &Pass) -> u64 {
    let first_step = pass.steps.iter().map(|step| step.start_ns).min();
    pass.open.map(|open| open.start_ns).into_iter().chain(first_step).min().unwrap_or(u64::MAX)
}

pub(super) fn ended_ns(pass: &Pass) -> u64 {
    let last_step = pass.steps.iter().map(|step| step.last_end_ns).max();
    pass.close.map(|close| close.end_ns).into_iter().chain(last_step).max().unwrap_or(0)
}
