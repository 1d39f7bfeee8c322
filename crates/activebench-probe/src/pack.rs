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

/// Records that are transposed at once: their words and differences stay in the CPU's first cache.
const BLOCK: usize = 64;

/// The values of one word in a block of records.
type Column = [u64; BLOCK];

/// Packs chunks; reuses its working memory between them.
pub(crate) struct Packer {
    zstd: Compressor<'static>,
    /// All byte planes of a chunk. Those above a word's largest difference are not written.
    planes: Vec<u8>,
    /// What is compressed.
    content: Vec<u8>,
    /// Records of calls, and groups of calls.
    parts: [Vec<u8>; 2],
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
        Ok(Self {
            zstd: Compressor::new(LEVEL)?,
            planes: Vec::new(),
            content: Vec::new(),
            parts: Default::default(),
            packed: Vec::new(),
        })
    }

    /// Packs whole records of a class; those of calls may be groups.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(crate) fn pack(&mut self, class: KernelClass, records: &[u8], record_bytes: usize) -> std::io::Result<Vec<u8>> {
        self.content.clear();
        if class == KernelClass::Calls {
            let mut parts = std::mem::take(&mut self.parts);
            parts.iter_mut().for_each(Vec::clear);
            for part in records.chunks_exact(record_bytes) {
                let kind = usize::from(is_group(part));
                parts[kind].extend_from_slice(part);
                self.content.push(kind as u8);
            }
            self.add_planes(Prediction::of_call, &parts[0], record_bytes);
            self.add_planes(Prediction::of_group, &parts[1], record_bytes);
            self.parts = parts;
        } else {
            self.add_planes(Prediction::Before, records, record_bytes);
        }
        // It needs room for the worst case, and what is kept must not hold that room.
        self.packed.clear();
        self.packed.reserve(compress_bound(self.content.len()));
        self.zstd.compress_to_buffer(&self.content, &mut self.packed)?;
        Ok(self.packed.as_slice().to_vec())
    }

    /// Adds the bit sets of the planes that are used, then these planes.
    fn add_planes(&mut self, prediction_of: fn(usize) -> Prediction, records: &[u8], record_bytes: usize) {
        let words = record_bytes / WORD;
        let count = records.len() / record_bytes;
        // Planes of an earlier chunk are written over where they are used.
        self.planes.resize(self.planes.len().max(count * record_bytes), 0);
        let mut columns = vec![[0; BLOCK]; words];
        // Of the record before the block, and the bytes that the differences of each word have had so far.
        let mut before = vec![0; words];
        let mut widths = vec![0; words];
        for (block, records) in records.chunks(BLOCK * record_bytes).enumerate() {
            let first = block * BLOCK;
            let length = records.len() / record_bytes;
            for (index, record) in records.chunks_exact(record_bytes).enumerate() {
                for (column, value) in columns.iter_mut().zip(record.chunks_exact(WORD)) {
                    column[index] = word_in(value);
                }
            }
            for (word, known_width) in widths.iter_mut().enumerate() {
                let differences = prediction_of(word).differences(word, &columns, &before);
                let used = differences[..length].iter().fold(0, |used, difference| used | difference);
                let width = WORD - used.leading_zeros() as usize / 8;
                for plane in *known_width..width {
                    self.planes[(word * WORD + plane) * count..][..first].fill(0);
                }
                *known_width = width.max(*known_width);
                let differences = differences.map(u64::to_le_bytes);
                for plane in 0..*known_width {
                    let bytes = &mut self.planes[(word * WORD + plane) * count + first..][..length];
                    for (byte, difference) in bytes.iter_mut().zip(&differences) {
                        *byte = difference[plane];
                    }
                }
            }
            if let Some(last) = length.checked_sub(1) {
                before.iter_mut().zip(&columns).for_each(|(before, column)| *before = column[last]);
            }
        }
        self.content.extend(widths.iter().map(|width| ((1_u32 << width) - 1) as u8));
        for (word, width) in widths.iter().enumerate() {
            self.content.extend_from_slice(&self.planes[word * WORD * count..][..width * count]);
        }
    }
}

/// `true` for a group of calls: start times never reach the highest bit of the first word.
fn is_group(part: &[u8]) -> bool {
    part.get(WORD - 1).is_some_and(|byte| byte & 0x80 != 0)
}

/// Unpacks a packed chunk; `bytes` is the size of its records.
///
/// # Errors
/// Returns an error if the chunk is damaged.
pub(crate) fn unpack(class: KernelClass, packed: &[u8], record_bytes: usize, bytes: usize) -> std::io::Result<Vec<u8>> {
    let count = bytes / record_bytes;
    // A byte for each part of the calls, and the bit sets of two kinds of parts.
    let most = count * (record_bytes + 1) + 2 * record_bytes / WORD;
    let content = Decompressor::new()?.decompress(packed, most)?;
    if class != KernelClass::Calls {
        return take_planes(&mut &content[..], Prediction::Before, count, record_bytes);
    }
    let (kinds, mut planes) = content.split_at_checked(count).ok_or_else(damaged)?;
    let groups = kinds.iter().filter(|kind| **kind != 0).count();
    let records = take_planes(&mut planes, Prediction::of_call, count - groups, record_bytes)?;
    let groups = take_planes(&mut planes, Prediction::of_group, groups, record_bytes)?;
    let (mut records, mut groups) = (records.chunks_exact(record_bytes), groups.chunks_exact(record_bytes));
    let mut parts = Vec::with_capacity(bytes);
    for kind in kinds {
        let part = if *kind == 0 { records.next() } else { groups.next() };
        parts.extend_from_slice(part.ok_or_else(damaged)?);
    }
    Ok(parts)
}

