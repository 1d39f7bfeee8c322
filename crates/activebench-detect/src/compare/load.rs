//! What the passes of a run did to the storage, so that passes of different tools can be compared.
//!
//! Two passes did the same I/O if they agree in direction, size of a call, order of offsets, tasks, operations in flight,
//! use of the page cache, durability of writes, and whether their files were used before in the run. All of it was
//! observed; what the commands say does not count. An aspect that is not known of one of them agrees with nothing. What a
//! file held before the run is not known and not compared.

use activebench_model::direction::Direction;
use activebench_model::fact::FactName;
use activebench_model::phase::Phase;
use activebench_model::units::{Quantity, significant};

use crate::evidence::each_write::EachWrite;

/// Least share of calls of one size, or in one order, that describes the pass.
const MOST: f64 = 0.95;

/// Least share of calls in no order that makes a pass random: few calls can be in some order by chance.
const MOSTLY: f64 = 0.75;

/// Operations in flight for each task up to which they are made one after the other.
const ONE_BY_ONE: f64 = 1.05;

/// Largest difference of two numbers of operations in flight that are taken for the same.
const ALIKE: f64 = 1.25;

/// What a pass did, by aspect; the first aspect is the direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load(Vec<Aspect>);

#[derive(Clone, Debug, PartialEq)]
struct Aspect {
    name: &'static str,
    /// Why it is not known, if it is not.
    seen: Result<Seen, String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Words(String),
    InFlight(f64),
}

impl Seen {
    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InFlight(one), Self::InFlight(other)) => one.max(*other) <= ALIKE * one.min(*other),
            _ => self == other,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Words(words) => words.clone(),
            Self::InFlight(operations) => format!("{} in flight on average", significant(*operations)),
        }
    }
}

impl Load {
    /// Describes a pass. `None` for a pass that reads and writes, works on names, or only uses the CPU.
    pub(super) fn of(phase: &Phase, before: &[Phase]) -> Option<Self> {
        let is_write = match phase.direction {
            Direction::Read => false,
            Direction::Write => true,
            _ => return None,
        };
        let calls = if is_write { &WRITES } else { &READS };
        let direct = share(phase, FactName::DirectShare);
        let is_direct = direct.as_ref().is_ok_and(|share| *share >= MOST);
        let cache = direct.map(|share| match share {
            share if share >= MOST => "direct I/O",
            share if share <= 1.0 - MOST => "through the page cache",
            _ => "partly direct I/O",
        });
        let mut aspects = vec![
            aspect("direction", Ok(if is_write { "writes" } else { "reads" })),
            Aspect { name: "size of a call", seen: calls.size(phase).map(Seen::Words) },
            aspect("order", calls.order(phase)),
            Aspect { name: "tasks", seen: tasks(phase).map(|tasks| Seen::Words(in_words(tasks))) },
            Aspect { name: "operations in flight", seen: calls.in_flight(phase) },
            aspect("page cache", cache),
        ];
        if is_write {
            aspects.push(aspect("durability", durability(phase)));
        }
        // What a disk reads without the cache is the same the second time.
        if is_write || !is_direct {
            aspects.push(Aspect { name: "files", seen: used_before(phase, before).map(Seen::Words) });
        }
        Some(Self(aspects))
    }

    #[cfg(test)]
    pub(super) fn of_words(words: &[&'static str]) -> Self {
        let names = ["direction", "aspect 1", "aspect 2"];
        Self(names.into_iter().zip(words).map(|(name, words)| aspect(name, Ok(words))).collect())
    }

    /// Returns in what this pass differs from another one; nothing for the same I/O. `own` and `of_other` name the
    /// runs.
    pub(super) fn differences(&self, other: &Self, own: &str, of_other: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (one, two) in self.0.iter().zip(&other.0) {
            let name = one.name;
            match (&one.seen, &two.seen) {
                _ if one.name != two.name => break,
                (Ok(one), Ok(two)) if one.agrees(two) => {}
                (Ok(one), Ok(two)) => {
                    found.push(format!("{name}: {} in {own}, {} in {of_other}", one.words(), two.words()))
                }
                (Err(why), _) => found.push(format!("the {name} of {own} is not known: {why}")),
                (_, Err(why)) => found.push(format!("the {name} of {of_other} is not known: {why}")),
            }
        }
        found
    }

    /// Returns `true` if both are reads, or both are writes.
    pub(super) fn is_of_direction(&self, other: &Self) -> bool {
        self.0.first() == other.0.first()
    }

    /// Describes it: `writes, 1 MiB a call, sequential, ...`; of an aspect that is not known nothing.
    pub(super) fn words(&self) -> String {
        let known = self.0.iter().filter_map(|aspect| aspect.seen.as_ref().ok());
        known.map(Seen::words).collect::<Vec<_>>().join(", ")
    }
}

fn aspect(name: &'static str, words: Result<&str, String>) -> Aspect {
    Aspect { name, seen: words.map(|words| Seen::Words(words.to_owned())) }
}

/// The facts of one direction.
struct Calls {
    number: FactName,
    size: FactName,
    size_share: FactName,
    sequential: FactName,
    random: FactName,
    latency: FactName,
}

const READS: Calls = Calls {
    number: FactName::ReadCalls,
    size: FactName::ReadSizeModal,
    size_share: FactName::ReadSizeModalShare,
    sequential: FactName::ReadSequential,
    random: FactName::ReadRandom,
    latency: FactName::ReadLatencyMean,
};

const WRITES: Calls = Calls {
    number: FactName::WriteCalls,
    size: FactName::WriteSizeModal,
    size_share: FactName::WriteSizeModalShare,
    sequential: FactName::WriteSequential,
    random: FactName::WriteRandom,
    latency: FactName::WriteLatencyMean,
};

impl Calls {
    fn size(&self, phase: &Phase) -> Result<String, String> {
        let (size, of) = (phase.facts.complete(self.size)?, share(phase, self.size_share)?);
        match of >= MOST {
            true => Ok(format!("{} a call", Quantity::bytes(size as u64))),
            false => Err("its calls have several sizes".to_owned()),
        }
    }

