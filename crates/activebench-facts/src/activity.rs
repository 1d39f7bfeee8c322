//! Builds [`Activity`] from the calls of a run.
//!
//! The *structural* calls (everything but data and seeks) are collected first, because a source finds them without
//! reading all calls. There are few of them; sorted by time, they divide each descriptor's life into
//! slots. Then the calls are read once, and every data call and seek is put into its slot by its start. Inside a slot,
//! consecutive calls of one kind by one thread form a run, in their exact order. The runs of several
//! threads are ordered by their first calls. So the order of one thread's calls is exact, and the
//! place of every call between opens, closes and syncs is exact by time. Only the alternation of two
//! threads on one descriptor between two structural calls is coarse.
//!
//! Memory: about 100 bytes per structural call, 104 bytes per run, 150 bytes per pass, and 110 bytes per step with 48
//! bytes for each of its first calls; data calls need no memory of their own. Descriptors and threads need none either:
//! there may be a million of each, with one call. A descriptor that alternates between reads and writes would create a
//! step per call: past [`slots::MOST_RUNS`] in one slot, calls are added to the last steps of their kind. A descriptor
//! that alternates between writes and syncs has a bounded number of steps, too (`dividing_syncs.rs`); further syncs have
//! 24 bytes each. 64 bytes per write of output and per burst of asynchronous requests.

mod bursts;
mod dividing_syncs;
mod mappings;
mod passes;
mod slots;
mod tasks;

use activebench_model::activity::{
    Activity, CallSpan, Exec, FileSeen, MadeLink, NamedCall, OutputWrite, Pass, StepKind, Task,
};
use activebench_model::call::{FileId, FileKind, Op, PlainCall};
use activebench_model::event::{NameEvent, TaskEvent};
use foldhash::{HashMap, HashSet};

use crate::facts::blind_mappings;
use crate::undecoded_io::Undecoded;
use activebench_model::coverage::{BlindPath, Coverage};
use activebench_model::phase::Phase;
use activebench_model::source::{EventSource, Unreadable};
use activebench_model::watch::Watch;
pub(crate) use dividing_syncs::BriefSync;
use dividing_syncs::DividingSyncs;
pub(crate) use tasks::Stub;

/// Returns the file of a call on a descriptor of a tracked kind of file.
fn on_followed_file(call: &PlainCall) -> Option<FileId> {
    match call.kind {
        FileKind::Regular | FileKind::BlockDevice => call.file,
        FileKind::Other => None,
    }
}

fn moves_data_or_position(op: Op) -> bool {
    op.is_data() || op == Op::Lseek
}

/// The aggregated calls of a run, and what the facts need of them besides the activity.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// The activity.
    pub activity: Activity,
    /// Calls that make data durable or cut a file, in the order of their starts, without `brief_syncs`. 80 bytes each.
    pub(crate) syncs: Vec<PlainCall>,
    /// Syncs of whole files of which there are many, in the order of their starts.
    pub(crate) brief_syncs: HashMap<FileId, Vec<BriefSync>>,
    pub(crate) undecoded: Undecoded,
}

impl Folded {
    /// Lets go of the first calls of each step, except those that facts read: of syncs and of mappings. Call it when the
    /// phases are found; a million short passes need 64 MiB less then.
    pub fn let_go_of_first_calls(&mut self) {
        for step in self.activity.passes.iter_mut().flat_map(|pass| &mut pass.steps) {
            if !matches!(step.kind, StepKind::Sync | StepKind::Map) {
                step.head = Box::default();
            }
        }
    }

    /// Counts the calls that lead into I/O which is not decoded, by name of the path. Unused paths are left out. In a watch
    /// mappings of before are such a path, too.
    ///
    /// A mapping counts where it can carry a benchmark's data: on a file that the tree opened for writing or that a
    /// phase names. Neither is true of mapped programs and libraries.
    pub fn blind_paths(&self, phases: &[Phase], coverage: &Coverage, watch: Option<&Watch>) -> Vec<BlindPath> {
        let mut paths = self.undecoded.paths(&self.activity, phases, coverage);
        paths.extend(watch.and_then(|watch| blind_mappings(watch, phases)));
        paths
    }
}

