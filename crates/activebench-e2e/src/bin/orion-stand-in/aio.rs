//! System calls of libaio, and memory for direct I/O.

use std::alloc::Layout;
use std::io;
use std::ptr::NonNull;

/// `struct iocb` of linux/aio_abi.h, in its little-endian layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    second_result: i64,
}

/// A request to be submitted. Its memory is that of a [`Buffer`] of the same [`Queue`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The slot that it uses, and so the buffer.
    pub(crate) slot: usize,
    pub(crate) is_write: bool,
    pub(crate) fd: i32,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) slot: usize,
    /// Bytes, or a negative errno.
    pub(crate) result: i64,
}

/// Page-aligned memory.
#[derive(Debug)]
struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl Buffer {
    const ALIGNMENT: usize = 4096;

    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, Self::ALIGNMENT).expect("a size below the address space");
        // SAFETY: the layout's size is not zero: requests are of at least 1 KiB.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { std::alloc::handle_alloc_error(layout) };
        // SAFETY: the memory was allocated with this size, and nobody else has it.
        fastrand::fill(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes) });
        Self { start, layout }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; no request uses it any more, see `Queue::drop`.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

/// An AIO context with a buffer for each request that can be in flight.
#[derive(Debug)]
pub(crate) struct Queue {
    context: libc::c_ulong,
    buffers: Vec<Buffer>,
    blocks: Vec<ControlBlock>,
    events: Vec<Event>,
}

impl Queue {
    /// Makes one slot for each of the sizes.
    pub(crate) fn new(sizes: &[u64]) -> io::Result<Self> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes the context's address into the local.
        check(unsafe { libc::syscall(libc::SYS_io_setup, sizes.len(), &raw mut context) })?;
        Ok(Self {
            context,
            buffers: sizes.iter().map(|bytes| Buffer::new(*bytes as usize)).collect(),
            blocks: vec![ControlBlock::default(); sizes.len()],
            events: vec![Event::default(); sizes.len()],
        })
    }

    /// Submits requests to the kernel, in as few calls as possible.
    pub(crate) fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        const READ: u16 = 0;
        const WRITE: u16 = 1;
        for request in requests {
            let buffer = &self.buffers[request.slot];
            assert!(request.bytes as usize <= buffer.layout.size(), "the request fits its buffer");
            self.blocks[request.slot] = ControlBlock {
                data: request.slot as u64,
                opcode: if request.is_write { WRITE } else { READ },
                fd: request.fd as u32,
                buffer: buffer.start.as_ptr() as u64,
                bytes: request.bytes,
                offset: request.offset as i64,
                ..ControlBlock::default()
            };
        }
        let mut list: Vec<*mut ControlBlock> =
            requests.iter().map(|request| &raw mut self.blocks[request.slot]).collect();
        let mut rest = list.as_mut_slice();
        while !rest.is_empty() {
            // SAFETY: each pointer leads to a block of this queue, whose buffer holds the requested bytes and lives
            // until the request has completed.
            let taken =
                check(unsafe { libc::syscall(libc::SYS_io_submit, self.context, rest.len(), rest.as_mut_ptr()) })?;
            rest = &mut rest[taken as usize..];
        }
        Ok(())
    }

    /// Waits for at least one completion.
    pub(crate) fn wait(&mut self) -> io::Result<impl Iterator<Item = Done>> {
        let no_timeout = std::ptr::null_mut::<libc::timespec>();
        let count = loop {
            // SAFETY: the kernel writes at most as many events as there is room for.
            let answer = check(unsafe {
                let events = self.events.as_mut_ptr();
                libc::syscall(libc::SYS_io_getevents, self.context, 1, self.events.len(), events, no_timeout)
            });
            match answer {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                answer => break answer?,
            }
        };
        let done = |event: &Event| Done { slot: event.data as usize, result: event.result };
        Ok(self.events[..count as usize].iter().map(done))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: waits for everything outstanding; the buffers are freed only afterwards.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}

fn check(returned: libc::c_long) -> io::Result<libc::c_long> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}
