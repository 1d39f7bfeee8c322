//! Bounds of what the devices did for a phase, from the counters that a tracer read beside the calls.
//!
//! The counters are of everybody. Between the last reading before a window and the first after it they grow by at least
//! what the phase caused, so that their growth bounds it from above, and from no other side.

use activebench_model::call::DeviceNumber;
use activebench_model::coverage::{Coverage, DeviceCounters, DeviceReading};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::units::Quantity;
use foldhash::HashSet;

use super::device::{DeviceSeen, Devices};

/// Source of the counters.
const SOURCE: &str = "/sys/dev/block/MAJOR:MINOR/stat";

/// The growth of the counters of several devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Growth {
    reads: u64,
    read_bytes: u64,
    write_bytes: u64,
    /// `None` if a device does not count them, or does without them.
    flushes: Option<u64>,
}

/// Adds the bounds to the facts of a phase, if a tracer observed.
pub(super) fn add(coverage: &Coverage, seen: &DeviceSeen, facts: &mut Facts) {
    let Some(traced) = &coverage.traced else { return };
    let plan = &seen.plan;
    let devices = match &seen.devices {
        Devices::None(why) => Err(why.clone()),
        // Of no device nothing is known, and that is not 0.
        Devices::Requests(devices) | Devices::Bios(devices) if devices.is_empty() => {
            Err("the devices of the pass are not known".to_owned())
        }
        Devices::Requests(devices) | Devices::Bios(devices) => Ok(devices),
    };
    let over = |end_ns: u64| growth(&traced.devices, devices.clone()?, plan.window.start_ns, end_ns);
    let mut add = |name: FactName, bound: Result<Quantity, String>| {
        let fact = match bound {
            Ok(bound) => Fact::complete(bound, Scope::Device, SOURCE),
            Err(why) => Fact::missing(why, Scope::Device, SOURCE),
        };
        facts.insert(name, fact);
    };
    let inside = over(plan.window.end_ns);
    let of = |growth: &Result<Growth, String>, bytes: fn(&Growth) -> u64| {
        growth.as_ref().map(|growth| Quantity::bytes(bytes(growth))).map_err(Clone::clone)
    };
    add(FactName::DeviceReadAtMost, of(&inside, |growth| growth.read_bytes));
    add(FactName::DeviceReadsAtMost, inside.as_ref().map(|growth| Quantity::count(growth.reads)).map_err(Clone::clone));
    add(FactName::DeviceWriteAtMost, of(&inside, |growth| growth.write_bytes));
    let durable_ns = plan.files.values().map(|file| file.durable_ns).max().unwrap_or(0).max(plan.span_end_ns);
    add(FactName::DeviceWriteDurableAtMost, of(&over(durable_ns), |growth| growth.write_bytes));
    let flushes = over(plan.span_end_ns).and_then(|growth| {
        let why = "a device takes writes with FUA, or does not count its FLUSH requests";
        growth.flushes.map(Quantity::count).ok_or_else(|| why.to_owned())
    });
    add(FactName::FlushesAtMost, flushes);
}

/// Returns the growth over this time, of all of these devices.
fn growth(
    counters: &[DeviceCounters],
    devices: &HashSet<DeviceNumber>,
    start_ns: u64,
    end_ns: u64,
) -> Result<Growth, String> {
    let mut all = Growth { flushes: Some(0), ..Growth::default() };
    for device in devices {
        let of_device = of_device(counters, *device, start_ns, end_ns)?;
        all = Growth {
            reads: all.reads.saturating_add(of_device.reads),
            read_bytes: all.read_bytes.saturating_add(of_device.read_bytes),
            write_bytes: all.write_bytes.saturating_add(of_device.write_bytes),
            flushes: all.flushes.zip(of_device.flushes).map(|(all, more)| all.saturating_add(more)),
        };
    }
    Ok(all)
}

