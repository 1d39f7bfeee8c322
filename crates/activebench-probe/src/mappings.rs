//! Finds the file whose code is at an address of a process. Reads `/proc/PID/maps` while the process lives, because
//! the mappings are unknown afterwards.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Minimum time between two readings of one process's mappings.
const LEAST_AGE: Duration = Duration::from_millis(100);

/// Index of a module in [`Modules`].
pub(crate) type ModuleId = u32;

/// Files and other sources of mapped code, each once.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    ids: HashMap<Module, ModuleId>,
    pub(crate) list: Vec<Module>,
}

/// A source of code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Module {
    /// Path, or a name in brackets.
    pub(crate) name: String,
    /// Inode number of the file, to recognise it later; 0 if it is not a file.
    pub(crate) ino: u64,
}

impl Modules {
    pub(crate) fn id_of(&mut self, name: &str, ino: u64) -> ModuleId {
        let module = Module { name: name.to_owned(), ino };
        *self.ids.entry(module).or_insert_with_key(|module| {
            self.list.push(module.clone());
            self.list.len() as ModuleId - 1
        })
    }
}

/// A range of executable memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    /// Offset of its start in the module.
    offset: u64,
    module: ModuleId,
}

#[derive(Debug, Default)]
struct Process {
    /// Ascending, without overlap.
    mappings: Vec<Mapping>,
    read: Option<Instant>,
}

/// The mappings of the tree's processes.
#[derive(Debug)]
pub(crate) struct Mappings {
    proc: PathBuf,
    processes: HashMap<u32, Process>,
    /// Processes whose mappings could not be read.
    unread: HashSet<u32>,
    pub(crate) modules: Modules,
}

impl Mappings {
    /// Creates an empty table. `proc` is `/proc`, or a folder like it.
    pub(crate) fn new(proc: PathBuf) -> Self {
        Self { proc, processes: HashMap::new(), unread: HashSet::new(), modules: Modules::default() }
    }

    /// Forgets a process. Call it when the process has executed another file, or has ended.
    pub(crate) fn forget(&mut self, tgid: u32) {
        self.processes.remove(&tgid);
    }

    /// Returns the number of processes whose mappings could never be read.
    pub(crate) fn unread(&self) -> u64 {
        self.unread.len() as u64
    }

    /// Reads the mappings of a process if they are unknown, or do not contain this address.
    pub(crate) fn refresh(&mut self, tgid: u32, address: u64) {
        let process = self.processes.entry(tgid).or_default();
        if find(&process.mappings, address).is_some() || process.read.is_some_and(|read| read.elapsed() < LEAST_AGE) {
            return;
        }
        process.read = Some(Instant::now());
        match std::fs::read(self.proc.join(tgid.to_string()).join("maps")) {
            Ok(text) if !text.is_empty() => {
                process.mappings = parse(&String::from_utf8_lossy(&text), &mut self.modules);
                self.unread.remove(&tgid);
            }
            // An ended process does not have mappings; those read earlier stay valid.
            _ if process.mappings.is_empty() => {
                self.unread.insert(tgid);
            }
            _ => {}
        }
    }

    /// Returns the module at an address and the offset in the module.
    pub(crate) fn locate(&self, tgid: u32, address: u64) -> Option<(ModuleId, u64)> {
        let mapping = find(&self.processes.get(&tgid)?.mappings, address)?;
        Some((mapping.module, mapping.offset + (address - mapping.start)))
    }
}

fn find(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    mappings[..after].last().filter(|mapping| address < mapping.end)
}

/// Parses the executable lines of a `maps` file; skips others, and lines that cannot be parsed.
fn parse(text: &str, modules: &mut Modules) -> Vec<Mapping> {
    text.lines().filter_map(|line| mapping(line, modules)).collect()
}

/// Parses `55d0-55e0 r-xp 00001000 fe:01 1234    /usr/bin/iozone`; the path may contain blanks.
fn mapping(line: &str, modules: &mut Modules) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || -> Option<&str> {
        let (field, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        (!field.is_empty()).then_some(field)
    };
    let (range, rights, offset, _device, ino) = (field()?, field()?, field()?, field()?, field()?);
    if rights.as_bytes().get(2) != Some(&b'x') {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    let (start, end, offset, ino) = (number(start)?, number(end)?, number(offset)?, ino.parse().ok()?);
    let name = match rest.trim_start() {
        "" => "[anonymous]",
        name => name,
    };
    (start < end).then(|| Mapping { start, end, offset, module: modules.id_of(name, ino) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d000000000-55d000001000 r--p 00000000 fe:01 1234                       /opt/my tools/bench
55d000001000-55d000003000 r-xp 00001000 fe:01 1234                       /opt/my tools/bench
7f0000000000-7f0000001000 rwxp 00000000 00:00 0
7f0000002000-7f0000003000 r-xp 00004000 fe:01 99                         /lib/libc.so.6 (deleted)
7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]
garbage
";

    fn folder(maps: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("7")).expect("a process");
        std::fs::write(folder.path().join("7/maps"), maps).expect("its mappings");
        folder
    }

    #[test]
    fn an_address_is_placed_in_its_file() {
        let proc = folder(MAPS);
        let mut mappings = Mappings::new(proc.path().to_owned());
        mappings.refresh(7, 0x55d000001010);
        for (address, expected) in [
            (0x55d000000000, None),
            (0x55d000000fff, None),
            (0x55d000001010, Some(("/opt/my tools/bench", 1234, 0x1010))),
            (0x55d000003000, None),
            (0x7f0000000008, Some(("[anonymous]", 0, 8))),
            (0x7f0000002001, Some(("/lib/libc.so.6 (deleted)", 99, 0x4001))),
            (0x7ffc00001fff, Some(("[vdso]", 0, 0x1fff))),
            (u64::MAX, None),
        ] {
            let found = mappings.locate(7, address).map(|(module, offset)| {
                let module = &mappings.modules.list[module as usize];
                (module.name.as_str(), module.ino, offset)
            });
            assert_eq!(found, expected, "{address:x}");
        }
        assert_eq!(mappings.unread(), 0);
    }

    #[test]
    fn what_ended_keeps_its_mappings_and_what_was_never_read_is_counted() {
        let proc = folder(MAPS);
        let mut mappings = Mappings::new(proc.path().to_owned());
        mappings.refresh(7, 0x55d000001010);
        std::fs::remove_dir_all(proc.path().join("7")).expect("it ends");
        mappings.processes.get_mut(&7).expect("known").read = None;
        mappings.refresh(7, 1);
        assert!(mappings.locate(7, 0x55d000001010).is_some());
        mappings.refresh(8, 1);
        mappings.refresh(8, 1);
        assert_eq!(mappings.unread(), 1);
        mappings.forget(7);
        assert_eq!(mappings.locate(7, 0x55d000001010), None);
    }
}
