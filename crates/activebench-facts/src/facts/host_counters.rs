//! Facts of each phase's window from the host's own counters and levels.
//!
//! These are read only at some moments, and a window begins and ends between readings. Where this makes a figure
//! uncertain, the figure is partial, or defined as an upper bound.

use activebench_model::activity::{CallSpan, Pass, StepKind};
use activebench_model::call::{FileId, Op, open_bits};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::host::{Host, Target, Tier};
use activebench_model::phase::{Phase, Window};
use activebench_model::readings::{Readings, Series, Unread, Watched};
use activebench_model::run::Manifest;
use activebench_model::units::Quantity;
use foldhash::HashMap;

/// Largest error of a memory stall that still counts as known, as a share of the window.
const STALL_NEAR_ENOUGH: f64 = 0.0002;

/// The growth of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Growth {
    /// Lower bound: growth between the first and the last reading inside the window.
    inside: u64,
    /// Upper bound: growth between the last reading before the window and the first after it.
    around: u64,
    /// Estimate: growth if the counter grew evenly between two readings.
    likely: f64,
}

/// Why a series has no figure for a window; `true` when the host has no such counter.
type Gap = (String, bool);

fn not_read(unread: Option<&Unread>) -> Gap {
    match unread {
        Some(unread) => (unread.why.clone(), unread.is_absent),
        None => ("it was not read".to_owned(), false),
    }
}

fn growth(series: &Series, window: Window) -> Result<Growth, Gap> {
    let readings = &series.readings;
    let gap = |why: &str| (format!("{why} ({})", series.source), false);
    if readings.windows(2).any(|pair| pair[1].1 < pair[0].1) {
        return Err(gap("the counter went backwards"));
    }
    let before = readings.partition_point(|(at_ns, _)| *at_ns <= window.start_ns);
    let after = readings.partition_point(|(at_ns, _)| *at_ns < window.end_ns);
    let (Some((first_ns, first)), Some((last_ns, last))) =
        (before.checked_sub(1).map(|index| readings[index]), readings.get(after).copied())
    else {
        return Err(gap("the readings do not cover the pass"));
    };
    let mut inner = readings.iter().filter(|(at_ns, _)| window.contains(*at_ns)).map(|(_, value)| *value);
    let inside = inner.next().map_or(0, |start| inner.next_back().unwrap_or(start) - start);
    let at = |at_ns: u64, (one_ns, one): (u64, u64), (two_ns, two): (u64, u64)| match two_ns - one_ns {
        0 => one as f64,
        length => one as f64 + (two - one) as f64 * (at_ns - one_ns) as f64 / length as f64,
    };
    let start = at(window.start_ns, (first_ns, first), readings.get(before).copied().unwrap_or((last_ns, last)));
    let last_before = after.checked_sub(1).map_or((first_ns, first), |index| readings[index]);
    let end = at(window.end_ns, last_before, (last_ns, last));
    Ok(Growth { inside, around: last - first, likely: end - start })
}

/// What the tree itself had left in the page cache when a phase began.
#[derive(Clone, Copy, Default)]
pub(super) struct OwnBefore {
    /// Upper bound of the bytes that were written and not synced.
    unsynced_bytes: u64,
    /// True if a file was mapped for writing.
    mapped: bool,
}