/// Builds the activity from the calls of a run.
///
/// Calls of the tree's first process before it executed the tool are activebench's own stub
/// and are left out.
///
/// # Errors
/// Returns the errors of the source.
pub fn fold_activity(source: &dyn EventSource) -> Result<Folded, Unreadable> {
    let (tasks, mut execs) = tasks::fold(source)?;
    let stub = Stub::new(&tasks, &execs);
    let Structure { calls, unlink_spans, links, global_syncs, dividing } = read_structure(source, &stub)?;
    let Names { opened, unlinks, arguments } = read_names(source, &stub, &unlink_spans)?;
    add_arguments(&mut execs, &arguments);

    let mut slots = slots::Slots::new(slots::Timelines::new(calls, dividing.merged, &execs), &tasks);
    let mut uses = Uses::default();
    for batch in source.plain_calls() {
        for call in batch?.iter().filter(|call| !stub.made(call.tgid, call.start_ns)) {
            uses.feed(call);
            slots.feed(call);
        }
    }
    let (mut passes, mut syncs) = slots.into_timelines().into_passes();
    syncs.retain(|call| call.op.is_file_sync() || matches!(call.op, Op::MsyncAsync | Op::Ftruncate));
    syncs.extend(&global_syncs);
    syncs.shrink_to_fit();
    syncs.sort_by_key(|call| call.start_ns);
    name_passes(source, &mut passes, &opened)?;

    let Uses { files, mut output_writes, bursts, undecoded, .. } = uses;
    output_writes.sort_by_key(|write| write.span.start_ns);
    output_writes.truncate(Activity::MOST_OUTPUT_WRITES);
    let activity = Activity {
        tasks,
        files: with_names(files, opened),
        passes,
        global_syncs: global_syncs.iter().map(CallSpan::from).collect(),
        unlinks,
        links,
        execs,
        output_writes,
        bursts: bursts.close(),
    };
    Ok(Folded { activity, syncs, brief_syncs: dividing.brief, undecoded })
}

/// Returns the tasks of a tree and its executions, with the arguments where all of them are known.
pub fn executions(
    tasks: impl IntoIterator<Item = TaskEvent>,
    names: impl IntoIterator<Item = NameEvent>,
) -> (Vec<Task>, Vec<Exec>) {
    let (tasks, mut execs) = tasks::of_events(tasks.into_iter().collect());
    let mut arguments: HashMap<(u32, u64), Vec<(i64, String)>> = HashMap::default();
    for event in names.into_iter().filter(|event| event.op == Op::Execute) {
        arguments.entry((event.tgid, event.at_ns)).or_default().push((event.returned, event.name));
    }
    add_arguments(&mut execs, &arguments);
    (tasks, execs)
}

/// The structural calls.
#[derive(Default)]
struct Structure {
    /// Calls that begin, end or divide the passes.
    calls: Vec<PlainCall>,
    unlink_spans: HashMap<(u32, u64), CallSpan>,
    links: Vec<MadeLink>,
    /// Calls of `sync(2)` and `syncfs(2)`.
    global_syncs: Vec<PlainCall>,
    dividing: DividingSyncs,
}

fn read_structure(source: &dyn EventSource, stub: &Stub) -> Result<Structure, Unreadable> {
    let mut structure = Structure::default();
    for batch in source.structural_calls() {
        for call in batch?.into_iter().filter(|call| !stub.made(call.tgid, call.start_ns)) {
            if let Some(file) = on_followed_file(&call).filter(|_| DividingSyncs::takes(call.op)) {
                structure.dividing.add(call, file, &mut structure.calls);
                continue;
            }
            structure.dividing.end((call.tgid, call.fd), &mut structure.calls);
            match call.op {
                Op::Open | Op::Dup => {
                    if let Ok(fd) = i32::try_from(call.returned) {
                        structure.dividing.end((call.tgid, fd), &mut structure.calls);
                    }
                }
                _ => {}
            }
            match call.op {
                Op::Sync | Op::Syncfs => structure.global_syncs.push(call),
                Op::Link if call.returned >= 0 => {
                    structure.links.push(MadeLink { span: (&call).into(), tgid: call.tgid });
                }
                Op::Unlink => {
                    structure.unlink_spans.insert((call.tid, call.end_ns), (&call).into());
                }
                // An open or a duplicate of any file takes over the descriptor number of the previous pass.
                Op::Open | Op::Dup | Op::Munmap | Op::Msync | Op::MsyncAsync => structure.calls.push(call),
                _ if on_followed_file(&call).is_some() => structure.calls.push(call),
                _ => {}
            }
        }
    }
    structure.dividing.close(&mut structure.calls);
    structure.calls.shrink_to_fit();
    // A sort of many calls takes half their memory again, and those of one thread are in order.
    if !structure.calls.is_sorted_by_key(|call| (call.start_ns, call.end_ns)) {
        structure.calls.sort_by_key(|call| (call.start_ns, call.end_ns));
    }
    structure.global_syncs.sort_by_key(|call| call.start_ns);
    structure.links.sort_by_key(|link| link.span.start_ns);
    Ok(structure)
}

