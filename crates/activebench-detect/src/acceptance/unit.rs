//! The units under test: which device or directory each is, and by what it must be known.
//!
//! A file names one unit in `[target]`, several in `[[unit]]`, or none: then the command line does, and the same file
//! serves any number of units. `[target]` without a path holds what is agreed on for each of them.

use std::path::Path;

use super::document::{Faulty, Fields, Placed};
use super::fault::{Fault, Faults};
use super::file::{AcceptanceFile, Benchmark};

/// Hint for the place of a unit.
const PLACE: &str = "a directory as `path = \"/mnt/bench\"`, or a device as `device = \"/dev/nvme0n1\"`";
/// Hint for the identity of a unit.
const IDENTITY: &str = "as `activebench accept --init TARGET` writes it";

/// The tested storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// A directory, or the node of a device. Its span is empty if the acceptance file does not name it.
    pub path: Placed<String>,
    /// `true` if it is a device.
    pub is_device: bool,
    /// `true` if a device may be written to.
    pub destroy: bool,
    /// By what the device must be known; `None` where nobody asks.
    pub model: Option<String>,
    /// The same.
    pub serial: Option<String>,
    /// The same.
    pub firmware: Option<String>,
}

/// What is agreed on for every unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// `true` if a device may be written to.
    pub destroy: bool,
    /// By what each device must be known; `None` where nobody asks.
    pub model: Option<String>,
    /// The same.
    pub firmware: Option<String>,
}

/// Which units a file is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Units {
    /// `[target]` names one.
    One(Box<Target>),
    /// `[[unit]]` names them.
    Several(Vec<Target>),
    /// The command line names them.
    Open,
}

impl Target {
    /// Returns a unit that the acceptance file does not name.
    pub fn named(path: impl Into<String>, is_device: bool, terms: &Terms) -> Self {
        Self {
            path: Placed { value: path.into(), span: 0..0 },
            is_device,
            destroy: terms.destroy && is_device,
            model: terms.model.clone(),
            serial: None,
            firmware: terms.firmware.clone(),
        }
    }

    /// Returns `true` if the acceptance file names it.
    pub fn is_in_file(&self) -> bool {
        !self.path.span.is_empty()
    }

    /// Returns the name of its folder: the last part of its path, without what a folder's name should not have.
    pub fn folder(&self) -> String {
        let last = Path::new(&self.path.value).file_name().unwrap_or_default().to_string_lossy();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        match last.trim_start_matches('.') {
            "" => "unit".to_owned(),
            last => last.chars().take(super::reading::NAME_MOST).map(plain).collect(),
        }
    }
}

/// Returns the names of the units' folders, each once.
pub fn folders(units: &[Target]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for unit in units {
        let base = unit.folder();
        let name = (1..).map(|number| if number == 1 { base.clone() } else { format!("{base}-{number}") });
        names.extend(name.into_iter().find(|name| !names.contains(name)));
    }
    names
}

impl AcceptanceFile {
    /// Reads the units of a file that has nothing but `[[unit]]`. `name` is the user's name for it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn units_of(&self, name: &str, text: &str) -> Result<Vec<Target>, Faults> {
        super::reading::document(name, text, |fields, faulty| {
            let units = units(fields, &self.terms, faulty);
            if units.is_empty() && !fields.has("unit") {
                fields
                    .missing("unit", "write a section [[unit]] for each: `device = \"/dev/sdb\"`, `serial = \"...\"`");
            }
            Some(units)
        })
        // They are not places of the acceptance file.
        .map(|units| {
            units.into_iter().map(|unit| Target { path: Placed { span: 0..0, ..unit.path }, ..unit }).collect()
        })
    }

    /// Returns what is wrong with a unit, and a hint, whoever named it.
    pub fn objection(&self, unit: &Target) -> Option<Fault> {
        self.benchmarks.iter().find_map(|benchmark| benchmark.never_names(unit))
    }
}

