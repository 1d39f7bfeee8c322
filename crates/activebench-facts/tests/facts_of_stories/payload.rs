//! Content of the data that a phase wrote, from the samples of its writes.

use crate::story::{FILE, Is, OTHER_FILE, Story, TOOL, check, count, write_phase};
use activebench_model::call::Op;
use activebench_model::coverage::{PayloadSampling, RecordAccount};
use activebench_model::event::PayloadEvent;
use activebench_model::event::RecordClass;
use activebench_model::fact::FactName::*;
use activebench_model::fact::Facts;

const NAMES: [activebench_model::fact::FactName; 4] =
    [PayloadSamples, PayloadZeroShare, PayloadCompressed, PayloadDuplicates];

/// Creates a tool that writes a file through descriptor 3.
fn story() -> (Story, (u64, u64)) {
    let mut story = Story::new();
    let account = RecordAccount { made: 10, received: 10, ..Default::default() };
    story.manifest.coverage.records.insert(RecordClass::Payload, account);
    story.manifest.coverage.payload = Some(PayloadSampling { period_ns: 1, one_in: 1, ..PayloadSampling::default() });
    story.open(3, "f");
    let window = story.writes(3, 50);
    (story, window)
}

/// A sample of 4096 bytes: zero bytes, compressed bytes, content; `None` for memory that could not be read.
fn sample(at_ns: u64, figures: Option<(u32, u32, u32)>) -> PayloadEvent {
    let (zero_bytes, compressed_bytes, content) = figures.unwrap_or((0, 0, 0));
    PayloadEvent {
        at_ns,
        tid: TOOL,
        tgid: TOOL,
        op: Op::Write,
        fd: 3,
        file: Some(FILE),
        write_bytes: 1 << 20,
        sampled_bytes: if figures.is_some() { 4096 } else { 0 },
        zero_bytes,
        compressed_bytes,
        content: figures.map(|_| content),
        kept_offset: None,
    }
}

fn facts(story: &Story, window: (u64, u64)) -> Facts {
    story.facts(write_phase(3, window))
}

#[test]
fn shares_are_of_the_samples_of_the_phase() {
    let (mut story, window) = story();
    let at = window.0;
    let elsewhere = [
        sample(window.0 - 1, Some((4096, 1, 8))),
        sample(window.1 + 1, Some((4096, 1, 8))),
        PayloadEvent { fd: 4, ..sample(at, Some((4096, 1, 8))) },
        PayloadEvent { tgid: 99, ..sample(at, Some((4096, 1, 8))) },
        PayloadEvent { file: Some(OTHER_FILE), ..sample(at, Some((4096, 1, 8))) },
    ];
    story.events.payload.extend(elsewhere);
    let none = facts(&story, window);
    check("none", &none, &[(PayloadSamples, count(0))]);
    check(
        "none",
        &none,
        &[PayloadZeroShare, PayloadCompressed, PayloadDuplicates].map(|name| (name, Is::Missing("no write"))),
    );

    story.events.payload.extend([
        sample(window.0, Some((4096, 0, 0))),
        // Almost all zeros does not count as zeros.
        sample(at + 1, Some((4095, 96, 1))),
        sample(at + 2, Some((16, 4096, 2))),
        // A file registered with a ring has no file identity.
        PayloadEvent { file: None, ..sample(window.1, Some((16, 4096, 2))) },
    ]);
    let expected = [
        (PayloadSamples, count(4)),
        (PayloadZeroShare, Is::Whole(0.25)),
        (PayloadCompressed, Is::Whole((96.0 + 2.0 * 4096.0) / (4.0 * 4096.0))),
        (PayloadDuplicates, Is::Whole(0.25)),
    ];
    check("four", &facts(&story, window), &expected);
}

#[test]
fn what_was_not_seen_is_said() {
    let (mut story, window) = story();
    let at = window.0;
    story.events.payload.extend([sample(at, Some((0, 4096, 0))), sample(at + 1, Some((0, 4096, 0)))]);
    let mut lossy = story.clone();
    lossy.lose(RecordClass::Payload);
    let partial = |value, why| Is::Part(value, why);
    let lost = "lost 3 of 10 payload records";
    check(
        "lost",
        &facts(&lossy, window),
        &[(PayloadSamples, partial(2.0, lost)), (PayloadDuplicates, partial(0.5, lost))],
    );
    let mut unread = story.clone();
    unread.events.payload.push(sample(at + 2, None));
    let why = "the memory of 1 of 3 sampled writes could not be read";
    check(
        "unread",
        &facts(&unread, window),
        &[(PayloadSamples, partial(2.0, why)), (PayloadCompressed, partial(1.0, why))],
    );
    let mut off = story.clone();
    off.manifest.coverage.payload =
        Some(PayloadSampling { why_not: Some("turned off".to_owned()), ..Default::default() });
    check("off", &facts(&off, window), &NAMES.map(|name| (name, Is::Missing("turned off"))));
    story.manifest.coverage.payload = None;
    check("earlier", &facts(&story, window), &NAMES.map(|name| (name, Is::Missing("this run has no samples"))));
}
