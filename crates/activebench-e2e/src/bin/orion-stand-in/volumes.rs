//! The volumes of the `.lun` file as one space of blocks.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use crate::options::Options;

/// Number of blocks per block that the defect revisits (plus one block): 98,305 of 12,582,912 in the study.
const DEFECT_SHARE: u64 = 128;

/// A volume.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    file: File,
}

/// All volumes.
#[derive(Debug)]
pub(crate) struct Volumes {
    all: Vec<Volume>,
    raid0: bool,
    stripe_bytes: u64,
    repeats_offsets: bool,
}

/// Target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The volume's number.
    pub(crate) volume: usize,
    pub(crate) fd: i32,
    pub(crate) offset: u64,
}

impl Volumes {
    pub(crate) fn open(options: &Options) -> Result<Self, String> {
        let name = format!("{}.lun", options.test_name);
        let list = std::fs::read_to_string(&name).map_err(|_| {
            format!(
                "Failure in opening .lun file {name} (rwbase_read_luncfg:SlfFopen)orion_parse_args: \
                 rwbase_read_luncfg failed"
            )
        })?;
        let mut all = Vec::new();
        for name in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let failed = |error| format!("rwbase_lio_init_luns: lun_openvol failed\ncannot open {name}: {error}");
            let mut file = OpenOptions::new()
                .read(true)
                .write(options.write_percent > 0)
                .custom_flags(libc::O_DIRECT)
                .open(name)
                .map_err(failed)?;
            let bytes = file.seek(SeekFrom::End(0)).map_err(failed)?;
            if bytes < options.small_bytes.max(options.large_bytes) {
                return Err(format!("rwbase_lio_init_luns: volume {name} is too small"));
            }
            all.push(Volume { name: name.to_owned(), bytes, file });
        }
        if all.is_empty() {
            return Err(format!("rwbase_read_luncfg: {name} names no volume"));
        }
        Ok(Self {
            all,
            raid0: options.raid0,
            stripe_bytes: options.stripe_bytes,
            repeats_offsets: options.repeats_offsets,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Volume> {
        self.all.iter()
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of whole blocks of a size over all volumes.
    pub(crate) fn blocks(&self, block_bytes: u64) -> u64 {
        match self.raid0 {
            // The space past the end of the smallest volume is not part of a stripe.
            true => self.smallest(block_bytes) * self.count() as u64,
            false => self.all.iter().map(|volume| volume.bytes / block_bytes).sum(),
        }
    }

    /// Returns the blocks of the smallest volume, in whole stripes.
    fn smallest(&self, block_bytes: u64) -> u64 {
        let in_stripe = self.in_stripe(block_bytes);
        let least = self.all.iter().map(|volume| volume.bytes / block_bytes).min().unwrap_or(0);
        (least / in_stripe).max(1) * in_stripe
    }

    fn in_stripe(&self, block_bytes: u64) -> u64 {
        (self.stripe_bytes / block_bytes).max(1)
    }

    /// Returns the place of a block, whose number is below [`Volumes::blocks`].
    pub(crate) fn place(&self, block: u64, block_bytes: u64) -> Place {
        let (volume, within) = if self.raid0 {
            let in_stripe = self.in_stripe(block_bytes);
            let (stripe, within) = (block / in_stripe, block % in_stripe);
            let volumes = self.count() as u64;
            ((stripe % volumes) as usize, (stripe / volumes) * in_stripe + within)
        } else {
            let mut within = block;
            let holds = |volume: &Volume| {
                let blocks = volume.bytes / block_bytes;
                let here = within < blocks;
                within -= if here { 0 } else { blocks };
                here
            };
            let volume = self.all.iter().position(holds).expect("the block is below their number");
            (volume, within)
        };
        Place { volume, fd: self.all[volume].file.as_raw_fd(), offset: within * block_bytes }
    }

    /// Draws a block independently of earlier draws; with the defect, from the small set.
    pub(crate) fn random(&self, block_bytes: u64) -> Place {
        let blocks = self.blocks(block_bytes);
        let block = match self.repeats_offsets {
            true => (fastrand::u64(0..=blocks / DEFECT_SHARE) * DEFECT_SHARE).min(blocks - 1),
            false => fastrand::u64(0..blocks),
        };
        self.place(block, block_bytes)
    }

    pub(crate) fn name(&self, volume: usize) -> &str {
        &self.all[volume].name
    }
}
