//! The settings of a run: from its summary if present, otherwise from the options.

use activebench_model::phase::Direction;

use super::options::Options;

/// Orion's own defaults: `-size_small`, `-size_large` in KB, `-duration` in seconds, `-num_streamIO`.
const SMALL_KB: u64 = 8;
const LARGE_KB: u64 = 1024;
const DURATION_S: u64 = 60;
const REQUESTS_PER_STREAM: u32 = 4;

/// Lines of the summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stated {
    pub(super) small_kb: Option<u64>,
    pub(super) large_kb: Option<u64>,
    pub(super) duration_s: Option<u64>,
    pub(super) write_percent: Option<u64>,
    /// True if large requests are sequential.
    pub(super) sequential: Option<bool>,
    /// True if a latency of writes is stated anywhere.
    pub(super) writes: bool,
    /// True if a latency of reads is stated anywhere.
    pub(super) reads: bool,
    /// Volumes that the summary names, or the `.lun` file.
    pub(super) volumes: Vec<String>,
    /// The echoed command line.
    pub(super) command_line: Option<String>,
}

/// The work of a data point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) options: Options,
    pub(super) small_bytes: u64,
    pub(super) large_bytes: u64,
    /// Duration of one data point.
    pub(super) duration_ns: u64,
    pub(super) direction: Direction,
    /// Percent of the requests that write, if stated.
    pub(super) write_percent: Option<u64>,
    pub(super) sequential: bool,
    /// Outstanding requests of one sequential stream.
    pub(super) requests_per_stream: u32,
    /// Bytes that are read before each sequential data point; `None` if it reads for two minutes instead.
    pub(super) cache_bytes: Option<u64>,
    /// Number of disks; `None` if neither the option nor the volumes determine it.
    pub(super) disks: Option<u32>,
}

impl Settings {
    pub(super) fn new(options: &Options, stated: &Stated) -> Self {
        let echoed = stated.command_line.as_deref().map(|line| Options::parse(line.split_whitespace()));
        let options = match echoed {
            Some(echoed) if options.is_empty() => echoed,
            _ => options.clone(),
        };
        let kilobytes = |stated: Option<u64>, option: &str, default: u64| {
            let kilobytes = stated.or_else(|| options.number(option)).filter(|kilobytes| *kilobytes > 0);
            kilobytes.unwrap_or(default).saturating_mul(1024)
        };
        let duration_s = stated.duration_s.or_else(|| options.number("duration")).filter(|seconds| *seconds > 0);
        let write_percent = stated.write_percent.or_else(|| options.number("write"));
        let direction = match (write_percent, stated.reads, stated.writes) {
            (Some(100..), ..) => Direction::Write,
            (Some(1..), ..) | (None, true, true) => Direction::Mixed,
            (None, false, true) => Direction::Write,
            (Some(0), ..) | (None, _, false) => Direction::Read,
        };
        let megabytes = options.number::<u64>("cache_size");
        let volumes = u32::try_from(stated.volumes.len()).ok().filter(|count| *count > 0);
        Self {
            small_bytes: kilobytes(stated.small_kb, "size_small", SMALL_KB),
            large_bytes: kilobytes(stated.large_kb, "size_large", LARGE_KB),
            duration_ns: duration_s.unwrap_or(DURATION_S).saturating_mul(1_000_000_000),
            direction,
            write_percent,
            sequential: stated.sequential.unwrap_or_else(|| options.value("type") == Some("seq")),
            requests_per_stream: options.number("num_streamIO").filter(|n| *n > 0).unwrap_or(REQUESTS_PER_STREAM),
            cache_bytes: megabytes.map(|megabytes| megabytes.saturating_mul(1 << 20)),
            disks: options.number("num_disks").filter(|disks| *disks > 0).or(volumes),
            options,
        }
    }
}
