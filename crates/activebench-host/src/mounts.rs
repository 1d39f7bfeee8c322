//! The mounts of a process: `/proc/PID/mountinfo`, parsed and searched.
//!
//! The device numbers in mountinfo are those of the super block (`sb->s_dev`, fs/proc_namespace.c, `show_mountinfo`,
//! Linux 6.12), which the probes report too. `stat` returns another number on btrfs (one for each subvolume):
//! measured on 6.18, a file whose mapping and mountinfo both show 0:39 has `st_dev` 0:40.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use activebench_model::call::DeviceNumber;

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Id of the mount.
    pub id: u64,
    /// Id of the parent mount.
    pub parent: u64,
    /// The super block's device.
    pub device: DeviceNumber,
    /// Part of the file system that is mounted; `/` for all of it.
    pub root: PathBuf,
    /// Mount point, as the process sees it.
    pub mount_point: PathBuf,
    /// `ext4`, `fuse.sshfs`, ...
    pub fs_type: String,
    /// Source of the mount: a device node, `server:/export`, or any word.
    pub source: PathBuf,
    /// Options of this mount.
    pub mount_options: String,
    /// Options of the super block, with octal escapes.
    pub super_options: String,
}

impl Mount {
    /// Returns the mount options, then those of the super block that are not among them.
    pub fn options(&self) -> String {
        let mut options: Vec<&str> = self.mount_options.split(',').collect();
        for option in self.super_options.split(',') {
            if !options.contains(&option) {
                options.push(option);
            }
        }
        options.join(",")
    }

    /// Returns `true` for another mount of the same file system, if both have the same number.
    pub(crate) fn is_same_file_system(&self, other: &Self) -> bool {
        (self.device, &self.fs_type, &self.source) == (other.device, &other.fs_type, &other.source)
    }

    /// Returns the value of a super block option, unescaped; the first if there are several.
    pub(crate) fn option(&self, name: &str) -> Option<OsString> {
        let value = self.super_options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| unescape(value.as_bytes()))
    }
}

/// The mounts of a process, in the kernel's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts(pub Vec<Mount>);

impl Mounts {
    /// Parses the text of a mountinfo file. The second value has a note for each line that cannot be parsed.
    pub fn parse(text: &[u8]) -> (Self, Vec<String>) {
        let mut mounts = Vec::new();
        let mut notes = Vec::new();
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            match parse_line(line) {
                Some(mount) => mounts.push(mount),
                None => {
                    let line = String::from_utf8_lossy(line);
                    notes.push(format!("cannot understand line {} of mountinfo: {line:?}", index + 1));
                }
            }
        }
        (Self(mounts), notes)
    }

    /// Returns the mount that contains a path (absolute, without symbolic links and dots).
    ///
    /// Walks down from the root as the kernel does, so that a mount hidden by a later one at the same place or above
    /// it is not returned.
    pub fn containing(&self, path: &Path) -> Option<&Mount> {
        let parents_known =
            |mount: &&Mount| self.0.iter().all(|other| other.id != mount.parent || other.id == mount.id);
        let mut current = self
            .0
            .iter()
            .filter(|mount| path.starts_with(&mount.mount_point))
            .filter(parents_known)
            .min_by_key(|mount| length(mount))?;
        // The walk visits each mount once at most; more steps mean that the ids form a circle.
        for _ in 0..self.0.len() {
            let inner = self
                .0
                .iter()
                .filter(|mount| mount.parent == current.id && mount.id != current.id)
                .filter(|mount| path.starts_with(&mount.mount_point))
                .min_by_key(|mount| length(mount));
            match inner {
                Some(mount) => current = mount,
                None => return Some(current),
            }
        }
        None
    }

    /// Returns a mount of the file system with this super block.
    ///
    /// Of several (bind mounts, subvolumes): the one that contains `path`, or else the one whose mount point is its
    /// longest prefix. Without a path: one that shows the whole file system, at the shortest mount point.
    pub fn of_device(&self, device: DeviceNumber, path: Option<&Path>) -> Option<&Mount> {
        let mounts = || self.0.iter().filter(|mount| mount.device == device);
        if let Some(path) = path {
            let holder = self.containing(path).filter(|mount| mount.device == device);
            let prefix =
                || mounts().filter(|mount| path.starts_with(&mount.mount_point)).max_by_key(|mount| length(mount));
            if let Some(mount) = holder.or_else(prefix) {
                return Some(mount);
            }
        }
        mounts().min_by_key(|mount| (mount.root != Path::new("/"), length(mount)))
    }
}

