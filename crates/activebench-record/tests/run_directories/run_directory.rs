//! Written data is read back, and damage is named.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::call::{Call, DeviceNumber, FileId, FileKind, Op};
use activebench_model::coverage::RecordAccount;
use activebench_model::event::{
    BlockAction, BlockEvent, BlockEventKind, CacheEvent, CpuEvent, NameEvent, Origin, PayloadEvent, RecordClass,
    SampleEvent, StealEvent, TaskEvent, TaskEventKind, ThreadState, ThreadTimes,
};
use activebench_model::log::{EventLog, LogCut};
use activebench_model::run::{FORMAT, Manifest};
use activebench_model::thread_stacks::{Frame, Stacks};
use activebench_record::{KEPT_PAYLOAD, ROWS_PER_PART, RecordError, RunReader, RunWriter, SEAL, STACKS, sha256};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn manifest() -> Manifest {
    Manifest {
        format: FORMAT,
        activebench: "0.1.0".to_owned(),
        command: Default::default(),
        added_arguments: Vec::new(),
        tool_command: None,
        executed_tools: None,
        measurements: Vec::new(),
        choices: Default::default(),
        child: Default::default(),
        clocks: Default::default(),
        host: Default::default(),
        coverage: Default::default(),
        incomplete: Vec::new(),
        ceilings: None,
        preparation: None,
        watch: None,
        redacted: None,
        sha256: Default::default(),
    }
}

fn file() -> impl Strategy<Value = FileId> {
    any::<(u32, u64)>().prop_map(|(s_dev, ino)| FileId { s_dev, ino })
}

fn op() -> impl Strategy<Value = Op> {
    select(Op::ALL)
}

prop_compose! {
    fn call()(
        times in any::<(u64, u64)>(),
        ids in any::<(u32, u32)>(),
        op in op(),
        fd in any::<i32>(),
        file in option::of(file()),
        kind in select(vec![FileKind::Regular, FileKind::BlockDevice, FileKind::Other]),
        open_flags in any::<u32>(),
        moved in any::<(i64, u64, i64)>(),
        counters in any::<(u64, u64, u64, u64)>(),
    ) -> Call {
        Call {
            start_ns: times.0, end_ns: times.1, tid: ids.0, tgid: ids.1, op, fd, file, kind, open_flags,
            offset: moved.0, requested: moved.1, returned: moved.2 % (1 << 31),
            storage_read_bytes: counters.0, cached_bytes: counters.1, cpu_ns: counters.2, user_before_ns: counters.3, stands_for: 1,
        }
    }
}

prop_compose! {
    fn name()(
        at_ns in any::<u64>(), ids in any::<(u32, u32)>(), op in op(), returned in any::<i64>(),
        file in option::of(file()), name in any::<String>(),
    ) -> NameEvent {
        NameEvent { at_ns, tid: ids.0, tgid: ids.1, op, returned, file, name }
    }
}

prop_compose! {
    fn task()(
        at_ns in any::<u64>(),
        kind in select(vec![TaskEventKind::Born, TaskEventKind::Executed, TaskEventKind::Exited]),
        ids in any::<(u32, u32, u32)>(), exit_status in any::<i32>(), texts in any::<(String, String)>(),
        times in any::<(u64, u64, u64, u64, u64)>(),
    ) -> TaskEvent {
        TaskEvent {
            at_ns, kind, tid: ids.0, tgid: ids.1, parent_tgid: ids.2, exit_status, comm: texts.0, filename: texts.1,
            user_ns: times.0, kernel_ns: times.1, blocked_ns: times.2, iowait_ns: times.3, preempted_ns: times.4,
        }
    }
}

