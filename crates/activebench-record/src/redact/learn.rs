//! Learns names from the places of a run that hold them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use activebench_model::call::Op;
use activebench_model::ceiling::{Ceiling, IdentityKind};
use activebench_model::event::NameEvent;
use activebench_model::event_kinds;
use activebench_model::host::Target;
use activebench_model::run::Manifest;
use serde_json::Value;

use super::redactor::{Kind, Redactor};
use super::words::{self, LEAST};
use crate::error::RecordError;
use crate::reader::RunReader;
use crate::tables::{Row, Visitor};

/// Names that the caller knows.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Names of this machine, and those that the tool states.
    pub hosts: Vec<String>,
    /// Names of the users of this machine.
    pub users: Vec<String>,
    /// Words that the user wants replaced.
    pub named: Vec<String>,
}

/// Folders whose contents every system has.
const SYSTEM: &[&str] = &["/usr/", "/lib/", "/lib32/", "/lib64/", "/bin/", "/sbin/", "/proc/", "/sys/"];
/// Exceptions: folders below which people choose names.
const CHOSEN: &[&str] = &["/usr/local/", "/sys/fs/cgroup/", "/sys/fs/btrfs/"];
/// Folders in which names are made of serial numbers.
const BY_IDENTITY: &[&str] = &["/dev/disk/by-"];
/// Folders in which the next component is a user's name.
const HOMES: &[&str] = &["/home/", "/Users/", "/export/home/", "/var/home/", "/run/media/", "/media/"];
/// Attributes of a device by what they identify.
const SERIALS: &[&str] = &["serial", "wwid", "wwn", "uuid", "eui", "nguid", "vpd", "cid"];
const MODELS: &[&str] = &["model", "vendor", "device/name"];
/// Mount options whose values are names.
const ADDRESSES: &[&str] = &["addr", "clientaddr", "mountaddr", "ip", "srcaddr"];
const USERS: &[&str] = &["username", "user", "domain"];
/// Commands whose `-u` names a user.
const AS_USER: &[&str] = &["sudo", "runuser", "su", "doas", "chroot", "setpriv"];

macro_rules! tables {
    ($(
        $(#[$doc:meta])* $kind:ident $method:ident from $from:ident: $event:ty, $table:literal, $class:expr, $about:literal;
    )*) => {
        impl Redactor {
            fn learn_tables(&mut self, reader: &RunReader) -> Result<(), RecordError> {
                $(
                    if !<$event>::IS_HARMLESS {
                        for part in reader.$method() {
                            <$event>::visit(&mut part?, &mut Learner(self));
                        }
                    }
                )*
                Ok(())
            }
        }
    };
}

event_kinds!(tables);

/// Learns from the values that a copy cannot keep.
struct Learner<'a>(&'a mut Redactor);

impl Visitor for Learner<'_> {
    fn comm(&mut self, comm: &mut String) {
        self.0.see(comm.as_bytes());
    }

    fn path(&mut self, path: &mut String) {
        self.0.learn_path(path.as_bytes());
    }

    fn names(&mut self, rows: &mut [NameEvent]) {
        for event in rows.iter().filter(|event| event.op != Op::Execute) {
            self.0.learn_path(event.name.as_bytes());
            self.0.see(event.name.as_bytes());
        }
        for argv in executed(rows).into_values() {
            let argv: Vec<String> = argv.into_values().collect();
            self.0.learn_command(&argv);
            for argument in &argv {
                self.0.learn_text(argument.as_bytes());
                self.0.see(argument.as_bytes());
            }
        }
    }

    /// It names nobody.
    fn kept_offset(&mut self, _offset: &mut Option<u64>) {}
}

impl Redactor {
    /// Learns what the caller knows.
    pub fn learn_given(&mut self, given: &Given) {
        for (names, kind) in [(&given.named, Kind::Named), (&given.hosts, Kind::Host), (&given.users, Kind::User)] {
            for name in names {
                self.learn(name.as_bytes(), kind);
            }
        }
    }

