//! fio's options as the adapter reads them, compared with fio's own output for the same jobs: several hundred drawn
//! sections of job files and command lines, with a fixed seed.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use activebench_e2e::{Volume, binary, needs, verify};
use serde_json::Value;

/// A generator that draws the same values every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        // Knuth, The Art of Computer Programming 2, 3.3.4: the multiplier of MMIX.
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len())]
    }

    /// Returns `true` once in this many draws on average.
    fn once_in(&mut self, rarity: usize) -> bool {
        self.below(rarity) == 0
    }
}

/// Draws the options of a job, as `name=value` or `name`.
fn options(draw: &mut Draw) -> Vec<String> {
    let mut options = vec![
        format!(
            "{}={}",
            draw.of(&["rw", "readwrite"]),
            draw.of(&["read", "write", "randread", "randwrite", "rw", "randrw", "readwrite"])
        ),
        format!("size={}", draw.of(&["64k", "128K", "192kb", "131072", "100000", "128KiB", "96ki"])),
        format!("ioengine={}", draw.of(&["null", "psync", "null", "libaio", "null", "null"])),
    ];
    let mut some = |rarity: usize, choices: &[&str]| {
        if draw.once_in(rarity) {
            options.push(draw.of(choices).to_owned());
        }
    };
    some(2, &["bs=8k", "blocksize=4kb", "bs=512", "bs=4k,8k", "bs=,8k", "bs=4KiB", "bs=16K", "bs=1000", "bs=8k,4k,2k"]);
    some(8, &["bsrange=4k-16k", "blocksize_range=1k-2k,4k-8k", "bssplit=4k/50:8k/50"]);
    some(3, &["iodepth=4", "iodepth=1", "iodepth=8"]);
    some(3, &["numjobs=2", "numjobs=3"]);
    some(3, &["group_reporting", "group_reporting=1", "group_reporting=0"]);
    some(10, &["stonewall", "wait_for_previous", "new_group", "stonewall=0"]);
    some(4, &["loops=2", "loops=3"]);
    some(5, &["nrfiles=2", "nr_files=3"]);
    some(5, &["filename=f1", "filename=f1:f2"]);
    some(9, &["filename=f3"]);
    some(6, &["io_size=32k", "io_limit=64k", "io_size=384k"]);
    some(9, &["kb_base=1000", "kb_base=1024"]);
    some(6, &["norandommap", "thread", "randrepeat=0", "invalidate=0"]);
    some(20, &["stats=0"]);
    options
}

/// Draws a job file; returns it with the names of the sections that include another file.
fn job_file(draw: &mut Draw, sections: usize) -> (String, Vec<String>) {
    let (mut text, mut included) = (String::from("[global]\nsignificant_figures=10\nfsync_on_close=0\n"), Vec::new());
    for number in 0..sections {
        if draw.once_in(12) {
            let option = draw.of(&["bs=2k", "iodepth=2", "loops=1", "kb_base=1000", "rw=randread"]);
            write!(text, "[{}]\n{option} ; for those behind\n", draw.of(&["global", "global again"]))
                .expect("a String");
        }
        let name = format!("j{number}");
        writeln!(text, "[{name}]{}", draw.of(&["", " ", "\t"])).expect("a String");
        if draw.once_in(15) {
            text.push_str("include more.inc\n");
            included.push(name);
        }
        for option in options(draw) {
            // Words must follow the sign directly, and so must a suffix for it to count.
            let blank = draw.once_in(4)
                && ["iodepth=", "loops=", "bs=1000", "io_size=3"].iter().any(|name| option.starts_with(name));
            let option = if blank { option.replacen('=', " = ", 1).replace("384k", "384000") } else { option };
            writeln!(text, "{}{option}{}", draw.of(&["", "  "]), draw.of(&["", " ", " # why", ";so"]))
                .expect("a String");
        }
    }
    (text, included)
}

/// fio's output about its jobs.
struct Said {
    /// The first line of each job, by the name of the job.
    heads: HashMap<String, String>,
    /// Each entry of the report: its name, its number of jobs, its JSON.
    entries: Vec<(String, u64, Value)>,
}

