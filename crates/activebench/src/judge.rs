//! Turns a stored run into a judged run, by the same path for `verify`, `recheck`, `report` and `show`.

use std::collections::BTreeMap;
use std::path::Path;

use activebench_detect::judge::verdicts;
use activebench_detect::run::Run;
use activebench_detect::{manual, registry};
use activebench_model::activity::{Activity, Exec};
use activebench_model::call::Call;
use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_model::course::Course;
use activebench_model::event::{
    BlockEvent, CacheEvent, CpuEvent, NameEvent, PayloadEvent, SampleEvent, StealEvent, TaskEvent,
};
use activebench_model::fact::Facts;
use activebench_model::log::Totals;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Phase;
use activebench_model::profile::{Profiles, Stacks};
use activebench_model::report::{DetectorPage, JudgedRun};
use activebench_model::run::Manifest;
use activebench_model::source::{Batches, EventSource, Unreadable};
use activebench_record::{Mismatch, RecordError, RunReader};
use anyhow::Context;

use crate::{memory, thresholds};

/// Everything that is derived before the judgement.
#[derive(Debug)]
pub(crate) struct Derived {
    pub(crate) activity: Activity,
    pub(crate) parsed: Parsed,
    pub(crate) phases: Vec<Phase>,
    pub(crate) run_facts: Facts,
    pub(crate) profiles: Profiles,
    pub(crate) courses: Vec<Course>,
}

/// A stored run as facts and exports read it.
pub(crate) struct Stored<'a>(pub(crate) &'a RunReader);

fn batches<'a, T: 'a>(parts: impl Iterator<Item = Result<Vec<T>, RecordError>> + 'a) -> Batches<'a, T> {
    Box::new(parts.map(|part| part.map_err(Unreadable::new)))
}

impl EventSource for Stored<'_> {
    fn calls(&self) -> Batches<'_, Call> {
        batches(self.0.calls())
    }
    fn names(&self) -> Batches<'_, NameEvent> {
        batches(self.0.names())
    }
    fn tasks(&self) -> Batches<'_, TaskEvent> {
        batches(self.0.tasks())
    }
    fn block(&self) -> Batches<'_, BlockEvent> {
        batches(self.0.block())
    }
    fn cache(&self) -> Batches<'_, CacheEvent> {
        batches(self.0.cache())
    }
    fn cpu(&self) -> Batches<'_, CpuEvent> {
        batches(self.0.cpu())
    }
    fn samples(&self) -> Batches<'_, SampleEvent> {
        batches(self.0.samples())
    }
    fn steal(&self) -> Batches<'_, StealEvent> {
        batches(self.0.steal())
    }
    fn payload(&self) -> Batches<'_, PayloadEvent> {
        batches(self.0.payload())
    }
    fn stacks(&self) -> Result<Stacks, Unreadable> {
        self.0.stacks().map_err(Unreadable::new)
    }
    fn totals(&self) -> Result<Totals, Unreadable> {
        self.0.totals().map_err(Unreadable::new)
    }
}

/// Derives claims, phases and facts of a stored run; adds the blind paths to the manifest.
pub(crate) fn derive(reader: &RunReader, manifest: &mut Manifest) -> anyhow::Result<Derived> {
    memory::reuse();
    let source = Stored(reader);
    let activity = activebench_facts::fold_activity(&source).context("cannot fold the recorded calls")?;
    let output = reader.output().context("cannot read the tool's recorded output")?;
    let tool = tool_of_run(manifest, &activity, &output);
    let (parsed, phases) = match &tool {
        Some((adapter, command)) => {
            let parsed = adapter.parse(command, &output, manifest.choices.subject);
            let phases = activebench_tools::phases_of(*adapter, command, &output, &parsed, &activity);
            (parsed, phases)
        }
        None => (Parsed::default(), activebench_facts::evidence_phases(&activity)),
    };
    // An older record, and a tool known only from its output, have none yet.
    if manifest.tool_command.is_none() {
        manifest.tool_command = tool.map(|(_, command)| without_added(command, &manifest.added_arguments));
    }
    manifest.coverage.blind_paths =
        activebench_facts::blind_paths(&source, &activity, &phases, &manifest.coverage.probes)
            .context("cannot count the blind paths of the recorded calls")?;
    let (mut phases, mut run_facts) = activebench_facts::resolve_phases(&source, manifest, &activity, phases)
        .context("cannot compute facts from the recorded events")?;
    let profiles = activebench_facts::profile_phases(&source, manifest, &activity, &mut phases, &mut run_facts)
        .context("cannot compute processor times from the recorded events")?;
    let courses = activebench_facts::courses(&source, manifest, &activity, &phases)
        .context("cannot follow the phases over time in the recorded events")?;
    Ok(Derived { activity, parsed, phases, run_facts, profiles, courses })
}