prop_compose! {
    fn block()(
        at_ns in any::<u64>(),
        kind in select(vec![BlockEventKind::Queued, BlockEventKind::Completed, BlockEventKind::Inferred]),
        action in select(vec![
            BlockAction::Read, BlockAction::Write, BlockAction::Flush, BlockAction::Discard, BlockAction::Other,
        ]),
        origin in select(vec![
            Origin::Tree, Origin::Observer, Origin::Kernel, Origin::Foreign, Origin::Unknown,
        ]),
        numbers in any::<(u32, u64, u64, u64, u32, u8)>(), flags in any::<(bool, bool, bool)>(),
        file in option::of(file()), comm in any::<String>(),
    ) -> BlockEvent {
        BlockEvent {
            at_ns, kind, device: DeviceNumber(numbers.0), sector: numbers.1, bytes: numbers.2, action,
            preflush: flags.0, fua: flags.1, latency_ns: numbers.3, first_of_request: flags.2, file,
            tgid: numbers.4, comm, origin, status: numbers.5,
        }
    }
}

prop_compose! {
    fn cache()(
        numbers in any::<(u64, u64, u64, u32)>(), file in file(), in_tree in any::<bool>(),
    ) -> CacheEvent {
        CacheEvent { at_ns: numbers.0, file, offset: numbers.1, bytes: numbers.2, tgid: numbers.3, in_tree }
    }
}

prop_compose! {
    fn cpu()(
        times in any::<(u64, u64)>(), ids in any::<(u32, u32)>(),
        state in select(vec![
            ThreadState::User, ThreadState::Kernel, ThreadState::Blocked, ThreadState::IoWait, ThreadState::Preempted,
            ThreadState::Stopped,
        ]),
        totals in any::<(u64, u64, u64, u64, u64)>(),
    ) -> CpuEvent {
        CpuEvent {
            at_ns: times.0, since_ns: times.1, state, tid: ids.0, tgid: ids.1,
            times: ThreadTimes {
                user_ns: totals.0, kernel_ns: totals.1, blocked_ns: totals.2, iowait_ns: totals.3,
                preempted_ns: totals.4,
            },
        }
    }
}

prop_compose! {
    fn sampled()(
        at_ns in any::<u64>(), in_user_mode in any::<bool>(), stack in option::of(any::<u32>()), cpu in cpu(),
    ) -> SampleEvent {
        SampleEvent { at_ns, in_user_mode, stack, cpu }
    }
}

prop_compose! {
    fn steal()(numbers in any::<(u64, u32, u64)>()) -> StealEvent {
        StealEvent { at_ns: numbers.0, cpu: numbers.1, steal_ns: numbers.2 }
    }
}

prop_compose! {
    fn payload()(
        numbers in any::<(u64, u32, u32, i32, u64, u32, u32, u32)>(), op in op(),
        file in option::of(file()), content in option::of(any::<u32>()), kept_offset in option::of(any::<u64>()),
    ) -> PayloadEvent {
        let (at_ns, tid, tgid, fd, write_bytes, sampled_bytes, zero_bytes, compressed_bytes) = numbers;
        PayloadEvent {
            at_ns, tid, tgid, op, fd, file, write_bytes, sampled_bytes, zero_bytes, compressed_bytes, content, kept_offset,
        }
    }
}

