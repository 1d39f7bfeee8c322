//! Documents whose commands a reader copies: they are run.

use std::process::Command;

use activebench_e2e::{Volume, binary, needs, verify};

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

#[test]
fn a_job_of_a_ci_system_has_the_answer_in_its_log_and_the_results_in_a_file() {
    needs!(beside: "dd", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let (file, out) = (volume.beside("disk.xml"), volume.beside("run"));
    let mut command = Command::new(binary());
    command.current_dir(volume.path()).env_remove("GITHUB_ACTIONS").args(["verify", "--format"]);
    command.arg(format!("junit={}", file.display())).arg("--out").arg(&out);
    let output = command.args(["--", "dd", "if=/dev/zero", "of=x", "bs=1M", "count=32"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(1), true), "{said}");
    assert!(said.contains("DISCREPANCY") && said.contains("AB301") && said.lines().count() <= 30, "{said}");
    assert!(std::fs::read_to_string(&file).expect("the results").contains("<testsuites name=\"activebench\""));
    // What converts a stored run prints nothing beside the file.
    let mut again = Command::new(binary());
    again.args(["report", "--format"]).arg(format!("junit={}", file.display())).arg(&out);
    let output = again.output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout.is_empty(), output.stderr.is_empty()), (Some(0), true, true));
}
