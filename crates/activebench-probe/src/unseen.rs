//! Completions that no hook saw and that no later I/O proved: what the kernel's tables still
//! hold at the end.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use activebench_model::call::DeviceNumber;
use activebench_probe_abi::{BioOwner, BlockRecord, IssuedRequest};
use aya::Ebpf;
use aya::maps::{HashMap, MapData};

use crate::kernel::{Plain, ProbeError, map_error, map_of};

/// How long a device may take to come to rest.
const PATIENCE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(5);

/// The completions of everything that is still remembered on devices where nothing is in
/// flight. On a device that stays busy nothing is concluded.
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

/// Whether the device shows a moment without requests; false where it does not tell.
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
