//! Stores ceilings, and finds those that apply to a run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use activebench_host::{Process, Roots, Survey};
use activebench_model::bound::Shares;
use activebench_model::ceiling::{Ceiling, Ceilings, Identity, SCHEMA, UsedCeiling};
use activebench_model::command::shell_word;
use activebench_model::host::{Host, Target};
use activebench_runner::with_roots_files;
use anyhow::{Context, bail};

use super::machine;

/// Environment variable that names another folder than the default.
const FOLDER: &str = "ACTIVEBENCH_CEILINGS";
/// Maximum size of a ceiling file in bytes; larger files are not ours.
const MOST_BYTES: u64 = 4 << 20;

/// Folder of root's ceilings; everybody may read them.
const OF_ROOT: &str = "/var/lib/activebench/ceilings";

/// Returns the folder in which this user's ceilings are kept; `None` if there is no home directory.
fn folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = of(FOLDER) {
        return Some(folder);
    }
    if rustix::process::geteuid().is_root() {
        return Some(PathBuf::from(OF_ROOT));
    }
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")))?;
    Some(state.join("activebench/ceilings"))
}

/// Returns the file of a ceiling: one for each storage, so that a new measurement replaces the old one.
fn file_for(ceiling: &Ceiling) -> anyhow::Result<PathBuf> {
    let folder = folder().with_context(|| {
        format!(
            "there is no place to keep the result in: neither XDG_STATE_HOME nor HOME is set (hint: \
             {FOLDER}=DIRECTORY names one)"
        )
    })?;
    let name: String = ceiling.identity.iter().map(|of| of.name.as_str()).collect::<Vec<_>>().join("-");
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    Ok(folder.join(format!("{name}-{:016x}.json", hash(&ceiling.identity))))
}

