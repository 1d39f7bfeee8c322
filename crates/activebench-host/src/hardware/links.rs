//! Links and their maximum payload.

use std::path::Path;

use activebench_model::hardware::Link;
use activebench_model::host::{Layer, Target};

use super::device_folder::{device_folder, text_if_any, upwards};
use super::states::controllers;
use crate::reader::Reader;

/// Adds every link on the path to a device: PCIe (each slot and bridge), SATA, SAS. An NVMe disk of a
/// subsystem is not below a controller in sysfs. Then the links of its controller are added, if there is only one.
pub(super) fn of_device(reader: &mut Reader, layer: &Layer, folder: &Path, links: &mut Vec<Link>) {
    let before = links.len();
    on_the_way(reader, layer, folder, links);
    if layer.kind == "nvme"
        && links.len() == before
        && let [controller] = &controllers(reader, &device_folder(reader, folder))[..]
    {
        on_the_way(reader, layer, controller, links);
    }
}

fn on_the_way(reader: &mut Reader, layer: &Layer, folder: &Path, links: &mut Vec<Link>) {
    let mut add = |name: String, source: &Path, payload_bytes_per_sec| {
        let source = source.display().to_string();
        links.push(Link { device: layer.device, name, source, payload_bytes_per_sec });
    };
    for place in upwards(folder) {
        let (speed, width) = (place.join("current_link_speed"), place.join("current_link_width"));
        if let Some(text) = text_if_any(reader, &speed)
            && let Some(lanes) = text_if_any(reader, &width).and_then(|width| width.parse::<u32>().ok())
            && let Some(lane) = pcie_lane(&text)
            && lanes > 0
        {
            let name = format!("PCIe {} x{lanes}", text.trim_end_matches(" PCIe"));
            add(name, &speed, lane * f64::from(lanes));
        }
        let last = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if last.strip_prefix("ata").is_some_and(|number| number.parse::<u32>().is_ok()) {
            for (text, source) in sata_speeds(reader, place) {
                if let Some(payload) = eight_of_ten(&text) {
                    add(format!("SATA {text}"), Path::new(&source), payload);
                }
            }
        }
        if last.starts_with("port-") {
            let phys = sas_phys(reader, place);
            let payload: f64 = phys.iter().map(|(_, payload)| payload).sum();
            if let Some((text, _)) = phys.first() {
                add(format!("SAS {text} x{}", phys.len()), place, payload);
            }
        }
    }
}

