//! By what devices are known, and whether one of them is the one that was agreed on.

use activebench_model::acceptance::{ConditionState, DeviceIdentity};
use activebench_model::hardware::Link;
use activebench_model::host::{self, Layer};

use super::unit::Target;

/// The devices below a target, from the top down, without partitions.
pub fn identities(target: &host::Target, links: &[Link]) -> Vec<DeviceIdentity> {
    let whole = target.layers.iter().filter(|layer| layer.kind != "partition");
    whole.map(|layer| identity(layer, links)).collect()
}

fn identity(layer: &Layer, links: &[Link]) -> DeviceIdentity {
    let first = |names: &[&str]| names.iter().find_map(|name| layer.attributes.get(*name)).cloned();
    let links = links.iter().filter(|link| link.device == layer.device);
    DeviceIdentity {
        name: layer.name.clone(),
        kind: layer.kind.clone(),
        model: layer.model().map(str::to_owned),
        serial: layer.serial().map(str::to_owned),
        firmware: first(&["device/firmware_rev", "device/rev"]),
        links: links.map(|link| link.name.clone()).collect(),
        size_bytes: layer.size_bytes,
    }
}

/// A part of an identity: what people call it, and what a device says.
type Part = (&'static str, fn(&DeviceIdentity) -> &Option<String>);

const MODEL: Part = ("model", |device| &device.model);
const SERIAL: Part = ("serial number", |device| &device.serial);
const FIRMWARE: Part = ("firmware", |device| &device.firmware);

impl Target {
    fn expected(&self) -> impl Iterator<Item = (Part, &str)> {
        let parts = [(MODEL, &self.model), (SERIAL, &self.serial), (FIRMWARE, &self.firmware)];
        parts.into_iter().filter_map(|(part, wanted)| Some((part, wanted.as_deref()?.trim())))
    }

    /// Returns `true` if the file asks for an identity.
    pub fn asks_identity(&self) -> bool {
        self.expected().next().is_some()
    }

    /// `model EXAMPLE SSD 1, serial number S0123`; empty where the file asks for no identity.
    pub fn identity_words(&self) -> String {
        self.expected().map(|((name, _), wanted)| format!("{name} {wanted}")).collect::<Vec<_>>().join(", ")
    }

    /// Returns `true` if one of the devices below the target is the one that was agreed on, and what that rests on. A
    /// device that says nothing otherwise may be it: then it is not known.
    pub fn is_among(&self, devices: &[DeviceIdentity]) -> (ConditionState, String) {
        if !self.asks_identity() {
            return (ConditionState::NotAsked, String::new());
        }
        let (mut unsaid, mut other) = (Vec::new(), Vec::new());
        for device in devices {
            let (missing_before, other_before) = (unsaid.len(), other.len());
            for ((name, said), wanted) in self.expected() {
                match said(device).as_deref().map(str::trim) {
                    None => unsaid.push(format!("{} does not say its {name}", device.name)),
                    Some(found) if found == wanted => {}
                    Some(found) => other.push(format!("the {name} of {} is {found}", device.name)),
                }
            }
            if other.len() > other_before {
                // A property that such a device does not state is not a reason for anything.
                unsaid.truncate(missing_before);
            } else if unsaid.len() == missing_before {
                return (ConditionState::Met, format!("{} is that device", device.name));
            }
        }
        if devices.is_empty() {
            unsaid.push("no device is known below the files".to_owned());
        }
        let state = if other.is_empty() { ConditionState::NotKnown } else { ConditionState::NotMet };
        let why = [other.join(", "), unsaid.join(", ")];
        (state, why.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "))
    }
}
