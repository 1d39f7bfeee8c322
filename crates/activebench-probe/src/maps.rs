//! The maps of the loaded object, by name and with their types.

use std::os::fd::AsFd;

use activebench_probe_abi::Record;
use aya::maps::{Array, Map, MapData, PerCpuArray};
use aya::{Ebpf, Pod};
use rustix::mm::ProtFlags;
use rustix::param::page_size;

use crate::error::ProbeError;
use crate::ring::{Mapping, Ring};

/// A type that aya may copy from and to a map.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Plain<T>(pub(crate) T);

// SAFETY: `Record` promises that every bit pattern is a value and that there are no pointers.
unsafe impl<T: Record> Pod for Plain<T> {}

/// Maps a ring of the object.
pub(crate) fn ring_of(ebpf: &Ebpf, name: &'static str, bytes: u32) -> Result<Ring, ProbeError> {
    let failed = |why: String| ProbeError::Map { map: name, why };
    match ebpf.map(name) {
        None => Err(failed("it is not in the object".to_owned())),
        Some(Map::RingBuf(ring)) => {
            Ring::new(ring.fd(), bytes as usize).map_err(|error| failed(format!("it cannot be mapped: {error}")))
        }
        Some(_) => Err(failed("it is not a ring".to_owned())),
    }
}

pub(crate) fn map_of<'a>(ebpf: &'a mut Ebpf, name: &'static str) -> Result<&'a mut Map, ProbeError> {
    ebpf.map_mut(name).ok_or_else(|| ProbeError::Map { map: name, why: "it is not in the object".to_owned() })
}

pub(crate) fn typed_map<'a, T: Record>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<Array<&'a mut MapData, Plain<T>>, ProbeError> {
    Array::try_from(map_of(ebpf, name)?).map_err(|error| map_error(name, &error))
}

/// Returns the values of an array that `is_used` selects. Maps the array, which must allow it: asking the kernel for
/// thousands of values one by one takes milliseconds.
pub(crate) fn used_values<T: Record>(
    ebpf: &mut Ebpf,
    name: &'static str,
    is_used: impl Fn(&T) -> bool,
) -> Result<Vec<T>, ProbeError> {
    let failed = |why: String| ProbeError::Map { map: name, why };
    let count = typed_map::<T>(ebpf, name)?.len() as usize;
    let Some(Map::Array(array)) = ebpf.map(name) else { return Err(failed("it is not an array".to_owned())) };
    // The kernel aligns values to 8 bytes.
    let stride = size_of::<T>().next_multiple_of(8);
    let mapping = Mapping::new(array.fd().as_fd(), (count * stride).next_multiple_of(page_size()), 0, ProtFlags::READ)
        .map_err(|error| failed(format!("it cannot be mapped: {error}")))?;
    // SAFETY: the value is inside the mapping, and every bit pattern is a value. The kernel may be changing it, as it may
    // when it copies a value itself.
    let value = |place| unsafe { mapping.address().add(place * stride).cast::<T>().read_volatile() };
    Ok((0..count).map(value).filter(is_used).collect())
}

pub(crate) fn per_cpu_map<'a, T: Record>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<PerCpuArray<&'a mut MapData, Plain<T>>, ProbeError> {
    PerCpuArray::try_from(map_of(ebpf, name)?).map_err(|error| map_error(name, &error))
}

pub(crate) fn map_error(map: &'static str, error: &aya::maps::MapError) -> ProbeError {
    ProbeError::Map { map, why: error.to_string() }
}
