//! Request pattern of operations, and fio's options that reproduce it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use activebench_model::call::{Op, open_bits};

use super::step::{Action, Step};

/// Request pattern of operations. Memory: 8 bytes per operation in flight.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// End times of the operations in flight.
    in_flight: BinaryHeap<Reverse<u64>>,
    pub(super) most_in_flight: usize,
    pub(super) libaio: u64,
    pub(super) io_uring: u64,
    calls: u64,
    direct: u64,
    sync_writes: u64,
    data_sync_writes: u64,
    writes: u64,
}

impl Shape {
    pub(super) fn look(&mut self, step: &Step) {
        match step.op {
            Op::AioRead | Op::AioWrite => self.libaio += 1,
            Op::UringRead | Op::UringWrite => self.io_uring += 1,
            _ => self.calls += 1,
        }
        let opened = |bits| u64::from(step.open_flags & bits != 0);
        self.direct += opened(open_bits::DIRECT);
        if step.action == Action::Write {
            self.writes += 1;
            self.sync_writes += opened(open_bits::SYNC);
            self.data_sync_writes += opened(open_bits::DSYNC);
        }
        // An estimated start can be before the end of the same thread's previous call.
        if step.estimated {
            return;
        }
        while self.in_flight.peek().is_some_and(|Reverse(end_ns)| *end_ns <= step.at_ns) {
            self.in_flight.pop();
        }
        self.in_flight.push(Reverse(step.end_ns));
        self.most_in_flight = self.most_in_flight.max(self.in_flight.len());
    }

    pub(super) fn operations(&self) -> u64 {
        self.libaio + self.io_uring + self.calls
    }

    /// Returns the I/O engine that reproduces the pattern.
    fn engine(&self) -> &'static str {
        match () {
            () if self.io_uring > self.libaio => "io_uring",
            // Also for calls of several threads. At the end of the log fio does not wait for requests in flight, and
            // closing an io_uring drops buffered requests that have not started. libaio executes them immediately.
            () if self.libaio > 0 || self.depth() > 1 => "libaio",
            () => "psync",
        }
    }

    fn depth(&self) -> usize {
        self.most_in_flight.max(1)
    }

    fn is_direct(&self) -> bool {
        self.direct * 2 > self.operations()
    }

    /// Returns the sync flag with which all writes were opened; `None` if they differ or have none.
    fn sync(&self) -> Option<&'static str> {
        match self.writes {
            0 => None,
            writes if writes == self.sync_writes => Some("sync"),
            writes if writes == self.data_sync_writes => Some("dsync"),
            _ => None,
        }
    }

    /// Returns fio's options that reproduce the pattern.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = vec![format!("--ioengine={}", self.engine()), format!("--iodepth={}", self.depth())];
        options.push(format!("--direct={}", u8::from(self.is_direct())));
        options.extend(self.sync().map(|sync| format!("--sync={sync}")));
        options
    }

    /// Returns the pattern in words: `psync, depth 1, buffered`.
    pub(super) fn words(&self) -> String {
        let cache = if self.is_direct() { "O_DIRECT" } else { "buffered" };
        let sync = match self.sync() {
            Some("sync") => ", O_SYNC",
            Some(_) => ", O_DSYNC",
            None => "",
        };
        format!("{}, depth {}, {cache}{sync}", self.engine(), self.depth())
    }

    /// Returns sentences about mixtures that one option for the whole replay cannot reproduce.
    pub(super) fn mixtures(&self) -> Vec<String> {
        let mut mixtures = Vec::new();
        let mut mixed = |part: u64, of: u64, what: &str| {
            if part > 0 && part < of {
                mixtures.push(format!("{part} of {of} {what}: one option holds for the whole replay"));
            }
        };
        mixed(self.direct, self.operations(), "operations passed the page cache by (O_DIRECT)");
        mixed(self.sync_writes, self.writes, "writes were O_SYNC");
        mixed(self.data_sync_writes, self.writes, "writes were O_DSYNC");
        if self.libaio + self.io_uring == 0 && self.most_in_flight > 1 {
            mixtures.push(format!(
                "up to {} calls of several threads overlapped: one fio job replays them as requests in flight, and libaio \
                 does buffered ones one after the other",
                self.most_in_flight
            ));
        }
        mixtures
    }
}