/// Returns the tool that measured, and its own command line.
fn tool_of_run(
    manifest: &Manifest,
    activity: &Activity,
    output: &ToolOutput,
) -> Option<(&'static dyn activebench_tools::Adapter, CommandLine)> {
    let known = tool_command(&manifest.command, &activity.execs, &manifest.coverage.linked_programs);
    known.or_else(|| tool_by_output(&manifest.command, activity, output))
}

/// Returns a command line without the arguments that activebench added after the user's.
pub(crate) fn without_added(mut command: CommandLine, added: &[String]) -> CommandLine {
    if command.argv.ends_with(added) {
        command.argv.truncate(command.argv.len() - added.len());
    }
    command
}

/// Returns the adapter for the tool that the tree executed, and the tool's own command line. Behind a wrapper (`nice
/// iozone ...`) these are the arguments that it was executed with.
pub(crate) fn tool_command(
    command: &CommandLine,
    execs: &[Exec],
    links: &BTreeMap<String, String>,
) -> Option<(&'static dyn activebench_tools::Adapter, CommandLine)> {
    if let Some(adapter) = activebench_tools::adapter_for_program(command.program()) {
        return Some((adapter, command.clone()));
    }
    let executed = executed_tools(command, execs, links);
    // A tool that was only asked for its version measured nothing.
    let measuring = executed.iter().position(|(adapter, command)| measures(*adapter, command));
    executed.into_iter().nth(measuring.unwrap_or(0))
}

/// Finds a tool that runs under another name: its output identifies the tool, its arguments show which execution
/// measured.
fn tool_by_output(
    command: &CommandLine,
    activity: &Activity,
    output: &ToolOutput,
) -> Option<(&'static dyn activebench_tools::Adapter, CommandLine)> {
    let adapter = activebench_tools::adapter_for_output(output)?;
    let of_exec = |exec: &Exec| CommandLine { argv: exec.arguments.clone(), cwd: command.cwd.clone() };
    let executed = activity.execs.iter().filter(|exec| !exec.arguments.is_empty()).map(of_exec);
    let mut measuring = executed.filter(|command| measures(adapter, command));
    // Several candidates cannot be distinguished.
    let found = measuring.next()?;
    measuring.next().is_none().then_some((adapter, found))
}

/// True if a command makes its tool measure something, or reads its work from files.
fn measures(adapter: &dyn activebench_tools::Adapter, command: &CommandLine) -> bool {
    !adapter.input_files(command).is_empty() || !adapter.plan(command, &[]).phases.is_empty()
}

/// Returns every tool that the tree executed, in order, each with its own command line. `links` maps executed files of
/// other names to the files that they link to.
pub(crate) fn executed_tools(
    command: &CommandLine,
    execs: &[Exec],
    links: &BTreeMap<String, String>,
) -> Vec<(&'static dyn activebench_tools::Adapter, CommandLine)> {
    let of_tool = |exec: &Exec| {
        let file_name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let named = |path: &String| activebench_tools::adapter_for_program(&file_name(path));
        let adapter = named(&exec.filename).or_else(|| links.get(&exec.filename).and_then(named))?;
        let argv = match exec.arguments.is_empty() {
            true => behind_wrapper(&command.argv, adapter),
            false => exec.arguments.clone(),
        };
        Some((adapter, CommandLine { argv, cwd: command.cwd.clone() }))
    };
    execs.iter().filter_map(of_tool).collect()
}

/// Returns a note if a command ran several measurements: the output of one is read.
fn several_measurements(manifest: &Manifest, activity: &Activity) -> Option<String> {
    let measuring: Vec<&str> = executed_tools(&manifest.command, &activity.execs, &manifest.coverage.linked_programs)
        .iter()
        .filter(|(adapter, command)| measures(*adapter, command))
        .map(|(adapter, _)| adapter.name())
        .collect();
    (measuring.len() > 1).then(|| {
        format!(
            "the command ran {} measurements ({}), and the figures of one are judged: verify each on its own",
            measuring.len(),
            measuring.join(", ")
        )
    })
}

/// Returns the adapter that a command line names, and the tool's own words in it: all that is known before anything is
/// executed.
pub(crate) fn tool_of_words(command: &CommandLine) -> Option<(&'static dyn activebench_tools::Adapter, CommandLine)> {
    if let Some(adapter) = activebench_tools::adapter_for_program(command.program()) {
        return Some((adapter, command.clone()));
    }
    activebench_tools::ADAPTERS.iter().find_map(|adapter| {
        let argv = behind_wrapper(&command.argv, *adapter);
        (!argv.is_empty()).then(|| (*adapter, CommandLine { argv, cwd: command.cwd.clone() }))
    })
}

