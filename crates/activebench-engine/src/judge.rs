//! Turns a stored run into a judged run, by the same path for `verify`, `recheck`, `report` and `show`.

use std::path::Path;

use activebench_detect::judge::verdicts;
use activebench_detect::run::{Run, RunIndex};
use activebench_detect::{manual, registry};
use activebench_model::activity::Activity;
use activebench_model::claim::Parsed;
use activebench_model::fact::Facts;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Phase;
use activebench_model::report::{DetectorPage, JudgedRun};
use activebench_model::run::{ExecutedTools, Manifest};
use activebench_model::source::EventSource;
use activebench_model::thread_stacks::Profiles;
use activebench_model::timeline::Timeline;
use activebench_record::{MANIFEST, Mismatch, RunReader, SEAL, without_panic};
use activebench_report::escape::terminal;
use activebench_tools::execution::{self, Executed, Invocation};
use anyhow::{Context, anyhow};

use crate::{allocator, thresholds};

/// Everything that is derived before the judgement.
#[derive(Debug)]
pub struct Derived {
    /// The calls, folded to passes.
    pub activity: Activity,
    /// Claims of the tool.
    pub parsed: Parsed,
    /// Passes of the tool with their facts.
    pub phases: Vec<Phase>,
    /// Facts of the whole run.
    pub run_facts: Facts,
    /// Time of the threads.
    pub profiles: Profiles,
    /// Time series of the phases.
    pub timelines: Vec<Timeline>,
}

/// `true` if the time series of the phases are computed: only outputs that draw or list them need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timelines {
    /// They are computed.
    Computed,
    /// There are none.
    LeftOut,
}

/// What remains of the first calls of each step when the phases are found. A judgement needs none of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstCalls {
    Kept,
    LetGo,
}

/// Derives claims, phases and facts of a stored run; adds the blind paths to the manifest.
///
/// # Errors
/// When the record cannot be read, or holds numbers that cannot be computed with.
pub fn derive(reader: &RunReader, manifest: &mut Manifest, timelines: Timelines) -> anyhow::Result<Derived> {
    let output = reader.output().context("cannot read the tool's recorded output")?;
    computed(|| derive_unguarded(reader, &output, manifest, timelines, FirstCalls::Kept))
}

/// Calls a computation on a record that may come from anybody. Arithmetic is checked, in a release too: a number that
/// overflows is an error of the record, and no other number takes its place.
fn computed<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    without_panic(work).unwrap_or_else(|panic| {
        Err(anyhow!(
            "the run cannot be judged: its record holds numbers that no observation gives, or this is a bug of \
             activebench ({})",
            terminal(&panic)
        ))
    })
}

fn derive_unguarded(
    source: &dyn EventSource,
    output: &ToolOutput,
    manifest: &mut Manifest,
    timelines: Timelines,
    first_calls: FirstCalls,
) -> anyhow::Result<Derived> {
    allocator::reuse();
    let mut folded = activebench_facts::fold_activity(source).context("cannot fold the recorded calls")?;
    let activity = &folded.activity;
    let tool = tool_of_run(manifest, activity, output)?;
    let (parsed, phases) = match &tool {
        Some((adapter, command)) => {
            let parsed = adapter.parse(command, output, manifest.choices.subject);
            let phases = activebench_tools::phases_of(*adapter, command, output, &parsed, activity);
            (parsed, phases)
        }
        None => (Parsed::default(), activebench_facts::evidence_phases(activity)),
    };
    manifest.coverage.blind_paths = folded.blind_paths(&phases, &manifest.coverage);
    if first_calls == FirstCalls::LetGo {
        folded.let_go_of_first_calls();
    }
    let activity = &folded.activity;
    let index = activebench_facts::Index::new(activity, &phases);
    let (mut phases, mut run_facts) = activebench_facts::resolve_phases(source, manifest, &folded, &index, phases)
        .context("cannot compute facts from the recorded events")?;
    let profiles = activebench_facts::profile_phases(source, manifest, activity, &index, &mut phases, &mut run_facts)
        .context("cannot compute CPU times from the recorded events")?;
    // No fact is added from here on.
    phases.iter_mut().for_each(|phase| phase.facts.pack());
    let timelines = match timelines {
        Timelines::Computed => activebench_facts::timelines(source, manifest, &folded, &index, &phases)
            .context("cannot follow the phases over time in the recorded events")?,
        Timelines::LeftOut => Vec::new(),
    };
    Ok(Derived { activity: folded.activity, parsed, phases, run_facts, profiles, timelines })
}

