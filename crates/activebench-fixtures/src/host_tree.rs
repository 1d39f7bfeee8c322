//! Recorded parts of `/proc` and `/sys`: one file per host (`fixtures/host`), unpacked into a temporary folder.
//!
//! A line of the file is one of:
//!
//! | line | meaning |
//! | --- | --- |
//! | `PATH<tab>TEXT` | a line of the file at `PATH`; the lines of one file follow each other |
//! | `PATH -> TARGET` | a symbolic link |
//! | `PATH (empty)` | an empty file |
//! | `PATH (hex)<tab>DIGITS` | a file of these bytes; spaces between the digits are ignored |
//!
//! Paths are relative to the root and contain no spaces.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

/// A recorded tree below a temporary folder, which is removed with this value.
#[derive(Debug)]
pub struct HostTree(TempDir);

impl HostTree {
    /// Folder that contains `proc` and `sys`.
    pub fn root(&self) -> &Path {
        self.0.path()
    }
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>),
    Link(String),
}

/// Unpacks the tree of a host, `fixtures/host/CASE.txt`.
///
/// # Panics
/// When the file is missing or malformed, or the folder cannot be written.
pub fn host_tree(case: &str) -> HostTree {
    let file = crate::folder().join(format!("host/{case}.txt"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let entries = parse(&text).unwrap_or_else(|defect| panic!("{}: {defect}", file.display()));
    let tree = HostTree(tempfile::tempdir().expect("a temporary folder"));
    for (path, entry) in entries {
        let place = tree.root().join(path);
        fs::create_dir_all(place.parent().expect("a path below the root")).expect("the folder is made");
        match entry {
            Entry::File(bytes) => fs::write(&place, bytes).expect("the file is written"),
            Entry::Link(target) => std::os::unix::fs::symlink(target, &place).expect("the link is made"),
        }
    }
    tree
}

/// Reads the entries by path.
fn parse(text: &str) -> Result<BTreeMap<&str, Entry>, String> {
    let mut entries = BTreeMap::new();
    // Path of the file to which the line before belongs.
    let mut open = "";
    for (index, line) in text.lines().enumerate() {
        let (path, entry) = entry(line).ok_or_else(|| format!("line {}: {line:?} is malformed", index + 1))?;
        let is_text = line[path.len()..].starts_with('\t');
        match (entries.get_mut(path), entry) {
            (Some(Entry::File(bytes)), Entry::File(further)) if is_text && path == open => bytes.extend(further),
            (Some(_), _) => return Err(format!("line {}: a second entry for {path}", index + 1)),
            (None, entry) => drop(entries.insert(path, entry)),
        }
        open = if is_text { path } else { "" };
    }
    Ok(entries)
}

fn entry(line: &str) -> Option<(&str, Entry)> {
    let (path, rest) = line.split_at(line.find([' ', '\t'])?);
    let entry = if let Some(text) = rest.strip_prefix('\t') {
        Entry::File(format!("{text}\n").into_bytes())
    } else if let Some(target) = rest.strip_prefix(" -> ") {
        Entry::Link(target.to_owned())
    } else if let Some(digits) = rest.strip_prefix(" (hex)\t") {
        Entry::File(bytes(digits)?)
    } else if rest == " (empty)" {
        Entry::File(Vec::new())
    } else {
        return None;
    };
    let below = !path.is_empty() && !path.starts_with('/') && path.split('/').all(|name| name != "..");
    below.then_some((path, entry))
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|digit| *digit != ' ')
        .map(|digit| digit.to_digit(16).map(|value| value as u8))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| Some(pair.first()? << 4 | pair.get(1)?));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_line_is_read() {
        let text = "proc/a\tone \nproc/a\t\ttwo\nsys/link -> ../x y\nsys/none (empty)\nsys/page (hex)\t0080 0a\n";
        let expected = [
            ("proc/a", Entry::File(b"one \n\ttwo\n".to_vec())),
            ("sys/link", Entry::Link("../x y".to_owned())),
            ("sys/none", Entry::File(Vec::new())),
            ("sys/page", Entry::File(vec![0, 0x80, 10])),
        ];
        assert_eq!(parse(text), Ok(BTreeMap::from(expected)));
    }

    #[test]
    fn malformed_lines_are_refused() {
        for text in [
            "word",
            "/etc/x\ttext",
            "sys/../../x\ttext",
            "a (hex)\t123",
            "a (hex)\tzz",
            "a (other)",
            "a (empty)\na\tline",
            "a\tline\nb\tline\na\tline",
            "a -> b\na -> c",
            "a\tline\na (empty)",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
