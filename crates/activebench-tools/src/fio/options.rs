//! The options of one job, including those whose value is unknown.
//!
//! An option that is not stated has fio's default only if every source of options was read. There is no way to
//! read an option without this distinction.

use std::collections::BTreeMap;

use super::engine::{self, Kind};
use super::names;
use super::numbers::{bytes, is_true, time_ns};
use super::report::{Head, Way};

/// Maximum number of jobs, clones included: fio itself allows 4096 jobs.
pub(super) const MOST_JOBS: usize = 4096;

/// fio's default block size in bytes.
const DEFAULT_BLOCK: u64 = 4096;

/// Knowledge of one option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    /// Its value.
    Stated(&'a str),
    /// Not given: fio's default applies.
    Default,
    /// Unknown: it may have been given with any value.
    Unknown,
}

impl<'a> Answer<'a> {
    /// Returns the value; `default`, fio's default, if the option was not given.
    fn or(self, default: &'a str) -> Option<&'a str> {
        match self {
            Answer::Stated(value) => Some(value),
            Answer::Default => Some(default),
            Answer::Unknown => None,
        }
    }
}

/// Options that may have been given although they are not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Gap {
    /// None: all options were read.
    #[default]
    Nothing,
    /// Options given without a value: fio's JSON omits them.
    Switches,
    /// Any option, for this reason.
    Anything(String),
}

/// A value, with the base of its size suffixes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    /// `None` if only fio knows it.
    text: Option<String>,
    /// `None` if unknown.
    kb_base: Option<u64>,
}

/// The options of one job by their usual names. Later options override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobOptions {
    values: BTreeMap<String, Value>,
    /// Files that the job names, in order: each option adds its own. `None` for names that only fio knows.
    filenames: Vec<Option<String>>,
    /// Base of the size suffixes in the options that follow; `None` if unknown.
    kb_base: Option<u64>,
    /// Block sizes of reads, writes and trims in bytes, from all `bs` options in their order; `None` if unknown.
    blocks: [Option<u64>; 3],
    /// True if no `bs` option gives directions different block sizes.
    one_block: bool,
    /// Block sizes that fio states before the job starts.
    told_blocks: [Option<u64>; 3],
    gap: Gap,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            filenames: Vec::new(),
            kb_base: Some(1024),
            blocks: [Some(DEFAULT_BLOCK); 3],
            one_block: true,
            told_blocks: [None; 3],
            gap: Gap::Nothing,
        }
    }
}

impl JobOptions {
    /// Returns options of which nothing is known.
    pub(super) fn unknown(why: &str) -> Self {
        let mut options = Self::default();
        options.miss(why);
        options
    }

