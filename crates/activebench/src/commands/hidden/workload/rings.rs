//! Requests of io_uring and libaio that an observer could confuse or overlook: thousands in flight at once, of which some are
//! cancelled; failing and linked ones; ones without a completion entry; ones that complete in the call that submits
//! them, and ones that do not.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::check;
use super::lists::{Iocb, write_request};

/// `io_uring_setup`, `io_uring_enter` and `io_uring_register` have these numbers on every architecture.
const SETUP: libc::c_long = 425;
const ENTER: libc::c_long = 426;
const REGISTER: libc::c_long = 427;
/// `enum io_uring_op` and `IOSQE_*` of `linux/io_uring.h`.
const CANCEL: u8 = 14;
const READ: u8 = 22;
const WRITE: u8 = 23;
const FIXED_FILE: u8 = 1;
const LINK: u8 = 4;
const SKIP_ENTRY: u8 = 64;
const GET_EVENTS: u32 = 1;
const REGISTER_FILES: u32 = 2;

/// Requests of the deep queue that are served, and those that are cancelled.
const SERVED: u32 = 4000;
const CANCELLED: u32 = 20;
/// Requests that are submitted one by one.
const SINGLE: usize = 2000;
/// Requests without a completion entry.
const SKIPPED: usize = 20;
/// Places of the ring.
const ENTRIES: u32 = 4096;
/// User data of requests whose completion is not counted by its number.
const OTHERS: u64 = 1 << 40;

/// A submission of `linux/io_uring.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    length: u32,
    op_flags: u32,
    user_data: u64,
    rest: [u64; 3],
}

/// `struct io_uring_params`, all of it as words.
#[repr(C)]
#[derive(Default)]
struct Parameters {
    sq_entries: u32,
    cq_entries: u32,
    settings: [u32; 8],
    /// head, tail, mask, entries, flags, dropped, array
    sq: [u32; 10],
    /// head, tail, mask, entries, overflow, entries
    cq: [u32; 10],
}

struct Ring {
    fd: OwnedFd,
    parameters: Parameters,
    sq: *mut u8,
    cq: *mut u8,
    submissions: *mut Submission,
    prepared: u32,
}

impl Ring {
    fn new() -> io::Result<Self> {
        let mut parameters = Parameters::default();
        // SAFETY: the parameters have the layout that the kernel fills in.
        let fd = check(unsafe { libc::syscall(SETUP, ENTRIES, &raw mut parameters) } as isize)?;
        // SAFETY: it is a new descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let map = |bytes: usize, offset: i64| {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping, which lives until the process ends.
            let address = unsafe {
                libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd.as_raw_fd(), offset)
            };
            if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(address.cast::<u8>()) }
        };
        let sq = map(parameters.sq[6] as usize + parameters.sq_entries as usize * 4, 0)?;
        let cq = map(parameters.cq[5] as usize + parameters.cq_entries as usize * 16, 0x800_0000)?;
        let submissions = map(parameters.sq_entries as usize * size_of::<Submission>(), 0x1000_0000)?.cast();
        Ok(Self { fd, parameters, sq, cq, submissions, prepared: 0 })
    }

    fn counter(base: *mut u8, offset: u32) -> &'static AtomicU32 {
        // SAFETY: an aligned word of a mapping that is never removed.
        unsafe { &*base.add(offset as usize).cast::<AtomicU32>() }
    }

    /// Puts a request into the next place.
    fn prepare(&mut self, submission: Submission) {
        let tail = Self::counter(self.sq, self.parameters.sq[1]);
        let at = tail.load(Ordering::Relaxed);
        let place = at & (self.parameters.sq_entries - 1);
        // SAFETY: the place is below the number of entries, and the kernel took what was there before.
        unsafe { self.submissions.add(place as usize).write(submission) };
        Self::counter(self.sq, self.parameters.sq[6] + place * 4).store(place, Ordering::Relaxed);
        tail.store(at + 1, Ordering::Release);
        self.prepared += 1;
    }

    /// Submits what is prepared, and waits for as many completions.
    fn enter(&mut self, wait_for: u32) -> io::Result<()> {
        let count = std::mem::take(&mut self.prepared);
        let flags = if wait_for > 0 { GET_EVENTS } else { 0 };
        // SAFETY: no pointer is handed over.
        let taken = unsafe { libc::syscall(ENTER, self.fd.as_raw_fd(), count, wait_for, flags, 0, 0) };
        if check(taken as isize)? == count as isize { Ok(()) } else { Err(io::Error::other("not all were taken")) }
    }

    /// Takes the completions that are there: user data and result.
    fn collect(&mut self) -> Vec<(u64, i32)> {
        let head = Self::counter(self.cq, self.parameters.cq[0]);
        let tail = Self::counter(self.cq, self.parameters.cq[1]).load(Ordering::Acquire);
        let mut at = head.load(Ordering::Relaxed);
        let mut completions = Vec::new();
        while at != tail {
            let place = at & (self.parameters.cq_entries - 1);
            // SAFETY: the place is below the number of entries, and the kernel has filled it in.
            let (data, result) = unsafe {
                let entry = self.cq.add(self.parameters.cq[5] as usize + place as usize * 16);
                (entry.cast::<u64>().read(), entry.add(8).cast::<i32>().read())
            };
            completions.push((data, result));
            at = at.wrapping_add(1);
        }
        head.store(at, Ordering::Release);
        completions
    }

    /// Waits for `count` completions, and collects them.
    fn collect_all(&mut self, count: usize) -> io::Result<Vec<(u64, i32)>> {
        let mut completions = self.collect();
        while completions.len() < count {
            self.enter(1)?;
            completions.extend(self.collect());
        }
        Ok(completions)
    }
}

