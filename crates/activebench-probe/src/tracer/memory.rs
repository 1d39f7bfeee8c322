//! Reads the memory of a traced process. It is hostile: every length is bounded, and what cannot be read is said.

use super::ptrace::{Tid, read_memory};

const PAGE: u64 = 4096;

/// Most iovecs of a call; the kernel refuses more (`UIO_MAXIOV`).
const MOST_VECTORS: usize = 1024;

/// An iovec: address and bytes.
pub(super) type Vector = (u64, u64);

/// Reads so many bytes; `None` if not all of them are there.
pub(super) fn bytes<const N: usize>(tid: Tid, address: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    (read_memory(tid, address, &mut bytes) == N).then_some(bytes)
}

/// Reads the start of a text into a buffer whose last byte stays 0, up to its end or as far as it is there.
pub(super) fn text(tid: Tid, address: u64, into: &mut [u8]) {
    into.fill(0);
    let room = into.len().saturating_sub(1);
    // A text may end just before memory that is not there.
    let in_page = (PAGE - address % PAGE) as usize;
    let first = room.min(in_page);
    let read = read_memory(tid, address, &mut into[..first]);
    if read == first && first < room && !into[..first].contains(&0) {
        read_memory(tid, address.wrapping_add(first as u64), &mut into[first..room]);
    }
    let end = into[..room].iter().position(|byte| *byte == 0).unwrap_or(room);
    into[end..].fill(0);
}

/// Reads the iovecs of a call; `None` if they are not all there, or the kernel refuses so many.
pub(super) fn vectors(tid: Tid, address: u64, count: u64, narrow: bool) -> Option<Vec<Vector>> {
    // As the kernel does it takes 32 bits of their number.
    let count = (count & u64::from(u32::MAX)) as usize;
    if count > MOST_VECTORS {
        return None;
    }
    let half = if narrow { 4 } else { 8 };
    let mut read = vec![0; count * 2 * half];
    if read_memory(tid, address, &mut read) != read.len() {
        return None;
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(read.chunks_exact(2 * half).map(|vector| (number(&vector[..half]), number(&vector[half..]))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Tid {
        std::process::id().cast_signed()
    }

    #[test]
    fn our_own_memory_is_read_within_its_bounds() {
        let long = "x".repeat(400);
        let mut name = [1; 256];
        text(own(), long.as_ptr() as u64, &mut name);
        assert_eq!((name.iter().filter(|byte| **byte == b'x').count(), name[255]), (255, 0));
        text(own(), c"short".as_ptr() as u64, &mut name);
        assert_eq!(&name[..6], b"short\0");
        text(own(), 8, &mut name);
        assert!(name.iter().all(|byte| *byte == 0), "there is no memory");
        assert_eq!(bytes::<4>(own(), long.as_ptr() as u64), Some(*b"xxxx"));
        assert_eq!(bytes::<4>(own(), u64::MAX - 1), None);
    }

    #[test]
    fn iovecs_are_read_in_both_widths_and_never_too_many() {
        let wide = [7_u64, 100, 8, 200];
        let at = wide.as_ptr() as u64;
        assert_eq!(vectors(own(), at, 2, false), Some(vec![(7, 100), (8, 200)]));
        assert_eq!(vectors(own(), at, 4, true), Some(vec![(7, 0), (100, 0), (8, 0), (200, 0)]));
        assert_eq!(vectors(own(), at, 0, false), Some(vec![]));
        assert_eq!(vectors(own(), 8, 2, false), None);
        assert_eq!(vectors(own(), at, 1025, false), None);
    }
}
