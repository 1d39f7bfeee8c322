//! Figures of the data that the tool wrote, from samples of its writes. The samples are not kept by default.
//!
//! Bytes are kept only on request. A sample is numbered by its content. Its hash uses a key that is made for the run
//! and never leaves it, so that nobody can guess from the run directory what was written.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use activebench_model::call::{FileId, Op};
use activebench_model::coverage::PayloadSampling;
use activebench_model::event::KernelClass;
use activebench_model::event::PayloadEvent;
use activebench_probe_abi::{BatchHeader, PAYLOAD_BYTES, PayloadRecord, Record};
use serde::{Deserialize, Serialize};
use zstd::bulk::Compressor;

use crate::printed::PrintedStore;

/// Maximum number of samples; each takes about 100 bytes, its number included. At the maximum every second one is
/// dropped, at random. From then on only half as many are taken.
const MOST_SAMPLES: usize = 1 << 16;
/// Maximum number of bytes kept.
const MOST_KEPT_BYTES: usize = 32 << 20;
/// Samples per second per CPU.
const SAMPLES_HZ: u64 = 256;
/// Samples per second of all CPUs: processing them takes less than 2 % of one CPU.
const MOST_SAMPLES_HZ: u64 = 1024;
/// zstd's fastest regular level.
const LEVEL: i32 = 1;

/// Use of the samples of written data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Payload {
    /// No samples are taken.
    Off,
    /// Figures of the samples are kept.
    #[default]
    Figures,
    /// Their bytes are kept too.
    Keep,
}

impl Payload {
    /// Returns the minimum time between two samples on a CPU; 0 when none are taken.
    pub(crate) fn period_ns(self, cpus: u64) -> u64 {
        match self {
            Payload::Off => 0,
            Payload::Figures | Payload::Keep => {
                (1_000_000_000 / SAMPLES_HZ).max(1_000_000_000 * cpus / MOST_SAMPLES_HZ)
            }
        }
    }
}

/// The samples of one run, and what came by their ring besides.
pub(crate) struct PayloadStore {
    /// What the processes printed.
    pub(crate) printed: PrintedStore,
    keeps: bool,
    period_ns: u64,
    most_samples: usize,
    most_kept_bytes: usize,
    /// One in this many received samples is taken: a power of two.
    one_in: u32,
    events: Vec<PayloadEvent>,
    /// Numbers of the contents, by hash.
    contents: HashMap<u64, u32>,
    next_content: u32,
    hash: RandomState,
    zstd: Compressor<'static>,
    packed: Vec<u8>,
    kept: Vec<u8>,
    received: u64,
    malformed: u64,
}

impl std::fmt::Debug for PayloadStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PayloadStore").field("samples", &self.events.len()).finish_non_exhaustive()
    }
}

impl PayloadStore {
    /// # Errors
    /// Returns an error if there is not enough memory to compress.
    pub(crate) fn new(payload: Payload, period_ns: u64) -> std::io::Result<Self> {
        Ok(Self {
            printed: PrintedStore::default(),
            keeps: payload == Payload::Keep,
            period_ns,
            most_samples: MOST_SAMPLES,
            most_kept_bytes: MOST_KEPT_BYTES,
            one_in: 1,
            events: Vec::new(),
            contents: HashMap::new(),
            next_content: 0,
            hash: RandomState::new(),
            zstd: Compressor::new(LEVEL)?,
            packed: Vec::with_capacity(zstd::zstd_safe::compress_bound(PAYLOAD_BYTES)),
            kept: Vec::new(),
            received: 0,
            malformed: 0,
        })
    }

    /// Adds one message of the payload's ring.
    pub(crate) fn take(&mut self, message: &[u8]) {
        let class = BatchHeader::split_from(message).and_then(|(header, _)| header.class());
        if class == Some(KernelClass::Output) {
            self.malformed += u64::from(self.printed.take(message).is_none());
            return;
        }
        let record = PayloadRecord::split_from(message).filter(|_| class == Some(KernelClass::Payload));
        match record.and_then(|(record, _)| Some((Op::from_code(record.op)?, record))) {
            Some((op, record)) => {
                self.received += 1;
                if self.drawn(self.received) {
                    self.add(op, &record);
                }
            }
            None => self.malformed += 1,
        }
    }

