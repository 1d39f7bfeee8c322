//! What one judged run contributes to an acceptance.

use activebench_model::acceptance::{AcceptedRun, DeviceIdentity, FigureOfRun};
use activebench_model::claim::Metric;
use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::report::JudgedRun;
use activebench_model::series::RunOfSeries;
use activebench_model::units::Quantity;

use super::command::Sizes;
use crate::compare::targets;
use crate::series;

/// Detectors that conditions rest on.
const ASKED: [&str; 5] = ["AB505", "AB601", "AB703", "AB901", "AB902"];

/// What one judged run contributes.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvidence {
    /// Where it is, and what it is known by.
    pub run: AcceptedRun,
    /// What it contributes to its series.
    pub of_series: RunOfSeries,
    /// The words that were run.
    pub argv: Vec<String>,
    /// Its working directory.
    pub cwd: String,
    /// The file's benchmark that it was recorded for; `None` for a run of its own.
    pub recorded_for: Option<String>,
    pub(super) figures: Vec<Stated>,
    pub(super) phases: Vec<PhaseEvidence>,
    pub(super) findings: Vec<Finding>,
    pub(super) file_systems: Vec<String>,
    pub(super) devices: Vec<DeviceIdentity>,
    pub(super) host: String,
    pub(super) memory_bytes: Option<u64>,
    pub(super) device_bytes: Option<u64>,
}

/// A figure with what it is one of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated {
    pub(super) phase: String,
    pub(super) metric: Metric,
    pub(super) figure: FigureOfRun,
}

/// What others did at the device during a phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PhaseEvidence {
    pub(super) phase: String,
    /// Bytes of others and of all; why they are not known.
    pub(super) foreign: Result<(f64, f64), String>,
}

impl RunEvidence {
    /// Of a judged run. `directory` is where it lies, as the user would name it; `number` counts the runs of its
    /// benchmark from 1.
    pub fn of(number: u32, directory: &str, run_json_sha256: &str, run: &JudgedRun) -> Self {
        let manifest = &run.manifest;
        let stated = run.parsed.claims.iter().zip(&run.judged).map(|(claim, judged)| {
            let honest = judged.honest(claim).filter(|honest| honest.value.is_finite());
            let why = || match &judged.no_correction {
                Some(why) => why.clone(),
                None if judged.corrected.is_some() => "the figure that stands for it is of another kind".to_owned(),
                None => "there is no honest figure".to_owned(),
            };
            Stated {
                phase: claim.phase.clone(),
                metric: claim.metric,
                figure: FigureOfRun {
                    run: directory.to_owned(),
                    claimed: Some(claim.value),
                    no_honest: if honest.is_none() { Some(why()) } else { None },
                    honest,
                    verdict: Some(judged.verdict),
                    resolution: Some(claim.resolution),
                },
            }
        });
        let phases = run.phases.iter().map(|phase| {
            let fact = |name| phase.facts.complete(name);
            PhaseEvidence {
                phase: phase.id.clone(),
                foreign: fact(FactName::ForeignBytes)
                    .and_then(|foreign| Ok((foreign, fact(FactName::DeviceTotalBytes)?))),
            }
        });
        let used = targets(run);
        let host = &manifest.host;
        let memory_bytes = [host.memory_bytes, host.memory_limit_bytes].into_iter().flatten().min();
        let memory = memory_bytes.map_or("memory not known".to_owned(), |bytes| Quantity::bytes(bytes).to_string());
        Self {
            run: AcceptedRun {
                directory: directory.to_owned(),
                run_json_sha256: run_json_sha256.to_owned(),
                started_unix_s: manifest.clocks.started_unix_s,
                verdict: run.verdict,
                recorded_for_sha256: manifest.choices.acceptance.as_ref().map(|mark| mark.sha256.clone()),
            },
            of_series: series::contribution(number, directory, run),
            argv: manifest.command.argv.clone(),
            cwd: manifest.command.cwd.clone(),
            recorded_for: manifest.choices.acceptance.as_ref().map(|mark| mark.benchmark.clone()),
            figures: stated.collect(),
            phases: phases.collect(),
            findings: run.findings.iter().filter(|finding| ASKED.contains(&finding.code.as_str())).cloned().collect(),
            file_systems: used.iter().map(|target| file_system(target)).collect(),
            devices: used.iter().flat_map(|target| identities(run, target)).collect(),
            host: format!("Linux {}, {}, {} processors, {memory}", host.kernel, host.architecture, host.cpus),
            memory_bytes,
            device_bytes: used.iter().find_map(|target| target.device()).and_then(|device| device.size_bytes),
        }
    }

    /// What placeholders stood for in this run.
    pub fn sizes(&self, target: &str) -> Sizes {
        Sizes { target: target.to_owned(), memory_bytes: self.memory_bytes, device_bytes: self.device_bytes }
    }
}

fn file_system(target: &Target) -> String {
    match target.tier {
        Tier::Block if target.fs_type == "block-device" => format!("the device {} itself", target.mount_point),
        _ => format!("{} on {} ({})", target.fs_type, target.mount_point, target.options),
    }
}

/// The devices below a target, from the top down; a partition is no device of its own.
fn identities(run: &JudgedRun, target: &Target) -> Vec<DeviceIdentity> {
    let links = run.manifest.host.hardware.as_ref().map(|hardware| hardware.links.as_slice()).unwrap_or_default();
    let whole = target.layers.iter().filter(|layer| layer.kind != "partition");
    let of = |layer: &Layer| {
        let names = links.iter().filter(|link| link.device == layer.device).map(|link| link.name.clone());
        identity(layer, names.collect())
    };
    whole.map(of).collect()
}

/// By what a layer of a stack is known.
pub fn identity(layer: &Layer, links: Vec<String>) -> DeviceIdentity {
    let first = |names: &[&str]| names.iter().find_map(|name| layer.attributes.get(*name)).cloned();
    DeviceIdentity {
        name: layer.name.clone(),
        kind: layer.kind.clone(),
        model: layer.model().map(str::to_owned),
        serial: layer.serial().map(str::to_owned),
        firmware: first(&["device/firmware_rev", "device/rev"]),
        links,
        size_bytes: layer.size_bytes,
    }
}
