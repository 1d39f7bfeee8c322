//! Runs as one file: packed, moved, checked, changed, signed and redacted; compared with tar, zstd and openssl as
//! independent implementations.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use activebench_e2e::{Verified, Volume, assert_follows, binary, needs, obstacle, skip, verify};
use serde_json::Value;

/// iozone stops its clock before the sync: a discrepancy.
const LIE: [&str; 4] = ["iozone", "-i0", "-s32m", "-r64k"];

fn activebench(arguments: &[&str], folder: &Path) -> Output {
    Command::new(binary()).args(arguments).current_dir(folder).output().expect("activebench runs")
}

/// Returns the output, and asserts the exit code.
fn said(output: &Output, exit_code: i32) -> String {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
    assert_eq!(output.status.code(), Some(exit_code), "{text}");
    text
}

fn shell(script: &str, folder: &Path) -> String {
    let output = Command::new("sh").args(["-ec", script]).current_dir(folder).output().expect("sh runs");
    said(&output, 0)
}

fn word(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

/// Bundles a run to a file beside the volume.
fn bundle(volume: &Volume, run: &Path, name: &str, options: &[&str]) -> PathBuf {
    let file = volume.beside(name);
    let output = activebench(&[&["bundle", word(run), "--out", word(&file)], options].concat(), &volume.beside(""));
    said(&output, 0);
    file
}

/// Returns the names in a bundle, in their order.
fn names(file: &Path) -> Vec<String> {
    let listed = shell(&format!("tar --zstd -tf {}", word(file)), Path::new("/"));
    listed.lines().map(str::to_owned).collect()
}

/// Unpacks a bundle into a new folder.
fn unpacked(file: &Path, folder: PathBuf) -> PathBuf {
    fs::create_dir_all(&folder).expect("a folder");
    shell(&format!("tar --zstd -xf {}", word(file)), &folder);
    folder
}

/// Packs files of a folder in the format of a bundle.
fn packed(folder: &Path, names: &[String], file: &Path) {
    let names = names.join(" ");
    shell(&format!("tar --format=ustar -cf - {names} | zstd -q -f --check -o {}", word(file)), folder);
}

fn keys(volume: &Volume) -> Option<[PathBuf; 3]> {
    if let Some(reason) = obstacle(&["openssl"]) {
        skip(&reason);
        return None;
    }
    shell(
        "openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out key.pub.pem; \
         openssl genpkey -algorithm ed25519 | openssl pkey -pubout -out other.pub.pem",
        &volume.beside(""),
    );
    Some(["key.pem", "key.pub.pem", "other.pub.pem"].map(|name| volume.beside(name)))
}

fn check(file: &Path, options: &[&str]) -> Output {
    activebench(&[&["verify-bundle", word(file)], options].concat(), Path::new("/"))
}

#[test]
fn a_run_is_judged_the_same_wherever_its_bundle_goes() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "tar", "zstd", "jq", "sha256sum");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &LIE);
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());

    // Its default name, in the working directory; and the same bytes when bundled from another place.
    let here = volume.beside("");
    let name = format!("{}.activebench.tar.zst", run.run.file_name().expect("a name").to_str().expect("UTF-8"));
    said(&activebench(&["bundle", word(&run.run)], &here), 0);
    let file = volume.beside(&name);
    let before = fs::read(&file).expect("the bundle");
    let again = activebench(&["bundle", word(&run.run)], &here);
    assert!(said(&again, 2).contains("is there already (hint: --force"), "{again:?}");
    said(&activebench(&["bundle", word(&run.run), "--force"], &here), 0);
    assert_eq!(fs::read(&file).expect("the bundle"), before);
    assert_eq!(
        fs::read(bundle(&volume, &run.run.join("../").join(run.run.file_name().expect("a name")), "b", &[]))
            .expect("it"),
        before
    );

    let elsewhere = volume.beside("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let moved = elsewhere.join("evidence");
    fs::rename(&file, &moved).expect("it moves");
    fs::rename(&run.run, volume.beside("gone")).expect("it moves");
    let text = said(&check(&moved, &[]), 0);
    assert!(text.contains("discrepancy, exit code 1, judged again"), "{text}");
    assert!(text.contains("none: anybody can have made this bundle"), "{text}");

    // A bundle in the place of a directory.
    let report: Value =
        serde_json::from_slice(&activebench(&["report", word(&moved), "--format", "json"], &elsewhere).stdout)
            .expect("a report");
    assert_eq!((&report["verdict"], &report["claims"]), (&run.report["verdict"], &run.report["claims"]));
    assert_eq!(report["run"]["directory"], word(&moved));
    said(&activebench(&["recheck", word(&moved)], &elsewhere), 1);
    assert!(said(&activebench(&["show", word(&moved), "--stage", "names"], &elsewhere), 0).contains("iozone.tmp"));

    // With other programs, as docs/bundle.md describes.
    let folder = unpacked(&moved, volume.beside("unpacked"));
    shell(r#"jq -r '.files[] | .sha256 + "  " + .name' bundle.json | sha256sum --check --quiet"#, &folder);
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("bundle.json")).expect("it")).expect("JSON");
    assert_follows(include_str!("../../../../docs/bundle.schema.json"), &manifest);
    assert_eq!((&manifest["verdict"], &manifest["tool"]["name"]), (&run.report["verdict"], &Value::from("iozone")));
    // The unpacked bundle is a run directory like any other.
    said(&activebench(&["recheck", "run"], &folder), 1);
}