    /// Returns `true` if a sample is one of those that are taken. Each value of `one_in` selects independently.
    fn drawn(&self, number: u64) -> bool {
        self.hash.hash_one((self.one_in, number)).is_multiple_of(u64::from(self.one_in))
    }

    fn add(&mut self, op: Op, record: &PayloadRecord) {
        if self.events.len() >= self.most_samples {
            self.thin();
        }
        let sample = record.sample();
        let file = (record.s_dev != 0).then_some(FileId { s_dev: record.s_dev, ino: record.ino });
        let event = PayloadEvent {
            at_ns: record.at_ns,
            tid: record.tid,
            tgid: record.tgid,
            op,
            fd: record.fd,
            file,
            write_bytes: record.requested,
            sampled_bytes: sample.len() as u32,
            zero_bytes: sample.iter().filter(|byte| **byte == 0).count() as u32,
            compressed_bytes: self.compressed(sample) as u32,
            content: (!sample.is_empty()).then(|| self.number_of(sample)),
            // Bytes of a descriptor that may not be a file are not kept.
            kept_offset: file.and_then(|_| self.keep(sample)),
        };
        self.events.push(event);
    }

    fn compressed(&mut self, sample: &[u8]) -> usize {
        self.packed.clear();
        // It does not fail, because the buffer is large enough for the worst case. If it did, the sample would count as
        // incompressible.
        self.zstd.compress_to_buffer(sample, &mut self.packed).map_or(sample.len(), |bytes| bytes.min(sample.len()))
    }

    fn number_of(&mut self, sample: &[u8]) -> u32 {
        let number = self.contents.entry(self.hash.hash_one(sample)).or_insert(self.next_content);
        self.next_content += u32::from(*number == self.next_content);
        *number
    }

    fn keep(&mut self, sample: &[u8]) -> Option<u64> {
        let fits = self.kept.len() + sample.len() <= self.most_kept_bytes;
        (self.keeps && fits && !sample.is_empty()).then(|| {
            let offset = self.kept.len() as u64;
            self.kept.extend_from_slice(sample);
            offset
        })
    }

    /// Drops every second sample, and the contents and bytes that only those had.
    fn thin(&mut self) {
        self.one_in *= 2;
        let (hash, one_in, mut number) = (&self.hash, self.one_in, 0_u64);
        self.events.retain(|_| {
            number += 1;
            hash.hash_one((one_in, "kept", number)).is_multiple_of(2)
        });
        let left: HashSet<u32> = self.events.iter().filter_map(|event| event.content).collect();
        self.contents.retain(|_, number| left.contains(number));
        let all = std::mem::take(&mut self.kept);
        for event in &mut self.events {
            if let Some(offset) = &mut event.kept_offset {
                let sample = &all[*offset as usize..][..event.sampled_bytes as usize];
                *offset = self.kept.len() as u64;
                self.kept.extend_from_slice(sample);
            }
        }
    }

    /// Returns the number of samples received, kept or not.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of messages that could not be parsed: always a defect of ours.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Returns how the data was sampled.
    pub(crate) fn account(&self) -> PayloadSampling {
        PayloadSampling {
            period_ns: self.period_ns,
            why_not: (self.period_ns == 0).then(|| "sampling what is written was turned off".to_owned()),
            one_in: self.one_in,
            kept_bytes: self.kept.len() as u64,
        }
    }

    /// Returns the samples' figures, in the order of arrival.
    pub(crate) fn events(&self) -> &[PayloadEvent] {
        &self.events
    }

    /// Returns the bytes that were kept.
    pub(crate) fn kept(&self) -> &[u8] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use activebench_probe_abi::bytes_of;

