//! Turns a stored run into a judged run, by the same path for `verify`, `recheck`, `report` and `show`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use activebench_detect::advice::corrected_command::{advised, advised_for};
use activebench_detect::judge::verdicts::{self, Judgement};
use activebench_detect::run::{PartOfRun, Run, RunIndex};
use activebench_detect::{manual, registry};
use activebench_model::activity::Activity;
use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_model::fact::Facts;
use activebench_model::measurement::Measurement;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Phase;
use activebench_model::report::{DetectorPage, JudgedMeasurement, JudgedRun};
use activebench_model::run::{ExecutedTools, Manifest};
use activebench_model::source::EventSource;
use activebench_model::thread_stacks::Profiles;
use activebench_model::timeline::Timeline;
use activebench_record::{MANIFEST, Mismatch, RunReader, SEAL, without_panic};
use activebench_report::escape::terminal;
use activebench_tools::Adapter;
use activebench_tools::execution::{self, Executed, Invocation};
use activebench_tools::matched_numbers::PrintTimes;
use activebench_tools::script_figures::ScriptNumbers;
use activebench_tools::{adapter_for_program, script_figures};
use anyhow::{Context, anyhow};

use crate::measured::{self, Measured};
use crate::{allocator, any_program, most_judged, plan, thresholds};

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
    /// The parts of the claims and phases that belong to one of several measurements each; empty for one tool.
    pub measured: Vec<Measured>,
}

/// What a run printed: the command as a whole, and each of its measurements.
#[derive(Clone, Copy, Debug)]
pub struct Outputs<'a> {
    /// Of the command, with the files that its tools read or wrote.
    pub of_command: &'a ToolOutput,
    /// Of the measurements, in the order of the manifest.
    pub of_measurements: &'a [ToolOutput],
}

/// `true` if the time series of the phases are computed: only outputs that draw or list them need them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timelines {
    /// They are computed.
    Computed,
    /// There are none.
    LeftOut,
}

/// What remains of the passes when the phases are found. A judgement needs none of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passes {
    Kept,
    LetGo,
}

/// Derives claims, phases and facts of a stored run; adds the blind paths to the manifest.
///
/// # Errors
/// When the record cannot be read, or holds numbers that cannot be computed with.
pub fn derive(reader: &RunReader, manifest: &mut Manifest, timelines: Timelines) -> anyhow::Result<Derived> {
    let (of_command, of_measurements) = outputs(reader, manifest)?;
    let outputs = Outputs { of_command: &of_command, of_measurements: &of_measurements };
    computed(|| derive_unguarded(reader, outputs, manifest, timelines, Passes::Kept))
}

