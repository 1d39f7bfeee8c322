//! A redacted copy of a run: nothing that names anybody is left in any file, and the rest is as it was.

use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::call::{DeviceNumber, Op};
use activebench_model::ceiling::{Ceiling, Ceilings, Identity, IdentityKind, Machine, UsedCeiling};
use activebench_model::coverage::PayloadSampling;
use activebench_model::event::{NameEvent, PayloadEvent, TaskEvent, TaskEventKind};
use activebench_model::host::{Target, Tier};
use activebench_model::output::ToolFile;
use activebench_model::run::Manifest;
use activebench_model::series::SeriesManifest;
use activebench_model::thread_stacks::{Frame, Stacks};
use activebench_record::{Given, KEPT_PAYLOAD, Redactor, RunReader, RunWriter, STACKS, copy_series, read_series};

/// Each of them occurs somewhere in the run.
const PLANTED: [&str; 12] = [
    "falcondb",
    "zebulon",
    "acmecorp",
    "payroll",
    "kestrelbenchmar",
    "10.20.30.40",
    "WDX4711SECRET",
    "opaquename",
    // In the ceilings of the storage.
    "S4EWNX0R",
    "quartzvolume",
    "filerseven",
    "1f3b5a7c9d2e4f60",
];

fn name(op: Op, returned: i64, name: &str) -> NameEvent {
    NameEvent { at_ns: 7, tid: 1, tgid: 1, op, returned, file: None, name: name.to_owned() }
}

fn written(directory: &Path) -> PathBuf {
    let run = directory.join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    // An argument of more than 255 bytes comes in pieces, here in the middle of a word.
    let long = format!("{}/srv/acme", "1".repeat(246));
    writer.append(&[
        name(Op::Open, 3, "/home/zebulon/payroll.dat"),
        name(Op::Execute, 0, "iozone"),
        name(Op::Execute, 1, &long),
        name(Op::Execute, 1, "corp/data"),
    ]);
    writer.append(&[TaskEvent {
        at_ns: 1,
        kind: TaskEventKind::Executed,
        tid: 1,
        tgid: 1,
        parent_tgid: 0,
        exit_status: 0,
        // The kernel cuts it.
        comm: "kestrelbenchmar".to_owned(),
        filename: "/srv/acmecorp/kestrelbenchmarker".to_owned(),
        user_ns: 0,
        kernel_ns: 0,
        blocked_ns: 0,
        iowait_ns: 0,
        preempted_ns: 0,
    }]);
    writer.append(&[PayloadEvent {
        at_ns: 1,
        tid: 1,
        tgid: 1,
        op: Op::Write,
        fd: 3,
        file: None,
        write_bytes: 4096,
        sampled_bytes: 4096,
        zero_bytes: 0,
        compressed_bytes: 4000,
        content: Some(1),
        kept_offset: Some(0),
    }]);
    writer.write_file(KEPT_PAYLOAD, b"acmecorp's books").unwrap();
    let frame = Frame { module: Some(0), file_offset: Some(1), symbol: Some("read_payroll".to_owned()) };
    let stacks =
        Stacks { modules: vec!["/srv/acmecorp/lib.so".to_owned()], frames: vec![frame], stacks: vec![vec![0]] };
    writer.write_json(STACKS, &stacks).unwrap();
    let stdout =
        "Machine: Linux falcondb 6.1.0 x86_64\nfalcondb        64M 1330k  99\nmount 10.20.30.40:/export opaquename\n";
    writer.write_file("stdout.txt", stdout.as_bytes()).unwrap();
    writer.write_file("stderr.txt", b"bob: zebulon@falcondb: \xff not text\n").unwrap();
    let file = ToolFile { name: "/srv/acmecorp/job.fio".to_owned(), bytes: b"directory=/srv/acmecorp\n".to_vec() };
    writer.write_tool_files(&[file]).unwrap();
    writer.write_file("unheard.of", b"acmecorp").unwrap();
    let mut manifest = Manifest { activebench: "0.1.0".to_owned(), ..Manifest::default() };
    manifest.command.argv = ["sudo", "-u", "zebulon", "iozone", "-i0", "-s32m"].map(str::to_owned).to_vec();
    manifest.command.cwd = "/srv/acmecorp/data".to_owned();
    manifest.coverage.payload = Some(PayloadSampling { kept_bytes: 16, ..PayloadSampling::default() });
    manifest.host.unread = vec!["cannot read /sys/block/sda/device/serial of WDX4711SECRET".to_owned()];
    manifest.ceilings = Some(ceilings());
    writer.finish(manifest).unwrap();
    run
}

