//! Names of open files by time.

use std::collections::HashMap;

use activebench_model::call::{FileId, Op};
use activebench_model::source::{EventSource, Unreadable};

/// Names under which the tree opened each file. Inodes of deleted files are reused, so the name of a file depends on
/// the time. Memory: one entry per name and file, and one more for each change.
#[derive(Debug, Default)]
pub(super) struct FileNames(HashMap<FileId, Vec<(u64, String)>>);

impl FileNames {
    pub(super) fn read(events: &dyn EventSource) -> Result<Self, Unreadable> {
        let mut names: HashMap<FileId, Vec<(u64, String)>> = HashMap::new();
        for batch in events.names() {
            for event in batch? {
                let Some(file) = event.file.filter(|_| event.op == Op::Open && event.returned >= 0) else { continue };
                let of_file = names.entry(file).or_default();
                // Usually a file is opened under the same name again and again.
                if of_file.last().is_none_or(|(_, name)| *name != event.name) {
                    of_file.push((event.at_ns, event.name));
                }
            }
        }
        names.values_mut().for_each(|of_file| of_file.sort_by_key(|(at_ns, _)| *at_ns));
        Ok(Self(names))
    }

    /// Returns the name of the last open up to `at_ns`, otherwise of the first open after it; `None` for a file that
    /// the tree never opened by name.
    pub(super) fn at(&self, file: FileId, at_ns: u64) -> Option<&str> {
        let of_file = self.0.get(&file)?;
        let after = of_file.partition_point(|(opened_ns, _)| *opened_ns <= at_ns);
        of_file.get(after.saturating_sub(1)).map(|(_, name)| name.as_str())
    }

    /// Returns, for each name, the files that ever had it.
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
