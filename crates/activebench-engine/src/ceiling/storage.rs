//! The storage parts, measured with fio: direct I/O, which the counters below the target must confirm.

use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use activebench_model::ceiling::{Part, PartKind, Served};
use activebench_model::phase::Direction;
use activebench_model::units::Quantity;
use activebench_tools::engine_path;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::Value;

use super::counters::{Count, Counters};
use super::tested_storage::Place;
use super::{REPETITIONS, UnitOf, measured, repeat};
use crate::interruption::Stop;

/// Minimum share of the tool's bytes that the counters must show. Our own default: it leaves too little room for a
/// cache to hide in.
const SERVED_AT_LEAST: f64 = 0.98;
/// The same where the bytes that are missing fit the buffers of all repetitions: btrfs serves the first direct read
/// into a fresh buffer through the page cache. Our own default.
const SERVED_BESIDE_BUFFERS: f64 = 0.9;
/// Share of the tool's bytes above which others used the storage too. Our own default: it leaves room for the headers
/// of network packets.
const ALONE_AT_MOST: f64 = 1.1;
/// Bytes of others that are tolerated: metadata.
const METADATA: u64 = 1 << 20;
/// Interval between two checks whether fio has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// One part before it is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) kind: PartKind,
    pub(super) direction: Direction,
    pub(super) depth: u32,
}

/// Returns the storage parts to measure; writes only if `write` is set.
pub(super) fn wanted(write: bool) -> Vec<Wanted> {
    let both = [(PartKind::Random, 1), (PartKind::Random, 32), (PartKind::Sequential, 1), (PartKind::Sequential, 32)];
    let of = |direction: Direction| both.map(|(kind, depth)| Wanted { kind, direction, depth });
    let mut wanted = of(Direction::Read).to_vec();
    if write {
        wanted.extend(of(Direction::Write));
        wanted.push(Wanted { kind: PartKind::Durable, direction: Direction::Write, depth: 1 });
    }
    wanted
}

impl Wanted {
    fn request_bytes(self) -> u64 {
        if self.kind == PartKind::Sequential { 1 << 20 } else { 4096 }
    }

    fn engine(self) -> &'static str {
        if self.depth == 1 { "psync" } else { "libaio" }
    }

    fn mode(self) -> &'static str {
        match (self.kind, self.direction) {
            (PartKind::Random, Direction::Write) => "randwrite",
            (PartKind::Random, _) => "randread",
            (_, Direction::Write) => "write",
            _ => "read",
        }
    }

    /// Returns fio's arguments. The job is a thread, so that nothing of it outlives us.
    fn arguments(self, path: &Path, bytes: u64, seconds: u64) -> Vec<String> {
        let mut arguments: Vec<String> = ["--name=ceiling", "--output-format=json", "--thread", "--direct=1"]
            .iter()
            .chain(&["--time_based", "--randrepeat=0", "--norandommap", "--invalidate=0", "--allow_file_create=0"])
            .map(|word| (*word).to_owned())
            .collect();
        arguments.extend([
            format!("--filename={}", engine_path(path)),
            format!("--size={}", bytes - bytes % self.request_bytes()),
            format!("--rw={}", self.mode()),
            format!("--bs={}", self.request_bytes()),
            format!("--ioengine={}", self.engine()),
            format!("--iodepth={}", self.depth),
            format!("--runtime={seconds}s"),
        ]);
        let (rest, refilled) = match self.direction {
            // The cheapest way to a durable write: where the device can, one request with FUA.
            Direction::Write if self.kind == PartKind::Durable => ("--sync=dsync", true),
            Direction::Write => ("--end_fsync=1", true),
            _ => ("--readonly", false),
        };
        arguments.push(rest.to_owned());
        arguments.extend(refilled.then(|| "--refill_buffers".to_owned()));
        arguments
    }

    /// Returns the part without a value.
    pub(super) fn part(self) -> Part {
        let order = if self.kind == PartKind::Random { "at random places" } else { "ascending" };
        let durable = match (self.kind, self.direction) {
            (PartKind::Durable, _) => " and O_DSYNC",
            (_, Direction::Write) => ", an fsync at the end inside the clock",
            _ => "",
        };
        Part {
            kind: self.kind,
            direction: self.direction,
            request_bytes: Some(self.request_bytes()),
            depth: self.depth,
            threads: 1,
            region_bytes: None,
            value: None,
            missing: None,
            how: format!("fio {} with direct I/O {order}, {} deep{durable}", self.engine(), self.depth),
            repetitions: Vec::new(),
            spread_ratio: None,
            served: None,
        }
    }
}