    fn record(sample: &[u8]) -> PayloadRecord {
        // SAFETY: all zeroes is a value of every record.
        let mut record: PayloadRecord = unsafe { std::mem::zeroed() };
        record.header = BatchHeader { record_class: KernelClass::Payload as u32, count: 1 };
        (record.op, record.s_dev) = (Op::Pwrite as u16, 7);
        record.bytes = sample.len() as u32;
        // The bytes after the sample are left over from another one.
        record.data = [0xaa; PAYLOAD_BYTES];
        record.data[..sample.len()].copy_from_slice(sample);
        record
    }

    fn store(payload: Payload) -> PayloadStore {
        PayloadStore::new(payload, 1).expect("memory")
    }

    fn noise(seed: u64) -> Vec<u8> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..PAYLOAD_BYTES).map(next).collect()
    }

    #[test]
    fn figures_tell_zeros_from_text_from_noise_and_the_same_from_other() {
        let mut store = store(Payload::Figures);
        let text = b"the same words again and again, ".repeat(128);
        for sample in [vec![0; 4096], text.clone(), noise(7), text, vec![0; 512], Vec::new()] {
            store.take(bytes_of(&record(&sample)));
        }
        let figures = |event: &PayloadEvent| (event.sampled_bytes, event.zero_bytes, event.content);
        let found: Vec<_> = store.events().iter().map(figures).collect();
        let noise_zeros = noise(7).iter().filter(|byte| **byte == 0).count() as u32;
        let expected = [
            (4096, 4096, Some(0)),
            (4096, 0, Some(1)),
            (4096, noise_zeros, Some(2)),
            (4096, 0, Some(1)),
            (512, 512, Some(3)),
            (0, 0, None),
        ];
        assert_eq!(found, expected);
        let packed: Vec<u32> = store.events().iter().map(|event| event.compressed_bytes).collect();
        assert!(packed[0] < 50 && packed[1] < 200 && packed[2] == 4096 && packed[4] < 50, "{packed:?}");
        assert!(store.kept().is_empty() && store.events().iter().all(|event| event.kept_offset.is_none()));
        assert_eq!((store.received(), store.malformed()), (6, 0));
    }

    #[test]
    fn however_many_come_they_stay_few_and_keep_their_own_bytes() {
        let mut store = store(Payload::Keep);
        (store.most_samples, store.most_kept_bytes) = (64, 64 * 100);
        for number in 0..2000_u32 {
            store.take(bytes_of(&record(&[&number.to_ne_bytes()[..], &[1; 96]].concat())));
        }
        assert_eq!(store.received(), 2000);
        assert!((16..=64).contains(&store.events().len()) && store.contents.len() <= 64, "{}", store.events().len());
        assert!((16..=128).contains(&store.account().one_in), "{:?}", store.account());
        assert_eq!(store.account().kept_bytes, store.events().len() as u64 * 100);
        let number = |event: &PayloadEvent| {
            let kept = &store.kept()[event.kept_offset.expect("kept") as usize..];
            (u32::from_ne_bytes(kept[..4].try_into().expect("four")), event.content.expect("a number"))
        };
        // Contents arrived in the order of their numbers; none got the number of another.
        let numbers: Vec<_> = store.events().iter().map(number).collect();
        assert!(numbers.is_sorted_by(|one, two| one.0 < two.0 && one.1 < two.1), "{numbers:?}");
        assert!(numbers.iter().any(|(number, _)| *number < 1000) && numbers.iter().any(|(number, _)| *number >= 1000));
    }

    #[test]
    fn what_is_no_sample_is_counted() {
        let mut store = store(Payload::Figures);
        let mut other = record(b"x");
        other.header.record_class = KernelClass::Calls as u32;
        let mut unknown = record(b"x");
        unknown.op = u16::MAX;
        for message in [&bytes_of(&record(b"x"))[..100], bytes_of(&other), bytes_of(&unknown)] {
            store.take(message);
        }
        assert_eq!((store.received(), store.malformed(), store.events().len()), (0, 3, 0));
    }

    #[test]
    fn many_processors_share_what_is_sampled() {
        for (cpus, expected) in [(1, 3_906_250), (4, 3_906_250), (64, 62_500_000)] {
            assert_eq!(Payload::Figures.period_ns(cpus), expected);
            assert_eq!(Payload::Off.period_ns(cpus), 0);
        }
    }
}
