//! The load of a pass, as far as scripts name it: blocks, requests in flight, tasks.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use activebench_model::phase::{Phase, Submission};
use regex::{Captures, Regex};

/// A load, or what words say of one; `None` for what is not known or not named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Load {
    /// Bytes of an operation.
    block_bytes: Option<u64>,
    /// Bytes of the file, or of what is moved: a script may name these.
    size_bytes: [Option<u64>; 2],
    /// Requests that a task keeps in flight.
    depth: Option<u64>,
    /// Threads and processes.
    tasks: Option<u64>,
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the expression is right")
}

/// `4k`, `rnd4k`, `128 KiB`, `block size: 4096`.
static BLOCKS: LazyLock<Regex> = LazyLock::new(|| {
    let with_unit = r"\b[a-z]*?(?P<number>\d+) ?(?P<unit>[km](?:i?b)?)\b";
    let named = r"\b(?:bs|(?:block|record|xfer) ?size|reclen)\W{0,4}(?P<bytes>\d{3,})\b";
    regex(&format!(r"(?i){with_unit}|{named}"))
});

/// `QD32`, `iodepth=32`, `Q32T1`.
static DEPTHS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:(?:qd|io ?depth|(?:queue )?depth)\W{0,4}(\d+)|q(\d+)t\d+)\b"));

/// `threads=8`, `8 jobs`, `Q32T1`. The number of one of them is no number of tasks: `job 1`.
static TASKS: LazyLock<Regex> = LazyLock::new(|| {
    let before = r"(?:threads|(?:num ?)?jobs|workers|processes|procs|clients)\W{0,4}(\d+)";
    let behind = r"(\d+)[ -]?(?:threads?|jobs?|workers?|process(?:es)?|procs?|clients?)";
    regex(&format!(r"(?i)\b(?:{before}|{behind}|q\d+t(\d+))\b"))
});

impl Load {
    pub(super) fn of_phase(phase: &Phase) -> Self {
        let depth = match phase.submission {
            Submission::Synchronous => Some(1),
            _ => phase.promised_depth().map(|(depth, _)| u64::from(depth)),
        };
        let tasks = Some(u64::from(phase.requested_tasks)).filter(|tasks| *tasks > 0);
        let size_bytes = [phase.size_bytes, phase.requested_bytes];
        Self { block_bytes: phase.block_bytes, size_bytes, depth, tasks }
    }

    /// Reads what words name. What they name twice, and differently, they do not name.
    pub(super) fn of_words(text: &str) -> Self {
        if !text.contains(|c: char| c.is_ascii_digit()) {
            return Self::default();
        }
        let text = text.replace('_', " ");
        let numbers = |of: &Regex| -> BTreeSet<u64> {
            let groups = of.captures_iter(&text).flat_map(|found| {
                let groups: Vec<_> = found.iter().skip(1).flatten().map(|group| group.as_str().parse()).collect();
                groups
            });
            groups.flatten().collect()
        };
        // `57 MB` is a part of `1234.57 MB/s`.
        let is_whole = |found: &Captures<'_>| {
            let span = found.get_match().range();
            !text[..span.start].ends_with(['.', ',']) && !text[span.end..].starts_with('/')
        };
        let blocks = BLOCKS.captures_iter(&text).filter(is_whole).filter_map(|found| bytes_of(&found)).collect();
        let [depth, tasks] = [&DEPTHS, &TASKS].map(|of| only(numbers(of)));
        Self { block_bytes: only(blocks), depth, tasks, ..Self::default() }
    }

    /// Returns this one, completed by another.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            block_bytes: self.block_bytes.or(other.block_bytes),
            size_bytes: self.size_bytes,
            depth: self.depth.or(other.depth),
            tasks: self.tasks.or(other.tasks),
        }
    }

    /// Returns what two loads have in common.
    pub(super) fn common(self, other: Self) -> Self {
        let same = |one: Option<u64>, other: Option<u64>| one.filter(|_| one == other);
        Self {
            block_bytes: same(self.block_bytes, other.block_bytes),
            size_bytes: [0, 1].map(|place: usize| same(self.size_bytes[place], other.size_bytes[place])),
            depth: same(self.depth, other.depth),
            tasks: same(self.tasks, other.tasks),
        }
    }

    /// Returns what is left of the load of each of several passes for all together: they may have been at the same time.
    pub(super) fn of_several(self) -> Self {
        Self { depth: None, tasks: None, ..self }
    }

    /// Returns `true` if words name the load of another pass and not this one's.
    pub(super) fn names_other(self, own: Self, other: Self) -> bool {
        // Some count the requests of all tasks together.
        let in_flight = |load: Self| load.depth.zip(load.tasks).map(|(depth, tasks)| depth.saturating_mul(tasks));
        let is_depth = |load: Self| self.depth == load.depth || self.depth == in_flight(load);
        let differs = |named: Option<u64>, own: Option<u64>, other: Option<u64>| {
            named.is_some() && own.is_some() && named != own && named == other
        };
        // One request at a time is seldom asked for: a pass of which no depth is known may be that.
        let may_have_depth = other.depth.is_none() || self.depth == other.depth;
        let is_size = self.block_bytes.is_some() && own.size_bytes.contains(&self.block_bytes);
        !is_size && differs(self.block_bytes, own.block_bytes, other.block_bytes)
            || differs(self.tasks, own.tasks, other.tasks)
            || self.depth.is_some() && own.depth.is_some() && !is_depth(own) && may_have_depth
    }
}

