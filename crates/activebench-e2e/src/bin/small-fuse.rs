//! A small file system in user space for the tests. Files and folders are in memory. A folder is a list: whatever asks for
//! one name looks at all of them, so that it becomes slower with each file, as some do. A look takes a fixed time, so that
//! it becomes slower on any machine, whatever a request costs there.
//!
//! `small-fuse MOUNT-POINT [--writeback-cache] [--passthrough]`. It prints a line when it is mounted and ends when it is
//! unmounted. What it says to the kernel is in include/uapi/linux/fuse.h.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};

/// Bytes of the header of a request, and of an answer.
const REQUEST: usize = 40;
const ANSWER: usize = 16;
const MOST_WRITTEN: usize = 128 << 10;
/// Time of a look at one of a folder's names.
const LOOK: Duration = Duration::from_nanos(400);
const ROOT: u64 = 1;
const FOLDER: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const NO_ENTRY: i32 = 2;
const NOT_EMPTY: i32 = 39;
const NO_SUCH_CALL: i32 = 38;

#[derive(Default)]
struct Node {
    mode: u32,
    data: Vec<u8>,
    names: Vec<(Vec<u8>, u64)>,
}

struct FileSystem {
    nodes: HashMap<u64, Node>,
    next: u64,
    writeback_cache: bool,
    passthrough: bool,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
}

/// Returns a name, which ends with a zero byte.
fn name_in(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// An answer that is being written.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn u64s(mut self, values: &[u64]) -> Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_ne_bytes()));
        self
    }

    fn u32s(mut self, values: &[u32]) -> Self {
        values.iter().for_each(|value| self.0.extend_from_slice(&value.to_ne_bytes()));
        self
    }

    fn attributes(self, id: u64, node: &Node) -> Self {
        let size = node.data.len() as u64;
        // Times are 0; then links, owner, device, size of blocks.
        self.u64s(&[id, size, size.div_ceil(512), 0, 0, 0]).u32s(&[0, 0, 0, node.mode, 1, 0, 0, 0, 4096, 0])
    }

    fn entry(self, id: u64, node: &Node) -> Self {
        // Valid for a second.
        self.u64s(&[id, 0, 1, 1]).u32s(&[0, 0]).attributes(id, node)
    }

    fn opened(self) -> Self {
        self.u64s(&[0]).u32s(&[0, 0])
    }
}

impl FileSystem {
    fn find(&self, folder: u64, name: &[u8]) -> Option<(usize, u64)> {
        let begin = Instant::now();
        let names = &self.nodes.get(&folder)?.names;
        // From the end: all names are looked at for one that is not there, or is the first.
        let found = names.iter().enumerate().rfind(|(_, (known, _))| known == name);
        let looks = names.len() - found.map_or(0, |(place, _)| place);
        let takes = LOOK * u32::try_from(looks).unwrap_or(u32::MAX);
        while begin.elapsed() < takes {
            std::hint::spin_loop();
        }
        found.map(|(place, (_, id))| (place, *id))
    }

