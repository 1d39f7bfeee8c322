//! The times of bonnie++'s messages on standard error.
//!
//! It writes a message right before it starts a test's clock and `done` right after it has stopped
//! it. The kernel knows the time of each write, the captured stream its text. If the writes
//! account for the stream byte by byte, both together give each test's clock.

use activebench_model::activity::{Activity, CallSpan};

use super::catalogue::Kind;
use super::messages::DONE;
use crate::matched_numbers::writes_of_stream;

/// A test framed by its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Framed {
    pub(super) kind: Kind,
    /// Number of this message among the test's messages, from 1.
    pub(super) run: usize,
    /// The process that wrote.
    pub(super) tgid: u32,
    /// The write of its message.
    pub(super) begun: CallSpan,
    /// The write of its last `done`.
    pub(super) done: CallSpan,
}

/// Returns the tests that both messages frame, in order; none if the writes do not account for the
/// stream or several processes wrote to it.
pub(super) fn framed(stderr: &[u8], activity: &Activity) -> Vec<Framed> {
    let Some(writes) = Placed::new(stderr, activity) else { return Vec::new() };
    let mut framed: Vec<Framed> = Vec::new();
    let mut open: Option<(Kind, CallSpan, u32)> = None;
    let mut closed = false;
    let mut runs = [0; Kind::ALL.len()];
    for (at, word) in words(stderr) {
        match word {
            Word::Begins(kind, length) => {
                runs[kind.index()] += 1;
                closed = false;
                open = writes.at(at + length - 1).map(|(span, tgid)| (kind, span, tgid));
            }
            // A `done` without a message does not belong to a test.
            Word::Done => {
                let (Some((kind, begun, tgid)), Some((done, _))) = (open, writes.at(at)) else { continue };
                // Each seeker says `done`; the test ends with the last of them.
                if closed && kind == Kind::Seeks {
                    framed.pop();
                } else if closed {
                    continue;
                }
                framed.push(Framed { kind, run: runs[kind.index()], tgid, begun, done });
                closed = true;
            }
        }
    }
    framed
}

/// The writes of standard error, with the end of each one in the stream.
struct Placed {
    writes: Vec<(usize, CallSpan, u32)>,
}

impl Placed {
    fn new(stderr: &[u8], activity: &Activity) -> Option<Self> {
        let mut end = 0_usize;
        let mut writes = Vec::new();
        for write in writes_of_stream(&activity.output_writes, 2, stderr.len() as u64) {
            let Ok(bytes) = usize::try_from(write.span.returned) else { continue };
            end = end.checked_add(bytes)?;
            writes.push((end, write.span, write.tgid));
        }
        let first = writes.first()?.2;
        (end == stderr.len() && writes.iter().all(|(.., tgid)| *tgid == first)).then_some(Self { writes })
    }

    /// Returns the write that contains a byte.
    fn at(&self, byte: usize) -> Option<(CallSpan, u32)> {
        let index = self.writes.partition_point(|(end, ..)| *end <= byte);
        self.writes.get(index).map(|(_, span, tgid)| (*span, *tgid))
    }
}

#[derive(Clone, Copy)]
enum Word {
    /// A test and the length of its message.
    Begins(Kind, usize),
    Done,
}

fn words(stderr: &[u8]) -> impl Iterator<Item = (usize, Word)> + '_ {
    (0..stderr.len()).filter_map(|at| {
        let rest = &stderr[at..];
        let begins = Kind::ALL.into_iter().find_map(|kind| {
            let message = kind.messages().iter().find(|message| rest.starts_with(message.as_bytes()))?;
            Some(Word::Begins(kind, message.len()))
        });
        let word = begins.or_else(|| rest.starts_with(DONE.as_bytes()).then_some(Word::Done))?;
        Some((at, word))
    })
}

#[cfg(test)]
mod tests {
    use activebench_model::activity::OutputWrite;
    use activebench_model::call::Op;

    use super::*;

    /// Each word is a write of 10 ns, the n-th from 100 n on.
    fn said(words: &[&str]) -> (Vec<u8>, Activity) {
        let output_writes = words
            .iter()
            .zip(1..)
            .map(|(word, number)| OutputWrite {
                span: CallSpan {
                    start_ns: number * 100,
                    end_ns: number * 100 + 10,
                    tid: 7,
                    op: Op::Write,
                    returned: i64::try_from(word.len()).expect("a short word"),
                },
                file: None,
                tgid: 7,
                fd: 2,
            })
            .collect();
        (words.concat().into_bytes(), Activity { output_writes, ..Activity::default() })
    }

    fn seen(words: &[&str]) -> Vec<(Kind, usize, u64, u64)> {
        let (stderr, activity) = said(words);
        let framed = framed(&stderr, &activity);
        framed.iter().map(|test| (test.kind, test.run, test.begun.end_ns, test.done.start_ns)).collect()
    }

    #[test]
    fn a_test_is_framed_by_its_message_and_its_last_done() {
        let seen = seen(&[
            "Using uid:0, gid:0.\n",
            "Writing intelligently...",
            "done\n",
            "start 'em...",
            "done...",
            "done...",
            "\n",
            "Create files in sequential order...",
            "done.\nStat files in sequential order...",
            "done.\n",
            "Writing intelligently...",
            "done\n",
            "Rewriting...",
        ]);
        let expected = [
            (Kind::PutBlock, 1, 210, 300),
            (Kind::Seeks, 1, 410, 600),
            (Kind::SeqCreate, 1, 810, 900),
            (Kind::SeqStat, 1, 910, 1000),
            (Kind::PutBlock, 2, 1110, 1200),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_stream_that_the_writes_do_not_account_for_says_nothing() {
        let (mut stderr, activity) = said(&["Rewriting...", "done\n"]);
        assert_eq!(framed(&stderr, &activity).len(), 1);
        stderr.push(b'\n');
        assert_eq!(framed(&stderr, &activity), []);
        let (stderr, mut activity) = said(&["Rewriting...", "done\n"]);
        activity.output_writes[1].tgid = 8;
        assert_eq!(framed(&stderr, &activity), []);
        assert_eq!(framed(b"Rewriting...done\n", &Activity::default()), []);
    }
}