/// Returns the bytes of a block size that words name.
fn bytes_of(found: &Captures<'_>) -> Option<u64> {
    if let Some(bytes) = found.name("bytes") {
        return bytes.as_str().parse().ok();
    }
    let shift = match found.name("unit")?.as_str().as_bytes().first()? {
        b'k' | b'K' => 10,
        _ => 20,
    };
    found.name("number")?.as_str().parse::<u64>().ok()?.checked_shl(shift)
}

fn only(values: BTreeSet<u64>) -> Option<u64> {
    let mut values = values.into_iter();
    values.next().filter(|_| values.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(block_bytes: Option<u64>, depth: Option<u64>, tasks: Option<u64>) -> Load {
        Load { block_bytes, depth, tasks, ..Load::default() }
    }

    #[test]
    fn words_name_blocks_depths_and_tasks() {
        let (small, large) = (Some(4096), Some(1 << 20));
        for (text, expected) in [
            ("4k", load(small, None, None)),
            ("  rnd4k Q32T8: ", load(small, Some(32), Some(8))),
            ("SEQ1M Q8T1", load(large, Some(8), Some(1))),
            ("randread-4KiB-qd16", load(small, Some(16), None)),
            ("rand_read_4k_iodepth=16_numjobs=4", load(small, Some(16), Some(4))),
            ("1 MiB blocks, 4 threads", load(large, None, Some(4))),
            ("block size 4096, queue depth: 2", load(small, Some(2), None)),
            ("\"bs\": \"4k\", \"iodepth\": 8,", load(small, Some(8), None)),
            ("bs 4k, threads 16", load(small, None, Some(16))),
            ("Sequential read, 1m blocks: ", load(large, None, None)),
            ("1m blocks: 1080.9 MiB/s, ", load(large, None, None)),
            ("4k: 1234.57 MB/s, 12 MB/s, 1,234 kB", load(small, None, None)),
            // Numbers of one of several, names, and two sizes.
            ("job 1, thread 2, t3, disk4", Load::default()),
            ("4k and 8k", Load::default()),
            ("mean of 3 runs in 4 seconds", Load::default()),
        ] {
            assert_eq!(Load::of_words(text), expected, "{text}");
        }
    }

    #[test]
    fn another_load_is_named_only_where_a_pass_has_it() {
        let (one, other) = (load(Some(4096), Some(1), Some(1)), load(Some(1 << 20), Some(8), Some(4)));
        let named = |text: &str| Load::of_words(text).names_other(one, other);
        assert!(named("1M") && named("QD8") && named("4 threads") && !named("4k") && !named("2M"));
        // A file of 1 MiB.
        let small_file = Load { size_bytes: [Some(1 << 20), None], ..one };
        assert!(!Load::of_words("1M").names_other(small_file, other));
        assert!(!named("QD1") && !named("QD16") && !Load::default().names_other(one, other));
        assert!(Load::of_words("QD1").names_other(other, load(Some(4096), None, Some(1))));
        // Four tasks with eight requests each.
        assert!(!Load::of_words("QD32").names_other(other, load(None, Some(32), Some(1))));
    }
}
