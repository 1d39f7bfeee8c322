//! Calls of library functions: a uprobe on each, by which the kernel side counts them.
//!
//! A uprobe is in the library's file: every process that uses it pays for a trap, whether it is observed or not. So they are
//! there only where the user asks for them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use activebench_model::library::{FUNCTIONS, LibraryCalls, LibrarySpan};
use activebench_probe_abi::{LIBRARY_LOST, LibraryCount, LibraryKey, Record};
use aya::Ebpf;
use aya::maps::{HashMap, MapData};
use aya::programs::uprobe::{UProbeAttachLocation, UProbeAttachPoint, UProbeLinkId, UProbeScope};
use aya::programs::{ProgramError, UProbe};
use blazesym::inspect::source::{Elf, Source};
use blazesym::inspect::{Inspector, SymInfo};

use crate::error::ProbeError;
use crate::maps::{Plain, map_error, map_of};

/// Name of the program in the object.
const PROGRAM: &str = "library_call";
/// Name of the map.
const COUNTS: &str = "library_counts";
/// Counts that the map has room for: of one thread that calls two functions for nine hours. The kernel allocates them one
/// by one.
pub(crate) const MOST_COUNTS: u32 = 1 << 18;
/// Where libraries are, on the distributions that have multiarch folders and on others.
const FOLDERS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// The attached uprobes.
#[derive(Debug, Default)]
pub(crate) struct LibraryProbes {
    links: Vec<UProbeLinkId>,
    /// The files that they are in, and what they are not on.
    about: LibraryCalls,
}

type Counts<'a> = HashMap<&'a mut MapData, Plain<LibraryKey>, Plain<LibraryCount>>;

fn counts(ebpf: &mut Ebpf) -> Result<Counts<'_>, ProbeError> {
    HashMap::try_from(map_of(ebpf, COUNTS)?).map_err(|error| map_error(COUNTS, &error))
}

fn zeroed<T: Record>() -> T {
    // SAFETY: all zeroes is a value of every record.
    unsafe { std::mem::zeroed() }
}

fn lost_key() -> LibraryKey {
    LibraryKey { function: LIBRARY_LOST, ..zeroed() }
}

impl LibraryProbes {
    /// Attaches to every function that is found. What is not is said; nothing else of the observation depends on it.
    ///
    /// # Errors
    /// Returns an error if the object lacks the program or its map.
    pub(crate) fn attach(ebpf: &mut Ebpf) -> Result<Self, ProbeError> {
        counts(ebpf)?
            .insert(Plain(lost_key()), Plain(zeroed::<LibraryCount>()), 0)
            .map_err(|error| map_error(COUNTS, &error))?;
        let mut probes = Self::default();
        let program = program(ebpf)?;
        if let Err(error) = program.load() {
            probes.about.uncounted.push(format!("none of the functions: {error}"));
            return Ok(probes);
        }
        let libraries: BTreeSet<&str> = FUNCTIONS.iter().map(|function| function.library).collect();
        for library in libraries {
            match file_of(library) {
                Some(file) => probes.attach_library(program, library, &file),
                None => probes.about.uncounted.push(format!("{library}: it is not installed")),
            }
        }
        Ok(probes)
    }

    fn attach_library(&mut self, program: &mut UProbe, library: &str, file: &Path) {
        let mut taken = BTreeSet::new();
        let mut attached = 0;
        for (number, function) in (0_u64..).zip(FUNCTIONS).filter(|(_, function)| function.library == library) {
            let offset = match offset_of(file, function.name) {
                Ok(offset) => offset,
                Err(why) => {
                    self.about.uncounted.push(format!("{}: {why}", function.name));
                    continue;
                }
            };
            if !taken.insert(offset) {
                // Another name of one that is counted.
                continue;
            }
            let cookie = number | (function.asked as u64) << 32;
            let point =
                UProbeAttachPoint { location: UProbeAttachLocation::AbsoluteOffset(offset), cookie: Some(cookie) };
            match program.attach(point, file, UProbeScope::AllProcesses) {
                Ok(link) => {
                    self.links.push(link);
                    attached += 1;
                }
                Err(error) => self.about.uncounted.push(format!("{}: {error}", function.name)),
            }
        }
        if attached > 0 {
            self.about.files.push(file.display().to_string());
        }
    }

    /// Detaches, and returns what was counted.
    ///
    /// # Errors
    /// Returns an error if the counts cannot be read.
    pub(crate) fn finish(self, ebpf: &mut Ebpf) -> Result<LibraryCalls, ProbeError> {
        let mut about = self.about;
        let program = program(ebpf)?;
        for link in self.links {
            program.detach(link).map_err(|error| ProbeError::Load(error.to_string()))?;
        }
        let map = counts(ebpf)?;
        for entry in map.iter() {
            let (Plain(key), Plain(count)) = entry.map_err(|error| map_error(COUNTS, &error))?;
            match FUNCTIONS.get(key.function as usize) {
                Some(function) if count.calls > 0 => about.spans.push(LibrarySpan {
                    function: function.name.to_owned(),
                    tgid: key.tgid,
                    tid: key.tid,
                    calls: count.calls,
                    asked_bytes: count.asked_bytes,
                    generation: key.generation,
                    first_ns: count.first_ns,
                    last_ns: count.last_ns,
                }),
                Some(_) => {}
                None => about.lost_calls += count.calls,
            }
        }
        about.spans.sort_by_key(|span| (span.first_ns, span.tid, span.last_ns));
        Ok(about)
    }
}

fn program(ebpf: &mut Ebpf) -> Result<&mut UProbe, ProbeError> {
    ebpf.program_mut(PROGRAM)
        .ok_or_else(|| ProbeError::Load(format!("program {PROGRAM} is not in the object")))?
        .try_into()
        .map_err(|error: ProgramError| ProbeError::Load(error.to_string()))
}

/// Returns the file of a library: `libc.so.6` for `libc`.
fn file_of(library: &str) -> Option<PathBuf> {
    let prefix = format!("{library}.so.");
    FOLDERS.iter().find_map(|folder| {
        let entries = fs::read_dir(folder).ok()?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let shortest = names.filter(|name| name.starts_with(&prefix)).min_by_key(String::len)?;
        fs::canonicalize(Path::new(folder).join(shortest)).ok()
    })
}

/// Returns the place of a function in its file.
fn offset_of(file: &Path, name: &str) -> Result<u64, String> {
    let source = Source::Elf(Elf::new(file));
    let inspector = Inspector::new();
    let found = inspector.lookup(&source, &[name]).map_err(|error| error.to_string())?;
    let offset = |symbol: &SymInfo<'_>| symbol.file_offset;
    found.iter().flatten().find_map(offset).ok_or_else(|| format!("{} has no such function", file.display()))
}

#[cfg(test)]
mod tests {
    use activebench_model::library::{Function, Role};

    use super::*;

    #[test]
    fn functions_are_found_in_the_c_library() {
        let Some(libc) = file_of("libc") else { return };
        let offset = |name: &str| offset_of(&libc, name);
        assert!(offset("fwrite").is_ok_and(|at| at > 0), "{:?}", offset("fwrite"));
        assert!(offset("no_such_function").is_err());
        assert_eq!(file_of("libactivebench-that-is-not-there"), None);
    }

    #[test]
    fn each_function_is_listed_once() {
        let names: BTreeSet<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
        assert_eq!(names.len(), FUNCTIONS.len());
        let starts = FUNCTIONS.iter().filter(|Function { role, .. }| *role == Role::Start);
        assert_eq!(starts.count(), 1);
    }
}
