//! Checks that test data is stored once: no two files below `fixtures/` and `crates/` have the same bytes.
//!
//! A case that needs the bytes of another one names it: `stderr = "CASE/stderr.txt"` in the `provenance.toml` of a
//! tool's run, `same_as` in the cases of `fixtures/detectors` and `fixtures/truth`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Size in bytes up to which files may be equal: a reference would not be shorter.
const SHORT: usize = 100;

/// Returns the regular files below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("an entry")).collect();
    entries.sort_by_key(fs::DirEntry::path);
    let mut found = Vec::new();
    for entry in entries {
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() && entry.file_name() != "target" {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

/// Returns a line for each file with the bytes of an earlier one.
fn copies(files: &[PathBuf]) -> Vec<String> {
    let mut seen: BTreeMap<Vec<u8>, &Path> = BTreeMap::new();
    let mut copies = Vec::new();
    for file in files {
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if bytes.len() <= SHORT {
            continue;
        }
        match seen.get(&bytes) {
            Some(first) => copies.push(format!("{} is a copy of {}", file.display(), first.display())),
            None => drop(seen.insert(bytes, file)),
        }
    }
    copies
}

#[test]
fn no_file_is_a_copy_of_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = files(&root.join("fixtures"));
    all.extend(files(&root.join("crates")));
    assert!(all.len() > 500, "only {} files were found", all.len());
    let copies = copies(&all);
    assert!(copies.is_empty(), "{}\n(hint: name the first file in place of the copy)", copies.join("\n"));
}

#[test]
fn a_copy_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("inner")).expect("a folder");
    for (name, text) in [
        ("a", "x".repeat(SHORT + 1)),
        ("inner/b", "x".repeat(SHORT + 1)),
        ("c", "y".repeat(SHORT)),
        ("d", "y".repeat(SHORT)),
    ] {
        fs::write(folder.path().join(name), text).expect("the file is written");
    }
    let copies = copies(&files(folder.path()));
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert!(copies[0].contains("inner/b is a copy of"), "{copies:?}");
}
