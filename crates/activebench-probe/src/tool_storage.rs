//! File systems and devices that the tool uses as storage, as far as the spool must know them.

use activebench_model::event::KernelClass;
use activebench_probe_abi::{CacheRecord, Record};

/// Below this many bytes through calls, the data is a tool's configuration, log or shared library, not its work.
const LEAST_CALLED_BYTES: u64 = 1 << 20;

/// Below this many bytes entering the page cache, the data is the tool's own program and libraries, which are mapped:
/// those of all benchmarks are smaller.
const LEAST_CACHED_BYTES: u64 = 64 << 20;

/// Bytes moved, by super block (or by device, for block devices).
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// Super block, bytes through calls, bytes into the page cache. Has few entries: searched linearly.
    seen: Vec<(u32, u64, u64)>,
}

impl Usage {
    /// Adds records of all classes but calls; returns a super block or device that is in use as storage and is not apart from the spool.
    pub(crate) fn take(&mut self, class: KernelClass, payload: &[u8], is_apart: impl Fn(u32) -> bool) -> Option<u32> {
        match class {
            KernelClass::PageCache => {
                let mut found = None;
                each(payload, |cached: CacheRecord| {
                    if cached.in_tree != 0 {
                        found = self.add(cached.s_dev, 0, u64::from(cached.pages) * 4096, &is_apart).or(found);
                    }
                });
                found
            }
            _ => None,
        }
    }

    /// As [`Usage::take`], for bytes that calls moved.
    pub(crate) fn add_called(&mut self, s_dev: u32, bytes: u64, is_apart: impl Fn(u32) -> bool) -> Option<u32> {
        self.add(s_dev, bytes, 0, &is_apart)
    }

    fn add(&mut self, s_dev: u32, called: u64, cached: u64, is_apart: &impl Fn(u32) -> bool) -> Option<u32> {
        let index = match self.seen.iter().position(|(seen, ..)| *seen == s_dev) {
            Some(index) => index,
            None if is_apart(s_dev) => return None,
            None => {
                self.seen.push((s_dev, 0, 0));
                self.seen.len() - 1
            }
        };
        let (_, by_calls, by_cache) = &mut self.seen[index];
        *by_calls += called;
        *by_cache += cached;
        (*by_calls >= LEAST_CALLED_BYTES || *by_cache >= LEAST_CACHED_BYTES).then_some(s_dev)
    }
}

/// Passes on the records of a payload.
fn each<R: Record>(mut payload: &[u8], mut take: impl FnMut(R)) {
    while let Some((record, rest)) = R::split_from(payload) {
        payload = rest;
        take(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(s_dev: u32, pages: u32, in_tree: u32) -> Vec<u8> {
        let mut bytes = [1_u64, 2, 3].map(u64::to_ne_bytes).concat();
        bytes.extend([s_dev, pages, 9, in_tree].map(u32::to_ne_bytes).concat());
        bytes
    }

    #[test]
    fn storage_in_use_is_told_from_a_program_that_is_loaded() {
        let mut usage = Usage::default();
        let mut take = |payload: &[u8]| usage.take(KernelClass::PageCache, payload, |device| device == 1);
        let pages = (LEAST_CACHED_BYTES / 4096) as u32;
        assert_eq!(take(&cached(1, 9 * pages, 1)), None, "apart");
        assert_eq!(take(&cached(2, pages - 1, 1)), None, "little");
        assert_eq!(take(&cached(2, 9 * pages, 0)), None, "somebody else");
        assert_eq!(take(&[cached(2, 1, 1), cached(1, 1, 1)].concat()), Some(2));
    }
}
