//! Builds [`Activity`] from the calls of a run.
//!
//! The calls are read twice. The first reading keeps the *structural* calls (everything but data
//! and seeks). There are few of them; sorted by time, they divide each descriptor's life into
//! slots. The second reading puts every data call and seek into its slot by its start. Inside a slot,
//! consecutive calls of one kind by one thread form a run, in their exact order. The runs of several
//! threads are ordered by their first calls. So the order of one thread's calls is exact, and the
//! place of every call between opens, closes and syncs is exact by time. Only the alternation of two
//! threads on one descriptor between two structural calls is coarse.
//!
//! Memory: about 150 bytes per structural call and 400 bytes per step; data calls need no memory
//! of their own. A descriptor that alternates between reads and writes would create a step per call:
//! past [`slots::MOST_RUNS`] in one slot, calls are added to the last steps of their kind.
//! 64 bytes per write of output and per burst of asynchronous requests.

mod bursts;
mod mappings;
mod passes;
mod slots;
mod tasks;

use std::collections::{HashMap, HashSet};

use activebench_model::activity::{Activity, Burst, CallSpan, Exec, FileSeen, MadeLink, NamedCall, OutputWrite, Pass};
use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::event::{NameEvent, TaskEvent};

use activebench_model::source::{EventSource, Unreadable};
pub(crate) use tasks::Stub;

/// Returns the file of a call on a descriptor of a tracked kind of file.
fn on_followed_file(call: &Call) -> Option<FileId> {
    match call.kind {
        FileKind::Regular | FileKind::BlockDevice => call.file,
        FileKind::Other => None,
    }
}

fn moves_data_or_position(op: Op) -> bool {
    op.is_data() || op == Op::Lseek
}

/// Builds the activity from the calls of a run.
///
/// Calls of the tree's first process before it executed the tool are activebench's own stub
/// and are left out.
///
/// # Errors
/// Returns the errors of the source.
pub fn fold_activity(source: &dyn EventSource) -> Result<Activity, Unreadable> {
    let (tasks, mut execs) = tasks::fold(source)?;
    let stub = Stub::new(&tasks, &execs);
    let Structure { calls: structure, unlink_spans, links, global_syncs, files, output_writes, bursts } =
        read_structure(source, &stub)?;
    let Names { opened, unlinks, arguments } = read_names(source, &stub, &unlink_spans)?;
    add_arguments(&mut execs, &arguments);

    let timelines = slots::Timelines::new(structure, &execs);
    let mut passes = slots::fill(source, &stub, timelines)?.into_passes();
    name_passes(&mut passes, &opened);

    let files = with_names(files, &opened);
    Ok(Activity { tasks, files, passes, global_syncs, unlinks, links, execs, output_writes, bursts })
}

/// Returns the executions of a tree, with the arguments where all of them are known.
pub fn executions(tasks: impl IntoIterator<Item = TaskEvent>, names: impl IntoIterator<Item = NameEvent>) -> Vec<Exec> {
    let (_, mut execs) = tasks::of_events(tasks.into_iter().collect());
    let mut arguments: HashMap<(u32, u64), Vec<(i64, String)>> = HashMap::new();
    for event in names.into_iter().filter(|event| event.op == Op::Execute) {
        arguments.entry((event.tgid, event.at_ns)).or_default().push((event.returned, event.name));
    }
    add_arguments(&mut execs, &arguments);
    execs
}

/// Result of the first reading of the calls.
#[derive(Default)]
struct Structure {
    /// Calls that begin, end or divide the passes.
    calls: Vec<Call>,
    unlink_spans: HashMap<(u32, u64), CallSpan>,
    links: Vec<MadeLink>,
    global_syncs: Vec<CallSpan>,
    /// Each file with its kind and first use.
    files: HashMap<FileId, (FileKind, u64)>,
    output_writes: Vec<OutputWrite>,
    bursts: Vec<Burst>,
}

fn read_structure(source: &dyn EventSource, stub: &Stub) -> Result<Structure, Unreadable> {
    let mut structure = Structure::default();
    let mut last_file = None;
    let mut bursts = bursts::Bursts::default();
    for batch in source.calls() {
        for call in batch?.into_iter().filter(|call| !stub.made(call.tgid, call.start_ns)) {
            if let Some(file) = on_followed_file(&call) {
                // Consecutive calls are mostly on one file, and in order: only its first use counts.
                if last_file != Some((call.tid, file)) {
                    last_file = Some((call.tid, file));
                    let (_, first_ns) = structure.files.entry(file).or_insert((call.kind, call.start_ns));
                    *first_ns = call.start_ns.min(*first_ns);
                }
            }
            bursts.feed(&call);
            match call.op {
                Op::Write | Op::Writev if call.kind == FileKind::Other && matches!(call.fd, 1 | 2) => {
                    let write = OutputWrite { span: (&call).into(), tgid: call.tgid, fd: call.fd };
                    structure.output_writes.push(write);
                }
                op if moves_data_or_position(op) => {}
                Op::Sync => structure.global_syncs.push((&call).into()),
                Op::Syncfs => structure.global_syncs.push((&call).into()),
                Op::Link if call.returned >= 0 => {
                    structure.links.push(MadeLink { span: (&call).into(), tgid: call.tgid });
                }
                Op::Unlink => {
                    structure.unlink_spans.insert((call.tid, call.end_ns), (&call).into());
                }
                // An open of any file takes over the descriptor number of the previous pass.
                Op::Open | Op::Munmap | Op::Msync | Op::MsyncAsync => structure.calls.push(call),
                _ if on_followed_file(&call).is_some() => structure.calls.push(call),
                _ => {}
            }
        }
    }
    structure.calls.sort_by_key(|call| (call.start_ns, call.end_ns));
    structure.global_syncs.sort_by_key(|span| span.start_ns);
    structure.links.sort_by_key(|link| link.span.start_ns);
    structure.output_writes.sort_by_key(|write| write.span.start_ns);
    structure.output_writes.truncate(Activity::MOST_OUTPUT_WRITES);
    structure.bursts = bursts.close();
    Ok(structure)
}