    /// Learns the names in a run. Nothing is replaced before [`Redactor::finish`].
    ///
    /// # Errors
    /// When the run cannot be read.
    pub fn learn_run(&mut self, reader: &RunReader) -> Result<(), RecordError> {
        self.learn_manifest(reader.manifest());
        let output = reader.output()?;
        let files = output.files.iter().map(|file| file.bytes.as_slice());
        for text in [output.stdout.as_slice(), output.stderr.as_slice()].into_iter().chain(files) {
            self.learn_text(text);
            self.see(text);
        }
        for file in &output.files {
            self.learn_path(file.name.as_bytes());
        }
        self.learn_tables(reader)?;
        let stacks = reader.stacks()?;
        for module in &stacks.modules {
            self.learn_path(module.as_bytes());
        }
        for symbol in stacks.frames.iter().filter_map(|frame| frame.symbol.as_ref()) {
            self.see(symbol.as_bytes());
        }
        Ok(())
    }

    fn learn_manifest(&mut self, manifest: &Manifest) {
        self.learn_command(&manifest.command.argv);
        self.learn_path(manifest.command.cwd.as_bytes());
        for measurement in &manifest.measurements {
            self.learn_command(&measurement.command.argv);
            self.learn_path(measurement.command.cwd.as_bytes());
        }
        if let Some(host) = &manifest.host.hostname {
            self.learn(host.as_bytes(), Kind::Host);
        }
        if let Some(file) = &manifest.choices.thresholds {
            self.learn_path(file.file.as_bytes());
        }
        if let Some(mark) = &manifest.choices.acceptance {
            self.learn_path(mark.file.as_bytes());
        }
        for limit in &manifest.host.io_limits {
            self.learn_path(limit.group.as_bytes());
        }
        let behind = manifest.host.daemons.iter().flat_map(|daemon| &daemon.storage);
        for target in manifest.host.targets.iter().chain(behind) {
            self.learn_target(target);
        }
        for used in manifest.ceilings.iter().flat_map(|ceilings| &ceilings.used) {
            // Its name is made from the identity.
            self.learn_path(used.file.as_bytes());
            self.learn_ceiling(&used.ceiling);
        }
        // Every other string can quote a path, an address or an identifier.
        let strings = serde_json::to_value(manifest).unwrap_or(Value::Null);
        walk(&strings, &mut |text| {
            self.learn_text(text.as_bytes());
            self.see(text.as_bytes());
        });
    }

    fn learn_target(&mut self, target: &Target) {
        self.learn_path(target.mount_point.as_bytes());
        for option in target.options.split(',') {
            let Some((name, value)) = option.split_once('=') else { continue };
            if ADDRESSES.contains(&name) {
                self.learn_phrase(value.as_bytes(), Kind::Address);
            } else if USERS.contains(&name) {
                self.learn(value.as_bytes(), Kind::User);
            }
        }
        for layer in &target.layers {
            if let Some(file) = &layer.backing_file {
                self.learn_path(file.as_bytes());
            }
            for (name, value) in &layer.attributes {
                self.learn_attribute(name, value);
            }
        }
    }

    fn learn_ceiling(&mut self, ceiling: &Ceiling) {
        self.learn_path(ceiling.place.as_bytes());
        self.learn_target(&ceiling.target);
        for identity in &ceiling.identity {
            let value = identity.value.as_bytes();
            match identity.kind {
                IdentityKind::Serial => {
                    // The text behind it is the device's size.
                    let serial = identity.value.rsplit_once(", ").map_or(value, |(serial, _)| serial.as_bytes());
                    self.learn(serial, Kind::Serial);
                }
                IdentityKind::BackingFile => {
                    let file = identity.value.split_once(", inode ").map_or(value, |(file, _)| file.as_bytes());
                    self.learn_path(file);
                }
                // The server and what it exports.
                IdentityKind::Source => self.learn_words(value, Kind::Path),
                IdentityKind::ThisBoot | IdentityKind::Memory => {}
            }
        }
    }

