//! Storage of packed chunks of records while the tool runs: in memory, or in a file on a device that the tool does
//! not use.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use activebench_model::log::EventLog;
use activebench_model::units::Quantity;
use rustix::fs::{Advice, fadvise};
use serde::{Deserialize, Serialize};

/// Packed bytes that stay in memory before the first is spooled, so that a short run never writes.
const LEAST_SPOOLED_BYTES: u64 = 4 << 20;

/// Maximum number of bytes in flight to the spool file: two seconds of a million calls per second. A file system that
/// hangs for longer cuts the log, because memory must not grow.
const MOST_WAITING_BYTES: u64 = 16 << 20;

/// Packed bytes that the records of tasks may take past the log's limit, beside an eighth of that limit: tens of
/// thousands of tasks.
const MOST_TASK_BYTES: u64 = 4 << 20;

/// After this many bytes, the spooled data is written back and leaves the page cache, which belongs to the benchmark.
const WRITE_BACK_BYTES: u64 = 1 << 20;

/// Limits and storage of the event log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogOptions {
    /// Maximum packed bytes of the log, in memory and in the file.
    pub limit_bytes: u64,
    /// Maximum packed bytes in memory when spooling is not allowed.
    pub memory_bytes: u64,
    /// File to spool to, or the reason for not spooling.
    pub spool: Result<Spool, String>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { limit_bytes: 2 << 30, memory_bytes: 2 << 30, spool: Err("no folder was given".to_owned()) }
    }
}

/// A file to spool to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spool {
    /// Its folder, for messages.
    pub folder: PathBuf,
    /// The file. It has no name, so that nothing is left behind however we end. `None` in a message between processes,
    /// which passes the descriptor beside it.
    #[serde(skip)]
    pub file: Option<Arc<File>>,
    /// Super blocks and block devices that certainly share no device with the folder. When the tool uses any other
    /// one, events are held in memory from then on.
    pub apart: HashSet<u32>,
}

impl Spool {
    /// Opens a file without a name in a folder.
    ///
    /// # Errors
    /// Returns an error if the folder takes no file.
    pub fn inside(folder: &Path, apart: HashSet<u32>) -> io::Result<Self> {
        let path = folder.join("spool");
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(Self { folder: folder.to_owned(), file: Some(Arc::new(file)), apart })
    }
}

/// The location of a chunk.
#[derive(Debug)]
pub(crate) enum Place {
    Held(Vec<u8>),
    Spooled { offset: u64, bytes: usize },
}

/// The chunks' bytes and their account.
#[derive(Debug)]
pub(crate) struct Log {
    account: EventLog,
    memory_bytes: u64,
    held_bytes: u64,
    spool: Option<Spool>,
    writer: Option<Writer>,
    file: Option<Arc<File>>,
}

impl Log {
    pub(crate) fn new(options: LogOptions) -> Self {
        let account = EventLog { limit_bytes: options.limit_bytes, ..EventLog::default() };
        let mut log =
            Self { account, memory_bytes: options.memory_bytes, held_bytes: 0, spool: None, writer: None, file: None };
        match options.spool {
            Ok(spool) => log.spool = Some(spool),
            Err(why) => log.account.in_memory_because = Some(why),
        }
        log
    }

    /// Returns `true` if the tool can use a super block or block device while we spool.
    pub(crate) fn is_apart(&self, device: u32) -> bool {
        self.spool.as_ref().is_none_or(|spool| spool.apart.contains(&device))
    }

    /// Keeps everything in memory from now on.
    pub(crate) fn hold(&mut self, why: String) {
        if self.spool.take().is_some() {
            self.account.in_memory_because = Some(why);
        }
    }

    /// Adds a chunk. The second value is the reason if there is no space for another.
    pub(crate) fn take(&mut self, packed: Vec<u8>) -> (Place, Option<String>) {
        let bytes = packed.len() as u64;
        self.account.packed_bytes += bytes;
        let place = match self.place_in_spool(bytes) {
            Some(offset) => {
                let place = Place::Spooled { offset, bytes: packed.len() };
                if let Some(writer) = &self.writer {
                    writer.give(offset, packed);
                }
                place
            }
            None => {
                self.held_bytes += bytes;
                Place::Held(packed)
            }
        };
        (place, self.why_full())
    }

