//! What `/proc` says of a traced process: its name, what it executes, and its account of I/O.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;

use activebench_model::coverage::{ProcessAccount, ReadElsewhere};

use super::memory;
use super::ptrace::Tid;

/// Processes whose accounts are kept: those that moved the most.
const MOST_ACCOUNTS: usize = 64;
/// Spans of reads by other ways that are kept.
const MOST_READS: usize = 4096;
/// Bytes by which a process's own account may exceed what its calls showed. The kernel counts what it reads itself to
/// execute a file: the first 256 bytes of each that it tries.
const TOLERANCE_BYTES: u64 = 1 << 20;
/// Share of what the calls showed by which it may exceed that.
const TOLERANCE: f64 = 0.01;
/// Bytes of a process's words that are read.
const MOST_COMMAND_BYTES: u64 = 64 << 10;

/// Data that no stop showed.
const UNSEEN_READS: &str = "reads that no stop showed (rchar of /proc/PID/io)";
const UNSEEN_WRITES: &str = "writes that no stop showed (wchar of /proc/PID/io)";
/// Data that notes in the tool's memory show, and the kernel did not move.
const UNMADE_READS: &str = "reads that it noted and never made (rchar and syscr of /proc/PID/io)";
const UNMADE_WRITES: &str = "writes that it noted and never made (wchar and syscw of /proc/PID/io)";

/// An open account of I/O of a thread or process.
#[derive(Debug)]
pub(super) struct Io(Option<File>);

/// The figures of `/proc/PID/io`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    rchar: u64,
    wchar: u64,
    syscr: u64,
    syscw: u64,
    read_bytes: u64,
    write_bytes: u64,
    cancelled_write_bytes: u64,
}

impl Figures {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self {
            rchar: field("rchar:")?,
            wchar: field("wchar:")?,
            syscr: field("syscr:")?,
            syscw: field("syscw:")?,
            read_bytes: field("read_bytes:")?,
            write_bytes: field("write_bytes:")?,
            cancelled_write_bytes: field("cancelled_write_bytes:")?,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            rchar: self.rchar.saturating_add(other.rchar),
            wchar: self.wchar.saturating_add(other.wchar),
            syscr: self.syscr.saturating_add(other.syscr),
            syscw: self.syscw.saturating_add(other.syscw),
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
            write_bytes: self.write_bytes.saturating_add(other.write_bytes),
            cancelled_write_bytes: self.cancelled_write_bytes.saturating_add(other.cancelled_write_bytes),
        }
    }

    /// Returns the growth since other figures.
    fn since(self, other: Self) -> Self {
        Self {
            rchar: self.rchar.saturating_sub(other.rchar),
            wchar: self.wchar.saturating_sub(other.wchar),
            syscr: self.syscr.saturating_sub(other.syscr),
            syscw: self.syscw.saturating_sub(other.syscw),
            read_bytes: self.read_bytes.saturating_sub(other.read_bytes),
            write_bytes: self.write_bytes.saturating_sub(other.write_bytes),
            cancelled_write_bytes: self.cancelled_write_bytes.saturating_sub(other.cancelled_write_bytes),
        }
    }
}

/// What the threads read from storage by no call that is followed.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    reads: Vec<ReadElsewhere>,
    /// Threads whose account is not known at their end.
    unread: u64,
}

impl Elsewhere {
    /// Adds what a thread read between two readings of its account.
    pub(super) fn add(&mut self, from_ns: u64, to_ns: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.reads.push(ReadElsewhere { from_ns, to_ns, bytes });
        if self.reads.len() >= MOST_READS {
            // Wider spans say less, and nothing false.
            let join = |pair: &[ReadElsewhere]| ReadElsewhere {
                from_ns: pair.iter().map(|read| read.from_ns).min().unwrap_or(0),
                to_ns: pair.iter().map(|read| read.to_ns).max().unwrap_or(u64::MAX),
                bytes: pair.iter().map(|read| read.bytes).sum(),
            };
            self.reads = self.reads.chunks(2).map(join).collect();
        }
    }

    /// The account of a thread was not read at its end, or at an earlier reading from which it is counted.
    pub(super) fn lose(&mut self) {
        self.unread += 1;
    }

    /// Returns all of it; `None` if an account is not known.
    pub(super) fn all(&self) -> Option<Vec<ReadElsewhere>> {
        (self.unread == 0).then(|| self.reads.clone())
    }
}

impl Io {
    /// Opens the account of a thread.
    pub(super) fn of_thread(tgid: u32, tid: Tid) -> Self {
        Self(File::open(format!("/proc/{tgid}/task/{tid}/io")).ok())
    }