    fn learn_attribute(&mut self, name: &str, value: &str) {
        let last = name.rsplit('/').next().unwrap_or(name);
        if SERIALS.contains(&last) {
            self.learn(value.as_bytes(), Kind::Serial);
        } else if MODELS.contains(&last) || MODELS.contains(&name) {
            self.learn(value.as_bytes(), Kind::Model);
        } else if name == "dm/name" {
            self.learn_words(value.as_bytes(), Kind::Path);
        }
    }

    fn learn_command(&mut self, argv: &[String]) {
        let mut as_user = false;
        for (index, word) in argv.iter().enumerate() {
            let program = word.rsplit('/').next().unwrap_or(word);
            as_user |= AS_USER.contains(&program);
            if let Some(user) = argv.get(index + 1).filter(|_| as_user && matches!(word.as_str(), "-u" | "--user")) {
                self.learn(user.as_bytes(), Kind::User);
            }
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            // A path that the tool was given, relative to where it ran. Scripts are treated as text.
            if value.contains('/') && !value.contains(char::is_whitespace) {
                self.learn_path(value.as_bytes());
            }
            if value.parse::<IpAddr>().is_ok() {
                self.learn_phrase(value.as_bytes(), Kind::Address);
            }
        }
    }

    /// Learns names in running text: absolute paths, `user@host`, `host:/path`, `Linux HOST 6.1`, UUIDs. Ordinary words
    /// in such places mostly name nothing.
    fn learn_text(&mut self, text: &[u8]) {
        let mut at = 0;
        let mut previous: &[u8] = b"";
        while at < text.len() {
            if text[at] == b'/' && starts_path(text, at) {
                let length = text[at..].iter().position(|byte| ends_path(*byte)).unwrap_or(text.len() - at);
                self.learn_path(&text[at..at + length]);
            }
            if !words::is_part(text[at]) {
                at += 1;
                continue;
            }
            let Some((start, end)) = words::next(text, at) else { break };
            if let Some(uuid) = text.get(start..start + UUID_BYTES).filter(|text| is_uuid(text)) {
                self.learn_phrase(uuid, Kind::Serial);
            }
            if text.get(end) == Some(&b'@') && text.get(end + 1).is_some_and(|next| words::is_part(*next)) {
                self.learn_words(name_before(text, end), Kind::User);
                self.learn_machine(name_after(text, end + 1));
            }
            let is_host = text[end..].starts_with(b":/") && !text[end..].starts_with(b"://");
            if is_host {
                self.learn_machine(name_before(text, end));
            }
            if previous == b"Linux" {
                let name = name_after(text, start);
                let release = text.get(start + name.len()..).unwrap_or_default();
                if release.first() == Some(&b' ') && release.get(1).is_some_and(u8::is_ascii_digit) {
                    self.learn_words(name, Kind::Host);
                }
            }
            previous = &text[start..end];
            at = end;
        }
    }

    /// Learns a machine's name or address.
    fn learn_machine(&mut self, name: &[u8]) {
        match std::str::from_utf8(name).map(str::parse::<IpAddr>) {
            Ok(Ok(_)) => self.learn_phrase(name, Kind::Address),
            _ => self.learn_words(name, Kind::Host),
        }
    }