fn all<R>(parts: impl Iterator<Item = Result<Vec<R>, RecordError>>) -> Vec<R> {
    parts.flat_map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_row_comes_back_in_order(
        calls in vec(call(), 0..40), names in vec(name(), 0..20), tasks in vec(task(), 0..20),
        block in vec(block(), 0..20), cache in vec(cache(), 0..20), output in vec(any::<u8>(), 0..200),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut writer = RunWriter::create(&run).unwrap();
        writer.write_file("stdout.txt", &output).unwrap();
        for piece in calls.chunks(7) {
            writer.append(piece);
        }
        writer.append(&names);
        writer.append(&tasks);
        writer.append(&block);
        writer.append(&cache);
        prop_assert!(writer.incomplete().is_empty());
        let written = writer.finish(manifest()).unwrap();

        let reader = RunReader::open(&run).unwrap();
        prop_assert_eq!(reader.manifest(), &written);
        prop_assert_eq!(reader.verify_hashes(), []);
        let read = reader.output().unwrap();
        prop_assert_eq!((read.stdout, read.stderr), (output, Vec::new()));
        prop_assert_eq!(all(reader.calls()), calls);
        prop_assert_eq!(all(reader.names()), names);
        prop_assert_eq!(all(reader.tasks()), tasks);
        prop_assert_eq!(all(reader.block()), block);
        prop_assert_eq!(all(reader.cache()), cache);
    }

    #[test]
    fn processor_times_and_samples_come_back(
        cpu in vec(cpu(), 0..20), samples in vec(sampled(), 0..20), steal in vec(steal(), 0..20),
        payload in vec(payload(), 0..20), kept in vec(any::<u8>(), 1..100),
        symbol in option::of(any::<String>()), module in any::<String>(), place in option::of(any::<(u32, u64)>()),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let mut writer = RunWriter::create(&run).unwrap();
        writer.append(&cpu);
        writer.append(&samples);
        writer.append(&steal);
        writer.append(&payload);
        writer.write_file(KEPT_PAYLOAD, &kept).unwrap();
        let frame = Frame { module: place.map(|(module, _)| module), file_offset: place.map(|(_, at)| at), symbol };
        let stacks = Stacks { modules: vec![module], frames: vec![frame], stacks: vec![vec![0, 7], Vec::new()] };
        writer.write_json(STACKS, &stacks).unwrap();
        writer.finish(manifest()).unwrap();

        let reader = RunReader::open(&run).unwrap();
        prop_assert_eq!(reader.verify_hashes(), []);
        prop_assert_eq!(all(reader.cpu()), cpu);
        prop_assert_eq!(all(reader.samples()), samples);
        prop_assert_eq!(all(reader.steal()), steal);
        prop_assert_eq!(all(reader.payload()), payload);
        prop_assert_eq!(reader.file(KEPT_PAYLOAD).unwrap(), Some(kept));
        prop_assert_eq!(reader.stacks().unwrap(), stacks);
    }
}

#[test]
fn a_run_of_an_earlier_version_has_no_samples() {
    let directory = tempfile::tempdir().unwrap();
    let reader = RunReader::open(&stored_run(directory.path())).unwrap();
    assert_eq!((all(reader.cpu()), all(reader.samples()), all(reader.steal())), (vec![], vec![], vec![]));
    assert_eq!((all(reader.payload()), reader.file(KEPT_PAYLOAD).unwrap()), (vec![], None));
    assert_eq!(reader.stacks().unwrap(), Stacks::default());
}

fn one_call() -> Call {
    Call {
        start_ns: 10,
        end_ns: 20,
        tid: 1,
        tgid: 1,
        op: Op::Read,
        fd: 3,
        file: None,
        kind: FileKind::Other,
        open_flags: 0,
        offset: -1,
        requested: 1,
        returned: 1,
        storage_read_bytes: 0,
        cached_bytes: 0,
        cpu_ns: 5,
        user_before_ns: 5,
        stands_for: 1,
    }
}

/// A run with one part of calls and some output.
fn stored_run(directory: &Path) -> PathBuf {
    let run = directory.join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    writer.append(&[one_call(); 50]);
    writer.write_file("stdout.txt", b"iozone test complete.\n").unwrap();
    writer.write_json("claims.json", &["a"]).unwrap();
    writer.finish(manifest()).unwrap();
    run
}

#[test]
fn parts_end_at_their_size_and_come_back_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    let mut number = 0;
    for _ in 0..3 {
        let rows: Vec<Call> = (0..ROWS_PER_PART / 2 + 1)
            .map(|_| {
                number += 1;
                Call { start_ns: number, ..one_call() }
            })
            .collect();
        writer.append(&rows);
    }
    writer.finish(manifest()).unwrap();
    let reader = RunReader::open(&run).unwrap();
    let sizes: Vec<usize> = reader.calls().map(|part| part.unwrap().len()).collect();
    assert_eq!(sizes, [ROWS_PER_PART, ROWS_PER_PART / 2 + 3]);
    assert!(all(reader.calls()).iter().map(|call| call.start_ns).eq(1..=number));
}