/// Reads what the command and its measurements printed.
fn outputs(reader: &RunReader, manifest: &Manifest) -> anyhow::Result<(ToolOutput, Vec<ToolOutput>)> {
    let failed = "cannot read the tool's recorded output";
    let of_command = reader.output().context(failed)?;
    let numbers = manifest.measurements.iter().map(|measurement| measurement.number);
    let of_measurements = numbers.map(|number| reader.measured_output(number)).collect::<Result<_, _>>();
    Ok((of_command, of_measurements.context(failed)?))
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
    outputs: Outputs<'_>,
    manifest: &mut Manifest,
    timelines: Timelines,
    passes: Passes,
) -> anyhow::Result<Derived> {
    allocator::reuse();
    let mut folded = activebench_facts::fold_activity(source).context("cannot fold the recorded calls")?;
    let activity = &folded.activity;
    let tool = tool_of_run(manifest, activity, outputs.of_command)?;
    let (mut parsed, mut phases, mut measured) = if manifest.measurements.len() > 1
        && !manifest.choices.without_adapters
    {
        let (files, subject) = (&outputs.of_command.files, manifest.choices.subject);
        let several = measured::of_several(&manifest.measurements, outputs.of_measurements, files, subject, activity)?;
        manifest.incomplete.extend(measured::lost_output(manifest));
        (several.parsed, several.phases, several.measured)
    } else if let Some((adapter, command)) = &tool {
        let (parsed, output) = parsed_of_one(*adapter, command, outputs, manifest);
        // The command printed none of the figures itself.
        if matches!(output, Cow::Owned(_)) {
            manifest.incomplete.extend(measured::missing_output(manifest));
        }
        let phases = activebench_tools::phases_of(*adapter, command, &output, &parsed, activity);
        (parsed, phases, Vec::new())
    } else {
        let (parsed, phases) = any_program::read(activity, outputs.of_command, manifest)?;
        (parsed, phases, Vec::new())
    };
    manifest.incomplete.extend(most_judged::let_go_of_more(&mut parsed, &mut phases, &mut measured));
    phases.iter_mut().for_each(|phase| phase.parts.shrink_to_fit());
    let of_script = script_numbers(manifest, outputs, &parsed, &phases, activity);
    parsed.script_figures = of_script.figures;
    parsed.notes.extend(of_script.notes);
    manifest.coverage.blind_paths = folded.blind_paths(&phases, &manifest.coverage, manifest.watch.as_ref());
    if passes == Passes::LetGo {
        folded.let_go_of_first_calls();
    }
    let mut found = std::mem::take(&mut folded.activity.passes);
    let index = activebench_facts::Index::new(&folded, &found, &phases);
    let for_facts = match passes {
        Passes::Kept => Cow::Borrowed(&found[..]),
        Passes::LetGo => Cow::Owned(std::mem::take(&mut found)),
    };
    let (mut phases, mut run_facts) = activebench_facts::resolve_phases(source, manifest, &index, for_facts, phases)
        .context("cannot compute facts from the recorded events")?;
    let profiles = activebench_facts::profile_phases(source, manifest, &index, &mut phases, &mut run_facts)
        .context("cannot compute CPU times from the recorded events")?;
    // No fact is added from here on.
    phases.iter_mut().for_each(|phase| phase.facts.pack());
    let timelines = match timelines {
        Timelines::Computed => activebench_facts::timelines(source, manifest, &index, &phases)
            .context("cannot follow the phases over time in the recorded events")?,
        Timelines::LeftOut => Vec::new(),
    };
    let activity = Activity { passes: found, ..folded.activity };
    Ok(Derived { activity, parsed, phases, run_facts, profiles, timelines, measured })
}

/// Traces the numbers that a script printed itself; none for a command that is the tool.
fn script_numbers(
    manifest: &Manifest,
    outputs: Outputs<'_>,
    parsed: &Parsed,
    phases: &[Phase],
    activity: &Activity,
) -> ScriptNumbers {
    if manifest.measurements.is_empty() || manifest.choices.without_adapters {
        return ScriptNumbers::default();
    }
    let print_times = PrintTimes::new(&activity.output_writes, outputs.of_command);
    let measured = script_figures::Measured {
        measurements: &manifest.measurements,
        outputs: outputs.of_measurements,
        claims: &parsed.claims,
        phases,
        print_times: &print_times,
    };
    script_figures::script_numbers(outputs.of_command, measured)
}

