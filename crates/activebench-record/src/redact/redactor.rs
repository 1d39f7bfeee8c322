//! The words of a run and their replacements.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use activebench_model::run::Redaction;

use super::words;

/// Kind of thing that a word names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Named by the user.
    Named,
    Host,
    User,
    Serial,
    Model,
    Address,
    Path,
}

impl Kind {
    /// Returns the name under which it is counted.
    fn counted(self) -> &'static str {
        match self {
            Kind::Named => "named",
            Kind::Host => "hosts",
            Kind::User => "users",
            Kind::Serial => "serials",
            Kind::Model => "models",
            Kind::Address => "addresses",
            Kind::Path => "paths",
        }
    }

    /// Returns the beginning of its replacements.
    fn label(self) -> &'static str {
        match self {
            Kind::Named => "word",
            Kind::Host => "host",
            Kind::User => "user",
            Kind::Serial => "serial",
            Kind::Model => "model",
            Kind::Address => "address",
            Kind::Path => "path",
        }
    }
}

/// A word's replacement, of the same length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Replacement {
    kind: Kind,
    bytes: Vec<u8>,
}

/// The replacements, over all runs that belong together.
#[derive(Debug, Default)]
pub struct Redactor {
    /// Words with their kind; of several kinds the first in the order of [`Kind`].
    pub(super) learnt: BTreeMap<Vec<u8>, Kind>,
    /// Strings of several words that are replaced as a whole: words of digits mean nothing alone.
    pub(super) learnt_phrases: BTreeMap<Vec<u8>, Kind>,
    /// Names of hosts and users that are ordinary words, too.
    pub(super) ambiguous: BTreeSet<String>,
    /// Every word that occurs anywhere: none of them may become a replacement.
    pub(super) seen: BTreeSet<Vec<u8>>,
    /// Replacements of words, ready for use; see [`Redactor::finish`].
    words: BTreeMap<Vec<u8>, Replacement>,
    /// Replacements of phrases by their first word, the longest first.
    phrases: HashMap<Vec<u8>, Vec<(Vec<u8>, Replacement)>>,
}

impl Redactor {
    /// Decides the replacements, after every run was learnt.
    pub fn finish(&mut self) {
        let mut counts: BTreeMap<Kind, u64> = BTreeMap::new();
        for (phrase, kind) in &self.learnt_phrases {
            let count = counts.entry(*kind).or_default();
            *count += 1;
            let bytes = words::in_phrase(phrase, *count);
            let first = words::first(phrase).to_vec();
            self.phrases.entry(first).or_default().push((phrase.clone(), Replacement { kind: *kind, bytes }));
        }
        for phrases in self.phrases.values_mut() {
            phrases.sort_by_key(|(phrase, _)| std::cmp::Reverse(phrase.len()));
        }
        for (word, kind) in &self.learnt {
            let count = counts.entry(*kind).or_default();
            let bytes = loop {
                *count += 1;
                match words::replacement(kind.label(), word.len(), *count) {
                    Some(bytes) if self.stands_already(&bytes) => {}
                    Some(bytes) => break bytes,
                    // There are more short words than names of that length: some share one.
                    None => break vec![b'x'; word.len()],
                }
            };
            self.words.insert(word.clone(), Replacement { kind: *kind, bytes });
        }
    }

    /// Names of hosts and users that are ordinary words too, and were therefore kept; ascending.
    pub fn kept(&self) -> impl Iterator<Item = &str> {
        self.ambiguous.iter().map(String::as_str)
    }

    /// True if a replacement could be taken for another word.
    fn stands_already(&self, word: &[u8]) -> bool {
        self.seen.contains(word) || self.learnt.contains_key(word) || words::is_ordinary(word)
    }

    /// Returns how much was replaced; the copy itself states what it lacks.
    pub(super) fn account(&self) -> Redaction {
        let mut replaced = BTreeMap::new();
        let words = self.words.iter().map(|(word, replacement)| (word.as_slice(), replacement));
        let phrases = self.phrases.values().flatten().map(|(phrase, replacement)| (words::first(phrase), replacement));
        // This machine's name is known and need not occur anywhere.
        for (_, replacement) in words.chain(phrases).filter(|(word, _)| self.seen.contains(*word)) {
            *replaced.entry(replacement.kind.counted().to_owned()).or_default() += 1;
        }
        Redaction { replaced, left_out: BTreeMap::new() }
    }

    /// Returns a text with every word replaced.
    pub fn text(&self, text: &str) -> String {
        // Replacements are ASCII and replace whole words, so that this stays UTF-8.
        String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned()
    }

