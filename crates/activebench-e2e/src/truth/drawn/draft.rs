//! A drawn command before it is wrapped, and the draws that every tool uses.

use std::collections::BTreeMap;

use fastrand::Rng;

use crate::truth::case::{Case, Drawn, Expect, How, Limits, VolumeSpec};

/// A command before it is wrapped; every tool's draw returns one.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Description for the reader of the table.
    pub(super) what: String,
    pub(super) needs: &'static [&'static str],
    pub(super) volume: VolumeSpec,
    /// See [`Case::fills`].
    pub(super) fills: bool,
    pub(super) prepare: Vec<String>,
    pub(super) keep_cache: bool,
    pub(super) limits: Limits,
    /// Further options of activebench.
    pub(super) options: Vec<String>,
    /// No word contains a blank or a quotation mark.
    pub(super) words: Vec<String>,
    /// Filter for the command's own output: shell words after a `|`.
    pub(super) filter: Option<String>,
    /// Codes that are true of the run, with the reason.
    pub(super) true_of_it: BTreeMap<String, String>,
}

impl Draft {
    /// A command that needs nothing else: no preparation, no limits and a cold page cache.
    pub(super) fn new(what: String, needs: &'static [&'static str], volume: VolumeSpec, words: Vec<String>) -> Self {
        Self {
            what,
            needs,
            volume,
            fills: false,
            prepare: Vec::new(),
            keep_cache: false,
            limits: Limits::default(),
            options: Vec::new(),
            words,
            filter: None,
            true_of_it: BTreeMap::new(),
        }
    }

    pub(super) fn into_case(self, drawn: Drawn, code: &str, name: String) -> Case {
        Case {
            what: self.what,
            how: How::Verify,
            needs: self.needs.iter().map(|need| (*need).to_owned()).collect(),
            volume: Some(self.volume),
            fills: self.fills,
            other: None,
            prepare: self.prepare,
            keep_cache: self.keep_cache,
            neighbours: Vec::new(),
            limits: self.limits,
            options: [vec!["--fail-on".to_owned(), "never".to_owned()], self.options].concat(),
            repeat: None,
            command: self.words,
            expect: Expect { beside: self.true_of_it, ..Expect::default() },
            only_when: Vec::new(),
            of_the_machine: BTreeMap::new(),
            code: code.to_owned(),
            name,
            folder: ".".into(),
            drawn: Some(drawn),
            again: None,
        }
    }

    pub(super) fn also_true(&mut self, code: &str, why: &str) {
        self.true_of_it.insert(code.to_owned(), why.to_owned());
    }
}

/// Draws one of several values.
pub(super) fn one_of<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    *rng.choice(of).expect("there is something to choose from")
}

/// Returns `true` in this percentage of draws.
pub(super) fn in_percent(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(0..100) < percent
}

/// Splits a line into words.
pub(super) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A shell and its script.
pub(super) fn script(line: &str) -> Vec<String> {
    ["sh", "-c", line].map(str::to_owned).to_vec()
}

/// Writes a size in one of the notations that fio accepts and people use. Bytes are a multiple of KiB.
pub(super) fn written_size(rng: &mut Rng, kib: u64) -> String {
    match rng.u32(0..4) {
        0 if kib.is_multiple_of(1024) => format!("{}m", kib / 1024),
        1 if kib.is_multiple_of(1024) => format!("{}M", kib / 1024),
        2 => format!("{}", kib * 1024),
        _ => format!("{kib}k"),
    }
}
