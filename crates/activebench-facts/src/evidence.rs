//! Phases for a tool that no adapter knows: the data moved per file.

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::call::FileId;
use activebench_model::phase::{Direction, Part, PartEnd, Phase};
use foldhash::{HashMap, HashSet};

/// A file that was only read, less than this in all, is taken for the tool's own
/// libraries and configuration.
pub(crate) const LEAST_READ_BYTES: u64 = 1 << 20;

/// Largest number of files that get phases: those that moved the most data. A benchmark of file creation
/// has thousands of files, and nobody reads a phase for each.
const MOST_FILES: usize = 100;

/// Creates one phase for each file and direction in which data moved, in the order of first calls;
/// of many files, only the hundred that moved the most.
///
/// Its clock is first call to last call of that direction in each pass, which the tool may not
/// have timed. So these phases only show facts; no claim is judged by them: see [`crate::ObservedPasses`].
pub fn evidence_phases(activity: &Activity) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut index_of: HashMap<(FileId, Direction), usize> = HashMap::default();
    let mut ids: HashMap<String, u32> = HashMap::default();
    let shown = files_shown(activity);
    let names: HashMap<FileId, &str> = activity
        .files
        .iter()
        .filter(|file| shown.contains(&file.id))
        .filter_map(|file| Some((file.id, file.names.first()?.as_str())))
        .collect();
    let global_syncs = successful(activity);
    for pass in activity.passes.iter().filter(|pass| shown.contains(&pass.file)) {
        for (kind, direction) in [(StepKind::Read, Direction::Read), (StepKind::Write, Direction::Write)] {
            let Some(part) = part_of(&global_syncs, pass, kind) else { continue };
            let index = *index_of.entry((pass.file, direction)).or_insert_with(|| {
                let name = names.get(&pass.file).copied().unwrap_or("unnamed");
                phases.push(phase_of(name, direction, &mut ids));
                phases.len() - 1
            });
            phases[index].parts.push(part);
        }
    }
    phases.sort_by_key(|phase| phase.parts.iter().map(|part| part.start_ns).min());
    phases
}

/// Returns the files that moved enough data to be shown, at most [`MOST_FILES`].
fn files_shown(activity: &Activity) -> HashSet<FileId> {
    let mut moved: HashMap<FileId, (u64, u64)> = HashMap::default();
    for pass in &activity.passes {
        let (read, written) = moved.entry(pass.file).or_default();
        for step in &pass.steps {
            match step.kind {
                StepKind::Read => *read += step.bytes,
                StepKind::Write => *written += step.bytes,
                _ => {}
            }
        }
    }
    let worth = moved.into_iter().filter(|(_, (read, written))| *written > 0 || *read >= LEAST_READ_BYTES);
    let mut by_bytes: Vec<(u64, FileId)> = worth.map(|(file, (read, written))| (read + written, file)).collect();
    by_bytes.sort_unstable_by_key(|(bytes, file)| (std::cmp::Reverse(*bytes), *file));
    by_bytes.into_iter().take(MOST_FILES).map(|(_, file)| file).collect()
}

fn part_of(global_syncs: &[CallSpan], pass: &Pass, kind: StepKind) -> Option<Part> {
    let steps: Vec<&Step> = pass.steps.iter().filter(|step| step.kind == kind).collect();
    let start_ns = steps.first()?.start_ns;
    let end_ns = steps.iter().map(|step| step.end_ns).max()?;
    Some(Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns,
        end: PartEnd::At(end_ns),
        last_data_ns: end_ns,
        sync_inside: None,
        sync_after: sync_after(global_syncs, pass, end_ns).map(Box::new),
        close_ns: pass.close.map(|close| close.end_ns),
    })
}

/// Returns the first sync of the pass's descriptor, or of all file systems, after a time. `global_syncs` are those that
/// succeeded, in order.
fn sync_after(global_syncs: &[CallSpan], pass: &Pass, end_ns: u64) -> Option<CallSpan> {
    let own = pass.steps.iter().filter(|step| step.kind == StepKind::Sync);
    let own = own.flat_map(|step| &step.head).map(|brief| brief.span);
    let own = own.filter(|span| span.start_ns >= end_ns && span.returned == 0);
    let global = global_syncs.get(global_syncs.partition_point(|span| span.start_ns < end_ns));
    own.chain(global.copied()).min_by_key(|span| span.start_ns)
}

/// Returns the syncs of all files that succeeded.
pub(crate) fn successful(activity: &Activity) -> Vec<CallSpan> {
    activity.global_syncs.iter().filter(|span| span.returned == 0).copied().collect()
}

/// Returns the part of an identifier that names a file. The tool chose the name: only plain characters become part of
/// it.
pub(crate) fn identifier(name: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    base.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect()
}

pub(crate) fn phase_of(name: &str, direction: Direction, ids: &mut HashMap<String, u32>) -> Phase {
    let word = if direction == Direction::Write { "write" } else { "read" };
    let stem = format!("{word}-{}", identifier(name));
    let uses = ids.entry(stem.clone()).or_default();
    *uses += 1;
    let id = if *uses == 1 { stem } else { format!("{stem}-{uses}") };
    Phase {
        clock: format!("none known; shown from the first {word} to the last"),
        ..Phase::planned(id, format!("{word} of {name}"), direction)
    }
}