    fn figures(&self) -> Option<Figures> {
        let mut bytes = [0; 512];
        let read = self.0.as_ref()?.read_at(&mut bytes, 0).ok()?;
        Figures::parse(std::str::from_utf8(&bytes[..read]).ok()?)
    }

    /// Returns the bytes that were read from storage so far; `None` if they cannot be read.
    pub(super) fn read_bytes(&self) -> Option<u64> {
        self.figures().map(|figures| figures.read_bytes)
    }
}

#[derive(Debug, Default)]
struct Process {
    /// The account where the calls begin to be seen; `None` if it could not be read.
    at_start: Option<Figures>,
    /// The calls are not seen yet: it has no filter before it executes the tool.
    is_unfiltered: bool,
    last: Option<Figures>,
    /// No call was added since that reading.
    is_current: bool,
    /// The process that made it.
    parent: u32,
    /// What ended children have in their accounts: the kernel adds it to that of the parent that waits for them.
    of_children: Figures,
    read: u64,
    written: u64,
    /// Calls that read and wrote, without an error.
    reads: u64,
    writes: u64,
    /// Bytes that it wrote to descriptors 1 and 2. Each has a bound of its own: a tool whose data goes to 1 prints its
    /// figures to 2.
    printed: [u64; 2],
}

/// The place of a descriptor in [`Process::printed`]; `None` for one that nothing is printed to.
fn place_of_printed(fd: i32) -> Option<usize> {
    match fd {
        1 => Some(0),
        2 => Some(1),
        _ => None,
    }
}

/// The processes of the tree.
#[derive(Debug, Default)]
pub(super) struct Processes {
    alive: HashMap<u32, Process>,
    accounts: Vec<ProcessAccount>,
    unseen_reads: u64,
    unseen_writes: u64,
    unmade_reads: u64,
    unmade_writes: u64,
}

fn figures_of(tgid: u32) -> Option<Figures> {
    Figures::parse(&fs::read_to_string(format!("/proc/{tgid}/io")).ok()?)
}

impl Processes {
    /// Adds a process that was born. Its account begins with nothing, unless its calls are not seen yet.
    pub(super) fn begin(&mut self, tgid: u32, parent: u32, is_unfiltered: bool) {
        let at_start = Some(Figures::default());
        self.alive.insert(tgid, Process { at_start, parent, is_unfiltered, ..Process::default() });
    }

    /// Returns `true` if the calls of a process are not seen yet.
    pub(super) fn is_unfiltered(&self, tgid: u32) -> bool {
        self.alive.get(&tgid).is_some_and(|process| process.is_unfiltered)
    }

    /// A process executes a file: what the kernel read for that is not of its calls.
    pub(super) fn executed(&mut self, tgid: u32) {
        let now = figures_of(tgid);
        let Some(process) = self.alive.get_mut(&tgid) else { return };
        process.printed = [0; 2];
        if std::mem::take(&mut process.is_unfiltered) {
            process.at_start = now;
        }
        process.last = now.or(process.last);
    }

    /// Reads the account of a process, one of whose threads ends.
    pub(super) fn read(&mut self, tgid: u32) {
        if let Some(process) = self.alive.get_mut(&tgid) {
            let now = figures_of(tgid);
            process.is_current |= now.is_some();
            process.last = now.or(process.last);
        }
    }

    /// Adds bytes that a call moved.
    pub(super) fn moved(&mut self, tgid: u32, read: u64, written: u64) {
        if let Some(process) = self.alive.get_mut(&tgid) {
            process.is_current = false;
            process.read = process.read.saturating_add(read);
            process.written = process.written.saturating_add(written);
        }
    }

    /// Adds calls that moved data, or none at the end of a file.
    pub(super) fn called(&mut self, tgid: u32, is_read: bool) {
        if let Some(process) = self.alive.get_mut(&tgid) {
            process.is_current = false;
            let calls = if is_read { &mut process.reads } else { &mut process.writes };
            *calls = calls.saturating_add(1);
        }
    }

    /// Adds bytes that a process printed to a descriptor. Returns whether their text is taken; `None` where nothing of it
    /// is of interest any more, because it was past the bound before.
    pub(super) fn printed(&mut self, tgid: u32, fd: i32, bytes: u64, most: u64) -> Option<bool> {
        let printed = &mut self.alive.get_mut(&tgid)?.printed[place_of_printed(fd)?];
        if *printed > most {
            return None;
        }
        *printed += bytes;
        Some(*printed <= most)
    }

    /// Returns `true` if so much was printed to a descriptor that nothing of it is of interest any more.
    pub(super) fn has_printed_more(&self, tgid: u32, fd: i32, most: u64) -> bool {
        let printed = place_of_printed(fd).zip(self.alive.get(&tgid)).map(|(place, process)| process.printed[place]);
        printed.is_some_and(|printed| printed > most)
    }