#[test]
fn each_kind_of_damage_has_its_own_error() {
    type Damage = fn(&Path);
    type IsExpected = fn(&RecordError) -> bool;
    let cases: [(&str, Damage, IsExpected); 14] = [
        (
            "no manifest",
            |run| fs::remove_file(run.join("run.json")).unwrap(),
            |error| matches!(error, RecordError::NotARun { .. }),
        ),
        (
            "manifest cut",
            |run| {
                let path = run.join("run.json");
                let bytes = fs::read(&path).unwrap();
                fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            },
            |error| matches!(error, RecordError::Manifest { why, .. } if why.contains("ends in the middle")),
        ),
        (
            "manifest empty",
            |run| fs::write(run.join("run.json"), "").unwrap(),
            |error| matches!(error, RecordError::Manifest { .. }),
        ),
        (
            "later version",
            |run| fs::write(run.join("run.json"), "{\"format\":99,\"new\":1}").unwrap(),
            |error| matches!(error, RecordError::NewerFormat { found: 99, supported: FORMAT, .. }),
        ),
        (
            "missing part",
            |run| fs::remove_file(run.join("events/calls-0000.parquet")).unwrap(),
            |error| matches!(error, RecordError::MissingFile { path } if path.ends_with("events/calls-0000.parquet")),
        ),
        (
            "missing output",
            |run| fs::remove_file(run.join("stdout.txt")).unwrap(),
            |error| matches!(error, RecordError::MissingFile { .. }),
        ),
        (
            "a name that leads outside",
            |run| {
                let path = run.join("run.json");
                let text = fs::read_to_string(&path).unwrap().replace("\"stdout.txt\"", "\"../../etc/passwd\"");
                fs::write(path, text).unwrap();
                fs::remove_file(run.join(SEAL)).unwrap();
            },
            |error| matches!(error, RecordError::OutsideName { name } if name == "../../etc/passwd"),
        ),
        (
            "a choice changed in the manifest",
            |run| {
                let path = run.join("run.json");
                let text = fs::read_to_string(&path).unwrap().replace("\"choices\": {", "\"choices\": { ");
                fs::write(path, text).unwrap();
            },
            |error| matches!(error, RecordError::BrokenSeal { .. }),
        ),
        (
            "a seal of something else",
            |run| fs::write(run.join(SEAL), "0  run.json\n").unwrap(),
            |error| matches!(error, RecordError::BrokenSeal { .. }),
        ),
        (
            "a part that the manifest does not list",
            |run| {
                fs::copy(run.join("events/calls-0000.parquet"), run.join("events/calls-0001.parquet")).unwrap();
            },
            |error| matches!(error, RecordError::UnlistedFile { path } if path.ends_with("events/calls-0001.parquet")),
        ),
        (
            "output that the manifest does not list",
            |run| fs::write(run.join("stderr.txt"), "added").unwrap(),
            |error| matches!(error, RecordError::UnlistedFile { path } if path.ends_with("stderr.txt")),
        ),
        (
            "a link in the place of a file",
            |run| {
                fs::remove_file(run.join("stdout.txt")).unwrap();
                std::os::unix::fs::symlink("/etc/hostname", run.join("stdout.txt")).unwrap();
            },
            |error| matches!(error, RecordError::NotAFile { what: "a symbolic link", .. }),
        ),
        (
            "a link on the way to a file",
            |run| {
                fs::rename(run.join("events"), run.with_file_name("elsewhere")).unwrap();
                std::os::unix::fs::symlink("../elsewhere", run.join("events")).unwrap();
            },
            |error| matches!(error, RecordError::NotAFile { what: "reached through a symbolic link", .. }),
        ),
        (
            "a manifest that is a link",
            |run| {
                fs::rename(run.join("run.json"), run.with_file_name("run.json")).unwrap();
                std::os::unix::fs::symlink("../run.json", run.join("run.json")).unwrap();
            },
            |error| matches!(error, RecordError::NotAFile { what: "a symbolic link", .. }),
        ),
    ];
    for (what, damage, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        let run = stored_run(directory.path());
        RunReader::open(&run).unwrap();
        damage(&run);
        let error = RunReader::open(&run).unwrap_err();
        assert!(expected(&error), "{what}: {error:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(RunReader::open(&file), Err(RecordError::NotARun { .. })));
}

#[test]
fn a_run_that_was_never_finished_is_known_as_such() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    drop(RunWriter::create(&run).unwrap());
    let error = RunReader::open(&run).unwrap_err();
    assert!(matches!(error, RecordError::Unfinished { .. }), "{error:?}");
}

#[test]
fn a_run_that_was_never_finished_is_completed_once_its_recorder_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let recorder = RunWriter::create_with(&run, &"a draft").unwrap();
    assert!(matches!(RunWriter::resume::<String>(&run), Err(RecordError::InProgress { .. })));
    drop(recorder);
    // Evidence that nothing lists, and a file of somebody else.
    for name in ["stdout.txt", "events/calls-0000.parquet", "letter.txt", "events/letter.txt"] {
        fs::write(run.join(name), name).unwrap();
    }
    let (writer, draft) = RunWriter::resume::<String>(&run).unwrap();
    assert_eq!(draft, "a draft");
    let manifest = manifest();
    writer.finish(manifest.clone()).unwrap();
    assert_eq!(*RunReader::open(&run).unwrap().manifest(), manifest);
    assert!(run.join("letter.txt").exists() && run.join("events/letter.txt").exists());
    assert!(matches!(RunWriter::resume::<String>(&run), Err(RecordError::NotEmpty { .. })));
}