    /// Returns the offset of the next chunk; `None` when it stays in memory.
    fn place_in_spool(&mut self, bytes: u64) -> Option<u64> {
        let spool = self.spool.as_ref()?;
        if self.writer.is_none() {
            if self.held_bytes + bytes < LEAST_SPOOLED_BYTES {
                return None;
            }
            let Some(file) = spool.file.clone() else {
                self.hold("no file was passed on".to_owned());
                return None;
            };
            match Writer::start(Arc::clone(&file)) {
                Ok(writer) => (self.writer, self.file) = (Some(writer), Some(file)),
                Err(error) => {
                    self.hold(format!("cannot start the thread that writes it: {error}"));
                    return None;
                }
            }
        }
        if self.writer.as_ref().is_some_and(|writer| writer.progress.has_failed.load(Ordering::Relaxed)) {
            let folder = spool.folder.display().to_string();
            self.hold(format!("it could not be written in {folder}"));
            return None;
        }
        let offset = self.account.spooled_bytes;
        self.account.spooled_bytes += bytes;
        Some(offset)
    }

    fn why_full(&self) -> Option<String> {
        let limit = |bytes| Quantity::bytes(bytes);
        if self.account.packed_bytes >= self.account.limit_bytes {
            return Some(format!("it had reached its limit of {} (--events-limit)", limit(self.account.limit_bytes)));
        }
        if self.spool.is_none() && self.held_bytes >= self.memory_bytes {
            let why = self.account.in_memory_because.as_deref().unwrap_or("the reason is not known");
            return Some(format!(
                "{} of it lay in memory and no more may: {why} (hint: --out on another device)",
                limit(self.memory_bytes)
            ));
        }
        let writer = self.writer.as_ref()?;
        (writer.progress.waiting_bytes.load(Ordering::Relaxed) > MOST_WAITING_BYTES)
            .then(|| "the run directory's file system stood still".to_owned())
    }

    /// Returns `true` if the log has no space for records of tasks, which are kept past the limits of all others.
    pub(crate) fn is_overfull(&self) -> bool {
        let with_tasks = |bytes: u64| bytes.saturating_add(bytes / 8 + MOST_TASK_BYTES);
        let waiting_bytes =
            self.writer.as_ref().map_or(0, |writer| writer.progress.waiting_bytes.load(Ordering::Relaxed));
        self.account.packed_bytes >= with_tasks(self.account.limit_bytes)
            || self.spool.is_none() && self.held_bytes >= with_tasks(self.memory_bytes)
            || waiting_bytes > with_tasks(MOST_WAITING_BYTES)
    }

    /// Waits until all chunks are written. Returns the chunks that could not be written, with their offsets.
    pub(crate) fn settle(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.writer.take().map(Writer::finish).unwrap_or_default()
    }

    /// Returns the file with the spooled chunks; `None` if nothing was spooled.
    pub(crate) fn file(&self) -> Option<Arc<File>> {
        self.file.clone()
    }

    pub(crate) fn account(&self) -> &EventLog {
        &self.account
    }
}

#[derive(Debug, Default)]
struct Progress {
    waiting_bytes: AtomicU64,
    has_failed: AtomicBool,
}

/// Chunks that could not be written to the spool file, with their offsets.
type Unwritten = Vec<(u64, Vec<u8>)>;

/// The thread that writes the spool file. It may wait for a device; the ring's consumer must not.
#[derive(Debug)]
struct Writer {
    chunks: Sender<(u64, Vec<u8>)>,
    progress: Arc<Progress>,
    thread: JoinHandle<Unwritten>,
}

impl Writer {
    fn start(file: Arc<File>) -> io::Result<Self> {
        let (chunks, waiting) = channel();
        let progress = Arc::new(Progress::default());
        let own_progress = Arc::clone(&progress);
        let thread = std::thread::Builder::new()
            .name("activebench-log".to_owned())
            .spawn(move || write_all(&file, &waiting, &own_progress))?;
        Ok(Self { chunks, progress, thread })
    }

    fn give(&self, offset: u64, packed: Vec<u8>) {
        self.progress.waiting_bytes.fetch_add(packed.len() as u64, Ordering::Relaxed);
        // The thread ends only when this sender is dropped.
        if self.chunks.send((offset, packed)).is_err() {
            self.progress.has_failed.store(true, Ordering::Relaxed);
        }
    }

    fn finish(self) -> Unwritten {
        drop(self.chunks);
        // Chunks that a panicked thread did not write fail to be read, and that error is reported.
        self.thread.join().unwrap_or_default()
    }
}

