//! A commented acceptance file for one device.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use activebench_detect::acceptance::identities;
use activebench_host::{Process, Roots, Survey};
use activebench_model::acceptance::DeviceIdentity;
use activebench_model::host::Target;
use activebench_model::units::Quantity;
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};
use time::OffsetDateTime;

use super::check::below;
use crate::failure::{ExitCode, Failure, OrExit};
use crate::free_space::room;

/// Returns a commented acceptance file for a directory or a block device.
///
/// # Errors
/// Returns an error if nothing is known of the target.
pub fn template(target: &Path) -> Result<String, Failure> {
    let target = std::fs::canonicalize(target)
        .with_context(|| format!("cannot look at {} (hint: a directory or a block device)", target.display()))
        .or_exit(ExitCode::Usage)?;
    let is_device = std::fs::metadata(&target).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let below = below(&mut survey, &target, is_device).map_err(|why| Failure::new(ExitCode::Usage, anyhow!(why)))?;
    let hardware = activebench_host::read_hardware(&Roots::default(), std::slice::from_ref(&below));
    Ok(text(&Place {
        path: target.display().to_string(),
        is_device,
        devices: identities(&below, &hardware.links),
        below: &below,
        free_bytes: room(&target).ok().map(|room| room.free_bytes),
        memory_bytes: activebench_host::read_host(&Roots::default(), Process::Own, &[]).usable_memory_bytes(),
        today: OffsetDateTime::now_utc().date().to_string(),
    }))
}

/// Values that the template is made from.
struct Place<'a> {
    path: String,
    is_device: bool,
    devices: Vec<DeviceIdentity>,
    below: &'a Target,
    free_bytes: Option<u64>,
    memory_bytes: Option<u64>,
    today: String,
}

/// Returns a text as a TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in terminal(text).chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted + "\""
}

fn text(place: &Place<'_>) -> String {
    let mut text = HEAD.replace("TODAY", &place.today);
    text.push_str(&target(place));
    text.push_str(&benchmarks(place));
    text.push_str(LIMITS);
    text.push_str(RULES);
    text
}

fn target(place: &Place<'_>) -> String {
    let mut text = String::from("\n[target]\n");
    let kind = if place.is_device { "device" } else { "path" };
    text.push_str(&format!("{kind} = {}\n", quoted(&place.path)));
    if place.is_device {
        text.push_str("# Everything on the device may be lost: needed for benchmarks that write.\n# destroy = true\n");
    } else {
        let file_system = format!("{} mounted on {}", place.below.fs_type, place.below.mount_point);
        text.push_str(&format!("# It is on {}.\n", terminal(&file_system)));
    }
    for device in &place.devices {
        let size = device.size_bytes.map_or("size not known".to_owned(), |bytes| Quantity::bytes(bytes).to_string());
        let links: String = device.links.iter().map(|link| format!(", {link}")).collect();
        text.push_str(&format!("# {}\n", terminal(&format!("{}: {}, {size}{links}", device.name, device.kind))));
    }
    let known = |device: &&DeviceIdentity| {
        [&device.model, &device.serial, &device.firmware].into_iter().any(|part| part.is_some())
    };
    match place.devices.iter().find(known) {
        Some(device) => {
            text.push_str("\n# A device of another identity is not the one that was agreed on.\n[target.identity]\n");
            for (name, value) in
                [("model", &device.model), ("serial", &device.serial), ("firmware", &device.firmware)]
            {
                match value {
                    Some(value) => text.push_str(&format!("{name} = {}\n", quoted(value))),
                    None => text.push_str(&format!("# {name} = \"...\"  # {} does not say it\n", terminal(&device.name))),
                }
            }
        }
        None => text.push_str(
            "\n# No device below says its model, serial number or firmware: nothing can be asked of them here.\n# [target.identity]\n# \
             model = \"...\"\n# serial = \"...\"\n# firmware = \"...\"\n",
        ),
    }
    text
}

/// Returns the file size for the benchmarks: twice the memory if there is room for it.
fn size(place: &Place<'_>) -> String {
    let room = place.free_bytes.map(|bytes| bytes / 2);
    match (room, place.memory_bytes) {
        (Some(room), Some(memory)) if room < 2 * memory => format!("{{{} MiB in MiB}}M", (room >> 20).max(1)),
        _ => "{2 x ram in MiB}M".to_owned(),
    }
}

