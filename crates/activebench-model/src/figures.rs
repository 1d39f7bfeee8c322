//! The part of a judged run that is kept for views over many runs: its figures, and what they describe.
//!
//! Stored as the small derived table `figures.parquet`; `activebench-record` defines its columns.

use serde::{Deserialize, Serialize};

use crate::call::FileId;
use crate::claim::{Metric, Subject};
use crate::command::shell_command;
use crate::host::{ABOVE, Host, Layer, Target};
use crate::run::Manifest;
use crate::units::Quantity;
use crate::verdict::{ClaimVerdict, RunVerdict};

/// Placeholder in a command for the disk that it measured.
const TARGET: &str = "TARGET";

/// A judged run without its events: its description and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Version of activebench that judged it.
    pub activebench: String,
    /// Start of the run: UTC, seconds since the epoch.
    pub started_unix_s: i64,
    /// The machine's name; `None` where the record does not contain it.
    pub host: Option<String>,
    /// `uname -r`.
    pub kernel: String,
    /// The adapter's name, or the program's name where no adapter knew it.
    pub tool: String,
    /// The version that the tool prints.
    pub version: Option<String>,
    /// The command line as given, formatted for a shell.
    pub command: String,
    /// The command with `TARGET` in the place of the mount point or device node of what was measured. The same load on
    /// another disk has the same text.
    pub load: String,
    /// The `--profile` with which it was judged.
    pub profile: String,
    /// The run's verdict.
    pub verdict: RunVerdict,
    /// Why its record is not complete, in one line; `None` for a complete one.
    pub incomplete: Option<String>,
    /// One per claim, in the order of the output; empty for a run without claims.
    pub figures: Vec<RunFigure>,
}

impl RunFigures {
    /// Returns the figures of a run as far as its manifest has them. Tool version, verdict and figures are left open.
    pub fn of(manifest: &Manifest) -> Self {
        let argv = &manifest.command.argv;
        let load: Vec<String> = argv.iter().map(|word| load_word(word, &manifest.host.targets)).collect();
        Self {
            activebench: manifest.activebench.clone(),
            started_unix_s: manifest.clocks.started_unix_s,
            host: manifest.host.hostname.clone(),
            kernel: manifest.host.kernel.clone(),
            tool: manifest.command.program().to_owned(),
            version: None,
            command: shell_command(argv),
            load: shell_command(&load),
            profile: manifest.choices.profile.clone(),
            verdict: RunVerdict::Inconclusive,
            incomplete: None,
            figures: Vec::new(),
        }
    }

    /// Adds a figure and sets its place among its equals; the place in the argument is ignored.
    pub fn push(&mut self, figure: RunFigure) {
        let equals = self.figures.iter().filter(|known| (&known.phase, known.metric) == (&figure.phase, figure.metric));
        let place = u32::try_from(equals.count()).unwrap_or(u32::MAX);
        self.figures.push(RunFigure { place, ..figure });
    }
}

/// One claim of a judged run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigure {
    /// [`crate::phase::Phase::id`].
    pub phase: String,
    /// Kind of number.
    pub metric: Metric,
    /// Index among the run's claims of this phase and metric, from 0.
    pub place: u32,
    /// Subject that the figure is taken to describe.
    pub subject: Subject,
    /// The printed number, normalised.
    pub claimed: Quantity,
    /// The honest figure, in the unit of `claimed`; `None` where there is none.
    pub honest: Option<f64>,
    /// Why there is no honest figure; set exactly when there is none.
    pub no_honest: Option<String>,
    /// The verdict on the claim.
    pub verdict: ClaimVerdict,
    /// The storage below the phase's files.
    pub disk: Disk,
    /// Bytes that others moved at the device during the window / all bytes that it moved, 0 to 1; `None` where
    /// that is not completely known.
    pub foreign_io_ratio: Option<f64>,
}

/// The storage below a phase's files, by the properties that distinguish it. All text is the host's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Disk {
    /// The kernel's name: `nvme0n1`, `loop0 (/srv/disk.img)`, for several devices `sda, sdb`. For a file system without
    /// a device its type and mount point. `None` where it is unknown.
    pub name: Option<String>,
    /// Vendor's model; `None` where the kernel does not report one.
    pub model: Option<String>,
    /// Serial number, for NVMe with the namespace where it is not the first; `None` where the record has none.
    pub serial: Option<String>,
    /// File system, or `block-device` for a raw one.
    pub file_system: Option<String>,
}

impl Disk {
    /// Returns the storage below these files; without files, that of the host when the run used only one.
    pub fn below(host: &Host, files: impl Iterator<Item = FileId>) -> Self {
        let targets = host.targets_of(files);
        match (targets.is_empty(), host.targets.as_slice()) {
            (true, [only]) => Self::of(&[only]),
            _ => Self::of(&targets),
        }
    }

