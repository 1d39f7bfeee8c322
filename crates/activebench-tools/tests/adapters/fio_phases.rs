//! fio's jobs, found in made-up calls as the kernel shows them: processes and threads, loops,
//! ramps, verification, earlier writes of the main process.

use std::collections::BTreeMap;

use activebench_model::activity::{
    Activity, CallBrief, CallSpan, Exec, FileSeen, NamedCall, Pass, Step, StepKind, Task,
};
use activebench_model::call::{FileId, FileKind, Op, open_bits};
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Part, PartEnd, Phase};
use activebench_tools::{Adapter, adapter_by_name};

const MAIN: u32 = 100;
const MS: u64 = 1_000_000;

fn fio() -> &'static dyn Adapter {
    adapter_by_name("fio").expect("the adapter is registered")
}

/// The calls of a run; times in ms.
#[derive(Default)]
struct Run {
    activity: Activity,
    files: BTreeMap<String, u64>,
}

impl Run {
    fn new() -> Self {
        let mut run = Run::default();
        run.task(MAIN, MAIN, 1, 0);
        run.activity.execs.push(Exec {
            at_ns: 0,
            tgid: MAIN,
            filename: "/usr/bin/fio".to_owned(),
            arguments: Vec::new(),
        });
        // The helper that keeps the statistics reads virtual files of the kernel.
        run.task(101, MAIN, MAIN, 5);
        run.pass(MAIN, 101, "/sys/block/vda/stat", 6, &[(StepKind::Read, 6, 7, 100)]);
        run
    }

    fn task(&mut self, tid: u32, tgid: u32, parent_tgid: u32, start_ms: u64) {
        self.activity.tasks.push(Task {
            tid,
            tgid,
            parent_tgid,
            comm: "fio".to_owned(),
            start_ns: start_ms * MS,
            end_ns: None,
            exit_status: None,
            user_ns: 0,
            kernel_ns: 0,
            blocked_ns: 0,
            iowait_ns: 0,
            preempted_ns: 0,
        });
    }

    /// Adds a process that fio makes for a job.
    fn job(&mut self, pid: u32, start_ms: u64) {
        self.task(pid, pid, MAIN, start_ms);
    }

    /// Adds one pass from open to close with its steps: kind, start, end, bytes.
    fn pass(&mut self, tgid: u32, tid: u32, name: &str, open_ms: u64, steps: &[(StepKind, u64, u64, u64)]) {
        let next = self.files.len() as u64 + 10;
        let ino = *self.files.entry(name.to_owned()).or_insert(next);
        let is_kernel_s = name.starts_with("/sys/") || name.starts_with("cpu0/");
        let file = FileId { s_dev: if is_kernel_s { 22 } else { 1 }, ino };
        match self.activity.files.iter_mut().find(|seen| seen.id == file) {
            Some(_) => {}
            None => {
                self.activity.files.push(FileSeen { id: file, names: vec![name.to_owned()], kind: FileKind::Regular })
            }
        }
        let span = |op: Op, start_ms: u64, end_ms: u64, returned: i64| CallSpan {
            start_ns: start_ms * MS,
            end_ns: end_ms * MS,
            tid,
            op,
            returned,
        };
        let step = |&(kind, start_ms, end_ms, bytes): &(StepKind, u64, u64, u64)| {
            let op = match kind {
                StepKind::Read => Op::Pread,
                StepKind::Write => Op::Pwrite,
                StepKind::Sync => Op::Fsync,
                StepKind::Map => Op::Mmap,
                _ => Op::Fadvise,
            };
            Step {
                kind,
                start_ns: start_ms * MS,
                end_ns: end_ms * MS,
                last_end_ns: end_ms * MS,
                calls: 1,
                bytes,
                seeks: 0,
                tids: Box::new([tid]),
                head: Box::new([CallBrief { span: span(op, start_ms, end_ms, 0), offset: 0, requested: bytes }]),
                last_syncs: Box::default(),
                shifts: None,
                min_offset: 0,
                max_offset: bytes as i64,
            }
        };
        let end_ms = steps.iter().map(|step| step.2).max().unwrap_or(open_ms);
        self.activity.passes.push(Pass {
            tgid,
            fd: 6,
            file,
            kind: FileKind::Regular,
            open_flags: open_bits::WRITABLE | open_bits::CREATE,
            name: None,
            open: Some(span(Op::Open, open_ms, open_ms, 6)),
            close: Some(span(Op::Close, end_ms + 1, end_ms + 1, 0)),
            steps: steps.iter().map(step).collect(),
        });
    }

