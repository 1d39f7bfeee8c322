//! Under which name a file was open at a time.

use std::collections::HashMap;

use activebench_model::call::{FileId, Op};
use activebench_model::source::{EventSource, Unreadable};

/// The names under which the tree opened each file. Inodes of deleted files are used again, so a file has names by
/// time. Memory: one entry a name and file, and again where it changes.
#[derive(Debug, Default)]
pub(super) struct FileNames(HashMap<FileId, Vec<(u64, String)>>);

impl FileNames {
    pub(super) fn read(events: &dyn EventSource) -> Result<Self, Unreadable> {
        let mut names: HashMap<FileId, Vec<(u64, String)>> = HashMap::new();
        for batch in events.names() {
            for event in batch? {
                let Some(file) = event.file.filter(|_| event.op == Op::Open && event.returned >= 0) else { continue };
                let of_file = names.entry(file).or_default();
                // Mostly a file is opened under its one name again and again.
                if of_file.last().is_none_or(|(_, name)| *name != event.name) {
                    of_file.push((event.at_ns, event.name));
                }
            }
        }
        names.values_mut().for_each(|of_file| of_file.sort_by_key(|(at_ns, _)| *at_ns));
        Ok(Self(names))
    }

    /// The name under which it was last opened by a time, or was first opened after it; `None` for a file that the
    /// tree never opened by name.
    pub(super) fn at(&self, file: FileId, at_ns: u64) -> Option<&str> {
        let of_file = self.0.get(&file)?;
        let after = of_file.partition_point(|(opened_ns, _)| *opened_ns <= at_ns);
        of_file.get(after.saturating_sub(1)).map(|(_, name)| name.as_str())
    }

    /// The files that ever had each name.
    pub(super) fn by_name(&self) -> HashMap<&str, Vec<FileId>> {
        let mut files: HashMap<&str, Vec<FileId>> = HashMap::new();
        for (file, names) in &self.0 {
            for (_, name) in names {
                files.entry(name).or_default().push(*file);
            }
        }
        files
    }
}
