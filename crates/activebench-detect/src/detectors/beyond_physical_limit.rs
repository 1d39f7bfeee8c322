//! # What it finds
//! A rate that the link to the device cannot carry.
//!
//! # Why it matters
//! Something on this side of the link answered: a cache, or nobody.
//!
//! # How it decides
//! The claimed rate of bytes (or of operations, times the block of the pass) above the payload of the links on the way to
//! the device fails, and is misleading. A link's payload is its negotiated speed times its lanes, the encoding taken off:
//! PCIe (`current_link_speed`, `current_link_width`), SATA (`sata_spd`), SAS (`negotiated_linkrate`), the interfaces of this
//! machine for network file systems (`/sys/class/net/*/speed`). Of links one behind the other the slowest counts, of
//! several devices the sum, for passes that read and write twice that much. Not applicable where a link is not known
//! (virtual disks), where something on this side of it packs the data, or behind a caching device.
//!
//! # When it is wrong
//! The headers of packets are not taken off, so that some rates that are impossible are not found. Compression that
//! nothing in the mount options or in sysfs says (VDO) makes rates beyond the link possible.
//!
//! # What to do
//! Find out what answered: AB201, AB205 and AB302 name the usual caches.
//!
//! # References
//! Gregg: did it break limits? PCI Express Base Specification 5.0, 4.2; Serial ATA 3.2; SAS-4.

use activebench_model::claim::Claim;
use activebench_model::fact::FactName;
use activebench_model::finding::{Effect, Finding};
use activebench_model::hardware::{DeviceCache, Hardware, Link};
use activebench_model::host::{ABOVE, Target, Tier};
use activebench_model::phase::{Direction, Phase};
use activebench_model::units::{Quantity, Unit};

use crate::case::{Case, Firing, Halt, Weight, of_each_phase, seen};
use crate::context::{Detector, Run};
use crate::packing::packs;

/// See the head of this file.
pub struct BeyondPhysicalLimit;

const FACTS: &[FactName] = &[FactName::ModalRequest];

impl Detector for BeyondPhysicalLimit {
    fn code(&self) -> &'static str {
        "AB503"
    }
    fn name(&self) -> &'static str {
        "beyond-physical-limit"
    }
    fn source(&self) -> &'static str {
        include_str!("beyond_physical_limit.rs")
    }

    fn judge(&self, run: &Run<'_>) -> Vec<Finding> {
        of_each_phase(self, run, FACTS, judge)
    }
}

fn judge(case: &Case<'_>, phase: &Phase) -> Result<Vec<Finding>, Halt> {
    seen(phase)?;
    let case = &case.concerning_storage()?;
    let target = case.run.target_of(phase).ok_or_else(|| Halt::undecided("it is not known what the file lies on"))?;
    let hardware = case.run.manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("the links to the device were not read"))?;
    let mut ceiling = ceiling(target, hardware)?;
    if let Some(packer) = packs(target) {
        return Err(Halt::not_applicable(format!("{packer} packs the data before it reaches the link")));
    }
    let cached = |cache: &&DeviceCache| target.layers.iter().any(|layer| layer.device == cache.device);
    if let Some(cache) = hardware.caches.iter().find(cached) {
        return Err(Halt::not_applicable(format!("{} can answer by another way", cache.name)));
    }
    if phase.direction == Direction::Mixed {
        ceiling.bytes_per_sec *= 2.0;
    }
    let block = phase.block_bytes.map(|block| block as f64);
    let block = block.or_else(|| case.run.fact(phase, FactName::ModalRequest).ok());
    let mut rates = Vec::new();
    for claim in case.claims() {
        match (claim.value.unit, block) {
            (Unit::BytesPerSec, _) => rates.push((*claim, claim.value.value - claim.resolution)),
            (Unit::OpsPerSec, Some(block)) => rates.push((*claim, (claim.value.value - claim.resolution) * block)),
            _ => {}
        }
    }
    if rates.is_empty() {
        return Err(Halt::not_applicable("no rate of bytes is claimed"));
    }
    let limit = &case.thresholds().ab503_link_fail_ratio;
    let beyond: Vec<(&Claim, f64)> =
        rates.into_iter().filter(|(_, rate)| *rate > ceiling.bytes_per_sec * limit.value.value).collect();
    if beyond.is_empty() {
        return Ok(vec![case.silent("")]);
    }
    let finding = |(claim, rate): &(&Claim, f64)| {
        let owned = case.claims().iter().copied().filter(|other| other.id == claim.id).collect();
        case.concerning(owned).fires(Firing {
            weight: Weight::Fail(Effect::Misleading),
            observed: Some(Quantity::ratio(rate / ceiling.bytes_per_sec)),
            threshold: limit.clone(),
            message: format!(
                "{} is claimed, and {} carries {} at most ({})",
                Quantity::bytes_per_sec(*rate),
                ceiling.name,
                Quantity::bytes_per_sec(ceiling.bytes_per_sec),
                ceiling.source
            ),
            meaning: "something on this side of the link answered: the figure is not that of the device".to_owned(),
            advice: "find out what answered (page cache, a layer's cache), and let every byte pass the device"
                .to_owned(),
        })
    };
    Ok(beyond.iter().map(finding).collect())
}

struct Ceiling {
    bytes_per_sec: f64,
    name: String,
    source: String,
}

/// Words by which the paths of links are known.
const LINK_FILES: &[&str] = &["_link_speed", "_link_width", "sata_spd", "linkrate", "/sys/dev/block"];

/// What can reach the devices at the bottom of the stack, or a network file system's server.
fn ceiling(target: &Target, hardware: &Hardware) -> Result<Ceiling, Halt> {
    let slowest = |device| {
        let links = hardware.links.iter().filter(move |link: &&Link| link.device == device);
        links.min_by(|one, other| one.payload_bytes_per_sec.total_cmp(&other.payload_bytes_per_sec))
    };
    let bottom: Vec<&Link> = match target.tier {
        Tier::Network => slowest(target.s_dev).into_iter().collect(),
        Tier::Memory => return Err(Halt::not_applicable("the file lies in memory: AB106 speaks of it")),
        Tier::Fuse => return Err(Halt::not_applicable("what its daemon does is not known")),
        Tier::Block | Tier::Unknown => {
            let carries = |name: &String| target.layers.iter().any(|layer| layer.attributes.get(ABOVE) == Some(name));
            let mut bottom = Vec::new();
            for layer in target.layers.iter().filter(|layer| !carries(&layer.name)) {
                match slowest(layer.device) {
                    Some(link) => bottom.push(link),
                    None => {
                        if let Some(why) = hardware.unread_of(LINK_FILES) {
                            return Err(Halt::undecided(format!("a link was not read: {why}")));
                        }
                        return Err(Halt::not_applicable(format!(
                            "{} does not say by which link it is reached",
                            layer.name
                        )));
                    }
                }
            }
            bottom
        }
    };
    if bottom.is_empty() {
        return Err(Halt::not_applicable("no link to the storage is known"));
    }
    let names: Vec<&str> = bottom.iter().map(|link| link.name.as_str()).collect();
    Ok(Ceiling {
        bytes_per_sec: bottom.iter().map(|link| link.payload_bytes_per_sec).sum(),
        name: names.join(" and "),
        source: bottom.iter().map(|link| link.source.as_str()).collect::<Vec<_>>().join(", "),
    })
}
