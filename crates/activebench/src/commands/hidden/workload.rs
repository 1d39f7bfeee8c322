//! Small workloads of our own, behind a hidden subcommand: one for a demonstration where no benchmark can be installed,
//! one that makes a known number of every recorded call, one that computes and sleeps for known times, one that only
//! makes cheap calls and prints how long they took.

#![allow(clippy::print_stdout, reason = "a tool of the tests: a closed pipe may end it")]

mod lists;
#[cfg(target_arch = "x86_64")]
mod narrow;
mod rings;

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use activebench_detect::series::statistics::median;
use rustix::time::{ClockId, clock_gettime};

/// Bytes of one write of the demonstration.
const BLOCK: usize = 64 * 1024;

/// Which workload.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Workload {
    /// Writes a file through the page cache, never syncs, and prints a rate: the classic mistake.
    Writes {
        /// MiB to write.
        #[arg(long, default_value_t = 256)]
        mib: u64,
        /// The file; deleted at the end.
        #[arg(long, default_value = "activebench-workload.tmp")]
        file: PathBuf,
    },
    /// Writes N blocks of 4 KiB and makes each durable before the next.
    Syncs {
        /// Blocks.
        #[arg(long, default_value_t = 20)]
        count: u64,
        /// How they are made durable.
        #[arg(long, value_enum)]
        by: Durability,
        /// The file; what it has already is overwritten.
        file: PathBuf,
    },
    /// Makes exactly N calls of every class that the probes record, on files in a folder.
    Calls {
        /// Calls of each class.
        #[arg(long, default_value_t = 1000)]
        count: u64,
        /// The folder.
        folder: PathBuf,
    },
    /// Makes calls with lists of iovecs and requests, up to numbers that the kernel refuses.
    Lists {
        /// The folder of the files.
        folder: PathBuf,
    },
    /// Submits requests of io_uring in all the ways that an observer could confuse or overlook.
    Rings {
        /// The folder of the files.
        folder: PathBuf,
    },
    /// Makes N system calls of each class as a 32-bit program does.
    #[cfg(target_arch = "x86_64")]
    Narrow {
        /// Calls of each class.
        #[arg(long, default_value_t = 100)]
        count: u64,
        /// Map a file with the call of the first kernels too.
        #[arg(long)]
        undecoded: bool,
        /// The folder of the files.
        folder: PathBuf,
    },
    /// Writes a block and computes, again and again, in one thread, and writes a block and sleeps in another;
    /// prints as JSON what the kernel says that each thread took.
    Cpu {
        /// Blocks of each thread.
        #[arg(long, default_value_t = 50)]
        rounds: u64,
        /// Milliseconds of CPU time, and of sleep, after each block.
        #[arg(long, default_value_t = 10)]
        ms: u64,
        /// The folder of the threads' files.
        folder: PathBuf,
    },
    /// Reads a file from the page cache in a tight loop of preads, and prints as JSON what a call took.
    Preads {
        /// Calls of each thread.
        #[arg(long, default_value_t = 1_000_000)]
        count: u64,
        /// Threads, each with its own descriptor.
        #[arg(long, default_value_t = 1)]
        threads: u64,
        /// The file: whole pages, at least one; read once before the clock starts.
        file: PathBuf,
    },
}

/// How a written block is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Durability {
    /// `fsync(2)` after each.
    Fsync,
    /// `fdatasync(2)` after each.
    Fdatasync,
    /// `O_DIRECT` and `O_SYNC`.
    DirectSync,
}

impl Workload {
    pub(crate) fn run(&self) -> io::Result<()> {
        match self {
            Workload::Writes { mib, file } => writes(*mib, file),
            Workload::Syncs { count, by, file } => syncs(*count, *by, file),
            Workload::Calls { count, folder } => calls(*count, folder),
            Workload::Lists { folder } => lists::run(folder),
            Workload::Rings { folder } => rings::run(folder),
            #[cfg(target_arch = "x86_64")]
            Workload::Narrow { count, undecoded, folder } => narrow::run(*count, folder, *undecoded),
            Workload::Cpu { rounds, ms, folder } => cpu(*rounds, Duration::from_millis(*ms), folder),
            Workload::Preads { count, threads, file } => preads(*count, *threads, file),
        }
    }
}

fn writes(mib: u64, path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    let block = vec![0xabu8; BLOCK];
    let started = Instant::now();
    for _ in 0..mib * (1 << 20) / BLOCK as u64 {
        file.write_all(&block)?;
    }
    let elapsed = started.elapsed().as_secs_f64();
    drop(file);
    std::fs::remove_file(path)?;
    println!("wrote {mib} MiB in {elapsed:.3} s: {:.1} MiB/s", mib as f64 / elapsed);
    Ok(())
}

