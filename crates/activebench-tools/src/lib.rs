//! One adapter per benchmark: its name and packages, its command line, the conversion of its output to claims and of its
//! calls to phases, and advice on its command.
//!
//! An adapter never judges and never measures: it states the promises, the printed figures,
//! and the span of the observed calls that the tool's own clock covered.
//! To add one: `cargo xtask new adapter NAME`. All other code iterates over [`ADAPTERS`].

mod adapter;
pub mod bonnie;
mod clocked;
pub mod db_bench;
pub mod dbench;
pub mod dd;
pub mod execution;
pub mod f3;
pub mod fio;
pub mod fs_mark;
mod getopt;
pub mod hdparm;
pub mod ioping;
pub mod iozone;
pub mod matched_numbers;
mod named_files;
pub mod orion;
mod pasted;
pub mod pg_test_fsync;
pub mod postmark;
mod printed;
pub mod printed_numbers;
mod program;
mod registry;
pub mod script_figures;
pub mod stated_claims;
pub mod stress_ng;
mod syncs;
pub mod sysbench;
mod vetted;
mod words;

pub use adapter::{Adapter, LoggedIo, OutputFilter, Plan, Replayed};
pub use named_files::named_files;
pub use pasted::{Forms, read_pasted};
pub use program::{PackageManager, Packages, Program, VersionQuery};
pub use registry::{
    ADAPTERS, ENGINE, adapter_by_name, adapter_for_output, adapter_for_program, advisor_of, engine_path, phases_of,
};
pub use vetted::Vetted;
