//! # What it finds
//! A rate that the link to the device cannot carry.
//!
//! # Why it matters
//! Something on this side of the link answered: a cache, or nobody.
//!
//! # How it decides
//! The claimed rate of bytes (or of operations, times the block of the pass, or the mean of its calls where blocks differ)
//! above the payload of the links on the way to the device fails, and is misleading. A link's payload is its negotiated speed times its lanes, the encoding taken off:
//! PCIe (`current_link_speed`, `current_link_width`), SATA (`sata_spd`), SAS (`negotiated_linkrate`), the interfaces of this
//! machine for network file systems (`/sys/class/net/*/speed`). Of links one behind the other the slowest counts, of
//! several devices the sum, for passes that read and write twice that much. Operations of an unknown size are undecided.
//! Not applicable where a link is not known (virtual disks), where something on this side of it packs the data, behind a
//! caching device, and to passes that send no data over it: discards, work on names.
//!
//! Where `activebench ceiling` measured what the storage gives, a claimed rate of more than twice that (its spread on
//! top) is noted. A ceiling is a measurement, not a law: the note changes no verdict. It is held against what was
//! measured for the pattern, size and depth of the pass; where nothing was that bounds it, there is no note.
//!
//! # When it is wrong
//! The headers of packets are not taken off, so that some rates that are impossible are not found. Compression that
//! nothing in the mount options or in sysfs says (VDO) makes rates beyond the link possible. A cache inside of the
//! device, a burst that a virtual disk allows, more requests on their way through the page cache than the 32 that were
//! measured, and a ceiling that was measured while others used the storage let an honest figure pass the measured bound:
//! hence a note alone.
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

/// What the mean size of a call rests on.
const FACTS: &[FactName] =
    &[FactName::ReadBytes, FactName::ReadCalls, FactName::WriteBytes, FactName::WriteCalls, FactName::Mappings];

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB503",
    name: "beyond-physical-limit",
    source: include_str!("beyond_physical_limit.rs"),
    judge: Judge::Run(judge_run),
    facts: FACTS,
    basis: Basis::Facts,
    decides: Decides::Nothing,
    correction: Some(Correction {
        rank: 210,
        honest: Honest::ByDirection,
        measured_instead: |_, _| "something on this side of the link to the device",
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
        // What was measured is a second witness, with a voice of its own.
        (Ok(findings), measured) => Ok(findings.into_iter().chain(measured.filter(speaks)).collect()),
        (Err(Halt::NotApplicable(_)), Some(measured)) => Ok(vec![measured]),
        (Err(open), Some(measured)) if speaks(&measured) => Ok(vec![case.halted(open), measured]),
        (Err(why), _) => Err(why),
    }
}

/// Whether a claim is beyond what was measured of the storage; `None` where nothing was that bounds it.
fn beyond_measured(case: &Case<'_>, phase: &Phase) -> Option<Finding> {
    let threshold = &case.thresholds().ab503_measured_note_ratio;
    headroom::ceiling_of(&case.run, phase)?;
    // Of which size its requests are must not rest on what was seen.
    phase.block_bytes?;
    // Nor can how many were on their way, which changes no verdict: then there is no note.
    case.run.fact(phase, FactName::DirectShare).ok()?;
    let case = case.resting_on(vec![FactName::DirectShare]);
    let measured = headroom::limits(&case.run, phase, Way::Storage).into_iter();
    let measured = measured.filter(|limit| limit.measured && limit.of_storage);
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
    // What the repetitions of the ceiling differ in is taken off, too.
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
                "{} is claimed, and {} was {} when the ceiling was measured",
                Quantity::bytes_per_sec(rate(highest)),
                tightest.part,
                Quantity::bytes_per_sec(tightest.bytes_per_sec)
            ),
            meaning: "a cache before or inside of the device can answer faster than the device, and a ceiling can be \
                  measured too low: alone it says nothing against the figure"
                .to_owned(),
            advice: "measure the ceiling again while nothing else uses the storage (`activebench ceiling`)".to_owned(),
        }),
    )
}

fn beyond_link(case: &Case<'_>, phase: &Phase) -> Result<Vec<Finding>, Halt> {
    let carrier = link_of(&case.run, phase)?;
    // A rate of bytes needs nothing but the link, one of operations their size too.
    let is_rate = |claim: &&Claim| matches!(claim.value.unit, Unit::BytesPerSec | Unit::OpsPerSec);
    let (of_bytes, of_operations): (Vec<&Claim>, Vec<&Claim>) =
        case.claims().iter().copied().filter(is_rate).partition(|claim| claim.value.unit == Unit::BytesPerSec);
    if of_bytes.is_empty() && of_operations.is_empty() {
        return Err(Halt::not_applicable("no rate of bytes is claimed"));
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

/// Bytes that a call of the pass moved on average; failed calls count as calls.
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

/// The claims of a case, each of `unit_bytes` a unit: those that are beyond the link, or silence.
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
                "{} is claimed, and {} carries {} at most ({})",
                Quantity::bytes_per_sec(rate(claim)),
                carrier.name,
                Quantity::bytes_per_sec(carrier.bytes_per_sec),
                carrier.source
            ),
            meaning: "something on this side of the link answered: the figure is not that of the device".to_owned(),
            advice: "find out what answered (page cache, a layer's cache), and let every byte pass the device"
                .to_owned(),
        })
    };
    let findings: Vec<Finding> = beyond.map(finding).collect();
    if findings.is_empty() { vec![case.silent("")] } else { findings }
}
