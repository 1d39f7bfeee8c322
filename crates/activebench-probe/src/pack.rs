//! Packs a chunk of records into few bytes and back.
//!
//! Consecutive records differ little: a few clock ticks, the next block, the same file. Each 8-byte word of a record
//! is written as its difference to a prediction from the record before. The differences are stored byte plane by byte
//! plane (most planes are then all zeroes), and zstd compresses the planes. The 96 bytes of a cached pread become 2
//! (`docs/design/event-log.md`).

use activebench_model::event::KernelClass;
use activebench_probe_abi::decode::KernelEvent;
use activebench_probe_abi::{Record, with_kernel_event};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::compress_bound;

/// Bytes of a word; records are `repr(C)` with 8-byte fields, so they are whole words.
const WORD: usize = 8;

/// zstd's fastest regular level: its CPU time is taken from the benchmark.
const LEVEL: i32 = 1;

/// Packs chunks; reuses its working memory between them.
pub(crate) struct Packer {
    zstd: Compressor<'static>,
    planes: Vec<u8>,
    differences: Vec<u64>,
    packed: Vec<u8>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl Packer {
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { zstd: Compressor::new(LEVEL)?, planes: Vec::new(), differences: Vec::new(), packed: Vec::new() })
    }

    /// Packs whole records of a class.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn pack(&mut self, class: KernelClass, records: &[u8], record_bytes: usize) -> std::io::Result<Vec<u8>> {
        let count = records.len() / record_bytes;
        self.planes.clear();
        self.planes.resize(count * record_bytes, 0);
        for word in 0..record_bytes / WORD {
            self.differences.clear();
            let mut before = None;
            for record in records.chunks_exact(record_bytes) {
                let difference = word_of(record, word).wrapping_sub(expected(class, word, record, before));
                self.differences.push(folded(difference));
                before = Some(record);
            }
            let used = self.differences.iter().fold(0, |used, difference| used | difference);
            // The planes above the largest difference are zeroes already.
            for plane in 0..WORD - used.leading_zeros() as usize / 8 {
                let bytes = &mut self.planes[(word * WORD + plane) * count..][..count];
                for (byte, difference) in bytes.iter_mut().zip(&self.differences) {
                    *byte = (difference >> (8 * plane)) as u8;
                }
            }
        }
        // It needs room for the worst case, and what is kept must not hold that room.
        self.packed.clear();
        self.packed.reserve(compress_bound(self.planes.len()));
        self.zstd.compress_to_buffer(&self.planes, &mut self.packed)?;
        Ok(self.packed.as_slice().to_vec())
    }
}

/// Unpacks the records of a packed chunk.
///
/// # Errors
/// Returns an error if the chunk is damaged.
pub(crate) fn unpack(
    class: KernelClass,
    packed: &[u8],
    record_bytes: usize,
    most_bytes: usize,
) -> std::io::Result<Vec<u8>> {
    let planes = Decompressor::new()?.decompress(packed, most_bytes)?;
    let count = planes.len() / record_bytes;
    // Joins the bytes of each difference again, word by word.
    let words = record_bytes / WORD;
    let mut differences = vec![0_u64; words * count];
    for (number, bytes) in planes.chunks_exact(count.max(1)).enumerate() {
        let of_word = &mut differences[number / WORD * count..][..count];
        for (difference, byte) in of_word.iter_mut().zip(bytes) {
            *difference |= u64::from(*byte) << (8 * (number % WORD));
        }
    }
    let mut records = vec![0; count * record_bytes];
    for index in 0..count {
        let (done, rest) = records.split_at_mut(index * record_bytes);
        let before = index.checked_sub(1).map(|index| &done[index * record_bytes..]);
        let record = &mut rest[..record_bytes];
        for word in 0..words {
            let difference = unfolded(differences[word * count + index]);
            let value = difference.wrapping_add(expected(class, word, record, before));
            record[word * WORD..][..WORD].copy_from_slice(&value.to_ne_bytes());
        }
    }
    Ok(records)
}

/// Predicts a word of a record from the words before it and the record before, which are all that is known when a
/// chunk is unpacked. A wrong prediction costs only bytes.
fn expected(class: KernelClass, word: usize, record: &[u8], before: Option<&[u8]>) -> u64 {
    let earlier = |word| before.map_or(0, |before| word_of(before, word));
    match (class, word) {
        // A call starts soon after the previous one ended, ends soon after it started, and is on the CPU for most of
        // that time. Its thread was in user mode for most of the gap before it.
        (KernelClass::Calls, 0) => earlier(1),
        (KernelClass::Calls, 1) => word_of(record, 0),
        (KernelClass::Calls, 6) => word_of(record, 1).wrapping_sub(word_of(record, 0)),
        (KernelClass::Calls, 7) => word_of(record, 0).wrapping_sub(earlier(1)),
        _ => earlier(word),
    }
}

fn word_of(record: &[u8], word: usize) -> u64 {
    let bytes = record[word * WORD..(word + 1) * WORD].try_into();
    bytes.map_or(0, u64::from_ne_bytes)
}

/// Maps small negative numbers to small positive ones (the zigzag encoding of protocol buffers).
fn folded(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

fn unfolded(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

/// Returns the bytes of a kept record.
pub(crate) fn record_size(class: KernelClass) -> usize {
    with_kernel_event!(
        class,
        E => size_of::<<E as KernelEvent>::Record>(),
        reduced => size_of::<activebench_probe_abi::PayloadRecord>()
    )
}

/// Returns the records of unpacked bytes.
pub(crate) fn records_of<R: Record>(mut bytes: &[u8]) -> Vec<R> {
    let mut records = Vec::with_capacity(bytes.len() / size_of::<R>());
    while let Some((record, rest)) = R::split_from(bytes) {
        records.push(record);
        bytes = rest;
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_records_come_back() {
        let mut packer = Packer::new().expect("memory");
        // Any generator will do: every bit is set now and then.
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for class in KernelClass::ALL.iter().copied() {
            for (record_bytes, count) in [(96, 0), (96, 1), (96, 1000), (40, 77), (72, 3)] {
                let bytes: Vec<u8> = (0..record_bytes * count).map(|_| random() as u8).collect();
                let packed = packer.pack(class, &bytes, record_bytes).expect("packs");
                assert_eq!(packed.len(), packed.capacity(), "what is kept takes no more room than is accounted for");
                assert_eq!(unpack(class, &packed, record_bytes, bytes.len()).expect("unpacks"), bytes, "{class:?}");
            }
        }
        assert!(unpack(KernelClass::Calls, b"nonsense", 96, 1 << 20).is_err());
    }

    #[test]
    fn folding_keeps_small_numbers_small() {
        for (difference, expected) in [(0, 0), (1, 2), (u64::MAX, 1), (5, 10), (i64::MIN as u64, u64::MAX)] {
            assert_eq!(folded(difference), expected);
            assert_eq!(unfolded(expected), difference);
        }
    }
}
