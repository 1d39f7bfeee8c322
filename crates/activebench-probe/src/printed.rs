//! What the processes of the tree wrote to their standard output and standard error, wherever that led: a script may
//! catch the output of a tool and never show it.

use activebench_model::event::KernelClass;
use activebench_probe_abi::{BatchHeader, OutputRecord, Record};
use serde::{Deserialize, Serialize};

/// Maximum number of bytes that are kept of all processes together.
const MOST_BYTES: usize = 32 << 20;
/// Maximum number of pieces that are kept.
const MOST_PIECES: usize = 1 << 18;

/// A piece of what a process wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    /// End of the call.
    at_ns: u64,
    tgid: u32,
    fd: i32,
    /// Bytes that the call wrote, in its first piece; 0 in the others.
    written: u64,
    /// Place of its text.
    start: usize,
    bytes: usize,
}

/// Everything that the processes of the tree wrote to descriptors 1 and 2, as far as it was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Printed {
    pieces: Vec<Piece>,
    /// Time of the first piece for which there was no room; nothing after it is known.
    full_ns: Option<u64>,
    #[serde(skip)]
    text: Vec<u8>,
}

/// What one or several processes wrote to a descriptor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The bytes, in the order of the calls.
    pub text: Vec<u8>,
    /// Bytes that were written and not taken, at least: no text, past a bound, or in memory that could not be read.
    pub missing_bytes: u64,
}

impl Printed {
    /// Returns what processes wrote to a descriptor inside a span. `is_of` returns `true` for these processes.
    pub fn stream(&self, fd: i32, from_ns: u64, to_ns: u64, is_of: impl Fn(u32) -> bool) -> Stream {
        let inside = |piece: &&Piece| piece.fd == fd && piece.at_ns >= from_ns && piece.at_ns <= to_ns;
        let mut pieces: Vec<&Piece> = self.pieces.iter().filter(inside).filter(|piece| is_of(piece.tgid)).collect();
        // Stable: the pieces of one call have one time, and arrive in order.
        pieces.sort_by_key(|piece| piece.at_ns);
        let written: u64 = pieces.iter().map(|piece| piece.written).sum();
        let mut text = Vec::new();
        for piece in pieces {
            text.extend_from_slice(self.text.get(piece.start..piece.start + piece.bytes).unwrap_or(&[]));
        }
        let unknown = u64::from(self.full_ns.is_some_and(|full_ns| full_ns <= to_ns));
        Stream { missing_bytes: written.saturating_sub(text.len() as u64).max(unknown), text }
    }

    /// Returns the bytes of all pieces, which travel apart from them.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the pieces with their bytes again.
    pub(crate) fn with_text(self, text: Vec<u8>) -> Self {
        Self { text, ..self }
    }
}

/// Takes the pieces as they arrive.
#[derive(Debug, Default)]
pub(crate) struct PrintedStore {
    pub(crate) printed: Printed,
    pub(crate) received: u64,
}

impl PrintedStore {
    /// Adds a message; `None` if it is none of this class, or too short.
    pub(crate) fn take(&mut self, message: &[u8]) -> Option<()> {
        let (record, text) = OutputRecord::split_from(message)?;
        let class = BatchHeader::split_from(message).and_then(|(header, _)| header.class());
        if class != Some(KernelClass::Output) {
            return None;
        }
        let text = text.get(..record.bytes as usize)?;
        self.received += 1;
        let Printed { pieces, full_ns, text: all } = &mut self.printed;
        if pieces.len() == MOST_PIECES {
            full_ns.get_or_insert(record.at_ns);
            return Some(());
        }
        // What does not fit is missing from its call.
        let text = if all.len() + text.len() > MOST_BYTES { &[] } else { text };
        let OutputRecord { at_ns, tgid, fd, written, .. } = record;
        pieces.push(Piece { at_ns, tgid, fd, written, start: all.len(), bytes: text.len() });
        all.extend_from_slice(text);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use activebench_probe_abi::bytes_of;

    fn message(at_ns: u64, tgid: u32, fd: i32, written: u64, text: &[u8]) -> Vec<u8> {
        let header = BatchHeader { record_class: KernelClass::Output as u32, count: 1 };
        let record = OutputRecord { header, at_ns, written, tid: tgid, tgid, fd, bytes: text.len() as u32 };
        [bytes_of(&record), text].concat()
    }

    #[test]
    fn the_text_of_each_process_is_kept_apart_and_what_is_missing_is_known() {
        let mut store = PrintedStore::default();
        for (at_ns, tgid, fd, written, text) in [
            (10, 7, 1, 5, &b"read="[..]),
            (11, 8, 1, 4, b"else"),
            (13, 7, 1, 9, b""),
            (12, 7, 1, 6, b"2000"),
            (12, 7, 1, 0, b"\nB"),
            (12, 7, 2, 3, b"err"),
            (20, 7, 1, 3, b"end"),
        ] {
            store.take(&message(at_ns, tgid, fd, written, text)).expect("a piece");
        }
        assert_eq!(store.take(&message(1, 7, 1, 9, b"cut short")[..45]), None);
        assert_eq!(store.received, 7);
        let stream = store.printed.stream(1, 0, 15, |tgid| tgid == 7);
        assert_eq!(stream, Stream { text: b"read=2000\nB".to_vec(), missing_bytes: 9 });
        let both = store.printed.stream(1, 0, 11, |_| true);
        assert_eq!(both, Stream { text: b"read=else".to_vec(), missing_bytes: 0 });
    }
}