#[test]
fn a_table_cut_anywhere_is_an_error_and_never_fewer_rows() {
    let directory = tempfile::tempdir().unwrap();
    let run = stored_run(directory.path());
    let part = run.join("events/calls-0000.parquet");
    let whole = fs::read(&part).unwrap();
    let reader = RunReader::open(&run).unwrap();
    for length in (0..whole.len()).step_by(97).chain(whole.len() - 16..whole.len()) {
        fs::write(&part, &whole[..length]).unwrap();
        let results: Vec<_> = reader.calls().collect();
        assert!(matches!(results.as_slice(), [Err(RecordError::Changed { .. })]), "{length}: {results:?}");
        assert_eq!(reader.verify_hashes().len(), 1);
    }
}

#[test]
fn a_call_that_moved_more_than_a_call_can_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    writer.append(&[one_call(), Call { returned: 1 << 31, ..one_call() }]);
    writer.finish(manifest()).unwrap();
    let reader = RunReader::open(&run).unwrap();
    let errors = [
        reader.calls().next().unwrap().unwrap_err().to_string(),
        reader.plain_calls().next().unwrap().unwrap_err().to_string(),
        reader.places().next().unwrap().unwrap_err().to_string(),
    ];
    assert!(errors.iter().all(|error| error.contains("row 1 states more bytes than a call can move")), "{errors:?}");
}

#[test]
fn a_table_without_a_column_names_it() {
    // The names table under the calls' file name: another schema altogether.
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    writer.append(&[one_call()]);
    let file = FileId { s_dev: 1, ino: 2 };
    writer.append(&[CacheEvent { at_ns: 1, file, offset: 0, bytes: 1, tgid: 1, in_tree: true }]);
    writer.finish(manifest()).unwrap();
    fs::copy(run.join("events/page_cache-0000.parquet"), run.join("events/calls-0000.parquet")).unwrap();
    rewritten(&run);
    let reader = RunReader::open(&run).unwrap();
    let error = reader.calls().next().unwrap().unwrap_err();
    assert!(matches!(&error, RecordError::Column { column, .. } if column == "start_ns"), "{error:?}");
}

