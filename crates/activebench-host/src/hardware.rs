//! Reads from sysfs the hardware below the run's files: links and their speed, the state of arrays and disks, caches
//! of known size, volumes served by an array, and the CPU frequency governors.
//!
//! Read once, after the run. The only value that the device itself has to answer is its temperature.

mod device_folder;
mod links;
mod states;
mod volumes;

use std::path::Path;

use activebench_model::call::DeviceNumber;
use activebench_model::hardware::Hardware;
use activebench_model::host::{Target, Tier};

use crate::reader::Reader;
use crate::roots::{Process, Roots};
pub(crate) use links::OWN_SERVER;
pub(crate) use states::temperature_alarms;

/// Reads the hardware below targets.
pub fn read_hardware(roots: &Roots, targets: &[Target]) -> Hardware {
    let mut reader = Reader::new(roots, Process::Own);
    let mut hardware = Hardware::default();
    let mut seen: Vec<DeviceNumber> = Vec::new();
    for target in targets {
        if target.tier == Tier::Network {
            links::of_network(&mut reader, target, &mut hardware.links);
        }
        if target.fs_type == "btrfs" {
            states::of_btrfs(&mut reader, target, &mut hardware.states);
        }
        for layer in &target.layers {
            if layer.kind == "partition" || seen.contains(&layer.device) {
                continue;
            }
            seen.push(layer.device);
            let folder = reader.link(Path::new(&format!("/sys/dev/block/{}", layer.device)));
            let Some(folder) = reader.wanted(folder) else { continue };
            links::of_device(&mut reader, layer, &folder, &mut hardware.links);
            states::of_device(&mut reader, layer, &folder, &mut hardware.states);
            volumes::caches_of(&mut reader, layer, &folder, &mut hardware.caches);
            hardware.remote.extend(volumes::served_by(&mut reader, layer, &folder));
        }
    }
    hardware.governors = governors(&mut reader);
    hardware.unread = reader.unread().to_vec();
    hardware
}

/// Returns the governors of all CPUs, each once; empty where frequencies are not scaled.
fn governors(reader: &mut Reader) -> Vec<String> {
    let place = Path::new("/sys/devices/system/cpu/cpufreq");
    let policies = reader.names(place);
    let mut governors: Vec<String> = Vec::new();
    for policy in reader.optional(policies).into_iter().flatten() {
        if !policy.to_string_lossy().starts_with("policy") {
            continue;
        }
        let governor = reader.text(&place.join(policy).join("scaling_governor"));
        if let Some(governor) = reader.optional(governor)
            && !governors.contains(&governor)
        {
            governors.push(governor);
        }
    }
    governors
}