/// Requests of libaio, of which a few are in flight while the next is submitted and the first is collected.
fn pairs(file: &File, address: u64) -> io::Result<()> {
    const IN_FLIGHT: usize = 3;
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes the context.
    check(unsafe { libc::syscall(libc::SYS_io_setup, 64, &raw mut context) } as isize)?;
    let mut requests: Vec<Iocb> = (0..SINGLE)
        .map(|index| {
            let bad = index % 8 == 7;
            let opcode = u64::from(index % 8 != 3);
            write_request(opcode, file, if bad { 8 } else { address }, 1 + index, index * 4096)
        })
        .collect();
    let mut events = [[0_u64; 4]; IN_FLIGHT + 1];
    let mut collected = 0;
    for (index, request) in requests.iter_mut().enumerate() {
        let list = [std::ptr::from_mut(request)];
        // SAFETY: one request, whose memory lives until it is collected.
        check(unsafe { libc::syscall(libc::SYS_io_submit, context, 1, list.as_ptr()) } as isize)?;
        // Now and then all that there are.
        let most = if index % 50 == 49 { events.len() } else { usize::from(index >= IN_FLIGHT) };
        // SAFETY: room for as many events.
        let got = unsafe { libc::syscall(libc::SYS_io_getevents, context, 0, most, events.as_mut_ptr(), 0) };
        collected += check(got as isize)?;
    }
    while collected < SINGLE as isize {
        // SAFETY: as above.
        let got = unsafe { libc::syscall(libc::SYS_io_getevents, context, 1, events.len(), events.as_mut_ptr(), 0) };
        collected += check(got as isize)?;
    }
    Ok(())
}

/// Makes each kind of request on a file of its own in the folder.
pub(super) fn run(folder: &Path) -> io::Result<()> {
    let file = |name: &str| -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(folder.join(name))
    };
    let mut ring = Ring::new()?;
    let mut data = vec![0x5a_u8; 8192];
    let address = data.as_mut_ptr() as u64;
    let on = |file: &File, opcode, offset: usize, length: usize| Submission {
        opcode,
        fd: file.as_raw_fd(),
        offset: offset as u64,
        address,
        length: length as u32,
        user_data: OTHERS,
        ..Submission::default()
    };

    // One by one: writes and reads of all lengths, some past the end of the file, some from memory that is not there.
    let single = file("single")?;
    for index in 0..SINGLE {
        let mut request = on(&single, WRITE, index * 4096, 1 + index);
        match index % 8 {
            3 => request.opcode = READ,
            5 => (request.opcode, request.offset) = (READ, (index as u64) << 30),
            7 => request.address = 8,
            _ => {}
        }
        ring.prepare(request);
        ring.enter(0)?;
        ring.collect_all(1)?;
    }

    pairs(&file("pairs")?, address)?;

    // Thousands in flight: reads of an empty pipe.
    let pipe = folder.join("deep");
    let name = CString::new(pipe.as_os_str().as_bytes()).map_err(io::Error::other)?;
    // SAFETY: a string that ends with a zero byte.
    check(unsafe { libc::mkfifo(name.as_ptr(), 0o600) } as isize)?;
    let reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&pipe)?;
    // SAFETY: a descriptor of ours, and no pointer. Without the flag its reads wait.
    check(unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, 0) } as isize)?;
    let writer = OpenOptions::new().write(true).open(&pipe)?;
    for index in 0..SERVED + CANCELLED {
        let length = 1 + index as usize % 1000;
        ring.prepare(Submission { user_data: u64::from(index), ..on(&reader, READ, 0, length) });
    }
    ring.enter(0)?;
    for index in SERVED..SERVED + CANCELLED {
        let cancel = Submission {
            opcode: CANCEL,
            fd: -1,
            address: u64::from(index),
            user_data: OTHERS,
            ..Submission::default()
        };
        ring.prepare(cancel);
    }
    ring.enter(0)?;
    ring.collect_all(2 * CANCELLED as usize)?;
    // Without a writer there is nothing to wait for: they read nothing.
    drop(writer);
    ring.collect_all(SERVED as usize)?;

    // A chain, and one whose first request fails: the second is cancelled.
    let linked = file("linked")?;
    ring.prepare(Submission { flags: LINK, ..on(&linked, WRITE, 0, 4096) });
    ring.prepare(on(&linked, READ, 0, 4096));
    ring.enter(2)?;
    ring.collect_all(2)?;
    ring.prepare(Submission { flags: LINK, address: 8, ..on(&linked, WRITE, 4096, 4096) });
    ring.prepare(on(&linked, WRITE, 8192, 4096));
    ring.enter(2)?;
    ring.collect_all(2)?;

    // A registered file, and a batch of requests.
    let registered = file("registered")?;
    let descriptors = [registered.as_raw_fd()];
    // SAFETY: one descriptor.
    let taken = unsafe { libc::syscall(REGISTER, ring.fd.as_raw_fd(), REGISTER_FILES, descriptors.as_ptr(), 1) };
    check(taken as isize)?;
    for index in 0..64 {
        ring.prepare(Submission { flags: FIXED_FILE, fd: 0, ..on(&registered, WRITE, index * 4096, 4096) });
    }
    ring.enter(64)?;
    ring.collect_all(64)?;

    // Without completion entries: what was written shows that they are done.
    let mut skipped = file("skipped")?;
    for index in 0..SKIPPED {
        ring.prepare(Submission { flags: SKIP_ENTRY, ..on(&skipped, WRITE, index * 4096, 4096) });
    }
    ring.enter(0)?;
    while skipped.metadata()?.len() < (SKIPPED * 4096) as u64 {
        std::thread::yield_now();
    }
    skipped.read_exact(&mut data[..4096])
}