#[test]
fn changed_evidence_is_named_and_derived_files_may_change() {
    let directory = tempfile::tempdir().unwrap();
    let run = stored_run(directory.path());
    let reader = RunReader::open(&run).unwrap();
    reader.write_derived_json("claims.json", &["b"]).unwrap();
    reader.write_derived("report.md", b"# Report").unwrap();
    assert_eq!(reader.verify_hashes(), []);
    for name in ["stdout.txt", "run.json", "events/calls-0000.parquet", "report.md/../stdout.txt"] {
        assert!(matches!(reader.write_derived(name, b""), Err(RecordError::NotDerived { .. })), "{name}");
    }

    fs::write(run.join("stdout.txt"), "iozone test complete!\n").unwrap();
    let mismatches = reader.verify_hashes();
    assert_eq!(mismatches.len(), 1);
    assert_eq!(mismatches[0].name, "stdout.txt");
    assert_ne!(mismatches[0].found.as_ref(), Ok(&mismatches[0].expected));
}

/// Makes the manifest agree with the files that it lists and that are there, and seals it: the work of somebody who
/// knows how a run directory is made.
fn rewritten(run: &Path) {
    let path = run.join("run.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let sums = manifest["sha256"].as_object_mut().unwrap();
    sums.retain(|name, _| run.join(name).exists());
    for (name, sum) in sums {
        *sum = sha256(&fs::read(run.join(name)).unwrap()).into();
    }
    let bytes = serde_json::to_vec(&manifest).unwrap();
    fs::write(run.join(SEAL), format!("{}  run.json\n", sha256(&bytes))).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn files_of_the_user_are_no_evidence_and_no_hindrance() {
    let directory = tempfile::tempdir().unwrap();
    let run = stored_run(directory.path());
    fs::write(run.join("notes.txt"), "mine").unwrap();
    fs::write(run.join("events/notes.parquet"), "mine").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", run.join("link")).unwrap();
    let reader = RunReader::open(&run).unwrap();
    assert_eq!(all(reader.calls()).len(), 50);
    assert!(reader.output().unwrap().stderr.is_empty() && reader.file("notes.txt").unwrap().is_none());
}

#[test]
fn a_run_of_an_earlier_version_has_no_seal_and_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let run = stored_run(directory.path());
    let line = fs::read_to_string(run.join(SEAL)).unwrap();
    assert_eq!(line, format!("{}  run.json\n", RunReader::open(&run).unwrap().manifest_sha256()));
    assert!(RunReader::open(&run).unwrap().is_sealed());
    fs::remove_file(run.join(SEAL)).unwrap();
    let reader = RunReader::open(&run).unwrap();
    assert!(!reader.is_sealed() && all(reader.calls()).len() == 50);
}

#[test]
fn rows_are_counted_against_the_account() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    writer.append(&vec![one_call(); ROWS_PER_PART + 50]);
    let account = |received| RecordAccount { made: received, received, ..RecordAccount::default() };
    let mut stated = manifest();
    let cut = BTreeMap::from([(RecordClass::Calls, 1_000)]);
    stated.coverage.log =
        Some(EventLog { cut: Some(LogCut { at_ns: 1, why: String::new(), records: cut }), ..EventLog::default() });
    stated.coverage.records.insert(RecordClass::Calls, account(ROWS_PER_PART as u64 + 1_050));
    stated.coverage.records.insert(RecordClass::BlockQueued, account(0));
    writer.finish(stated).unwrap();
    let settled = || {
        let checked = RunReader::open(&run).unwrap().checked();
        let mut coverage = checked.reader.manifest().coverage.clone();
        let faults = checked.settle(&mut coverage);
        (faults, coverage.records[&RecordClass::Calls])
    };
    assert_eq!(settled(), (Vec::new(), account(ROWS_PER_PART as u64 + 1_050)));

    // A part that is gone from the directory and from the manifest.
    let part = run.join("events/calls-0001.parquet");
    let bytes = fs::read(&part).unwrap();
    fs::remove_file(&part).unwrap();
    rewritten(&run);
    let (faults, short) = settled();
    assert_eq!(faults, ["50 of 32818 rows of the table calls are not in the run directory"]);
    assert_eq!((short.received, short.lost), (ROWS_PER_PART as u64 + 1_000, 50));

    // One that is there and listed, and not what was recorded.
    let first = run.join("events/calls-0000.parquet");
    fs::write(&first, &bytes).unwrap();
    let (faults, short) = settled();
    assert_eq!(faults, ["32818 of 32818 rows of the table calls are not in the run directory"]);
    assert_eq!(short.lost, ROWS_PER_PART as u64 + 50);
    let checked = RunReader::open(&run).unwrap().checked();
    assert_eq!((checked.mismatches.len(), checked.reader.calls().count()), (1, 0));

    // More rows than records.
    fs::write(&first, encoded(ROWS_PER_PART)).unwrap();
    rewritten(&run);
    assert_eq!(settled().0, ["50 of 32818 rows of the table calls are not in the run directory"]);
    let manifest = fs::read_to_string(run.join("run.json")).unwrap();
    fs::write(run.join("run.json"), manifest.replace("\"received\":33818", "\"received\":2000")).unwrap();
    rewritten(&run);
    let (faults, account) = settled();
    assert_eq!(faults, ["the table calls has 32768 rows, and 1000 records arrived: some were added"]);
    assert_eq!(account.lost, 0);
}