/// Returns what the tree itself had left in the page cache when each phase began. The windows must be resolved.
///
/// Memory: 40 bytes per phase, and the syncs of each file. There may be a million writes.
pub(super) fn own_before(passes: &[Pass], global_syncs: &[CallSpan], phases: &[Phase]) -> Vec<OwnBefore> {
    let mut starts: Vec<u64> = phases.iter().filter_map(|phase| Some(phase.window?.start_ns)).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut syncs: HashMap<FileId, Vec<CallSpan>> = HashMap::default();
    // When the first file was mapped for writing: no call shows the bytes written through a mapping.
    let mut mapped_ns = None;
    for pass in passes {
        let writable = pass.open_flags & open_bits::WRITABLE != 0;
        for step in &pass.steps {
            match step.kind {
                StepKind::Sync => {
                    // A sync of a range or of a mapping may not include all data.
                    let whole = |span: &CallSpan| !matches!(span.op, Op::SyncFileRange | Op::Msync);
                    let spans = step.head.iter().map(|brief| brief.span).filter(whole);
                    syncs.entry(pass.file).or_default().extend(spans);
                }
                StepKind::Map if writable => {
                    mapped_ns = Some(mapped_ns.map_or(step.start_ns, |first: u64| first.min(step.start_ns)));
                }
                _ => {}
            }
        }
    }
    let of_file: HashMap<FileId, FirstEnds> =
        syncs.into_iter().map(|(file, spans)| (file, FirstEnds::of(spans.into_iter()))).collect();
    let of_all = FirstEnds::of(global_syncs.iter().copied());
    // Of each start the bytes that were written through the page cache since the start before it, and those that a sync
    // made durable since then.
    let (mut written, mut synced) = (vec![0_u128; starts.len() + 1], vec![0_u128; starts.len() + 1]);
    let through = |pass: &Pass| pass.open_flags & (open_bits::DIRECT | open_bits::SYNC | open_bits::DSYNC) != 0;
    for pass in passes.iter().filter(|pass| !through(pass)) {
        for step in pass.steps.iter().filter(|step| step.kind == StepKind::Write) {
            let bytes = u128::from(step.bytes);
            written[starts.partition_point(|start_ns| *start_ns <= step.start_ns)] += bytes;
            let own = of_file.get(&pass.file).and_then(|syncs| syncs.from(step.end_ns));
            if let Some(synced_ns) = own.into_iter().chain(of_all.from(step.end_ns)).min() {
                // Bytes count from just after their first call.
                let from_ns = synced_ns.max(step.start_ns.saturating_add(1));
                synced[starts.partition_point(|start_ns| *start_ns < from_ns)] += bytes;
            }
        }
    }
    let unsynced: Vec<u64> = written
        .iter()
        .zip(&synced)
        .scan(0, |sum: &mut u128, (written, synced)| {
            *sum = *sum + written - synced;
            Some(u64::try_from(*sum).unwrap_or(u64::MAX))
        })
        .collect();
    let before = |phase: &Phase| {
        let start_ns = phase.window?.start_ns;
        let place = starts.binary_search(&start_ns).ok()?;
        let mapped = mapped_ns.is_some_and(|mapped_ns| mapped_ns < start_ns);
        Some(OwnBefore { unsynced_bytes: unsynced[place], mapped })
    };
    phases.iter().map(|phase| before(phase).unwrap_or_default()).collect()
}

/// Adds the facts from the host's readings to the phases that have a window.
pub(super) fn add(manifest: &Manifest, own: &[OwnBefore], phases: &mut [Phase]) {
    let host = &manifest.host;
    let nothing = Readings::default();
    let readings = host.readings.as_ref().unwrap_or(&nothing);
    for (phase, own) in phases.iter_mut().zip(own) {
        let Some(window) = phase.window else { continue };
        let target = phase.parts.first().and_then(|part| host.target_of(part.file));
        let of_phase = OfPhase { host, readings, window, target };
        of_phase.add_memory(*own, &mut phase.facts);
        of_phase.add_processors(&mut phase.facts);
        of_phase.add_clocks(&mut phase.facts);
        of_phase.add_network(&mut phase.facts);
    }
}

struct OfPhase<'a> {
    host: &'a Host,
    readings: &'a Readings,
    window: Window,
    target: Option<&'a Target>,
}