/// Returns the payload of one PCIe lane in bytes per second, without its encoding: 8 of 10 bits up to 5 GT/s, 128 of
/// 130 up to 32 GT/s (PCI Express Base Specification 5.0, 4.2), 242 of 256 bytes of a flit from 64 GT/s on (6.0).
/// Packet headers are not subtracted, so the value is never too low.
fn pcie_lane(text: &str) -> Option<f64> {
    let transfers: f64 = text.split_whitespace().next()?.parse().ok()?;
    let share = match transfers {
        speed if speed <= 0.0 => return None,
        speed if speed <= 5.0 => 8.0 / 10.0,
        speed if speed <= 32.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    Some(transfers * 1e9 / 8.0 * share)
}

/// Parses `6.0 Gbps`, `12.0 Gbit` into payload: 8 of 10 bits, for SAS of 22.5 Gbit 128 of 150.
fn eight_of_ten(text: &str) -> Option<f64> {
    let gigabits: f64 = text.split_whitespace().next()?.parse().ok()?;
    let share = if gigabits > 12.0 { 128.0 / 150.0 } else { 8.0 / 10.0 };
    (gigabits > 0.0).then_some(gigabits * 1e9 / 8.0 * share)
}

/// Reads `ata1/link1/ata_link/link1/sata_spd`; `<unknown>` where nothing is attached.
fn sata_speeds(reader: &mut Reader, port: &Path) -> Vec<(String, String)> {
    let names = reader.names(port);
    let mut found = Vec::new();
    for name in reader.optional(names).into_iter().flatten() {
        if !name.to_string_lossy().starts_with("link") {
            continue;
        }
        let file = port.join(&name).join("ata_link").join(&name).join("sata_spd");
        if let Some(text) = text_if_any(reader, &file).filter(|text| !text.starts_with('<')) {
            found.push((text, file.display().to_string()));
        }
    }
    found
}

/// Returns the phys of a port: links to `.../phy-0:1`, each with `sas_phy/phy-0:1/negotiated_linkrate`.
fn sas_phys(reader: &mut Reader, port: &Path) -> Vec<(String, f64)> {
    let names = reader.names(port);
    let mut found = Vec::new();
    for name in reader.optional(names).into_iter().flatten() {
        if !name.to_string_lossy().starts_with("phy-") {
            continue;
        }
        let folder = reader.link(&port.join(&name)).unwrap_or_else(|_| port.join(&name));
        let text = text_if_any(reader, &folder.join("sas_phy").join(&name).join("negotiated_linkrate"));
        if let Some(text) = text
            && let Some(payload) = eight_of_ten(&text)
        {
            found.push((text, payload));
        }
    }
    found
}

/// Adds the network interfaces of this machine as one link, because the interface that leads to a server is unknown.
/// Adds nothing for a server that is this machine, or for traffic that does not use the interfaces.
pub(super) fn of_network(reader: &mut Reader, target: &Target, links: &mut Vec<Link>) {
    if !target.comes_through_interfaces() || target.options.split(',').any(|option| option == OWN_SERVER) {
        return;
    }
    let place = Path::new("/sys/class/net");
    let names = reader.names(place);
    let mut payload = 0.0;
    let mut parts = Vec::new();
    for name in reader.optional(names).into_iter().flatten() {
        let folder = place.join(&name);
        // Bridges, bonds and similar interfaces are on top of others.
        if !reader.exists(&folder.join("device")).unwrap_or(false) {
            continue;
        }
        // The speed of an interface without a carrier is not readable.
        let speed = reader.text(&folder.join("speed")).ok().and_then(|text| text.parse::<i64>().ok());
        let is_up = reader.text(&folder.join("carrier")).is_ok_and(|text| text == "1");
        match speed {
            _ if !is_up => {}
            Some(megabits) if megabits > 0 => {
                payload += megabits as f64 * 1e6 / 8.0;
                parts.push(format!("{} {megabits} Mbit/s", name.to_string_lossy()));
            }
            // An interface of unknown speed may be the one in use.
            _ => return,
        }
    }
    if payload > 0.0 {
        links.push(Link {
            device: target.s_dev,
            name: parts.join(" and "),
            source: "/sys/class/net/*/speed".to_owned(),
            payload_bytes_per_sec: payload,
        });
    }
}

/// Option of a target whose server is this machine, in place of the address.
pub(crate) const OWN_SERVER: &str = "addr=(this machine)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_taken_off() {
        let near = |left: Option<f64>, right: f64| left.is_some_and(|left| (left / right - 1.0).abs() < 1e-3);
        // A lane of PCIe 3 carries 985 MB/s, four lanes 3.94 GB/s.
        assert!(near(pcie_lane("8.0 GT/s PCIe"), 984.6e6));
        assert!(near(pcie_lane("2.5 GT/s"), 250e6));
        assert!(near(pcie_lane("5.0 GT/s PCIe"), 500e6));
        assert!(near(pcie_lane("16.0 GT/s PCIe"), 1969.2e6));
        assert!(near(pcie_lane("64.0 GT/s PCIe"), 7562.5e6));
        assert_eq!(pcie_lane("Unknown"), None);
        assert!(near(eight_of_ten("6.0 Gbps"), 600e6));
        assert!(near(eight_of_ten("12.0 Gbit"), 1200e6));
        assert!(near(eight_of_ten("22.5 Gbit"), 2400e6));
        assert_eq!(eight_of_ten("<unknown>"), None);
    }
}