/// Measures one part; returns it with a note for the user.
pub(super) fn measure(
    fio: &Path,
    wanted: Wanted,
    place: &Place,
    counters: &Counters,
    seconds: f64,
    stop: &Stop,
) -> (Part, Option<String>) {
    let base = Part { region_bytes: Some(place.bytes), ..wanted.part() };
    let missing = |why: String| (Part { missing: Some(why), ..base.clone() }, None);
    // fio gets whole seconds here, at least one.
    let each = (seconds / f64::from(REPETITIONS)).round().max(1.0) as u64;
    let mut served = Served { tool_bytes: 0, counted_bytes: 0, source: counters.source() };
    let in_bytes = wanted.kind == PartKind::Sequential;
    let unit: UnitOf = if in_bytes { Quantity::bytes_per_sec } else { Quantity::ops_per_sec };
    let once = || {
        let before = counters.read()?;
        let figures = run(fio, &wanted.arguments(&place.path(), place.bytes, each), wanted, stop)?;
        let after = counters.read()?;
        served.tool_bytes += figures.bytes;
        served.counted_bytes += moved(before, after, wanted.direction);
        Ok(if in_bytes { figures.bytes_per_sec } else { figures.iops })
    };
    let rates = match repeat(unit, once) {
        Ok(rates) => rates,
        Err(why) => return missing(why),
    };
    let share = served.counted_bytes as f64 / served.tool_bytes.max(1) as f64;
    let said = |served: &Served| {
        format!(
            "{} of {} that fio moved passed what is below ({})",
            Quantity::bytes(served.counted_bytes),
            Quantity::bytes(served.tool_bytes),
            served.source
        )
    };
    if !is_served(&served, rates.len() as u64 * u64::from(wanted.depth) * wanted.request_bytes()) {
        let why = format!("something before it answered: {}", said(&served));
        return (Part { missing: Some(why), served: Some(served), ..base }, None);
    }
    let others = share > ALONE_AT_MOST
        && served.counted_bytes - served.tool_bytes > METADATA
        && counters.count_once(wanted.direction);
    let note = others.then(|| {
        format!("{}: others used the storage meanwhile, so that it can be too low: {}", base.words(), said(&served))
    });
    (measured(Part { served: Some(served), ..base }, rates, unit), note)
}

/// Returns `true` if the storage served what the tool moved, so that no cache before it did.
fn is_served(served: &Served, buffers_bytes: u64) -> bool {
    let share = served.counted_bytes as f64 / served.tool_bytes.max(1) as f64;
    let missing = served.tool_bytes.saturating_sub(served.counted_bytes);
    let least = if missing <= buffers_bytes { SERVED_BESIDE_BUFFERS } else { SERVED_AT_LEAST };
    served.tool_bytes > 0 && share >= least
}

fn moved(before: Count, after: Count, direction: Direction) -> u64 {
    match direction {
        Direction::Write => after.written.saturating_sub(before.written),
        _ => after.read.saturating_sub(before.read),
    }
}

/// Figures that fio reports for one run.
#[derive(Debug, PartialEq)]
struct Figures {
    bytes: u64,
    iops: f64,
    bytes_per_sec: f64,
}

