//! Coverage and cost of the observation, the machine, and the provenance of the report.

use activebench_model::report::JudgedRun;
use maud::{Markup, html};
use time::OffsetDateTime;
use time::macros::format_description;

use crate::escape::terminal as shown;
use crate::wording::{count, shell_command};
use crate::{headline, run_context};

/// Maximum rows of a table of probes, files and the like; the rest is counted.
const ROWS: usize = 200;

/// Coverage and cost of the observation.
pub(super) fn coverage(run: &JudgedRun) -> Markup {
    let coverage = &run.manifest.coverage;
    html! {
        p { (shown(&run_context::observation(coverage))) "." }
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
                table {
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
                }
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
            dt { "Machine" } dd { (shown(&run_context::machine(&manifest.host))) }
            dt { "Command" } dd { code { (shown(&headline::command(run))) } }
            @if !added.is_empty() {
                dt { "Added by activebench" } dd { code { (shown(&shell_command(added))) } }
            }
            dt { "Started in" } dd { code { (shown(&manifest.command.cwd)) } }
            dt { "Started at" } dd { (started(manifest.clocks.started_unix_s)) }
            dt { "Tool" } dd { (shown(&headline::tool(run))) }
            dt { "Recorded by" } dd { "activebench " (shown(&manifest.activebench)) ", run format " (manifest.format) }
            @if let Some(preparation) = &manifest.preparation {
                dt { "Prepared" } dd { (shown(&run_context::prepared(preparation))) }
            }
            dt { "Checked" } dd { (shown(&run_context::checked(run))) }
            @if let Some(changed) = run_context::changed_thresholds(run) {
                dt { "Changed thresholds" } dd { (shown(&changed)) }
            }
            @if !manifest.host.unread.is_empty() {
                dt { "Could not be read" } dd { (shown(&crate::wording::list(&manifest.host.unread, 6))) }
            }
            dt { "Run directory" } dd { code { (shown(&run.directory)) } }
            dt { "Go on with" }
            @for command in run_context::next_commands(run) { dd { code { (shown(&command)) } } }
        }
        @if !manifest.sha256.is_empty() {
            details {
                summary { "SHA-256 of " (count(manifest.sha256.len(), "file")) " of evidence" }
                table {
                    thead { tr { th scope="col" { "file" } th scope="col" { "SHA-256" } } }
                    tbody {
                        @for (file, hash) in manifest.sha256.iter().take(ROWS) {
                            tr { th scope="row" { (shown(file)) } td.hash { code { (shown(hash)) } } }
                        }
                    }
                }
                @if manifest.sha256.len() > ROWS {
                    p { (count(manifest.sha256.len() - ROWS, "further file")) " in " code { "run.json" } "." }
                }
            }
        }
    }
}

/// Start time: `2026-11-21 05:25:30 UTC`.
fn started(unix_s: i64) -> Markup {
    let stamp = OffsetDateTime::from_unix_timestamp(unix_s).ok();
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");
    match stamp.and_then(|at| at.format(format).ok()) {
        Some(stamp) => html! { (stamp) },
        None => html! { (unix_s) " s after 1970" },
    }
}