    /// Returns the phases for a report of these entries: name, pid, direction, bytes.
    fn phases(&self, line: &str, entries: &[(&str, u32, &str, u64)]) -> Vec<Phase> {
        self.phases_of_groups(line, 1, entries)
    }

    /// Returns the phases for a report in which each entry covers this number of jobs.
    fn phases_of_groups(&self, line: &str, jobs: u32, entries: &[(&str, u32, &str, u64)]) -> Vec<Phase> {
        let mut text = String::new();
        for (name, pid, way, bytes) in entries {
            text += &format!(
                "{name}: (groupid=0, jobs={jobs}): err= 0: pid={pid}: now\n  {way}: IOPS=1000, BW=1000KiB/s (1024kB/s)({bytes}B/1000msec)\n"
            );
        }
        text += "\nRun status group 0 (all jobs):\n";
        let command = CommandLine { argv: line.split_whitespace().map(str::to_owned).collect(), cwd: "/".to_owned() };
        let output = ToolOutput { stdout: text.into_bytes(), ..ToolOutput::default() };
        let parsed = fio().parse(&command, &output, None);
        assert_eq!(parsed.claims.len(), 3 * entries.len(), "{parsed:#?}");
        fio().phases(&command, &output, &parsed, &self.activity)
    }
}

/// Returns the parts as (process, start ms, end ms).
fn parts(phase: &Phase) -> Vec<(u32, u64, u64)> {
    let end_ms = |part: &Part| match part.end {
        PartEnd::At(end_ns) => end_ns / MS,
        PartEnd::AfterBytes(_) => panic!("fio counts no bytes to its end"),
    };
    phase.parts.iter().map(|part| (part.tgid, part.start_ns / MS, end_ms(part))).collect()
}

#[test]
fn a_file_of_the_kernel_s_that_another_program_opened_by_a_relative_name_is_no_data() {
    let mut run = Run::new();
    run.job(110, 20);
    // `lscpu` opened it before, so its absolute name is not known.
    run.pass(110, 110, "cpu0/cache/index0/coherency_line_size", 21, &[(StepKind::Read, 21, 22, 3)]);
    run.pass(110, 110, "/mnt/a.0.0", 30, &[(StepKind::Read, 30, 1030, 1_024_000)]);
    let phases =
        run.phases("fio --name=a --rw=read --bs=4k --size=1000k --directory=/mnt", &[("a", 110, "read", 1_024_000)]);
    assert_eq!(phases[0].parts.len(), 1, "{phases:#?}");
    assert_eq!(phases[0].parts[0].file.s_dev, 1);
}

#[test]
fn the_layout_by_the_main_process_is_nobodys_part() {
    let mut run = Run::new();
    run.pass(MAIN, MAIN, "f", 10, &[(StepKind::Write, 11, 50, 1000), (StepKind::Sync, 50, 60, 0)]);
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Other, 100, 101, 0), (StepKind::Read, 102, 200, 1000)]);
    // Written by the job itself, but not its data.
    run.pass(200, 200, "local-a-0-verify.state", 201, &[(StepKind::Write, 201, 202, 192)]);
    let phases = run.phases("fio --name=a --rw=read", &[("a", 200, "read", 1000)]);
    assert_eq!(parts(&phases[0]), [(200, 100, 200)]);
    assert_eq!(phases[0].incomplete, None);
}