    /// Like [`Redactor::text`], for any bytes; the length stays the same.
    pub(crate) fn bytes(&self, text: &[u8]) -> Vec<u8> {
        let mut out = text.to_vec();
        let mut at = 0;
        while let Some((start, end)) = words::next(text, at) {
            let word = &text[start..end];
            let phrase = self.phrases.get(word).and_then(|phrases| {
                let whole = |phrase: &[u8]| {
                    let end = start + phrase.len();
                    text[start..].starts_with(phrase) && !text.get(end).is_some_and(|next| words::is_part(*next))
                };
                phrases.iter().find(|(phrase, _)| whole(phrase))
            });
            at = match (phrase, self.words.get(word)) {
                (Some((phrase, replacement)), _) => {
                    out[start..start + phrase.len()].copy_from_slice(&replacement.bytes);
                    start + phrase.len()
                }
                (None, Some(replacement)) => {
                    out[start..end].copy_from_slice(&replacement.bytes);
                    end
                }
                (None, None) => end,
            };
        }
        out
    }

    /// Replaces the words of a text that the kernel cuts at a length: its last word may be the beginning of a longer
    /// one.
    pub(super) fn cut_text(&self, text: &str, length: usize) -> String {
        let mut out = self.bytes(text.as_bytes());
        let last = words::last(text.as_bytes()).filter(|(_, end)| text.len() >= length && *end == text.len());
        if let Some((start, end)) = last {
            let word = &text.as_bytes()[start..end];
            let longer = self.words.range(word.to_vec()..).next().filter(|(long, _)| long.starts_with(word));
            if let Some((_, replacement)) = longer.filter(|_| word.len() >= words::LEAST && !words::is_ordinary(word)) {
                out[start..end].copy_from_slice(&replacement.bytes[..word.len()]);
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn redactor(words: &[(&str, Kind)]) -> Redactor {
        let mut redactor = Redactor::default();
        for (word, kind) in words {
            redactor.learn(word.as_bytes(), *kind);
        }
        redactor.finish();
        redactor
    }

    #[test]
    fn words_are_replaced_at_equal_width_everywhere_alike() {
        let redactor = redactor(&[
            ("falcon-db01", Kind::Host),
            ("alice", Kind::User),
            ("payroll", Kind::Path),
            ("550e8400-e29b-41d4-a716-446655440000", Kind::Serial),
            ("10.1.2.33", Kind::Address),
        ]);
        for (text, expected) in [
            ("falcon", "host02"),
            ("falcon-db01  64M 1330k", "host02-hos1  64M 1330k"),
            ("/home/alice/payroll/x", "/home/user1/path001/x"),
            ("alice_payroll.tmp", "user1_path001.tmp"),
            ("malice alices", "malice alices"),
            ("uuid=550e8400-e29b-41d4-a716-446655440000,", "uuid=00000000-0000-0000-0000-000000000001,"),
            ("addr=10.1.2.33,x", "addr=00.0.0.01,x"),
            ("10.1.2.334", "10.1.2.334"),
            ("iozone -i 0 -s 1g", "iozone -i 0 -s 1g"),
            ("", ""),
        ] {
            assert_eq!(redactor.text(text), expected);
            assert_eq!(redactor.text(text).len(), text.len());
        }
    }

    #[test]
    fn a_name_that_was_cut_is_known() {
        let redactor = redactor(&[("falconbenchmarker", Kind::Path)]);
        assert_eq!(redactor.cut_text("falconbenchmark", 15), "path00000000000");
        assert_eq!(redactor.cut_text("falconbench", 15), "falconbench");
    }

    #[test]
    fn ordinary_words_are_kept_and_told_where_they_name_somebody() {
        let redactor = redactor(&[("test", Kind::Host), ("root", Kind::User), ("data", Kind::Path)]);
        assert_eq!(redactor.text("/data/test of root"), "/data/test of root");
        assert_eq!(redactor.kept().collect::<Vec<_>>(), ["test"]);
        // Unless the user insists.
        let mut named = Redactor::default();
        named.learn(b"test", Kind::Named);
        named.finish();
        assert_eq!(named.text("/data/test"), "/data/wor1");
    }

    #[test]
    fn a_replacement_is_no_word_that_stands_there_already() {
        let mut redactor = Redactor::default();
        redactor.see(b"a user1 of that name");
        redactor.learn(b"alice", Kind::User);
        redactor.finish();
        assert_eq!(redactor.text("alice user1"), "user2 user1");
    }

    proptest! {
        #[test]
        fn any_bytes_keep_their_length_and_lose_the_names(
            pieces in vec(prop_oneof![vec(any::<u8>(), 0..9), "[a-e]{3,6}".prop_map(String::into_bytes)], 0..40),
            names in vec("[a-e]{3,6}", 0..6),
        ) {
            let text = pieces.join(&b' ');
            let mut redactor = Redactor::default();
            redactor.see(&text);
            for name in &names {
                redactor.learn(name.as_bytes(), Kind::Named);
            }
            redactor.finish();
            let clean = redactor.bytes(&text);
            prop_assert_eq!(clean.len(), text.len());
            prop_assert!(words::all(&clean).all(|word| names.iter().all(|name| name.as_bytes() != word)));
            prop_assert_eq!(words::all(&clean).count(), words::all(&text).count());
        }
    }
}
