//! The folder of runs: `latest`, `report` without a run, and `prune`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use activebench_e2e::{Volume, binary, needs};

fn activebench(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(binary()).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    output.expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the names of the runs in a folder, sorted; without `latest`.
fn runs(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("activebench-runs")).expect("a folder of runs");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name != "latest")
        .collect();
    names.sort();
    names
}

fn latest(folder: &Path) -> String {
    let target = fs::read_link(folder.join("activebench-runs/latest")).expect("a link");
    target.into_os_string().into_string().expect("UTF-8")
}

#[test]
fn the_latest_run_is_found_and_old_ones_are_removed() {
    needs!(beside: "dd");
    let volume = Volume::tmpfs(64);
    let folder = volume.path();
    for count in ["1", "2", "3"] {
        let counted = format!("count={count}");
        activebench(&folder, &["verify", "-q", "--", "dd", "if=/dev/zero", "of=f", "bs=64k", &counted]);
    }
    let all = runs(&folder);
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(latest(&folder), all[2]);
    let report = text(&activebench(&folder, &["report"]).stdout);
    assert!(report.contains(&all[2]), "{report}");
    // Neither a link nor what is no run is touched, and nothing is deleted where nobody can be asked.
    let elsewhere = volume.beside("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("run.json"), "{}").expect("a file");
    std::os::unix::fs::symlink(&elsewhere, folder.join("activebench-runs/20200101T000000Z-link")).expect("a link");
    fs::write(folder.join("activebench-runs/notes.txt"), "mine").expect("a file");
    let listed = activebench(&folder, &["prune", "--keep", "1", "--dry-run"]);
    let said = text(&listed.stdout) + &text(&listed.stderr);
    assert_eq!(listed.status.code(), Some(0), "{said}");
    assert!(said.contains(&all[0]) && said.contains(&all[1]) && !said.contains(&all[2]), "{said}");
    let refused = activebench(&folder, &["prune", "--keep", "1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert_eq!(runs(&folder).len(), 5);
    let removed = activebench(&folder, &["prune", "--keep", "1", "--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", text(&removed.stderr));
    assert_eq!(runs(&folder), ["20200101T000000Z-link", all[2].as_str(), "notes.txt"]);
    assert!(elsewhere.join("run.json").exists());
    assert_eq!(latest(&folder), all[2]);
    // With the last run its link goes, and a report says what is missing.
    let removed = activebench(&folder, &["prune", "--older-than", "0s", "--yes"]);
    assert_eq!(removed.status.code(), Some(0), "{}", text(&removed.stderr));
    assert!(fs::symlink_metadata(folder.join("activebench-runs/latest")).is_err());
    let report = activebench(&folder, &["report"]);
    assert_eq!(report.status.code(), Some(2), "{}", text(&report.stderr));
    assert!(text(&report.stderr).contains("hint: "), "{}", text(&report.stderr));
}
