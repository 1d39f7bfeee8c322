//! # What it finds
//! A rate that the link to the device cannot carry.
//!
//! # Why it matters
//! The data cannot have come over the link: a cache on the host's side of it answered, or nothing did.
//!
//! # How it decides
//! The claimed rate is compared with the payload rate of the links to the device. A higher claim fails and is
//! misleading. A claim in operations per second is multiplied by the block size of the pass, or by the mean size of
//! its calls when block sizes vary. Operations of unknown size leave it undecided.
//!
//! The payload of a link is its negotiated speed times its lanes, less the encoding. The speed comes from:
//!
//! - PCIe: `current_link_speed` and `current_link_width`;
//! - SATA: `sata_spd`;
//! - SAS: `negotiated_linkrate`;
//! - network file systems: the interfaces of this machine (`/sys/class/net/*/speed`).
//!
//! Of several links in a row the slowest counts; of several devices, the sum. For passes that read and write the
//! payload counts twice.
//!
//! It is not applicable:
//!
//! - where a link is unknown (virtual disks);
//! - where something on the host's side of the link compresses or deduplicates the data;
//! - behind a caching device;
//! - to passes that send no data over the link (discards, operations on names).
//!
//! If `activebench ceiling` has measured the storage, a claimed rate above twice that figure, plus its spread, is a
//! note. A ceiling is a measurement and not a law, so the note changes no verdict. The comparison uses what was
//! measured for the pattern, size and depth of the pass. Without such a measurement there is no note.
//!
//! # When it is wrong
//! Packet headers are not subtracted, so some impossible rates are not found. Compression that neither mount options
//! nor sysfs report (VDO) makes rates beyond the link possible.
//!
//! An honest figure can exceed the measured ceiling, which is why that is only a note. Causes are:
//!
//! - a cache inside the device;
//! - a burst that a virtual disk allows;
//! - more requests in flight through the page cache than the 32 that were measured;
//! - a ceiling measured while others used the storage.
//!
//! # What to do
//! Find out what answered: AB201, AB205 and AB302 name the usual caches.
//!
//! # References
//! Gregg: did it break limits? PCI Express Base Specification 5.0, 4.2; Serial ATA 3.2; SAS-4.

use activebench_model::claim::Claim;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding, Outcome};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::{Quantity, Unit};

use crate::cases::run::{Case, Firing, Halt, Weight, of_each_phase, seen};
use crate::detector::{Basis, Correction, Decides, Detector, Honest, Judge, Question};
use crate::evidence::device_link::{Carrier, link_of};
use crate::judge::headroom::{self, Way};
use crate::run::Run;

/// The facts from which the mean size of a call is computed.
const FACTS: &[FactName] =
    &[FactName::ReadBytes, FactName::ReadCalls, FactName::WriteBytes, FactName::WriteCalls, FactName::Mappings];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB503",
    name: "beyond-physical-limit",
    title: "The link to the device is slower than the figure",
    explained_by: &["AB101", "AB103", "AB104", "AB106", "AB201", "AB203", "AB204", "AB205", "AB208", "AB301", "AB302"],
    source: include_str!("beyond_physical_limit.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 210,
        honest: Honest::ByDirection,
        measured_instead: |_, _| "a source on this side of the link to the device",
    }),
    improvement: None,
    questions: &[Question::DidItBreakLimits],
};