struct Names {
    /// Distinct names under which a file was opened, by first use.
    opened: Vec<(u64, FileId, String)>,
    unlinks: Vec<NamedCall>,
    /// Arguments of executions by process and time, each with its number.
    arguments: HashMap<(u32, u64), Vec<(i64, String)>>,
}

/// Adds the arguments to the executions.
fn add_arguments(execs: &mut [Exec], pieces: &HashMap<(u32, u64), Vec<(i64, String)>>) {
    for exec in execs {
        exec.arguments = pieces.get(&(exec.tgid, exec.at_ns)).map_or_else(Vec::new, |pieces| joined(pieces));
    }
}

/// Joins arguments from their pieces, which arrive in order; empty when a piece was lost.
fn joined(pieces: &[(i64, String)]) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    for (number, piece) in pieces {
        match usize::try_from(*number) {
            Ok(number) if number == arguments.len() => arguments.push(piece.clone()),
            Ok(number) if number + 1 == arguments.len() => arguments[number].push_str(piece),
            _ => return Vec::new(),
        }
    }
    arguments
}

fn read_names(
    source: &dyn EventSource,
    stub: &Stub,
    unlink_spans: &HashMap<(u32, u64), CallSpan>,
) -> Result<Names, Unreadable> {
    let mut names = Names { opened: Vec::new(), unlinks: Vec::new(), arguments: HashMap::new() };
    let mut seen: HashSet<(FileId, String)> = HashSet::new();
    for batch in source.names() {
        for event in batch?.into_iter().filter(|event| !stub.made(event.tgid, event.at_ns)) {
            match (event.op, event.file) {
                (Op::Open, Some(file)) if seen.insert((file, event.name.clone())) => {
                    names.opened.push((event.at_ns, file, event.name));
                }
                (Op::Execute, _) => {
                    let pieces = names.arguments.entry((event.tgid, event.at_ns)).or_default();
                    pieces.push((event.returned, event.name));
                }
                (Op::Unlink, _) => {
                    let span = unlink_spans.get(&(event.tid, event.at_ns)).copied();
                    names.unlinks.push(NamedCall { span: span.unwrap_or_else(|| instant(&event)), name: event.name });
                }
                _ => {}
            }
        }
    }
    names.opened.sort_by_key(|(at_ns, ..)| *at_ns);
    names.unlinks.sort_by_key(|unlink| unlink.span.start_ns);
    Ok(names)
}

/// Returns the span of a name whose call record was lost: only its end is known.
fn instant(event: &NameEvent) -> CallSpan {
    CallSpan { start_ns: event.at_ns, end_ns: event.at_ns, tid: event.tid, op: event.op, returned: event.returned }
}

/// Sets the name of each pass on a file with several names.
fn name_passes(passes: &mut [Pass], opened: &[(u64, FileId, String)]) {
    let mut names: HashMap<FileId, Vec<(u64, &str)>> = HashMap::new();
    for (at_ns, file, name) in opened {
        names.entry(*file).or_default().push((*at_ns, name));
    }
    names.retain(|_, names| names.len() > 1);
    for pass in passes {
        let (Some(names), Some(open)) = (names.get(&pass.file), pass.open) else { continue };
        let known = names.partition_point(|(at_ns, _)| *at_ns <= open.end_ns);
        pass.name = known.checked_sub(1).map(|last| names[last].1.to_owned());
    }
}

fn with_names(files: HashMap<FileId, (FileKind, u64)>, opened: &[(u64, FileId, String)]) -> Vec<FileSeen> {
    let mut names: HashMap<FileId, Vec<String>> = HashMap::new();
    for (_, file, name) in opened {
        names.entry(*file).or_default().push(name.clone());
    }
    let mut by_first_use: Vec<(u64, FileId, FileKind)> =
        files.into_iter().map(|(id, (kind, first_ns))| (first_ns, id, kind)).collect();
    by_first_use.sort_unstable_by_key(|(first_ns, id, _)| (*first_ns, *id));
    let seen = |(_, id, kind)| FileSeen { id, names: names.remove(&id).unwrap_or_default(), kind };
    by_first_use.into_iter().map(seen).collect()
}