fn run(fio: &Path, arguments: &[String], wanted: Wanted, stop: &Stop) -> Result<Figures, String> {
    let told = |error: std::io::Error| format!("cannot run fio: {error}");
    let mut output = tempfile::tempfile().map_err(told)?;
    let mut errors = tempfile::tempfile().map_err(told)?;
    let mut command = Command::new(fio);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(told)?).stderr(errors.try_clone().map_err(told)?);
    // fio keeps its own files in its working directory; here it has none.
    command.current_dir("/");
    // SAFETY: one system call between fork and exec. fio ends with us, however we end.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    let mut child = command.spawn().map_err(told)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(told)? {
            break status;
        }
        if stop.is_set() {
            child.kill().map_err(told)?;
            child.wait().map_err(told)?;
            return Err("interrupted".to_owned());
        }
        std::thread::sleep(LOOK_EVERY);
    };
    let mut text = String::new();
    output.rewind().and_then(|()| output.read_to_string(&mut text)).map_err(told)?;
    if !status.success() {
        let mut why = String::new();
        errors.rewind().and_then(|()| errors.read_to_string(&mut why)).map_err(told)?;
        let why = why.lines().chain(text.lines()).find(|line| line.starts_with("fio:")).unwrap_or("").to_owned();
        return Err(format!("fio ended with {status}: {why}"));
    }
    figures(&text, wanted.direction)
}

/// fio prints warnings before its JSON.
fn figures(text: &str, direction: Direction) -> Result<Figures, String> {
    let json = text.find('{').map_or("", |begin| &text[begin..]);
    let report: Value = serde_json::from_str(json).map_err(|error| format!("cannot read fio's report: {error}"))?;
    let of = &report["jobs"][0][if direction == Direction::Write { "write" } else { "read" }];
    let number = |name: &str| of[name].as_f64().ok_or_else(|| format!("fio's report has no {name}"));
    Ok(Figures { bytes: number("io_bytes")? as u64, iops: number("iops")?, bytes_per_sec: number("bw_bytes")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_found_and_fresh_buffers_are_not_taken_for_one() {
        let is_served = |tool_bytes, counted_bytes, buffers_bytes| {
            is_served(&Served { tool_bytes, counted_bytes, source: String::new() }, buffers_bytes)
        };
        assert!(is_served(1000, 981, 0) && !is_served(1000, 979, 0) && !is_served(0, 0, 100));
        assert!(is_served(1000, 901, 100) && !is_served(1000, 901, 98) && !is_served(1000, 899, 1000));
    }

    #[test]
    fn fio_is_read_behind_its_warnings() {
        let text = "note: both iodepth >= 1 and synchronous I/O engine\n\
                    {\"jobs\": [{\"read\": {\"io_bytes\": 8192, \"iops\": 2.5, \"bw_bytes\": 10240}}]}";
        assert_eq!(figures(text, Direction::Read), Ok(Figures { bytes: 8192, iops: 2.5, bytes_per_sec: 10240.0 }));
        assert_eq!(figures(text, Direction::Write), Err("fio's report has no io_bytes".to_owned()));
        assert!(figures("", Direction::Read).is_err());
    }

    #[test]
    fn what_is_there_is_only_read() {
        for wanted in wanted(false) {
            let arguments = wanted.arguments(Path::new("/proc/1/fd/3"), (64 << 20) + 7, 1);
            assert!(arguments.iter().any(|word| word == "--readonly"), "{arguments:?}");
            assert!(arguments.iter().any(|word| word == "--size=67108864"), "{arguments:?}");
            assert!(!arguments.iter().any(|word| word.contains("write")), "{arguments:?}");
        }
    }

    #[test]
    fn each_write_is_made_durable_inside_the_clock() {
        let writes: Vec<Wanted> = wanted(true).into_iter().filter(|part| part.direction == Direction::Write).collect();
        let each: Vec<&Wanted> = writes.iter().filter(|part| part.kind == PartKind::Durable).collect();
        assert_eq!((writes.len(), each.len()), (5, 1));
        for wanted in &writes {
            let arguments = wanted.arguments(Path::new("/proc/1/fd/3"), 64 << 20, 1);
            let expected = if wanted.kind == PartKind::Durable { "--sync=dsync" } else { "--end_fsync=1" };
            assert!(arguments.iter().any(|word| word == expected), "{arguments:?}");
        }
        assert_eq!(each[0].part().words(), "4 KiB writes one at a time, each made durable");
    }
}