/// FNV-1a of 64 bits: the same in every version.
fn hash(identity: &[Identity]) -> u64 {
    let bytes = identity.iter().flat_map(|of| of.value.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Stores a ceiling's text where later runs look for it, all or nothing; returns the file.
pub(super) fn keep(ceiling: &Ceiling, json: &str) -> anyhow::Result<PathBuf> {
    let file = file_for(ceiling)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let cannot = || format!("cannot keep the result in {} (hint: {FOLDER}=DIRECTORY names another)", folder.display());
    let write = || -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut written = tempfile::NamedTempFile::new_in(folder)?;
        written.write_all(json.as_bytes())?;
        // Others may read it: it holds figures, and facts that every user can query on this machine.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        written.as_file().set_permissions(mode)?;
        written.persist(&file)?;
        Ok(())
    };
    // Root's own folder; any other is a place of the user's.
    if folder == Path::new(OF_ROOT) { with_roots_files(write) } else { write() }.with_context(cannot)?;
    Ok(file)
}

/// Reads a ceiling.
///
/// # Errors
/// When it cannot be read, or is of another version.
pub fn read(file: &Path) -> anyhow::Result<Ceiling> {
    let size = std::fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?.len();
    if size > MOST_BYTES {
        bail!(
            "{} is not a ceiling: it has {size} bytes (hint: `activebench ceiling TARGET` makes one)",
            file.display()
        );
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let json: serde_json::Value = serde_json::from_str(&text)
        .with_context(|| format!("{} is not JSON (hint: `activebench ceiling TARGET` makes one)", file.display()))?;
    let schema = json["schema"].as_str().unwrap_or("none");
    if schema != SCHEMA {
        bail!(
            "{} has the schema {schema:?}, and this activebench knows {SCHEMA} (hint: measure again with this one)",
            file.display()
        );
    }
    serde_json::from_value(json).with_context(|| format!("{} is not what {SCHEMA} describes", file.display()))
}

/// Returns the ceilings for the storage of a run: the one that was named, or those that are kept here.
///
/// A file that cannot be read is left out and reported: the run is already made, and must not be lost.
pub fn for_run(host: &Host, named: Option<&Path>) -> Ceilings {
    let mut survey = Survey::of(&Roots::default(), Process::Own);
    let targets: Vec<(&Target, Vec<Identity>)> =
        host.targets.iter().map(|target| (target, survey.identity_of(target))).collect();
    let mut found = Ceilings::default();
    let files = named.map_or_else(|| kept(&mut found.left_out), |file| vec![file.to_owned()]);
    for file in files {
        match read(&file) {
            Ok(ceiling) => {
                let applies = sort_in(&file, ceiling, host, &targets, &mut found);
                if !applies && named.is_some() {
                    let why = "it is that of other storage than the run used";
                    found.left_out.push(format!("{}: {why}", file.display()));
                }
            }
            Err(error) => found.left_out.push(format!("{error:#}")),
        }
    }
    found
}

/// Removes the ceilings that are kept here and that an honest figure of the run exceeded: they were too low, and the next
/// run must not be compared with them. Returns each file with what became of the removal.
pub(crate) fn discard_exceeded(shares: &Shares, ceilings: &Ceilings) -> Vec<(PathBuf, io::Result<()>)> {
    // Without a folder no ceiling is kept here.
    folder().map_or_else(Vec::new, |folder| discard_in(&folder, shares, ceilings))
}

fn discard_in(folder: &Path, shares: &Shares, ceilings: &Ceilings) -> Vec<(PathBuf, io::Result<()>)> {
    let is_exceeded = |used: &&UsedCeiling| shares.exceeded.iter().any(|exceeded| exceeded.file == used.file);
    let mut removed = Vec::new();
    for used in ceilings.used.iter().filter(is_exceeded) {
        let file = PathBuf::from(&used.file);
        let is_kept = file.parent() == Some(folder);
        // A later measurement replaced it.
        let is_it = read(&file).is_ok_and(|now| now.measured_unix_s == used.ceiling.measured_unix_s);
        if is_kept && is_it {
            let remove = || std::fs::remove_file(&file);
            let outcome = if folder == Path::new(OF_ROOT) { with_roots_files(remove) } else { remove() };
            removed.push((file, outcome));
        }
    }
    removed
}

/// Returns every file that this user or root keeps, sorted by name.
fn kept(unread: &mut Vec<String>) -> Vec<PathBuf> {
    let of_root = std::env::var_os(FOLDER).is_none_or(|folder| folder.is_empty()).then(|| PathBuf::from(OF_ROOT));
    let mut folders: Vec<PathBuf> = folder().into_iter().chain(of_root).collect();
    folders.dedup();
    let mut files = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(&folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        match entries {
            Ok(entries) => files.extend(entries.into_iter().map(|entry| entry.path())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => unread.push(format!("cannot read {}: {error}", folder.display())),
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// Adds a ceiling to the used or left-out ones; returns `true` if it concerns storage of the run at all.
fn sort_in(
    file: &Path,
    ceiling: Ceiling,
    host: &Host,
    targets: &[(&Target, Vec<Identity>)],
    found: &mut Ceilings,
) -> bool {
    let is_same = |identity: &[Identity]| !identity.is_empty() && *identity == *ceiling.identity;
    let same: Vec<_> =
        targets.iter().filter(|(_, identity)| is_same(identity)).map(|(target, _)| target.s_dev).collect();
    if same.is_empty() {
        let known = |of: &Identity| ceiling.identity.iter().any(|known| known.name == of.name);
        // A device of the same name at the same mount point: the ceiling was measured before the storage changed.
        let alike = targets
            .iter()
            .any(|(target, identity)| identity.iter().any(known) && target.mount_point == ceiling.target.mount_point);
        if alike {
            let names = ceiling.identity.iter().map(|of| of.name.as_str()).collect::<Vec<_>>().join(", ");
            found.left_out.push(format!(
                "{}: {names} is not the storage any more that it was (hint: measure again: `activebench ceiling {}`)",
                file.display(),
                shell_word(&ceiling.place)
            ));
        }
        return alike;
    }
    match ceiling.stale_on(&machine(host)) {
        Some(why) => found.left_out.push(format!(
            "{}: {why} (hint: measure again: `activebench ceiling {}`)",
            file.display(),
            shell_word(&ceiling.place)
        )),
        None => {
            found.used.push(UsedCeiling { targets: same, file: file.display().to_string(), ceiling });
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use activebench_model::bound::{Bound, Exceeded};
    use activebench_model::call::DeviceNumber;
    use activebench_model::ceiling::IdentityKind;
    use activebench_model::host::Tier;
    use activebench_model::units::Quantity;
    use activebench_report::document::Shown;

    use super::*;

    fn target() -> Target {
        Target {
            s_dev: DeviceNumber(1),
            mount_point: "/mnt/my disk".to_owned(),
            fs_type: "ext4".to_owned(),
            options: String::new(),
            layers: Vec::new(),
            tier: Tier::Block,
        }
    }

    fn ceiling_of(identity: Vec<Identity>) -> Ceiling {
        Ceiling {
            activebench: String::new(),
            measured_unix_s: 0,
            place: "/mnt/my disk".to_owned(),
            target: target(),
            identity,
            machine: machine(&Host::default()),
            seconds_per_part: 1.0,
            fio: None,
            parts: Vec::new(),
            links: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn only_a_kept_ceiling_that_was_exceeded_and_not_replaced_is_removed() {
        let (kept, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let ceiling = ceiling_of(Vec::new());
        let later = Ceiling { measured_unix_s: 1, ..ceiling.clone() };
        let bound = Bound { part: "a part".to_owned(), value: Quantity::bytes(1), measured: true };
        let exceeded = |file: &Path| Exceeded {
            value: Quantity::bytes(2),
            bound: bound.clone(),
            file: file.display().to_string(),
        };
        for (folder, stored, is_exceeded, is_removed) in [
            (kept.path(), &ceiling, true, true),
            (kept.path(), &ceiling, false, false),
            (kept.path(), &later, true, false),
            (other.path(), &ceiling, true, false),
        ] {
            let file = folder.join("c.json");
            std::fs::write(&file, stored.json()).expect("a file");
            let used = UsedCeiling { targets: Vec::new(), file: file.display().to_string(), ceiling: ceiling.clone() };
            let ceilings = Ceilings { used: vec![used], ..Ceilings::default() };
            let exceeded = is_exceeded.then(|| exceeded(&file)).into_iter().collect();
            let removed = discard_in(kept.path(), &Shares { exceeded, ..Shares::default() }, &ceilings);
            assert_eq!((removed.len(), file.exists()), (usize::from(is_removed), !is_removed), "{file:?}");
        }
    }

    fn identity(devices: &[(&str, &str)]) -> Vec<Identity> {
        let of = |(name, value): &(&str, &str)| Identity {
            name: (*name).to_owned(),
            kind: IdentityKind::Serial,
            value: (*value).to_owned(),
        };
        devices.iter().map(of).collect()
    }

    #[test]
    fn a_volume_that_moved_to_another_disk_is_said() {
        let host = Host::default();
        let ceiling = ceiling_of(identity(&[("dm-0", "LVM-1"), ("sda", "naa.1")]));
        let on = target();
        for (now, used, said) in [
            (&[("dm-0", "LVM-1"), ("sda", "naa.1")][..], 1, None),
            (
                &[("dm-0", "LVM-1"), ("sdb", "naa.2")],
                0,
                Some(
                    "c.json: dm-0, sda is not the storage any more that it was (hint: measure again: `activebench \
                     ceiling '/mnt/my disk'`)",
                ),
            ),
            (&[("sdb", "naa.2")], 0, None),
        ] {
            let mut found = Ceilings::default();
            let targets = [(&on, identity(now))];
            let applies = sort_in(Path::new("c.json"), ceiling.clone(), &host, &targets, &mut found);
            assert_eq!(applies, used == 1 || said.is_some());
            assert_eq!((found.used.len(), found.left_out.first().map(String::as_str)), (used, said));
        }
    }
}