impl OfPhase<'_> {
    /// Returns a counter's growth; the gap is `true` when the host has no such counter.
    fn growth(&self, what: Watched, of: &str) -> Result<(Growth, &str), Gap> {
        let series = self.series(what, of)?;
        Ok((growth(series, self.window)?, &series.source))
    }

    fn series(&self, what: Watched, of: &str) -> Result<&Series, Gap> {
        if self.host.readings.is_none() {
            return Err(("this run has no readings of the host".to_owned(), false));
        }
        self.readings.find(what, of).map_err(not_read)
    }

    fn add_memory(&self, own: OwnBefore, facts: &mut Facts) {
        facts.insert(FactName::ForeignDirtyAtStart, self.foreign_dirty(own));
        let swapped = match self.growth(Watched::SwappedPages, "") {
            Ok((growth, source)) => {
                let fact = Fact::complete(Quantity::count(growth.around), Scope::Host, source);
                match growth.inside == 0 && growth.around > 0 {
                    true => fact.partial("they may have been swapped just before or after the pass"),
                    false => fact,
                }
            }
            Err((why, _)) => Fact::missing(why, Scope::Host, "/proc/vmstat"),
        };
        facts.insert(FactName::SwappedPages, swapped);
        self.add_stall(facts);
        let waited = match self.growth(Watched::CpuWaited, "") {
            Ok((growth, source)) => Fact::complete(Quantity::ns(growth.around), Scope::Host, source),
            Err((why, _)) => Fact::missing(why, Scope::Host, "/proc/pressure/cpu"),
        };
        facts.insert(FactName::CpuWaitedAtMost, waited);
    }

    /// Returns an upper bound of the data that was dirty when the run began and still is when the window begins. It
    /// cannot be distinguished from data that the tree itself wrote before.
    fn foreign_dirty(&self, own: OwnBefore) -> Fact {
        let series = match self.series(Watched::DirtyBytes, "") {
            Ok(series) => series,
            Err((why, _)) => return Fact::missing(why, Scope::Host, "/proc/meminfo"),
        };
        let until = series.readings.iter().take_while(|(at_ns, _)| *at_ns <= self.window.start_ns);
        let Some(least) = until.map(|(_, bytes)| *bytes).min() else {
            return Fact::missing("it was not read before the pass", Scope::Host, &series.source);
        };
        let fact = |bytes| Fact::complete(Quantity::bytes(bytes), Scope::Host, &series.source);
        match (own.unsynced_bytes, own.mapped) {
            (0, false) => fact(least),
            // Small writes of its own do not hide a value many times larger: at least the difference belongs to others.
            (own, false) if own <= least / 16 => fact(least - own),
            _ => fact(least).partial("the tool itself had written, and not synced: at most so much is somebody else's"),
        }
    }

    fn add_stall(&self, facts: &mut Facts) {
        let mut add = |stall: Fact, share: Fact, error: Fact| {
            facts.insert(FactName::MemoryStall, stall);
            facts.insert(FactName::MemoryStallShare, share);
            facts.insert(FactName::MemoryStallError, error);
        };
        let mut missing = |why: String, source: &str| {
            let missing = Fact::missing(why, Scope::Host, source);
            add(missing.clone(), missing.clone(), missing);
        };
        let of_host = self.growth(Watched::MemoryStalled, "");
        let of_group = self.growth(Watched::GroupMemoryStalled, "").ok();
        let (growth, source) = match (of_host, of_group) {
            (Ok(host), Some(group)) if group.0.likely > host.0.likely => group,
            (Ok(host), _) => host,
            (Err(_), Some(group)) => group,
            (Err((why, _)), None) => return missing(why, "/proc/pressure/memory"),
        };
        let length = self.window.duration_ns() as f64;
        if length <= 0.0 {
            return missing("the pass does not have a measurable duration".to_owned(), source);
        }
        let in_ns = |value| Quantity { value, ..Quantity::ns(0) };
        let complete = |value| Fact::complete(value, Scope::Host, source);
        let (stall, share) = (complete(in_ns(growth.likely)), complete(Quantity::ratio(growth.likely / length)));
        let error = (growth.likely - growth.inside as f64).max(growth.around as f64 - growth.likely);
        let near = error <= STALL_NEAR_ENOUGH * length;
        let why = format!("between {} and {}", Quantity::ns(growth.inside), Quantity::ns(growth.around));
        let blur = |fact: Fact| if near { fact } else { fact.partial(why.clone()) };
        add(blur(stall), blur(share), complete(in_ns(error)));
    }

    fn add_processors(&self, facts: &mut Facts) {
        match self.series(Watched::Frequency, "") {
            Ok(series) => facts.insert(FactName::FrequencyDrop, frequency_drop(series, self.window)),
            Err((_, true)) => {}
            Err((why, false)) => {
                let missing = Fact::missing(why, Scope::Host, "/sys/devices/system/cpu/cpufreq");
                facts.insert(FactName::FrequencyDrop, missing);
            }
        }
        match self.growth(Watched::ThermalThrottles, "") {
            Ok((growth, source)) => {
                let fact = Fact::complete(Quantity::count(growth.around), Scope::Host, source);
                facts.insert(FactName::ThermalThrottles, fact);
            }
            Err((_, true)) => {}
            Err((why, false)) => {
                facts.insert(FactName::ThermalThrottles, Fact::missing(why, Scope::Host, "thermal_throttle"));
            }
        }
        self.add_hot_disks(facts);
    }

    /// Adds the fact on hot disks. Each disk has one reading before the run and one after it.
    fn add_hot_disks(&self, facts: &mut Facts) {
        let disks: Vec<&Series> =
            self.readings.series.iter().filter(|series| series.what == Watched::HotDisks).collect();
        let Some(first) = disks.first() else {
            if let Err((why, false)) = self.series(Watched::HotDisks, "") {
                facts.insert(FactName::HotDisks, Fact::missing(why, Scope::Host, "hwmon"));
            }
            return;
        };
        let became_hot = disks.iter().filter(|disk| {
            let at_the_ends = disk.readings.first().zip(disk.readings.last());
            at_the_ends.is_some_and(|((_, before), (_, after))| *before == 0 && *after > 0)
        });
        let count = became_hot.count() as u64;
        let fact = Fact::complete(Quantity::count(count), Scope::Host, &first.source);
        let fact = if count == 0 { fact } else { fact.partial("when during the run it began is not known") };
        facts.insert(FactName::HotDisks, fact);
    }

    /// Adds the facts on the system clock. They are absent where it was not read.
    fn add_clocks(&self, facts: &mut Facts) {
        for (name, what) in [(FactName::WallClockJumps, Watched::WallClock), (FactName::Suspended, Watched::Suspended)]
        {
            let Ok(series) = self.series(what, "") else { continue };
            facts.insert(name, changes(series, self.window));
        }
    }

    fn add_network(&self, facts: &mut Facts) {
        let Some(target) = self.target.filter(|target| target.tier == Tier::Network) else { return };
        let of_client = self.growth(Watched::ServerReadBytes, &target.mount_point);
        let received = match of_client {
            Err(_) if target.comes_through_interfaces() => self.growth(Watched::NetworkReceived, ""),
            Err(_) => Err((format!("nothing counts what {} receives", target.fs_type), false)),
            counted => counted,
        };
        let fact = match received {
            Ok((growth, source)) => Fact::complete(Quantity::bytes(growth.around), Scope::Host, source),
            Err((why, _)) => Fact::missing(why, Scope::Host, "/proc/net/dev"),
        };
        facts.insert(FactName::NetworkReceived, fact);
    }
}