/// Writes the chunks that arrive; returns those that could not be written.
fn write_all(file: &File, chunks: &Receiver<(u64, Vec<u8>)>, progress: &Progress) -> Unwritten {
    let mut unwritten = Vec::new();
    let (mut started, mut begun) = (0, 0);
    for (offset, packed) in chunks {
        let bytes = packed.len() as u64;
        if unwritten.is_empty() && file.write_all_at(&packed, offset).is_ok() {
            let end = offset + bytes;
            if end >= begun + WRITE_BACK_BYTES {
                leave_page_cache(file, started, begun, end);
                (started, begun) = (begun, end);
            }
        } else {
            progress.has_failed.store(true, Ordering::Relaxed);
            unwritten.push((offset, packed));
        }
        progress.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
    unwritten
}

/// Starts the writeback of `begun..end`, and drops `started..begun`, whose writeback was started before.
fn leave_page_cache(file: &File, started: u64, begun: u64, end: u64) {
    let fd = file.as_raw_fd();
    let length = |from: u64, to: u64| (to - from) as libc::off64_t;
    // SAFETY: numbers only. A failure (a file system without it) costs only page cache.
    unsafe {
        libc::sync_file_range(fd, begun as i64, length(begun, end), libc::SYNC_FILE_RANGE_WRITE);
        if begun > started {
            let whole =
                libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
            libc::sync_file_range(fd, started as i64, length(started, begun), whole);
        }
    }
    if let Some(length) = begun.checked_sub(started).and_then(NonZeroU64::new) {
        match fadvise(file, started, Some(length), Advice::DontNeed) {
            // A failure costs only page cache, too.
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(limit_bytes: u64, memory_bytes: u64, spool: Result<Spool, String>) -> Log {
        Log::new(LogOptions { limit_bytes, memory_bytes, spool })
    }

    fn read(log: &Log, place: &Place) -> Vec<u8> {
        match place {
            Place::Held(packed) => packed.clone(),
            Place::Spooled { offset, bytes } => {
                let mut packed = vec![0; *bytes];
                log.file().expect("a file").read_exact_at(&mut packed, *offset).expect("readable");
                packed
            }
        }
    }

    fn chunk(number: usize) -> Vec<u8> {
        vec![number as u8; 1 << 20]
    }

    #[test]
    fn chunks_come_back_from_wherever_they_lie() {
        let folder = tempfile::tempdir().expect("a folder");
        let spool = Spool::inside(folder.path(), HashSet::from([7])).expect("a file");
        let mut log = log(u64::MAX, u64::MAX, Ok(spool));
        let mut places: Vec<Place> = (0..6).map(|number| log.take(chunk(number)).0).collect();
        assert!(log.is_apart(7) && !log.is_apart(8));
        log.hold("the tool uses 8".to_owned());
        places.extend((6..9).map(|number| log.take(chunk(number)).0));
        assert!(log.settle().is_empty());
        for (number, place) in places.iter().enumerate() {
            // The first ones are too few for a file, the last ones must not be written.
            assert_eq!(matches!(place, Place::Spooled { .. }), (3..6).contains(&number), "{number}");
            assert_eq!(read(&log, place), chunk(number));
        }
        assert_eq!(log.account().spooled_bytes, 3 << 20);
        assert_eq!(log.account().in_memory_because.as_deref(), Some("the tool uses 8"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "nothing is left behind");
    }

    #[test]
    fn what_no_file_takes_stays_in_memory() {
        let unwritable = Arc::new(File::open("/dev/null").expect("it is there"));
        let spool = Spool { folder: "/".into(), file: Some(unwritable), apart: HashSet::new() };
        let mut log = log(u64::MAX, u64::MAX, Ok(spool));
        let mut places: Vec<Place> = (0..6).map(|number| log.take(chunk(number)).0).collect();
        for (offset, packed) in log.settle() {
            let place =
                places.iter_mut().find(|place| matches!(place, Place::Spooled { offset: at, .. } if *at == offset));
            *place.expect("a chunk of that offset") = Place::Held(packed);
        }
        for (number, place) in places.iter().enumerate() {
            assert_eq!(read(&log, place), chunk(number));
        }
    }

    #[test]
    fn a_full_log_says_by_which_limit() {
        for (limit, memory, expected) in [
            (2 << 20, u64::MAX, Some("--events-limit")),
            (u64::MAX, 2 << 20, Some("lay in memory and no more may: no folder (hint: --out")),
            (u64::MAX, u64::MAX, None),
        ] {
            let mut log = log(limit, memory, Err("no folder".to_owned()));
            assert_eq!(log.take(chunk(0)).1, None);
            let why = log.take(chunk(1)).1;
            assert_eq!(why.is_some(), expected.is_some());
            let why = why.unwrap_or_default();
            assert!(why.contains(expected.unwrap_or_default()), "{why}");
        }
    }
}
