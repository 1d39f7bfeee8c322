//! The maps of the loaded object, by name and with their types.

use activebench_probe_abi::Record;
use aya::maps::{Array, Map, MapData, PerCpuArray};
use aya::{Ebpf, Pod};

use crate::error::ProbeError;
use crate::ring::Ring;

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

pub(crate) fn per_cpu_map<'a, T: Record>(
    ebpf: &'a mut Ebpf,
    name: &'static str,
) -> Result<PerCpuArray<&'a mut MapData, Plain<T>>, ProbeError> {
    PerCpuArray::try_from(map_of(ebpf, name)?).map_err(|error| map_error(name, &error))
}

pub(crate) fn map_error(map: &'static str, error: &aya::maps::MapError) -> ProbeError {
    ProbeError::Map { map, why: error.to_string() }
}