fn run_fio(folder: &Path, arguments: &[String]) -> Said {
    let output = Command::new("fio")
        .args(arguments)
        .arg("--output-format=normal,json")
        .current_dir(folder)
        .output()
        .expect("fio runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let begin = text.find("{\n  \"fio version\"").expect("a JSON");
    let end = begin + text[begin..].find("\n}\n").expect("its end") + 3;
    let json: Value = serde_json::from_str(&text[begin..end]).expect("JSON");
    let head = |line: &str| line.split_once(": (g=").map(|(name, rest)| (name.to_owned(), rest.to_owned()));
    let jobs = |line: &str| line.split_once("(groupid=")?.1.split_once("jobs=")?.1.split_once(')')?.0.parse().ok();
    let counts = text.lines().filter_map(jobs);
    let reported = json["jobs"].as_array().expect("a list").clone();
    let name = |job: &Value| job["jobname"].as_str().expect("a name").to_owned();
    let entries = reported.into_iter().zip(counts).map(|(job, count)| (name(&job), count, job)).collect();
    Said { heads: text.lines().filter_map(head).collect(), entries }
}

/// Returns the smallest and the largest block of a direction, from the job's first line.
fn blocks(head: &str, way: &str) -> (u64, u64) {
    let mark = if way == "read" { "(R) " } else { "(W) " };
    let range = head.split_once(mark).expect("blocks").1.split([',', ' ']).next().expect("a range");
    let (smallest, largest) = range.split_once('-').expect("two of them");
    let bytes = |text: &str| text.trim_end_matches('B').parse().expect("bytes");
    (bytes(smallest), bytes(largest))
}

fn word<'t>(head: &'t str, key: &str) -> &'t str {
    head.split_once(key).expect("a word").1.split([',', ' ']).next().expect("its end")
}

/// Returns a job's own part of a job file, or of a command line.
fn job<'t>(text: &'t str, name: &str) -> &'t str {
    let begin = [format!("[{name}]"), format!("--name={name}")].iter().find_map(|mark| text.find(mark));
    let own = begin.map_or(text, |begin| &text[begin..]);
    own[1..].split("\n[").next().and_then(|own| own.split("--name").next()).unwrap_or(own)
}

/// Compares a plan with fio's output; returns the number of compared passes.
fn compare(plan: &Value, said: &Said, included: &[String], what: &str) -> usize {
    let phases = plan["phases"].as_array().expect("a list");
    let mut counts: HashMap<&str, usize> = HashMap::new();
    said.entries.iter().for_each(|(name, ..)| *counts.entry(name).or_default() += 1);
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut found = 0;
    for (name, jobs, entry) in &said.entries {
        let base = match counts[name.as_str()] {
            1 => name.clone(),
            _ => {
                let number = seen.entry(name).or_default();
                *number += 1;
                format!("{name}.{}", *number - 1)
            }
        };
        let head = &said.heads[name];
        for way in ["read", "write"] {
            let id = format!("{base}-{way}");
            let what = || format!("{id} of {}: {head}", job(what, name));
            let phase = phases.iter().find(|phase| phase["id"] == id.as_str());
            let moved = entry[way]["io_bytes"].as_u64().expect("bytes");
            let Some(phase) = phase else {
                assert_eq!(
                    moved,
                    0,
                    "{}: {:?}",
                    what(),
                    phases.iter().map(|phase| phase["id"].clone()).collect::<Vec<_>>()
                );
                continue;
            };
            found += 1;
            // Of a group, only the jobs of this direction count. Jobs that differ have no counterpart for a comparison.
            let tasks = phase["requested_tasks"].as_u64().expect("a number");
            let group = |head: &str| head.split_once(')').map(|(group, _)| group.to_owned());
            let alike = *jobs == 1 || said.heads.values().filter(|other| group(other) == group(head)).count() == 1;
            assert!(if alike { tasks == *jobs } else { tasks <= *jobs }, "{}: {tasks} of {jobs}", what());
            if !alike {
                continue;
            }
            let is_included = included.contains(name);
            assert_eq!(phase.get("unread").is_some_and(Value::is_string), is_included, "{}", what());
            if is_included {
                continue;
            }
            let (smallest, largest) = blocks(head, way);
            match phase["block_bytes"].as_u64() {
                Some(block) => assert_eq!((smallest, largest), (block, block), "{}", what()),
                None => assert!(smallest != largest, "{}: no block", what()),
            }
            let depth: u64 = word(head, "iodepth=").parse().expect("a depth");
            let promises = phase["promises"].as_array().expect("a list");
            let promised = promises.iter().find_map(|promise| promise["mechanism"]["queue-depth"].as_u64());
            assert_eq!(promised.unwrap_or(1), depth, "{}: {promises:?}", what());
            let submission = match word(head, "ioengine=") {
                "null" => "nothing",
                "libaio" => "asynchronous-if-direct",
                _ => "synchronous",
            };
            assert_eq!(phase["submission"], submission, "{}", what());
            if let Some(requested) = phase["requested_bytes"].as_u64() {
                // In each file and each round, a partial block is omitted.
                let left_out = requested.checked_sub(moved).expect("no more moves than is asked for");
                assert!(left_out <= requested / 4, "{}: {moved} of {requested}", what());
                let several = ["files", "filename=f1:"].iter().any(|word| what().contains(word));
                let whole = requested.is_multiple_of(16 * 1024) && 16 * 1024 % largest == 0 && smallest == largest;
                assert!(!whole || several || left_out == 0, "{}: {moved} of {requested}", what());
            }
        }
    }
    let mixed =
        |phase: &&Value| phase["mix"].is_object() || phase["name"].as_str().is_some_and(|name| name.contains(" of "));
    assert!(phases.iter().filter(|phase| !mixed(phase)).count() <= found, "{what}: passes that fio does not report");
    found
}

