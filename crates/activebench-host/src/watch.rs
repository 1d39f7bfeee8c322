//! Counters and levels of the host, read repeatedly while a benchmark runs.
//!
//! A reading takes a few files of `/proc` and, less often, of `/sys`. Values that a disk has to answer (temperatures)
//! are read only before and after the run, so that the observer does not disturb the device.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use activebench_model::readings::{Readings, Series, Unread, Watched};

use crate::cgroup::pressure_file;
use crate::hardware::temperature_alarms;
use crate::interfaces::{EXPECTED, INTERFACES, interfaces};
use crate::mounts::Mounts;
use crate::reader::{ReadError, Reader};
use crate::roots::{Process, Roots};
use crate::stack::is_network;

/// Maximum number of readings kept per series; above it every second one is dropped.
const MOST_KEPT: usize = 512;
/// Number of quick readings per reading of the values that are in many small files.
const SLOW_EVERY: u32 = 10;
/// Two clocks are never read at the same moment: differences below this are not changes.
const LEAST_CLOCK_CHANGE_NS: u64 = 1_000_000;
/// Maximum number of frequencies and of throttle counters per reading: a machine may have hundreds of CPUs.
const MOST_FILES: usize = 64;

const MEMORY: &str = "/proc/meminfo";
const VIRTUAL_MEMORY: &str = "/proc/vmstat";
const PRESSURE: &str = "/proc/pressure/memory";
const CPU_PRESSURE: &str = "/proc/pressure/cpu";
const MOUNT_STATS: &str = "/proc/self/mountstats";
const WALL_CLOCK: &str = "clock_gettime: CLOCK_REALTIME less CLOCK_MONOTONIC";
const BOOT_CLOCK: &str = "clock_gettime: CLOCK_BOOTTIME less CLOCK_MONOTONIC";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// The readings of one run.
#[derive(Debug)]
pub struct HostWatch {
    reader: Reader,
    kept: BTreeMap<(Watched, String), Kept>,
    unread: BTreeMap<Watched, Unread>,
    pressure_of_group: Option<PathBuf>,
    frequencies: Vec<PathBuf>,
    throttles: Vec<PathBuf>,
    has_network_mounts: bool,
    readings: u32,
}

/// The kept readings of one series.
#[derive(Debug)]
struct Kept {
    source: String,
    readings: Vec<(u64, u64)>,
    /// The last reading, if its value equals the last one kept.
    last: Option<(u64, u64)>,
}

impl Kept {
    fn add(&mut self, at_ns: u64, value: u64) {
        if self.readings.last().is_some_and(|(_, kept)| *kept == value) {
            self.last = Some((at_ns, value));
            return;
        }
        // The change happened between these two.
        self.readings.extend(self.last.take());
        self.readings.push((at_ns, value));
        if self.readings.len() > MOST_KEPT {
            let end = self.readings.len() - 1;
            let mut index = 0;
            self.readings.retain(|_| {
                index += 1;
                (index - 1) % 2 == 0 || index - 1 == end
            });
        }
    }
}

impl HostWatch {
    /// Searches for the files that this host has. The control group is that of the process.
    pub fn new(roots: &Roots, process: Process) -> Self {
        let mut watch = Self {
            reader: Reader::new(roots, Process::Own),
            kept: BTreeMap::new(),
            unread: BTreeMap::new(),
            pressure_of_group: None,
            frequencies: Vec::new(),
            throttles: Vec::new(),
            has_network_mounts: false,
            readings: 0,
        };
        let of_process = Reader::new(roots, process);
        let mounts = watch.reader.bytes(Path::new("/proc/self/mountinfo"));
        let (mounts, _) = Mounts::parse(mounts.as_deref().unwrap_or_default());
        watch.pressure_of_group = pressure_file(&of_process, &mounts).filter(|file| watch.reader.text(file).is_ok());
        watch.has_network_mounts = mounts.0.iter().any(|mount| is_network(&mount.fs_type));
        if !watch.has_network_mounts {
            for what in [Watched::NetworkReceived, Watched::ServerReadBytes] {
                let why = "no network file system was mounted when the run began".to_owned();
                watch.unread.insert(what, Unread { what, why, is_absent: false });
            }
        }
        watch.frequencies = watch.files(Watched::Frequency, POLICIES, "policy", &["scaling_cur_freq"]);
        let counters = ["thermal_throttle/core_throttle_count", "thermal_throttle/package_throttle_count"];
        watch.throttles = watch.files(Watched::ThermalThrottles, PROCESSORS, "cpu", &counters);
        watch
    }

