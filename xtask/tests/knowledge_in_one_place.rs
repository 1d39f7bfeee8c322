//! Checks that knowledge has one place: names of benchmarks are in `activebench-tools` alone, and codes of detectors in
//! the detectors' own files. Everybody else asks the adapter or the detector. Unit tests may name both.
//!
//! The files of a run directory, which may come from anybody, are opened in one place alone, too.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that name a benchmark's program or package.
const TOOLS: [&str; 8] = ["bonnie", "bonnie++", "dd", "fio", "iozone", "iozone3", "orion", "sysbench"];

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

/// Crates that run above the seam: they open devices, `/proc` and the files of the host, and no stored run.
const ABOVE_THE_SEAM: [&str; 4] = ["activebench-host", "activebench-probe", "activebench-runner", "activebench-ebpf"];

/// Sources that open files by a path, each with what they open.
const OPENERS: [(&str, &str); 32] = [
    ("activebench-record/src/folder.rs", "the files of run directories: the one place"),
    ("activebench-bundle/src/reader.rs", "a bundle that the user named, and new files in our own folder"),
    ("activebench-engine/src/acceptance.rs", "the acceptance file that the user named"),
    ("activebench-engine/src/acceptance/record.rs", "the acceptance file in a new directory of ours"),
    ("activebench-engine/src/acceptance/vetting.rs", "the executable of a tool"),
    ("activebench-engine/src/bundle.rs", "the key that the user named"),
    ("activebench-engine/src/bundle/redacted.rs", "this machine's host name"),
    ("activebench-engine/src/ceiling.rs", "the output that the user named"),
    ("activebench-engine/src/ceiling/counters.rs", "counters of the kernel"),
    ("activebench-engine/src/ceiling/store.rs", "ceilings of this machine"),
    ("activebench-engine/src/ceiling/tested_storage.rs", "the storage that is tested"),
    ("activebench-engine/src/device_guard.rs", "devices"),
    ("activebench-engine/src/named_devices.rs", "devices, and files of the command to run"),
    ("activebench-engine/src/replication.rs", "logs in a new directory of ours"),
    ("activebench-engine/src/replication/engine.rs", "what a replay of ours printed"),
    ("activebench-engine/src/replication/scratch.rs", "files of ours on the target"),
    ("activebench-engine/src/thresholds.rs", "the thresholds that the user named"),
    ("activebench-engine/src/tool_files.rs", "files of the tool that ran"),
    ("activebench-engine/src/watched_processes.rs", "processes under /proc"),
    ("activebench-fixtures/src/host_tree.rs", "fixtures"),
    ("activebench-fixtures/src/tool_case.rs", "fixtures"),
    ("activebench/src/commands/accept.rs", "the template that the user named"),
    ("activebench/src/commands/detectors.rs", "the manual pages"),
    ("activebench/src/commands/hidden/man_pages.rs", "the manual pages"),
    ("activebench/src/commands/hidden/made_up_run.rs", "a made-up run"),
    ("activebench/src/commands/hidden/workload.rs", "files of a workload"),
    ("activebench/src/commands/hidden/workload/lists.rs", "files of a workload"),
    ("activebench/src/commands/hidden/workload/narrow.rs", "files of a workload"),
    ("activebench/src/commands/hidden/workload/rings.rs", "files of a workload"),
    ("activebench/src/commands/parse.rs", "the output that the user named"),
    ("activebench/src/output.rs", "the reports that the user named"),
    ("activebench/src/settings.rs", "the user's settings"),
];

#[test]
fn files_of_run_directories_are_opened_in_one_place() {
    let opens = [
        "fs::read(",
        "fs::read_to_string(",
        "fs::write(",
        "fs::copy(",
        "fs::rename(",
        "fs::OpenOptions",
        "File::open(",
        "File::create(",
        "File::create_new(",
        "File::options(",
        "OpenOptions::new(",
        "fs::openat",
        "fs::open(",
        ".metadata()?.is_file()",
    ];
    let mut opened = Vec::new();
    let mut unused: Vec<&str> = OPENERS.iter().map(|(path, _)| *path).collect();
    for (path, code) in sources() {
        if ABOVE_THE_SEAM.iter().any(|above| path.starts_with(above)) || !opens.iter().any(|open| code.contains(open)) {
            continue;
        }
        unused.retain(|known| *known != path);
        if !OPENERS.iter().any(|(known, _)| *known == path) {
            opened.push(path);
        }
    }
    assert!(opened.is_empty(), "open files of a run directory through `RunFolder`, others are listed: {opened:#?}");
    assert!(unused.is_empty(), "these open nothing any more: {unused:#?}");
}