fn length(mount: &Mount) -> usize {
    mount.mount_point.components().count()
}

/// `id parent major:minor root mount-point options [tags...] - type source super-options`.
fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut field = || fields.next();
    let id = number(field()?)?;
    let parent = number(field()?)?;
    let device = device_number(str::from_utf8(field()?).ok()?)?;
    let root = PathBuf::from(unescape(field()?));
    let mount_point = PathBuf::from(unescape(field()?));
    let mount_options = String::from_utf8_lossy(field()?).into_owned();
    while field()? != b"-" {}
    let fs_type = unescape(field()?).to_string_lossy().into_owned();
    let source = PathBuf::from(unescape(field()?));
    let super_options = String::from_utf8_lossy(field()?).into_owned();
    if !mount_point.is_absolute() || fs_type.is_empty() {
        return None;
    }
    Some(Mount { id, parent, device, root, mount_point, fs_type, source, mount_options, super_options })
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Parses `254:0`; `None` for numbers that do not fit the kernel's encoding.
pub(crate) fn device_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.trim().split_once(':')?;
    let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then(|| DeviceNumber::new(major, minor))
}

/// Replaces the kernel's escapes: `\` and three octal digits for space, tab, newline, backslash and `#`.
fn unescape(text: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = match tail {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if byte == b'\\' => {
                Some((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'))
            }
            _ => None,
        };
        plain.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(plain)
}

/// Returns the device nodes that a mount's source names. bcachefs joins its members with colons.
pub(crate) fn source_nodes(source: &Path) -> Vec<PathBuf> {
    let parts = source.as_os_str().as_bytes().split(|byte| *byte == b':');
    parts.map(|part| PathBuf::from(OsStr::from_bytes(part))).filter(|part| part.starts_with("/dev")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INFO: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=100k
25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw,size=24684084k
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
30 25 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw
64 27 0:39 / /mnt/bench/btrfs rw,relatime - btrfs /dev/loop0 rw,subvolid=5,subvol=/
65 27 0:39 /sv /mnt/bench/sub rw,relatime - btrfs /dev/loop0 rw,subvolid=256,subvol=/sv
68 27 0:44 / /mnt/bench/sp\\040ace\\134 rw,relatime - tmpfs tmp\\040fs rw
70 27 7:1 / /mnt/hidden/inner rw - ext4 /dev/loop1 rw
71 27 7:2 / /mnt/hidden rw - ext4 /dev/loop2 rw
";

    fn mounts() -> Mounts {
        let (mounts, notes) = Mounts::parse(INFO.as_bytes());
        assert_eq!(notes, [""; 0]);
        mounts
    }

    #[test]
    fn a_path_lies_on_the_topmost_mount_that_holds_it() {
        let check = |path: &str, id: u64| {
            assert_eq!(mounts().containing(Path::new(path)).map(|mount| mount.id), Some(id), "{path}");
        };
        check("/", 27);
        check("/mnt/bench/btrfsx", 27);
        check("/mnt/bench/btrfs/sv/f", 64);
        check("/mnt/bench/sub/f", 65);
        check("/dev/shm/f", 30);
        check("/dev/null", 24);
        check("/mnt/bench/sp ace\\/f", 68);
        check("/mnt/hidden/f", 71);
    }

    #[test]
    fn a_mount_hidden_by_one_above_it_is_not_taken() {
        // Mount 70 was made first, at a deeper place; mount 71 then covered it. Both have the same parent, so the
        // walk takes the shorter mount point.
        let mounts = mounts();
        assert_eq!(mounts.containing(Path::new("/mnt/hidden/inner/f")).map(|mount| mount.id), Some(71));
    }

    #[test]
    fn ids_in_a_circle_end_the_walk() {
        let (mounts, _) = Mounts::parse(
            b"1 9 8:0 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /a rw - tmpfs t rw\n1 2 0:3 / /a rw - tmpfs t rw\n",
        );
        assert_eq!(mounts.containing(Path::new("/a/f")), None);
    }

    #[test]
    fn a_super_block_is_found_by_its_number() {
        let check = |device: (u32, u32), path: Option<&str>, id: Option<u64>| {
            let mounts = mounts();
            let found = mounts.of_device(DeviceNumber::new(device.0, device.1), path.map(Path::new));
            assert_eq!(found.map(|mount| mount.id), id, "{device:?} {path:?}");
        };
        check((254, 0), None, Some(27));
        check((0, 39), None, Some(64));
        check((0, 39), Some("/mnt/bench/sub/f"), Some(65));
        check((0, 39), Some("/elsewhere"), Some(64));
        check((0, 23), Some("/dev/shm/f"), Some(25));
        check((8, 0), Some("/mnt/bench/sub/f"), None);
    }

    #[test]
    fn options_are_joined_once() {
        let mounts = mounts();
        assert_eq!(mounts.0[3].options(), "rw,relatime,discard");
        assert_eq!(mounts.0[6].option("subvol"), Some(OsString::from("/sv")));
        assert_eq!(mounts.0[6].option("sub"), None);
        let (overlay, _) = Mounts::parse(b"9 1 0:9 / /o rw - overlay o rw,lowerdir+=/a:b,lowerdir+=/c\\040d\n");
        assert_eq!(overlay.0[0].option("lowerdir+"), Some(OsString::from("/a:b")));
        assert_eq!(overlay.0[0].option("lowerdir"), None);
    }

    #[test]
    fn a_line_that_is_not_understood_is_said() {
        for line in ["27 1 254:0 / / rw", "x 1 254:0 / / rw - ext4 /dev/vda rw", "27 1 9999:0 / / rw - ext4 d rw"] {
            let (mounts, notes) = Mounts::parse(line.as_bytes());
            assert_eq!(mounts, Mounts::default());
            assert_eq!(notes, [format!("cannot understand line 1 of mountinfo: {line:?}")]);
        }
    }

    #[test]
    fn a_cut_text_gives_no_mount_that_was_not_there() {
        let whole = mounts();
        for cut in 0..INFO.len() {
            let (mounts, notes) = Mounts::parse(&INFO.as_bytes()[..cut]);
            assert!(notes.len() <= 1, "cut at {cut}: {notes:?}");
            for (mount, original) in mounts.0.iter().zip(&whole.0) {
                assert_eq!(
                    (mount.id, mount.device, &mount.mount_point),
                    (original.id, original.device, &original.mount_point)
                );
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(text in proptest::collection::vec(any::<u8>(), 0..400), path in "(/[a-z.]{0,4}){1,4}") {
            let (mounts, _) = Mounts::parse(&text);
            mounts.containing(Path::new(&path));
        }

        #[test]
        fn any_tree_of_mounts_has_an_end(parents in proptest::collection::vec(0_u64..8, 1..8), path in "/a?/?b?") {
            let text: String = parents
                .iter()
                .enumerate()
                .map(|(id, parent)| format!("{id} {parent} 0:{id} / /{} rw - tmpfs t rw\n", ["", "a", "a/b"][id % 3]))
                .collect();
            let (mounts, notes) = Mounts::parse(text.as_bytes());
            prop_assert!(notes.is_empty());
            mounts.containing(Path::new(&path));
        }
    }
}
