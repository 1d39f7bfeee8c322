//! System calls of 32-bit programs, made by this 64-bit process with `int 0x80`: the kernel takes the numbers, the
//! registers and the iovecs of 32-bit programs then, and only addresses below 4 GiB.

use std::arch::asm;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::UNIT;
use super::lists::write_request;

/// Numbers of `arch/x86/entry/syscalls/syscall_32.tbl`.
mod number {
    pub(super) const READ: u32 = 3;
    pub(super) const WRITE: u32 = 4;
    pub(super) const OPEN: u32 = 5;
    pub(super) const CLOSE: u32 = 6;
    pub(super) const OLD_MMAP: u32 = 90;
    pub(super) const FSYNC: u32 = 118;
    pub(super) const LLSEEK: u32 = 140;
    pub(super) const READV: u32 = 145;
    pub(super) const WRITEV: u32 = 146;
    pub(super) const FDATASYNC: u32 = 148;
    pub(super) const PREAD64: u32 = 180;
    pub(super) const PWRITE64: u32 = 181;
    pub(super) const SENDFILE: u32 = 187;
    pub(super) const IO_SETUP: u32 = 245;
    pub(super) const IO_GETEVENTS: u32 = 247;
    pub(super) const IO_SUBMIT: u32 = 248;
    pub(super) const PREADV: u32 = 333;
    pub(super) const PWRITEV: u32 = 334;
}

/// Bit of the numbers of the x32 ABI, which few kernels have.
const X32: i64 = 0x4000_0000;
/// Above what 32 bits hold.
const FAR: u64 = 5 << 30;

/// Makes a 32-bit system call.
fn call(number: u32, arguments: [u32; 5]) -> io::Result<u32> {
    let [first, second, third, fourth, fifth] = arguments;
    let result: i32;
    // SAFETY: the caller hands over addresses of live memory. LLVM keeps rbx for itself, so it is put back.
    unsafe {
        asm!(
            "push rbx",
            "mov ebx, {first:e}",
            "int 0x80",
            "pop rbx",
            first = in(reg) first,
            inlateout("eax") number => result,
            in("ecx") second,
            in("edx") third,
            in("esi") fourth,
            in("edi") fifth,
            lateout("r8") _, lateout("r9") _, lateout("r10") _, lateout("r11") _,
        );
    }
    // An address may have the highest bit.
    if (-4095..0).contains(&result) { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result as u32) }
}

/// Memory below 4 GiB.
struct Low {
    address: u32,
    used: usize,
}

impl Low {
    const BYTES: usize = 1 << 20;

    fn map() -> io::Result<Self> {
        // SAFETY: a new mapping.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Self::BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address: address as usize as u32, used: 0 })
    }

    /// Copies bytes and returns their address.
    fn put(&mut self, bytes: &[u8]) -> io::Result<u32> {
        let start = self.used;
        self.used += bytes.len().next_multiple_of(16);
        if self.used > Self::BYTES {
            return Err(io::Error::other("no room below 4 GiB"));
        }
        // SAFETY: inside the mapping, in memory that nothing else uses.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), (self.address as usize + start) as *mut u8, bytes.len())
        };
        Ok(self.address + start as u32)
    }

    fn put_words(&mut self, words: &[u32]) -> io::Result<u32> {
        self.put(&words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>())
    }
}

