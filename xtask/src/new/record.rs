//! `cargo xtask new record NAME`: a class of records of the kernel programs.

use std::path::Path;

use anyhow::Result;

use super::scaffold::{Added, Scaffold, spellings};

/// One addition of the scaffold: the file, its place there, the text.
const ADDITIONS: [(&str, Added<'static>); 10] = [
    (
        EVENT,
        Added::Before {
            start: "record_classes! {",
            end: "    }",
            text: "        /// Fill in: what a record reports.\n        NewName = \"new_name\", spare;",
        },
    ),
    (
        EVENT,
        Added::Before {
            start: "macro_rules! event_kinds",
            end: "            /// Readings of the host's steal time; those of one CPU are in order.",
            text: "            /// Fill in: what the events are.\n            \
                   NewName new_name from kernel: $crate::event::NewNameEvent, \"new_name\", \
                   |_| $crate::event::RecordClass::NewName,\n                \"Fill in\";",
        },
    ),
    (
        EVENT,
        Added::Last(
            "/// Fill in: what happened.\n#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]\n\
             pub struct NewNameEvent {\n    /// When.\n    pub at_ns: u64,\n}",
        ),
    ),
    (
        "crates/activebench-ebpf/src/records.h",
        Added::Before { start: "\tCLASS_CALLS,", end: "\tCLASS_COUNT,", text: "\tCLASS_NEW_NAME," },
    ),
    (
        "crates/activebench-ebpf/src/records.h",
        Added::Before {
            start: "struct issued_request {",
            end: "#endif",
            text: "struct new_name_record {\n\tu64 at_ns;\n};\n",
        },
    ),
    (
        "crates/activebench-probe-abi/src/records.rs",
        Added::Before {
            start: "shared! {",
            end: "}",
            text: "\n    /// Fill in: what a record reports.\n    NewNameRecord / \"new_name_record\" {\n        \
                   /// Time of the record.\n        at_ns: u64,\n    }",
        },
    ),
    (
        DECODE,
        Added::Before {
            start: "macro_rules! with_kernel_event",
            end: "            KernelClass::Payload | KernelClass::Output => $reduced,",
            text: "            KernelClass::NewName => {\n                \
                   type $event = activebench_model::event::NewNameEvent;\n                $kept\n            }",
        },
    ),
    (
        DECODE,
        Added::Last(
            "impl KernelEvent for activebench_model::event::NewNameEvent {\n    \
             type Record = crate::records::NewNameRecord;\n    \
             const CLASSES: &'static [KernelClass] = &[KernelClass::NewName];\n    \
             const TRAVEL: Travel = Travel::Batched;\n\n    \
             fn at_ns(record: &Self::Record) -> u64 {\n        record.at_ns\n    }\n\n    \
             fn decode(_: KernelClass, record: &Self::Record, _: &dyn Fn(u32) -> bool) -> Option<Self> {\n        \
             Some(Self { at_ns: record.at_ns })\n    }\n}",
        ),
    ),
    (TABLES, Added::Behind { line: "use crate::part::Table;", text: "use activebench_model::event::NewNameEvent;" }),
    (TABLES, Added::Last("table! {\n    NewNameEvent {\n        at_ns;\n    }\n}")),
];

const EVENT: &str = "crates/activebench-model/src/event.rs";
const DECODE: &str = "crates/activebench-probe-abi/src/decode.rs";
const TABLES: &str = "crates/activebench-record/src/tables.rs";

/// Returns the files of a class of records.
///
/// # Errors
/// When the name is malformed.
pub(super) fn record(root: &Path, name: &str) -> Result<Scaffold> {
    let name = spellings(name)?;
    let mut scaffold = Scaffold::new(root);
    for (path, added) in ADDITIONS {
        let filled = |text: &str| name.fill(text);
        match added {
            Added::Module(text) => scaffold.edit(path, Added::Module(&filled(text)))?,
            Added::Last(text) => scaffold.edit(path, Added::Last(&filled(text)))?,
            Added::Before { start, end, text } => {
                scaffold.edit(path, Added::Before { start, end, text: &filled(text) })?;
            }
            Added::Behind { line, text } => scaffold.edit(path, Added::Behind { line, text: &filled(text) })?,
        }
    }
    Ok(scaffold)
}
