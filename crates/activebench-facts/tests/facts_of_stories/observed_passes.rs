//! Tests of the passes that are found for a program that no adapter knows.

use crate::story::*;
use activebench_facts::ObservedPasses;
use activebench_model::fact::FactName::{ReadBytes, Window, WriteBytes, WriteCalls};
use activebench_model::phase::Direction;

/// Returns each pass as `direction blocks calls opens: windows`.
fn lines(passes: &ObservedPasses<'_>) -> Vec<String> {
    let line = |pass: &activebench_model::observed_pass::ObservedPass| {
        let windows: Vec<&str> = pass.windows.iter().map(|window| window.phase.as_str()).collect();
        let (direction, blocks) = (pass.direction, pass.bytes / BLOCK);
        format!("{direction:?} {blocks} {} {}: {}", pass.calls, pass.opens, windows.join(" "))
    };
    passes.passes().iter().map(line).collect()
}

#[test]
fn a_file_that_is_written_synced_and_read_has_two_passes_with_the_spans_that_a_program_can_time() {
    let mut story = Story::new();
    story.open(3, "/mnt/a");
    let written = story.writes(3, 4);
    let sync = story.fsync(3);
    let closed = story.close(3);
    story.open(3, "/mnt/a");
    story.reads(3, 4);
    story.close(3);
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let expected = [
        "Write 4 4 1: write-a write-a-with-sync write-a-with-close write-a-with-open write-a-with-open-and-sync \
         write-a-with-open-and-close",
        "Read 4 4 1: read-a read-a-with-close read-a-with-open read-a-with-open-and-close",
    ];
    assert_eq!(lines(&passes), expected);
    let windows = &passes.passes()[0].windows;
    let spans: Vec<(u64, u64, bool)> =
        windows[..3].iter().map(|window| (window.start_ns, window.end_ns, window.has_sync)).collect();
    let expected = [(written.0, written.1, false), (written.0, sync.end_ns, true), (written.0, closed.end_ns, true)];
    assert_eq!(spans, expected);
    for (place, (start_ns, end_ns, has_sync)) in spans.into_iter().enumerate() {
        let phase = passes.phase(0, place);
        assert_eq!(phase.parts[0].sync_inside.is_some(), has_sync, "{}", phase.id);
        let facts = story.facts(phase);
        check("write", &facts, &[(WriteBytes, blocks(4)), (ReadBytes, blocks(0)), (Window, count(end_ns - start_ns))]);
    }
}

#[test]
fn files_that_are_written_one_after_the_other_are_passes_each_and_together() {
    let mut story = Story::new();
    for number in 0..3 {
        story.file.ino = 100 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, 2 + number);
        story.fsync(3);
        story.close(3);
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    let last = passes.passes().last().expect("one");
    assert_eq!((last.bytes / BLOCK, last.calls, last.opens), (9, 9, 3));
    assert_eq!(last.name, "write of 3 files");
    assert!(passes.passes()[..3].iter().all(|pass| pass.parent == Some(3)));
    let together = passes.phase(3, 1);
    check("together", &story.facts(together), &[(WriteBytes, blocks(9)), (WriteCalls, count(9))]);
}

#[test]
fn passes_of_one_descriptor_are_divided_by_the_other_direction() {
    let mut story = Story::new();
    story.open(3, "a");
    story.writes(3, 5);
    story.reads(3, 3);
    story.writes(3, 2);
    story.close(3);
    let activity = story.activity();
    let found: Vec<(Direction, u64)> =
        ObservedPasses::new(&activity).passes().iter().map(|pass| (pass.direction, pass.bytes / BLOCK)).collect();
    use Direction::{Mixed, Read, Write};
    assert_eq!(found, [(Write, 5), (Read, 3), (Write, 2), (Write, 7), (Mixed, 10)]);
}

#[test]
fn many_files_have_few_passes() {
    let mut story = Story::new();
    for number in 0..2000 {
        story.file.ino = 1000 + number;
        story.open(3, &format!("f{number}"));
        story.writes(3, 1);
        story.close(3);
    }
    let activity = story.activity();
    let passes = ObservedPasses::new(&activity);
    assert!(passes.passes().len() <= 60, "{}", passes.passes().len());
    assert_eq!(passes.passes().last().map(|pass| pass.opens), Some(2000));
}