    /// Closes the account of a process.
    pub(super) fn ended(&mut self, tgid: u32) {
        let Some(process) = self.alive.remove(&tgid) else { return };
        let (Some(at_start), Some(last)) = (process.at_start, process.last) else { return };
        if let Some(parent) = self.alive.get_mut(&process.parent) {
            parent.of_children = parent.of_children.plus(last);
        }
        // Not every parent waits for its children: what they moved may be in its account, or not.
        let with_children = last.since(at_start);
        let grown = with_children.since(process.of_children);
        let exceeds = |own: u64, seen: u64| {
            let excess = own.saturating_sub(seen);
            u64::from(excess > TOLERANCE_BYTES && excess as f64 > TOLERANCE * seen as f64)
        };
        self.unseen_reads += exceeds(grown.rchar, process.read);
        self.unseen_writes += exceeds(grown.wchar, process.written);
        // A process that was killed may have made calls after the last reading.
        if process.is_current {
            let unmade_reads = exceeds(process.read, with_children.rchar) > 0 || process.reads > with_children.syscr;
            let unmade_writes =
                exceeds(process.written, with_children.wchar) > 0 || process.writes > with_children.syscw;
            self.unmade_reads += u64::from(unmade_reads);
            self.unmade_writes += u64::from(unmade_writes);
        }
        self.accounts.push(ProcessAccount {
            pid: tgid,
            called_read_bytes: process.read,
            called_write_bytes: process.written,
            rchar: grown.rchar,
            wchar: grown.wchar,
            storage_read_bytes: grown.read_bytes,
            storage_write_bytes: grown.write_bytes,
            cancelled_write_bytes: grown.cancelled_write_bytes,
        });
        if self.accounts.len() >= 2 * MOST_ACCOUNTS {
            self.thin();
        }
    }

    fn thin(&mut self) {
        self.accounts.sort_by_key(|account| std::cmp::Reverse(account.rchar.saturating_add(account.wchar)));
        self.accounts.truncate(MOST_ACCOUNTS);
    }

    /// Returns the accounts of the processes that moved the most.
    pub(super) fn accounts(&self) -> Vec<ProcessAccount> {
        let mut kept = Self { accounts: self.accounts.clone(), ..Self::default() };
        kept.thin();
        kept.accounts
    }

    /// Returns the processes that moved more than their calls showed, by direction.
    pub(super) fn unseen(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = BTreeMap::from([
            (UNSEEN_READS, self.unseen_reads),
            (UNSEEN_WRITES, self.unseen_writes),
            (UNMADE_READS, self.unmade_reads),
            (UNMADE_WRITES, self.unmade_writes),
        ]);
        counted.into_iter().filter(|(_, processes)| *processes > 0)
    }
}

/// Returns the process of a task.
pub(super) fn group_of(tid: Tid) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Returns the name of a task.
pub(super) fn comm_of(tid: Tid) -> [u8; 16] {
    let mut comm = [0; 16];
    let text = fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let bytes = text.len().min(comm.len() - 1);
    comm[..bytes].copy_from_slice(&text[..bytes]);
    comm
}

/// Returns the arguments of a process that has just executed a file, each with its number; long ones in pieces.
pub(super) fn arguments(tgid: u32, most: usize, piece_bytes: usize) -> Vec<(i64, Vec<u8>)> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{tgid}/cmdline"));
    if file.and_then(|file| file.take(MOST_COMMAND_BYTES).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    let pieces = (0..).zip(bytes.split(|byte| *byte == 0)).flat_map(|(number, argument)| {
        let whole = if argument.is_empty() { vec![argument] } else { argument.chunks(piece_bytes).collect() };
        whole.into_iter().map(move |piece| (number, piece.to_vec()))
    });
    pieces.take(most).collect()
}