/// Returns every tool that a command line names, each with its own words: a shell's script may start several.
pub(crate) fn tools_of_words(command: &CommandLine) -> Vec<(&'static dyn activebench_tools::Adapter, CommandLine)> {
    let adapter = |word: &str| activebench_tools::adapter_for_program(word.rsplit('/').next().unwrap_or(word));
    let of_argv = |argv: Vec<String>| {
        let adapter = adapter(argv.first()?)?;
        Some((adapter, CommandLine { argv, cwd: command.cwd.clone() }))
    };
    if adapter(command.program()).is_some() {
        return of_argv(command.argv.clone()).into_iter().collect();
    }
    let own = command.argv.iter().position(|word| adapter(word).is_some());
    let mut tools: Vec<_> = own.and_then(|begin| of_argv(command.argv[begin..].to_vec())).into_iter().collect();
    for script in command.argv.iter().filter(|word| word.contains(char::is_whitespace)) {
        let script = script.replace("\\\n", " ");
        for part in script.split([';', '|', '&', '>', '<', '\n', '(', ')', '`']) {
            let words = part.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            tools.extend(of_argv(words.skip_while(|word| adapter(word).is_none()).map(str::to_owned).collect()));
        }
    }
    tools
}

/// Returns the tool's own words in a wrapper's command line: from its name on, also inside one word that a shell will
/// split. Empty if it is not named; its output may still identify it.
fn behind_wrapper(argv: &[String], adapter: &dyn activebench_tools::Adapter) -> Vec<String> {
    let is_tool = |word: &str| adapter.is_program(word.rsplit('/').next().unwrap_or(word));
    if let Some(begin) = argv.iter().position(|word| is_tool(word)) {
        return argv[begin..].to_vec();
    }
    let script = argv.iter().find(|word| word.split_whitespace().any(is_tool));
    script.map_or_else(Vec::new, |script| {
        // A shell's separators end the tool's words, even inside a word.
        let separated = script.replace([';', '|', '&', '>', '<'], " ; ");
        let words = separated.split_whitespace().skip_while(|word| !is_tool(word));
        words.take_while(|word| *word != ";").map(str::to_owned).collect()
    })
}

/// Judges a run whose manifest may differ from the stored one in its choices.
pub(crate) fn judge(directory: &Path, reader: &RunReader, mut manifest: Manifest) -> anyhow::Result<JudgedRun> {
    let thresholds = thresholds::of(&manifest.choices)?;
    for Mismatch { name, found, .. } in reader.verify_hashes() {
        manifest.incomplete.push(match found {
            Ok(_) => format!("{name} is not what was recorded: its SHA-256 differs"),
            Err(why) => format!("{name} cannot be read: {why}"),
        });
    }
    let Derived { activity, parsed, phases, run_facts, profiles, courses } = derive(reader, &mut manifest)?;
    manifest.incomplete.extend(several_measurements(&manifest, &activity));
    let judgement = verdicts::judge(&Run {
        manifest: &manifest,
        parsed: &parsed,
        phases: &phases,
        facts: &run_facts,
        profiles: &profiles,
        thresholds: &thresholds,
        advisor: activebench_tools::advisor_of(&parsed.tool),
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
        courses,
        questions: judgement.questions,
        manifest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_of_a_script_is_found() {
        for (argv, expected) in [
            (&["fio", "--name=a b"][..], &["fio --name=a b"][..]),
            (&["nice", "fio", "--name=a"], &["fio --name=a"]),
            (
                &["sh", "-c", "fio --rw=read; cd /dev && (fio --rw=write \\\n --filename=sdb > log)\niozone -e"],
                &["fio --rw=read", "fio --rw=write --filename=sdb", "iozone -e"],
            ),
            (&["bash", "-c", "echo \"$(/usr/bin/fio --name='a')\""], &["/usr/bin/fio --name='a"]),
            (&["./run-all.sh", "x y"], &[]),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let found = tools_of_words(&CommandLine { argv, cwd: String::new() });
            let found: Vec<String> = found.iter().map(|(_, own)| own.argv.join(" ")).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_tool_is_found_behind_its_wrapper() {
        let iozone = activebench_tools::adapter_by_name("iozone").expect("the iozone adapter");
        for (argv, expected) in [
            (&["nice", "-n", "5", "iozone", "-i0"][..], &["iozone", "-i0"][..]),
            (&["sh", "-c", "cd /mnt && iozone -i0 -s64m; echo"], &["iozone", "-i0", "-s64m"]),
            (&["sh", "-c", "/usr/bin/iozone -e > log"], &["/usr/bin/iozone", "-e"]),
            (&["./run-all.sh"], &[]),
        ] {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(behind_wrapper(&argv, iozone), expected, "{argv:?}");
        }
    }
}