/// Syncs that succeeded, by start, each with the first end of it and all later ones.
struct FirstEnds(Vec<(u64, u64)>);

impl FirstEnds {
    fn of(spans: impl Iterator<Item = CallSpan>) -> Self {
        let succeeded = spans.filter(|span| span.returned == 0);
        let mut ends: Vec<(u64, u64)> = succeeded.map(|span| (span.start_ns, span.end_ns)).collect();
        ends.sort_unstable();
        let mut first_ns = u64::MAX;
        for (_, end_ns) in ends.iter_mut().rev() {
            first_ns = first_ns.min(*end_ns);
            *end_ns = first_ns;
        }
        Self(ends)
    }

    /// Returns the first end of a sync that starts at a time or later.
    fn from(&self, since_ns: u64) -> Option<u64> {
        self.0.get(self.0.partition_point(|(start_ns, _)| *start_ns < since_ns)).map(|(_, end_ns)| *end_ns)
    }
}

/// Returns the sum of a level's rises and falls from the last reading before the window to the first after it.
fn changes(series: &Series, window: Window) -> Fact {
    let readings = &series.readings;
    let before = readings.partition_point(|(at_ns, _)| *at_ns <= window.start_ns);
    let after = readings.partition_point(|(at_ns, _)| *at_ns < window.end_ns);
    let Some(first) = before.checked_sub(1).filter(|_| after < readings.len()) else {
        let why = "the readings do not cover the pass";
        return Fact::missing(why, Scope::Host, &series.source);
    };
    let sum = |pairs: &[(u64, u64)]| {
        pairs.windows(2).fold(0_u64, |sum, pair| sum.saturating_add(pair[0].1.abs_diff(pair[1].1)))
    };
    let around = sum(&readings[first..=after]);
    let inside = readings.get(before..after).map_or(0, sum);
    let fact = Fact::complete(Quantity::ns(around), Scope::Host, &series.source);
    if inside == around { fact } else { fact.partial("it may have been just before or after the pass") }
}

/// Returns the largest fall from a reading inside the window to a later one. The readings just before and after the
/// window count where fewer than two are inside.
fn frequency_drop(series: &Series, window: Window) -> Fact {
    let before = series.readings.partition_point(|(at_ns, _)| *at_ns < window.start_ns);
    let after = series.readings.partition_point(|(at_ns, _)| *at_ns <= window.end_ns);
    let (begin, end) = match after - before {
        0 | 1 => (before.saturating_sub(1), (after + 1).min(series.readings.len())),
        _ => (before, after),
    };
    let levels = &series.readings[begin..end];
    if levels.len() < 2 {
        return Fact::missing("it was read less than twice around the pass", Scope::Host, &series.source);
    }
    let mut highest = 0_u64;
    let mut drop = 0.0_f64;
    for (_, level) in levels {
        highest = highest.max(*level);
        if highest > 0 {
            drop = drop.max(1.0 - *level as f64 / highest as f64);
        }
    }
    Fact::complete(Quantity::ratio(drop), Scope::Host, &series.source)
}

#[cfg(test)]
mod tests {
    use activebench_model::activity::{CallBrief, Step};
    use activebench_model::call::FileKind;
    use activebench_model::phase::Direction;

