//! Merges sentences that differ only in a few words or figures: the first is printed in full, the others only where
//! they differ.
//!
//! Detectors write one sentence per phase. Sentences of one detector mostly differ only in figures. Words are compared
//! by position; nothing is computed from figures.

use crate::wording::{PHASES_NAMED, list, merged};

/// Replaces words that a text shares with the first one of its group.
const SHARED: &str = "…";
/// Maximum equal words between differing ones that are repeated instead of replaced by the mark.
const BRIDGED: usize = 2;
/// Minimum words of a text that may be shortened. In a shorter text the differing words are meaningless alone.
const LEAST_WORDS: usize = 6;
/// Maximum texts printed in full; texts that resemble none of them are counted.
const SAID_IN_FULL: usize = 2;

/// A text and the phases that it is about.
pub(crate) struct Said<'run> {
    /// Phases; never empty.
    pub(crate) phases: Vec<&'run str>,
    /// The whole sentence.
    pub(crate) text: &'run str,
    /// Text that replaces the sentence after a similar one: a figure. `None` to show the differing words.
    pub(crate) short: Option<String>,
}

/// Merges all texts into one. A text that all phases share has no prefix; otherwise each is preceded by its phases.
/// Phases beyond [`PHASES_NAMED`] entries are counted. Empty texts are left out.
pub(crate) fn condensed(said: Vec<Said<'_>>) -> String {
    let said: Vec<Said<'_>> = said.into_iter().filter(|said| !said.text.is_empty()).collect();
    if let [only] = said.as_slice() {
        return only.text.to_owned();
    }
    let mut entries: Vec<(Vec<&str>, String)> = Vec::new();
    let alike = grouped(said);
    let mut left_out: usize = alike.iter().skip(SAID_IN_FULL).flatten().map(|said| said.phases.len()).sum();
    for group in alike.iter().take(SAID_IN_FULL) {
        let Some((first, others)) = group.split_first() else { continue };
        entries.push((first.phases.clone(), without_stop(first.text).to_owned()));
        let others = others.iter().flat_map(|other| {
            let short = other.short.clone().unwrap_or_else(|| difference(first.text, other.text));
            other.phases.iter().map(move |phase| (*phase, short.clone()))
        });
        entries.extend(merged(others));
    }
    left_out += entries.iter().skip(PHASES_NAMED).map(|(phases, _)| phases.len()).sum::<usize>();
    let shown: Vec<String> = entries
        .into_iter()
        .take(PHASES_NAMED)
        .map(|(phases, text)| format!("{}: {text}", list(&phases, PHASES_NAMED)))
        .collect();
    let more = if left_out == 0 { String::new() } else { format!("; and {left_out} more") };
    format!("{}{more}", shown.join("; "))
}

