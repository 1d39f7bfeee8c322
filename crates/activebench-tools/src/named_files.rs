//! The words of a text that may name a file, in any spelling.

use std::collections::BTreeSet;

use crate::registry::ADAPTERS;
use crate::words::{bare, parts, unescaped};

/// Returns everything in texts (command lines, scripts, job files) that may be a file name.
pub fn named_files<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for word in texts.flat_map(str::split_whitespace).map(bare) {
        if ADAPTERS.iter().any(|adapter| adapter.is_label(word)) {
            continue;
        }
        let value = word.split_once('=').map(|(_, value)| value);
        // The text directly after a redirection or a short option: `>/dev/sdb`, `-f/dev/sdb`.
        let redirected = word.rsplit_once(['<', '>']).map(|(_, target)| target);
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let short = short.and_then(|rest| Some(&rest[rest.chars().next()?.len_utf8()..]));
        for text in [Some(word), value, redirected, short].into_iter().flatten() {
            // A colon may be part of a name (`/dev/disk/by-path/pci-0000:00:17.0-ata-1`), or separate two names.
            for name in std::iter::once(text).chain(parts(text, &[':', ','])).map(bare) {
                names.insert(name.to_owned());
                names.insert(unescaped(name));
            }
        }
    }
    names.remove("");
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, name: &str) -> bool {
        named_files(std::iter::once(text)).contains(name)
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        const BY_PATH: &str = "/dev/disk/by-path/pci-0000:00:17.0-ata-1";
        for text in [
            "/dev/disk/by-path/pci-0000:00:17.0-ata-1",
            "if=/dev/disk/by-path/pci-0000:00:17.0-ata-1",
            r"--filename=/dev/disk/by-path/pci-0000\:00\:17.0-ata-1",
            r"--filename=/dev/sdc:/dev/disk/by-path/pci-0000\:00\:17.0-ata-1",
            r"--filename=/dev/disk/by-path/pci-0000\\:00\\:17.0-ata-1",
            "[a]\nrw=write\nfilename=/dev/disk/by-path/pci-0000:00:17.0-ata-1\n",
        ] {
            assert!(has(text, BY_PATH), "{text}");
        }
        for text in [
            "/dev/sdb",
            "filename=/dev/sdb",
            "filename = /dev/sdb",
            "-f/dev/sdb",
            "--filename='/dev/sdb'",
            "/dev/sdc:/dev/sdb",
            "/dev/sdc,/dev/sdb",
            "echo>/dev/sdb;",
        ] {
            assert!(has(text, "/dev/sdb"), "{text}");
        }
        assert!(has("--filename=sdb", "sdb") && has("-fsdb", "sdb") && has("-f sdb", "sdb"));
        assert!(!has("--name=sdb", "sdb") && !has("--filename=copy/dev/sdb", "/dev/sdb"));
    }
}