    /// Returns the storage of these targets, in their order.
    fn of(targets: &[&Target]) -> Self {
        let joined = |words: Vec<String>| (!words.is_empty()).then(|| words.join(", "));
        let each = |of: &dyn Fn(&Target) -> Vec<String>| {
            let mut words: Vec<String> = Vec::new();
            for word in targets.iter().flat_map(|target| of(target)) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            joined(words)
        };
        let said =
            |of: fn(&Layer) -> Option<String>| move |target: &Target| disks(target).filter_map(of).collect::<Vec<_>>();
        Self {
            name: each(&names),
            model: each(&said(|layer| layer.model().map(str::to_owned))),
            serial: each(&said(serial)),
            file_system: each(&|target| vec![target.fs_type.clone()]),
        }
    }
}

/// Returns what distinguishes a disk from others of its model. An NVMe controller can have several disks, its
/// namespaces.
fn serial(layer: &Layer) -> Option<String> {
    let serial = layer.serial()?;
    match layer.attributes.get("nsid").map(|number| number.trim()) {
        None | Some("1") => Some(serial.to_owned()),
        Some(namespace) => Some(format!("{serial} namespace {namespace}")),
    }
}

/// Returns the lowest layers below the judged devices. A loop device counts as such a layer itself:
/// its backing file distinguishes it from others.
fn disks(target: &Target) -> impl Iterator<Item = &Layer> {
    let backed = target.devices().any(|device| device.kind == "loop");
    let is_below = move |layer: &&Layer| {
        let carries = target.layers.iter().any(|other| other.attributes.get(ABOVE) == Some(&layer.name));
        !backed && !carries && layer.kind != "partition"
    };
    target.layers.iter().filter(is_below)
}

fn names(target: &Target) -> Vec<String> {
    let name = |layer: &Layer| match (&layer.backing_file, layer.attributes.get("dm/name")) {
        // The number of a loop device changes each time; its file identifies it.
        (Some(file), _) => format!("{} ({file})", layer.kind),
        (None, Some(dm)) => format!("{} ({dm})", layer.name),
        (None, None) => layer.name.clone(),
    };
    let names: Vec<String> = target.devices().map(name).collect();
    match names.is_empty() {
        true => vec![format!("{} {}", target.fs_type, target.mount_point)],
        false => names,
    }
}

/// Replaces the place of the measured storage in a word of a command by `TARGET`. The place is its mount point, or a
/// device node by the kernel's name or the device mapper's.
///
/// Only whole components of paths are replaced, and never the root. A job file elsewhere stays unchanged, because
/// another one would be another load. A link below `/dev/disk` also stays: the record does not show where it leads.
fn load_word(word: &str, targets: &[Target]) -> String {
    let layers = || targets.iter().flat_map(|target| &target.layers);
    let nodes = layers().map(|layer| format!("/dev/{}", layer.name));
    let mapped = layers().filter_map(|layer| layer.attributes.get("dm/name"));
    let mapped = mapped.map(|name| format!("/dev/mapper/{}", name.trim())).filter(|node| node != "/dev/mapper/");
    let mounts = targets.iter().map(|target| target.mount_point.trim_end_matches('/').to_owned());
    let mut places: Vec<String> = nodes.chain(mapped).chain(mounts).filter(|place| place.len() > 1).collect();
    places.sort_by_key(|place| std::cmp::Reverse(place.len()));
    let mut text = String::new();
    let mut rest = word;
    'word: while let Some(next) = rest.chars().next() {
        for place in places.iter().filter(|_| next == '/' && may_begin(&text)) {
            if let Some(behind) = rest.strip_prefix(place.as_str())
                && behind.chars().next().is_none_or(|sign| !sign.is_alphanumeric() && !"_-.".contains(sign))
            {
                text.push_str(TARGET);
                rest = behind;
                continue 'word;
            }
        }
        text.push(next);
        rest = &rest[next.len_utf8()..];
    }
    text
}