impl Benchmark {
    /// Returns a fault if the command would never use this unit.
    fn never_names(&self, unit: &Target) -> Option<Fault> {
        let hint = "write `{target}` where the tool takes the device";
        (unit.is_device && !self.names_target())
            .then(|| Fault::new(self.command_span.clone(), "the command never names the device", hint))
    }
}

/// Reads `[target]`: the unit, if it names one, and what holds for every unit.
pub(super) fn target(fields: Fields<'_>, faulty: &Faulty) -> Option<(Terms, Option<Target>)> {
    let place = place(&fields, "[target]", faulty);
    let destroy = fields.flag("destroy").unwrap_or(false);
    let mut identity = [None, None, None];
    if let Some(expected) = fields.table("identity", "[target.identity]") {
        identity = self::identity(&expected);
        if let (Ok(None), Some(serial)) = (&place, &identity[1]) {
            let hint = "write it in a section [[unit]], or name the unit in [target]";
            faulty.add(&serial.span, "a serial number is that of one unit, and [target] names none", hint);
        }
        expected.finish();
    }
    fields.finish();
    let place = place.ok()?;
    let [model, serial, firmware] = identity.map(|part| part.map(|text| text.value));
    let terms = Terms { destroy, model, firmware };
    let unit = place.map(|(path, is_device)| {
        if destroy && !is_device {
            let hint = "leave it out: files are made and removed as the benchmarks say";
            faulty.add(&path.span, "`destroy` is for a device, the target is a directory", hint);
        }
        let (model, firmware) = (terms.model.clone(), terms.firmware.clone());
        Target { path, is_device, destroy, model, serial, firmware }
    });
    Some((terms, unit))
}

/// Reads the sections `[[unit]]`.
pub(super) fn units(fields: &Fields<'_>, terms: &Terms, faulty: &Faulty) -> Vec<Target> {
    let mut units: Vec<Target> = Vec::new();
    for table in fields.tables("unit", "[[unit]]") {
        let place = place(&table, "[[unit]]", faulty);
        let [model, serial, firmware] = identity(&table).map(|part| part.map(|text| text.value));
        if let Ok(None) = place {
            table.missing("path` or `device", PLACE);
        }
        table.finish();
        let Ok(Some((path, is_device))) = place else { continue };
        if units.iter().any(|unit| unit.path.value == path.value) {
            faulty.add(&path.span, format!("two units are {:?}", path.value), "name each unit once");
        }
        if terms.destroy && !is_device {
            let hint = "agree on directories and devices in two files";
            faulty.add(&path.span, "`destroy` of [target] is for devices, this unit is a directory", hint);
        }
        units.push(Target {
            destroy: terms.destroy && is_device,
            path,
            is_device,
            model: model.or_else(|| terms.model.clone()),
            serial,
            firmware: firmware.or_else(|| terms.firmware.clone()),
        });
    }
    units
}

/// Returns the directory or device that a section names, and `true` for a device; `None` if it names none.
fn place(fields: &Fields<'_>, name: &str, faulty: &Faulty) -> Result<Option<(Placed<String>, bool)>, ()> {
    let has_any = fields.has("path") || fields.has("device");
    let (path, device) = (fields.text("path", PLACE), fields.text("device", PLACE));
    let (path, is_device) = match (path, device) {
        (Some(path), None) => (path, false),
        (None, Some(device)) => (device, true),
        (Some(path), Some(_)) => {
            faulty.add(&path.span, format!("{name} has both `path` and `device`"), PLACE);
            return Err(());
        }
        (None, None) => return if has_any { Err(()) } else { Ok(None) },
    };
    if !path.value.starts_with('/') {
        faulty.add(&path.span, "the target is not a path from the root on", "begin it with `/`");
    }
    Ok(Some((path, is_device)))
}

/// Returns model, serial number and firmware.
fn identity(fields: &Fields<'_>) -> [Option<Placed<String>>; 3] {
    ["model", "serial", "firmware"].map(|field| fields.text(field, IDENTITY))
}