/// Groups similar texts, in the order of their first appearance.
fn grouped(said: Vec<Said<'_>>) -> Vec<Vec<Said<'_>>> {
    let mut groups: Vec<Vec<Said<'_>>> = Vec::new();
    for said in said {
        match groups.iter_mut().find(|group| is_alike(group[0].text, said.text)) {
            Some(group) => group.push(said),
            None => groups.push(vec![said]),
        }
    }
    groups
}

/// Returns `true` if at least half of the words are equal at the same position.
fn is_alike(one: &str, other: &str) -> bool {
    let is_same = differing(one, other);
    let same = is_same.iter().filter(|differs| !**differs).count();
    one.split_whitespace().count() == other.split_whitespace().count() && 2 * same >= is_same.len()
}

/// Returns, for each position that both texts have, `true` if the words differ.
fn differing(one: &str, other: &str) -> Vec<bool> {
    one.split_whitespace().zip(other.split_whitespace()).map(|(one, other)| one != other).collect()
}

/// Returns the words of `text` that differ from `first` at their position: `… 309.0 ms …`.
fn difference(first: &str, text: &str) -> String {
    let words: Vec<&str> = without_stop(text).split_whitespace().collect();
    if words.len() < LEAST_WORDS {
        return words.join(" ");
    }
    let mut shown = differing(first, text);
    shown.truncate(words.len());
    // A figure is shown with its unit.
    for place in 1..shown.len() {
        shown[place] |= shown[place - 1] && words[place - 1].ends_with(|c: char| c.is_ascii_digit());
    }
    show_whole_code(&words, &mut shown);
    let differing: Vec<usize> = (0..shown.len()).filter(|place| shown[*place]).collect();
    for pair in differing.windows(2) {
        if pair[1] - pair[0] <= BRIDGED + 1 {
            shown[pair[0]..pair[1]].fill(true);
        }
    }
    let mut pieces: Vec<&str> = Vec::new();
    for (word, shown) in words.iter().zip(shown) {
        if shown {
            pieces.push(word);
        } else if pieces.last() != Some(&SHARED) {
            pieces.push(SHARED);
        }
    }
    pieces.join(" ")
}

/// Shows code between backticks as a whole or not at all.
fn show_whole_code(words: &[&str], shown: &mut [bool]) {
    let borders: Vec<usize> = (0..shown.len()).filter(|place| words[*place].matches('`').count() % 2 == 1).collect();
    for border in borders.chunks_exact(2) {
        let code = &mut shown[border[0]..=border[1]];
        if code.contains(&true) {
            code.fill(true);
        }
    }
}

/// Removes the full stop, so that a sentence can be part of a longer one.
fn without_stop(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &[(&str, &str)], expected: &str) {
        let said = merged(texts.iter().copied());
        let said = said.into_iter().map(|(phases, text)| Said { phases, text, short: None });
        assert_eq!(condensed(said.collect()), expected, "{texts:?}");
    }

    #[test]
    fn what_is_alike_is_said_once() {
        check(&[], "");
        check(&[("write", ""), ("read", "")], "");
        check(&[("write", "add `-e`."), ("rewrite", "add `-e`.")], "add `-e`.");
        check(&[("write", "add `-e`."), ("read", "")], "add `-e`.");
        check(
            &[
                ("write", "a larger file, about `-s 7g`"),
                ("read", "a larger file, about `-s 9g`"),
                ("reread", "a larger file, about `-s 9g`"),
            ],
            "write: a larger file, about `-s 7g`; read, reread: … `-s 9g`",
        );
        check(
            &[("write", "copying into the page cache"), ("read", "copying from the page cache")],
            "write: copying into the page cache; read: copying from the page cache",
        );
        check(
            &[("write", "1 GiB in the 2.6 s to the end."), ("rewrite", "1 GiB in the 0.3 s to the end.")],
            "write: 1 GiB in the 2.6 s to the end; rewrite: … 0.3 s …",
        );
        check(
            &[
                ("write", "let it take part (synced or direct writes)"),
                ("read", "let it take part (cold or direct reads)"),
            ],
            "write: let it take part (synced or direct writes); read: … (cold or direct reads)",
        );
    }

    #[test]
    fn what_is_not_alike_is_said_in_full() {
        check(
            &[("write", "one thing"), ("read", "another matter here")],
            "write: one thing; read: another matter here",
        );
        check(&[("write", "a"), ("read", "b"), ("reread", "c"), ("bkwd", "d")], "write: a; read: b; and 2 more");
    }

    #[test]
    fn a_figure_stands_for_a_sentence_that_is_like_the_first() {
        let said = |phase, text, short: &str| Said { phases: vec![phase], text, short: Some(short.to_owned()) };
        let said = vec![
            said("write", "it ended 350 ms later", "15 %"),
            said("rewrite", "it ended 172 ms later", "126 %"),
            said("random", "it ended 173 ms later", "126 %"),
            said("read", "nothing of that sort", "3 %"),
        ];
        assert_eq!(condensed(said), "write: it ended 350 ms later; rewrite, random: 126 %; read: nothing of that sort");
    }

    #[test]
    fn many_phases_are_counted() {
        let texts: Vec<(String, String)> =
            (0..9).map(|i| (format!("p{i}"), format!("it took {i} ms of it all"))).collect();
        let said = texts.iter().map(|(phase, text)| Said { phases: vec![phase], text, short: None });
        assert_eq!(
            condensed(said.collect()),
            "p0: it took 0 ms of it all; p1: … 1 ms …; p2: … 2 ms …; p3: … 3 ms …; p4: … 4 ms …; p5: … 5 ms …; and 3 more"
        );
    }
}