fn syncs(count: u64, by: Durability, path: &Path) -> io::Result<()> {
    let flags = if by == Durability::DirectSync { libc::O_DIRECT | libc::O_SYNC } else { 0 };
    let file = OpenOptions::new().write(true).create(true).truncate(false).custom_flags(flags).open(path)?;
    // Direct I/O wants an aligned address.
    let buffer = vec![0x5au8; 2 * UNIT];
    let page = &buffer[buffer.as_ptr().align_offset(UNIT)..][..UNIT];
    for index in 0..count {
        file.write_all_at(page, index * UNIT as u64)?;
        match by {
            Durability::Fsync => file.sync_all()?,
            Durability::Fdatasync => file.sync_data()?,
            Durability::DirectSync => {}
        }
    }
    Ok(())
}

/// Bytes of one call of the counting workload: a page, so that direct I/O would take it too.
const UNIT: usize = 4096;

fn check(result: isize) -> io::Result<isize> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes requests of libaio and reads their events from the ring in the process's own memory: no call collects them.
fn uncollected(count: u64, target: &File, page: &mut [u8]) -> io::Result<()> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: the kernel writes the context's address, which is that of the ring.
    check(unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) } as isize)?;
    // `struct aio_ring`: id, nr, head, tail, ...
    let ring = context as *mut u32;
    for index in 0..count {
        // `struct iocb` of linux/aio_abi.h: opcode 1 is PWRITE; each asks to be durable itself.
        let mut iocb = [0u64; 8];
        iocb[1] = (libc::RWF_DSYNC as u64) << 32;
        iocb[2] = 1 | (target.as_raw_fd() as u64) << 32;
        iocb[3] = page.as_mut_ptr() as u64;
        iocb[4] = UNIT as u64;
        iocb[5] = index * UNIT as u64;
        let mut list = [iocb.as_mut_ptr()];
        // SAFETY: one iocb, whose buffer holds UNIT bytes; it lives until its event is read.
        check(unsafe { libc::syscall(libc::SYS_io_submit, context, 1, list.as_mut_ptr()) } as isize)?;
        // SAFETY: head and tail are in the mapped ring.
        unsafe {
            while ring.add(2).read_volatile() == ring.add(3).read_volatile() {
                std::hint::spin_loop();
            }
            ring.add(2).write_volatile(ring.add(3).read_volatile());
        }
    }
    // The context is released when the process ends.
    Ok(())
}

