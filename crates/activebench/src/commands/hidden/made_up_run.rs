//! A run directory of made-up reads: for measuring the analysis of offsets at a size for which a real run would take
//! minutes. Their offsets are also written as text for other tools; or the reads form a whole run of Orion, see
//! [`orion`].

mod orion;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use activebench_model::call::{Call, FileId, FileKind, Op};
use activebench_model::coverage::Coverage;
use activebench_model::run::{FORMAT, Manifest};
use activebench_record::RunWriter;
use anyhow::Context;

const BLOCK_BYTES: u64 = 8192;
/// Calls that are written at once.
const BATCH: u64 = 1 << 14;

/// Random reads of whole blocks by one thread.
#[derive(clap::Args, Debug)]
pub(crate) struct Recorded {
    /// How many.
    #[arg(long)]
    reads: u64,
    /// Blocks of 8 KiB to choose from.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    blocks: u64,
    /// Where the offsets go too, one a line.
    #[arg(long, value_name = "FILE", required_unless_present = "orion_set", conflicts_with = "orion_set")]
    offsets: Option<PathBuf>,
    /// Write them as a run of Orion 11.2 whose generator revisits so many of the blocks.
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u64).range(1..))]
    orion_set: Option<u64>,
    /// The run directory.
    directory: PathBuf,
}

impl Recorded {
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        match (&self.offsets, self.orion_set) {
            (Some(offsets), _) => self.write_reads(offsets),
            (None, Some(set)) => orion::write(&self.directory, self.reads, self.blocks, set.min(self.blocks)),
            (None, None) => anyhow::bail!("neither --offsets nor --orion-set is given"),
        }
    }

    fn write_reads(&self, offsets: &Path) -> anyhow::Result<()> {
        let mut writer = RunWriter::create(&self.directory)?;
        let context = || format!("cannot write {}", offsets.display());
        let mut text = BufWriter::new(File::create(offsets).with_context(context)?);
        let mut state = SEED;
        for first in (0..self.reads).step_by(BATCH as usize) {
            let mut calls = Vec::with_capacity(BATCH as usize);
            for number in first..self.reads.min(first + BATCH) {
                let offset = BLOCK_BYTES * random(&mut state, self.blocks);
                writeln!(text, "{offset}").with_context(context)?;
                calls.push(read(number, offset));
            }
            writer.append(&calls);
        }
        text.flush().with_context(context)?;
        let written = writer.finish(Manifest {
            format: FORMAT,
            activebench: env!("CARGO_PKG_VERSION").to_owned(),
            command: Default::default(),
            added_arguments: Vec::new(),
            tool_command: None,
            executed_tools: None,
            measurements: Vec::new(),
            choices: Default::default(),
            child: Default::default(),
            clocks: Default::default(),
            host: Default::default(),
            ceilings: None,
            coverage: Coverage::default(),
            incomplete: vec!["nobody made these reads: they were written to measure their analysis".to_owned()],
            preparation: None,
            watch: None,
            redacted: None,
            sha256: Default::default(),
        })?;
        // If all was written, the note above is the only one.
        anyhow::ensure!(written.incomplete.len() == 1, "{}", written.incomplete.join("; "));
        Ok(())
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

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