#[test]
fn the_log_that_is_replayed_is_nobodys_part() {
    let mut run = Run::new();
    run.job(200, 70);
    for log in ["run.log", "other:run.log"] {
        run.pass(200, 200, log, 80, &[(StepKind::Read, 81, 90, 500)]);
    }
    run.pass(200, 200, "f", 100, &[(StepKind::Read, 102, 200, 1000)]);
    let line = r"fio --name=a --read_iolog=run.log:other\:run.log";
    let phases = run.phases(line, &[("a", 200, "read", 1000)]);
    assert_eq!(parts(&phases[0]), [(200, 100, 200)]);
}

#[test]
fn threads_and_processes_of_a_job_file_that_nobody_has_are_the_one_entrys() {
    let mut run = Run::new();
    run.job(200, 70);
    run.task(201, MAIN, MAIN, 71);
    run.pass(200, 200, "f", 100, &[(StepKind::Read, 101, 200, 1000)]);
    run.pass(MAIN, 201, "g", 100, &[(StepKind::Read, 102, 210, 1000)]);
    let phases = run.phases_of_groups("fio -", 2, &[("a", 200, "read", 2000)]);
    assert_eq!((phases[0].incomplete.as_deref(), phases[0].parts.len()), (None, 2));
    // Reported separately and without their numbers: assigned in order of creation.
    let phases = run.phases("fio -", &[("a", 0, "read", 1000), ("b", 0, "read", 1000)]);
    assert_eq!((parts(&phases[0]), parts(&phases[1])), (vec![(200, 100, 200)], vec![(MAIN, 100, 210)]));
}

#[test]
fn the_sync_at_the_end_lies_inside_where_the_command_asks_for_it() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Write, 101, 200, 1000), (StepKind::Sync, 200, 300, 0)]);
    for (line, end_ms, inside) in [
        ("fio --name=a --rw=write --end_fsync=1", 300, true),
        ("fio --name=a --rw=write --fsync=8", 300, true),
        ("fio --name=a --rw=write", 200, false),
    ] {
        let phases = run.phases(line, &[("a", 200, "write", 1000)]);
        assert_eq!(parts(&phases[0]), [(200, 100, end_ms)], "{line}");
        let part = &phases[0].parts[0];
        assert_eq!((part.sync_inside.is_some(), part.sync_after.is_some()), (inside, !inside), "{line}");
    }
}

#[test]
fn a_last_sync_after_the_close_lies_inside_too() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Write, 101, 200, 1000)]);
    run.pass(200, 200, "f", 210, &[(StepKind::Sync, 211, 300, 0)]);
    run.pass(200, 200, "f", 310, &[(StepKind::Write, 311, 400, 1000), (StepKind::Sync, 400, 410, 0)]);
    run.pass(200, 200, "f", 420, &[(StepKind::Sync, 421, 430, 0)]);
    for (line, ends) in [
        ("fio --name=a --rw=write --loops=2 --end_fsync=1", [300, 430]),
        ("fio --name=a --rw=write --loops=2 --fsync_on_close=1", [300, 430]),
        ("fio --name=a --rw=write --loops=2", [200, 400]),
    ] {
        let phases = run.phases(line, &[("a", 200, "write", 2000)]);
        assert_eq!(parts(&phases[0]), [(200, 100, ends[0]), (200, 310, ends[1])], "{line}");
    }
}

#[test]
fn files_of_all_options_are_the_jobs_whatever_they_are_called() {
    let mut run = Run::new();
    run.job(200, 70);
    for name in ["g", "/usr/x_bw.1.log", "y.state", "y_iops.1.log"] {
        run.pass(200, 200, name, 100, &[(StepKind::Write, 101, 200, 1000)]);
    }
    let line = "fio --filename=g --name=a --rw=write --filename=/usr/x_bw.1.log --filename=y.state";
    assert_eq!(run.phases(line, &[("a", 200, "write", 3000)])[0].parts.len(), 3);
    assert_eq!(run.phases("fio --name=a --rw=write", &[("a", 200, "write", 1000)])[0].parts.len(), 1);
}

