//! The tests of many files in the observed calls: windows in which names are created, looked up,
//! deleted.
//!
//! The messages frame each test. With `-q` there are none: then a stretch of creations or deletions
//! is a test, up to the sync that follows it, and the lookups are between the two.

use std::collections::HashSet;

use activebench_model::activity::{Activity, CallSpan, MadeLink};
use activebench_model::call::open_bits;
use activebench_model::phase::{NameOperation, TaskSpan};

use super::catalogue::Kind;
use super::data::{Group, is_large_file};
use super::plan::Planned;
use super::progress::Framed;

/// Assigns each planned test its window, in the order of `planned`; the error says why there is none.
pub(super) fn find(
    planned: &[&Planned],
    groups: &[Group<'_>],
    framed: &[Framed],
    activity: &Activity,
) -> Vec<Result<TaskSpan, String>> {
    let creations = creations(groups, activity);
    let stretches = stretches(&creations, groups, activity);
    planned
        .iter()
        .map(|planned| {
            let said = framed.iter().find(|said| (said.kind, said.run) == (planned.kind, planned.run));
            match said {
                Some(said) => Ok(framed_span(planned.kind, said, &creations, activity)),
                None if !framed.is_empty() => Err("no message frames this test".to_owned()),
                None => unframed_span(planned, &stretches),
            }
        })
        .collect()
}

/// A file that was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Creation {
    tgid: u32,
    start_ns: u64,
    /// Exit of its close, or of its open if the close was not seen.
    end_ns: u64,
}

/// Returns every creation except those of descriptors that belong to the tests of the large file.
fn creations(groups: &[Group<'_>], activity: &Activity) -> Vec<Creation> {
    let large: HashSet<(u32, i32, Option<u64>)> = groups
        .iter()
        .flat_map(|group| &group.passes)
        .map(|pass| (pass.tgid, pass.fd, pass.open.map(|open| open.start_ns)))
        .collect();
    let mut creations: Vec<Creation> = activity
        .passes
        .iter()
        .filter(|pass| pass.open_flags & open_bits::CREATE != 0)
        .filter(|pass| !large.contains(&(pass.tgid, pass.fd, pass.open.map(|open| open.start_ns))))
        .filter_map(|pass| {
            let open = pass.open?;
            let end_ns = pass.close.map_or(open.end_ns, |close| close.end_ns);
            Some(Creation { tgid: pass.tgid, start_ns: open.start_ns, end_ns })
        })
        .collect();
    // The first link of a test is a file, and every link is a single call.
    let linked = |link: &MadeLink| Creation { tgid: link.tgid, start_ns: link.span.start_ns, end_ns: link.span.end_ns };
    creations.extend(activity.links.iter().map(linked));
    creations.sort_by_key(|creation| creation.start_ns);
    creations
}

/// Returns the window of a framed test. Between the message and the clock's start, a creating test makes up
/// its names and a random deletion shuffles them: their clocks start with the first file. (The random lookups are
/// shuffled too, but without a visible call; a sequential deletion reads the folder inside its clock.) Between the
/// clock's end and `done` the names are freed: if a sync ends the test, the clock ends with it.
fn framed_span(kind: Kind, said: &Framed, creations: &[Creation], activity: &Activity) -> TaskSpan {
    let (after_message, done_ns) = (said.begun.end_ns, said.done.start_ns.max(said.begun.end_ns));
    let first_file_ns = match kind {
        Kind::SeqCreate | Kind::RanCreate => {
            let own = creations.iter().filter(|creation| creation.tgid == said.tgid);
            own.map(|creation| creation.start_ns).find(|start_ns| *start_ns >= after_message)
        }
        Kind::RanDelete => {
            let own = activity.unlinks.iter().filter(|unlink| unlink.span.tid == said.tgid);
            own.map(|unlink| unlink.span.start_ns).find(|start_ns| *start_ns >= after_message)
        }
        _ => None,
    };
    let start_ns = first_file_ns.filter(|start_ns| *start_ns < done_ns).unwrap_or(after_message);
    let inside = |sync: &&CallSpan| sync.tid == said.tgid && start_ns <= sync.start_ns && sync.end_ns <= done_ns;
    let synced_ns = activity.global_syncs.iter().filter(inside).map(|sync| sync.end_ns).max();
    TaskSpan { tgid: said.tgid, tids: Vec::new(), start_ns, end_ns: synced_ns.unwrap_or(done_ns) }
}

/// Consecutive creations or deletions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    operation: NameOperation,
    tgid: u32,
    start_ns: u64,
    /// End, with the sync that follows.
    end_ns: u64,
}

