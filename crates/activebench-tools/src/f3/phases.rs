//! Finds the chunks that f3write and f3read count in the observed calls.
//!
//! Both move chunks of 512 bytes, 1 KiB, 2 KiB and so on, until a chunk takes a second. The last chunk of the last file
//! is seldom whole, and its bytes are not counted. f3write syncs each chunk and drops it from the page cache. A chunk
//! takes whole milliseconds: the rest of one is left out.
//!
//! Where the whole chunks took more than a second together, their time is the clock. Otherwise it is the time from
//! before the first open to after the last close, including that of the chunk that is not counted. Source: `measure` in
//! libflow.c, `fill_fs` in f3write.c and `iterate_files` in f3read.c of f3 8.0.

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::claim::Parsed;
use activebench_model::phase::{
    Direction, Mechanism, OwnLimit, Part, PartEnd, Pattern, Phase, Promise, Submission, Window,
};

use super::F3;
use super::options::Options;
use crate::adapter::Plan;
use crate::syncs::last_component;

const MS: u64 = 1_000_000;
/// Time of the whole chunks up to which the clock is that of the whole loop.
const ENOUGH_MS: u64 = 1000;
/// Bytes of the first chunk, a sector.
const SECTOR: u64 = 512;

/// Returns the id of the phase of a tool.
pub(super) fn id(tool: F3) -> &'static str {
    match tool {
        F3::Write => "write",
        F3::Read => "read",
    }
}

/// Returns the plan of a command.
pub(super) fn plan(tool: F3, options: &Options) -> Plan {
    let notes = match (&options.folder, tool) {
        (None, _) => vec!["the command names no folder".to_owned()],
        (Some(_), F3::Write) => vec!["how much it writes depends on the free space of the file system".to_owned()],
        (Some(_), F3::Read) => vec!["how much it reads depends on the files of f3write in its folder".to_owned()],
    };
    Plan { phases: vec![phase(tool, options)], notes }
}