#[test]
fn fio_under_another_name_is_known_by_its_words() {
    let mut run = Run::new();
    let line = "/opt/disk-test --name=a --rw=read";
    run.activity.execs[0].filename = "/opt/disk-test".to_owned();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Read, 102, 200, 1000)]);
    assert!(!run.phases(line, &[("a", 200, "read", 1000)])[0].is_found());
    run.activity.execs[0].arguments = line.split_whitespace().map(str::to_owned).collect();
    assert!(run.phases(line, &[("a", 200, "read", 1000)])[0].is_found());
}

#[test]
fn each_loop_is_a_part_and_the_check_is_another_direction() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Write, 101, 200, 1000)]);
    run.pass(200, 200, "f", 210, &[(StepKind::Read, 211, 300, 1000)]);
    let entries = [("a", 200, "write", 1000)];
    let phases = run.phases("fio --name=a --rw=write --verify=crc32c", &entries);
    assert_eq!(parts(&phases[0]), [(200, 100, 200)]);
    run.pass(200, 200, "f", 310, &[(StepKind::Write, 311, 400, 1000)]);
    let phases = run.phases("fio --name=a --rw=write --loops=2", &entries);
    assert_eq!(parts(&phases[0]), [(200, 100, 200), (200, 310, 400)]);
    // Two spans with another clock between them are not a window.
    let phases = run.phases("fio --name=a --rw=write --loops=2 --verify=crc32c", &entries);
    assert!(phases[0].parts.is_empty() && phases[0].incomplete.is_some(), "{:?}", phases[0]);
    // Nor are they where fio writes again behind its check without a loop.
    let phases = run.phases("fio --name=a --rw=write --time_based --runtime=1 --verify=crc32c", &entries);
    assert!(phases[0].parts.is_empty() && phases[0].incomplete.is_some(), "{:?}", phases[0]);
}

#[test]
fn the_sync_behind_a_check_lies_outside() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Write, 101, 200, 1000), (StepKind::Sync, 201, 250, 0)]);
    run.pass(200, 200, "f", 260, &[(StepKind::Read, 261, 300, 1000), (StepKind::Sync, 310, 400, 0)]);
    let phases =
        |way| run.phases("fio --name=a --rw=write --verify=crc32c --fsync_on_close=1", &[("a", 200, way, 1000)]);
    assert_eq!(parts(&phases("write")[0]), [(200, 100, 250)]);
    assert_eq!(parts(&phases("read")[0]), [(200, 260, 300)]);
}

#[test]
fn a_job_that_ends_inside_its_ramp_counts_all_of_it() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Read, 101, 600, 1000)]);
    let phases = run.phases("fio --name=a --rw=read --ramp_time=1s", &[("a", 200, "read", 1000)]);
    assert_eq!(parts(&phases[0]), [(200, 100, 600)]);
}

#[test]
fn a_ramp_is_left_out() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Read, 101, 600, 1000)]);
    run.pass(200, 200, "f", 610, &[(StepKind::Read, 611, 3000, 5000)]);
    run.pass(200, 200, "f", 3001, &[(StepKind::Read, 3002, 4000, 1000)]);
    let phases = run.phases("fio --name=a --rw=read --ramp_time=1s", &[("a", 200, "read", 5000)]);
    assert_eq!(parts(&phases[0]), [(200, 1100, 3000), (200, 3001, 4000)]);
}

#[test]
fn jobs_are_told_by_their_numbers_and_else_by_their_order() {
    let mut run = Run::new();
    run.job(201, 70);
    run.job(200, 71);
    run.pass(201, 201, "f", 100, &[(StepKind::Read, 101, 200, 1000)]);
    run.pass(200, 200, "g", 100, &[(StepKind::Read, 101, 300, 2000)]);
    let line = "fio --name=a --rw=read --name=b --rw=read";
    // The numbers show that the second job was created first.
    let phases = run.phases(line, &[("a", 200, "read", 2000), ("b", 201, "read", 1000)]);
    assert_eq!((parts(&phases[0]), parts(&phases[1])), (vec![(200, 100, 300)], vec![(201, 100, 200)]));
    // Numbers of another namespace do not identify jobs: the order does.
    let phases = run.phases(line, &[("a", 2, "read", 1000), ("b", 3, "read", 2000)]);
    assert_eq!((parts(&phases[0]), parts(&phases[1])), (vec![(201, 100, 200)], vec![(200, 100, 300)]));
    // Here the order cannot be right.
    let phases = run.phases(line, &[("a", 2, "read", 2000), ("b", 3, "read", 1000)]);
    assert!(phases.iter().all(|phase| phase.incomplete.is_some()), "{phases:?}");
    // A delayed job is created last.
    let late = "fio --name=a --rw=read --startdelay=5 --name=b --rw=read";
    let phases = run.phases(late, &[("a", 2, "read", 2000), ("b", 3, "read", 1000)]);
    assert_eq!((parts(&phases[0]), parts(&phases[1])), (vec![(200, 100, 300)], vec![(201, 100, 200)]));
}

