//! The link between this machine and a phase's storage.

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

/// Returns the link to the storage of a phase, if all data of the storage passes it unchanged.
///
/// # Errors
/// The reason why none is known, or none bounds the data.
pub(crate) fn link_of(run: &Run<'_>, phase: &Phase) -> Result<Carrier, Halt> {
    if phase.names.is_some() || matches!(phase.direction, Direction::Discard | Direction::None) {
        return Err(Halt::not_applicable("The pass sends no data over the link."));
    }
    let target = run.known_target(phase)?;
    let hardware = run.manifest.host.hardware.as_ref();
    let hardware = hardware.ok_or_else(|| Halt::undecided("This run did not record the links to the device."))?;
    let mut carrier = carrier(target, hardware)?;
    if let Some(packer) = packs(target) {
        return Err(Halt::not_applicable(format!("The data is compressed before it reaches the link ({packer}).")));
    }
    let cached = |cache: &&DeviceCache| target.layers.iter().any(|layer| layer.device == cache.device);
    if let Some(cache) = hardware.caches.iter().find(cached) {
        return Err(Halt::not_applicable(format!("The cache {} can answer without the link.", cache.name)));
    }
    if phase.direction == Direction::Mixed {
        carrier.bytes_per_sec *= 2.0;
    }
    Ok(carrier)
}

/// Words that identify the paths of links.
const LINK_FILES: &[&str] = &["_link_speed", "_link_width", "sata_spd", "linkrate", "/sys/dev/block"];

/// The folder of this machine's network interfaces.
const INTERFACES: &str = "/sys/class/net";

/// Returns the link to the devices at the bottom of the stack, or to a network file system's server.
fn carrier(target: &Target, hardware: &Hardware) -> Result<Carrier, Halt> {
    let slowest = |device| {
        let links = hardware.links.iter().filter(move |link: &&Link| link.device == device);
        links.min_by(|one, other| one.payload_bytes_per_sec.total_cmp(&other.payload_bytes_per_sec))
    };
    let bottom: Vec<&Link> = match target.tier {
        Tier::Network => match (slowest(target.s_dev), hardware.unread_of(&[INTERFACES])) {
            (Some(link), _) => vec![link],
            (None, Some(why)) => return Err(Halt::undecided(format!("The network interfaces were not read: {why}."))),
            (None, None) => Vec::new(),
        },
        Tier::Memory => return Err(Halt::not_applicable("The file is in memory. See AB106.")),
        Tier::Fuse => return Err(Halt::not_applicable("The daemon of the file system is not observed.")),
        Tier::Block | Tier::Unknown => {
            let mut bottom = Vec::new();
            for layer in target.bottom() {
                match slowest(layer.device) {
                    Some(link) => bottom.push(link),
                    None => {
                        if let Some(why) = hardware.unread_of(LINK_FILES) {
                            return Err(Halt::undecided(format!("A link was not read: {why}.")));
                        }
                        return Err(Halt::not_applicable(format!("The link to {} is not known.", layer.name)));
                    }
                }
            }
            bottom
        }
    };
    if bottom.is_empty() {
        return Err(Halt::not_applicable("No link to the storage is known."));
    }
    let names: Vec<&str> = bottom.iter().map(|link| link.name.as_str()).collect();
    Ok(Carrier {
        bytes_per_sec: bottom.iter().map(|link| link.payload_bytes_per_sec).sum(),
        name: names.join(" and "),
        source: bottom.iter().map(|link| link.source.as_str()).collect::<Vec<_>>().join(", "),
    })
}