fn calls(count: u64, folder: &Path) -> io::Result<()> {
    let file = |name: &str| -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(folder.join(name))
    };
    let mut page = vec![0x5au8; UNIT];
    let length = count * UNIT as u64;
    let vector = |page: &mut Vec<u8>| {
        let half = UNIT / 2;
        let base = page.as_mut_ptr();
        // SAFETY: both halves are inside the page.
        unsafe {
            [
                libc::iovec { iov_base: base.cast(), iov_len: half },
                libc::iovec { iov_base: base.add(half).cast(), iov_len: half },
            ]
        }
    };
    let vectors = vector(&mut page);
    let address = page.as_mut_ptr().cast::<libc::c_void>();

    // Every class has a file of its own, so that its calls can be counted by file.
    // SAFETY (of every call below): the descriptors are open, the buffers hold UNIT bytes,
    // and the iovecs point into them.
    let repeat = |name: &str, one: &dyn Fn(i32, i64) -> isize| -> io::Result<()> {
        let target = file(name)?;
        target.set_len(length)?;
        for index in 0..count as i64 {
            check(one(target.as_raw_fd(), index * UNIT as i64))?;
        }
        Ok(())
    };
    // SAFETY: see above.
    unsafe {
        repeat("write", &|fd, _| libc::write(fd, address, UNIT))?;
        repeat("read", &|fd, _| libc::read(fd, address, UNIT))?;
        repeat("pread", &|fd, at| libc::pread(fd, address, UNIT, at))?;
        repeat("pwrite", &|fd, at| libc::pwrite(fd, address, UNIT, at))?;
        repeat("readv", &|fd, _| libc::readv(fd, vectors.as_ptr(), 2))?;
        repeat("writev", &|fd, _| libc::writev(fd, vectors.as_ptr(), 2))?;
        repeat("preadv", &|fd, at| libc::preadv(fd, vectors.as_ptr(), 2, at))?;
        repeat("pwritev", &|fd, at| libc::pwritev(fd, vectors.as_ptr(), 2, at))?;
        repeat("preadv2", &|fd, at| libc::preadv2(fd, vectors.as_ptr(), 2, at, 0))?;
        repeat("pwritev2", &|fd, at| libc::pwritev2(fd, vectors.as_ptr(), 2, at, 0))?;
        repeat("pwritev2_dsync", &|fd, at| libc::pwritev2(fd, vectors.as_ptr(), 2, at, libc::RWF_DSYNC))?;
        repeat("pwritev2_append", &|fd, _| libc::pwritev2(fd, vectors.as_ptr(), 2, -1, libc::RWF_APPEND))?;
        repeat("pwritev2_elsewhere", &|fd, at| libc::pwritev2(fd, vectors.as_ptr(), 2, at, libc::RWF_APPEND))?;
        repeat("lseek", &|fd, at| libc::lseek(fd, at, libc::SEEK_SET) as isize)?;
        repeat("fsync", &|fd, _| libc::fsync(fd) as isize)?;
        repeat("fdatasync", &|fd, _| libc::fdatasync(fd) as isize)?;
        repeat("sync_file_range", &|fd, at| libc::sync_file_range(fd, at, UNIT as i64, 0) as isize)?;
        repeat("fadvise", &|fd, at| -(libc::posix_fadvise(fd, at, UNIT as i64, libc::POSIX_FADV_RANDOM) as isize))?;
        repeat("ftruncate", &|fd, at| libc::ftruncate(fd, at) as isize)?;
        repeat("fallocate", &|fd, at| libc::fallocate(fd, 0, at, UNIT as i64) as isize)?;
        repeat("dup", &|fd, _| {
            let copy = libc::dup(fd);
            if copy < 0 { -1 } else { libc::close(copy) as isize }
        })?;
        repeat("mmap", &|fd, at| {
            let map =
                libc::mmap(std::ptr::null_mut(), UNIT, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, at);
            if map == libc::MAP_FAILED {
                return -1;
            }
            if libc::msync(map, UNIT, libc::MS_ASYNC) < 0 || libc::msync(map, UNIT, libc::MS_SYNC) < 0 {
                return -1;
            }
            libc::munmap(map, UNIT) as isize
        })?;
        // Between two files: once at explicit offsets, once at the files' own positions.
        let target = file("target")?;
        let target = target.as_raw_fd();
        repeat("sendfile", &|fd, mut at| libc::sendfile(target, fd, &raw mut at, UNIT))?;
        let target = file("target_of_copies")?;
        let target = target.as_raw_fd();
        repeat("copy_file_range", &|fd, at| {
            let (mut from, mut to) = (at, at + UNIT as i64);
            libc::copy_file_range(fd, &raw mut from, target, &raw mut to, UNIT, 0)
        })?;
        repeat("copy_at_position", &|fd, _| {
            libc::copy_file_range(fd, std::ptr::null_mut(), target, std::ptr::null_mut(), UNIT, 0)
        })?;
    }
    uncollected(count, &file("uncollected")?, &mut page)?;
    let append = OpenOptions::new().append(true).create(true).open(folder.join("append"))?;
    for _ in 0..count {
        // SAFETY: the descriptor is open and the buffer holds UNIT bytes.
        check(unsafe { libc::write(append.as_raw_fd(), address, UNIT) })?;
    }
    let name = CString::new(folder.join("unlink").as_os_str().as_bytes())?;
    for _ in 0..count {
        // SAFETY: `name` is a C string; the descriptor is closed at once.
        unsafe {
            let fd = libc::open(name.as_ptr(), libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o600);
            check(fd as isize)?;
            check(libc::close(fd) as isize)?;
            check(libc::unlink(name.as_ptr()) as isize)?;
        }
    }
    println!("{count} calls of each class, {UNIT} bytes each");
    Ok(())
}

fn cpu(rounds: u64, length: Duration, folder: &Path) -> io::Result<()> {
    let run = |name: &'static str, rest: fn(Duration)| {
        let path = folder.join(name);
        move || -> io::Result<serde_json::Value> {
            let file = File::create(path)?;
            let block = [0x5a; UNIT];
            for index in 0..rounds {
                file.write_all_at(&block, index * UNIT as u64)?;
                rest(length);
            }
            // The clock of a pass ends with its last call.
            file.write_all_at(&block, rounds * UNIT as u64)?;
            let (user_ns, kernel_ns) = own_thread_times()?;
            let tid = rustix::thread::gettid().as_raw_nonzero();
            Ok(serde_json::json!({ "name": name, "tid": tid, "user_ns": user_ns, "kernel_ns": kernel_ns }))
        }
    };
    let threads: Vec<std::thread::JoinHandle<io::Result<serde_json::Value>>> = vec![
        std::thread::Builder::new().name("computes".to_owned()).spawn(run("computes", compute))?,
        std::thread::Builder::new().name("sleeps".to_owned()).spawn(run("sleeps", std::thread::sleep))?,
    ];
    for thread in threads {
        println!("{}", thread.join().map_err(|_| io::Error::other("a thread panicked"))??);
    }
    Ok(())
}

