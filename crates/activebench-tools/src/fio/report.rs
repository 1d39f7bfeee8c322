//! What a report says of each job, whichever of fio's formats it is in.

use activebench_model::claim::SourceLine;

/// A number of the report.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// In bytes, bytes per second, operations per second, ns, counts or shares.
    pub(super) value: f64,
    /// Half a step of what is printed, in the same unit.
    pub(super) resolution: f64,
    /// As printed.
    pub(super) text: String,
    /// The unit as printed, or as the key says it.
    pub(super) unit: String,
    pub(super) source: SourceLine,
}

/// Which of a job's directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Read,
    Write,
    Trim,
    /// Reads and writes (and trims) as one: `unified_rw_reporting`.
    Mixed,
}

impl Way {
    /// All that a report may state.
    pub(super) const ALL: [Way; 4] = [Way::Read, Way::Write, Way::Trim, Way::Mixed];
    /// Those in which data moves, in the order of fio's lists.
    pub(super) const DIRECTIONS: [Way; 3] = [Way::Read, Way::Write, Way::Trim];

    /// As in the report and in the ids of phases.
    pub(super) fn word(self) -> &'static str {
        match self {
            Way::Read => "read",
            Way::Write => "write",
            Way::Trim => "trim",
            Way::Mixed => "mixed",
        }
    }
}

/// The percentiles that are claimed.
pub(super) const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];

/// Latencies of operations or syncs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Latencies {
    pub(super) mean: Option<Figure>,
    /// In the order of [`PERCENTILES`].
    pub(super) percentiles: [Option<Figure>; 4],
}

/// The figures of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Directed {
    pub(super) bandwidth: Option<Figure>,
    pub(super) rate: Option<Figure>,
    pub(super) bytes: Option<Figure>,
    pub(super) operations: Option<Figure>,
    pub(super) runtime_ms: Option<u64>,
    /// From handing over to completion: the mean of this is claimed.
    pub(super) total: Latencies,
    /// From after handing over to completion.
    pub(super) completion: Latencies,
}

impl Directed {
    /// Whether anything happened this way while the clock ran.
    pub(super) fn happened(&self) -> bool {
        self.is_counted() && self.runtime_ms != Some(0)
    }

    /// Whether something is counted, on a clock or without one: fio counts the writes that it leaves out with
    /// `verify_only`, and the chunks of cpuio.
    pub(super) fn is_counted(&self) -> bool {
        let positive = |figure: &Option<Figure>| figure.as_ref().is_some_and(|figure| figure.value > 0.0);
        positive(&self.bandwidth) || positive(&self.rate) || positive(&self.operations)
    }
}

/// One job, or one group that is reported together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// How many jobs it covers, where the report says so.
    pub(super) jobs: Option<u32>,
    /// The process, where the report says so.
    pub(super) pid: Option<u32>,
    pub(super) group: Option<u32>,
    /// The number of the job's error with its place; `None` for none.
    pub(super) error: Option<(i64, SourceLine)>,
    /// By [`Way`].
    pub(super) directed: [Directed; 4],
    pub(super) syncs: Option<Figure>,
    pub(super) sync_latencies: Latencies,
    /// Shares of one processor.
    pub(super) user: Option<Figure>,
    pub(super) system: Option<Figure>,
    /// The clock of the shares, over all jobs of the entry, in ms.
    pub(super) job_runtime_ms: Option<u64>,
    /// The options that fio's JSON states; `None` in a report that states none.
    pub(super) told: Option<Told>,
    /// What fio said of its first job before it started.
    pub(super) head: Option<Head>,
}

impl Entry {
    pub(super) fn of(&self, way: Way) -> &Directed {
        &self.directed[way as usize]
    }

    pub(super) fn of_mut(&mut self, way: Way) -> &mut Directed {
        &mut self.directed[way as usize]
    }
}

/// Options in the order in which fio set them, as its JSON states them: with values alone (3.33). Those of an entry of
/// several jobs are the last job's, its name is the first job's (stat.c, `__show_run_stats`, 3.33).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// Those of all jobs: of all `[global]` sections of the last job file together.
    pub(super) globals: Vec<(String, String)>,
    pub(super) own: Vec<(String, String)>,
}

impl Told {
    /// The last value of an option of the job's own.
    pub(super) fn own(&self, name: &str) -> Option<&str> {
        self.own.iter().rfind(|(stated, _)| stated == name).map(|(_, value)| value.as_str())
    }
}

/// What fio says of a job before it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) rw: Option<String>,
    pub(super) engine: Option<String>,
    pub(super) depth: Option<String>,
    /// The blocks of reads, writes and trims in bytes; `None` where they vary, or are printed with too few digits.
    pub(super) block_bytes: [Option<u64>; 3],
}

/// One report: the last one counts where it is repeated.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Report {
    pub(super) version: Option<String>,
    pub(super) entries: Vec<Entry>,
    /// Whether it came to its end.
    pub(super) complete: bool,
    /// The lines that name the jobs are not there, only those of figures: entries have no names.
    pub(super) headless: bool,
    /// What fio says of each job before it starts, by its name.
    pub(super) heads: Vec<(String, Head)>,
}

/// Half a step of a rate that was computed over a time in whole milliseconds, rounded up: the
/// true one lies at most one step above.
pub(super) fn rate_resolution(rate: f64, runtime_ms: u64) -> f64 {
    match runtime_ms {
        0 | 1 => rate,
        ms => rate / (ms - 1) as f64 / 2.0,
    }
}

/// fio's histogram divides each power of two into 64: a percentile is the middle of its bin.
pub(super) fn percentile_resolution(value: f64) -> f64 {
    value / 128.0
}