fn of_device(counters: &[DeviceCounters], device: DeviceNumber, start_ns: u64, end_ns: u64) -> Result<Growth, String> {
    let counters = counters.iter().find(|counters| counters.device == device);
    let counters = counters.ok_or_else(|| format!("the device {device} does not count all of its requests"))?;
    let before = counters.readings.iter().rev().find(|reading| reading.to_ns <= start_ns);
    let after = counters.readings.iter().find(|reading| reading.from_ns >= end_ns);
    let (before, after) = before.zip(after).ok_or("the readings of the device's counters do not cover the pass")?;
    let grown = |of: fn(&DeviceReading) -> u64| {
        of(after).checked_sub(of(before)).ok_or_else(|| "a counter of the device went backwards".to_owned())
    };
    let flushes = match counters.takes_fua {
        Some(false) => before.flushes.zip(after.flushes).and_then(|(before, after)| after.checked_sub(before)),
        _ => None,
    };
    Ok(Growth {
        reads: grown(|reading| reading.reads)?,
        read_bytes: grown(|reading| reading.read_bytes)?,
        write_bytes: grown(|reading| reading.write_bytes)?,
        flushes,
    })
}

#[cfg(test)]
mod tests {
    use activebench_model::coverage::Traced;
    use activebench_model::phase::{Direction, Window};
    use foldhash::HashMap;

    use super::*;
    use crate::facts::device::{Below, DevicePlan, DeviceTally};

    const DEVICE: DeviceNumber = DeviceNumber(7 << 20);

    fn counters(takes_fua: Option<bool>) -> Vec<DeviceCounters> {
        let reading = |at_ns: u64, read_bytes: u64, flushes: u64| DeviceReading {
            from_ns: at_ns - 1,
            to_ns: at_ns + 1,
            read_bytes,
            flushes: Some(flushes),
            ..DeviceReading::default()
        };
        let readings = vec![reading(10, 100, 4), reading(20, 150, 4), reading(30, 400, 4), reading(40, 900, 5)];
        vec![DeviceCounters { device: DEVICE, takes_fua, readings }]
    }

    #[test]
    fn the_growth_around_a_window_bounds_what_happened_in_it() {
        let over = |start_ns, end_ns| of_device(&counters(Some(false)), DEVICE, start_ns, end_ns);
        let bound = |start_ns, end_ns| over(start_ns, end_ns).map(|growth| (growth.read_bytes, growth.flushes));
        assert_eq!(bound(21, 29), Ok((250, Some(0))));
        // A reading that may have been inside the window is none around it.
        assert_eq!(bound(20, 30), Ok((800, Some(1))));
        assert_eq!(bound(11, 11), Ok((50, Some(0))));
        assert!(over(5, 15).is_err() && over(15, 50).is_err());
    }

    #[test]
    fn of_no_device_nothing_is_known() {
        let coverage = Coverage { traced: Some(Traced::default()), ..Coverage::default() };
        for devices in [HashSet::default(), [DEVICE].into_iter().collect()] {
            let mut facts = Facts::default();
            let seen = DeviceSeen { devices: Devices::Requests(devices), ..seen() };
            add(&coverage, &seen, &mut facts);
            assert!(facts.0.len() == 5 && facts.0.keys().all(|name| facts.complete(*name).is_err()), "{facts:?}");
        }
        let mut facts = Facts::default();
        add(&Coverage::default(), &seen(), &mut facts);
        assert!(facts.0.is_empty());
    }

    fn seen() -> DeviceSeen {
        DeviceSeen {
            plan: DevicePlan {
                window: Window { start_ns: 21, end_ns: 29 },
                files: HashMap::default(),
                devices: Ok(HashSet::default()),
                span_end_ns: 29,
                direction: Direction::Read,
                together: None,
                below: Below::default(),
            },
            devices: Devices::None(String::new()),
            tally: DeviceTally::default(),
            below: Vec::new(),
            below_takes_bios: false,
        }
    }

    #[test]
    fn flushes_say_nothing_where_writes_do_without_them_and_a_strange_device_nothing_at_all() {
        for takes_fua in [Some(true), None] {
            let growth = of_device(&counters(takes_fua), DEVICE, 21, 29).expect("it is known");
            assert_eq!((growth.read_bytes, growth.flushes), (250, None));
        }
        assert!(of_device(&counters(None), DeviceNumber(1), 21, 29).is_err());
        let mut reset = counters(Some(false));
        reset[0].readings[2].read_bytes = 0;
        assert!(of_device(&reset, DEVICE, 21, 29).is_err());
    }
}
