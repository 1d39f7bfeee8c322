//! What an acceptance file, which a stranger may have written, may name: an installed tool, and files of the target.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use activebench_detect::acceptance::Target;

/// Returns `true` if a tool that opens this file, in the target, stays in the target.
pub(super) fn is_in_target(file: &str, target: &Target) -> bool {
    let (file, place) = (Path::new(file), Path::new(&target.path.value));
    if target.is_device {
        return file == place;
    }
    let stays = file.components().all(|part| part != Component::ParentDir);
    stays && (file.is_relative() || file.starts_with(place))
}

/// Returns the executable that a bare name leads to. A vendor's file decides nothing about it: only an executable of
/// root counts, which nobody else can replace, and no script.
///
/// # Errors
/// Returns why there is none.
pub(super) fn installed_program(name: &str) -> Result<PathBuf, String> {
    if name.contains('/') {
        return Err(format!("{name} is a path: a program is named without its folder"));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|folder| folder.join(name)).filter(|file| file.is_file());
    let Some(file) = found.next() else { return Err(format!("there is no program {name} here")) };
    let file = std::fs::canonicalize(&file).map_err(|error| format!("cannot look at {}: {error}", file.display()))?;
    for part in file.ancestors() {
        let metadata =
            std::fs::metadata(part).map_err(|error| format!("cannot look at {}: {error}", part.display()))?;
        if metadata.uid() != 0 || metadata.mode() & 0o022 != 0 {
            return Err(format!("{} can be replaced: {} is not root's alone", file.display(), part.display()));
        }
    }
    let mut begin = [0; 4];
    let read = File::open(&file).and_then(|mut file| file.read_exact(&mut begin));
    match read {
        Ok(()) if &begin == b"\x7fELF" => Ok(file),
        Ok(()) => Err(format!("{} is a script", file.display())),
        Err(error) => Err(format!("cannot read {}: {error}", file.display())),
    }
}

/// Returns what is in a folder besides files and folders of its own file system: a device node or a mount, through which
/// a benchmark that is kept to the folder would reach other storage.
///
/// # Errors
/// Returns the reason why that cannot be told.
pub(super) fn way_out(whole: &Path) -> Result<Option<PathBuf>, String> {
    let told = |path: &Path, error: std::io::Error| format!("cannot look at {}: {error}", path.display());
    let own = std::fs::metadata(whole).map_err(|error| told(whole, error))?.dev();
    let mut open = vec![whole.to_owned()];
    let mut seen = 0_u64;
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            // Who may not list a folder, as `lost+found`, may check all the same. Root, who records, looks into it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && folder != whole => continue,
            entries => entries.map_err(|error| told(&folder, error))?,
        };
        for entry in entries {
            let path = entry.map_err(|error| told(&folder, error))?.path();
            let metadata = std::fs::symlink_metadata(&path).map_err(|error| told(&path, error))?;
            let kind = metadata.file_type();
            if kind.is_block_device() || kind.is_char_device() || metadata.dev() != own {
                return Ok(Some(path));
            }
            if kind.is_dir() {
                open.push(path);
            }
            seen += 1;
            if seen > MOST_ENTRIES {
                return Err(format!("more than {MOST_ENTRIES} files are in {}", folder.display()));
            }
        }
    }
    Ok(None)
}

/// Maximum entries of a target that are looked at.
const MOST_ENTRIES: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use activebench_detect::acceptance::Placed;

    use super::*;

    #[test]
    fn files_of_the_target_are_named_from_it_or_inside_it() {
        let target = |is_device| Target {
            path: Placed { value: "/mnt/bench".to_owned(), span: 0..0 },
            is_device,
            destroy: false,
            model: None,
            serial: None,
            firmware: None,
        };
        for (file, in_folder, in_device) in [
            ("x", true, false),
            ("a/x", true, false),
            ("/mnt/bench/x", true, false),
            ("/mnt/bench", true, true),
            ("/mnt/bench2", false, false),
            ("../x", false, false),
            ("a/../../x", false, false),
            ("/mnt/bench/../x", false, false),
            ("/dev/sdb", false, false),
        ] {
            assert_eq!(is_in_target(file, &target(false)), in_folder, "{file}");
            assert_eq!(is_in_target(file, &target(true)), in_device, "{file}");
        }
    }

    #[test]
    fn a_program_is_one_that_only_root_can_replace() {
        let shell = installed_program("sh").expect("every system has it");
        assert!(shell.is_absolute());
        for (name, why) in
            [("./sh", "without its folder"), ("/bin/sh", "without its folder"), ("no-such", "no program")]
        {
            let told = installed_program(name).expect_err(name);
            assert!(told.contains(why), "{name}: {told}");
        }
    }

    #[test]
    fn a_folder_that_only_root_may_list_is_passed_over_by_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let private = folder.path().join("lost+found");
        fs::create_dir(&private).expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its owner may");
        fs::set_permissions(&private, fs::Permissions::from_mode(0o000)).expect("its owner may");
        let path = folder.path().to_owned();
        // Only this thread becomes another user.
        let seen = std::thread::spawn(move || {
            if rustix::process::getuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("root may");
            }
            assert!(fs::read_dir(path.join("lost+found")).is_err());
            (way_out(&path), way_out(&path.join("lost+found")).is_err())
        });
        assert_eq!(seen.join().expect("no panic"), (Ok(None), true));
    }

    #[test]
    fn nothing_but_files_and_folders_is_in_a_target() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("a")).expect("a folder");
        fs::write(folder.path().join("a/x"), "x").expect("a file");
        // A link is followed by nobody who is kept to the folder.
        std::os::unix::fs::symlink("/dev/null", folder.path().join("link")).expect("a link");
        assert_eq!(way_out(folder.path()), Ok(None));
        assert!(matches!(way_out(Path::new("/dev")), Ok(Some(_))));
        assert!(way_out(&folder.path().join("absent")).is_err());
    }
}