/// Reads the claims of the only tool, and returns the output that has them: that of the command or, where a script kept
/// it to itself, that of the tool.
fn parsed_of_one<'a>(
    adapter: &dyn Adapter,
    command: &CommandLine,
    outputs: Outputs<'a>,
    manifest: &Manifest,
) -> (Parsed, Cow<'a, ToolOutput>) {
    let parse = |output: &ToolOutput| adapter.parse(command, output, manifest.choices.subject);
    let parsed = parse(outputs.of_command);
    // Of an everyday program the script may show reports of executions that measured nothing. A script of its name prints
    // what is taken for its report.
    let is_named = adapter_for_program(manifest.command.program()).is_some_and(|named| named.name() == adapter.name());
    if (parsed.claims.is_empty() || adapter.is_everyday() && !is_named)
        && let [own] = outputs.of_measurements
    {
        let own = ToolOutput { files: outputs.of_command.files.clone(), ..own.clone() };
        let caught = parse(&own);
        if !caught.claims.is_empty() {
            return (caught, Cow::Owned(own));
        }
    }
    (parsed, Cow::Borrowed(outputs.of_command))
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
    if manifest.choices.without_adapters {
        return Ok(None);
    }
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

/// Judges a run of several measurements: each by its own command line, tool and phases.
fn judge_several(run: &Run<'_>, measured: &[Measured]) -> Judgement {
    let indices: Vec<RunIndex> = measured.iter().map(|_| RunIndex::default()).collect();
    let runs: Vec<Run<'_>> = measured
        .iter()
        .zip(&indices)
        .map(|(one, index)| Run {
            parsed: &one.parsed,
            phases: &run.phases[one.phases.clone()],
            advisor: activebench_tools::advisor_of(&one.parsed.tool),
            index,
            part: Some(PartOfRun {
                measurement: &run.manifest.measurements[one.place],
                missing: &one.missing,
                is_about_no_storage: one.is_about_no_storage,
            }),
            ..*run
        })
        .collect();
    verdicts::judge_measurements(run, &runs)
}

/// Returns a note if a command ran several measurements: the output of one is read.
fn several_measurements(manifest: &Manifest) -> Option<String> {
    let measuring = &manifest.executed_tools.as_ref()?.measuring;
    (measuring.len() > 1 && manifest.measurements.is_empty()).then(|| {
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
    let (of_command, of_measurements) = outputs(reader, &manifest)?;
    let outputs = Outputs { of_command: &of_command, of_measurements: &of_measurements };
    judge_events(directory, reader, outputs, manifest, timelines)
}

/// Judges events from any source: the part of a judgement that reads no file.
///
/// # Errors
/// As [`judge`].
pub fn judge_events(
    directory: &Path,
    source: &dyn EventSource,
    outputs: Outputs<'_>,
    mut manifest: Manifest,
    timelines: Timelines,
) -> anyhow::Result<JudgedRun> {
    let thresholds = thresholds::of(&manifest.choices)?;
    let derived = derive_unguarded(source, outputs, &mut manifest, timelines, Passes::LetGo)?;
    let Derived { activity, parsed, phases, run_facts, profiles, timelines, measured } = derived;
    // The facts hold what a judgement needs of it.
    drop(activity);
    manifest.incomplete.extend(several_measurements(&manifest));
    let index = RunIndex::default();
    let run = Run {
        manifest: &manifest,
        parsed: &parsed,
        phases: &phases,
        facts: &run_facts,
        profiles: &profiles,
        thresholds: &thresholds,
        advisor: activebench_tools::advisor_of(&parsed.tool),
        index: &index,
        part: None,
    };
    let judgement = match measured.is_empty() {
        true => verdicts::judge(&run),
        false => judge_several(&run, &measured),
    };
    let detectors = registry::DETECTORS.iter().map(|detector| manual::introduction(detector));
    let spoken: HashSet<&str> = judgement.findings.iter().map(|finding| finding.code.as_str()).collect();
    let detectors = detectors.filter(|page: &DetectorPage| spoken.contains(page.code.as_str())).collect();
    let advisor = activebench_tools::advisor_of(&parsed.tool);
    let mut judged = JudgedRun {
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
        target: judgement.target,
        // It follows from the judged run.
        advised: Err(String::new()),
        measurements: Vec::new(),
        together: judgement.together,
        questions: judgement.questions,
        manifest,
    };
    let files = &outputs.of_command.files;
    judged.advised = advised(&judged, advisor, files, &|own| plan::planned(&judged.parsed.tool, own, files, &judged));
    let each = judged.manifest.measurements.iter().zip(judgement.measurements);
    let each = each.map(|(measurement, (verdict, because))| {
        let Measurement { number, tool, .. } = measurement;
        let plan = |own: &[String]| plan::planned(tool, own, files, &judged);
        let advised = advised_for(&judged, measurement, activebench_tools::advisor_of(tool), files, &plan);
        JudgedMeasurement { number: *number, verdict, because, advised }
    });
    judged.measurements = each.collect();
    Ok(judged)
}