    fn order(&self, phase: &Phase) -> Result<&'static str, String> {
        let (sequential, random) = (share(phase, self.sequential)?, share(phase, self.random)?);
        if sequential >= MOST {
            Ok("sequential")
        } else if random >= MOSTLY {
            Ok("random")
        } else {
            Err("it is neither sequential nor random".to_owned())
        }
    }

    /// By Little's law; one by one where a task has no second operation in flight.
    fn in_flight(&self, phase: &Phase) -> Result<Seen, String> {
        let fact = |name| phase.facts.complete(name);
        let window_ns = fact(FactName::Window)?;
        if window_ns <= 0.0 {
            return Err("its clock took no time".to_owned());
        }
        let in_flight = fact(self.number)? * fact(self.latency)? / window_ns;
        match in_flight <= ONE_BY_ONE * tasks(phase)? {
            true => Ok(Seen::Words("one operation at a time for each task".to_owned())),
            false => Ok(Seen::InFlight(in_flight)),
        }
    }
}

fn share(phase: &Phase, name: FactName) -> Result<f64, String> {
    phase.facts.complete(name)
}

fn tasks(phase: &Phase) -> Result<f64, String> {
    phase.facts.complete(FactName::ActiveTasks)
}

fn in_words(tasks: f64) -> String {
    if tasks == 1.0 { "1 task".to_owned() } else { format!("{tasks} tasks") }
}

fn durability(phase: &Phase) -> Result<&'static str, String> {
    let fact = |name| phase.facts.complete(name);
    match EachWrite::of(phase)? {
        Some(EachWrite::Synchronous) => return Ok("each write synchronous"),
        Some(EachWrite::Synced) => return Ok("a sync after each write"),
        None => {}
    }
    match (fact(FactName::UnsyncedBytes)?, fact(FactName::SyncsInside)?) {
        // Direct writes may need none.
        (_, 0.0) => Ok("not synced while the clock ran"),
        (unsynced, syncs) if unsynced == 0.0 && syncs <= 2.0 * tasks(phase)? => Ok("synced at the end"),
        (0.0, _) => Err("it syncs now and then".to_owned()),
        _ => Err("its syncs cover a part of it".to_owned()),
    }
}

/// Whether an earlier pass of the run read or wrote the same files.
fn used_before(phase: &Phase, before: &[Phase]) -> Result<String, String> {
    if phase.parts.is_empty() {
        return Err("its files are not known".to_owned());
    }
    let is_own = |earlier: &&Phase| {
        let of = |other: &Phase| other.parts.iter().any(|part| phase.parts.iter().any(|own| own.file == part.file));
        earlier.direction == phase.direction && of(earlier)
    };
    let word = if phase.direction == Direction::Write { "written" } else { "read" };
    Ok(match before.iter().any(|earlier| is_own(&earlier)) {
        true => format!("files that the run had {word} before"),
        false => format!("files {word} for the first time in the run"),
    })
}

#[cfg(test)]
mod tests {
    use activebench_model::call::FileId;
    use activebench_model::fact::{Fact, Scope};
    use activebench_model::phase::{Part, PartEnd};

    use super::*;

