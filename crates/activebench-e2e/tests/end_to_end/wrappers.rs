//! A benchmark is identified by what the tree executes, independent of the program that starts it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use activebench_e2e::{Verified, Volume, needs, verify};

/// Runs an honest iozone behind a wrapper and compares it with the run without the wrapper.
#[track_caller]
fn check(volume: &Volume, command: &[&str]) {
    let run = verify(volume, &[], command);
    run.assert_nothing_lost();
    assert_eq!(run.report["tool"]["name"], "iozone", "{command:?}: {}", run.story());
    run.assert_honest();
    let promised = run.report["phases"][0]["id"].as_str().expect("a phase");
    assert_eq!(promised, "write", "{command:?}");
    assert_eq!(run.fact("write", "write_bytes"), f64::from(64 << 20), "{command:?}");
    assert!(run.fact("write", "syncs_inside") >= 1.0, "{command:?}: the options were read");
}

const TOOL: [&str; 6] = ["iozone", "-i0", "-e", "-c", "-s64m", "-r64k"];

#[test]
fn what_sets_priorities_processors_and_environment_is_seen_through() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "nice", "taskset", "env", "ionice");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    for wrapper in [&["nice", "-n", "5"][..], &["taskset", "-c", "0"], &["env", "A=b"], &["ionice", "-c2", "nice"]] {
        check(&volume, &[wrapper, &TOOL].concat());
    }
}

#[test]
fn another_user_s_benchmark_is_seen_through_too() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "setpriv", "runuser");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let everybody = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(volume.path(), everybody).expect("the folder is opened to everybody");
    check(&volume, &[&["setpriv", "--reuid", "65534", "--clear-groups"][..], &TOOL].concat());
    check(&volume, &[&["runuser", "-u", "nobody", "--"][..], &TOOL].concat());
}

#[test]
fn a_shell_and_a_script_are_seen_through() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let line = TOOL.join(" ");
    check(&volume, &["sh", "-c", &format!("echo before; {line}; echo after >&2")]);
    check(&volume, &["sh", "-c", &format!("exec nice {line}")]);

    // A script's words are not on the command line, but the tool's output still identifies it.
    let script = volume.beside("all.sh");
    std::fs::write(&script, format!("#!/bin/sh\n{line}\n")).expect("the script is written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it can be executed");
    let run = verify(&volume, &[], &[script.to_str().expect("UTF-8")]);
    assert_eq!(run.report["tool"]["name"], "iozone", "{}", run.story());
    assert_eq!(run.claim_verdict("write"), "confirmed", "{}", run.story());
}

/// Returns the parts of a report that no wrapper may change: its claims with their verdicts, and the warnings that do
/// not depend on the machine.
fn answers(run: &Verified) -> BTreeSet<String> {
    let list = |part: &str| run.report[part].as_array().cloned().unwrap_or_default();
    let claims = list("claims").into_iter().map(|claim| {
        // The machine decides if a figure of milliseconds is close enough to be confirmed.
        let holds = matches!(claim["verdict"].as_str(), Some("confirmed" | "not-checked"));
        let verdict = if holds { "holds".to_owned() } else { claim["verdict"].to_string() };
        format!("{} of {}: {verdict} ({})", claim["metric"], claim["phase"], claim["subject"])
    });
    // Codes for the duration of the pass, and for other activity on the machine.
    let of_the_machine = |code: &str| code.starts_with("AB6") || matches!(code, "AB701" | "AB903");
    let findings = list("findings");
    let fired = findings.iter().filter(|finding| finding["outcome"] == "fires" && finding["severity"] != "note");
    let codes = fired.filter(|finding| !of_the_machine(finding["code"].as_str().unwrap_or_default()));
    claims.chain(codes.map(|finding| format!("{} on {}", finding["code"], finding["phase"]))).collect()
}

#[test]
fn the_same_run_gives_the_same_answer_behind_every_wrapper() {
    needs!(beside: "fio", "mkfs.ext4", "losetup", "script", "make", "python3", "unshare", "stdbuf", "setsid", "timeout");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    volume.lay_out("data", 16);
    let line = "fio --name=a --rw=randrw --bs=16k --size=16m --filename=data --direct=1 --output-format=json";
    let executable = |name: &str, text: &str| {
        let path = volume.beside(name);
        std::fs::write(&path, text).expect("it is written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be executed");
        path.to_str().expect("a UTF-8 path").to_owned()
    };
    let script = executable("run.sh", &format!("#!/bin/sh\n{line}\n"));
    let makefile = executable("Makefile", &format!("all:\n\t{line}\n"));
    let words: Vec<&str> = line.split(' ').collect();
    let before =
        |wrapper: &[&str]| -> Vec<String> { wrapper.iter().chain(&words).map(|word| (*word).to_owned()).collect() };
    let own = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    let python = format!("import subprocess; subprocess.run('{line}'.split(), check=True)");
    let plain = answers(&verify(&volume, &[], &words));
    assert!(plain.iter().any(|answer| answer.contains("\"throughput\" of \"a-read\": holds")), "{plain:#?}");
    for wrapped in [
        own(&["sh", "-c", line]),
        own(&["sh", "-c", &format!("exec {line}")]),
        own(&["bash", "-c", &format!("cd . && {line} | cat")]),
        before(&["taskset", "-c", "0"]),
        before(&["nice", "-n", "1"]),
        before(&["timeout", "60"]),
        before(&["env", "A=b"]),
        before(&["setsid", "--wait"]),
        before(&["unshare", "--mount"]),
        before(&["stdbuf", "-oL"]),
        own(&["script", "-qefc", line, "/dev/null"]),
        own(&["python3", "-c", &python]),
        own(&["find", "data", "-exec", "sh", "-c", line, ";"]),
        own(&[&script]),
        own(&["make", "-s", "-f", &makefile]),
    ] {
        let words: Vec<&str> = wrapped.iter().map(String::as_str).collect();
        let run = verify(&volume, &[], &words);
        assert_eq!(answers(&run), plain, "{wrapped:?}: {}", run.story());
    }
}

#[test]
fn a_query_of_the_version_measures_nothing() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "sh");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let line = TOOL.join(" ");
    check(&volume, &["sh", "-c", &format!("iozone -v >/dev/null; {line}")]);
}

#[test]
fn a_tool_that_nobody_knows_is_judged_by_what_needs_no_claim() {
    needs!(beside: "mkfs.ext4", "losetup", "dd");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    // A program of a name that nobody knows, which prints nothing.
    let mover = volume.beside("mover");
    fs::copy("/bin/dd", &mover).expect("a copy of dd");
    let mover = mover.to_str().expect("UTF-8");
    let dd = |more: &[&str]| {
        let words = [mover, "if=/dev/zero", "of=f", "bs=64k", "count=1024", "status=none"];
        let run = verify(&volume, &[], &[&words[..], more].concat());
        run.assert_nothing_lost();
        // There is no claim, so nothing is verified and nothing accused.
        assert_eq!((run.verdict(), run.exit_code()), ("inconclusive", Some(3)), "{more:?}: {}", run.story());
        assert_eq!(run.report["claims"], serde_json::json!([]));
        run
    };
    let careless = dd(&[]);
    assert!(careless.codes("write-f").contains(&"AB301"), "{}", careless.story());
    assert_eq!(careless.fact("write-f", "write_bytes"), f64::from(64 << 20));
    assert!(!dd(&["conv=fsync"]).codes("write-f").contains(&"AB301"));
}
