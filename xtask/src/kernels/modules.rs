//! Kernel modules that the emulated machine needs, in loading order.
//!
//! Debian's packages lack the list of dependencies, which is made at installation. Each module names the modules that
//! it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools;

/// Modules for the machine's disks and their file system. One that is built into the kernel does not exist as a module.
const NEEDED: &[&str] = &["virtio_pci", "virtio_blk", "ext4"];

/// A module, decompressed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// Its name as the kernel writes it, with underscores.
    pub(crate) name: String,
    /// Contents for `insmod`.
    pub(crate) bytes: Vec<u8>,
}

/// Reads the needed modules below the folder of one kernel's modules, and further ones, in loading order.
///
/// # Errors
/// When a file cannot be read, or a module neither exists nor is built in.
pub(crate) fn needed(folder: &Path, further: &[&str]) -> Result<Vec<Module>> {
    let mut files = BTreeMap::new();
    collect(folder, &mut files)?;
    let builtin = folder.join("modules.builtin");
    let builtin = fs::read_to_string(&builtin).with_context(|| format!("cannot read {}", builtin.display()))?;
    let builtin: BTreeSet<String> = builtin.lines().filter_map(|line| name_of(Path::new(line))).collect();
    let read = |name: &str| match files.get(name) {
        Some(path) => read_module(path).map(Some),
        None if builtin.contains(name) => Ok(None),
        None => bail!("the kernel's package has no module {name}, and it is not built in"),
    };
    in_order(&[NEEDED, further].concat(), read)
}

fn collect(folder: &Path, into: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else if let Some(name) = name_of(&path) {
            into.insert(name, path);
        }
    }
    Ok(())
}

/// Returns `virtio_blk` for `.../virtio-blk.ko.xz`; `None` for a file that is not a module.
fn name_of(path: &Path) -> Option<String> {
    let (name, suffix) = path.file_name()?.to_str()?.split_once(".ko")?;
    ["", ".xz", ".gz", ".zst"].contains(&suffix).then(|| name.replace('-', "_"))
}

fn read_module(path: &Path) -> Result<Vec<u8>> {
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("ko") => fs::read(path).with_context(|| format!("cannot read {}", path.display())),
        Some("xz") => {
            let xz = tools::XZ.find().context("xz is not installed")?;
            let output = Command::new(xz).args(["--decompress", "--stdout"]).arg(path).output();
            let output = output.context("cannot start xz")?;
            if !output.status.success() {
                bail!("xz {}: {}", path.display(), String::from_utf8_lossy(&output.stderr).trim());
            }
            Ok(output.stdout)
        }
        _ => bail!("{} is compressed in a way that this task does not know", path.display()),
    }
}

/// Returns the wanted modules and those that they need, each after its dependencies. `read` returns `None` for built-in
/// modules.
fn in_order(wanted: &[&str], read: impl Fn(&str) -> Result<Option<Vec<u8>>>) -> Result<Vec<Module>> {
    fn visit(
        name: &str,
        read: &impl Fn(&str) -> Result<Option<Vec<u8>>>,
        seen: &mut BTreeSet<String>,
        ordered: &mut Vec<Module>,
    ) -> Result<()> {
        if !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some(bytes) = read(name)? else { return Ok(()) };
        for dependency in dependencies(&bytes) {
            visit(&dependency, read, seen, ordered)?;
        }
        ordered.push(Module { name: name.to_owned(), bytes });
        Ok(())
    }
    let (mut seen, mut ordered) = (BTreeSet::new(), Vec::new());
    for name in wanted {
        visit(name, &read, &mut seen, &mut ordered)?;
    }
    Ok(ordered)
}

/// Returns a module's dependencies: `depends=a,b` among the strings of its section `.modinfo`.
fn dependencies(bytes: &[u8]) -> Vec<String> {
    bytes
        .split(|byte| *byte == 0)
        .find_map(|string| string.strip_prefix(b"depends="))
        .map(|names| String::from_utf8_lossy(names).into_owned())
        .into_iter()
        .flat_map(|names| names.split(',').map(|name| name.replace('-', "_")).collect::<Vec<_>>())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> Result<Option<Vec<u8>>> {
        let depends = match name {
            "virtio_blk" => "virtio,virtio-ring",
            "virtio_ring" => "virtio",
            "virtio" => "",
            "ext4" => return Ok(None),
            _ => bail!("no module {name}"),
        };
        Ok(Some(format!("\x7fELF\0license=GPL\0depends={depends}\0name={name}\0").into_bytes()))
    }

    #[test]
    fn a_module_comes_after_what_it_needs_and_once() {
        let names = |wanted: &[&str]| -> Vec<String> {
            in_order(wanted, read).expect("modules").into_iter().map(|module| module.name).collect()
        };
        assert_eq!(names(&["virtio_blk", "ext4", "virtio"]), ["virtio", "virtio_ring", "virtio_blk"]);
        assert_eq!(names(&["ext4"]), Vec::<String>::new());
        assert!(in_order(&["nvme"], read).is_err());
    }

    #[test]
    fn a_module_s_name_has_no_suffix_and_underscores() {
        for (path, expected) in [
            ("kernel/drivers/block/virtio_blk.ko", Some("virtio_blk")),
            ("kernel/arch/x86/crypto/crc32c-intel.ko.xz", Some("crc32c_intel")),
            ("modules.builtin", None),
            ("a.kober", None),
        ] {
            assert_eq!(name_of(Path::new(path)).as_deref(), expected, "{path}");
        }
    }
}
