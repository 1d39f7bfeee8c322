//! Plain data that both sides read: its bytes, and its layout to compare with the kernel object's.

use std::mem::size_of;

/// Plain data that the kernel writes: any bytes are a valid value.
///
/// # Safety
/// Implement it only for `repr(C)` structs of integers and arrays of integers.
pub unsafe trait Record: Copy + 'static {
    /// Returns the first value in `bytes` and the rest; `None` when they are too short.
    fn split_from(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let rest = bytes.get(size_of::<Self>()..)?;
        // SAFETY: `get` above proved that `bytes` contains `size_of::<Self>()` bytes, the read
        // is unaligned, and the trait promises that every bit pattern is a value.
        let value = unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() };
        Some((value, rest))
    }
}

/// Returns the bytes of a value.
pub fn bytes_of<T: Record>(value: &T) -> &[u8] {
    bytes_of_all(std::slice::from_ref(value))
}

/// Returns the bytes of consecutive values.
pub fn bytes_of_all<T: Record>(values: &[T]) -> &[u8] {
    // SAFETY: the bytes of live values, read only. `Record`s have only integers, and the kernel zeroes any padding of
    // its maps.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Declares layouts: the name in Rust, the name in C, and the fields, which have equal names in both.
macro_rules! shared {
    ($($(#[$doc:meta])* $name:ident / $c_name:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

            // SAFETY: `repr(C)` and integers or arrays of integers only.
            unsafe impl $crate::layout::Record for $name {}
        )*

        /// The layouts of this module.
        pub(crate) const LAYOUTS: &[$crate::layout::Layout] = &[$($crate::layout::Layout {
            c_name: $c_name,
            size: size_of::<$name>(),
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
        },)*];
    };
}

pub(crate) use shared;

/// A layout, to compare with the object's BTF.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Name of the struct in C.
    pub c_name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Name and byte offset of each field; Rust names equal C names.
    pub fields: &'static [(&'static str, usize)],
}
