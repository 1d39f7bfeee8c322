//! A run directory of reads that nobody made, and their offsets as text: what the analysis of
//! offsets is measured with, at a size for which a real run would take minutes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::coverage::Coverage;
use activebench_model::run::{FORMAT, Manifest};
use activebench_record::RunWriter;
use anyhow::Context;

const BLOCK_BYTES: u64 = 8192;
/// Calls that are handed over at once.
const BATCH: u64 = 1 << 14;

/// Random reads of whole blocks by one thread.
#[derive(clap::Args, Debug)]
pub(crate) struct Recorded {
    /// How many.
    #[arg(long)]
    reads: u64,
    /// Blocks of 8 KiB to choose from.
    #[arg(long)]
    blocks: u64,
    /// Where the offsets go too, one a line.
    #[arg(long, value_name = "FILE")]
    offsets: PathBuf,
    /// The run directory.
    directory: PathBuf,
}

impl Recorded {
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let mut writer = RunWriter::create(&self.directory)?;
        let context = || format!("cannot write {}", self.offsets.display());
        let mut offsets = BufWriter::new(File::create(&self.offsets).with_context(context)?);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for first in (0..self.reads).step_by(BATCH as usize) {
            let mut calls = Vec::with_capacity(BATCH as usize);
            for number in first..self.reads.min(first + BATCH) {
                let offset = BLOCK_BYTES * random(&mut state, self.blocks);
                writeln!(offsets, "{offset}").with_context(context)?;
                calls.push(read(number, offset));
            }
            writer.append_calls(&calls);
        }
        offsets.flush().with_context(context)?;
        let written = writer.finish(Manifest {
            format: FORMAT,
            activebench: env!("CARGO_PKG_VERSION").to_owned(),
            command: Default::default(),
            added_arguments: Vec::new(),
            choices: Default::default(),
            child: Default::default(),
            clocks: Default::default(),
            host: Default::default(),
            coverage: Coverage { backend: "none".to_owned(), ..Coverage::default() },
            incomplete: vec!["nobody made these reads: they were written to measure their analysis".to_owned()],
            sha256: Default::default(),
        })?;
        // The note above stands alone when all was written.
        anyhow::ensure!(written.incomplete.len() == 1, "{}", written.incomplete.join("; "));
        Ok(())
    }
}

/// A number below `end` (xorshift64, by G. Marsaglia).
fn random(state: &mut u64, end: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    ((u128::from(*state) * u128::from(end)) >> 64) as u64
}

fn read(number: u64, offset: u64) -> Call {
    let start_ns = 1000 + number * 1000;
    Call {
        start_ns,
        end_ns: start_ns + 800 + offset % 64,
        tid: 100,
        tgid: 100,
        op: Op::Pread,
        fd: 3,
        file: Some(FileId { s_dev: 7 << 20, ino: 12 }),
        kind: FileKind::Regular,
        open_flags: 0,
        offset: offset as i64,
        requested: BLOCK_BYTES,
        returned: BLOCK_BYTES as i64,
        storage_read_bytes: BLOCK_BYTES,
        cached_bytes: BLOCK_BYTES,
        cpu_ns: 500,
        user_before_ns: 150,
        stands_for: 1,
    }
}