    /// A pass of 100 sequential direct calls of 1 MiB, one after the other, with a sync at the end.
    fn pass(id: &str, direction: Direction, changes: &[(FactName, f64)]) -> Phase {
        let mut phase = Phase::planned(id, id, direction);
        phase.parts = vec![Part {
            tgid: 1,
            tids: Vec::new(),
            fd: 3,
            file: FileId { s_dev: 1, ino: 2 },
            start_ns: 0,
            end: PartEnd::At(1_000_000_000),
            last_data_ns: 1_000_000_000,
            sync_inside: None,
            sync_after: None,
            close_ns: None,
        }];
        let calls = if direction == Direction::Write { &WRITES } else { &READS };
        let usual = [
            (calls.number, 100.0),
            (calls.size, 1_048_576.0),
            (calls.size_share, 1.0),
            (calls.sequential, 1.0),
            (calls.random, 0.0),
            (calls.latency, 9_500_000.0),
            (FactName::Window, 1e9),
            (FactName::ActiveTasks, 1.0),
            (FactName::DirectShare, 1.0),
            (FactName::SyncsInside, 1.0),
            (FactName::UnsyncedBytes, 0.0),
            (FactName::SyncWriteShare, 0.0),
        ];
        for (name, value) in usual.iter().chain(changes) {
            let value = Quantity { value: *value, unit: name.unit() };
            phase.facts.insert(*name, Fact::complete(value, Scope::Tree, "tp_btf/sys_exit"));
        }
        phase
    }

    fn differences(one: &Phase, other: &Phase) -> Vec<String> {
        let load = |phase| Load::of(phase, &[]).expect("a stream");
        load(one).differences(&load(other), "run 1", "run 2")
    }

    #[test]
    fn passes_that_did_the_same_are_alike_and_each_aspect_sets_others_apart() {
        use FactName::{ActiveTasks, DirectShare, SyncWriteShare, SyncsInside, UnsyncedBytes, Window};
        use FactName::{WriteLatencyMean, WriteRandom, WriteSequential, WriteSizeModal, WriteSizeModalShare};
        let write = |changes: &[(FactName, f64)]| pass("write", Direction::Write, changes);
        let usual = write(&[]);
        // Time between the calls does not matter, and small scatter of the depth neither.
        assert_eq!(differences(&usual, &write(&[(WriteLatencyMean, 6e6)])), [""; 0]);
        let deep = |latency_ns| write(&[(WriteLatencyMean, latency_ns)]);
        assert_eq!(differences(&deep(3.0e8), &deep(3.2e8)), [""; 0]);
        for (changes, expected) in [
            (&[(WriteSizeModal, 4096.0)][..], "size of a call: 1 MiB a call in run 1, 4 KiB a call in run 2"),
            (&[(WriteSizeModalShare, 0.6)], "the size of a call of run 2 is not known: its calls have several sizes"),
            (&[(WriteSequential, 0.0), (WriteRandom, 0.9)], "order: sequential in run 1, random in run 2"),
            (&[(ActiveTasks, 4.0)], "tasks: 1 task in run 1, 4 tasks in run 2"),
            (
                &[(Window, 1e8)],
                "operations in flight: one operation at a time for each task in run 1, 9.50 in flight on average in run 2",
            ),
            (&[(DirectShare, 0.0)], "page cache: direct I/O in run 1, through the page cache in run 2"),
            (&[(SyncsInside, 0.0)], "durability: synced at the end in run 1, not synced while the clock ran in run 2"),
            (&[(UnsyncedBytes, 1.0)], "the durability of run 2 is not known: its syncs cover a part of it"),
            (&[(SyncsInside, 100.0)], "durability: synced at the end in run 1, a sync after each write in run 2"),
            (&[(SyncWriteShare, 1.0)], "durability: synced at the end in run 1, each write synchronous in run 2"),
        ] {
            assert_eq!(differences(&usual, &write(changes)), [expected]);
        }
        let mut unknown = write(&[]);
        unknown.facts.insert(DirectShare, Fact::missing("calls were lost", Scope::Tree, "tp_btf/sys_exit"));
        let why = "the page cache of run 2 is not known: the fact direct_ratio is missing: calls were lost";
        assert_eq!(differences(&usual, &unknown), [why]);
        assert_eq!(differences(&unknown, &unknown).len(), 1, "what is not known agrees with nothing");
    }

    #[test]
    fn a_second_pass_over_a_file_is_another_load_unless_a_disk_reads_it_again() {
        let load = |phase: &Phase, before: &[Phase]| Load::of(phase, before).expect("a stream");
        for (direction, is_direct, is_alike) in
            [(Direction::Write, 1.0, false), (Direction::Read, 0.0, false), (Direction::Read, 1.0, true)]
        {
            let own = pass("own", direction, &[(FactName::DirectShare, is_direct)]);
            let (first, again) = (load(&own, &[]), load(&own, std::slice::from_ref(&own)));
            assert_eq!(first.differences(&again, "run 1", "run 2").is_empty(), is_alike, "{direction:?} {is_direct}");
        }
        assert_eq!(Load::of(&pass("mix", Direction::Mixed, &[]), &[]), None);
    }
}
