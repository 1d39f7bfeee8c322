//! Claims and phases of a program that no adapter knows: numbers of its output that agree with its I/O.

use std::collections::HashSet;

use activebench_facts::{ObservedPasses, evidence_phases};
use activebench_model::activity::Activity;
use activebench_model::claim::Parsed;
use activebench_model::output::ToolOutput;
use activebench_model::phase::Phase;
use activebench_model::run::Manifest;
use activebench_tools::matched_numbers::{About, Known, PrintTimes, matched};
use activebench_tools::stated_claims::StatedClaim;
use anyhow::{Context, anyhow};

/// Reads the claims of such a program, and creates their phases. What no claim is about is shown file by file.
///
/// # Errors
/// When the record has a `--claim` that cannot be read.
pub(crate) fn read(
    activity: &Activity,
    output: &ToolOutput,
    manifest: &Manifest,
) -> anyhow::Result<(Parsed, Vec<Phase>)> {
    let stated = stated_claims(&manifest.choices.claims).context("the record has a `--claim` that cannot be read")?;
    let observed = ObservedPasses::new(activity);
    let print_times = PrintTimes::new(&activity.output_writes, output);
    let (program, subject) = (manifest.command.program(), manifest.choices.subject);
    let known = Known { program, subject, print_times: &print_times };
    let found = matched(output, &stated, observed.passes(), known);
    let phase = |about: &About| observed.phase(about.pass, about.window, about.calls, about.each_task);
    let mut phases: Vec<Phase> = found.phases.iter().map(phase).collect();
    drop(observed);
    let claimed: HashSet<_> =
        phases.iter().flat_map(|phase| phase.parts.iter().map(|part| (part.file, phase.direction))).collect();
    let mut ids: HashSet<String> = phases.iter().map(|phase| phase.id.clone()).collect();
    let others = evidence_phases(activity)
        .into_iter()
        .filter(|phase| !phase.parts.iter().any(|part| claimed.contains(&(part.file, phase.direction))));
    for mut phase in others {
        while !ids.insert(phase.id.clone()) {
            phase.id.push_str("-file");
        }
        phases.push(phase);
    }
    Ok((found.parsed, phases))
}

/// Reads what the user says that numbers mean.
///
/// # Errors
/// A message for the user.
pub fn stated_claims(texts: &[String]) -> anyhow::Result<Vec<StatedClaim>> {
    texts.iter().map(|text| StatedClaim::parse(text).map_err(|why| anyhow!("--claim: {why}"))).collect()
}
