//! Calls that the log cannot represent: counts and sentences.

use std::collections::BTreeMap;

use activebench_model::call::{Call, FileId};
use activebench_model::units::Quantity;

use super::FILES_NAMED;
use crate::export::names::FileNames;
use crate::wording::{count, list};

/// Why a call of the load is not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// The format has no action for the call.
    NoWord,
    /// fio would not find the file, with the reason.
    Name(&'static str),
    /// The call failed.
    Failed,
    /// The call moved no bytes, which fio treats as an error.
    MovedNothing,
    /// The offset of the call is not known.
    NoOffset,
    /// The length of the call does not fit into 32 bits.
    TooLong,
    /// The call used `O_DIRECT` and ended inside a sector, at the end of the file.
    DirectTail,
}

/// Number of calls, and the bytes that they moved.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    calls: usize,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, call: &Call) {
        self.calls += 1;
        if call.op.is_data() {
            self.bytes += u64::try_from(call.returned).unwrap_or(0);
        }
    }

    fn words(self) -> String {
        match self.bytes {
            0 => count(self.calls, "call"),
            bytes => format!("{} of {}", count(self.calls, "call"), Quantity::bytes(bytes)),
        }
    }
}

/// All calls that are missing from the log. Memory: one entry per kind of call and reason, and one per file whose name
/// cannot be written.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    by_op: BTreeMap<(Why, &'static str), Tally>,
    by_file: BTreeMap<(&'static str, FileId), (u64, Tally)>,
}

impl LeftOut {
    pub(super) fn add(&mut self, call: &Call, why: Why) {
        match (why, call.file) {
            (Why::Name(why), Some(file)) => {
                let (last_ns, tally) = self.by_file.entry((why, file)).or_default();
                *last_ns = call.start_ns;
                tally.add(call);
            }
            _ => self.by_op.entry((why, call.op.name())).or_default().add(call),
        }
    }

    /// Returns one sentence per reason.
    pub(super) fn sentences(&self, names: &FileNames) -> Vec<String> {
        let mut by_reason: BTreeMap<Why, Vec<String>> = BTreeMap::new();
        for ((why, op), tally) in &self.by_op {
            by_reason.entry(*why).or_default().push(format!("{op} ({})", tally.words()));
        }
        let mut sentences: Vec<String> = by_reason
            .into_iter()
            .map(|(why, calls)| format!("not in the log, {}: {}", reason(why), list(&calls, usize::MAX)))
            .collect();
        let mut by_name: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((why, file), (last_ns, tally)) in &self.by_file {
            let name = names.at(*file, *last_ns).map_or("a file".to_owned(), |name| format!("\"{name}\""));
            by_name.entry(why).or_default().push(format!("{name} ({})", tally.words()));
        }
        sentences.extend(by_name.into_iter().map(|(why, files)| {
            format!("not in the log, a file that an iolog cannot name: {why}: {}", list(&files, FILES_NAMED))
        }));
        sentences
    }
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::NoWord => "which has no word for it",
        Why::Name(why) => why,
        Why::Failed => "because it failed",
        Why::MovedNothing => "because it moved nothing",
        Why::NoOffset => "because its offset is not known",
        Why::TooLong => "because fio takes no length above 4 GiB - 1",
        Why::DirectTail => "because it passed the cache by and ended inside a sector",
    }
}
