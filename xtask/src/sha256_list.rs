//! Lists of SHA-256 sums in the format of `sha256sum`: `<64 hex digits>  <name>`, one per line.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Result, bail};
use sha2::{Digest, Sha256};

/// Returns the sum of some bytes, as lower-case hex digits.
pub(crate) fn sum(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a String cannot fail.
        write!(hex, "{byte:02x}").expect("a String takes every character");
    }
    hex
}

/// Sums by name; a map, so that the list is sorted.
pub(crate) type Sums = BTreeMap<String, String>;

/// Renders the list as text, sorted by name.
pub(crate) fn render(sums: &Sums) -> String {
    sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect()
}

/// Parses a list.
///
/// # Errors
/// When a line is not a sum, two spaces and a name, or a name occurs twice.
pub(crate) fn parse(text: &str) -> Result<Sums> {
    let mut sums = Sums::new();
    for (index, line) in text.lines().enumerate() {
        let Some((sum, name)) = line.split_once("  ") else {
            bail!("line {}: expected a sum, two spaces and a name, found {line:?}", index + 1);
        };
        if sum.len() != 64 || !sum.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            bail!("line {}: {sum:?} is not a SHA-256 sum", index + 1);
        }
        if name.is_empty() || sums.insert(name.to_owned(), sum.to_owned()).is_some() {
            bail!("line {}: the name {name:?} is empty or occurs twice", index + 1);
        }
    }
    Ok(sums)
}

/// Describes the changes from `old` to `new`, one sentence per name; empty when nothing changed.
pub(crate) fn differences(old: &Sums, new: &Sums) -> Vec<String> {
    let mut sentences = Vec::new();
    for (name, sum) in new {
        match old.get(name) {
            None => sentences.push(format!("{name} is new")),
            Some(old_sum) if old_sum != sum => sentences.push(format!("{name} has changed")),
            Some(_) => {}
        }
    }
    sentences.extend(old.keys().filter(|name| !new.contains_key(*name)).map(|name| format!("{name} is gone")));
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum of no bytes (FIPS 180-4 example files).
    const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    /// Sum of `abc`.
    const OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn sums(entries: &[(&str, &str)]) -> Sums {
        entries.iter().map(|(name, sum)| ((*name).to_owned(), (*sum).to_owned())).collect()
    }

    #[test]
    fn sums_are_the_published_ones() {
        assert_eq!(sum(b""), OF_NOTHING);
        assert_eq!(sum(b"abc"), OF_ABC);
    }

    #[test]
    fn a_list_survives_a_round_trip_sorted() {
        let list = sums(&[("maps.h", OF_ABC), ("activebench.bpf.c", OF_NOTHING)]);
        let text = render(&list);
        assert_eq!(text, format!("{OF_NOTHING}  activebench.bpf.c\n{OF_ABC}  maps.h\n"));
        assert_eq!(parse(&text).expect("our own list"), list);
    }

    #[test]
    fn what_is_not_a_list_is_refused_with_its_line() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let error = parse(text).expect_err("not a list").to_string();
            assert!(error.contains(expected), "{error:?} lacks {expected:?}");
        }
        check("deadbeef  a.h\n", "line 1: \"deadbeef\" is not a SHA-256 sum");
        check(&format!("{OF_ABC} a.h\n"), "line 1: expected a sum, two spaces and a name");
        check(&format!("{OF_ABC}  a.h\n{OF_ABC}  a.h\n"), "line 2: the name \"a.h\" is empty or occurs twice");
        check(&format!("{OF_ABC}  \n"), "line 1: the name \"\" is empty");
        check(&format!("{}  a.h\n", OF_ABC.to_uppercase()), "is not a SHA-256 sum");
    }

    #[test]
    fn differences_name_each_file() {
        #[track_caller]
        fn check(old: &[(&str, &str)], new: &[(&str, &str)], expected: &[&str]) {
            assert_eq!(differences(&sums(old), &sums(new)), expected);
        }
        check(&[("a.h", OF_ABC)], &[("a.h", OF_ABC)], &[]);
        check(&[("a.h", OF_ABC)], &[("a.h", OF_NOTHING)], &["a.h has changed"]);
        check(&[("a.h", OF_ABC)], &[("b.h", OF_ABC)], &["b.h is new", "a.h is gone"]);
    }
}
