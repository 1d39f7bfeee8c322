//! Calls with lists: iovecs and requests of libaio, in numbers that the kernel refuses, and in numbers that it takes and
//! an observer would have to walk for long.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use super::check;

/// Iovecs of one call that the kernel takes (`UIO_MAXIOV`).
const MOST_VECTORS: usize = 1024;
/// Bytes of one iovec.
const VECTOR_BYTES: usize = 4;
/// Requests of one `io_submit`, each with as many iovecs as the kernel takes.
const REQUESTS: usize = 100;

/// `struct iocb` of `linux/aio_abi.h`.
pub(super) type Iocb = [u64; 8];

/// Returns a request that writes at an offset; opcode 1 is `PWRITE`, 8 is `PWRITEV`.
pub(super) fn write_request(opcode: u64, file: &File, address: u64, length: usize, offset: usize) -> Iocb {
    let mut iocb = Iocb::default();
    iocb[2] = opcode | (file.as_raw_fd() as u64) << 32;
    iocb[3] = address;
    iocb[4] = length as u64;
    iocb[5] = offset as u64;
    iocb
}

/// Makes each kind of call on a file of its own in the folder.
pub(super) fn run(folder: &Path) -> io::Result<()> {
    let file = |name: &str| -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(folder.join(name))
    };
    let mut data = [0x5a_u8; VECTOR_BYTES];
    let vector = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: VECTOR_BYTES };

    let target = file("vectors")?;
    let vectors = vec![vector; 8 << 20];
    for count in [vectors.len(), MOST_VECTORS + 1] {
        // SAFETY: as many iovecs, which name `data`.
        let written = unsafe { libc::writev(target.as_raw_fd(), vectors.as_ptr(), count as i32) };
        expect(check(written), None, libc::EINVAL)?;
    }
    // SAFETY: as above.
    let written = unsafe { libc::writev(target.as_raw_fd(), vectors.as_ptr(), MOST_VECTORS as i32) };
    expect(check(written), Some(MOST_VECTORS * VECTOR_BYTES), 0)?;
    drop(vectors);

    let vectors = vec![vector; MOST_VECTORS];
    let vectors_address = vectors.as_ptr() as u64;
    // Memory that is not present before the kernel itself reads it: a file that nobody has read through this mapping.
    let absent = Absent::map(&folder.join("absent"), &vectors, vector, &file("absent_target")?)?;
    let target = file("absent_vectors")?;
    // SAFETY: one iovec, which names `data`.
    let written = unsafe { libc::writev(target.as_raw_fd(), absent.vector(), 1) };
    expect(check(written), Some(VECTOR_BYTES), 0)?;

    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes the context's address.
    check(unsafe { libc::syscall(libc::SYS_io_setup, REQUESTS, &raw mut context) } as isize)?;
    let submit = |list: &[*const Iocb], number: i64| -> io::Result<isize> {
        // SAFETY: the list ends with an address that the kernel cannot read, or has `number` requests.
        check(unsafe { libc::syscall(libc::SYS_io_submit, context, number, list.as_ptr()) } as isize)
    };
    let collect = |count: usize| -> io::Result<()> {
        let mut events = vec![[0_u64; 4]; count];
        // SAFETY: room for as many events.
        let collected = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                context,
                count,
                count,
                events.as_mut_ptr(),
                std::ptr::null_mut::<u8>(),
            )
        };
        expect(check(collected as isize), Some(count), 0)
    };

    // More requests than any context holds; the kernel stops at the first that it cannot read.
    let target = file("huge_number")?;
    let requests: Vec<Iocb> = (0..16)
        .map(|index| write_request(1, &target, data.as_ptr() as u64, VECTOR_BYTES, index * VECTOR_BYTES))
        .collect();
    let mut list: Vec<*const Iocb> = requests.iter().map(std::ptr::from_ref).collect();
    list.push(std::ptr::null());
    expect(submit(&list, i64::MAX), Some(requests.len()), 0)?;
    collect(requests.len())?;
    expect(submit(&list, -1), None, libc::EINVAL)?;

    let target = file("product")?;
    let bytes = MOST_VECTORS * VECTOR_BYTES;
    let requests: Vec<Iocb> =
        (0..REQUESTS).map(|index| write_request(8, &target, vectors_address, MOST_VECTORS, index * bytes)).collect();
    let list: Vec<*const Iocb> = requests.iter().map(std::ptr::from_ref).collect();
    expect(submit(&list, REQUESTS as i64), Some(REQUESTS), 0)?;
    collect(REQUESTS)?;

    expect(submit(&[absent.request()], 1), Some(1), 0)?;
    collect(1)?;
    println!("every list was taken or refused as expected");
    Ok(())
}

/// Fails unless a call returned this number, or failed with this error.
fn expect(result: io::Result<isize>, expected: Option<usize>, errno: i32) -> io::Result<()> {
    match (&result, expected) {
        (Ok(returned), Some(expected)) if *returned == expected as isize => Ok(()),
        (Err(error), None) if error.raw_os_error() == Some(errno) => Ok(()),
        _ => Err(io::Error::other(format!("expected {expected:?} or error {errno}: {result:?}"))),
    }
}

/// An iovec and a request in a file that is mapped and whose pages are not present. They are on pages of their own.
struct Absent {
    address: *mut u8,
}

impl Absent {
    const PAGE: usize = 4096;

    fn map(path: &Path, vectors: &[libc::iovec], vector: libc::iovec, target: &File) -> io::Result<Self> {
        let request = write_request(8, target, vectors.as_ptr() as u64, vectors.len(), 0);
        // Far enough apart that a fault on one does not map the other too.
        let mut content = vec![0; 64 * Self::PAGE];
        content[..8].copy_from_slice(&(vector.iov_base as u64).to_ne_bytes());
        content[8..16].copy_from_slice(&(vector.iov_len as u64).to_ne_bytes());
        for (place, word) in content[32 * Self::PAGE..].chunks_exact_mut(8).zip(request) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        std::fs::write(path, &content)?;
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        // SAFETY: a new mapping of the whole file.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                content.len(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { address: address.cast() }) }
    }

    fn vector(&self) -> *const libc::iovec {
        self.address.cast()
    }

    fn request(&self) -> *const Iocb {
        // SAFETY: inside the mapping.
        unsafe { self.address.add(32 * Self::PAGE).cast() }
    }
}
