//! Converts the observed calls to phases.

use std::collections::HashSet;

use activebench_model::activity::Activity;
use activebench_model::claim::Parsed;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{PartEnd, Phase, Window};

use super::catalogue::Kind;
use super::options::Options;
use super::plan::Planned;
use super::{data, names, output, plan, progress};

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, output: &ToolOutput, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let (rows, table) = (output::rows(output), output::table(output));
    let planned = plan::passes(options, &rows, &table);
    let framed = progress::framed(&output.stderr, activity);
    let groups = data::groups(options, activity);
    let of_data: Vec<&Planned> = planned.iter().filter(|pass| pass.kind.is_data()).collect();
    let of_files: Vec<&Planned> = planned.iter().filter(|pass| !pass.kind.is_data()).collect();
    let mut data = data::find(&of_data, &groups, &framed, parsed.complete, activity).into_iter();
    let mut names = names::find(&of_files, &groups, &framed, activity).into_iter();
    let mut phases = Vec::new();
    for planned in &planned {
        let mut phase = plan::phase(planned, options, parsed.version.as_deref());
        let found = if planned.kind.is_data() {
            data.next().map(|found| {
                found.map(|found| {
                    phase.incomplete = found.doubt;
                    phase.window = union(found.parts.iter().filter_map(|part| match part.end {
                        PartEnd::At(end_ns) => Some((part.start_ns, end_ns)),
                        PartEnd::AfterBytes(_) => None,
                    }));
                    phase.parts = found.parts;
                    // The seekers share one list of seeks: one that comes when the others have done them has none.
                    if planned.kind == Kind::Seeks {
                        let active: HashSet<u32> = phase.parts.iter().map(|part| part.tgid).collect();
                        let active = u32::try_from(active.len()).unwrap_or(u32::MAX);
                        if active > 0 && active.saturating_add(found.idle) >= phase.requested_tasks {
                            phase.requested_tasks = phase.requested_tasks.min(active);
                        }
                    }
                })
            })
        } else {
            names.next().map(|found| {
                found.map(|span| {
                    phase.window = union(std::iter::once((span.start_ns, span.end_ns)));
                    if let Some(names) = &mut phase.names {
                        names.spans = vec![span];
                    }
                })
            })
        };
        match found {
            Some(Ok(())) => {}
            // A phase that was neither printed nor seen did not run: the run was cut short before it.
            Some(Err(_)) | None if !parsed.claims.iter().any(|claim| claim.phase == phase.id) => continue,
            Some(Err(why)) => phase.incomplete = Some(why),
            None => phase.incomplete = Some("the pass was not looked for".to_owned()),
        }
        phases.push(phase);
    }
    phases
}

fn union(spans: impl Iterator<Item = (u64, u64)>) -> Option<Window> {
    spans.map(|(start_ns, end_ns)| Window { start_ns, end_ns: end_ns.max(start_ns) }).reduce(|one, other| Window {
        start_ns: one.start_ns.min(other.start_ns),
        end_ns: one.end_ns.max(other.end_ns),
    })
}
