//! The part of the kernel's type information that loading needs.
//!
//! A kernel describes more than a hundred thousand types. aya takes tens of milliseconds to parse them, and searches
//! all of them for each type that a relocation names. Here one pass copies the types that relocations can reach, and
//! notes the numbers of the tracepoints.
//!
//! The format is that of `include/uapi/linux/btf.h`.

use std::collections::{HashMap, HashSet};

use aya::{Btf, Endianness};

use crate::error::ProbeError;

const MAGIC: u16 = 0xeb9f;
/// Bytes of a type without what follows its first three numbers.
const ENTRY_BYTES: usize = 12;

const KIND_INT: u32 = 1;
const KIND_PTR: u32 = 2;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_FWD: u32 = 7;
const KIND_TYPEDEF: u32 = 8;
const KIND_VOLATILE: u32 = 9;
const KIND_CONST: u32 = 10;
const KIND_RESTRICT: u32 = 11;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_FLOAT: u32 = 16;
const KIND_DECL_TAG: u32 = 17;
const KIND_TYPE_TAG: u32 = 18;
const KIND_ENUM64: u32 = 19;

/// Types of the running kernel, as far as loading an object needs them.
#[derive(Debug)]
pub(crate) struct NeededTypes {
    /// What relocations can reach, under other numbers than the kernel's.
    pub(crate) relocated: Btf,
    /// The tracepoints, under the kernel's numbers. All other types are placeholders.
    pub(crate) tracepoints: Btf,
}

impl NeededTypes {
    /// Reads the types that an object with these types of its own needs, and these tracepoints.
    ///
    /// # Errors
    /// Returns an error if the kernel has no types, or has them in an unknown format.
    pub(crate) fn read<'a>(own: &Btf, tracepoints: impl Iterator<Item = &'a str>) -> Result<Self, ProbeError> {
        let kernel = std::fs::read("/sys/kernel/btf/vmlinux").map_err(|error| ProbeError::NoBtf(error.to_string()))?;
        Self::of(&kernel, &own.to_bytes(), tracepoints)
            .ok_or_else(|| ProbeError::NoBtf("its format is unknown".to_owned()))
    }

    fn of<'a>(kernel: &[u8], own: &[u8], tracepoints: impl Iterator<Item = &'a str>) -> Option<Self> {
        let own = Types::parse(own)?;
        let mut named = HashSet::new();
        for number in 1..=own.count() {
            let entry = own.entry(number)?;
            let name = without_flavor(own.string(entry.name)?);
            named.insert((entry.kind(), name));
            // An enumeration may have another width in the kernel.
            if matches!(entry.kind(), KIND_ENUM | KIND_ENUM64) {
                named.extend([(KIND_ENUM, name), (KIND_ENUM64, name)]);
            }
        }
        let tracepoints: HashSet<Vec<u8>> = tracepoints.map(|name| format!("btf_trace_{name}").into_bytes()).collect();

        let kernel = Types::parse(kernel)?;
        let mut reachable = Reachable::default();
        let mut numbered = Description::default();
        for number in 1..=kernel.count() {
            let entry = kernel.entry(number)?;
            // Functions, pointers and the like are most of the types, and nothing asks for them by their name.
            if entry.name == 0
                || !matches!(entry.kind(), KIND_STRUCT | KIND_UNION | KIND_ENUM | KIND_ENUM64 | KIND_TYPEDEF)
            {
                continue;
            }
            let name = kernel.string(entry.name)?;
            if named.contains(&(entry.kind(), without_flavor(name))) {
                reachable.number(number);
            }
            if entry.kind() == KIND_TYPEDEF && tracepoints.contains(name) {
                while numbered.count + 1 < number {
                    numbered.add(b"", KIND_FWD << 24, 0, &[]);
                }
                numbered.add(name, KIND_TYPEDEF << 24, 0, &[]);
            }
        }
        Some(Self { relocated: reachable.copied(&kernel)?.parsed()?, tracepoints: numbered.parsed()? })
    }
}

