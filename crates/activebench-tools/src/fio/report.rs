//! A report's figures for each job, in any of fio's formats.

use activebench_model::claim::SourceLine;

/// A number of the report.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    /// In bytes, bytes per second, operations per second, ns, counts or shares.
    pub(super) value: f64,
    /// Half a step of the printed figure, in the same unit.
    pub(super) resolution: f64,
    /// As printed.
    pub(super) text: String,
    /// The unit as printed, or as the key states it.
    pub(super) unit: String,
    pub(super) source: SourceLine,
}

/// A direction of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Read,
    Write,
    Trim,
    /// Reads and writes (and trims) combined: `unified_rw_reporting`.
    Mixed,
}

impl Way {
    /// All directions that a report may state.
    pub(super) const ALL: [Way; 4] = [Way::Read, Way::Write, Way::Trim, Way::Mixed];
    /// The directions in which data moves, in the order of fio's lists.
    pub(super) const DIRECTIONS: [Way; 3] = [Way::Read, Way::Write, Way::Trim];

    /// Returns the word used in the report and in the ids of phases.
    pub(super) fn word(self) -> &'static str {
        match self {
            Way::Read => "read",
            Way::Write => "write",
            Way::Trim => "trim",
            Way::Mixed => "mixed",
        }
    }
}

/// The claimed percentiles.
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
    /// The same bandwidth in another unit: fio's JSON has `bw_bytes` and `bw`.
    pub(super) bandwidth_again: Option<Figure>,
    pub(super) rate: Option<Figure>,
    pub(super) bytes: Option<Figure>,
    pub(super) operations: Option<Figure>,
    pub(super) runtime_ms: Option<u64>,
    /// From submission to completion: the mean of this is claimed.
    pub(super) total: Latencies,
    /// From the end of submission to completion.
    pub(super) completion: Latencies,
}

impl Directed {
    /// Returns true if anything happened in this direction while the clock ran.
    pub(super) fn happened(&self) -> bool {
        self.is_counted() && self.runtime_ms != Some(0)
    }

    /// Returns true if anything is counted, on a clock or without one: with `verify_only` fio counts the writes that it
    /// omits, and for cpuio the chunks.
    pub(super) fn is_counted(&self) -> bool {
        let positive = |figure: &Option<Figure>| figure.as_ref().is_some_and(|figure| figure.value > 0.0);
        positive(&self.bandwidth) || positive(&self.rate) || positive(&self.operations)
    }
}

/// One job, or one group that is reported as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// True for a terse line. It prints one list of percentiles and does not say of which latency.
    pub(super) is_terse: bool,
    /// Number of jobs that it covers, if the report states it.
    pub(super) jobs: Option<u32>,
    /// The process, if the report states it.
    pub(super) pid: Option<u32>,
    pub(super) group: Option<u32>,
    /// The number of the job's error, with its source line; `None` without an error.
    pub(super) error: Option<(i64, SourceLine)>,
    /// Figures by [`Way`].
    pub(super) directed: [Directed; 4],
    pub(super) syncs: Option<Figure>,
    pub(super) sync_latencies: Latencies,
    /// Shares of one CPU.
    pub(super) user: Option<Figure>,
    pub(super) system: Option<Figure>,
    /// Clock of the shares in ms, over all jobs of the entry.
    pub(super) job_runtime_ms: Option<u64>,
    /// The options stated in fio's JSON; `None` in a report without options.
    pub(super) told: Option<Told>,
    /// fio's description of its first job, printed before it started.
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

/// Options in the order in which fio set them, as its JSON states them: only those with values (3.33). For an entry of
/// several jobs they are the last job's, while its name is the first job's (stat.c, `__show_run_stats`, 3.33).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// Options of all jobs: of all `[global]` sections of the last job file together.
    pub(super) globals: Vec<(String, String)>,
    pub(super) own: Vec<(String, String)>,
}

impl Told {
    /// Returns the last value of one of the job's own options.
    pub(super) fn own(&self, name: &str) -> Option<&str> {
        self.own.iter().rfind(|(stated, _)| stated == name).map(|(_, value)| value.as_str())
    }
}

/// fio's description of a job, printed before it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) rw: Option<String>,
    pub(super) engine: Option<String>,
    pub(super) depth: Option<String>,
    /// Block sizes of reads, writes and trims in bytes; `None` if they vary, or are printed with too few digits.
    pub(super) block_bytes: [Option<u64>; 3],
}

/// One report; if the output repeats it, the last one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Report {
    pub(super) version: Option<String>,
    pub(super) entries: Vec<Entry>,
    /// True if the report is complete.
    pub(super) complete: bool,
    /// True if the lines that name the jobs are missing and only figures are present: entries have no names.
    pub(super) headless: bool,
    /// fio's description of each job, printed before it starts, by job name.
    pub(super) heads: Vec<(String, Head)>,
    /// The summaries of the groups of jobs.
    pub(super) groups: Vec<Entry>,
    /// Figures in known places that are not numbers fio can mean.
    pub(super) unread: Vec<Unread>,
    /// The first line of figures whose job is not known, because its own line is missing or cut.
    pub(super) orphans: Option<SourceLine>,
}

/// Text in the place of a figure that is not a number that the figure can have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unread {
    pub(super) text: String,
    /// The unit of the figure, as the key states it.
    pub(super) unit: String,
    pub(super) source: SourceLine,
}

/// Returns half a step of a rate computed over a time in whole milliseconds, rounded up: the true rate is at most one
/// step above.
pub(super) fn rate_resolution(rate: f64, runtime_ms: u64) -> f64 {
    match runtime_ms {
        0 | 1 => rate,
        ms => rate / (ms - 1) as f64 / 2.0,
    }
}

/// Returns half a bin of fio's histogram, which divides each power of two into 64 bins; a percentile is its bin's
/// middle.
pub(super) fn percentile_resolution(value: f64) -> f64 {
    value / 128.0
}