fn phase(tool: F3, options: &Options) -> Phase {
    let direction = match tool {
        F3::Write => Direction::Write,
        F3::Read => Direction::Read,
    };
    let promise = Promise { option: "f3write".to_owned(), mechanism: Mechanism::SyncInsideClock };
    let limit = |option: &String| OwnLimit { option: option.clone(), computes: false, untimed: false };
    Phase {
        pattern: Pattern::Sequential,
        clock: "the whole chunks; the whole loop where these took a second or less".to_owned(),
        submission: Submission::Synchronous,
        promises: if tool == F3::Write { vec![promise] } else { Vec::new() },
        own_limits: options.limit.iter().map(limit).collect(),
        // It drops the files from the page cache first.
        cold_by_design: tool == F3::Read,
        ..Phase::planned(id(tool), id(tool), direction)
    }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(tool: F3, options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let mut phase = phase(tool, options);
    if parsed.claims.is_empty() {
        return Vec::new();
    }
    let passes = passes(tool, activity);
    let found = match tool {
        _ if activity.passes.is_empty() => Err("no calls were observed".to_owned()),
        _ if passes.is_empty() => Err("no file of f3 was observed".to_owned()),
        F3::Write => written(&passes, options.limit.is_some()),
        F3::Read => read(&passes),
    };
    match found {
        Ok((parts, excluded_ns)) => {
            phase.window = window(&parts);
            phase.parts = parts;
            phase.excluded_ns = excluded_ns;
        }
        Err(why) => phase.incomplete = Some(why),
    }
    vec![phase]
}

/// Returns the passes over `1.h2w` and so on that moved data, in the order of their opens.
fn passes(tool: F3, activity: &Activity) -> Vec<&Pass> {
    let is_own_name = |name: &str| {
        let number = last_component(name).strip_suffix(".h2w");
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let moves_data = |pass: &Pass| pass.steps.iter().any(|step| step.kind == data_of(tool));
    let mut passes = activity.passes_named(is_own_name);
    passes.retain(|pass| pass.open.is_some() && moves_data(pass));
    passes.sort_by_key(|pass| opened(pass).start_ns);
    passes
}

fn data_of(tool: F3) -> StepKind {
    match tool {
        F3::Write => StepKind::Write,
        F3::Read => StepKind::Read,
    }
}

/// Returns the open of a pass; `passes` selects those that have one.
fn opened(pass: &Pass) -> CallSpan {
    pass.open.expect("the pass was selected by its open")
}

fn window(parts: &[Part]) -> Option<Window> {
    let start_ns = parts.iter().map(|part| part.start_ns).min()?;
    let end_ns = parts.iter().map(ended_ns).max()?;
    Some(Window { start_ns, end_ns })
}

fn ended_ns(part: &Part) -> u64 {
    match part.end {
        PartEnd::At(end_ns) => end_ns,
        PartEnd::AfterBytes(_) => part.last_data_ns,
    }
}

fn closed_ns(pass: &Pass) -> u64 {
    let steps = pass.steps.iter().map(|step| step.last_end_ns).max().unwrap_or(0);
    pass.close.map_or(steps, |close| close.end_ns)
}

/// The end of a chunk: its sync, and the end of what follows until the next write.
#[derive(Clone, Copy, Debug)]
struct ChunkEnd {
    sync: CallSpan,
    end_ns: u64,
    /// End of the chunk's last write.
    data_ns: u64,
    /// Entry of the next write; `None` behind the last one.
    next_ns: Option<u64>,
}

/// Returns the chunks of a file that a sync ends.
fn chunks(pass: &Pass) -> Vec<ChunkEnd> {
    let mut chunks: Vec<ChunkEnd> = Vec::new();
    let mut data_ns = None;
    for step in &pass.steps {
        match step.kind {
            StepKind::Write => {
                if let Some(last) = chunks.last_mut() {
                    last.next_ns.get_or_insert(step.start_ns);
                }
                data_ns = Some(step.end_ns);
            }
            StepKind::Sync => {
                let sync = step.head.iter().map(|call| call.span).rfind(|span| span.returned >= 0);
                if let (Some(sync), Some(data_ns)) = (sync, data_ns.take()) {
                    chunks.push(ChunkEnd { sync, end_ns: step.end_ns, data_ns, next_ns: None });
                }
            }
            // It drops the chunk from the page cache.
            StepKind::Other => {
                if let Some(last) = chunks.last_mut().filter(|_| data_ns.is_none()) {
                    last.end_ns = last.end_ns.max(step.last_end_ns);
                }
            }
            _ => {}
        }
    }
    chunks
}

/// Returns the parts of f3write, and the time between them that its clock leaves out.
fn written(passes: &[&Pass], is_limited: bool) -> Result<(Vec<Part>, u64), String> {
    if passes.iter().all(|pass| pass.steps.iter().all(|step| step.kind != StepKind::Sync)) {
        return Ok((never_synced(passes)?, 0));
    }
    let mut files: Vec<(&Pass, Vec<ChunkEnd>)> = passes.iter().map(|pass| (*pass, chunks(pass))).collect();
    if let Some((_, last)) = files.last_mut() {
        // Behind the last whole chunk is either a write that found no space, or the sync of a chunk that is not whole.
        let cut_off = last.last().is_some_and(|chunk| chunk.next_ns.is_some());
        if !cut_off {
            last.pop();
        }
    }
    let mut counted_ms = 0;
    let mut carried_ns = 0;
    let mut count = 0;
    for (place, (pass, chunks)) in files.iter().enumerate() {
        let is_last_file = place + 1 == files.len();
        let mut start_ns = opened(pass).end_ns;
        for (number, chunk) in chunks.iter().enumerate() {
            // The wait of a limited rate is a part of the chunk.
            let end_ns = if is_limited { chunk.next_ns.unwrap_or(chunk.end_ns) } else { chunk.end_ns };
            let took_ns = end_ns.saturating_sub(start_ns) + std::mem::take(&mut carried_ns);
            if !is_last_file && number + 1 == chunks.len() {
                // The chunk continues in the next file.
                carried_ns = took_ns;
            } else {
                counted_ms += took_ns / MS;
                count += 1;
            }
            start_ns = end_ns;
        }
    }
    let first = files.first().map(|(pass, _)| opened(pass)).ok_or("no file of f3 was observed")?;
    let has_enough = counted_ms > ENOUGH_MS;
    // Each chunk is timed with an error of up to a step of this clock.
    if counted_ms.abs_diff(ENOUGH_MS) <= count {
        return Err(
            "the whole chunks took about a second: which of its two clocks f3write used is not known".to_owned()
        );
    }
    let mut parts = Vec::new();
    for (pass, chunks) in &files {
        let Some(last) = chunks.last() else { continue };
        let open = opened(pass);
        let start_ns = if has_enough { open.end_ns } else { open.start_ns };
        let end_ns = if is_limited { last.next_ns.unwrap_or(last.end_ns) } else { last.end_ns };
        parts.push(part(pass, start_ns, end_ns, last.data_ns, Some(last.sync)));
    }
    if parts.is_empty() {
        return Err("no whole chunk of f3write was observed".to_owned());
    }
    if has_enough {
        let whole = window(&parts).map_or(0, |window| window.duration_ns());
        return Ok((parts, whole.saturating_sub(counted_ms * MS)));
    }
    let (last, _) = files.last().ok_or("no file of f3 was observed")?;
    let end_ns = closed_ns(last);
    stretched(&mut parts, first.start_ns, end_ns);
    Ok((parts, 0))
}

/// Returns the parts of f3write where none of its syncs reached the kernel: all that it wrote, over the whole loop. Where
/// a chunk ends does not show.
fn never_synced(passes: &[&Pass]) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = passes.iter().filter_map(|pass| whole(F3::Write, pass)).collect();
    let (Some(first), Some(last)) = (passes.first(), passes.last()) else {
        return Err("no file of f3 was observed".to_owned());
    };
    if parts.is_empty() {
        return Err("no write of f3write was observed".to_owned());
    }
    stretched(&mut parts, opened(first).start_ns, closed_ns(last));
    Ok(parts)
}

/// Returns all that was moved of a file, from its open to its last data; `None` where nothing was.
fn whole(tool: F3, pass: &Pass) -> Option<Part> {
    let data_ns = data_steps(tool, pass).map(|step| step.end_ns).max()?;
    Some(part(pass, opened(pass).start_ns, data_ns, data_ns, None))
}

/// Returns the parts of f3read. Only the whole chunks of a short read are known from its calls: each is twice as long as
/// the one before it.
fn read(passes: &[&Pass]) -> Result<(Vec<Part>, u64), String> {
    let first = passes.first().map(|pass| opened(pass)).ok_or("no file of f3 was observed")?;
    let end_ns = passes.iter().map(|pass| closed_ns(pass)).max().unwrap_or(first.end_ns);
    if end_ns.saturating_sub(first.start_ns) > ENOUGH_MS * MS {
        let why = "f3read does not count the last chunk of a longer read, and its calls do not show where that begins";
        return Err(why.to_owned());
    }
    let bytes = |pass: &Pass| data_steps(F3::Read, pass).map(|step| step.bytes).sum::<u64>();
    let sectors = passes.iter().map(|pass| bytes(pass)).sum::<u64>() / SECTOR;
    // 1 + 2 + 4 + ... sectors.
    let mut counted = ((sectors + 1).checked_ilog2().map_or(0, |steps| (1_u64 << steps) - 1)) * SECTOR;
    let mut parts = Vec::new();
    for pass in passes {
        let of_file = bytes(pass).min(counted);
        counted -= of_file;
        let Some(mut part) = whole(F3::Read, pass).filter(|_| of_file > 0) else { continue };
        if of_file < bytes(pass) {
            part.end = PartEnd::AfterBytes(of_file);
        }
        parts.push(part);
    }
    if parts.is_empty() {
        return Err("no whole chunk of f3read was observed".to_owned());
    }
    stretched(&mut parts, first.start_ns, end_ns);
    Ok((parts, 0))
}

fn data_steps(tool: F3, pass: &Pass) -> impl Iterator<Item = &Step> {
    pass.steps.iter().filter(move |step| step.kind == data_of(tool) && step.bytes > 0)
}

fn part(pass: &Pass, start_ns: u64, end_ns: u64, last_data_ns: u64, sync: Option<CallSpan>) -> Part {
    Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns,
        end: PartEnd::At(end_ns),
        last_data_ns,
        sync_inside: sync.map(Box::new),
        sync_after: None,
        close_ns: pass.close.map(|close| close.end_ns),
    }
}

/// The descriptor of no call.
const NO_DESCRIPTOR: i32 = -1;

/// Adds the time of the clock in which nothing is counted: a part without calls from the start to the end.
fn stretched(parts: &mut Vec<Part>, start_ns: u64, end_ns: u64) {
    let Some(last) = parts.last().cloned() else { return };
    parts.push(Part { fd: NO_DESCRIPTOR, start_ns, end: PartEnd::At(end_ns), ..last });
}