/// Returns `true` when a path may begin after this text: at the start of a word or after an option's letter (`/mnt`,
/// `--filename=/mnt`, `-f/mnt`, `'cd /mnt`).
fn may_begin(text: &str) -> bool {
    let ends = |sign: char| sign.is_whitespace() || "=:,;'\"()".contains(sign);
    // The search stops at a slash: after a slash the path continues.
    let (at, before) = match text.char_indices().rfind(|(_, sign)| ends(*sign) || *sign == '/') {
        Some((at, sign)) => (Some(sign), &text[at + sign.len_utf8()..]),
        None => (None, text),
    };
    at != Some('/') && (before.is_empty() || before.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::DeviceNumber;
    use crate::host::Tier;

    fn layer(name: &str, kind: &str, above: &str, attributes: &[(&str, &str)]) -> Layer {
        let own = attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Layer {
            name: name.to_owned(),
            device: DeviceNumber(1),
            kind: kind.to_owned(),
            attributes: own.chain([(ABOVE.to_owned(), above.to_owned())]).collect(),
            ..Layer::default()
        }
    }

    fn target(mount_point: &str, fs_type: &str, layers: Vec<Layer>) -> Target {
        let (s_dev, tier) = (DeviceNumber(1), Tier::Block);
        Target { s_dev, mount_point: mount_point.into(), fs_type: fs_type.into(), options: String::new(), layers, tier }
    }

    #[test]
    fn a_disk_is_known_by_what_the_lowest_device_says() {
        let model = [("device/model", "ACME 9000  "), ("device/serial", "S1")];
        let nvme = target(
            "/mnt",
            "ext4",
            vec![layer("nvme0n1p1", "partition", "ext4", &[]), layer("nvme0n1", "nvme", "nvme0n1p1", &model)],
        );
        let dm = target(
            "/lv",
            "xfs",
            vec![
                layer("dm-0", "dm", "xfs", &[("dm/name", "vg-lv")]),
                layer("sda", "scsi", "dm-0", &[("device/model", "A"), ("device/serial", "S2")]),
                layer("sdb", "scsi", "dm-0", &[("device/model", "A")]),
            ],
        );
        let mut image = layer("loop3", "loop", "ext4", &[]);
        image.backing_file = Some("/srv/disk.img".to_owned());
        let image = target("/l", "ext4", vec![image, layer("nvme0n1", "nvme", "loop3", &model)]);
        let memory = target("/tmp", "tmpfs", Vec::new());
        // Namespaces of one controller share its serial number.
        let namespace = |name: &str, number| {
            let attributes = [("device/model", "ACME 9000"), ("device/serial", "S1"), ("nsid", number)];
            target("/mnt", "ext4", vec![layer(name, "nvme", "ext4", &attributes)])
        };
        let (first, second) = (namespace("nvme0n1", "1"), namespace("nvme0n2", "2"));
        for (targets, name, model, serial) in [
            (vec![&nvme], Some("nvme0n1"), Some("ACME 9000"), Some("S1")),
            (vec![&first], Some("nvme0n1"), Some("ACME 9000"), Some("S1")),
            (vec![&second], Some("nvme0n2"), Some("ACME 9000"), Some("S1 namespace 2")),
            (vec![&dm], Some("dm-0 (vg-lv)"), Some("A"), Some("S2")),
            (vec![&image], Some("loop (/srv/disk.img)"), None, None),
            (vec![&memory], Some("tmpfs /tmp"), None, None),
            (vec![&nvme, &memory], Some("nvme0n1, tmpfs /tmp"), Some("ACME 9000"), Some("S1")),
            (vec![], None, None, None),
        ] {
            let disk = Disk::of(&targets);
            let found = (disk.name.as_deref(), disk.model.as_deref(), disk.serial.as_deref());
            assert_eq!(found, (name, model, serial));
        }
    }

    #[test]
    fn the_measured_place_is_taken_out_of_a_command_and_nothing_else() {
        let targets = [
            target("/mnt/a", "ext4", vec![layer("nvme0n1", "nvme", "ext4", &[])]),
            target("/dev/dm-0", "block-device", vec![layer("dm-0", "dm", "block-device", &[("dm/name", "vg-lv")])]),
            target("/", "ext4", Vec::new()),
            target("/mnt/a/deep", "xfs", Vec::new()),
        ];
        for (word, expected) in [
            ("/mnt/a", "TARGET"),
            ("/mnt/a/file", "TARGET/file"),
            ("/mnt/a/deep/file", "TARGET/file"),
            ("-f/mnt/a/file", "-fTARGET/file"),
            ("--filename=/dev/nvme0n1", "--filename=TARGET"),
            ("--filename=/dev/nvme0n1p2", "--filename=/dev/nvme0n1p2"),
            ("/dev/dm-0", "TARGET"),
            ("--filename=/dev/mapper/vg-lv", "--filename=TARGET"),
            ("/dev/mapper/vg-lv2", "/dev/mapper/vg-lv2"),
            ("/dev/disk/by-id/dm-name-vg-lv", "/dev/disk/by-id/dm-name-vg-lv"),
            ("--filename=/mnt/a/x:/mnt/a/y", "--filename=TARGET/x:TARGET/y"),
            ("cd /mnt/a && iozone", "cd TARGET && iozone"),
            ("/mnt/ab/file", "/mnt/ab/file"),
            ("/mnt/a.old", "/mnt/a.old"),
            ("/srv/mnt/a", "/srv/mnt/a"),
            ("data/mnt/a", "data/mnt/a"),
            ("/etc/jobs/a.fio", "/etc/jobs/a.fio"),
            ("-s64m", "-s64m"),
            ("größe", "größe"),
        ] {
            assert_eq!(load_word(word, &targets), expected, "{word}");
        }
        // The time grows linearly with the word, not with its square.
        for long in ["a".repeat(1 << 20), "/".repeat(1 << 20)] {
            assert_eq!(load_word(&long, &targets).len(), 1 << 20);
        }
    }
}
