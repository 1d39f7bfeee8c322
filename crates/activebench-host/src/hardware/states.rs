//! State of arrays, disks and file systems, as they report it.

use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;
use activebench_model::hardware::{State, StateKind};
use activebench_model::host::{Layer, Target};

use super::device_folder::{device_folder, text_if_any};
use crate::block::linked_devices;
use crate::reader::{Reader, device_name};

/// Adds the states of one device.
pub(super) fn of_device(reader: &mut Reader, layer: &Layer, folder: &Path, states: &mut Vec<State>) {
    let mut add = |reader: &mut Reader, name: &str, file: &Path, kind| {
        if let Some(value) = text_if_any(reader, file).filter(|value| !value.is_empty()) {
            let source = file.display().to_string();
            states.push(State { device: layer.device, name: name.to_owned(), source, kind, value });
        }
    };
    let device = device_folder(reader, folder);
    match layer.kind.as_str() {
        "md" => {
            add(reader, &layer.name, &folder.join("md/sync_action"), StateKind::ArraySync);
            add(reader, &layer.name, &folder.join("md/degraded"), StateKind::ArrayDegraded);
        }
        "nvme" => {
            // A subsystem with several paths has several controllers, a plain disk its own one.
            for controller in controllers(reader, &device) {
                let name = Some(device_name(&controller)).filter(|name| name.starts_with("nvme"));
                let name = name.unwrap_or_else(|| layer.name.clone());
                add(reader, &name, &controller.join("state"), StateKind::Controller);
                for alarm in alarms_of(reader, &controller) {
                    add(reader, &name, &alarm, StateKind::TemperatureAlarm);
                }
            }
        }
        "scsi" => {
            add(reader, &layer.name, &device.join("state"), StateKind::ScsiDisk);
            for alarm in alarms_of(reader, &device) {
                add(reader, &layer.name, &alarm, StateKind::TemperatureAlarm);
            }
        }
        _ => {}
    }
}

/// Returns the NVMe controllers of a disk: those that its subsystem lists, or else the folder `device` itself.
pub(super) fn controllers(reader: &Reader, device: &Path) -> Vec<PathBuf> {
    let is_controller = |name: &str| name.strip_prefix("nvme").is_some_and(|number| number.parse::<u32>().is_ok());
    let listed = reader.names(device).unwrap_or_default();
    let paths: Vec<PathBuf> = listed
        .iter()
        .filter(|name| is_controller(&name.to_string_lossy()))
        .map(|name| device.join(name))
        .map(|path| reader.link(&path).unwrap_or(path))
        .collect();
    if paths.is_empty() { vec![device.to_owned()] } else { paths }
}

/// Returns the alarms of a device's temperature sensors. NVMe: the critical temperature warning
/// (drivers/nvme/host/hwmon.c of Linux 6.12). The sensors are below the controller, or in its own folder `hwmon`.
fn alarms_of(reader: &Reader, device: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in [device.to_owned(), device.join("hwmon"), device.join("device/hwmon")] {
        for name in reader.names(&place).unwrap_or_default() {
            let alarm = place.join(&name).join("temp1_alarm");
            if name.to_string_lossy().starts_with("hwmon") && reader.exists(&alarm).unwrap_or(false) {
                found.push(alarm);
            }
        }
    }
    found
}

/// Returns the alarms of all disks of the host, each with its disk and its file. Reading one makes the disk answer.
pub(crate) fn temperature_alarms(reader: &Reader) -> Vec<(String, String, bool)> {
    let mut found = Vec::new();
    for (place, inner) in [("/sys/class/nvme", ""), ("/sys/class/scsi_disk", "device")] {
        for name in reader.names(Path::new(place)).unwrap_or_default() {
            let entry = Path::new(place).join(&name);
            let folder = reader.link(&entry).unwrap_or(entry);
            let device = if inner.is_empty() { folder } else { device_folder(reader, &folder) };
            for alarm in alarms_of(reader, &device) {
                if let Ok(hot) = reader.flag(&alarm) {
                    found.push((name.to_string_lossy().into_owned(), alarm.display().to_string(), hot));
                }
            }
        }
    }
    found
}

/// Adds `/sys/fs/btrfs/UUID/devinfo/N/{missing,error_stats}`, since Linux 5.6 and 5.14.
pub(super) fn of_btrfs(reader: &mut Reader, target: &Target, states: &mut Vec<State>) {
    let place = Path::new("/sys/fs/btrfs");
    let file_systems = reader.names(place);
    let members: Vec<DeviceNumber> = target.layers.iter().map(|layer| layer.device).collect();
    for id in reader.optional(file_systems).into_iter().flatten() {
        let folder = place.join(id);
        let devices = linked_devices(reader, &folder.join("devices"));
        if !devices.iter().any(|device| members.contains(device)) {
            continue;
        }
        let infos = reader.names(&folder.join("devinfo"));
        for number in reader.optional(infos).into_iter().flatten() {
            let info = folder.join("devinfo").join(&number);
            for (file, kind) in [("missing", StateKind::MemberMissing), ("error_stats", StateKind::MemberErrors)] {
                let file = info.join(file);
                let text = match kind {
                    // Without the device there are no counters, and reading the file fails.
                    StateKind::MemberErrors => reader.text(&file).ok(),
                    _ => text_if_any(reader, &file),
                };
                let Some(text) = text else { continue };
                states.push(State {
                    device: target.s_dev,
                    name: format!("member {} of btrfs", number.to_string_lossy()),
                    source: file.display().to_string(),
                    kind,
                    value: text.lines().map(str::trim).collect::<Vec<_>>().join(", "),
                });
            }
        }
    }
}