    fn make(&mut self, folder: u64, name: &[u8], mode: u32) -> u64 {
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, Node { mode, ..Node::default() });
        if let Some(parent) = self.nodes.get_mut(&folder) {
            parent.names.push((name.to_vec(), id));
        }
        id
    }

    /// Answers a request; `Ok(None)` for one that wants no answer.
    fn answer(&mut self, operation: u32, id: u64, body: &[u8]) -> Result<Option<Body>, i32> {
        let new = Body::default();
        let node = |nodes: &HashMap<u64, Node>| if nodes.contains_key(&id) { Ok(()) } else { Err(NO_ENTRY) };
        Ok(Some(match operation {
            // LOOKUP
            1 => {
                let (_, found) = self.find(id, name_in(body)).ok_or(NO_ENTRY)?;
                new.entry(found, &self.nodes[&found])
            }
            // FORGET, INTERRUPT, BATCH_FORGET
            2 | 36 | 42 => return Ok(None),
            // GETATTR, SETATTR
            3 | 4 => {
                node(&self.nodes)?;
                const SIZE: u32 = 8;
                const MODE: u32 = 1;
                if operation == 4 {
                    let valid = u32_at(body, 0);
                    let changed = self.nodes.get_mut(&id).ok_or(NO_ENTRY)?;
                    if valid & SIZE != 0 {
                        changed.data.resize(u64_at(body, 16) as usize, 0);
                    }
                    if valid & MODE != 0 {
                        changed.mode = u32_at(body, 68);
                    }
                }
                new.u64s(&[1]).u32s(&[0, 0]).attributes(id, &self.nodes[&id])
            }
            // MKNOD, MKDIR, CREATE
            8 | 9 | 35 => {
                let (name, mode) = match operation {
                    8 => (name_in(&body[16..]), u32_at(body, 0)),
                    9 => (name_in(&body[8..]), FOLDER | u32_at(body, 0) & 0o7777),
                    _ => (name_in(&body[16..]), REGULAR | u32_at(body, 4) & 0o7777),
                };
                let made = match self.find(id, name) {
                    Some((_, known)) => known,
                    None => self.make(id, name, mode),
                };
                let entry = new.entry(made, &self.nodes[&made]);
                if operation == 35 { entry.opened() } else { entry }
            }
            // UNLINK, RMDIR
            10 | 11 => {
                let (place, found) = self.find(id, name_in(body)).ok_or(NO_ENTRY)?;
                if operation == 11 && !self.nodes[&found].names.is_empty() {
                    return Err(NOT_EMPTY);
                }
                self.nodes.get_mut(&id).ok_or(NO_ENTRY)?.names.remove(place);
                self.nodes.remove(&found);
                new
            }
            // OPEN, OPENDIR
            14 | 27 => {
                node(&self.nodes)?;
                new.opened()
            }
            // READ
            15 => {
                let data = &self.nodes.get(&id).ok_or(NO_ENTRY)?.data;
                let from = (u64_at(body, 8) as usize).min(data.len());
                let to = from.saturating_add(u32_at(body, 16) as usize).min(data.len());
                Body(data[from..to].to_vec())
            }
            // WRITE
            16 => {
                let data = &mut self.nodes.get_mut(&id).ok_or(NO_ENTRY)?.data;
                let written = &body[40..];
                let from = u64_at(body, 8) as usize;
                data.resize(data.len().max(from + written.len()), 0);
                data[from..from + written.len()].copy_from_slice(written);
                new.u32s(&[u32::try_from(written.len()).expect("a request is small"), 0])
            }
            // STATFS: blocks, files, sizes.
            17 => {
                new.u64s(&[1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20]).u32s(&[4096, 255, 4096, 0, 0, 0, 0, 0, 0, 0])
            }
            // RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR, ACCESS, DESTROY
            18 | 20 | 25 | 29 | 30 | 34 | 38 => new,
            // INIT
            26 => self.begin(body),
            // READDIR
            28 => self.listed(id, u64_at(body, 8), u32_at(body, 16) as usize)?,
            _ => return Err(NO_SUCH_CALL),
        }))
    }

    fn begin(&self, body: &[u8]) -> Body {
        const BIG_WRITES: u32 = 1 << 5;
        const WRITEBACK_CACHE: u32 = 1 << 16;
        const MORE_FLAGS: u32 = 1 << 30;
        const PASSTHROUGH: u32 = 1 << 5;
        let cache = if self.writeback_cache { WRITEBACK_CACHE } else { 0 };
        let (flags, stack) = if self.passthrough { (PASSTHROUGH, 1) } else { (0, 0) };
        let most = u32::try_from(MOST_WRITTEN).expect("it is small");
        let flags_of_first = BIG_WRITES | MORE_FLAGS | cache;
        Body::default()
            .u32s(&[7, u32_at(body, 4), u32_at(body, 8), flags_of_first, 0, most, 1, 0, flags, stack])
            .u64s(&[0, 0, 0])
    }

    /// Returns the names behind that of the node `after`: names may have gone since, and nodes are numbered upwards.
    fn listed(&self, id: u64, after: u64, room: usize) -> Result<Body, i32> {
        let mut body = Body::default();
        let names = &self.nodes.get(&id).ok_or(NO_ENTRY)?.names;
        for (name, id) in names.iter().filter(|(_, id)| *id > after) {
            let length = (24 + name.len()).next_multiple_of(8);
            if body.0.len() + length > room {
                break;
            }
            let end = body.0.len() + length;
            let name_bytes = u32::try_from(name.len()).expect("a name is short");
            body = body.u64s(&[*id, *id]).u32s(&[name_bytes, self.nodes[id].mode >> 12]);
            body.0.extend_from_slice(name);
            body.0.resize(end, 0);
        }
        Ok(body)
    }
}

fn serve(mut device: File, file_system: &mut FileSystem) -> Result<(), std::io::Error> {
    let mut request = vec![0; MOST_WRITTEN + 4096];
    loop {
        let bytes = match device.read(&mut request) {
            Ok(bytes) => bytes,
            // Unmounted.
            Err(error) if error.raw_os_error() == Some(19) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::NotFound) => continue,
            Err(error) => return Err(error),
        };
        let request = &request[..bytes];
        let (operation, unique, id) = (u32_at(request, 4), u64_at(request, 8), u64_at(request, 16));
        let (error, body) = match file_system.answer(operation, id, &request[REQUEST.min(bytes)..]) {
            Ok(Some(body)) => (0, body.0),
            Ok(None) => continue,
            Err(error) => (error, Vec::new()),
        };
        let length = u32::try_from(ANSWER + body.len()).expect("an answer is small");
        let mut answer = Vec::with_capacity(ANSWER + body.len());
        answer.extend_from_slice(&length.to_ne_bytes());
        answer.extend_from_slice(&(-error).to_ne_bytes());
        answer.extend_from_slice(&unique.to_ne_bytes());
        answer.extend_from_slice(&body);
        // One that was interrupted meanwhile wants no answer any more.
        match device.write(&answer) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let has = |option: &str| words.iter().any(|word| word == option);
    let Some(mount_point) = words.first() else { return ExitCode::from(2) };
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse").expect("/dev/fuse opens");
    fcntl_setfd(&device, FdFlags::empty()).expect("a descriptor that is inherited");
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
    // Without the helper of libfuse, which has a device of its own.
    let mut mount = Command::new("mount");
    mount.args(["-i", "-t", "fuse.small", "small-fuse"]).arg(mount_point).args(["-o", &options]);
    if !mount.status().expect("mount runs").success() {
        return ExitCode::FAILURE;
    }
    println!("mounted");
    let mut file_system = FileSystem {
        nodes: HashMap::from([(ROOT, Node { mode: FOLDER | 0o777, ..Node::default() })]),
        next: ROOT + 1,
        writeback_cache: has("--writeback-cache"),
        passthrough: has("--passthrough"),
    };
    match serve(device, &mut file_system) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("small-fuse: {error}");
            ExitCode::FAILURE
        }
    }
}