    /// Sets an option by any of its names. An unknown name may change any option.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.put(name, Some(value));
    }

    /// Sets an option whose value only fio knows.
    pub(super) fn set_unknown(&mut self, name: &str) {
        self.put(name, None);
    }

    fn put(&mut self, name: &str, value: Option<&str>) {
        let written = name.trim();
        let Some(name) = names::of_job(written) else {
            self.miss(&format!("the option {written} is not known"));
            return;
        };
        // If the words come from a script, they still have the quotes that a shell would have removed.
        let value = value.map(|value| value.trim_end().trim_matches(['"', '\'']));
        match name {
            "filename" => match value {
                Some(names) => self.filenames.extend(split_names(names.trim_start()).into_iter().map(Some)),
                None => self.filenames.push(None),
            },
            "bs" => self.set_blocks(value),
            // It applies to the options that follow.
            "kb_base" => {
                self.kb_base =
                    value.and_then(|base| base.trim().parse().ok()).filter(|base| [1000, 1024].contains(base))
            }
            // `buffered` is the inverse of `direct`.
            "buffered" => {
                let direct = value.map(|value| if is_true(value) { "0" } else { "1" });
                self.insert("direct", direct);
                return;
            }
            // O_ATOMIC implies O_DIRECT (init.c, `fixup_options`, 3.33).
            "atomic" if value.is_some_and(is_true) => self.insert("direct", Some("1")),
            // Each of the two sets the other; the later one counts.
            "rwmixread" => drop(self.values.remove("rwmixwrite")),
            "rwmixwrite" => drop(self.values.remove("rwmixread")),
            _ => {}
        }
        self.insert(name, value);
    }

    /// Reads one size per direction. The last size also applies to the directions after it; an empty one changes
    /// nothing.
    fn set_blocks(&mut self, sizes: Option<&str>) {
        let Some(sizes) = sizes else {
            self.blocks = [None; 3];
            return;
        };
        let sizes = sizes.strip_suffix(',').unwrap_or(sizes);
        let pieces: Vec<&str> = sizes.split([',', ':', '-']).collect();
        for (way, block) in self.blocks.iter_mut().enumerate() {
            if let Some(size) = pieces.get(way).or(pieces.last()).filter(|size| !size.trim().is_empty()) {
                *block = bytes(size, self.kb_base).filter(|bytes| *bytes > 0);
            }
        }
        // With `bs_is_seq_rand` the sizes do not belong to directions.
        self.one_block = pieces.len() == 1;
    }

    fn insert(&mut self, name: &str, value: Option<&str>) {
        self.values.insert(name.to_owned(), Value { text: value.map(str::to_owned), kb_base: self.kb_base });
    }

    /// Records that some options were not read. The first reason is kept.
    pub(super) fn miss(&mut self, why: &str) {
        if !matches!(self.gap, Gap::Anything(_)) {
            self.gap = Gap::Anything(why.to_owned());
        }
    }

    /// Records that options were given here that were not read: they may override the earlier ones.
    pub(super) fn miss_all_before(&mut self, why: &str) {
        self.miss(why);
        self.values.retain(|name, _| name == "name");
        self.filenames.push(None);
        (self.blocks, self.kb_base) = ([None; 3], None);
    }

    /// Reads options as fio itself states them: all that have a value. Switches without a value remain unknown.
    pub(super) fn told<'t>(told: impl IntoIterator<Item = &'t (String, String)>) -> Self {
        let mut options = Self::default();
        told.into_iter().for_each(|(name, value)| options.set(name, value));
        if options.gap == Gap::Nothing {
            options.gap = Gap::Switches;
        }
        options
    }

    /// Copies values from `other` where they are unknown here, and its files if these are unknown.
    pub(super) fn fill_from(&mut self, other: &JobOptions) {
        for (name, value) in &other.values {
            if self.get(name) == Answer::Unknown {
                self.values.insert(name.clone(), value.clone());
                if name == "bs" {
                    (self.blocks, self.one_block) = (other.blocks, other.one_block);
                }
            }
        }
        if self.filenames.iter().any(Option::is_none) {
            self.filenames.clone_from(&other.filenames);
        }
    }

    /// Sets an option unless it is known to have this value.
    pub(super) fn correct(&mut self, name: &str, value: &str) {
        if self.stated(name) != Some(value) {
            self.put(name, Some(value));
        }
    }

    /// Returns why some options may not have been read; `None` if at most values or switches are unknown.
    pub(super) fn unread(&self) -> Option<&str> {
        match &self.gap {
            Gap::Anything(why) => Some(why),
            Gap::Nothing | Gap::Switches => None,
        }
    }

    /// Returns true if every option given is known.
    pub(super) fn is_whole(&self) -> bool {
        self.gap == Gap::Nothing
            && self.values.values().all(|value| value.text.is_some())
            && self.filenames.iter().all(Option::is_some)
    }

    pub(super) fn get(&self, name: &str) -> Answer<'_> {
        match (self.values.get(name), &self.gap) {
            (Some(Value { text: Some(text), .. }), _) => Answer::Stated(text),
            (Some(_), _) | (None, Gap::Anything(_)) => Answer::Unknown,
            (None, Gap::Switches) if names::is_switch(name) => Answer::Unknown,
            (None, _) => Answer::Default,
        }
    }

    /// Returns the value if the option is known to be given.
    pub(super) fn stated(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Answer::Stated(value) => Some(value),
            Answer::Default | Answer::Unknown => None,
        }
    }

    /// Returns true if the option is known not to be given.
    pub(super) fn lacks(&self, name: &str) -> bool {
        self.get(name) == Answer::Default
    }

    /// Returns true if a switch is on, false if it is off or not given; `None` if unknown.
    pub(super) fn is_on(&self, name: &str) -> Option<bool> {
        match self.get(name) {
            Answer::Stated(value) => Some(is_true(value)),
            Answer::Default => Some(false),
            Answer::Unknown => None,
        }
    }

    /// Returns true if a switch is known to be on.
    pub(super) fn has(&self, name: &str) -> bool {
        self.is_on(name) == Some(true)
    }

    /// Returns a size in bytes, in the suffix base that applied where it was stated; `None` if no number is stated.
    pub(super) fn size(&self, name: &str) -> Option<u64> {
        let value = self.values.get(name)?;
        let base = value.kb_base.filter(|_| !matches!(self.gap, Gap::Anything(_)));
        bytes(value.text.as_deref()?, base)
    }

    /// Takes over fio's description of the job before it starts, where it differs from what is known.
    pub(super) fn take_head(&mut self, head: &Head) {
        let same = |known: &str, told: &str| known == told || (known == "readwrite" && told == "rw");
        if let Some(rw) = &head.rw {
            let known = self.get("rw").or("read").map(|order| order.split([':', ',']).next().unwrap_or(order));
            if !known.is_some_and(|known| same(known, rw)) {
                self.set("rw", rw);
            }
        }
        if let Some(engine) = head.engine.as_deref().filter(|engine| self.engine() != Some(*engine)) {
            self.set("ioengine", engine);
        }
        if let Some(depth) = head.depth.as_deref().filter(|depth| self.number("iodepth", 1) != depth.parse().ok()) {
            self.set("iodepth", depth);
        }
        self.told_blocks = head.block_bytes;
    }

    /// Returns true if both state the same values, and the same block sizes where both know them.
    pub(super) fn agrees(&self, other: &JobOptions) -> bool {
        let blocks = |options: &Self| Way::DIRECTIONS.map(|way| options.block_bytes(way));
        let differ = |(own, other): (Option<u64>, Option<u64>)| own.zip(other).is_some_and(|(own, other)| own != other);
        self.values == other.values && !blocks(self).into_iter().zip(blocks(other)).any(differ)
    }

    /// Returns the block size of a direction in bytes; `None` if it varies, comes from a log or is unknown.
    pub(super) fn block_bytes(&self, way: Way) -> Option<u64> {
        if self.replays() {
            return None;
        }
        if way == Way::Mixed {
            let of = |way| self.block_bytes(way);
            return match (self.reads()?, self.writes()?) {
                (true, false) => of(Way::Read),
                (false, true) => of(Way::Write),
                _ => of(Way::Read).filter(|bytes| of(Way::Write) == Some(*bytes)),
            };
        }
        // Data is verified in the blocks in which it was written.
        if way == Way::Read && self.verifies_after() != Some(false) {
            let written = self.own_block_bytes(Way::Write)?;
            return match self.reads()? {
                true => self.own_block_bytes(Way::Read).filter(|bytes| *bytes == written),
                false => Some(written),
            };
        }
        self.own_block_bytes(way)
    }

    /// As [`Self::block_bytes`] of a single direction, for what the job reads or writes itself.
    fn own_block_bytes(&self, way: Way) -> Option<u64> {
        if let Some(bytes) = self.told_blocks.get(way as usize).copied().flatten() {
            return Some(bytes);
        }
        if !["bsrange", "bssplit"].iter().all(|name| self.lacks(name)) {
            return None;
        }
        if self.get("bs") == Answer::Unknown || (!self.one_block && self.is_on("bs_is_seq_rand") != Some(false)) {
            return None;
        }
        self.blocks.get(way as usize).copied().flatten()
    }

    /// Returns a number; `default` if the option is not given.
    pub(super) fn number(&self, name: &str, default: u64) -> Option<u64> {
        self.get(name).or("").and_then(|text| if text.is_empty() { Some(default) } else { bytes(text, Some(1024)) })
    }

    /// Returns a time in ns, 0 if the option is not given. A time without a unit is in seconds.
    pub(super) fn seconds_as_ns(&self, name: &str) -> Option<u64> {
        time_ns(self.get(name).or("0")?, 1_000_000_000)
    }

    pub(super) fn name(&self) -> &str {
        self.stated("name").unwrap_or("")
    }

    /// Returns the files that the job names: empty if it names none and makes its own, `None` if they are unknown.
    pub(super) fn filenames(&self) -> Option<Vec<&str>> {
        if self.unread().is_some() {
            return None;
        }
        self.filenames.iter().map(Option::as_deref).collect()
    }

    /// Returns the engine; `None` if unknown.
    pub(super) fn engine(&self) -> Option<&str> {
        let engine = self.get("ioengine").or("psync")?;
        // The engine may be `external:path`, or have options after a colon.
        engine.split(':').next()
    }

    /// Returns true if the job is known to take its work from a log.
    pub(super) fn replays(&self) -> bool {
        self.values.contains_key("read_iolog")
    }

    /// Returns the order and direction, with anything after a colon; `None` if unknown or if they come from a log.
    pub(super) fn order(&self) -> Option<&str> {
        if self.replays() {
            return None;
        }
        self.get("rw").or("read")
    }

    /// Returns the order and direction only.
    pub(super) fn rw(&self) -> Option<&str> {
        self.order().map(|rw| rw.split([':', ',']).next().unwrap_or(rw))
    }

    pub(super) fn reads(&self) -> Option<bool> {
        self.rw().map(|rw| matches!(rw, "read" | "randread") || mixes(rw))
    }

    pub(super) fn writes(&self) -> Option<bool> {
        self.rw().map(|rw| matches!(rw, "write" | "randwrite" | "trimwrite" | "randtrimwrite") || mixes(rw))
    }

    pub(super) fn mixes(&self) -> Option<bool> {
        self.rw().map(mixes)
    }

    pub(super) fn trims(&self) -> Option<bool> {
        self.rw().map(|rw| matches!(rw, "trim" | "randtrim" | "trimwrite" | "randtrimwrite"))
    }

    pub(super) fn is_random(&self) -> Option<bool> {
        self.rw().map(|rw| rw.starts_with("rand"))
    }

    /// Returns the option that sets the mix of reads and writes, and the share of reads, from 0 to 1. The share is 0.5
    /// if no option sets it. `None` for a job that does not mix, or whose mix comes from elsewhere: a log of I/O, or
    /// the reads of a verification in addition to its own.
    pub(super) fn mix(&self) -> Option<(String, f64)> {
        if self.mixes() != Some(true) || self.verify() != Some(None) {
            return None;
        }
        let percent = |value: &str| value.trim().parse::<u32>().ok().filter(|share| *share <= 100);
        match (self.get("rwmixread"), self.get("rwmixwrite")) {
            (Answer::Stated(reads), _) => Some((format!("rwmixread={reads}"), f64::from(percent(reads)?) / 100.0)),
            (_, Answer::Stated(writes)) => {
                Some((format!("rwmixwrite={writes}"), f64::from(100 - percent(writes)?) / 100.0))
            }
            (Answer::Default, Answer::Default) => Some((format!("rw={}", self.rw()?), 0.5)),
            (Answer::Unknown, _) | (_, Answer::Unknown) => None,
        }
    }

    /// Returns the data verification that the job asks for, `Some(None)` if it asks for none; `None` if unknown.
    pub(super) fn verify(&self) -> Option<Option<&str>> {
        let method = self.get("verify").or("0")?;
        Some(Some(method).filter(|method| !matches!(*method, "0" | "none" | "null" | "pattern_hdr_none")))
    }

    /// Returns true if written data is read back and verified after each loop; `None` if unknown.
    pub(super) fn verifies_after(&self) -> Option<bool> {
        let (verify, writes) = (self.verify(), self.writes());
        if verify == Some(None) || writes == Some(false) {
            return Some(false);
        }
        let checks = is_true(self.get("do_verify").or("1")?);
        (verify.is_some() && writes.is_some()).then_some(checks)
    }

    /// Returns true if the job moves data in this direction, or verifies what it wrote; `None` if unknown.
    pub(super) fn goes(&self, way: Way) -> Option<bool> {
        if engine::kind(self.engine()) == Kind::Processor {
            return Some(false);
        }
        match way {
            Way::Read => Some(self.reads()? || self.verifies_after()?),
            Way::Write => self.writes(),
            Way::Trim => self.trims(),
            Way::Mixed => Some(true),
        }
    }

    /// Returns the number of passes over the files.
    pub(super) fn loops(&self) -> Option<u64> {
        self.number("loops", 1).map(|loops| loops.max(1))
    }

    /// Returns the number of files that the job makes if it names none.
    pub(super) fn files(&self) -> Option<u64> {
        self.number("nrfiles", 1)
    }

    /// Returns the number of clones.
    pub(super) fn clones(&self) -> Option<usize> {
        let clones = self.number("numjobs", 1).and_then(|count| usize::try_from(count).ok())?;
        Some(clones.clamp(1, MOST_JOBS))
    }
}

