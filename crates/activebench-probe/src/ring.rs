//! Reads the kernel's ring buffer, mapped once.
//!
//! aya's reader maps the data twice in a row, so that every record is contiguous. Both mappings count as resident,
//! and a ring large enough for a burst would be most of the memory that we may use. Here it is mapped once, and the
//! one record in many thousands that crosses the end is copied. The layout is that of `kernel/bpf/ringbuf.c` (Linux
//! 6.12): a page with the consumer's position, a page with the producer's, the data. Each record has a header of 8
//! bytes; its first 4 are the length and two flags.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// `BPF_RINGBUF_BUSY_BIT`: the kernel is still writing the record.
const BUSY: u32 = 1 << 31;
/// `BPF_RINGBUF_DISCARD_BIT`: the kernel discarded the record.
const DISCARDED: u32 = 1 << 30;
/// `BPF_RINGBUF_HDR_SZ`; records are aligned to it, so a header never crosses the end.
const HEADER_BYTES: u64 = 8;

/// Mapped memory; unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) address: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is shared with the kernel. It is accessed through atomics, or read where the kernel's protocol
// guarantees that it does not change; nothing is bound to a thread.
unsafe impl Send for Mapping {}

impl Mapping {
    pub(crate) fn new(fd: BorrowedFd<'_>, bytes: usize, offset: usize, protection: ProtFlags) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, offset as u64) }?;
        Ok(Self { address: address.cast(), bytes })
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.address
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, unmapped once; references to it end with `self`.
        let unmapped = unsafe { munmap(self.address.cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// The ring, as its only consumer sees it.
#[derive(Debug)]
pub(crate) struct Ring {
    consumer: Mapping,
    /// The producer's page, then the data.
    producer: Mapping,
    page_bytes: usize,
    data_bytes: usize,
    /// Copy of a record that crosses the end, in one piece.
    seam: Vec<u8>,
}

impl Ring {
    /// Maps the ring buffer of a map with `data_bytes` of data.
    ///
    /// # Errors
    /// Returns an error if the kernel does not map it.
    pub(crate) fn new(map: &impl AsFd, data_bytes: usize) -> io::Result<Self> {
        let page_bytes = page_size();
        let consumer = Mapping::new(map.as_fd(), page_bytes, 0, ProtFlags::READ | ProtFlags::WRITE)?;
        let producer = Mapping::new(map.as_fd(), page_bytes + data_bytes, page_bytes, ProtFlags::READ)?;
        Ok(Self { consumer, producer, page_bytes, data_bytes, seam: Vec::new() })
    }

    /// Passes records to `take` until it has received `most_bytes`, or there are no more. Returns the number of bytes
    /// passed.
    pub(crate) fn drain(&mut self, most_bytes: usize, mut take: impl FnMut(&[u8])) -> usize {
        // SAFETY: both pages are mapped as long as `self`, and begin with a position of 8 bytes.
        let (consumed, produced) =
            unsafe { (&*self.consumer.address.cast::<AtomicU64>(), &*self.producer.address.cast::<AtomicU64>()) };
        let mut position = consumed.load(Ordering::Relaxed);
        let mut given = 0;
        while given < most_bytes && position < produced.load(Ordering::Acquire) {
            // SAFETY: inside the data, aligned to 8 bytes.
            let header = unsafe { &*self.data(position).cast::<AtomicU32>() }.load(Ordering::Acquire);
            if header & BUSY != 0 {
                break;
            }
            let length = (header & !(BUSY | DISCARDED)) as usize;
            if header & DISCARDED == 0 {
                given += length;
                self.hand_out(position + HEADER_BYTES, length, &mut take);
            }
            position += (length as u64 + HEADER_BYTES).next_multiple_of(HEADER_BYTES);
            consumed.store(position, Ordering::Release);
        }
        given
    }

    fn hand_out(&mut self, position: u64, length: usize, take: &mut impl FnMut(&[u8])) {
        let begin = self.data(position);
        let until_end = self.data_bytes - self.index(position);
        // SAFETY: the record is committed and not yet consumed, so the kernel leaves it alone;
        // its two parts are inside the data, because a record is shorter than the ring.
        unsafe {
            if length <= until_end {
                take(std::slice::from_raw_parts(begin, length));
                return;
            }
            self.seam.clear();
            self.seam.extend_from_slice(std::slice::from_raw_parts(begin, until_end));
            self.seam.extend_from_slice(std::slice::from_raw_parts(self.data(0), length - until_end));
        }
        take(&self.seam);
    }

    fn data(&self, position: u64) -> *const u8 {
        // SAFETY: the index is below `data_bytes`, which are mapped after the producer's page.
        unsafe { self.producer.address.add(self.page_bytes + self.index(position)) }
    }

    fn index(&self, position: u64) -> usize {
        // The kernel accepts only powers of two.
        position as usize & (self.data_bytes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in a file, with records written as the kernel writes them.
    struct Kernel {
        file: std::fs::File,
        page: u64,
        size: u64,
        position: u64,
    }

    impl Kernel {
        fn new() -> Self {
            let page = page_size() as u64;
            let file = tempfile::tempfile().expect("a file");
            file.set_len(2 * page + page).expect("room");
            Self { file, page, size: page, position: 0 }
        }

        fn write(&self, at: u64, bytes: &[u8]) {
            use std::os::unix::fs::FileExt;
            for (index, byte) in bytes.iter().enumerate() {
                let at = (at + index as u64) % self.size;
                self.file.write_all_at(&[*byte], 2 * self.page + at).expect("written");
            }
        }

        fn put(&mut self, record: &[u8], flags: u32) {
            use std::os::unix::fs::FileExt;
            self.write(self.position, &(record.len() as u32 | flags).to_ne_bytes());
            self.write(self.position + 8, record);
            self.position += (record.len() as u64 + 8).next_multiple_of(8);
            self.file.write_all_at(&self.position.to_ne_bytes(), self.page).expect("written");
        }
    }

    fn all(ring: &mut Ring) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        ring.drain(usize::MAX, |record| records.push(record.to_vec()));
        records
    }

    #[test]
    fn records_come_in_order_and_whole_across_the_end() {
        let mut kernel = Kernel::new();
        let mut ring = Ring::new(&kernel.file, kernel.size as usize).expect("mapped");
        for number in 0..1000_u32 {
            let record = vec![number as u8; 1 + number as usize % 700];
            kernel.put(&record, 0);
            assert_eq!(all(&mut ring), [record], "{number}");
        }
    }

    #[test]
    fn what_is_given_up_is_passed_over_and_what_is_being_written_is_waited_for() {
        let mut kernel = Kernel::new();
        let mut ring = Ring::new(&kernel.file, kernel.size as usize).expect("mapped");
        kernel.put(b"one", 0);
        kernel.put(b"given up", DISCARDED);
        kernel.put(b"two", 0);
        let unfinished = kernel.position;
        kernel.put(b"three", BUSY);
        kernel.put(b"four", 0);
        assert_eq!(ring.drain(3, |record| assert_eq!(record, b"one")), 3, "no more than asked for");
        assert_eq!(all(&mut ring), [b"two"]);
        kernel.write(unfinished, &5_u32.to_ne_bytes());
        assert_eq!(all(&mut ring), [b"three".to_vec(), b"four".to_vec()]);
    }
}