/// Returns a name without the suffix for another version of the same type: `request___old`.
fn without_flavor(name: &[u8]) -> &[u8] {
    name.windows(3).position(|three| three == b"___").map_or(name, |end| &name[..end])
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The first three numbers of a type.
#[derive(Clone, Copy)]
struct Entry {
    name: u32,
    info: u32,
    size_or_type: u32,
}

impl Entry {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn members(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// Returns the bytes that follow; `None` for an unknown kind.
    fn bytes_after(self) -> Option<usize> {
        Some(match self.kind() {
            KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
            KIND_ARRAY => 12,
            KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * self.members(),
            KIND_ENUM | KIND_FUNC_PROTO => 8 * self.members(),
            KIND_PTR | KIND_FWD | KIND_TYPEDEF | KIND_VOLATILE | KIND_CONST | KIND_RESTRICT | KIND_FUNC
            | KIND_FLOAT | KIND_TYPE_TAG => 0,
            _ => return None,
        })
    }
}

/// Type information in its binary form.
struct Types<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// Start of each type. Number 1 is the first: 0 is `void`.
    starts: Vec<u32>,
}

impl<'a> Types<'a> {
    /// Returns `None` if this is not the known format.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        if u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?) != MAGIC {
            return None;
        }
        let header = |index: usize| number_at(bytes, 4 * index).map(|number| number as usize);
        let body = bytes.get(header(1)?..)?;
        let part = |from: usize, length: usize| body.get(from..from.checked_add(length)?);
        let (types, strings) = (part(header(2)?, header(3)?)?, part(header(4)?, header(5)?)?);
        let mut parsed = Self { types, strings, starts: Vec::with_capacity(types.len() / 24) };
        let mut at = 0;
        while at < types.len() {
            parsed.starts.push(at as u32);
            at += ENTRY_BYTES + parsed.entry(parsed.count())?.bytes_after()?;
        }
        Some(parsed)
    }

    fn count(&self) -> u32 {
        self.starts.len() as u32
    }

    fn start(&self, number: u32) -> Option<usize> {
        self.starts.get(number.checked_sub(1)? as usize).map(|start| *start as usize)
    }

    fn entry(&self, number: u32) -> Option<Entry> {
        let bytes = self.types.get(self.start(number)?..)?;
        Some(Entry { name: number_at(bytes, 0)?, info: number_at(bytes, 4)?, size_or_type: number_at(bytes, 8)? })
    }

    /// Returns the numbers that follow the entry.
    fn after(&self, number: u32) -> Option<Vec<u32>> {
        let begin = self.start(number)? + ENTRY_BYTES;
        let bytes = self.types.get(begin..begin + self.entry(number)?.bytes_after()?)?;
        Some(bytes.chunks_exact(4).map(|four| u32::from_ne_bytes([four[0], four[1], four[2], four[3]])).collect())
    }

    fn string(&self, at: u32) -> Option<&'a [u8]> {
        let from = self.strings.get(at as usize..)?;
        Some(&from[..from.iter().position(|byte| *byte == 0)?])
    }
}

/// Types that are to be copied, with their new numbers.
#[derive(Default)]
struct Reachable {
    numbers: HashMap<u32, u32>,
    /// The kernel's numbers, in the order of the new ones.
    order: Vec<u32>,
}

impl Reachable {
    /// Returns the new number of a type, and has it copied.
    fn number(&mut self, kernels: u32) -> u32 {
        if kernels == 0 {
            return 0;
        }
        *self.numbers.entry(kernels).or_insert_with(|| {
            self.order.push(kernels);
            self.order.len() as u32
        })
    }

    /// Copies the types, and those that they consist of. A relocation passes from a type to its members, and never
    /// through a pointer: what a pointer points to is left out.
    fn copied(mut self, kernel: &Types<'_>) -> Option<Description> {
        let mut copy = Description::default();
        let mut next = 0;
        while let Some(number) = self.order.get(next).copied() {
            next += 1;
            let Entry { name, mut info, mut size_or_type } = kernel.entry(number)?;
            let mut after = kernel.after(number)?;
            match info >> 24 & 0x1f {
                KIND_STRUCT | KIND_UNION => {
                    for member in after.chunks_exact_mut(3) {
                        member[0] = copy.string(kernel.string(member[0])?);
                        member[1] = self.number(member[1]);
                    }
                }
                KIND_ARRAY => {
                    after[0] = self.number(after[0]);
                    after[1] = self.number(after[1]);
                }
                KIND_TYPEDEF | KIND_VOLATILE | KIND_CONST | KIND_RESTRICT | KIND_TYPE_TAG => {
                    size_or_type = self.number(size_or_type);
                }
                KIND_ENUM => {
                    for variant in after.chunks_exact_mut(2) {
                        variant[0] = copy.string(kernel.string(variant[0])?);
                    }
                }
                KIND_ENUM64 => {
                    for variant in after.chunks_exact_mut(3) {
                        variant[0] = copy.string(kernel.string(variant[0])?);
                    }
                }
                KIND_INT | KIND_FWD | KIND_FLOAT => {}
                KIND_PTR => size_or_type = 0,
                // Nothing consists of these.
                _ => (info, size_or_type, after) = (KIND_FWD << 24, 0, Vec::new()),
            }
            copy.add(kernel.string(name)?, info, size_or_type, &after);
        }
        Some(copy)
    }
}