#[test]
fn processes_that_are_missing_make_no_phase() {
    let mut run = Run::new();
    run.job(200, 70);
    run.pass(200, 200, "f", 100, &[(StepKind::Read, 101, 200, 1000)]);
    let line = "fio --name=a --rw=read --numjobs=2";
    let phases = run.phases(line, &[("a", 2, "read", 1000), ("a", 3, "read", 1000)]);
    assert_eq!(phases.iter().map(|phase| phase.id.as_str()).collect::<Vec<_>>(), ["a.0-read", "a.1-read"]);
    for phase in &phases {
        assert!(phase.parts.is_empty());
        assert_eq!(phase.incomplete.as_deref(), Some("1 processes of fio were observed and 2 expected"));
    }
}

#[test]
fn threads_are_jobs_with_calls_of_their_own() {
    let mut run = Run::new();
    run.task(201, MAIN, MAIN, 70);
    run.task(202, MAIN, MAIN, 71);
    run.pass(MAIN, MAIN, "f", 10, &[(StepKind::Write, 11, 50, 1000)]);
    run.pass(MAIN, 201, "f", 100, &[(StepKind::Read, 101, 200, 1000)]);
    run.pass(MAIN, 202, "f", 100, &[(StepKind::Read, 101, 300, 1000)]);
    let line = "fio --name=a --rw=read --thread --numjobs=2";
    let phases = run.phases(line, &[("a", 2, "read", 1000), ("a", 3, "read", 1000)]);
    assert_eq!((parts(&phases[0]), parts(&phases[1])), (vec![(MAIN, 100, 200)], vec![(MAIN, 100, 300)]));
    assert_eq!((&phases[0].parts[0].tids, &phases[1].parts[0].tids), (&vec![201], &vec![202]));
}

#[test]
fn files_that_are_created_are_a_pass_over_names() {
    let mut run = Run::new();
    run.job(200, 70);
    for number in 0..3 {
        run.pass(200, 200, &format!("c.0.{number}"), 100 + 10 * number, &[]);
    }
    let span = CallSpan { start_ns: 500 * MS, end_ns: 501 * MS, tid: 200, op: Op::Unlink, returned: 0 };
    run.activity.unlinks.push(NamedCall { span, name: "c.0.0".to_owned() });
    let command = CommandLine {
        argv: "fio --name=c --ioengine=filecreate --nrfiles=3".split(' ').map(str::to_owned).collect(),
        cwd: "/".to_owned(),
    };
    let text = "c: (groupid=0, jobs=1): err= 0: pid=200: now\n  read: IOPS=1000, BW=1000KiB/s (1024kB/s)(12B/1000msec)\nRun status group\n";
    let output = ToolOutput { stdout: text.as_bytes().to_vec(), ..ToolOutput::default() };
    let parsed = fio().parse(&command, &output, None);
    let phases = fio().phases(&command, &output, &parsed, &run.activity);
    let names = phases[0].names.as_ref().expect("a pass over names");
    assert_eq!(names.requested, Some(3));
    assert_eq!((names.spans[0].start_ns / MS, names.spans[0].end_ns / MS), (100, 120));
    assert!(phases[0].parts.is_empty() && phases[0].incomplete.is_none());
}
