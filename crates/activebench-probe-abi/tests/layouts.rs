//! Compares every record's Rust layout with the BTF of the committed kernel object, and the classes of records with its
//! source: the object has no type for them.

use std::collections::HashMap;

use activebench_model::event::KernelClass;
use activebench_probe_abi::layouts;
use object::{Object, ObjectSection};

/// A struct of the object: its size and its fields with byte offsets, in order.
#[derive(Debug, PartialEq)]
struct CStruct {
    size: usize,
    fields: Vec<(String, usize)>,
}

/// Reads the structs of a `.BTF` section (format: the kernel's `Documentation/bpf/btf.rst`).
fn structs_of(btf: &[u8]) -> HashMap<String, CStruct> {
    let word = |at: usize| u32::from_le_bytes(btf[at..at + 4].try_into().expect("four bytes")) as usize;
    let header = word(4);
    let types = header + word(8);
    let types_end = types + word(12);
    let strings = header + word(16);
    let name = |offset: usize| {
        let start = strings + offset;
        let end = start + btf[start..].iter().position(|byte| *byte == 0).expect("terminated name");
        String::from_utf8_lossy(&btf[start..end]).into_owned()
    };
    let mut found = HashMap::new();
    let mut at = types;
    while at < types_end {
        let (type_name, info, size) = (word(at), word(at + 4), word(at + 8));
        let (count, kind) = (info & 0xffff, info >> 24 & 0x1f);
        at += 12;
        if kind == 4 {
            let fields = (0..count)
                // The upper byte of an offset is a bit field's width.
                .map(|field| (name(word(at + field * 12)), (word(at + field * 12 + 8) & 0xff_ffff) / 8))
                .collect();
            found.insert(name(type_name), CStruct { size, fields });
        }
        at += match kind {
            1 | 14 | 17 => 4,              // INT, VAR, DECL_TAG
            3 => 12,                       // ARRAY
            4 | 5 | 15 | 19 => count * 12, // STRUCT, UNION, DATASEC, ENUM64
            6 | 13 => count * 8,           // ENUM, FUNC_PROTO
            _ => 0,
        };
    }
    found
}

#[test]
fn layouts_agree_with_the_committed_object() {
    let elf = object::File::parse(activebench_ebpf::OBJECT).expect("the committed object is an ELF file");
    let section = elf.section_by_name(".BTF").expect("the committed object has BTF");
    let structs = structs_of(section.data().expect("section data"));
    for layout in layouts() {
        let rust = CStruct {
            size: layout.size,
            fields: layout.fields.iter().map(|(name, offset)| ((*name).to_owned(), *offset)).collect(),
        };
        assert_eq!(structs.get(layout.c_name), Some(&rust), "struct {}", layout.c_name);
    }
    assert!(layouts().count() >= 10);
}

#[test]
fn classes_agree_with_the_kernel_programs() {
    let source = include_str!("../../activebench-ebpf/src/records.h");
    let listed =
        source.split_once("enum record_class {").and_then(|(_, rest)| rest.split_once('}')).expect("the enum").0;
    // In C, too, the number of a class is its position.
    let in_c: Vec<&str> = listed.split(',').map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut expected: Vec<String> = Vec::new();
    for class in KernelClass::ALL {
        let mut name = "CLASS".to_owned();
        for letter in format!("{class:?}").chars() {
            name.extend(letter.is_uppercase().then_some('_'));
            name.push(letter.to_ascii_uppercase());
        }
        expected.push(name);
    }
    expected.push("CLASS_COUNT".to_owned());
    assert_eq!(in_c, expected);
}