/// Returns a part of so many calls.
fn encoded(rows: usize) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let mut writer = RunWriter::create(&run).unwrap();
    writer.append(&vec![one_call(); rows]);
    writer.finish(manifest()).unwrap();
    fs::read(run.join("events/calls-0000.parquet")).unwrap()
}

#[test]
fn a_series_is_read_as_it_was_written_and_a_damaged_one_is_named() {
    use activebench_model::series::SeriesManifest;
    use activebench_record::{read_series, write_series};
    let folder = tempfile::tempdir().expect("a folder");
    assert!(read_series(folder.path()).expect("nothing is wrong").is_none());
    let manifest = SeriesManifest {
        format: activebench_model::series::FORMAT,
        activebench: "0.1.0".to_owned(),
        command: Default::default(),
        planned_runs: 3,
        until: None,
        preconditioning: None,
        runs: vec!["1".to_owned(), "2".to_owned()],
        choices: Default::default(),
        incomplete: vec!["interrupted".to_owned()],
    };
    write_series(folder.path(), &manifest).expect("it is written");
    let stored = read_series(folder.path()).expect("it is read").expect("a series");
    assert_eq!((&stored.manifest, stored.is_sealed), (&manifest, true));
    write_series(folder.path(), &manifest).expect("it grows");

    // One changed word is noticed; without a seal, that there is none.
    let at = |name: &str| folder.path().join(name);
    let text = fs::read_to_string(at("series.json")).expect("it is there");
    fs::write(at("series.json"), text.replace("interrupted", "uneventful!")).expect("it is changed");
    let error = read_series(folder.path()).expect_err("it is not the sealed one");
    assert!(matches!(error, RecordError::BrokenSeal { .. }), "{error}");
    fs::remove_file(at("series.json.sha256")).expect("it is there");
    assert!(!read_series(folder.path()).expect("it is read").expect("a series").is_sealed);

    let check = |text: &str, part: &str| {
        fs::write(at("series.json"), text).expect("it is written");
        let error = read_series(folder.path()).expect_err("it is damaged").to_string();
        assert!(error.contains(part), "{error}");
    };
    check("{", "cannot read the manifest");
    check(r#"{"format": 99}"#, "version 99");
    check(r#"{"format": 1}"#, "cannot read the manifest");
    let outside = SeriesManifest { runs: vec!["../1".to_owned()], ..manifest };
    check(&serde_json::to_string(&outside).expect("JSON"), "leads out of");
}