/// Type information that is being written.
struct Description {
    types: Vec<u8>,
    strings: Vec<u8>,
    places: HashMap<Vec<u8>, u32>,
    /// Number of the last type.
    count: u32,
}

impl Default for Description {
    fn default() -> Self {
        Self { types: Vec::new(), strings: vec![0], places: HashMap::new(), count: 0 }
    }
}

impl Description {
    fn string(&mut self, string: &[u8]) -> u32 {
        if string.is_empty() {
            return 0;
        }
        if let Some(place) = self.places.get(string) {
            return *place;
        }
        let place = self.strings.len() as u32;
        self.strings.extend_from_slice(string);
        self.strings.push(0);
        self.places.insert(string.to_vec(), place);
        place
    }

    fn add(&mut self, name: &[u8], info: u32, size_or_type: u32, after: &[u32]) {
        let name = self.string(name);
        for number in [name, info, size_or_type].iter().chain(after) {
            self.types.extend_from_slice(&number.to_ne_bytes());
        }
        self.count += 1;
    }

    fn parsed(&self) -> Option<Btf> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = Vec::with_capacity(24 + self.types.len() + self.strings.len());
        bytes.extend_from_slice(&MAGIC.to_ne_bytes());
        // Version 1, without flags.
        bytes.extend_from_slice(&[1, 0]);
        for number in [24, 0, types, types, strings] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        bytes.extend_from_slice(&self.types);
        bytes.extend_from_slice(&self.strings);
        Btf::parse(&bytes, Endianness::default()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::PROGRAMS;
    use aya_obj::Object;
    use aya_obj::btf::BtfKind;

    fn object() -> Object {
        Object::parse(activebench_ebpf::OBJECT).expect("the committed object parses")
    }

    fn tracepoints() -> impl Iterator<Item = &'static str> {
        PROGRAMS.iter().flat_map(|(_, programs)| *programs).map(|(_, tracepoint)| *tracepoint)
    }

    #[test]
    fn relocations_and_tracepoints_are_those_of_the_whole_description() {
        // A kernel without types cannot be compared with.
        let Ok(all) = Btf::from_sys_fs() else { return };
        let (mut expected, mut found) = (object(), object());
        let needed = NeededTypes::read(found.btf.as_ref().expect("types"), tracepoints()).expect("types");
        expected.relocate_btf(&all).expect("relocated");
        found.relocate_btf(&needed.relocated).expect("relocated");
        for (place, function) in &expected.functions {
            let other = &found.functions[place];
            let of = |function: &aya_obj::Function| format!("{:?}", function.instructions);
            assert_eq!(of(function), of(other), "{}", function.name);
        }
        for tracepoint in tracepoints() {
            let name = format!("btf_trace_{tracepoint}");
            let number = |types: &Btf| types.id_by_type_name_kind(&name, BtfKind::Typedef).ok();
            assert_eq!(number(&all), number(&needed.tracepoints), "{name}");
        }
        let size = |types: &Btf| types.to_bytes().len();
        assert!(size(&needed.relocated) < size(&all) / 8, "{}", size(&needed.relocated));
    }

    #[test]
    fn types_that_a_kernel_keeps_in_a_module_are_no_obstacle() {
        let Ok(mut kernel) = std::fs::read("/sys/kernel/btf/vmlinux") else { return };
        // FUSE in a module has its types there.
        for name in ["fuse_req", "fuse_conn", "fuse_mount", "fuse_in_header", "fuse_out_header"] {
            let whole = format!("\0{name}\0").into_bytes();
            let Some(at) = kernel.windows(whole.len()).position(|bytes| bytes == whole) else { continue };
            kernel[at + 1] = b'x';
        }
        let mut object = object();
        let own = object.btf.as_ref().expect("types").to_bytes();
        let needed = NeededTypes::of(&kernel, &own, tracepoints()).expect("types");
        assert!(needed.relocated.id_by_type_name_kind("fuse_req", BtfKind::Struct).is_err());
        object.relocate_btf(&needed.relocated).expect("all others are relocated");
    }

    #[test]
    fn damaged_types_are_refused() {
        let own = object().btf.expect("types").to_bytes();
        assert!(NeededTypes::of(&own, &own, tracepoints()).is_some());
        for length in [0, 1, 8, 23, 24, own.len() / 2, own.len() - 1] {
            assert!(NeededTypes::of(&own[..length], &own, tracepoints()).is_none(), "{length}");
        }
        let mut unknown = own.clone();
        unknown[24 + 7] = 0x1f;
        assert!(NeededTypes::of(&unknown, &own, tracepoints()).is_none());
    }
}