fn stretches(creations: &[Creation], groups: &[Group<'_>], activity: &Activity) -> Vec<Stretch> {
    #[derive(Clone, Copy)]
    enum Event {
        Create(Creation),
        /// End of the call.
        Delete(u64),
        Sync(u64),
        /// A test of the large file, which is created before it without any data.
        LargeFile,
    }
    let deletions = activity.unlinks.iter().filter(|unlink| unlink.span.returned >= 0 && !is_large_file(&unlink.name));
    let mut events: Vec<(u64, Event)> = creations
        .iter()
        .map(|creation| (creation.start_ns, Event::Create(*creation)))
        .chain(deletions.map(|unlink| (unlink.span.start_ns, Event::Delete(unlink.span.end_ns))))
        .chain(activity.global_syncs.iter().map(|sync| (sync.start_ns, Event::Sync(sync.end_ns))))
        .chain(groups.iter().map(|group| (group.first_data_ns, Event::LargeFile)))
        .collect();
    events.sort_by_key(|(at_ns, _)| *at_ns);
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut open = false;
    let extend = |stretches: &mut Vec<Stretch>, open: bool, operation, tgid, start_ns, end_ns| match stretches
        .last_mut()
        .filter(|last| open && last.operation == operation)
    {
        Some(last) => last.end_ns = last.end_ns.max(end_ns),
        None => stretches.push(Stretch { operation, tgid, start_ns, end_ns }),
    };
    for (at_ns, event) in events {
        match event {
            Event::Create(creation) => {
                let create = NameOperation::Create;
                extend(&mut stretches, open, create, creation.tgid, creation.start_ns, creation.end_ns);
                open = true;
            }
            Event::Delete(end_ns) => {
                // A deletion has no process of its own here: the deleted files were created before.
                let tgid = stretches.last().map_or(0, |last| last.tgid);
                extend(&mut stretches, open, NameOperation::Delete, tgid, at_ns, end_ns);
                open = true;
            }
            Event::Sync(end_ns) => {
                if let Some(last) = stretches.last_mut().filter(|_| open) {
                    last.end_ns = last.end_ns.max(end_ns);
                }
                open = false;
            }
            Event::LargeFile => {
                if stretches.last().is_some_and(|last| open && last.operation == NameOperation::Create) {
                    stretches.pop();
                }
                open = false;
            }
        }
    }
    stretches
}

/// Returns the window of a test without messages: each run creates, deletes, creates, deletes.
fn unframed_span(planned: &Planned, stretches: &[Stretch]) -> Result<TaskSpan, String> {
    let nothing = || "the test was not found in the observed calls".to_owned();
    let half = 4 * planned.run.saturating_sub(1) + if planned.kind >= Kind::RanCreate { 2 } else { 0 };
    let created =
        stretches.get(half).filter(|stretch| stretch.operation == NameOperation::Create).ok_or_else(nothing)?;
    let deleted = stretches.get(half + 1).filter(|stretch| stretch.operation == NameOperation::Delete);
    let (start_ns, end_ns) = match planned.kind.name_operation() {
        Some(NameOperation::Create) => (created.start_ns, created.end_ns),
        Some(NameOperation::Stat) => (created.end_ns, deleted.ok_or_else(nothing)?.start_ns),
        _ => deleted.map(|deleted| (deleted.start_ns, deleted.end_ns)).ok_or_else(nothing)?,
    };
    Ok(TaskSpan { tgid: created.tgid, tids: Vec::new(), start_ns, end_ns: end_ns.max(start_ns) })
}