fn damaged() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, "its planes are not as many as it says")
}

/// Takes bit sets and planes from the front, and returns the records.
fn take_planes(
    content: &mut &[u8],
    prediction_of: fn(usize) -> Prediction,
    count: usize,
    record_bytes: usize,
) -> std::io::Result<Vec<u8>> {
    let words = record_bytes / WORD;
    let (used, mut planes) = content.split_at_checked(words).ok_or_else(damaged)?;
    // Joins the bytes of each difference again, word by word.
    let mut differences = vec![0_u64; words * count];
    for (word, used) in used.iter().enumerate() {
        for plane in 0..used.count_ones() {
            let (bytes, rest) = planes.split_at_checked(count).ok_or_else(damaged)?;
            planes = rest;
            for (difference, byte) in differences[word * count..][..count].iter_mut().zip(bytes) {
                *difference |= u64::from(*byte) << (8 * plane);
            }
        }
    }
    *content = planes;
    let predictions: Vec<Prediction> = (0..words).map(prediction_of).collect();
    let mut records = vec![0; count * record_bytes];
    let (mut record, mut before) = (vec![0; words], vec![0; words]);
    for (index, bytes) in records.chunks_exact_mut(record_bytes).enumerate() {
        for word in 0..words {
            let difference = unfolded(differences[word * count + index]);
            record[word] = difference.wrapping_add(predictions[word].of_record(&record, &before));
        }
        for (bytes, value) in bytes.chunks_exact_mut(WORD).zip(&record) {
            bytes.copy_from_slice(&value.to_ne_bytes());
        }
        std::mem::swap(&mut record, &mut before);
    }
    Ok(records)
}

/// What a word of a record is predicted from: the words before it and the record before, which are all that is known
/// when a chunk is unpacked. A wrong prediction costs only bytes.
#[derive(Clone, Copy, Debug)]
enum Prediction {
    /// It is as a word of the record before.
    Before(usize),
    /// It is as an earlier word of the record.
    Earlier(usize),
    /// A call is on the CPU for most of the time from its start to its end.
    Duration,
    /// Its thread was in user mode for most of the gap before it.
    Gap,
}

impl Prediction {
    fn of_call(word: usize) -> Self {
        match word {
            // It starts soon after the one before ended, and ends soon after it started.
            0 => Self::Before(1),
            1 => Self::Earlier(0),
            6 => Self::Duration,
            7 => Self::Gap,
            _ => Self::Before(word),
        }
    }

    /// Offsets are as those of the call before, or of the one before that in a narrow group.
    fn of_group(word: usize) -> Self {
        match word {
            0 | 1 => Self::Before(word),
            2 | 3 => Self::Before(word + 8),
            _ => Self::Earlier(word - 2),
        }
    }

    /// Predicts a word of a record.
    fn of_record(self, record: &[u64], before: &[u64]) -> u64 {
        let (at, before_at) = (|word: usize| record.get(word).copied(), |word: usize| before.get(word).copied());
        match self {
            Self::Before(word) => before_at(word).unwrap_or(0),
            Self::Earlier(word) => at(word).unwrap_or(0),
            Self::Duration => at(1).unwrap_or(0).wrapping_sub(at(0).unwrap_or(0)),
            Self::Gap => at(0).unwrap_or(0).wrapping_sub(before_at(1).unwrap_or(0)),
        }
    }

    /// Returns the differences of a word to its predictions, for a block; `before` is the record before the block.
    fn differences(self, word: usize, columns: &[Column], before: &[u64]) -> Column {
        let column = |word: usize| columns.get(word).unwrap_or(&[0; BLOCK]);
        // The same word of the record before each.
        let shifted = |word: usize| {
            let mut shifted = [before.get(word).copied().unwrap_or(0); BLOCK];
            shifted[1..].copy_from_slice(&column(word)[..BLOCK - 1]);
            shifted
        };
        let values = column(word);
        let [starts, ends] = [column(0), column(1)];
        let mut differences = [0; BLOCK];
        match self {
            Self::Before(word) => {
                let expected = shifted(word);
                for at in 0..BLOCK {
                    differences[at] = folded(values[at].wrapping_sub(expected[at]));
                }
            }
            Self::Earlier(word) => {
                let expected = column(word);
                for at in 0..BLOCK {
                    differences[at] = folded(values[at].wrapping_sub(expected[at]));
                }
            }
            Self::Duration => {
                for at in 0..BLOCK {
                    differences[at] = folded(values[at].wrapping_sub(ends[at].wrapping_sub(starts[at])));
                }
            }
            Self::Gap => {
                let expected = shifted(1);
                for at in 0..BLOCK {
                    differences[at] = folded(values[at].wrapping_sub(starts[at].wrapping_sub(expected[at])));
                }
            }
        }
        differences
    }
}

fn word_in(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_ne_bytes)
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
