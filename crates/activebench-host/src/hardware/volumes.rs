//! Caches inside devices, and volumes served by an array or another machine.

use std::path::Path;

use activebench_model::hardware::{DeviceCache, RemoteVolume};
use activebench_model::host::Layer;

use super::device_folder::{device_folder, text_if_any};
use crate::reader::Reader;

/// Adds the caches whose size is in sysfs: the caching devices of bcache (`/sys/block/bcache0/bcache/cache/cache0/`,
/// Documentation/admin-guide/bcache.rst). Disks do not report theirs.
pub(super) fn caches_of(reader: &mut Reader, layer: &Layer, folder: &Path, caches: &mut Vec<DeviceCache>) {
    if layer.kind != "bcache" {
        return;
    }
    let set = folder.join("bcache/cache");
    let set = reader.link(&set).unwrap_or(set);
    for name in reader.names(&set).unwrap_or_default() {
        let name = name.to_string_lossy().into_owned();
        if name.strip_prefix("cache").is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let cache = set.join(&name);
        let cache = reader.link(&cache).unwrap_or(cache);
        // The folder of the block device has its size, in sectors of 512 bytes.
        let file = cache.parent().map(|device| device.join("size")).unwrap_or_default();
        if let Some(sectors) = text_if_any(reader, &file).and_then(|text| text.parse::<u64>().ok()) {
            caches.push(DeviceCache {
                device: layer.device,
                name: format!("{name} of {}", layer.name),
                source: file.display().to_string(),
                bytes: sectors.saturating_mul(512),
            });
        }
    }
}

/// SCSI vendors that sell arrays and controllers with caches, as spelled in `device/vendor`.
const ARRAY_VENDORS: &[&str] = &[
    "3PARdata",
    "AVAGO",
    "BROADCOM",
    "COMPELNT",
    "DDN",
    "DELL",
    "DGC",
    "EMC",
    "FUJITSU",
    "HITACHI",
    "HP",
    "HPE",
    "HUAWEI",
    "IBM",
    "INFINIDAT",
    "LENOVO",
    "LSI",
    "NETAPP",
    "NEXSAN",
    "Nimble",
    "OPEN",
    "PURE",
    "QNAP",
    "SYNOLOGY",
    "Adaptec",
];

/// Returns the volume if an array or another machine serves the device, with the evidence; otherwise `None`.
pub(super) fn served_by(reader: &mut Reader, layer: &Layer, folder: &Path) -> Option<RemoteVolume> {
    let device = device_folder(reader, folder);
    let path = folder.display().to_string();
    let (by, source) = match layer.kind.as_str() {
        "nbd" | "rbd" | "drbd" => (format!("a network block device ({})", layer.kind), path),
        "nvme" => {
            let file = device.join("transport");
            let transport = text_if_any(reader, &file).filter(|transport| transport != "pcie")?;
            (format!("NVMe over {transport}"), file.display().to_string())
        }
        "scsi" if path.contains("/session") => ("iSCSI".to_owned(), path),
        "scsi" if path.contains("/rport-") => ("Fibre Channel".to_owned(), path),
        "scsi" => {
            let file = device.join("vendor");
            let vendor = text_if_any(reader, &file)?;
            let known = ARRAY_VENDORS.iter().any(|name| vendor.eq_ignore_ascii_case(name));
            known.then(|| (format!("an array or controller of {vendor}"), file.display().to_string()))?
        }
        _ => return None,
    };
    Some(RemoteVolume { device: layer.device, name: format!("{}, {by}", layer.name), source })
}
