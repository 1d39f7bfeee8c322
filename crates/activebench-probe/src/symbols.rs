//! Looks up the names of the stacks' places once, at the end of the run: those of the kernel in `/proc/kallsyms`,
//! those of a file in its own symbol table.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use activebench_model::thread_stacks::{Frame, Stacks};
use blazesym::MaybeDefault;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};

use crate::mappings::{Module, ModuleId};
use crate::stacks::{Place, StackTable};

/// Maximum distance from a function's start at which an address still counts as inside it. No kernel table has the
/// length of functions, and code without a symbol may follow the last one.
const LONGEST_FUNCTION: usize = 1 << 20;
/// Maximum bytes of a name: those of C++ templates can be kilobytes.
const LONGEST_NAME: usize = 256;

/// Stack samples below which the kernel's functions stay without a name. To read its symbols takes 0.1 s, and 20 samples
/// are 20 ms of CPU time, of which no function is the hottest.
const LEAST_SAMPLES: u64 = 20;

/// Returns the stacks of these many samples with names, as far as there are symbols. Call it while our own programs are
/// loaded: the kernel ran them too, and forgets their names when they are unloaded.
pub(crate) fn resolve(table: &mut StackTable, samples: u64) -> Stacks {
    let kernel = table.kernel_module();
    let mut frames: Vec<Frame> = table.place_list.iter().map(|place| frame(*place, kernel)).collect();
    let symbolizer = symbolizer();
    for (module, places) in by_module(&table.place_list) {
        let names = match module {
            None if samples < LEAST_SAMPLES => vec![None; places.len()],
            None => kernel_names(&symbolizer, &places),
            Some(module) => file_names(&symbolizer, &table.mappings.modules.list[module as usize], &places),
        };
        for ((number, _), name) in places.into_iter().zip(names) {
            frames[number].symbol = name;
        }
    }
    Stacks {
        modules: table.mappings.modules.list.iter().map(|module| module.name.clone()).collect(),
        frames,
        stacks: table.stacks.iter().map(|stack| stack.to_vec()).collect(),
    }
}

fn symbolizer() -> Symbolizer {
    Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build()
}

/// Returns the names of places in one file, as [`resolve`] finds them.
pub(crate) fn names_in_file(module: &Module, places: &[(usize, u64)]) -> Vec<Option<String>> {
    file_names(&symbolizer(), module, places)
}

fn frame(place: Place, kernel: ModuleId) -> Frame {
    let (module, file_offset) = match place {
        // The kernel's location in memory is a secret that a report must not reveal.
        Place::Kernel(_) => (Some(kernel), None),
        Place::Module(module, offset) => (Some(module), Some(offset)),
        Place::Unknown => (None, None),
    };
    Frame { module, file_offset, symbol: None }
}

/// Returns the places of each module (`None`: the kernel) with their numbers.
fn by_module(places: &[Place]) -> BTreeMap<Option<ModuleId>, Vec<(usize, u64)>> {
    let mut modules: BTreeMap<Option<ModuleId>, Vec<(usize, u64)>> = BTreeMap::new();
    for (number, place) in places.iter().enumerate() {
        match place {
            Place::Kernel(address) => modules.entry(None).or_default().push((number, *address)),
            Place::Module(module, offset) => modules.entry(Some(*module)).or_default().push((number, *offset)),
            Place::Unknown => {}
        }
    }
    modules
}

fn kernel_names(symbolizer: &Symbolizer, places: &[(usize, u64)]) -> Vec<Option<String>> {
    let addresses: Vec<u64> = places.iter().map(|(_, address)| *address).collect();
    // Without the right to see addresses the kernel shows zeroes: every name would be wrong.
    if !kallsyms_has_addresses(Path::new("/proc/kallsyms")) {
        return vec![None; places.len()];
    }
    // An image of a kernel on disk may not be that of the running one.
    let kernel = Kernel { vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() };
    names(symbolizer, &Source::Kernel(kernel), Input::AbsAddr(&addresses), places.len())
}

fn kallsyms_has_addresses(path: &Path) -> bool {
    use std::io::{BufRead, BufReader};
    let Ok(file) = fs::File::open(path) else { return false };
    // The first symbols, of per-CPU variables, are zero on some kernels anyway.
    BufReader::new(file)
        .lines()
        .map_while(Result::ok)
        .any(|line| line.split(' ').next().is_some_and(|address| address.bytes().any(|digit| digit != b'0')))
}

