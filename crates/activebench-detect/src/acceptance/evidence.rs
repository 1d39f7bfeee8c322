//! The contribution of one judged run to an acceptance.

use activebench_model::acceptance::{AcceptedRun, DeviceIdentity, FigureOfRun};
use activebench_model::claim::Metric;
use activebench_model::fact::FactName;
use activebench_model::finding::Finding;
use activebench_model::host::{RAW_DEVICE, Target, Tier};
use activebench_model::report::JudgedRun;
use activebench_model::series::RunOfSeries;
use activebench_model::units::Quantity;

use super::command::{Sizes, Word};
use super::condition_detectors::rests_on;
use super::depth::{self, Depth};
use super::file::Benchmark;
use super::identity::identities;
use crate::compare::{honest_or_why, targets};
use crate::series;

/// The contribution of one judged run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunEvidence {
    /// Its directory, and its identification.
    pub run: AcceptedRun,
    /// Its contribution to its series.
    pub of_series: RunOfSeries,
    /// Its command line.
    pub argv: Vec<String>,
    /// Its working directory.
    pub cwd: String,
    /// `true` if it is a copy in which names and paths were replaced.
    pub is_redacted: bool,
    pub(super) figures: Vec<Stated>,
    pub(super) phases: Vec<PhaseEvidence>,
    pub(super) findings: Vec<Finding>,
    pub(super) file_systems: Vec<String>,
    pub(super) devices: Vec<DeviceIdentity>,
    pub(super) host: String,
    pub(super) memory_bytes: Option<u64>,
    pub(super) device_bytes: Option<u64>,
}

/// Relation between a run and a benchmark's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It ran that command.
    It,
    /// It ran another command.
    Another,
    /// Unknown, with the reason.
    NotKnown(String),
}

/// A figure with its claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated {
    pub(super) phase: String,
    pub(super) metric: Metric,
    pub(super) figure: FigureOfRun,
    /// What is wrong with the queue depth of a rate; `None` if nothing is.
    pub(super) depth: Option<Depth>,
}

/// The I/O of others at the device during a phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PhaseEvidence {
    pub(super) phase: String,
    /// Their share of the device's bytes; `None` if it is unknown, or no byte was moved.
    pub(super) foreign_ratio: Option<f64>,
}

impl RunEvidence {
    /// Returns the evidence of a judged run. `directory` is its directory as the user would name it; `number` counts
    /// the runs of its benchmark from 1.
    pub fn of(number: u32, directory: &str, run_json_sha256: &str, run: &JudgedRun) -> Self {
        let manifest = &run.manifest;
        let stated = run.parsed.claims.iter().zip(&run.judged).map(|(claim, judged)| {
            let honest =
                honest_or_why(claim, judged).or_else(|why| depth::rate_at_unknown_depth(claim, judged).ok_or(why));
            Stated {
                phase: claim.phase.clone(),
                metric: claim.metric,
                depth: depth::of_claim(run, claim),
                figure: FigureOfRun {
                    run: directory.to_owned(),
                    claimed: Some(claim.value),
                    no_honest: honest.as_ref().err().cloned(),
                    honest: honest.ok(),
                    verdict: Some(judged.verdict()),
                    resolution: Some(Quantity { value: claim.resolution, ..claim.value }),
                },
            }
        });
        let phases = run.phases.iter().map(|phase| {
            let fact = |name| phase.facts.complete(name).ok();
            let total = fact(FactName::DeviceTotalBytes).filter(|total| *total > 0.0);
            let foreign_ratio = fact(FactName::ForeignBytes).zip(total).map(|(foreign, total)| foreign / total);
            PhaseEvidence { phase: phase.id.clone(), foreign_ratio }
        });
        let used = targets(run);
        let host = &manifest.host;
        let memory_bytes = host.usable_memory_bytes();
        let links = host.hardware.as_ref().map_or(&[][..], |hardware| &hardware.links);
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
            is_redacted: manifest.redacted.is_some(),
            figures: stated.collect(),
            phases: phases.collect(),
            findings: run.findings.iter().filter(|finding| rests_on(finding)).cloned().collect(),
            file_systems: used.iter().map(|target| file_system(target)).collect(),
            devices: used.iter().flat_map(|target| identities(target, links)).collect(),
            host: format!("Linux {}, {}, {} CPUs, {memory}", host.kernel, host.architecture, host.cpus),
            memory_bytes,
            device_bytes: used.iter().find_map(|target| target.device_bytes()),
        }
    }

    /// Returns `true` if it ran a benchmark's command on this target, its sizes put in with the memory and the device
    /// of the run. `marked`: it was recorded for this benchmark of this very file, which put them in then; only its
    /// other words are compared.
    pub fn ran(&self, benchmark: &Benchmark, target: &str, marked: bool) -> Ran {
        let known = Sizes { target: target.to_owned(), ..Sizes::default() };
        let sizes = Sizes { memory_bytes: self.memory_bytes, device_bytes: self.device_bytes, ..known.clone() };
        let resolved = benchmark.resolved(&sizes);
        let is_the_word =
            |(word, ran): (&Word, &String)| word.resolved(&known).as_ref().map_or(true, |resolved| resolved == ran);
        let may_be =
            self.argv.len() == benchmark.command.len() && benchmark.command.iter().zip(&self.argv).all(is_the_word);
        match resolved {
            Ok(argv) if argv == self.argv => Ran::It,
            _ if marked && (may_be || self.is_redacted) => Ran::It,
            _ if self.is_redacted => {
                Ran::NotKnown("the words of a redacted copy are not those that were run".to_owned())
            }
            Err(why) if may_be => Ran::NotKnown(why),
            _ => Ran::Another,
        }
    }
}

fn file_system(target: &Target) -> String {
    match target.tier {
        Tier::Block if target.fs_type == RAW_DEVICE => format!("the device {} itself", target.mount_point),
        _ => format!("{} on {} ({})", target.fs_type, target.mount_point, target.options),
    }
}