fn mixes(rw: &str) -> bool {
    matches!(rw, "rw" | "readwrite" | "randrw")
}

/// Splits a list of names at colons, except at those after a backslash.
pub(super) fn split_names(list: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut characters = list.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => names.iter_mut().next_back().into_iter().for_each(|name| name.extend(characters.next())),
            ':' => names.push(String::new()),
            plain => names.iter_mut().next_back().into_iter().for_each(|name| name.push(plain)),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> JobOptions {
        let mut options = JobOptions::default();
        given.iter().for_each(|(name, value)| options.set(name, value));
        options
    }

    #[test]
    fn what_was_not_read_has_no_default() {
        let of_json = JobOptions::told(&[("bs".to_owned(), "8k".to_owned())]);
        let mut partly = options(&[("bs", "8k")]);
        partly.miss("an included file");
        let mut substituted = options(&[("rw", "write")]);
        substituted.set_unknown("bs");
        for (options, bs, direct, time_based) in [
            (options(&[("bs", "8k")]), Answer::Stated("8k"), Answer::Default, Answer::Default),
            (of_json, Answer::Stated("8k"), Answer::Default, Answer::Unknown),
            (partly, Answer::Stated("8k"), Answer::Unknown, Answer::Unknown),
            (options(&[("no_such", "1")]), Answer::Unknown, Answer::Unknown, Answer::Unknown),
            (substituted, Answer::Unknown, Answer::Default, Answer::Default),
        ] {
            let seen = ["bs", "direct", "time_based"].map(|name| options.get(name));
            assert_eq!(seen, [bs, direct, time_based], "{options:?}");
        }
    }

    #[test]
    fn names_of_files_add_up() {
        for (given, expected) in [
            (vec![], vec![]),
            (vec![("filename", "a:b"), ("filename", "c")], vec!["a", "b", "c"]),
            (vec![("filename", r"a\:b:c")], vec!["a:b", "c"]),
        ] {
            assert_eq!(options(&given).filenames(), Some(expected), "{given:?}");
        }
        let mut unknown = options(&[("filename", "a")]);
        unknown.set_unknown("filename");
        assert_eq!(unknown.filenames(), None);
    }

    #[test]
    fn the_base_holds_for_what_comes_after() {
        for (given, expected) in [
            (vec![("size", "4k")], Some(4096)),
            (vec![("kb_base", "1000"), ("size", "4k")], Some(4000)),
            (vec![("size", "4k"), ("kb_base", "1000")], Some(4096)),
            (vec![("kb_base", "7"), ("size", "4k")], None),
            (vec![("kb_base", "7"), ("size", "4096")], Some(4096)),
        ] {
            assert_eq!(options(&given).size("size"), expected, "{given:?}");
        }
    }

    #[test]
    fn buffered_is_direct_upside_down() {
        for (given, expected) in [
            (vec![("buffered", "0")], true),
            (vec![("buffered", "1")], false),
            (vec![("direct", "1"), ("buffered", "1")], false),
            (vec![("atomic", "1")], true),
        ] {
            assert_eq!(options(&given).has("direct"), expected, "{given:?}");
        }
    }
}
