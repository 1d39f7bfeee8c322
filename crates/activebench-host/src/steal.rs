//! The CPUs' steal time (time that the hypervisor withheld from us), read repeatedly while a benchmark runs.

use std::collections::BTreeMap;
use std::path::Path;

use activebench_model::event::StealEvent;

use crate::reader::Reader;
use crate::roots::{Process, Roots};

/// Length of a tick in `/proc/stat`: `USER_HZ` is 100 on x86-64 (include/asm-generic/param.h of Linux 6.12).
const TICK_NS: u64 = 10_000_000;
/// Position of the steal time among the numbers of a CPU's line (proc_stat(5)).
const STEAL_FIELD: usize = 7;
/// Maximum number of readings kept, 24 bytes each. Above it every second one of each CPU is dropped.
const MOST_KEPT: usize = 1 << 20;

/// The CPUs' steal time over a run.
///
/// Of equal consecutive readings only the first and the last are kept. A machine without steal time keeps two
/// readings per CPU.
#[derive(Debug)]
pub struct StealWatch {
    reader: Reader,
    processors: BTreeMap<u32, LastReading>,
    kept: Vec<StealEvent>,
    most_kept: usize,
    short: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct LastReading {
    event: StealEvent,
    is_kept: bool,
}

impl StealWatch {
    /// Creates a watch without readings.
    pub fn new(roots: &Roots) -> Self {
        Self {
            reader: Reader::new(roots, Process::Own),
            processors: BTreeMap::new(),
            kept: Vec::new(),
            most_kept: MOST_KEPT,
            short: None,
        }
    }

    /// Takes one reading. `at_ns` is its time.
    pub fn read(&mut self, at_ns: u64) {
        match self.reader.text(Path::new("/proc/stat")) {
            Ok(text) => self.take(at_ns, &text),
            Err(error) => self.fall_short(error.to_string()),
        }
    }

    /// Returns the readings, and the reason if they are incomplete.
    pub fn finish(mut self) -> (Vec<StealEvent>, Option<String>) {
        if self.kept.is_empty() && self.processors.is_empty() {
            self.fall_short("the steal time was never read".to_owned());
        }
        let last = self.processors.values().filter(|last| !last.is_kept).map(|last| last.event);
        self.kept.extend(last);
        (self.kept, self.short)
    }

    fn fall_short(&mut self, why: String) {
        self.short.get_or_insert(why);
    }

    fn take(&mut self, at_ns: u64, text: &str) {
        for line in text.lines().take_while(|line| line.starts_with("cpu")) {
            let mut words = line.split_ascii_whitespace();
            // The first line, `cpu` without a number, is the sum of the others.
            let Some(Ok(cpu)) = words.next().and_then(|name| name.strip_prefix("cpu")).map(str::parse) else {
                continue;
            };
            match words.nth(STEAL_FIELD).map(str::parse::<u64>) {
                Some(Ok(ticks)) => self.keep(StealEvent { at_ns, cpu, steal_ns: ticks.saturating_mul(TICK_NS) }),
                _ => self.fall_short("this kernel's /proc/stat has no steal time".to_owned()),
            }
        }
    }

    fn keep(&mut self, event: StealEvent) {
        let Some(last) = self.processors.get_mut(&event.cpu) else {
            self.kept.push(event);
            self.processors.insert(event.cpu, LastReading { event, is_kept: true });
            return;
        };
        let before = std::mem::replace(last, LastReading { event, is_kept: false });
        if before.event.steal_ns == event.steal_ns {
            return;
        }
        last.is_kept = true;
        if !before.is_kept {
            self.kept.push(before.event);
        }
        self.kept.push(event);
        if self.kept.len() > self.most_kept {
            self.thin_out();
        }
        if event.steal_ns < before.event.steal_ns {
            self.fall_short(format!("the steal time of CPU {} went backwards", event.cpu));
        }
    }

    /// Drops every second reading of each CPU, but not its first and its last: the time between two readings is known
    /// less exactly then, and their difference as exactly as before.
    fn thin_out(&mut self) {
        // How many readings of each CPU come after the one at hand.
        let mut after: BTreeMap<u32, usize> = BTreeMap::new();
        self.kept.iter().for_each(|event| *after.entry(event.cpu).or_default() += 1);
        let mut first = after.clone();
        self.kept.retain(|event| {
            let left = after.entry(event.cpu).or_default();
            *left -= 1;
            first.remove(&event.cpu).is_some() || left.is_multiple_of(2)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(texts: &[&str]) -> (Vec<(u64, u32, u64)>, Option<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("proc")).expect("a folder");
        let mut watch = StealWatch::new(&Roots::at(folder.path()));
        for (number, text) in texts.iter().enumerate() {
            std::fs::write(folder.path().join("proc/stat"), text).expect("a file");
            watch.read(number as u64);
        }
        let (events, short) = watch.finish();
        (events.iter().map(|event| (event.at_ns, event.cpu, event.steal_ns / TICK_NS)).collect(), short)
    }

    fn stat(steal: u64) -> String {
        format!("cpu  9 9 9 9 9 9 9 9 0 0\ncpu3 1 2 3 4 5 6 7 {steal} 0 0\nintr 1\ncpu4 1 2 3 4 5 6 7 8\n")
    }

    #[test]
    fn only_changes_are_kept_with_the_reading_before_them() {
        let texts = [stat(5), stat(5), stat(5), stat(8), stat(9), stat(9), stat(9)];
        let (events, short) = watch(&texts.each_ref().map(String::as_str));
        assert_eq!(events, [(0, 3, 5), (2, 3, 5), (3, 3, 8), (4, 3, 9), (6, 3, 9)]);
        assert_eq!(short, None);
    }

    #[test]
    fn of_many_readings_a_part_is_kept_with_both_ends() {
        let mut watch = StealWatch::new(&Roots::at(Path::new("/nonexistent")));
        watch.most_kept = 100;
        let last = 86_400 * 10;
        for at in 0..=last {
            for cpu in 0..2 {
                watch.keep(StealEvent { at_ns: at, cpu, steal_ns: 3 * at });
            }
        }
        let (kept, short) = watch.finish();
        assert_eq!(short, None);
        assert!((50..=100).contains(&kept.len()), "{}", kept.len());
        for cpu in 0..2 {
            let of_cpu: Vec<(u64, u64)> =
                kept.iter().filter(|event| event.cpu == cpu).map(|event| (event.at_ns, event.steal_ns)).collect();
            assert_eq!((of_cpu[0], of_cpu.last()), ((0, 0), Some(&(last, 3 * last))));
            assert!(of_cpu.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let (events, short) = watch(&["cpu  1 2 3 4\ncpu0 1 2 3 4\n"]);
        assert_eq!((events.len(), short.as_deref()), (0, Some("this kernel's /proc/stat has no steal time")));
        let (events, short) = watch(&[]);
        assert_eq!((events.len(), short.as_deref()), (0, Some("the steal time was never read")));
        let (_, short) = watch(&[&stat(5), &stat(4)]);
        assert_eq!(short.as_deref(), Some("the steal time of CPU 3 went backwards"));
    }
}
