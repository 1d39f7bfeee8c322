//! Coverage and cost of the observation, the machine, and the provenance of the report.

use activebench_model::report::JudgedRun;
use maud::{Markup, html};

use super::prose::prose;
use crate::escape::terminal as shown;
use crate::wording::{count, shell_command, started};
use crate::{headline, run_context};

/// Maximum rows of a table of probes, files and the like; the rest is counted.
const ROWS: usize = 200;

/// Coverage and cost of the observation.
pub(super) fn coverage(run: &JudgedRun) -> Markup {
    let coverage = &run.manifest.coverage;
    html! {
        p { (prose(&run_context::observation(coverage))) "." }
        @if !coverage.records.is_empty() {
            div.wide tabindex="0" role="region" aria-label="Account of records" {
                table.numbers {
                    thead {
                        tr {
                            th scope="col" { "records" } th scope="col" { "made" } th scope="col" { "received" }
                            th scope="col" { "lost" } th scope="col" { "inferred" } th scope="col" { "estimated starts" }
                        }
                    }
                    tbody {
                        @for (class, account) in coverage.records.iter().take(ROWS) {
                            tr {
                                th scope="row" { (class.name()) }
                                td { (account.made) } td { (account.received) } td { (account.lost) }
                                td { (account.inferred) } td { (account.estimated) }
                            }
                        }
                    }
                }
            }
        }
        @if !coverage.probes.is_empty() {
            details {
                summary { (count(coverage.probes.len(), "probe")) }
                div.wide tabindex="0" role="region" aria-label="Probes" { table {
                    thead { tr { th scope="col" { "hook" } th scope="col" { "attached" } th scope="col" { "events skipped" } } }
                    tbody {
                        @for probe in coverage.probes.iter().take(ROWS) {
                            tr {
                                th scope="row" { (probe.hook.name()) }
                                td {
                                    @if probe.attached { "yes" }
                                    @else { "no: " (shown(probe.why_not.as_deref().unwrap_or("reason not known"))) }
                                }
                                td { (probe.missed) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

/// The machine, the command, versions, the run directory and its hashes.
pub(super) fn provenance(run: &JudgedRun) -> Markup {
    let manifest = &run.manifest;
    let added = &manifest.added_arguments;
    html! {
        dl {
            dt { "Machine" } dd { (prose(&run_context::machine(&manifest.host))) }
            dt { "Command" } dd { code { (shown(&headline::command(run))) } }
            @if !added.is_empty() {
                dt { "Added by activebench" } dd { code { (shown(&shell_command(added))) } }
            }
            dt { "Started in" } dd { code { (shown(&manifest.command.cwd)) } }
            dt { "Started at" } dd { (started(manifest.clocks.started_unix_s)) }
            dt { "Tool" } dd { (shown(&headline::tool(run))) }
            dt { "Recorded by" } dd { "activebench " (shown(&manifest.activebench)) ", run format " (manifest.format) }
            @if let Some(preparation) = &manifest.preparation {
                dt { "Prepared" } dd { (prose(&run_context::prepared(preparation))) }
            }
            dt { "Checked" } dd { (prose(&run_context::checked(run))) }
            @if let Some(changed) = run_context::changed_thresholds(run) {
                dt { "Changed thresholds" } dd { (prose(&changed)) }
            }
            @if !manifest.host.unread.is_empty() {
                dt { "Could not be read" } dd { (prose(&crate::wording::list(&manifest.host.unread, 6))) }
            }
            dt { "Run directory" } dd { code { (shown(&run.directory)) } }
            dt { "Go on with" }
            @for command in run_context::next_commands(run) { dd { code { (shown(&command)) } } }
        }
        @if !manifest.sha256.is_empty() {
            details {
                summary { "SHA-256 of " (count(manifest.sha256.len(), "file")) " of evidence" }
                div.wide tabindex="0" role="region" aria-label="SHA-256 of the evidence" { table {
                    thead { tr { th scope="col" { "file" } th scope="col" { "SHA-256" } } }
                    tbody {
                        @for (file, hash) in manifest.sha256.iter().take(ROWS) {
                            tr { th scope="row" { (shown(file)) } td.hash { code { (shown(hash)) } } }
                        }
                    }
                } }
                @if manifest.sha256.len() > ROWS {
                    p { (count(manifest.sha256.len() - ROWS, "further file")) " in " code { "run.json" } "." }
                }
            }
        }
    }
}
