//! The counters of the block devices below the files of the tree (`/sys/dev/block/*/stat`), which anybody may read.
//!
//! They count what everybody does with a device, so that they bound what the tree does from above. They are read while a
//! thread of the tree is stopped: after it opened or synced a file, before it closes one, and before data calls when the
//! last reading is some time ago. A pass of a benchmark mostly begins and ends at such a call.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;
use activebench_model::coverage::{DeviceCounters, DeviceReading};

use crate::kernel::monotonic_ns;

/// Readings of a device that are kept: of more, every second one goes.
const MOST_READINGS: usize = 4096;
/// Time after which a data call reads the counters again.
const SOME_TIME_NS: u64 = 10_000_000;
/// Devices that are read before the tool begins.
const MOST_MET_BEFORE: usize = 64;
/// Devices below one file system that are read.
const MOST_DEVICES: usize = 16;
/// More than a file `stat` has.
const STAT_BYTES: usize = 512;
const SECTOR_BYTES: u64 = 512;

/// The devices that were met so far.
#[derive(Debug)]
pub(super) struct Devices {
    sysfs: PathBuf,
    /// By the device of the super block, or the number of the device itself.
    of_file_system: HashMap<u32, Vec<usize>>,
    met: Vec<Device>,
}

#[derive(Debug)]
struct Device {
    stat: File,
    /// The disk of a partition, at which flushes are counted.
    disk: Option<File>,
    counters: DeviceCounters,
    read_ns: u64,
    /// `true` if a file on it was used.
    is_used: bool,
}

/// The counters of `/sys/block/NAME/stat` (Documentation/block/stat.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    reads: u64,
    read_bytes: u64,
    write_bytes: u64,
    /// Since Linux 5.5.
    flushes: Option<u64>,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let sectors = |place: usize| numbers.get(place)?.checked_mul(SECTOR_BYTES);
        Some(Self {
            reads: *numbers.first()?,
            read_bytes: sectors(2)?,
            write_bytes: sectors(6)?,
            flushes: numbers.get(15).copied(),
        })
    }

    fn read(file: &File) -> Option<Self> {
        let mut bytes = [0; STAT_BYTES];
        let read = file.read_at(&mut bytes, 0).ok()?;
        Self::parse(std::str::from_utf8(&bytes[..read]).ok()?)
    }
}

impl Device {
    /// Opens the counters of a device by its folder; `None` where they do not count everything. A device without request
    /// queues of its own (device mapper, RAID, NVMe with several paths) counts by the grace of its driver.
    fn open(folder: &Path) -> Option<Self> {
        let number = fs::read_to_string(folder.join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        let disk = match folder.join("partition").exists() {
            // The folder is a link into that of its disk.
            true => fs::canonicalize(folder).ok()?.parent()?.to_owned(),
            false => folder.to_owned(),
        };
        let counts = fs::read_to_string(disk.join("queue/iostats")).ok()?;
        if counts.trim() != "1" || !disk.join("mq").is_dir() {
            return None;
        }
        let stat = File::open(folder.join("stat")).ok()?;
        let of_disk = if disk == folder { None } else { Some(File::open(disk.join("stat")).ok()?) };
        Stat::read(&stat)?;
        let fua = fs::read_to_string(disk.join("queue/fua")).ok();
        Some(Self {
            stat,
            disk: of_disk,
            counters: DeviceCounters {
                device: DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?),
                takes_fua: fua.map(|fua| fua.trim() != "0"),
                readings: Vec::new(),
            },
            read_ns: 0,
            is_used: false,
        })
    }

    fn read(&mut self) {
        let from_ns = monotonic_ns();
        let Some(stat) = Stat::read(&self.stat) else { return };
        let flushes = match &self.disk {
            Some(disk) => Stat::read(disk).and_then(|disk| disk.flushes),
            None => stat.flushes,
        };
        let to_ns = monotonic_ns();
        let Stat { reads, read_bytes, write_bytes, .. } = stat;
        let reading = DeviceReading { from_ns, to_ns, reads, read_bytes, write_bytes, flushes };
        self.read_ns = to_ns;
        keep(&mut self.counters.readings, reading);
    }
}

/// Keeps a reading. Of several equal ones the first and the last are kept.
fn keep(readings: &mut Vec<DeviceReading>, reading: DeviceReading) {
    let is_same = |one: &DeviceReading| DeviceReading { from_ns: one.from_ns, to_ns: one.to_ns, ..reading } == *one;
    if let [.., before, last] = readings.as_mut_slice()
        && is_same(before)
        && is_same(last)
    {
        *last = reading;
        return;
    }
    readings.push(reading);
    if readings.len() > MOST_READINGS {
        let end = readings.len() - 1;
        let mut place = 0;
        readings.retain(|_| {
            place += 1;
            (place - 1) % 2 == 0 || place - 1 == end
        });
    }
}

impl Default for Devices {
    fn default() -> Self {
        Self::new(Path::new("/sys"))
    }
}

impl Devices {
    fn new(sysfs: &Path) -> Self {
        Self { sysfs: sysfs.to_owned(), of_file_system: HashMap::new(), met: Vec::new() }
    }

    /// Reads the counters below a file: by the device of its super block, or by the device that it is. `source` is what
    /// is mounted there.
    pub(super) fn read(&mut self, device: u32, source: Option<&str>) {
        for place in self.below(device, source) {
            self.met[place].read();
        }
    }

    /// The same, unless they were read a moment ago.
    pub(super) fn read_sometimes(&mut self, device: u32, source: Option<&str>, now_ns: u64) {
        for place in self.below(device, source) {
            let device = &mut self.met[place];
            if now_ns.saturating_sub(device.read_ns) >= SOME_TIME_NS {
                device.read();
            }
        }
    }

