//! Documents whose commands a reader copies: they are run.

use std::process::Command;

use activebench_e2e::{Volume, needs, verify};

#[test]
fn the_queries_of_the_json_page_work_on_a_real_report() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "jq");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let options = ["--target", "write >= 1 kB/s"];
    let run = verify(&volume, &options, &["iozone", "-i0", "-i1", "-s16m", "-f", "x"]);
    let file = volume.beside("report.json");
    std::fs::write(&file, run.report.to_string()).expect("it is written");
    let page = include_str!("../../../../docs/json.md");
    let queries: Vec<String> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | `")?.1.strip_suffix("` |"))
        .map(|query| query.replace("\\|", "|"))
        .collect();
    assert!(queries.len() >= 9, "{queries:?}");
    for query in queries {
        let output = Command::new("jq").args(["-r", &query]).arg(&file).output().expect("jq runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{query}: {}", String::from_utf8_lossy(&output.stderr));
        // Every question has an answer in this run, which has figures with and without an honest one.
        assert!(!said.trim().is_empty() && said.trim() != "null", "{query}: {said:?}");
    }
}
