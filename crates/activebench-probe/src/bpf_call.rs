//! The `bpf(2)` system call, for commands that aya has no type for.

use std::io;

use aya_obj::generated::{bpf_attr, bpf_cmd};

/// Attributes with every field zero.
pub(crate) fn zeroed_attributes() -> bpf_attr {
    // SAFETY: zero is a value of every field of the union's variants.
    unsafe { std::mem::zeroed() }
}

/// Makes the call; returns what it returned: a new descriptor for commands that make one.
///
/// # Errors
/// The error of the kernel.
///
/// # Safety
/// Every pointer that the command reads from `attributes` must be valid for the length that is beside it, or that the
/// command implies, for reads and writes until the call returns.
pub(crate) unsafe fn bpf(command: bpf_cmd, attributes: &mut bpf_attr) -> io::Result<i32> {
    // SAFETY: `attributes` is a whole, initialised `bpf_attr`; the caller answers for its pointers.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command as libc::c_long, std::ptr::from_mut(attributes), size_of_val(attributes))
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}