    /// Returns the files of these names in the numbered folders of one place.
    fn files(&mut self, what: Watched, place: &str, prefix: &str, names: &[&str]) -> Vec<PathBuf> {
        let numbered = |name: &std::ffi::OsStr| {
            let number = name.to_str().and_then(|name| name.strip_prefix(prefix));
            number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let folders = match self.reader.names(Path::new(place)) {
            Ok(folders) => folders,
            Err(error) => {
                self.short_of(what, &error);
                return Vec::new();
            }
        };
        let folders = folders.iter().filter(|name| numbered(name)).map(|name| Path::new(place).join(name));
        let files = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        let found: Vec<PathBuf> =
            files.filter(|file| self.reader.exists(file).unwrap_or(false)).take(MOST_FILES).collect();
        if found.is_empty() {
            let why = format!("{place} has no {}", names[0]);
            self.unread.insert(what, Unread { what, why, is_absent: true });
        }
        found
    }

    /// Reads the quick values, and occasionally the rest. `at_ns` is the time of the reading.
    pub fn read(&mut self, at_ns: u64) {
        self.read_memory(at_ns);
        if self.has_network_mounts {
            self.read_network(at_ns);
        }
        if self.readings.is_multiple_of(SLOW_EVERY) {
            self.read_processors(at_ns);
        }
        self.readings = self.readings.wrapping_add(1);
    }

    /// Reads everything: just before the tool is released, and after its end.
    pub fn read_all(&mut self, at_ns: u64) {
        self.readings = 0;
        self.read(at_ns);
        for (disk, source, alarm) in temperature_alarms(&self.reader) {
            self.keep(Watched::HotDisks, &disk, &source, at_ns, Ok(u64::from(alarm)));
        }
    }

    /// Adds what the caller read of the clocks: `CLOCK_REALTIME` and `CLOCK_BOOTTIME`, each less `CLOCK_MONOTONIC`.
    pub fn add_clocks(&mut self, at_ns: u64, [wall_ns, boot_ns]: [u64; 2]) {
        for (what, source, lead_ns) in
            [(Watched::WallClock, WALL_CLOCK, wall_ns), (Watched::Suspended, BOOT_CLOCK, boot_ns)]
        {
            let last = self.kept.get(&(what, String::new())).and_then(|kept| kept.readings.last());
            let unchanged = last.filter(|(_, last_ns)| last_ns.abs_diff(lead_ns) < LEAST_CLOCK_CHANGE_NS);
            let lead_ns = unchanged.map_or(lead_ns, |(_, last_ns)| *last_ns);
            self.keep(what, "", source, at_ns, Ok(lead_ns));
        }
    }

    /// Returns all readings.
    pub fn finish(mut self) -> Readings {
        if !self.kept.keys().any(|(what, _)| *what == Watched::HotDisks) {
            let why = "no disk has a temperature sensor with an alarm".to_owned();
            let what = Watched::HotDisks;
            self.unread.entry(what).or_insert(Unread { what, why, is_absent: true });
        }
        let series = self.kept.into_iter().map(|((what, of), kept)| {
            let Kept { source, mut readings, last } = kept;
            readings.extend(last);
            Series { what, of, source, readings }
        });
        Readings { series: series.collect(), unread: self.unread.into_values().collect() }
    }

    fn short_of(&mut self, what: Watched, error: &ReadError) {
        let unread = Unread { what, why: error.to_string(), is_absent: error.is_absent() };
        self.unread.entry(what).or_insert(unread);
    }

    fn keep(&mut self, what: Watched, of: &str, source: &str, at_ns: u64, read: Result<u64, ReadError>) {
        match read {
            Ok(value) => {
                let new = || Kept { source: source.to_owned(), readings: Vec::new(), last: None };
                self.kept.entry((what, of.to_owned())).or_insert_with(new).add(at_ns, value);
            }
            Err(error) => self.short_of(what, &error),
        }
    }

    /// Reads a number from one file.
    fn take(
        &mut self,
        what: Watched,
        file: &str,
        at_ns: u64,
        expected: &'static str,
        number: impl Fn(&str) -> Option<u64>,
    ) {
        let path = Path::new(file);
        let read = self.reader.text(path).and_then(|text| {
            let content = || ReadError::Content { path: path.to_owned(), text: first_line(&text), expected };
            number(&text).ok_or_else(content)
        });
        self.keep(what, "", file, at_ns, read);
    }

    fn read_memory(&mut self, at_ns: u64) {
        self.take(Watched::DirtyBytes, MEMORY, at_ns, "a Dirty and a Writeback in kB", |text| {
            Some(kilobytes(text, "Dirty:")? + kilobytes(text, "Writeback:")?)
        });
        self.take(Watched::SwappedPages, VIRTUAL_MEMORY, at_ns, "a pswpin and a pswpout", |text| {
            Some(counter(text, "pswpin")? + counter(text, "pswpout")?)
        });
        self.take(Watched::MemoryStalled, PRESSURE, at_ns, "a total of full stalls", full_stall_ns);
        self.take(Watched::CpuWaited, CPU_PRESSURE, at_ns, "a total of some stalls", |text| stall_ns(text, "some "));
        if let Some(file) = self.pressure_of_group.clone() {
            let file = file.display().to_string();
            self.take(Watched::GroupMemoryStalled, &file, at_ns, "a total of full stalls", full_stall_ns);
        }
    }

    fn read_network(&mut self, at_ns: u64) {
        self.take(Watched::NetworkReceived, INTERFACES, at_ns, EXPECTED, received);
        let text = match self.reader.text(Path::new(MOUNT_STATS)) {
            Ok(text) => text,
            Err(error) => return self.short_of(Watched::ServerReadBytes, &error),
        };
        for (mount_point, bytes) in server_reads(&text) {
            self.keep(Watched::ServerReadBytes, &mount_point, MOUNT_STATS, at_ns, Ok(bytes));
        }
    }

    fn read_processors(&mut self, at_ns: u64) {
        let sum = |reader: &Reader, files: &[PathBuf]| {
            files.iter().try_fold(0_u64, |sum, file| Ok(sum.saturating_add(reader.number(file)?)))
        };
        if !self.frequencies.is_empty() {
            let count = self.frequencies.len() as u64;
            let mean = sum(&self.reader, &self.frequencies).map(|sum| sum / count);
            self.keep(Watched::Frequency, "", "/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq", at_ns, mean);
        }
        if !self.throttles.is_empty() {
            let all = sum(&self.reader, &self.throttles);
            let source = "/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count";
            self.keep(Watched::ThermalThrottles, "", source, at_ns, all);
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or("").to_owned()
}

/// Reads a line of `/proc/meminfo`, which is in KiB although the file says kB.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Reads a line of `/proc/vmstat`.
fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Parses `full avg10=0.00 avg60=0.00 avg300=0.00 total=3694202`, in microseconds (Documentation/accounting/psi.rst).
fn full_stall_ns(text: &str) -> Option<u64> {
    stall_ns(text, "full ")
}

/// The same of the line that begins like this.
fn stall_ns(text: &str, start: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(start))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

/// Returns the sum of the bytes that all interfaces received.
fn received(text: &str) -> Option<u64> {
    Some(interfaces(text)?.iter().fold(0, |sum: u64, (_, one)| sum.saturating_add(one.received_bytes)))
}

/// Returns each NFS mount's bytes from its server: the fifth number of the line `bytes:` (`NFSIOS_SERVERREADBYTES`,
/// include/linux/nfs_iostat.h of Linux 6.12). Direct reads are included.
fn server_reads(text: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    let mut mount_point = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("device ") {
            let place = rest.split_once(" mounted on ").and_then(|(_, rest)| rest.split_once(" with fstype "));
            mount_point = place.map(|(place, _)| place.to_owned());
        } else if let Some(figures) = line.trim_start().strip_prefix("bytes:")
            && let Some(place) = &mount_point
            && let Some(bytes) = figures.split_whitespace().nth(4).and_then(|bytes| bytes.parse().ok())
        {
            found.push((place.clone(), bytes));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_are_kept_with_the_reading_before_them() {
        let mut kept = Kept { source: String::new(), readings: Vec::new(), last: None };
        for (at_ns, value) in [(0, 5), (1, 5), (2, 5), (3, 8), (4, 9), (5, 9)] {
            kept.add(at_ns, value);
        }
        assert_eq!(kept.readings, [(0, 5), (2, 5), (3, 8), (4, 9)]);
        assert_eq!(kept.last, Some((5, 9)));
    }

    #[test]
    fn of_many_readings_a_part_is_kept_with_both_ends() {
        let mut kept = Kept { source: String::new(), readings: Vec::new(), last: None };
        for at_ns in 0..10_000 {
            kept.add(at_ns, at_ns * 2);
        }
        assert!((MOST_KEPT / 2..=MOST_KEPT).contains(&kept.readings.len()), "{}", kept.readings.len());
        assert_eq!((kept.readings[0], kept.readings.last()), ((0, 0), Some(&(9_999, 19_998))));
        assert!(kept.readings.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn numbers_are_found_in_their_files() {
        let memory = "MemTotal:  100 kB\nDirty:      12 kB\nWriteback:   3 kB\nWritebackTmp:  7 kB\n";
        assert_eq!((kilobytes(memory, "Dirty:"), kilobytes(memory, "Writeback:")), (Some(12 << 10), Some(3 << 10)));
        assert_eq!(kilobytes("Dirty: many kB\n", "Dirty:"), None);
        assert_eq!(counter("pswpin 4\npswpinx 9\npswpout 5\n", "pswpout"), Some(5));
        assert_eq!(counter("pswpinx 9\n", "pswpin"), None);
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7";
        assert_eq!(full_stall_ns(pressure), Some(7_000));
        assert_eq!(full_stall_ns("some avg10=0.00 total=9"), None);
        assert_eq!(stall_ns(pressure, "some "), Some(9_000));
        let interfaces =
            "Inter-|   Receive\n face |bytes    packets\n    lo: 100 1 0 0 0 0 0 0 9\n  eth0:2000 2 0 0 0 0 0 0 9\n";
        assert_eq!(received(interfaces), Some(2_100));
        assert_eq!(received("Inter-|   Receive\n"), None);
    }
}