fn plan(folder: &Path, arguments: &[String]) -> Value {
    let output = Command::new(binary())
        .args(["verify", "--plan", "--format", "json", "--", "fio"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("activebench runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn drawn_job_files_and_command_lines_are_read_as_fio_reads_them() {
    needs!(beside: "fio");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("more.inc"), "iodepth=2\nbs=2k\n").expect("a file is written");
    let mut draw = Draw(20_261_122);
    let mut compared = 0;
    for number in 0..6 {
        let (text, included) = job_file(&mut draw, 40);
        let name = format!("{number}.fio");
        fs::write(folder.join(&name), &text).expect("a file is written");
        let arguments = [name];
        compared += compare(&plan(folder, &arguments), &run_fio(folder, &arguments), &included, &text);
    }
    for _ in 0..8 {
        let mut arguments = vec!["--significant_figures=10".to_owned()];
        for number in 0..10 {
            arguments.push(format!("--name=c{number}"));
            for option in options(&mut draw) {
                match option.split_once('=') {
                    Some((name, value)) if draw.once_in(3) && !matches!(name, "stonewall" | "group_reporting") => {
                        arguments.extend([format!("--{name}"), value.to_owned()]);
                    }
                    _ => arguments.push(format!("--{option}")),
                }
            }
        }
        compared += compare(&plan(folder, &arguments), &run_fio(folder, &arguments), &[], &arguments.join(" "));
    }
    assert!(compared > 300, "only {compared} passes were compared");
}

#[test]
fn honest_runs_whose_options_are_hard_to_read_are_not_accused() {
    needs!(beside: "fio", "mkfs.ext4", "losetup");
    let volume = Volume::on_loop("ext4", 512, "noatime");
    let job =
        "[a]\\nfilename=x\\nrw=randwrite\\nbs=16k\\nsize=16m\\nloops=2\\ndirect=1\\nioengine=libaio\\niodepth=4\\n";
    for command in [
        "fio --filename=g --size=16m --name=a --filename=a1 --rw=randwrite --bs=16k --direct=1".to_owned(),
        "fio --name=a --filename=o --rw=write --bs=64k --size=10000000 --end_fsync=1".to_owned(),
        "fio --name=a --nrfiles=3 --rw=write --bs=64k --size=10m --fsync_on_close=1".to_owned(),
        "fio --name=a --filename=o --rw=randread --bs=4k --ba=64k --size=8m --direct=1".to_owned(),
        "fio --name=a --filename=data.state --rw=randrw --bs=16k --size=8m --direct=1 --unified_rw_reporting=1"
            .to_owned(),
        "fio --name=a --filename=o --rw=read --bs=64k --size=8m --direct=1 --output-format=json | python3 -m json.tool"
            .to_owned(),
        "fio --name=a --filename=o --rw=read --bs=64k --size=8m --direct=1 | grep IOPS".to_owned(),
        format!("printf '{job}' | fio --output-format=json -"),
        // fio's output about itself leaves most options unknown here; the figures are confirmed without them.
        format!("printf '{job}' | fio -"),
    ] {
        let run = verify(&volume, &[], &["sh", "-c", &command]);
        let verdict = run.verdict();
        assert!(["verified", "qualified"].contains(&verdict), "{command}: {verdict}: {}", run.story());
    }
}
