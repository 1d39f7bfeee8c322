//! Finds run directories below folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::folder::{EntryKind, RunFolder};
use crate::layout::MANIFEST;
use crate::series::read_series;

/// Maximum depth of nested folders; deeper ones are somebody's mistake.
const DEEPEST: usize = 32;
/// Ending of a bundle's name.
const BUNDLE: &str = ".activebench.tar.zst";

/// Runs and bundles found below a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Run directories, in the order of their names.
    pub runs: Vec<PathBuf>,
    /// Bundles: files, which are not opened here.
    pub bundles: Vec<PathBuf>,
    /// Folders that could not be read, each with the reason.
    pub left_out: Vec<(PathBuf, String)>,
}

/// Finds the run directories in a folder and below it, or the folder itself. Those of series and of unpacked bundles
/// are included, but not the preconditioning of a series, which is not one of its runs. A link is followed only if it
/// is the folder itself.
pub fn find_runs(folder: &Path) -> Found {
    let mut found = Found::default();
    look(folder, 0, &mut found);
    found
}

fn look(folder: &Path, depth: usize, found: &mut Found) {
    let open = match RunFolder::open(folder) {
        Ok(open) => open,
        Err(error) => {
            found.left_out.push((folder.to_owned(), error.to_string()));
            return;
        }
    };
    // A run's own folders hold no runs. Whatever has the manifest's name is reported when it is read.
    if !matches!(open.kind(MANIFEST), Ok(None)) {
        found.runs.push(folder.to_owned());
        return;
    }
    if depth > DEEPEST {
        found.left_out.push((folder.to_owned(), format!("it is more than {DEEPEST} folders deep")));
        return;
    }
    let preconditioning = match read_series(folder) {
        Ok(series) => series.and_then(|series| series.manifest.preconditioning).map(|name| folder.join(name)),
        Err(error) => {
            found.left_out.push((folder.to_owned(), error.to_string()));
            None
        }
    };
    let mut folders = BTreeSet::new();
    match open.entries() {
        Err(error) => found.left_out.push((folder.to_owned(), error.to_string())),
        Ok(entries) => {
            for (name, kind) in entries {
                let path = folder.join(&name);
                match kind {
                    EntryKind::Folder if Some(&path) == preconditioning.as_ref() => {}
                    EntryKind::Folder => {
                        folders.insert(InOrder(path));
                    }
                    EntryKind::File if name.to_string_lossy().ends_with(BUNDLE) => found.bundles.push(path),
                    EntryKind::File | EntryKind::Other(_) => {}
                }
            }
        }
    }
    for InOrder(folder) in folders {
        look(&folder, depth + 1, found);
    }
}

/// Shorter names first, so that a series' run 10 follows its run 9.
#[derive(PartialEq, Eq)]
struct InOrder(PathBuf);

impl Ord for InOrder {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.as_os_str().len(), &self.0).cmp(&(other.0.as_os_str().len(), &other.0))
    }
}

impl PartialOrd for InOrder {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use activebench_model::series::{FORMAT, SeriesManifest};

    use super::*;
    use crate::write_series;

    #[test]
    fn runs_of_series_and_bundles_are_found_and_no_folder_of_a_run_is_one() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["a/events", "series/10", "series/9", "bundle/run", "empty/deep"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in
            ["a/run.json", "a/events/run.json", "series/9/run.json", "series/10/run.json", "bundle/run/run.json"]
        {
            fs::write(root.path().join(file), "").unwrap();
        }
        let series = SeriesManifest {
            format: FORMAT,
            activebench: "0.1.0".to_owned(),
            command: Default::default(),
            planned_runs: 2,
            until: None,
            runs: vec!["9".to_owned(), "10".to_owned()],
            preconditioning: Some("preconditioning".to_owned()),
            choices: Default::default(),
            incomplete: Vec::new(),
        };
        write_series(&root.path().join("series"), &series).unwrap();
        fs::create_dir(root.path().join("series/preconditioning")).unwrap();
        fs::write(root.path().join("series/preconditioning/run.json"), "").unwrap();
        fs::write(root.path().join("empty/x.activebench.tar.zst"), "").unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("empty/loop")).unwrap();
        let names = |found: &Found| -> Vec<String> {
            let relative = |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
            found.runs.iter().map(relative).collect()
        };
        let found = find_runs(root.path());
        assert_eq!(names(&found), ["a", "bundle/run", "series/9", "series/10"]);
        assert_eq!((found.bundles.len(), found.left_out.len()), (1, 0));
        for named in ["series/9", "series/preconditioning"] {
            assert_eq!(names(&find_runs(&root.path().join(named))), [named]);
        }
        assert_eq!(find_runs(&root.path().join("gone")).left_out.len(), 1);
        assert_eq!(find_runs(&root.path().join("empty/loop")).runs.len(), 4, "a link that was named is followed");
    }
}