    use super::*;

    fn span(op: Op, start_ns: u64, end_ns: u64) -> CallSpan {
        CallSpan { start_ns, end_ns, tid: 1, op, returned: 0 }
    }

    fn step(kind: StepKind, start_ns: u64, end_ns: u64, bytes: u64) -> Step {
        let mut step = Step {
            kind,
            start_ns,
            end_ns,
            last_end_ns: end_ns,
            calls: 1,
            bytes,
            seeks: 0,
            tids: Box::new([1]),
            head: Box::default(),
            last_syncs: Box::default(),
            shifts: None,
            min_offset: 0,
            max_offset: 0,
        };
        if kind == StepKind::Sync {
            step.add_to_head(CallBrief { span: span(Op::Fsync, start_ns, end_ns), offset: -1, requested: 0 });
        }
        step
    }

    fn pass(ino: u64, open_flags: u32, steps: Vec<Step>) -> Pass {
        let file = FileId { s_dev: 1, ino };
        let kind = FileKind::Regular;
        Pass { tgid: 1, fd: 3, file, kind, open_flags, name: None, open: None, close: None, steps }
    }

    #[test]
    fn what_the_tree_had_written_and_not_synced_is_known_for_each_start() {
        use StepKind::{Map, Sync, Write};
        let steps = vec![step(Write, 10, 20, 100), step(Sync, 30, 40, 0), step(Write, 50, 60, 7)];
        let passes = [
            pass(1, open_bits::WRITABLE, steps),
            pass(2, open_bits::WRITABLE, vec![step(Write, 25, 26, 1000), step(Map, 85, 86, 0)]),
            // Not in the page cache.
            pass(3, open_bits::WRITABLE | open_bits::DIRECT, vec![step(Write, 5, 6, 1 << 20)]),
        ];
        let starts = [90, 10, 11, 26, 39, 40, 51, 70, 80, 0];
        let phase = |start_ns| {
            let window = Some(window(start_ns, 100));
            Phase { window, ..Phase::planned("p", "p", Direction::Write) }
        };
        let mut phases: Vec<Phase> = starts.into_iter().map(phase).collect();
        phases.push(Phase::planned("none", "none", Direction::Write));
        let found = own_before(&passes, &[span(Op::Sync, 65, 80)], &phases);
        let found: Vec<(u64, bool)> = found.iter().map(|own| (own.unsynced_bytes, own.mapped)).collect();
        let bytes = [0, 0, 100, 1100, 1100, 1000, 1007, 1007, 0, 0];
        let expected = bytes.into_iter().zip(starts).map(|(bytes, start_ns)| (bytes, start_ns == 90));
        assert_eq!(found, expected.chain([(0, false)]).collect::<Vec<_>>());
    }

    fn series(readings: &[(u64, u64)]) -> Series {
        let source = "/proc/x".to_owned();
        Series { what: Watched::SwappedPages, of: String::new(), source, readings: readings.to_vec() }
    }

    fn window(start_ns: u64, end_ns: u64) -> Window {
        Window { start_ns, end_ns }
    }

    #[test]
    fn growth_is_known_between_bounds() {
        let counter = series(&[(0, 10), (100, 10), (200, 30), (300, 50), (400, 50)]);
        let check = |(start, end), inside, around, likely| {
            let expected = Growth { inside, around, likely };
            assert_eq!(growth(&counter, window(start, end)), Ok(expected), "{start} to {end}");
        };
        check((0, 100), 0, 0, 0.0);
        check((150, 350), 20, 40, 30.0);
        check((110, 120), 0, 20, 2.0);
        check((300, 400), 0, 0, 0.0);
        check((100, 300), 40, 40, 40.0);
        assert!(growth(&counter, window(350, 450)).is_err());
        assert!(growth(&series(&[]), window(0, 1)).is_err());
        assert!(growth(&series(&[(0, 5), (10, 4)]), window(0, 10)).is_err_and(|(why, _)| why.contains("backwards")));
    }

    #[test]
    fn a_frequency_falls_from_an_earlier_reading_to_a_later_one() {
        let level = series(&[(0, 1000), (100, 3000), (200, 2400), (300, 2700), (400, 100)]);
        let drop = |start, end| frequency_drop(&level, window(start, end)).value.map(|value| value.value);
        assert!(drop(100, 300).is_some_and(|drop| (drop - 0.2).abs() < 1e-9));
        assert_eq!(drop(0, 100), Some(0.0));
        assert_eq!(drop(10, 20), Some(0.0));
        assert_eq!(frequency_drop(&series(&[(0, 5)]), window(0, 1)).value, None);
    }
}