/// Returns the tool that measured, and its own command line: as the record states them. In a record that does not, it
/// finds them as a recording does.
///
/// # Errors
/// When the record names a tool that this version does not know.
fn tool_of_run(
    manifest: &mut Manifest,
    activity: &Activity,
    output: &ToolOutput,
) -> anyhow::Result<Option<Invocation>> {
    let stored = match &manifest.executed_tools {
        Some(stored) => stored,
        None => {
            let links = &manifest.coverage.linked_programs;
            let executed = execution::executed(&manifest.command, &activity.execs, links, output);
            store(manifest, executed);
            manifest.executed_tools.as_ref().context("the tools of the run were just found")?
        }
    };
    let Some(name) = &stored.tool else { return Ok(None) };
    let adapter = activebench_tools::adapter_by_name(name).with_context(|| {
        format!("the run is one of {name}, which this activebench does not know (hint: use the one that recorded it)")
    })?;
    let command = manifest.tool_command.clone().unwrap_or_else(|| manifest.command.clone());
    Ok(Some((adapter, command)))
}

/// Writes into a manifest which tools its command executed.
pub fn store(manifest: &mut Manifest, executed: Executed) {
    let (name, own) = executed.tool.map(|(adapter, own)| (adapter.name().to_owned(), own)).unzip();
    let measuring = executed.measuring.into_iter().map(str::to_owned).collect();
    manifest.executed_tools = Some(ExecutedTools { tool: name, measuring });
    // An older record has the command line alone.
    manifest.tool_command = manifest.tool_command.take().or(own);
}

/// Returns a note if a command ran several measurements: the output of one is read.
fn several_measurements(manifest: &Manifest) -> Option<String> {
    let measuring = &manifest.executed_tools.as_ref()?.measuring;
    (measuring.len() > 1).then(|| {
        format!(
            "the command ran {} measurements ({}), and the figures of one are judged: verify each on its own",
            measuring.len(),
            measuring.join(", ")
        )
    })
}

/// Tells that a manifest has no seal.
pub(crate) fn say_unsealed(directory: &Path, manifest: &str, seal: &str) {
    say!(
        "{manifest} of {} has no seal ({seal}): an earlier activebench recorded it, or the seal was removed. \
         Nothing shows that {manifest} is the one that was recorded",
        terminal(&directory.display().to_string())
    );
}

/// Judges a run whose manifest may differ from the stored one in its choices.
///
/// # Errors
/// As [`derive`], and when the thresholds cannot be used.
pub fn judge(
    directory: &Path,
    reader: &RunReader,
    manifest: Manifest,
    timelines: Timelines,
) -> anyhow::Result<JudgedRun> {
    computed(|| judge_unguarded(directory, reader, manifest, timelines))
}

fn judge_unguarded(
    directory: &Path,
    reader: &RunReader,
    mut manifest: Manifest,
    timelines: Timelines,
) -> anyhow::Result<JudgedRun> {
    if !reader.is_sealed() {
        say_unsealed(reader.directory(), MANIFEST, SEAL);
    }
    // What is not as recorded is left out, and its rows count as lost.
    let checked = reader.checked();
    for Mismatch { name, found, .. } in &checked.mismatches {
        manifest.incomplete.push(match found {
            Ok(_) => format!("{name} is not what was recorded: its SHA-256 differs"),
            Err(why) => format!("{name} cannot be read: {why}"),
        });
    }
    manifest.incomplete.extend(checked.settle(&mut manifest.coverage));
    let reader = &checked.reader;
    let output = reader.output().context("cannot read the tool's recorded output")?;
    judge_events(directory, reader, &output, manifest, timelines)
}

/// Judges events from any source: the part of a judgement that reads no file.
///
/// # Errors
/// As [`judge`].
pub fn judge_events(
    directory: &Path,
    source: &dyn EventSource,
    output: &ToolOutput,
    mut manifest: Manifest,
    timelines: Timelines,
) -> anyhow::Result<JudgedRun> {
    let thresholds = thresholds::of(&manifest.choices)?;
    let derived = derive_unguarded(source, output, &mut manifest, timelines, FirstCalls::LetGo)?;
    let Derived { activity, parsed, phases, run_facts, profiles, timelines } = derived;
    // The facts hold what a judgement needs of it.
    drop(activity);
    manifest.incomplete.extend(several_measurements(&manifest));
    let judgement = verdicts::judge(&Run {
        manifest: &manifest,
        parsed: &parsed,
        phases: &phases,
        facts: &run_facts,
        profiles: &profiles,
        thresholds: &thresholds,
        advisor: activebench_tools::advisor_of(&parsed.tool),
        index: &RunIndex::default(),
    });
    let detectors = registry::DETECTORS.iter().map(|detector| manual::introduction(detector));
    let has_spoken = |page: &DetectorPage| judgement.findings.iter().any(|finding| finding.code == page.code);
    let detectors = detectors.filter(has_spoken).collect();
    Ok(JudgedRun {
        detectors,
        directory: directory.display().to_string(),
        parsed,
        phases,
        run_facts,
        profiles,
        findings: judgement.findings,
        judged: judgement.judged,
        verdict: judgement.verdict,
        exit_code: judgement.exit_code,
        changed_thresholds: thresholds.changed(),
        limiters: judgement.limiters,
        shares: judgement.shares,
        timelines,
        questions: judgement.questions,
        manifest,
    })
}