fn ceilings() -> Ceilings {
    let identity = |kind, value: &str| Identity { name: "nvme0n1".to_owned(), kind, value: value.to_owned() };
    let ceiling = Ceiling {
        activebench: "0.1.0".to_owned(),
        measured_unix_s: 1,
        place: "/srv/quartzvolume".to_owned(),
        target: Target {
            s_dev: DeviceNumber(1),
            mount_point: "/srv/quartzvolume".to_owned(),
            fs_type: "ext4".to_owned(),
            options: "rw".to_owned(),
            layers: Vec::new(),
            tier: Tier::Block,
        },
        identity: vec![
            identity(IdentityKind::Serial, "eui.S4EWNX0R, 1024 bytes"),
            identity(IdentityKind::BackingFile, "/srv/quartzvolume/b.img, inode 7 of device 0x1, 1024 bytes"),
            identity(IdentityKind::Source, "filerseven:/quartzvolume"),
        ],
        machine: Machine { kernel: "6.1.0".to_owned(), architecture: "x86_64".to_owned(), cpus: 2, memory_bytes: None },
        seconds_per_part: 3.0,
        fio: None,
        parts: Vec::new(),
        links: Vec::new(),
        notes: vec!["S4EWNX0R was busy".to_owned()],
    };
    let file = "/var/lib/activebench/ceilings/nvme0n1-1f3b5a7c9d2e4f60.json".to_owned();
    Ceilings {
        used: vec![UsedCeiling { targets: vec![DeviceNumber(1)], file: file.clone(), ceiling }],
        left_out: vec![format!("{file}: the kernel was 6.1.0 and is 6.2.0")],
    }
}

#[test]
fn a_copy_names_nobody_and_says_what_it_lacks() {
    let directory = tempfile::tempdir().unwrap();
    let from = RunReader::open(&written(directory.path())).unwrap();
    let mut redactor = Redactor::default();
    redactor.learn_given(&Given {
        hosts: vec!["elsewhere".to_owned()],
        users: vec!["root".to_owned()],
        named: vec!["opaquename".to_owned(), "WDX4711SECRET".to_owned()],
    });
    redactor.learn_run(&from).unwrap();
    redactor.finish();
    let to = directory.path().join("copy");
    let manifest = redactor.copy_run(&from, &to, None).unwrap();
    let copy = RunReader::open(&to).unwrap();
    assert_eq!((copy.manifest(), copy.verify_hashes()), (&manifest, vec![]));

    let names: Vec<NameEvent> = copy.names().flat_map(Result::unwrap).collect();
    let tasks: Vec<TaskEvent> = copy.tasks().flat_map(Result::unwrap).collect();
    let mut texts = format!("{names:?}{tasks:?}{:?}", copy.stacks().unwrap()).into_bytes();
    let mut folders = vec![to.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { texts.extend(fs::read(path).unwrap()) }
        }
    }
    for word in PLANTED {
        assert!(!texts.windows(word.len()).any(|part| part == word.as_bytes()), "{word}");
    }

    // Equal widths, the same word by the same replacement, ordinary words as they were.
    assert_eq!(manifest.command.argv[3..], ["iozone", "-i0", "-s32m"]);
    let folder = manifest.command.cwd.strip_prefix("/srv/").and_then(|rest| rest.strip_suffix("/data")).unwrap();
    assert_eq!(folder.len(), "acmecorp".len());
    assert_eq!(tasks[0].filename[..14], format!("/srv/{folder}/"));
    assert!(tasks[0].filename[14..].starts_with(&tasks[0].comm), "{tasks:?}");
    assert_eq!(format!("{}{}", names[2].name, names[3].name), format!("{}/srv/{folder}/data", "1".repeat(246)));
    assert_eq!(names[2].name.len(), 255);
    let output = copy.output().unwrap();
    assert_eq!(output.stdout.len(), from.output().unwrap().stdout.len());
    assert!(output.stderr.ends_with(b" \xff not text\n"), "{:?}", output.stderr);
    assert_eq!(output.files[0].bytes, format!("directory=/srv/{folder}\n").into_bytes());

    // The properties by which a reader recognises it stay.
    let ceilings = manifest.ceilings.as_ref().unwrap();
    assert_eq!(&ceilings.used[0].file[..30], "/var/lib/activebench/ceilings/");
    let redaction = manifest.redacted.clone().unwrap();
    assert_eq!(redaction.left_out.keys().collect::<Vec<_>>(), ["payload.bin", "unheard.of"]);
    assert_eq!((redaction.replaced["hosts"], redaction.replaced["users"], redaction.replaced["named"]), (2, 1, 2));
    assert_eq!(copy.payload().flat_map(Result::unwrap).map(|event| event.kept_offset).collect::<Vec<_>>(), [None]);
    assert_eq!(manifest.coverage.payload.unwrap().kept_bytes, 0);
}

/// We name the folders of a series: the copies are in folders of the same names, whatever word is replaced.
#[test]
fn a_copied_series_finds_its_runs_and_its_preconditioning() {
    let folder = tempfile::tempdir().unwrap();
    let series = SeriesManifest {
        format: activebench_model::series::FORMAT,
        activebench: "0.1.0".to_owned(),
        command: Default::default(),
        planned_runs: 1,
        until: None,
        preconditioning: Some("preconditioning".to_owned()),
        runs: vec!["round-one".to_owned()],
        choices: Default::default(),
        incomplete: vec!["preconditioning of round-one took long".to_owned()],
    };
    let mut redactor = Redactor::default();
    let named = ["preconditioning", "round"].map(str::to_owned).to_vec();
    redactor.learn_given(&Given { named, ..Given::default() });
    redactor.finish();
    copy_series(&redactor, &series, folder.path()).unwrap();
    let copy = read_series(folder.path()).unwrap().unwrap().manifest;
    assert_eq!((&copy.runs, &copy.preconditioning), (&series.runs, &series.preconditioning));
    assert!(!copy.incomplete[0].contains("preconditioning"), "{:?}", copy.incomplete);
}
