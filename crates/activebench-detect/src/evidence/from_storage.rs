//! What storage gave to the reads of a pass, where a tracer observed and no device was seen.
//!
//! The kernel adds the bytes of each read that a task sends to a block device to that task's account. The tracer reads the
//! account before and after each read, so that the growth is what storage gave to these calls, readahead included. Data
//! that others brought into memory, or that the tree asked for in other ways, is not in it.

use activebench_model::coverage::{Backend, ReadElsewhere};
use activebench_model::fact::FactName;
use activebench_model::host::Tier;
use activebench_model::phase::{Direction, Phase};

use crate::run::Run;

/// Bytes that storage gave to the reads of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromStorage {
    /// Those of the calls.
    pub(crate) by_calls: f64,
    /// With all that the tree read from storage in other ways while the pass ran, which may have been for these reads.
    pub(crate) at_most: f64,
}

impl Run<'_> {
    /// Returns the most that a figure of the device can be: the figure where it was observed, or else what the device's
    /// own counters show of everybody's I/O. It can show that a figure is small, and nothing else.
    ///
    /// # Errors
    /// As [`Run::fact`] of the figure itself, where it is neither known nor bounded.
    pub(crate) fn at_most(&self, phase: &Phase, name: FactName) -> Result<f64, String> {
        self.fact(phase, name).or_else(|why| {
            let bound = match name {
                FactName::DeviceReadBytes => FactName::DeviceReadAtMost,
                FactName::DeviceRequests if phase.direction == Direction::Read => FactName::DeviceReadsAtMost,
                FactName::DeviceWriteBytes => FactName::DeviceWriteAtMost,
                FactName::DeviceWriteBytesDurable => FactName::DeviceWriteDurableAtMost,
                FactName::Flushes => FactName::FlushesAtMost,
                _ => return Err(why),
            };
            // What is missing is the figure; its bound is a substitute.
            phase.facts.complete(bound).map_err(|_| why)
        })
    }

    /// Returns what storage gave to the reads of a pass; `None` where kernel programs observed, which see more.
    ///
    /// # Errors
    /// When the accounts could not be read, the span of the pass is not known, or the file is on no block device of this host.
    pub(crate) fn given_by_storage(&self, phase: &Phase) -> Option<Result<FromStorage, String>> {
        let coverage = &self.manifest.coverage;
        (coverage.backend == Backend::Ptrace).then(|| {
            if self.target_of(phase).is_none_or(|target| target.tier != Tier::Block) {
                return Err("the file is on no block device of this host, as far as is known".to_owned());
            }
            let by_calls = self.fact(phase, FactName::StorageReadBytes)?;
            let reads = coverage.traced.as_ref().and_then(|traced| traced.storage_reads_elsewhere.as_ref());
            let reads = reads.ok_or("the account of I/O of a thread could not be read at its end")?;
            let window = phase.window.ok_or("the span of the pass is not known")?;
            let inside = |read: &&ReadElsewhere| read.from_ns <= window.end_ns && read.to_ns >= window.start_ns;
            let elsewhere: u64 = reads.iter().filter(inside).map(|read| read.bytes).sum();
            Ok(FromStorage { by_calls, at_most: by_calls + elsewhere as f64 })
        })
    }
}