/// Reads the name of the file that a process has just executed, as it was given to the kernel.
pub(super) fn executed_file(tid: Tid, into: &mut [u8]) {
    const EXECUTED: u64 = 31;
    let auxiliary = fs::read(format!("/proc/{tid}/auxv")).unwrap_or_default();
    let find = |bytes: usize| {
        let number = |of: &[u8]| of.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let mut pairs = auxiliary.chunks_exact(2 * bytes).map(|pair| (number(&pair[..bytes]), number(&pair[bytes..])));
        pairs.find(|(kind, _)| *kind == EXECUTED).map(|(_, address)| address)
    };
    if let Some(address) = find(8).or_else(|| find(4)) {
        memory::text(tid, address, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_parsed_whole_or_not_at_all() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let figures =
            Figures { rchar: 1, wchar: 2, syscr: 3, syscw: 4, read_bytes: 5, write_bytes: 6, cancelled_write_bytes: 7 };
        assert_eq!(Figures::parse(text), Some(figures));
        assert_eq!(Figures::parse("rchar: 1\n"), None);
        assert!(Io::of_thread(std::process::id(), std::process::id().cast_signed()).read_bytes().is_some());
        assert!(Io(None).read_bytes().is_none());
    }

    #[test]
    fn our_own_words_and_names_are_read() {
        let (pid, tid) = (std::process::id(), std::process::id().cast_signed());
        let words: Vec<Vec<u8>> = arguments(pid, 1000, 255).into_iter().map(|(_, word)| word).collect();
        assert_eq!(words[0], std::env::args().next().expect("a program").into_bytes());
        assert_eq!(group_of(tid), Some(pid));
        assert_ne!(comm_of(tid)[0], 0);
        let mut name = [0; 256];
        executed_file(tid, &mut name);
        assert!(String::from_utf8_lossy(&name).contains("activebench"), "{name:?}");
        let pieces = arguments(pid, 2, 4);
        assert!(pieces.len() <= 2 && pieces.iter().all(|(number, piece)| *number == 0 && piece.len() <= 4));
    }

    #[test]
    fn what_goes_to_one_descriptor_leaves_the_bound_of_the_other() {
        let mut processes = Processes::default();
        processes.begin(1, 0, false);
        assert_eq!([5, 6, 1].map(|bytes| processes.printed(1, 1, bytes, 10)), [Some(true), Some(false), None]);
        assert_eq!([1, 2].map(|fd| processes.has_printed_more(1, fd, 10)), [true, false]);
        assert_eq!(processes.printed(1, 2, 3, 10), Some(true));
        assert_eq!([processes.printed(1, 3, 3, 10), processes.printed(2, 1, 3, 10)], [None, None]);
    }

    #[test]
    fn a_process_that_moves_more_than_its_calls_show_is_found() {
        let mut processes = Processes::default();
        for (tgid, called, own) in [(1, 100, 400), (2, 5_000_000, 5_100_000), (3, 100, 3 << 20), (4, 9 << 20, 5 << 20)]
        {
            processes.begin(tgid, 0, false);
            processes.moved(tgid, called, 0);
            let process = processes.alive.get_mut(&tgid).expect("it lives");
            (process.last, process.is_current) = (Some(Figures { rchar: own, ..Figures::default() }), true);
            processes.ended(tgid);
        }
        assert_eq!(processes.unseen().collect::<Vec<_>>(), [(UNMADE_READS, 1), (UNSEEN_READS, 1)]);
        assert_eq!(processes.accounts().len(), 4);
        assert_eq!(processes.accounts()[0].pid, 4);
    }

    #[test]
    fn one_call_more_than_the_kernel_counted_was_never_made() {
        for (noted, counted, is_current, expected) in
            [(3, 3, true, 0), (2, 3, true, 0), (4, 3, true, 1), (4, 3, false, 0)]
        {
            let mut processes = Processes::default();
            processes.begin(1, 0, false);
            (0..noted).for_each(|_| processes.called(1, false));
            let process = processes.alive.get_mut(&1).expect("it lives");
            (process.last, process.is_current) = (Some(Figures { syscw: counted, ..Figures::default() }), is_current);
            processes.ended(1);
            assert_eq!(processes.unseen().count(), expected, "{noted} of {counted}");
        }
    }

    #[test]
    fn reads_by_other_ways_stay_few_and_whole() {
        let mut elsewhere = Elsewhere::default();
        (0..10_000).for_each(|number| elsewhere.add(10 * number, 10 * number + 5, 1));
        elsewhere.add(7, 8, 0);
        let all = elsewhere.all().expect("they are known");
        assert!(all.len() < MOST_READS && all.iter().all(|read| read.from_ns < read.to_ns), "{}", all.len());
        assert_eq!(all.iter().map(|read| read.bytes).sum::<u64>(), 10_000);
        assert_eq!((all[0].from_ns, all[all.len() - 1].to_ns), (0, 99_995));
        elsewhere.lose();
        assert_eq!(elsewhere.all(), None);
    }

    #[test]
    fn what_children_moved_is_in_the_account_of_the_parent_that_waits() {
        let mut processes = Processes::default();
        let figures = |bytes| Figures { rchar: bytes, read_bytes: bytes, ..Figures::default() };
        for (tgid, parent, account) in [(1, 0, 9 << 20), (2, 1, 8 << 20)] {
            processes.begin(tgid, parent, false);
            processes.alive.get_mut(&tgid).expect("it lives").last = Some(figures(account));
        }
        processes.moved(2, 8 << 20, 0);
        processes.moved(1, 1 << 20, 0);
        processes.ended(2);
        processes.ended(1);
        assert_eq!(processes.unseen().count(), 0);
    }
}
