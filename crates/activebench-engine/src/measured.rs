//! Claims and phases of a run: those of its one tool, or those of each measurement that its command started.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use activebench_model::activity::{Activity, CallSpan};
use activebench_model::call::FileId;
use activebench_model::claim::{Note, Parsed, Subject, Unmatched};
use activebench_model::event::RecordClass;
use activebench_model::measurement::Measurement;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::phase::Phase;
use activebench_model::run::Manifest;
use activebench_tools::{Adapter, adapter_by_name, phases_of};
use anyhow::Context;

/// What was read of one measurement: a part of the claims and phases of the run.
#[derive(Debug)]
pub struct Measured {
    /// Its place in the manifest.
    pub place: usize,
    /// Its claims, by their identifiers in the run.
    pub parsed: Parsed,
    /// The places of its phases in the run.
    pub phases: Range<usize>,
    /// What is missing of its output, as lower-case fragments.
    pub missing: Vec<String>,
    /// It moved data between pipes and devices without storage: its figures are let go of.
    pub is_about_no_storage: bool,
}

/// What the recorded output and the calls of several measurements say.
pub(crate) struct Several {
    /// All claims and notes.
    pub(crate) parsed: Parsed,
    /// All phases.
    pub(crate) phases: Vec<Phase>,
    /// The parts of these.
    pub(crate) measured: Vec<Measured>,
}

/// Reads the claims and finds the phases of several measurements. `outputs` are what they printed, in their order;
/// `files` the files of all of them.
///
/// # Errors
/// When the record names a tool that this version does not know.
pub(crate) fn of_several(
    measurements: &[Measurement],
    outputs: &[ToolOutput],
    files: &[ToolFile],
    subject: Option<Subject>,
    activity: &Activity,
) -> anyhow::Result<Several> {
    let mut several = Several { parsed: Parsed::default(), phases: Vec::new(), measured: Vec::new() };
    let adapters = measurements.iter().map(|measurement| {
        adapter_by_name(&measurement.tool)
            .with_context(|| format!("the run is one of {}, which this activebench does not know", measurement.tool))
    });
    let adapters: Vec<&'static dyn Adapter> = adapters.collect::<Result<_, _>>()?;
    let activities = activities(activity, measurements);
    let each = measurements.iter().zip(outputs).zip(activities).enumerate();
    for (place, ((measurement, printed), own)) in each {
        let adapter = adapters[place];
        let mut missing: Vec<String> = missing_of(measurement).into_iter().collect();
        let files = files_of(place, measurements, &adapters, files, &mut missing);
        let output = ToolOutput { files, ..printed.clone() };
        let mut parsed = adapter.parse(&measurement.command, &output, subject);
        let mut phases = phases_of(adapter, &measurement.command, &output, &parsed, &own);
        let is_about_no_storage =
            adapter.is_everyday() && !own.tasks.is_empty() && own.passes.iter().all(|pass| pass.fd > 2);
        if is_about_no_storage {
            let_go_of_figures(&mut parsed, &mut phases);
        } else if parsed.claims.is_empty() {
            missing.push(format!(
                "measurement {} ({}) printed no figure that was read",
                measurement.number, measurement.tool
            ));
        }
        number(measurement, &mut parsed, &mut phases);
        let begin = several.phases.len();
        several.phases.extend(phases);
        add(&mut several.parsed, &parsed, place == 0);
        let phases = begin..several.phases.len();
        several.measured.push(Measured { place, parsed, phases, missing, is_about_no_storage });
    }
    Ok(several)
}

/// Lets go of the figures of an everyday program that moved data between pipes and devices without storage, such as the
/// first one of a pipeline: they are about no storage, and those of the last one are judged.
fn let_go_of_figures(parsed: &mut Parsed, phases: &mut Vec<Phase>) {
    let message = "neither its input nor its output is a file or a block device: its figures are not judged";
    if let Some(claim) = parsed.claims.first() {
        parsed.notes.push(Note { source: claim.source.clone(), message: message.to_owned() });
    }
    parsed.claims.clear();
    parsed.restated.clear();
    parsed.contradictions.clear();
    phases.clear();
}

