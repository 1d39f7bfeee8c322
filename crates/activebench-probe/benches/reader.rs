//! Cost of a recorded call in user space while the tool runs: splitting messages, packing, totals.
//!
//! Messages are as the kernel programs make them of a thread that reads 4 KiB at random offsets.

use activebench_model::event::KernelClass;
use activebench_probe::fuzzing::{Message, Receiver};
use activebench_probe_abi::{BatchHeader, CallGroup, CallRecord, GroupedCall, bytes_of};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

/// Calls of one iteration.
const CALLS: u64 = 1 << 18;
/// Records and groups of a message.
const SLOTS: u32 = 16;
/// Calls of a group.
const GROUP: u64 = 10;
/// Groups between two timed calls.
const GROUPS_PER_SAMPLE: u32 = 3;

/// Code of `pread`, and of a regular file.
const OP_PREAD: u16 = 2;
const REGULAR: u8 = 1;

/// A thread that reads.
struct Thread {
    now_ns: u64,
    random: u64,
}

impl Thread {
    /// Returns a number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit
    }

    fn offset(&mut self) -> u64 {
        self.below(1 << 14) * 4096
    }

    fn call(&mut self) -> CallRecord {
        let start_ns = self.now_ns + 40 + self.below(8);
        self.now_ns = start_ns + 400 + self.below(64);
        CallRecord {
            start_ns,
            end_ns: self.now_ns,
            ino: 4242,
            offset: self.offset() as i64,
            requested: 4096,
            returned: 4096,
            cpu_ns: self.now_ns - start_ns,
            user_before_ns: 40,
            s_dev: 0x800_0001,
            tid: 77,
            tgid: 77,
            open_flags: 0x8000,
            storage_read_bytes: 0,
            cached_pages: 0,
            fd: 3,
            op: OP_PREAD,
            file_kind: REGULAR,
            stands_for: 31,
        }
    }

    fn group(&mut self) -> CallGroup {
        let step_ns = 440 + self.below(32);
        self.now_ns += GROUP * step_ns;
        CallGroup {
            count_and_end_ns: 1 << 63 | GROUP << 59 | 1 << 58 | self.now_ns,
            step_ns: step_ns as u16,
            user_ns: 40,
            storage_read_bytes: 0,
            calls: std::array::from_fn(|_| {
                let second = self.offset() << 8 | u64::from(OP_PREAD);
                GroupedCall {
                    offset_and_op: self.offset() << 8 | u64::from(OP_PREAD),
                    requested: second as u32,
                    returned: (second >> 32) as i32,
                }
            }),
        }
    }

    /// Returns the messages of `calls` calls at least, and how many they are. With groups, as by default; without, as with
    /// `--latency full`.
    fn messages(&mut self, calls: u64, grouped: bool) -> (Vec<Vec<u8>>, u64) {
        let mut messages = Vec::new();
        let mut made = 0;
        while made < calls {
            let mut message = bytes_of(&BatchHeader { record_class: KernelClass::Calls as u32, count: SLOTS }).to_vec();
            for slot in 0..SLOTS {
                if !grouped || slot % (1 + GROUPS_PER_SAMPLE) == 0 {
                    message.extend_from_slice(bytes_of(&self.call()));
                    made += 1;
                } else {
                    message.extend_from_slice(bytes_of(&self.group()));
                    made += GROUP;
                }
            }
            messages.push(message);
        }
        (messages, made)
    }
}

fn reader(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reader");
    for (name, grouped) in [("grouped calls", true), ("calls that are all timed", false)] {
        let (messages, calls) = Thread { now_ns: 1 << 40, random: 1 }.messages(CALLS, grouped);
        group.throughput(Throughput::Elements(calls)).sample_size(20);
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || Receiver::new().expect("memory"),
                |receiver| {
                    messages.iter().for_each(|message| receiver.take(&Message::Event(message)));
                    assert_eq!(receiver.received(KernelClass::Calls), calls);
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, reader);
criterion_main!(benches);