/// Makes `count` calls of each kind, each of [`UNIT`] bytes, on a file of its own; with `undecoded` one more that
/// nobody uses since 1998.
pub(super) fn run(count: u64, folder: &Path, undecoded: bool) -> io::Result<()> {
    let mut low = Low::map()?;
    let page = low.put(&[0x5a; UNIT])?;
    let half = UNIT as u32 / 2;
    let vectors = low.put_words(&[page, half, page + half, half])?;
    let mut open = |name: &str| -> io::Result<u32> {
        let mut path = folder.join(name).as_os_str().as_bytes().to_vec();
        path.push(0);
        // O_LARGEFILE, which libc does not name for 64-bit programs.
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_TRUNC | 0o100_000;
        call(number::OPEN, [low.put(&path)?, flags as u32, 0o600, 0, 0])
    };
    let moved = |result: io::Result<u32>| match result? as usize {
        UNIT => Ok(()),
        bytes => Err(io::Error::other(format!("{bytes} bytes instead of {UNIT}"))),
    };
    let halves = |offset: u64| [offset as u32, (offset >> 32) as u32];

    let fd = open("narrow")?;
    let position = page + half;
    for _ in 0..count {
        moved(call(number::WRITE, [fd, page, UNIT as u32, 0, 0]))?;
    }
    call(number::FSYNC, [fd, 0, 0, 0, 0])?;
    call(number::LLSEEK, [fd, 0, 0, position, libc::SEEK_SET as u32])?;
    for _ in 0..count {
        moved(call(number::READ, [fd, page, UNIT as u32, 0, 0]))?;
    }
    call(number::CLOSE, [fd, 0, 0, 0, 0])?;

    let fd = open("narrow_at")?;
    for index in 0..count {
        let [low, high] = halves(FAR + index * UNIT as u64);
        moved(call(number::PWRITE64, [fd, page, UNIT as u32, low, high]))?;
        moved(call(number::PREAD64, [fd, page, UNIT as u32, low, high]))?;
    }
    call(number::FDATASYNC, [fd, 0, 0, 0, 0])?;

    let fd = open("narrow_vectors")?;
    for _ in 0..count {
        moved(call(number::WRITEV, [fd, vectors, 2, 0, 0]))?;
    }
    call(number::LLSEEK, [fd, 0, 0, position, libc::SEEK_SET as u32])?;
    for _ in 0..count {
        moved(call(number::READV, [fd, vectors, 2, 0, 0]))?;
    }

    let fd = open("narrow_vectors_at")?;
    for index in 0..count {
        let [low, high] = halves(FAR + index * UNIT as u64);
        moved(call(number::PWRITEV, [fd, vectors, 2, low, high]))?;
        moved(call(number::PREADV, [fd, vectors, 2, low, high]))?;
    }

    let source = open("narrow_source")?;
    let target = open("narrow_target")?;
    moved(call(number::WRITE, [source, page, UNIT as u32, 0, 0]))?;
    for _ in 0..count {
        let offset = low.put_words(&[0])?;
        moved(call(number::SENDFILE, [target, source, offset, UNIT as u32, 0]))?;
    }

    submit(count, &mut low, page, vectors, folder)?;
    if undecoded {
        let map = [0, UNIT as u32, libc::PROT_READ as u32, libc::MAP_SHARED as u32, source, 0];
        call(number::OLD_MMAP, [low.put_words(&map)?, 0, 0, 0, 0])?;
        // SAFETY: `getpid` of the x32 ABI takes nothing.
        let taken = unsafe { libc::syscall(X32 | libc::SYS_getpid) } > 0;
        println!("x32: {}", if taken { "taken" } else { "refused" });
    }
    println!("{count} 32-bit calls of each class, {UNIT} bytes each");
    Ok(())
}

/// Submits requests of libaio, half of them with iovecs, one a call, and collects them.
fn submit(count: u64, low: &mut Low, page: u32, vectors: u32, folder: &Path) -> io::Result<()> {
    let target = OpenOptions::new().write(true).create(true).truncate(true).open(folder.join("narrow_aio"))?;
    let context_place = low.put_words(&[0, 0])?;
    call(number::IO_SETUP, [16, context_place, 0, 0, 0])?;
    // SAFETY: inside the mapping; the kernel has just written it.
    let context = unsafe { (context_place as usize as *const u32).read_volatile() };
    let events = low.put(&[0; 32])?;
    for index in 0..count {
        let offset = index as usize * UNIT;
        let request = match index % 2 {
            0 => write_request(1, &target, page.into(), UNIT, offset),
            _ => write_request(8, &target, vectors.into(), 2, offset),
        };
        let bytes: Vec<u8> = request.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let request = low.put(&bytes)?;
        let list = low.put_words(&[request])?;
        call(number::IO_SUBMIT, [context, 1, list, 0, 0])?;
        call(number::IO_GETEVENTS, [context, 1, 1, events, 0])?;
    }
    Ok(())
}