#[test]
fn a_signature_is_openssl_s_too() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "tar", "zstd", "jq", "sha256sum");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let Some([key, public, other]) = keys(&volume) else { return };
    let run = verify(&volume, &[], &LIE).run;
    let file = bundle(&volume, &run, "signed", &["--sign", word(&key)]);
    let text = said(&check(&file, &["--key", word(&public)]), 0);
    assert!(text.starts_with("GENUINE  signed by the key ") && text.contains("\nDISCREPANCY  iozone"), "{text}");
    said(&check(&file, &["--key", word(&public), "--fail-on", "fail"]), 1);
    let directory = said(&check(&run, &[]), 2);
    assert!(directory.contains("is a directory, not a bundle (hint: `activebench recheck"), "{directory}");
    assert!(text.contains("valid (key ") && text.contains("Signed result: FAILED"), "{text}");
    assert!(said(&check(&file, &[]), 0).contains("NOT CHECKED"));
    assert!(said(&check(&file, &["--key", word(&other)]), 6).contains("not right under the key"));
    let unsigned = bundle(&volume, &run, "unsigned", &[]);
    assert!(said(&check(&unsigned, &["--key", word(&public)]), 6).contains("it is not signed"));
    // Files that do not contain the right kind of key.
    assert!(said(&check(&file, &["--key", word(&key)]), 2).contains("-pubout"));
    assert!(
        said(&activebench(&["bundle", word(&run), "--sign", word(&public), "--out", "/x"], Path::new("/")), 2)
            .contains("--sign takes the private one")
    );

    let folder = unpacked(&file, volume.beside("unpacked"));
    let script = r#"
        jq -r .payload statement.dsse.json | base64 -d > statement.json
        jq -r .signatures[0].sig statement.dsse.json | base64 -d > signature
        type=$(jq -r .payloadType statement.dsse.json)
        { printf 'DSSEv1 %d %s %d ' ${#type} "$type" $(stat -c %s statement.json); cat statement.json; } > signed
        openssl pkeyutl -verify -pubin -inkey ../key.pub.pem -rawin -in signed -sigfile signature
        jq -r '.subject[] | .digest.sha256 + "  " + .name' statement.json | sha256sum --check --quiet
        jq -r '.predicateType + " " + .predicate.result + " " + .predicate.configuration[0].name' statement.json"#;
    let checked = shell(script, &folder);
    assert!(checked.contains("Signature Verified Successfully"), "{checked}");
    assert!(checked.contains("https://in-toto.io/attestation/test-result/v0.1 FAILED run/run.json"), "{checked}");
}

#[test]
fn a_byte_changed_in_any_file_is_named() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "tar", "zstd");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let Some([key, public, _]) = keys(&volume) else { return };
    let run = verify(&volume, &["--sample-hz", "0"], &LIE).run;
    let file = bundle(&volume, &run, "signed", &["--sign", word(&key)]);
    let folder = unpacked(&file, volume.beside("unpacked"));
    let names = names(&file);
    assert_eq!(names[..2], ["bundle.json", "statement.dsse.json"]);
    let changed = volume.beside("changed");
    // The same files packed by tar and zstd are as good.
    packed(&folder, &names, &changed);
    said(&check(&changed, &["--key", word(&public)]), 0);
    for name in &names {
        let path = folder.join(name);
        let whole = fs::read(&path).expect("a file");
        let Some(byte) = whole.len().checked_sub(1).map(|last| last / 2) else { continue };
        let mut bytes = whole.clone();
        bytes[byte] ^= 1;
        fs::write(&path, bytes).expect("it is written");
        packed(&folder, &names, &changed);
        let text = said(&check(&changed, &["--key", word(&public)]), 6);
        assert!(text.contains(name.as_str()), "{name}: {text}");
        fs::write(&path, whole).expect("it is written");
    }

    // One file too many, one too few, a link, and a report with another content but a correct sum.
    fs::write(folder.join("run/notes.txt"), "x").expect("it is written");
    packed(&folder, &[&names[..], &["run/notes.txt".to_owned()]].concat(), &changed);
    assert!(said(&check(&changed, &[]), 6).contains(r#""run/notes.txt" is in the archive though"#));
    packed(&folder, &names[..names.len() - 1], &changed);
    assert!(said(&check(&changed, &[]), 6).contains("is missing though"));
    std::os::unix::fs::symlink("/etc/passwd", folder.join("run/link")).expect("a link");
    packed(&folder, &[&names[..], &["run/link".to_owned()]].concat(), &changed);
    assert!(said(&check(&changed, &[]), 6).contains("a symbolic link"));
    let unsigned: Vec<String> = names.iter().filter(|name| *name != "statement.dsse.json").cloned().collect();
    let script = r#"sed -i 's/DISCREPANCY/VERIFIED/' run/report.txt; n=$(stat -c %s run/report.txt); s=$(sha256sum < run/report.txt | cut -c-64)
        jq --argjson n $n --arg s $s '(.files[] | select(.name == "run/report.txt")) |= (.bytes = $n | .sha256 = $s)' bundle.json > new; mv new bundle.json"#;
    if obstacle(&["jq"]).is_none() {
        shell(script, &folder);
        packed(&folder, &unsigned, &changed);
        assert!(said(&check(&changed, &[]), 6).contains(r#""run/report.txt" is not what the evidence gives"#));
        shell(r#"jq '.verdict = "verified" | .exit_code = 0' bundle.json > new; mv new bundle.json"#, &folder);
        packed(&folder, &unsigned, &changed);
        let text = said(&check(&changed, &[]), 6);
        assert!(
            text.contains("claims the verdict verified with exit code 0, the evidence gives discrepancy"),
            "{text}"
        );
    }

    // A cut bundle, and files that are not bundles.
    let whole = fs::read(&file).expect("the bundle");
    for length in [0, 3, whole.len() / 2, whole.len() - 1] {
        fs::write(&changed, &whole[..length]).expect("it is written");
        let text = said(&check(&changed, &[]), 6);
        assert!(text.contains("does not verify"), "{text}");
    }
    let small = check(&file, &["--max-size", "64K"]);
    assert!(said(&small, 6).contains("more than the limit of 65536 bytes"));
    said(&check(&volume.beside("nothing"), &[]), 2);
}

#[test]
fn evidence_that_was_changed_is_not_bundled_and_notes_are_left_out() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "tar", "zstd");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let run = verify(&volume, &[], &LIE).run;
    fs::write(run.join("notes.txt"), "of my own").expect("it is written");
    let file = volume.beside("b");
    let output = activebench(&["bundle", word(&run), "--out", word(&file)], Path::new("/"));
    assert!(said(&output, 0).contains("left out, because no run.json lists them: notes.txt"));
    assert!(!names(&file).contains(&"run/notes.txt".to_owned()));
    fs::write(run.join("stdout.txt"), "another").expect("it is written");
    let output = activebench(&["bundle", word(&run), "--out", word(&file), "--force"], Path::new("/"));
    assert!(said(&output, 2).contains("stdout.txt is not what was recorded"));
    said(&activebench(&["bundle", word(&volume.path()), "--out", "x"], &volume.beside("")), 2);
}

#[test]
fn a_series_and_two_runs_side_by_side_are_bundled_whole() {
    needs!(beside: "iozone", "fio", "mkfs.ext4", "losetup", "tar", "zstd");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let series = volume.beside("series");
    let fio = ["fio", "--name=a", "--rw=randread", "--bs=4k", "--size=8m", "--filename=x", "--direct=1"];
    let first = [&["verify", "-q", "--repeat", "2", "--out", word(&series), "--"], &fio[..]].concat();
    let exit_code = activebench(&first, &volume.path()).status.code().expect("a code");
    let pair = volume.beside("pair");
    let second = [&["verify", "-q", "--and-corrected", "--out", word(&pair), "--"], &LIE[..]].concat();
    said(&activebench(&second, &volume.path()), 1);
    for redacted in [&[][..], &["--redact"]] {
        let file = bundle(&volume, &series, &format!("s{}", redacted.len()), redacted);
        let text = said(&check(&file, &["--fail-on", "fail"]), exit_code);
        assert!(text.contains("a series of 2 runs"), "{text}");
        said(&activebench(&["recheck", word(&file)], Path::new("/")), exit_code);
        let file = bundle(&volume, &pair, &format!("p{}", redacted.len()), redacted);
        let text = said(&check(&file, &[]), 0);
        assert!(text.contains("a run and one with its advice"), "{text}");
        assert!(said(&activebench(&["recheck", word(&file)], Path::new("/")), 2).contains("holds two runs"));
    }
}

/// Planted names, each of which must be gone.
const PLANTED: [&str; 9] = [
    "falcondb01",
    "zebulon",
    "S3Z8NB0K123456",
    "550e8400-e29b-41d4-a716-446655440000",
    "acmecorp",
    "payroll",
    "kestrelbenchmar",
    "quarterly",
    "supersecret",
];

#[test]
fn a_redacted_bundle_names_nobody_and_is_judged_the_same() {
    needs!(beside: "iozone", "mkfs.ext4", "losetup", "tar", "zstd", "sh");
    let volume = Volume::on_loop("ext4", 256, "noatime");
    let folder = volume.path().join("acmecorp/payroll-2024");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy("/bin/true", folder.join("kestrelbenchmarker")).expect("a program");
    // A banner as from uname, a user's home, a disk by its serial number, a file system by its UUID.
    let script = format!(
        "echo 'Linux falcondb01 6.1.0-13-amd64 x86_64 of zebulon'; echo 'host: falcondb01 | 64M |' >&2; \
         cat /home/zebulon/quarterly.conf /dev/disk/by-id/nvme-ACME_S3Z8NB0K123456 2>&1; \
         echo 'disk S3Z8NB0K123456 fs 550e8400-e29b-41d4-a716-446655440000 supersecret'; \
         ./kestrelbenchmarker; exec iozone -i0 -s32m -r64k -f {}/quarterly-zebulon.dat",
        word(&folder)
    );
    let options = ["--purpose", "the payroll of acmecorp", "--suppress", "AB601=falcondb01 is shared"];
    let run = activebench_e2e::verify_in(&folder, volume.beside("supersecret-run"), &options, &["sh", "-c", &script]);
    assert_eq!((run.verdict(), run.exit_code()), ("discrepancy", Some(1)), "{}", run.story());
    let planted = |texts: &[u8]| -> Vec<&str> {
        PLANTED.into_iter().filter(|word| texts.windows(word.len()).any(|part| part == word.as_bytes())).collect()
    };
    let stages = ["names", "tasks", "block", "stacks", "claims", "phases", "facts", "findings", "activity"];
    let shown = |run: &Path| -> Vec<u8> {
        let show =
            |stage: &&str| activebench(&["show", word(run), "--stage", stage, "--format", "json"], Path::new("/"));
        stages.iter().flat_map(|stage| show(stage).stdout).collect()
    };
    let before = planted(&shown(&run.run));
    for word in ["acmecorp", "zebulon", "quarterly", "kestrelbenchmar", "S3Z8NB0K123456"] {
        assert!(before.contains(&word), "{before:?}");
    }

    let here = volume.beside("");
    let output = activebench(&["bundle", word(&run.run), "--redact", "--redact-word", "supersecret"], &here);
    let text = said(&output, 0);
    let name = text.lines().find_map(|line| line.split_once(": ")).expect("a name").0.to_owned();
    assert!(name.ends_with("-redacted.activebench.tar.zst") && planted(name.as_bytes()).is_empty(), "{name}");
    let file = volume.beside(&name);
    let text = said(&check(&file, &[]), 0);
    // This machine's own name may be among them: it counts if the record contains the same word, for example as a
    // symbol.
    assert!(text.contains("a redacted copy; replaced: hosts ") && text.contains(", named 1, paths "), "{text}");

    let tar = shell(&format!("zstd -q -dc {} > all.tar", word(&file)), &here);
    assert_eq!(tar, "");
    assert_eq!(planted(&fs::read(volume.beside("all.tar")).expect("the tar")), Vec::<&str>::new());
    assert_eq!(planted(&shown(&file)), Vec::<&str>::new());
    // The volume's own path must be gone too, though it was not planted.
    let place = volume.beside("");
    let place =
        place.file_name().and_then(|name| name.to_str()).and_then(|name| name.rsplit('-').next()).expect("a name");
    let all = [fs::read(volume.beside("all.tar")).expect("the tar"), shown(&file)].concat();
    assert!(!all.windows(place.len()).any(|part| part == place.as_bytes()), "{place}");

    let folder = unpacked(&file, volume.beside("unpacked"));
    let copy: Verified = activebench_e2e::recheck(&folder.join("run"), &[]);
    assert_eq!((copy.verdict(), copy.exit_code()), (run.verdict(), run.exit_code()));
    let figures = |run: &Verified| -> Vec<Value> {
        let claims = run.report["claims"].as_array().expect("claims").iter();
        claims
            .map(|claim| {
                serde_json::json!([claim["phase"], claim["value"], claim["verdict"], claim["corrected"]["value"]])
            })
            .collect()
    };
    assert_eq!(figures(&copy), figures(&run));
    assert!(
        copy.report["run"]["redacted"]["replaced"]["paths"].as_u64() > Some(2),
        "{}",
        copy.report["run"]["redacted"]
    );
    let report = fs::read_to_string(folder.join("run/report.txt")).expect("a report");
    assert!(report.contains("redacted    a copy with names replaced"), "{report}");
    // The tool's words keep their columns.
    let widths = |path: PathBuf| -> Vec<usize> {
        String::from_utf8_lossy(&fs::read(path).expect("the output")).lines().map(str::len).collect()
    };
    assert_eq!(widths(folder.join("run/stdout.txt")), widths(run.run.join("stdout.txt")));
}