fn judge_run(run: &Run<'_>) -> Vec<Finding> {
    of_each_phase(&DETECTOR, run, judge)
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Vec<Finding>, Halt> {
    seen(phase)?;
    let case = &case.concerning_storage()?;
    let measured = beyond_measured(case, phase);
    let speaks = |finding: &Finding| finding.outcome != Outcome::Silent;
    match (beyond_link(case, phase), measured) {
        // The measured ceiling gives a finding of its own beside that of the link.
        (Ok(findings), measured) => Ok(findings.into_iter().chain(measured.filter(speaks)).collect()),
        (Err(Halt::NotApplicable(_)), Some(measured)) => Ok(vec![measured]),
        (Err(open), Some(measured)) if speaks(&measured) => Ok(vec![case.halted(open), measured]),
        (Err(why), _) => Err(why),
    }
}

/// Compares the claims with the measured ceiling of the storage; `None` where no measurement bounds them.
fn beyond_measured(case: &Case<'_>, phase: &Phase) -> Option<Finding> {
    let threshold = &case.thresholds().ab503_measured_note_ratio;
    headroom::ceiling_of(&case.run, phase)?;
    // The size of the requests must come from the command, not from the observation.
    phase.block_bytes?;
    // Nor must the number in flight. Without it there is no note, which changes no verdict.
    case.run.fact(phase, FactName::DirectShare).ok()?;
    let case = case.resting_on(vec![FactName::DirectShare]);
    let measured = headroom::limits(&case.run, phase, Way::Storage).into_iter();
    // That each write was made durable is observed, so it bounds no claim here either.
    let measured = measured.filter(|limit| limit.measured && limit.of_storage && limit.durable.is_none());
    let tightest = measured.min_by(|one, other| one.bytes_per_sec.total_cmp(&other.bytes_per_sec))?;
    let unit_bytes = |unit: Unit| match unit {
        Unit::BytesPerSec => Some(1.0),
        Unit::OpsPerSec => phase.block_bytes.map(|bytes| bytes as f64),
        _ => None,
    };
    let claims = case.claims().iter().copied();
    let rates: Vec<(&Claim, f64)> = claims.filter_map(|claim| Some((claim, unit_bytes(claim.value.unit)?))).collect();
    let rate = |(claim, bytes): &(&Claim, f64)| (claim.value.value - claim.resolution) * bytes;
    let highest = rates.iter().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    // The spread between the repetitions of the ceiling is allowed for, too.
    let ratio = rate(highest) / (tightest.bytes_per_sec * (1.0 + tightest.spread));
    let of_rates = case.concerning(rates.iter().map(|(claim, _)| *claim).collect());
    if ratio <= threshold.value.value {
        return Some(of_rates.silent(""));
    }
    Some(
        case.concerning(vec![highest.0]).fires(Firing {
            weight: Weight::Note,
            observed: Some(Quantity::ratio(ratio)),
            threshold: threshold.clone(),
            message: format!(
                "The claimed rate is {}. A ceiling was measured before: {} is {}.",
                Quantity::bytes_per_sec(rate(highest)),
                tightest.part,
                Quantity::bytes_per_sec(tightest.bytes_per_sec)
            ),
            meaning: "A cache can answer faster than the device, and a ceiling can be measured too low. This alone \
                      does not contradict the figure."
                .to_owned(),
            advice: "measure the ceiling again while nothing else uses the storage (`activebench ceiling`)".to_owned(),
        }),
    )
}

fn beyond_link(case: &Case<'_>, phase: &Phase) -> Result<Vec<Finding>, Halt> {
    let carrier = link_of(&case.run, phase)?;
    // A rate in bytes needs only the link; a rate in operations also needs their size.
    let is_rate = |claim: &&Claim| matches!(claim.value.unit, Unit::BytesPerSec | Unit::OpsPerSec);
    let (of_bytes, of_operations): (Vec<&Claim>, Vec<&Claim>) =
        case.claims().iter().copied().filter(is_rate).partition(|claim| claim.value.unit == Unit::BytesPerSec);
    if of_bytes.is_empty() && of_operations.is_empty() {
        return Err(Halt::not_applicable("No rate of bytes is claimed."));
    }
    let mut findings = Vec::new();
    if !of_bytes.is_empty() {
        findings.extend(held_against(&case.concerning(of_bytes).resting_on(Vec::new()), &carrier, 1.0));
    }
    if !of_operations.is_empty() {
        let case = case.concerning(of_operations);
        match phase.block_bytes {
            Some(block) => findings.extend(held_against(&case.resting_on(Vec::new()), &carrier, block as f64)),
            None => match mean_call(&case.run, phase) {
                Ok(bytes) => findings.extend(held_against(&case, &carrier, bytes)),
                Err(why) => findings.push(case.halted(why.into())),
            },
        }
    }
    Ok(findings)
}

/// Mean bytes that a call of the pass moved; failed calls count as calls.
fn mean_call(run: &Run<'_>, phase: &Phase) -> Result<f64, String> {
    let fact = |name| run.fact(phase, name);
    let bytes = run.moved(phase)?;
    let calls = match phase.direction {
        Direction::Read => fact(FactName::ReadCalls)?,
        Direction::Write => fact(FactName::WriteCalls)?,
        _ => fact(FactName::ReadCalls)? + fact(FactName::WriteCalls)?,
    };
    if calls <= 0.0 {
        return Err("no call moved data".to_owned());
    }
    Ok(bytes / calls)
}

/// Compares the claims of a case with the link, at `unit_bytes` per claimed unit. Returns a finding for each claim
/// beyond it, or one silent finding.
fn held_against(case: &Case<'_>, carrier: &Carrier, unit_bytes: f64) -> Vec<Finding> {
    let limit = &case.thresholds().ab503_link_fail_ratio;
    let rate = |claim: &Claim| (claim.value.value - claim.resolution) * unit_bytes;
    let beyond = case.claims().iter().filter(|claim| rate(claim) > carrier.bytes_per_sec * limit.value.value);
    let finding = |claim: &&Claim| {
        case.concerning(vec![*claim]).fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(Quantity::ratio(rate(claim) / carrier.bytes_per_sec)),
            threshold: limit.clone(),
            message: format!(
                "The claimed rate is {}. The maximum of {} is {} ({}).",
                Quantity::bytes_per_sec(rate(claim)),
                carrier.name,
                Quantity::bytes_per_sec(carrier.bytes_per_sec),
                carrier.source
            ),
            meaning: "Data came from this side of the link, so the figure is not that of the device.".to_owned(),
            advice: "find the source of the data (page cache, a layer's cache), and let every byte pass the device"
                .to_owned(),
        })
    };
    let findings: Vec<Finding> = beyond.map(finding).collect();
    if findings.is_empty() { vec![case.silent("")] } else { findings }
}
