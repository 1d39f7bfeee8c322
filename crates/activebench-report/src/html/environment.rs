//! Where and when a run was made, as one strip of labels and values.

use activebench_model::host::{Host, Layer, RAW_DEVICE, Target};
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;
use maud::{Markup, html};

use crate::escape::{clipped, terminal as shown};
use crate::headline;
use crate::wording::{count, started};

/// Longest value, in characters; the sections below have all of it.
const VALUE: usize = 60;

/// Renders the strip of a run.
pub(super) fn of_run(run: &JudgedRun) -> Markup {
    strip(&values(run))
}

/// Renders a strip. A value that is not known says so.
pub(crate) fn strip<L: AsRef<str>>(values: &[(L, Option<String>)]) -> Markup {
    html! {
        dl.strip aria-label="Environment" {
            @for (label, value) in values {
                div {
                    dt { (label.as_ref()) }
                    dd {
                        @match value {
                            Some(value) => (shown(&clipped(value, VALUE))),
                            None => span.neutral { "not known" },
                        }
                    }
                }
            }
        }
    }
}

fn values(run: &JudgedRun) -> Vec<(&'static str, Option<String>)> {
    let manifest = &run.manifest;
    let host = &manifest.host;
    let id = run.directory.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    vec![
        ("Device", of_targets(host, device)),
        ("Model", of_targets(host, |target| target.layers.iter().find_map(Layer::model).map(str::to_owned))),
        ("Serial number", of_targets(host, |target| target.layers.iter().find_map(Layer::serial).map(str::to_owned))),
        ("File system", of_targets(host, file_system)),
        ("Kernel", text(&host.kernel)),
        ("Machine", machine(host)),
        ("Tool", text(&headline::tool(run))),
        ("Date", Some(started(manifest.clocks.started_unix_s))),
        ("Run", text(id)),
        // A signature belongs to a bundle, which this page knows nothing of.
        ("Signature", Some("not part of this page: activebench verify-bundle".to_owned())),
    ]
}

/// The value of the first target, and the number of others.
fn of_targets(host: &Host, value: impl Fn(&Target) -> Option<String>) -> Option<String> {
    let first = value(host.targets.first()?)?;
    let more = host.targets.len() - 1;
    Some(if more == 0 { first } else { format!("{first} and {more} more") })
}

/// The devices from the top down, and their size: `loop0 < vda, 512 MiB`.
fn device(target: &Target) -> Option<String> {
    if target.layers.is_empty() {
        return None;
    }
    let names: Vec<&str> = target.layers.iter().take(4).map(|layer| layer.name.as_str()).collect();
    let size = target.device_bytes().map_or_else(String::new, |bytes| format!(", {}", Quantity::bytes(bytes)));
    Some(format!("{}{size}", names.join(" < ")))
}

fn file_system(target: &Target) -> Option<String> {
    match target.fs_type.as_str() {
        "" => None,
        RAW_DEVICE => Some("none (raw device)".to_owned()),
        fs_type => Some(format!("{fs_type} on {}", target.mount_point)),
    }
}

fn machine(host: &Host) -> Option<String> {
    let cpus = (host.cpus > 0).then(|| count(host.cpus as usize, "CPU"));
    let memory = host.memory_bytes.map(|bytes| Quantity::bytes(bytes).to_string());
    let parts: Vec<String> = cpus.into_iter().chain(memory).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