fn benchmarks(place: &Place<'_>) -> String {
    let (lead, file, size) = match place.is_device {
        true => (ON_A_DEVICE, "--filename={target}\", \"--readonly", "{1 x device in MiB}M".to_owned()),
        false => (IN_A_DIRECTORY, "--filename=activebench-accept.dat", size(place)),
    };
    let mut text = format!("{lead}{READS}").replace("FILE", file).replace("SIZE", &size);
    let write = match place.is_device {
        true => {
            WRITE.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("# {line}\n") }).collect()
        }
        false => WRITE.to_owned(),
    };
    let file = if place.is_device { "--filename={target}" } else { file };
    text.push_str(&write.replace("FILE", file).replace("SIZE", &size));
    text
}

const HEAD: &str = "\
# What buyer and vendor agreed on, before anything was measured. Words and rules: docs/accept.md.
#   activebench accept --check FILE.toml        says whether it can be used, what will run, how long and what it writes
#   sudo activebench accept FILE.toml           runs the suite, records it, and judges it
#   activebench accept FILE.toml OUT            judges what was recorded, without root, on any machine
# Its SHA-256 stands in every recorded run and in the report: whoever changes a byte afterwards is found.

format = 1

[parties]
buyer = \"(who decides on the device)\"
vendor = \"(who offers it)\"
# reference = \"offer 42\"
date = \"TODAY\"
";

const IN_A_DIRECTORY: &str = "
# The suite. Each command runs in the target directory, so many times. Placeholders: {target}, and sizes like
# {2 x ram in MiB}, {1 x device in MiB}, {10 GiB}. The file of the reads is written once, before their clock runs.
";

const ON_A_DEVICE: &str = "
# The suite. Each command runs so many times. Placeholders: {target}, and sizes like {2 x ram in MiB},
# {1 x device in MiB}, {10 GiB}.
";

const READS: &str = "
[[benchmark]]
name = \"random-read\"
command = [
    \"fio\", \"--name=random\", \"--rw=randread\", \"--bs=4k\", \"--iodepth=32\", \"--ioengine=libaio\", \"--direct=1\",
    \"--randrepeat=0\", \"--time_based\", \"--runtime=60\", \"--size=SIZE\", \"FILE\",
]
runs = 6  # from 6 on the uncertainty of the median needs no assumption

[[benchmark]]
name = \"sequential-read\"
command = [
    \"fio\", \"--name=sequential\", \"--rw=read\", \"--bs=1m\", \"--iodepth=8\", \"--ioengine=libaio\", \"--direct=1\",
    \"--time_based\", \"--runtime=60\", \"--size=SIZE\", \"FILE\",
]
runs = 6
";

const WRITE: &str = "
[[benchmark]]
name = \"sequential-write\"
command = [
    \"fio\", \"--name=sequential\", \"--rw=write\", \"--bs=1m\", \"--iodepth=8\", \"--ioengine=libaio\", \"--direct=1\",
    \"--end_fsync=1\", \"--refill_buffers\", \"--size=SIZE\", \"FILE\",
]
runs = 6
subject = \"durable-write\"
";

const LIMITS: &str = "
# The limits, to be agreed on: on the honest figures, the median of all runs. Take away the signs and put in figures.
#
# [[limit]]
# benchmark = \"random-read\"
# phase = \"random-read\"           # as `--check` lists them
# metric = \"operation-rate\"       # names as in report.json
# at_least = \"30000 IOPS\"
# tolerance = \"1 %\"               # uncertainty that both agree to add; of the limit, or in its unit
#
# [[limit]]
# benchmark = \"random-read\"
# phase = \"random-read\"
# metric = \"completion-latency-p99\"   # what fio states of an asynchronous engine
# at_most = \"5 ms\"
#
# [[limit]]
# benchmark = \"sequential-read\"
# phase = \"sequential-read\"
# metric = \"throughput\"
# at_least = \"200 MB/s\"
";

const RULES: &str = "
[conditions]
foreign_io_at_most = \"2 %\"   # of the bytes at the device
no_throttling = true         # no limit of a control group, no rate that falls during a run
steady_state = true          # the last five runs, by the rule of SNIA PTS 2.0.2
probes_complete = true       # nothing of the observation lost, no I/O that it does not see
reproducible = true          # the runs within 5 % of their median
not_met = \"not-judged\"       # or \"fail\"

[decision]
rule = \"guard-band\"          # w = U, ILAC-G8:09/2019; or \"simple\"
conditional_pass = \"accept\"  # or \"reject\"
";