fn file_names(symbolizer: &Symbolizer, module: &Module, places: &[(usize, u64)]) -> Vec<Option<String>> {
    let none = vec![None; places.len()];
    // The file under this name may no longer be the mapped one, or may not be a regular file.
    match fs::symlink_metadata(&module.name) {
        Ok(metadata) if metadata.is_file() && metadata.ino() == module.ino => {}
        _ => return none,
    }
    let offsets: Vec<u64> = places.iter().map(|(_, offset)| *offset).collect();
    let elf = Elf { debug_syms: false, ..Elf::new(&module.name) };
    names(symbolizer, &Source::Elf(elf), Input::FileOffset(&offsets), places.len())
}

/// Returns one entry per address, `None` for an address without a name; all are `None` if the file cannot be parsed.
fn names(symbolizer: &Symbolizer, source: &Source<'_>, input: Input<&[u64]>, count: usize) -> Vec<Option<String>> {
    // The files are the tool's and may be malicious: even a panic of the library only costs the names of the file.
    let found = catch_unwind(AssertUnwindSafe(|| symbolizer.symbolize(source, input)));
    let Ok(Ok(found)) = found else { return vec![None; count] };
    let mut names: Vec<Option<String>> = found
        .into_iter()
        .map(|found| match found {
            Symbolized::Sym(symbol) if symbol.offset < LONGEST_FUNCTION => Some(shortened(&symbol.name)),
            Symbolized::Sym(_) | Symbolized::Unknown(_) => None,
        })
        .collect();
    names.resize(count, None);
    names
}

fn shortened(name: &str) -> String {
    if name.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let end = (0..=LONGEST_NAME).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mappings::Mappings;
    use activebench_probe_abi::SampleRecord;

    #[inline(never)]
    extern "C" fn a_function_to_be_found(of: u64) -> u64 {
        std::hint::black_box(of) + 1
    }

    /// Takes a sample of this process at one of its own addresses.
    fn resolved(user: u64) -> Stacks {
        let mut table = StackTable::new(Mappings::new("/proc".into()));
        // SAFETY: all zeroes is a value of every record.
        let mut record: SampleRecord = unsafe { std::mem::zeroed() };
        record.cpu.tgid = std::process::id();
        (record.user_frames[0], record.user_count) = (user, 1);
        assert_eq!(table.intern(&record), Some(0));
        resolve(&mut table, LEAST_SAMPLES)
    }

    #[test]
    fn a_function_of_this_process_is_named() {
        let stacks = resolved(a_function_to_be_found as *const () as u64 + 1);
        let frame = &stacks.frames[0];
        let own = std::env::current_exe().expect("our own executable");
        assert_eq!(Path::new(&stacks.modules[frame.module.expect("a module") as usize]), own);
        assert!(frame.file_offset.is_some());
        let symbol = frame.symbol.as_deref().expect("a symbol");
        assert!(symbol.contains("a_function_to_be_found"), "{symbol}");
    }

    #[test]
    fn an_address_of_nothing_has_neither_module_nor_name() {
        assert_eq!(resolved(8).frames, [Frame::default()]);
    }

    #[test]
    fn a_file_that_is_another_one_now_gives_no_names() {
        let own = std::env::current_exe().expect("our own executable");
        let module = Module { name: own.display().to_string(), ino: 1 };
        assert_eq!(file_names(&Symbolizer::new(), &module, &[(0, 0x1000)]), [None]);
    }

    #[test]
    fn a_file_that_is_no_executable_gives_no_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tool");
        for bytes in
            [&b""[..], b"text", b"\x7fELF", b"\x7fELF\x02\x01\x01\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"]
        {
            fs::write(&path, bytes).expect("a file");
            let ino = fs::metadata(&path).expect("it is there").ino();
            let module = Module { name: path.display().to_string(), ino };
            assert_eq!(file_names(&Symbolizer::new(), &module, &[(0, 0x1000)]), [None], "{bytes:?}");
        }
    }

    #[test]
    fn an_address_far_behind_the_last_symbol_of_the_kernel_has_no_name() {
        if !kallsyms_has_addresses(Path::new("/proc/kallsyms")) {
            return;
        }
        assert_eq!(kernel_names(&Symbolizer::new(), &[(0, u64::MAX - 8)]), [None]);
    }

    #[test]
    fn hidden_addresses_are_known_as_such() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kallsyms");
        let zero = "0000000000000000 A fixed_percpu_data\n0000000000000000 T _stext\n";
        for (text, expected) in [(zero.to_owned(), false), (format!("{zero}ffffffff81000000 T _text\n"), true)] {
            fs::write(&path, text).expect("a file");
            assert_eq!(kallsyms_has_addresses(&path), expected);
        }
        assert!(!kallsyms_has_addresses(&folder.path().join("none")));
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"ä".repeat(LONGEST_NAME));
        assert_eq!(long.chars().count(), LONGEST_NAME / 2 + 1);
    }
}
