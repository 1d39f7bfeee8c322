//! # What it finds
//! Reads from a network file system that the client's own cache served.
//!
//! # Why it matters
//! The figure describes this machine's memory. Neither the network nor the server took part.
//!
//! # How it decides
//! It computes `network_received_bytes` / `read_bytes`. Below 0.95 it warns. Below 0.8 it fails, and rates claimed
//! for storage are misleading.
//!
//! For NFS, the client counts what its server sent (`/proc/self/mountstats`). For others, the network interfaces
//! count (`/proc/net/dev`). Both are read ten times per second. Bytes that arrived between the readings around the
//! window count as received inside it.
//!
//! It is undecided where nothing counts the bytes (virtiofs, RDMA). It is not applicable where data is compressed or
//! deduplicated in transit.
//!
//! # When it is wrong
//! Interfaces also count what others received, so it can be silent when it should not be. The holes of a file need
//! not be sent (READ_PLUS of NFS 4.2): less is received than read, although nothing was cached.
//!
//! # What to do
//! Read with O_DIRECT, remount before the pass, or drop the page cache; read several times the client's memory.
//!
//! # References
//! mlcommons/storage #464 (no traffic on the network at all); ior #139 (500 kIOPS with an idle array).

use activebench_model::advice::Improvement;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::Quantity;

use crate::advice::wording::advise;
use crate::cases::run::{Case, Firing, Halt, Weight, of_each_seen_phase};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge};
use crate::evidence::payload::packs;
use crate::run::Run;

const FACTS: &[FactName] = &[FactName::NetworkReceived, FactName::ReadBytes];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB208",
    name: "network-client-cache",
    title: "Reads came from the network client's cache",
    explained_by: &[],
    source: include_str!("network_client_cache.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 70,
        honest: Honest::None("the rate of the server for all of the data was not measured"),
        measured_instead: |_, _| "copying from the client's page cache",
    }),
    improvement: None,
    questions: &[],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_seen_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Finding, Halt> {
    if !matches!(phase.direction, Direction::Read | Direction::Mixed) {
        return Err(Halt::not_applicable("The pass does not read."));
    }
    let case = &case.concerning_storage()?;
    let (run, limits) = (&case.run, case.thresholds());
    let target = run.known_target(phase)?;
    if target.tier != Tier::Network {
        return Err(Halt::not_applicable("The file is not on a network file system."));
    }
    if let Some(packer) = packs(target) {
        return Err(Halt::not_applicable(format!("The data is compressed in transit ({packer}).")));
    }
    let read = run.fact(phase, FactName::ReadBytes)?;
    if read == 0.0 {
        return Err(Halt::not_applicable("No read call moved a byte."));
    }
    let received = run.fact(phase, FactName::NetworkReceived)?;
    let share = received / read;
    let (warn, fail) = (&limits.ab208_received_warn_ratio, &limits.ab208_received_fail_ratio);
    if share >= warn.value.value {
        return Ok(case.silent(""));
    }
    let (weight, threshold) = match share < fail.value.value {
        true => (Weight::Fail(Effect::Misleading), fail),
        false => (Weight::Warn(Effect::Misleading), warn),
    };
    let source = phase.facts.get(FactName::NetworkReceived).map_or("", |fact| fact.source.as_str());
    let in_bytes = |value| Quantity { value, ..Quantity::bytes(0) };
    Ok(case.fires(Firing {
        weight,
        observed: Some(Quantity::ratio(share)),
        threshold: threshold.clone(),
        message: format!("{} was read. The client received at most {} ({source}).", in_bytes(read), in_bytes(received)),
        meaning: "The rest came from the client's memory. The figure is neither that of the network nor that of the \
                  server."
            .to_owned(),
        advice: advise(run, Some(phase), Improvement::ReadFromStorage),
    }))
}
