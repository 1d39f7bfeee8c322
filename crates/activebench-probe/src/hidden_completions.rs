//! Completions that no hook saw and no later I/O proved: taken from the kernel's tables when the tree has ended.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use activebench_model::call::{DeviceNumber, Op};
use activebench_probe_abi::{AsyncCall, AsyncKey, AsyncSlot, BioOwner, BlockRecord, CallRecord, IssuedRequest};
use aya::Ebpf;
use aya::maps::{HashMap, MapData};

use crate::error::ProbeError;
use crate::maps::{Plain, map_error, map_of, used_values};

/// Maximum wait for a device to become idle.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// Infers the completions of all remembered I/O on devices where nothing is in flight. Infers nothing for a device
/// that stays busy.
pub(crate) fn completions(ebpf: &mut Ebpf) -> Result<Vec<BlockRecord>, ProbeError> {
    let mut records = Vec::new();
    let bios: HashMap<&mut MapData, u64, Plain<BioOwner>> =
        HashMap::try_from(map_of(ebpf, "bio_owners")?).map_err(|error| map_error("bio_owners", &error))?;
    for entry in bios.iter() {
        let (_, Plain(bio)) = entry.map_err(|error| map_error("bio_owners", &error))?;
        if bio.left > 0 {
            records.push(BlockRecord::inferred_from_bio(&bio));
        }
    }
    let requests: HashMap<&mut MapData, u64, Plain<IssuedRequest>> =
        HashMap::try_from(map_of(ebpf, "issued")?).map_err(|error| map_error("issued", &error))?;
    for entry in requests.iter() {
        let (_, Plain(request)) = entry.map_err(|error| map_error("issued", &error))?;
        records.extend(BlockRecord::inferred_from_request(&request));
    }
    let devices: HashSet<u32> = records.iter().map(|record| record.device).collect();
    let quiet: HashSet<u32> = devices.into_iter().filter(|device| comes_to_rest(DeviceNumber(*device))).collect();
    records.retain(|record| quiet.contains(&record.device));
    Ok(records)
}

/// Asynchronous calls that are still in flight when the tree has ended.
pub(crate) struct UnseenCalls {
    /// Requests of libaio whose completion no call was seen to collect: a process can read it from the ring in its
    /// own memory.
    pub(crate) inferred: Vec<CallRecord>,
    /// Requests of io_uring without a completion entry: their result is unknown.
    pub(crate) lost: u64,
}

/// Returns the calls that were submitted and not seen to end.
pub(crate) fn calls(ebpf: &mut Ebpf) -> Result<UnseenCalls, ProbeError> {
    let slots = used_values(ebpf, "in_flight", |slot: &AsyncSlot| slot.address != 0)?;
    let mut calls: Vec<AsyncCall> = slots.iter().map(|slot| slot.call).collect();
    let besides: HashMap<&mut MapData, Plain<AsyncKey>, Plain<AsyncCall>> =
        HashMap::try_from(map_of(ebpf, "in_flight_besides")?)
            .map_err(|error| map_error("in_flight_besides", &error))?;
    for entry in besides.iter() {
        let (_, Plain(call)) = entry.map_err(|error| map_error("in_flight_besides", &error))?;
        calls.push(call);
    }
    let is_of_libaio = |op| matches!(op, Op::AioRead | Op::AioWrite | Op::AioFsync | Op::AioFdatasync);
    let is_inferred = |call: &&AsyncCall| Op::from_code(call.op).is_some_and(is_of_libaio);
    let inferred: Vec<_> = calls.iter().filter(is_inferred).map(CallRecord::inferred_from_async).collect();
    let lost = (calls.len() - inferred.len()) as u64;
    Ok(UnseenCalls { inferred, lost })
}

/// Returns `true` if the device has a moment without requests; `false` if the number of requests cannot be read.
fn comes_to_rest(device: DeviceNumber) -> bool {
    let path = format!("/sys/dev/block/{device}/inflight");
    let deadline = Instant::now() + PATIENCE;
    loop {
        let Ok(text) = fs::read_to_string(&path) else { return false };
        if text.split_whitespace().all(|count| count == "0") {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}