    /// Learns a path. The folders that every system has name nothing.
    fn learn_path(&mut self, path: &[u8]) {
        let is_below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder.as_bytes()));
        if is_below(SYSTEM) && !is_below(CHOSEN) {
            return;
        }
        for home in HOMES {
            let Some(rest) = path.strip_prefix(home.as_bytes()) else { continue };
            let length = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            // `/media/disk` does not name a user.
            if home.starts_with("/media") || home.starts_with("/run") {
                self.learn_words(&rest[..length], Kind::User);
            } else {
                self.learn(&rest[..length], Kind::User);
            }
        }
        self.see(path);
        let kind = if is_below(BY_IDENTITY) { Kind::Serial } else { Kind::Path };
        self.learn_words(path, kind);
    }

    /// Learns the words that may name something.
    fn learn_words(&mut self, text: &[u8], kind: Kind) {
        for word in words::all(text).filter(|word| words::can_name(word)) {
            self.insert(word, kind);
        }
    }

    /// Learns every word of a name. Ordinary ones stay, and are reported if they name a host or a user.
    pub(super) fn learn(&mut self, name: &[u8], kind: Kind) {
        for word in words::all(name) {
            if kind == Kind::Named {
                self.insert(word, kind);
            } else if words::is_of_every_system(word) || word.iter().all(u8::is_ascii_digit) {
                continue;
            } else if words::is_ordinary(word) {
                if matches!(kind, Kind::Host | Kind::User) && word == name {
                    self.ambiguous.insert(String::from_utf8_lossy(word).into_owned());
                }
            } else if word.len() >= LEAST || word == name && word.len() > 1 {
                self.insert(word, kind);
            }
        }
        if kind == Kind::Serial || kind == Kind::Address {
            self.learn_phrase(name, kind);
        }
    }

    /// Learns a string that is replaced as a whole.
    fn learn_phrase(&mut self, phrase: &[u8], kind: Kind) {
        let digits = words::all(phrase).any(|word| word.iter().any(u8::is_ascii_digit));
        let long = phrase.iter().filter(|byte| words::is_part(**byte)).count() >= LEAST_PHRASE;
        if digits && long {
            // From its first word to its last, as it is looked for.
            let start = phrase.iter().position(|byte| words::is_part(*byte)).unwrap_or(0);
            let end = words::last(phrase).map_or(phrase.len(), |(_, end)| end);
            self.learnt_phrases.entry(phrase[start..end].to_vec()).or_insert(kind);
        }
    }

    fn insert(&mut self, word: &[u8], kind: Kind) {
        let known = self.learnt.entry(word.to_vec()).or_insert(kind);
        *known = kind.min(*known);
    }

    /// Remembers the words of a text, so that none becomes a replacement.
    pub(super) fn see(&mut self, text: &[u8]) {
        for word in words::all(text) {
            // Most words repeat: only a new one is copied.
            if !self.seen.contains(word) {
                self.seen.insert(word.to_vec());
            }
        }
    }
}

/// Returns the arguments of every execution, by process and time and then by their number. Arguments that were recorded
/// in pieces are joined.
pub(super) fn executed(names: &[NameEvent]) -> BTreeMap<(u32, u64), BTreeMap<i64, String>> {
    let mut executed: BTreeMap<_, BTreeMap<i64, String>> = BTreeMap::new();
    for event in names.iter().filter(|event| event.op == Op::Execute) {
        let argv = executed.entry((event.tgid, event.at_ns)).or_default();
        argv.entry(event.returned).or_default().push_str(&event.name);
    }
    executed
}

/// Minimum letters and digits of a phrase: shorter identifiers are too much like figures.
const LEAST_PHRASE: usize = 4;
const UUID_BYTES: usize = 36;

fn is_uuid(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

/// True if a slash begins a path, and does not divide words (`MiB/s`, `a/b`).
fn starts_path(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| text[before]);
    !before.is_some_and(|byte| words::is_part(byte) || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~'))
}

fn ends_path(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || byte.is_ascii_control()
        || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b':' | b'(' | b')' | b'<' | b'>' | b'|' | b'=' | b'&')
}

fn in_name(byte: &u8) -> bool {
    words::is_part(*byte) || matches!(byte, b'.' | b'-' | b'_')
}

fn name_before(text: &[u8], end: usize) -> &[u8] {
    let start = text[..end].iter().rposition(|byte| !in_name(byte)).map_or(0, |place| place + 1);
    &text[start..end]
}

fn name_after(text: &[u8], start: usize) -> &[u8] {
    let length = text[start..].iter().position(|byte| !in_name(byte)).unwrap_or(text.len() - start);
    &text[start..start + length]
}

/// Calls `text` with every string of a value. The keys are left out: they are ours.
fn walk(value: &Value, text: &mut dyn FnMut(&str)) {
    match value {
        Value::String(string) => text(string),
        Value::Array(values) => values.iter().for_each(|value| walk(value, text)),
        Value::Object(fields) => fields.values().for_each(|value| walk(value, text)),
        _ => {}
    }
}