/// Returns the files that a measurement reads or wrote. A file of results that several of them wrote holds those of the
/// last one.
fn files_of(
    place: usize,
    measurements: &[Measurement],
    adapters: &[&'static dyn Adapter],
    files: &[ToolFile],
    missing: &mut Vec<String>,
) -> Vec<ToolFile> {
    let reads = |place: usize, name: &str| adapters[place].reads_file(&measurements[place].command, name);
    let is_input = |name: &String| adapters[place].input_files(&measurements[place].command).contains(name);
    let mut own = Vec::new();
    for file in files.iter().filter(|file| reads(place, &file.name)) {
        let is_overwritten = (place + 1..measurements.len()).any(|later| reads(later, &file.name));
        if is_overwritten && !is_input(&file.name) {
            missing.push(format!("a later measurement wrote to {}, too: its figures are those of the last", file.name));
        } else {
            own.push(file.clone());
        }
    }
    own
}

/// Returns the part of the activity that each measurement made, by its processes and its span.
fn activities(activity: &Activity, measurements: &[Measurement]) -> Vec<Activity> {
    let mut owners: HashMap<u32, Vec<usize>> = HashMap::new();
    for (place, measurement) in measurements.iter().enumerate() {
        measurement.tgids.iter().for_each(|tgid| owners.entry(*tgid).or_default().push(place));
    }
    let processes: HashMap<u32, u32> = activity.tasks.iter().map(|task| (task.tid, task.tgid)).collect();
    let owner = |tgid: u32, at_ns: u64| {
        owners.get(&tgid)?.iter().copied().find(|place| measurements[*place].includes(tgid, at_ns))
    };
    let owner_of_thread = |span: &CallSpan| owner(*processes.get(&span.tid)?, span.start_ns);
    let mut parts: Vec<Activity> = measurements.iter().map(|_| Activity::default()).collect();
    for task in &activity.tasks {
        owners.get(&task.tgid).into_iter().flatten().for_each(|place| parts[*place].tasks.push(task.clone()));
    }
    let mut users: HashMap<FileId, BTreeSet<usize>> = HashMap::new();
    for pass in &activity.passes {
        let at_ns = pass.steps.first().map(|step| step.start_ns).or(pass.open.map(|open| open.start_ns));
        let Some(place) = at_ns.and_then(|at_ns| owner(pass.tgid, at_ns)) else { continue };
        users.entry(pass.file).or_default().insert(place);
        parts[place].passes.push(pass.clone());
    }
    for file in &activity.files {
        users.get(&file.id).into_iter().flatten().for_each(|place| parts[*place].files.push(file.clone()));
    }
    for sync in &activity.global_syncs {
        owner_of_thread(sync).into_iter().for_each(|place| parts[place].global_syncs.push(*sync));
    }
    for unlink in &activity.unlinks {
        owner_of_thread(&unlink.span).into_iter().for_each(|place| parts[place].unlinks.push(unlink.clone()));
    }
    for link in &activity.links {
        owner(link.tgid, link.span.start_ns).into_iter().for_each(|place| parts[place].links.push(*link));
    }
    for exec in &activity.execs {
        owner(exec.tgid, exec.at_ns).into_iter().for_each(|place| parts[place].execs.push(exec.clone()));
    }
    for write in &activity.output_writes {
        owner(write.tgid, write.span.start_ns).into_iter().for_each(|place| parts[place].output_writes.push(*write));
    }
    for burst in &activity.bursts {
        owner(burst.tgid, burst.start_ns).into_iter().for_each(|place| parts[place].bursts.push(*burst));
    }
    parts
}

/// Returns what is known to be missing of the output of measurements: lower-case fragments.
pub(crate) fn missing_output(manifest: &Manifest) -> Vec<String> {
    manifest.measurements.iter().filter_map(missing_of).chain(lost_output(manifest)).collect()
}

/// Returns what was lost of the output of processes, whoever wrote it, as a lower-case fragment.
pub(crate) fn lost_output(manifest: &Manifest) -> Option<String> {
    let lost = manifest.coverage.records.get(&RecordClass::Output).map_or(0, |account| account.lost);
    (lost > 0).then(|| format!("{lost} pieces of what processes printed were lost"))
}

fn missing_of(measurement: &Measurement) -> Option<String> {
    let Measurement { missing_output_bytes: bytes, number, tool, .. } = measurement;
    (*bytes > 0).then(|| format!("at least {bytes} bytes of what measurement {number} ({tool}) printed were not kept"))
}

/// Makes the identifiers of a measurement unique in the run, and its names and places too.
fn number(measurement: &Measurement, parsed: &mut Parsed, phases: &mut [Phase]) {
    let prefix = measurement.prefix();
    let add = |id: &mut String| id.insert_str(0, &prefix);
    for phase in phases {
        add(&mut phase.id);
        phase.name = format!("{} ({})", phase.name, measurement.number);
        if let Some(other) = phase.mix.as_mut().and_then(|mix| mix.other_phase.as_mut()) {
            add(other);
        }
    }
    for claim in &mut parsed.claims {
        add(&mut claim.id);
        add(&mut claim.phase);
    }
    parsed.restated.iter_mut().for_each(|restated| add(&mut restated.claim));
    parsed.contradictions.iter_mut().flat_map(|contradiction| &mut contradiction.claims).for_each(add);
    let claims = parsed.claims.iter_mut().map(|claim| &mut claim.source);
    let notes = parsed.notes.iter_mut().chain(&mut parsed.errors).map(|note| &mut note.source);
    let again = parsed.restated.iter_mut().map(|restated| &mut restated.source);
    let against = parsed.contradictions.iter_mut().map(|contradiction| &mut contradiction.source);
    let unread = parsed.unmatched.numbers.iter_mut().map(|number| &mut number.source);
    for source in claims.chain(notes).chain(again).chain(against).chain(unread) {
        source.stream = format!("{} of measurement {}", source.stream, measurement.number);
    }
}

/// Adds what was read of a measurement to what was read of those before it.
fn add(all: &mut Parsed, own: &Parsed, is_first: bool) {
    if is_first {
        *all = Parsed {
            claims: Vec::new(),
            notes: Vec::new(),
            errors: Vec::new(),
            restated: Vec::new(),
            contradictions: Vec::new(),
            unmatched: Unmatched::default(),
            script_figures: Vec::new(),
            ..own.clone()
        };
    } else {
        if all.tool != own.tool && !all.tool.split(" and ").any(|tool| tool == own.tool) {
            all.tool = format!("{} and {}", all.tool, own.tool);
        }
        if all.version != own.version {
            all.version = None;
        }
        if all.clock_step_ns != own.clock_step_ns {
            all.clock_step_ns = None;
        }
        all.complete &= own.complete;
    }
    all.claims.extend(own.claims.iter().cloned());
    all.notes.extend(own.notes.iter().cloned());
    all.errors.extend(own.errors.iter().cloned());
    all.restated.extend(own.restated.iter().cloned());
    all.contradictions.extend(own.contradictions.iter().cloned());
    all.unmatched.numbers.extend(own.unmatched.numbers.iter().cloned());
    all.unmatched.left_out += own.unmatched.left_out;
}
