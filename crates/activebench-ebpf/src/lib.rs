//! The kernel programs, built from the C sources beside this file.
//!
//! The object is committed, so that building activebench needs no clang. `cargo xtask bpf`
//! rebuilds it, `cargo xtask bpf --check` fails when it and its sources disagree.

/// The built object: an ELF file that aya loads.
pub static OBJECT: &[u8] = &aligned::OBJECT.0;

/// The SHA-256 of [`OBJECT`] in lower-case hexadecimal, as `cargo xtask bpf` wrote it down when it built the object.
pub const OBJECT_SHA256: &str = first_sum(include_str!("../prebuilt/activebench.bpf.o.sha256"));

/// Returns the sum at the beginning of a list of `sha256sum`.
const fn first_sum(list: &str) -> &str {
    list.split_at(64).0
}

/// An object of programs that do nothing, named `sys_enter` and `sys_exit` like their
/// hooks: the floor that the cost of observing is compared with.
pub static EMPTY_PROGRAMS: &[u8] = &aligned::EMPTY_PROGRAMS.0;

mod aligned {
    /// ELF parsers read headers in place, so the bytes must be aligned like them.
    #[repr(C, align(8))]
    pub(crate) struct Aligned<T: ?Sized>(pub(crate) T);

    pub(crate) static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!("../prebuilt/activebench.bpf.o"));
    pub(crate) static EMPTY_PROGRAMS: &Aligned<[u8]> = &Aligned(*include_bytes!("../prebuilt/empty_programs.bpf.o"));
}
