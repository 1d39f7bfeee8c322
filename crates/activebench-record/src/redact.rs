//! A copy of a run without the names in it: hosts, users, serial numbers, addresses and paths.
//!
//! Names are learnt from places that hold them (paths, mount options, attributes of devices, a tool's banner) and split
//! into words. Every word is replaced by the same word of the same length everywhere: in the tool's output and files,
//! in the tables, in the manifest. Characters between words stay. So columns stay where they are, a path stays below
//! its folder, a file keeps the name that the command line gives it, and the copy is judged like the original. Ordinary
//! words ([`words::is_ordinary`]) are never learnt: they name nobody, and parsers look for them.
//!
//! Files that cannot be cleaned are left out: the samples of what was written, and files that this version does not
//! know.

mod copy;
mod learn;
mod redactor;
mod words;

pub use copy::copy_series;
pub use learn::Given;
pub use redactor::Redactor;