    /// Meets the devices of the machine before the tool begins: a pass may begin with the first call on a file.
    pub(super) fn meet_all(&mut self) {
        let folders = fs::read_dir(self.sysfs.join("dev/block")).into_iter().flatten().flatten();
        let opened = folders.filter_map(|folder| Device::open(&folder.path()));
        self.met = opened.take(MOST_MET_BEFORE).collect();
        self.met.iter_mut().for_each(Device::read);
    }

    /// Reads all that were used.
    pub(super) fn read_all(&mut self) {
        self.met.iter_mut().filter(|device| device.is_used).for_each(Device::read);
    }

    /// Returns what was read of the devices that were used.
    pub(super) fn counters(&self) -> Vec<DeviceCounters> {
        self.met.iter().filter(|device| device.is_used).map(|device| device.counters.clone()).collect()
    }

    fn below(&mut self, device: u32, source: Option<&str>) -> Vec<usize> {
        if let Some(places) = self.of_file_system.get(&device) {
            return places.clone();
        }
        let mut places = Vec::new();
        for folder in self.folders(DeviceNumber(device), source) {
            let Some(opened) = Device::open(&folder) else { continue };
            let known = self.met.iter().position(|met| met.counters.device == opened.counters.device);
            let place = known.unwrap_or_else(|| {
                self.met.push(opened);
                self.met.len() - 1
            });
            self.met[place].is_used = true;
            places.push(place);
        }
        self.of_file_system.insert(device, places.clone());
        places
    }

    /// Returns the folders of the devices below a file system; none where there are too many, or none is known.
    fn folders(&self, device: DeviceNumber, source: Option<&str>) -> Vec<PathBuf> {
        let own = self.sysfs.join(format!("dev/block/{}:{}", device.major(), device.minor()));
        if own.exists() {
            return vec![own];
        }
        // btrfs has a number of its own, and lists its members.
        let Some(name) = source.and_then(|source| source.rsplit('/').next()) else { return Vec::new() };
        let file_systems = fs::read_dir(self.sysfs.join("fs/btrfs")).into_iter().flatten().flatten();
        let members =
            file_systems.map(|entry| entry.path().join("devices")).find(|members| members.join(name).exists());
        let members = members.and_then(|members| fs::read_dir(members).ok()).into_iter().flatten().flatten();
        let folders: Vec<PathBuf> = members.map(|member| member.path()).collect();
        if folders.len() > MOST_DEVICES { Vec::new() } else { folders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "  10 1 20 3 4 5 6 7 0 8 9 0 0 0 0 11 12\n";

    fn device(sysfs: &Path, number: &str, files: &[(&str, &str)]) {
        let folder = sysfs.join("dev/block").join(number);
        for (name, text) in [("dev", number), ("stat", LINE), ("queue/iostats", "1\n"), ("queue/fua", "0\n")] {
            write(&folder.join(name), text);
        }
        files.iter().for_each(|(name, text)| write(&folder.join(name), text));
    }

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn counters_are_parsed_with_or_without_flushes() {
        let stat = Stat { reads: 10, read_bytes: 20 * 512, write_bytes: 6 * 512, flushes: Some(11) };
        assert_eq!(Stat::parse(LINE), Some(stat));
        assert_eq!(Stat::parse("10 1 20 3 4 5 6 7 0 8 9"), Some(Stat { flushes: None, ..stat }));
        assert_eq!(Stat::parse("10 1 20"), None);
    }

    #[test]
    fn only_devices_that_count_all_of_their_requests_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        device(folder.path(), "7:0", &[("mq/0/cpu_list", "0")]);
        device(folder.path(), "253:0", &[]);
        device(folder.path(), "7:1", &[("mq/0/cpu_list", "0"), ("queue/iostats", "0")]);
        device(folder.path(), "7:2", &[("mq/0/cpu_list", "0")]);
        let mut devices = Devices::new(folder.path());
        devices.meet_all();
        assert_eq!((devices.met.len(), devices.counters().len()), (2, 0));
        for (major, minor) in [(7, 0), (253, 0), (7, 1), (9, 9)] {
            devices.read(DeviceNumber::new(major, minor).0, None);
        }
        devices.read_all();
        let counters = devices.counters();
        assert_eq!(counters.len(), 1);
        assert_eq!((counters[0].device, counters[0].takes_fua), (DeviceNumber::new(7, 0), Some(false)));
        let [first, last] = counters[0].readings.as_slice() else { panic!("the first and the last reading") };
        assert!(first.to_ns < last.from_ns && first.flushes == Some(11) && last.read_bytes == 20 * 512);
    }

    #[test]
    fn readings_stay_few_and_keep_both_ends() {
        let at = |at_ns| DeviceReading { from_ns: at_ns, to_ns: at_ns, read_bytes: at_ns, ..DeviceReading::default() };
        let mut readings = Vec::new();
        (0..20_000).for_each(|at_ns| keep(&mut readings, at(at_ns)));
        assert!(readings.len() <= MOST_READINGS && readings.len() > MOST_READINGS / 4, "{}", readings.len());
        assert_eq!((readings[0].to_ns, readings[readings.len() - 1].to_ns), (0, 19_999));
        let mut readings = Vec::new();
        (0..9).for_each(|at_ns| keep(&mut readings, DeviceReading { read_bytes: 5, ..at(at_ns) }));
        assert_eq!(readings.iter().map(|reading| reading.to_ns).collect::<Vec<_>>(), [0, 8]);
    }
}
