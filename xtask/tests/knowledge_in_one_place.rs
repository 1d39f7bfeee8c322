//! Checks that knowledge has one place: names of benchmarks are in `activebench-tools` alone, and codes of detectors in
//! the detectors' own files. Everybody else asks the adapter or the detector. Unit tests may name both.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that name a benchmark's program or package.
const TOOLS: [&str; 6] = ["bonnie", "bonnie++", "fio", "iozone", "iozone3", "orion"];

/// Sources that may have such a word, each with the reason.
const NOT_A_TOOL: [(&str, &str); 1] =
    [("activebench-detect/src/thresholds/profiles.rs", "the name of a profile of thresholds")];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// Returns the sources of the product's crates, each with its path below `crates`, without comments and unit tests.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![crates()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(crates()).expect("below crates").display().to_string();
            if path.is_dir() {
                let is_product = !["target", "tests", "benches", "fuzz"].iter().any(|other| name.ends_with(other));
                if is_product && name != "activebench-e2e" {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && !is_of_tests(&path) {
                let text = fs::read_to_string(&path).expect("a source");
                let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
                found.push((name, code.collect::<Vec<_>>().join("\n")));
            }
        }
    }
    assert!(found.len() > 300, "{} sources", found.len());
    found
}

/// Returns `true` if the file that declares this module compiles it for tests alone.
fn is_of_tests(path: &Path) -> bool {
    let (Some(stem), Some(folder)) = (path.file_stem().and_then(|stem| stem.to_str()), path.parent()) else {
        return false;
    };
    let declarations = [folder.with_extension("rs"), folder.join("lib.rs"), folder.join("main.rs")];
    let declared = ["", "pub(super) ", "pub(crate) "].map(|public| format!("#[cfg(test)]\n{public}mod {stem};"));
    let declares = |text: String| declared.iter().any(|line| text.contains(line));
    declarations.iter().any(|file| fs::read_to_string(file).is_ok_and(declares))
}

/// Returns the string literals of a source that have no escapes: names and codes have none.
fn literals(code: &str) -> impl Iterator<Item = &str> {
    code.lines().flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[test]
fn benchmarks_are_named_by_their_adapters_alone() {
    let mut named = Vec::new();
    for (path, code) in sources() {
        let is_exempt = path.starts_with("activebench-tools/") || NOT_A_TOOL.iter().any(|(exempt, _)| *exempt == path);
        if !is_exempt {
            named.extend(literals(&code).filter(|text| TOOLS.contains(text)).map(|text| format!("{path}: {text:?}")));
        }
    }
    assert!(named.is_empty(), "ask the adapter instead: {named:#?}");
}

#[test]
fn detectors_are_named_by_their_own_files_alone() {
    let is_code =
        |text: &&str| text.len() == 5 && text.starts_with("AB") && text[2..].bytes().all(|b| b.is_ascii_digit());
    let mut named = Vec::new();
    for (path, code) in sources() {
        if !path.starts_with("activebench-detect/src/detectors/") {
            named.extend(literals(&code).filter(is_code).map(|text| format!("{path}: {text:?}")));
        }
    }
    assert!(named.is_empty(), "look the detector up by what it declares: {named:#?}");
}