/// Findings from calls of all kinds, besides the passes.
#[derive(Default)]
struct Uses {
    /// Each file with its kind and first use.
    files: HashMap<FileId, (FileKind, u64)>,
    /// Thread and file of the last call on a file.
    last_file: Option<(u32, FileId)>,
    output_writes: Vec<OutputWrite>,
    bursts: bursts::Bursts,
    undecoded: Undecoded,
}

impl Uses {
    fn feed(&mut self, call: &PlainCall) {
        if let Some(file) = on_followed_file(call) {
            // Consecutive calls are mostly on one file, and in order: only its first use counts.
            if self.last_file != Some((call.tid, file)) {
                self.last_file = Some((call.tid, file));
                let (_, first_ns) = self.files.entry(file).or_insert((call.kind, call.start_ns));
                *first_ns = call.start_ns.min(*first_ns);
            }
        }
        self.bursts.feed(call);
        self.undecoded.feed(call);
        if matches!(call.op, Op::Write | Op::Writev) && call.kind == FileKind::Other && matches!(call.fd, 1 | 2) {
            self.output_writes.push(OutputWrite { span: call.into(), tgid: call.tgid, fd: call.fd, file: call.file });
        }
    }
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
    let mut names = Names { opened: Vec::new(), unlinks: Vec::new(), arguments: HashMap::default() };
    let mut seen: HashSet<(FileId, String)> = HashSet::default();
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
    drop(seen);
    names.opened.shrink_to_fit();
    names.opened.sort_by_key(|(at_ns, ..)| *at_ns);
    names.unlinks.sort_by_key(|unlink| unlink.span.start_ns);
    Ok(names)
}

/// Returns the span of a name whose call record was lost: only its end is known.
fn instant(event: &NameEvent) -> CallSpan {
    CallSpan { start_ns: event.at_ns, end_ns: event.at_ns, tid: event.tid, op: event.op, returned: event.returned }
}

/// Sets the name of each pass on a file with several names: that of its own open.
///
/// Usually this is the newest name: a new file gets the inode of a deleted one. Only opens under an older name are kept.
fn name_passes(
    source: &dyn EventSource,
    passes: &mut [Pass],
    opened: &[(u64, FileId, String)],
) -> Result<(), Unreadable> {
    let mut files: Vec<FileId> = opened.iter().map(|(_, file, _)| *file).collect();
    files.sort_unstable();
    let with_several = files.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| (pair[0], Vec::new()));
    let mut names: HashMap<FileId, Vec<(u64, &str)>> = with_several.collect();
    drop(files);
    if names.is_empty() {
        return Ok(());
    }
    for (at_ns, file, name) in opened {
        if let Some(names) = names.get_mut(file) {
            names.push((*at_ns, name));
        }
    }
    let newest = |file: FileId, at_ns: u64| -> Option<&str> {
        let names = names.get(&file)?;
        let known = names.partition_point(|(first_ns, _)| *first_ns <= at_ns);
        known.checked_sub(1).map(|place| names[place].1)
    };
    let mut older: HashMap<(u32, u64), String> = HashMap::default();
    for batch in source.names() {
        for event in batch?.into_iter().filter(|event| event.op == Op::Open) {
            let newest = event.file.and_then(|file| newest(file, event.at_ns));
            if newest.is_some_and(|newest| newest != event.name) {
                older.insert((event.tid, event.at_ns), event.name);
            }
        }
    }
    for pass in passes {
        let Some(open) = pass.open else { continue };
        let Some(newest) = newest(pass.file, open.end_ns) else { continue };
        pass.name = Some(older.get(&(open.tid, open.end_ns)).map_or(newest, String::as_str).to_owned());
    }
    Ok(())
}

/// Returns the files in the order of their first use, each with its names in the order of theirs.
fn with_names(files: HashMap<FileId, (FileKind, u64)>, mut opened: Vec<(u64, FileId, String)>) -> Vec<FileSeen> {
    // The sort is stable: the names of a file stay in their order.
    opened.sort_by_key(|(_, file, _)| *file);
    let mut names_of = |id: FileId| {
        let first = opened.partition_point(|(_, file, _)| *file < id);
        let after = opened.partition_point(|(_, file, _)| *file <= id);
        opened[first..after].iter_mut().map(|(.., name)| std::mem::take(name)).collect()
    };
    let mut by_first_use: Vec<(u64, FileId, FileKind)> =
        files.into_iter().map(|(id, (kind, first_ns))| (first_ns, id, kind)).collect();
    by_first_use.sort_unstable_by_key(|(first_ns, id, _)| (*first_ns, *id));
    let seen = |(_, id, kind)| FileSeen { id, names: names_of(id), kind };
    by_first_use.into_iter().map(seen).collect()
}
