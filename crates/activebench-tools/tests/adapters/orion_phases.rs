//! Orion's data points in made-up activities: parts for each descriptor, and activity that is not a part.

use activebench_model::activity::{Activity, Burst, CallBrief, CallSpan, Pass, Step, StepKind};
use activebench_model::call::{FileId, FileKind, Op};
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::{Direction, PartEnd, Phase};
use activebench_tools::adapter_by_name;

const TGID: u32 = 42;
const SECOND: u64 = 1_000_000_000;

fn burst(op: Op, requested: u64, start_ns: u64, end_ns: u64) -> Burst {
    Burst { tgid: TGID, op, requested, start_ns, end_ns, calls: 100, bytes: 100 * requested }
}

/// Returns a descriptor with calls of one kind over a time.
fn pass(fd: i32, op: Op, start_ns: u64, end_ns: u64) -> Pass {
    let span = CallSpan { start_ns, end_ns, tid: TGID, op, returned: 8192 };
    let step = Step {
        kind: StepKind::Read,
        start_ns,
        end_ns,
        last_end_ns: end_ns,
        calls: 100,
        bytes: 819_200,
        seeks: 0,
        tids: Box::new([TGID]),
        head: Box::new([CallBrief { span, offset: 0, requested: 8192 }]),
        last_syncs: Box::default(),
        shifts: None,
        min_offset: 0,
        max_offset: 8192,
    };
    Pass {
        tgid: TGID,
        fd,
        file: FileId { s_dev: 1, ino: fd as u64 },
        kind: FileKind::Regular,
        open_flags: 0,
        name: None,
        open: None,
        close: None,
        steps: vec![step],
    }
}

/// Returns the phases of a run whose matrix has these cells, as `(file, text)`.
fn phases(options: &str, matrices: &[(&str, &str)], activity: &Activity) -> Vec<Phase> {
    let orion = adapter_by_name("orion").expect("the adapter is registered");
    let argv = format!("orion -testname t {options}").split(' ').map(str::to_owned).collect();
    let command = CommandLine { argv, cwd: "/".to_owned() };
    let file = |(name, text): &(&str, &str)| ToolFile { name: (*name).to_owned(), bytes: text.as_bytes().to_vec() };
    let output = ToolOutput { files: matrices.iter().map(file).collect(), ..ToolOutput::default() };
    let parsed = orion.parse(&command, &output, None);
    orion.phases(&command, &output, &parsed, activity)
}

const ROW: &str = "-run advanced -matrix row -num_small 2 -num_large 0 -duration 1";
const IOPS: (&str, &str) = ("t_iops.csv", "Large/Small,      1,      2\n          0,    100,    200\n");

#[test]
fn every_descriptor_of_the_point_is_a_part_and_others_are_not() {
    let activity = Activity {
        bursts: vec![
            burst(Op::AioRead, 8192, SECOND, 2 * SECOND + 1000),
            burst(Op::AioRead, 8192, 3 * SECOND, 4 * SECOND + 1000),
        ],
        passes: vec![
            // The list of volumes, read by plain calls before the run; a trace written during it.
            pass(3, Op::Read, SECOND / 2, SECOND / 2 + 10),
            pass(4, Op::Write, SECOND, 4 * SECOND),
            // Two volumes for the whole run, a third one that is opened for the second point.
            pass(5, Op::AioRead, SECOND, 4 * SECOND + 1000),
            pass(6, Op::AioRead, SECOND, 4 * SECOND + 1000),
            pass(7, Op::AioRead, 3 * SECOND, 4 * SECOND + 1000),
        ],
        ..Activity::default()
    };
    let found = phases(ROW, &[IOPS], &activity);
    let parts: Vec<(&str, Vec<i32>)> =
        found.iter().map(|phase| (phase.id.as_str(), phase.parts.iter().map(|part| part.fd).collect())).collect();
    assert_eq!(parts, [("small-1-large-0", vec![5, 6]), ("small-2-large-0", vec![5, 6, 7])]);
    for (phase, start_ns) in found.iter().zip([SECOND, 3 * SECOND]) {
        assert_eq!((phase.direction, &phase.incomplete), (Direction::Read, &None));
        for part in &phase.parts {
            assert_eq!((part.start_ns, part.end), (start_ns, PartEnd::At(start_ns + SECOND)));
            // Completed after the clock stopped.
            assert_eq!(part.last_data_ns, start_ns + SECOND + 1000);
        }
    }
}

#[test]
fn a_point_of_both_sizes_is_two_phases_on_the_same_parts() {
    let activity = Activity {
        bursts: vec![
            burst(Op::AioRead, 8192, SECOND, 2 * SECOND),
            burst(Op::AioWrite, 8192, SECOND, 2 * SECOND),
            burst(Op::AioRead, 1 << 20, SECOND, 2 * SECOND),
        ],
        passes: vec![pass(5, Op::AioRead, SECOND, 2 * SECOND)],
        ..Activity::default()
    };
    let matrices = [
        ("t_iops.csv", "Large/Small,      3\n          2,    100\n"),
        ("t_mbps.csv", "Large/Small,      3\n          2,  20.00\n"),
    ];
    let found =
        phases("-run advanced -matrix point -num_small 3 -num_large 2 -write 20 -duration 1", &matrices, &activity);
    let sizes: Vec<_> = found.iter().map(|phase| (phase.id.as_str(), phase.direction, phase.call_bytes)).collect();
    assert_eq!(
        sizes,
        [
            ("small-3-large-2-small-ios", Direction::Mixed, Some(8192)),
            ("small-3-large-2-large-ios", Direction::Mixed, Some(1 << 20)),
        ]
    );
    assert_eq!(found[0].parts, found[1].parts);
    assert_eq!(found[0].parts.len(), 1);
}

#[test]
fn what_cannot_be_told_apart_is_said_and_has_no_parts() {
    let endless = Activity {
        bursts: vec![burst(Op::AioRead, 8192, SECOND, 3 * SECOND)],
        passes: vec![pass(5, Op::AioRead, SECOND, 3 * SECOND)],
        ..Activity::default()
    };
    let of_other_size = Activity {
        bursts: vec![burst(Op::AioRead, 4096, SECOND, 2 * SECOND)],
        passes: vec![pass(5, Op::AioRead, SECOND, 2 * SECOND)],
        ..Activity::default()
    };
    for (activity, why) in [
        (&endless, "go on without a pause for 2.0 s"),
        (&of_other_size, "asks for 1 small requests of 8192 bytes, and none were observed"),
        (&Activity::default(), "no further requests were observed"),
    ] {
        for phase in phases(ROW, &[IOPS], activity) {
            let said = phase.incomplete.expect("a reason");
            assert!(phase.parts.is_empty() && said.contains(why), "{}: {said}", phase.id);
        }
    }
    let same_size = Activity {
        bursts: vec![burst(Op::AioRead, 8192, SECOND, 2 * SECOND)],
        passes: vec![pass(5, Op::AioRead, SECOND, 2 * SECOND)],
        ..Activity::default()
    };
    let point = "-run advanced -matrix point -num_small 1 -num_large 1 -size_large 8 -duration 1";
    let found = phases(point, &[("t_iops.csv", "Large/Small,      1\n          1,    100\n")], &same_size);
    assert!(found[0].incomplete.as_deref().is_some_and(|why| why.contains("same size")), "{found:?}");
}