/// Uses that much CPU time.
fn compute(length: Duration) {
    let cpu_time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let until = cpu_time() + length;
    while cpu_time() < until {
        std::hint::black_box(compute_in_user_mode(100_000));
    }
}

/// Computes in user mode (xorshift64). It has a name of its own for the stack samples to find, and calls nothing, so
/// that they find it without optimisation too.
#[inline(never)]
fn compute_in_user_mode(steps: u64) -> u64 {
    let mut state = steps | 1;
    let mut left = steps;
    while left > 0 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        left -= 1;
    }
    state
}

/// Returns the user and kernel time of the calling thread as `getrusage(2)` reports them, in nanoseconds.
fn own_thread_times() -> io::Result<(u64, u64)> {
    // SAFETY: all zeroes is a value of rusage, which is filled by the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: fills the local.
    check(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } as isize)?;
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Ok((ns(usage.ru_utime), ns(usage.ru_stime)))
}

/// `elapsed_ns` is from the start of the first thread to the end of the last. `ns_per_call` is the time of one call as
/// its caller sees it: the median over a thread's spans of calls, of the slowest thread. The median ignores a moment in
/// which the machine did something else.
fn preads(count: u64, threads: u64, path: &Path) -> io::Result<()> {
    if count == 0 || threads == 0 {
        return Err(io::Error::other("nothing to measure: --count and --threads are at least 1"));
    }
    read_pages(&File::open(path)?, pages_of(path)?)?;
    let started = Instant::now();
    // With one thread, no other is started: in a process of several, every descriptor costs more.
    let ns_per_call = std::thread::scope(|scope| -> io::Result<f64> {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| timed_preads(count, path))).collect();
        let mut slowest = timed_preads(count, path)?;
        for other in others {
            let ns_per_call = other.join().map_err(|_| io::Error::other("a thread panicked"))??;
            slowest = slowest.max(ns_per_call);
        }
        Ok(slowest)
    })?;
    let elapsed_ns = started.elapsed().as_nanos() as u64;
    let calls = count * threads;
    println!("{}", serde_json::json!({ "calls": calls, "elapsed_ns": elapsed_ns, "ns_per_call": ns_per_call }));
    Ok(())
}

/// Calls per span of the loop: about two milliseconds untraced.
const SPAN_CALLS: u64 = 4096;

/// Returns the nanoseconds of one pread: the median of the loop's spans, the last of which may be shorter.
fn timed_preads(count: u64, path: &Path) -> io::Result<f64> {
    let file = File::open(path)?;
    let pages = pages_of(path)?;
    let mut buffer = [0; UNIT];
    let mut spans = Vec::with_capacity(count.div_ceil(SPAN_CALLS) as usize);
    for first in (0..count).step_by(SPAN_CALLS as usize) {
        let calls = SPAN_CALLS.min(count - first);
        let started = Instant::now();
        for index in first..first + calls {
            read_page(&file, &mut buffer, index % pages)?;
        }
        spans.push(started.elapsed().as_nanos() as f64 / calls as f64);
    }
    median(&spans).ok_or_else(|| io::Error::other("no call was timed"))
}

fn pages_of(path: &Path) -> io::Result<u64> {
    match path.metadata()?.len() / UNIT as u64 {
        0 => Err(io::Error::other(format!("{} holds no whole page", path.display()))),
        pages => Ok(pages),
    }
}

fn read_pages(file: &File, pages: u64) -> io::Result<()> {
    let mut buffer = [0; UNIT];
    (0..pages).try_for_each(|page| read_page(file, &mut buffer, page))
}

fn read_page(file: &File, buffer: &mut [u8; UNIT], page: u64) -> io::Result<()> {
    match file.read_at(buffer, page * UNIT as u64)? {
        UNIT => Ok(()),
        count => Err(io::Error::other(format!("{count} bytes instead of {UNIT} at page {page}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preads_need_a_page_a_call_and_a_thread() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("data");
        std::fs::write(&file, vec![1; UNIT - 1]).expect("a file");
        let fails = |count, threads| preads(count, threads, &file).is_err();
        assert!(fails(1, 1), "less than a page");
        std::fs::write(&file, vec![1; 2 * UNIT + 1]).expect("a file");
        assert!(fails(0, 1));
        assert!(fails(1, 0));
        assert!(!fails(5, 3));
    }
}
