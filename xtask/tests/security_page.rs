//! Checks that each sentence of `SECURITY.md` names a test that exists.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the text of every Rust source below a folder, with its path.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            found.push((path, text));
        }
    }
}

/// Returns the tests of a table's row: the words `module::test` of its second cell.
fn tests(row: &str) -> Vec<&str> {
    let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    cell.split('`').skip(1).step_by(2).filter(|word| word.contains("::")).collect()
}

#[test]
fn each_sentence_names_a_test_that_exists() {
    let mut known = Vec::new();
    sources(&root().join("crates"), &mut known);
    let page = fs::read_to_string(root().join("SECURITY.md")).expect("the page");
    let mut in_table = false;
    let mut sentences = 0;
    for row in page.lines() {
        in_table = row.starts_with("| sentence |") || in_table && row.starts_with('|');
        if !in_table || row.starts_with("| sentence |") || row.starts_with("| ---") {
            continue;
        }
        sentences += 1;
        let named = tests(row);
        assert!(!named.is_empty() || row.contains("| the same |") || row.contains("`cargo xtask "), "{row}");
        for test in named {
            let (module, name) = test.split_once("::").expect("module and test");
            let name = name.trim_start_matches("tests::");
            let is_there = |(path, text): &(PathBuf, String)| {
                path.file_stem().is_some_and(|stem| stem == module) && text.contains(&format!("fn {name}("))
            };
            assert!(known.iter().any(is_there), "{test} is no test: {row}");
        }
    }
    assert!(sentences > 10, "{sentences} sentences");
}
