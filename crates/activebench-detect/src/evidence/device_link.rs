//! What carries the data between this machine and a phase's storage.

use activebench_model::hardware::{DeviceCache, Hardware, Link};
use activebench_model::host::{Target, Tier};
use activebench_model::phase::{Direction, Phase};

use crate::cases::run::Halt;
use crate::evidence::payload::packs;
use crate::run::Run;

/// A link, or several side by side.
pub(crate) struct Carrier {
    /// Payload of all of them together.
    pub(crate) bytes_per_sec: f64,
    /// `PCIe 8.0 GT/s x4`.
    pub(crate) name: String,
    /// The files that say so.
    pub(crate) source: String,
}

/// The link before the storage of a phase, where all that the storage moves passes it as it is.
///
/// # Errors
/// Why none is known, or bounds nothing.
pub(crate) fn link_of(run: &Run<'_>, phase: &Phase) -> Result<Carrier, Halt> {
    if phase.names.is_some() || matches!(phase.direction, Direction::Discard | Direction::None) {
        return Err(Halt::not_applicable("the pass sends no data over the link"));
    }
    let target = run.target_of(phase).ok_or_else(|| Halt::undecided("it is not known what the file lies on"))?;
    let hardware = run.manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("the links to the device were not read"))?;
    let mut carrier = carrier(target, hardware)?;
    if let Some(packer) = packs(target) {
        return Err(Halt::not_applicable(format!("{packer} packs the data before it reaches the link")));
    }
    let cached = |cache: &&DeviceCache| target.layers.iter().any(|layer| layer.device == cache.device);
    if let Some(cache) = hardware.caches.iter().find(cached) {
        return Err(Halt::not_applicable(format!("{} can answer by another way", cache.name)));
    }
    if phase.direction == Direction::Mixed {
        carrier.bytes_per_sec *= 2.0;
    }
    Ok(carrier)
}

/// Words by which the paths of links are known.
const LINK_FILES: &[&str] = &["_link_speed", "_link_width", "sata_spd", "linkrate", "/sys/dev/block"];

/// Where the interfaces of this machine stand.
const INTERFACES: &str = "/sys/class/net";

/// What can reach the devices at the bottom of the stack, or a network file system's server.
fn carrier(target: &Target, hardware: &Hardware) -> Result<Carrier, Halt> {
    let slowest = |device| {
        let links = hardware.links.iter().filter(move |link: &&Link| link.device == device);
        links.min_by(|one, other| one.payload_bytes_per_sec.total_cmp(&other.payload_bytes_per_sec))
    };
    let bottom: Vec<&Link> = match target.tier {
        Tier::Network => match (slowest(target.s_dev), hardware.unread_of(&[INTERFACES])) {
            (Some(link), _) => vec![link],
            (None, Some(why)) => return Err(Halt::undecided(format!("the network interfaces were not read: {why}"))),
            (None, None) => Vec::new(),
        },
        Tier::Memory => return Err(Halt::not_applicable("the file lies in memory: AB106 speaks of it")),
        Tier::Fuse => return Err(Halt::not_applicable("what its daemon does is not known")),
        Tier::Block | Tier::Unknown => {
            let mut bottom = Vec::new();
            for layer in target.bottom() {
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
    Ok(Carrier {
        bytes_per_sec: bottom.iter().map(|link| link.payload_bytes_per_sec).sum(),
        name: names.join(" and "),
        source: bottom.iter().map(|link| link.source.as_str()).collect::<Vec<_>>().join(", "),
    })
}
