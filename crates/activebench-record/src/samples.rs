//! Rows and a manifest for this crate's unit tests.

use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::event::CacheEvent;
use activebench_model::run::{FORMAT, Manifest};

pub(crate) fn manifest() -> Manifest {
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

pub(crate) fn calls(count: u64) -> Vec<Call> {
    let call = |number: u64| Call {
        start_ns: 1_000 * number,
        end_ns: 1_000 * number + 700 + number % 13,
        tid: 7,
        tgid: 7,
        op: Op::ALL[number as usize % Op::ALL.len()],
        fd: number as i32 % 3 - 1,
        file: (!number.is_multiple_of(3)).then_some(FileId { s_dev: 0x700002, ino: u64::MAX - number }),
        kind: [FileKind::Regular, FileKind::BlockDevice, FileKind::Other][number as usize % 3],
        open_flags: number as u32 % 128,
        offset: number as i64 * 4_096 - 1,
        requested: 4_096,
        returned: if number.is_multiple_of(5) { -5 } else { 4_096 },
        storage_read_bytes: number,
        cached_bytes: number * 2,
        cpu_ns: 600,
        user_before_ns: 50,
        stands_for: 1,
    };
    (0..count).map(call).collect()
}

pub(crate) fn cache(count: u64) -> Vec<CacheEvent> {
    let file = FileId { s_dev: 1, ino: 2 };
    let event = |number: u64| CacheEvent {
        at_ns: number,
        file,
        offset: number,
        bytes: 4_096,
        tgid: 7,
        in_tree: number.is_multiple_of(2),
    };
    (0..count).map(event).collect()
}
