//! Content of the data that each phase wrote: zeros, compressibility, repeated data.

use activebench_model::coverage::Coverage;
use activebench_model::event::{PayloadEvent, RecordClass};
use activebench_model::fact::{FactName, Facts, Scope};
use activebench_model::hook::Hook;
use activebench_model::phase::Phase;
use activebench_model::run::Manifest;
use activebench_model::units::Quantity;
use foldhash::HashSet;

use super::part_index::PartIndex;
use super::record_losses::Gap;
use super::windows::end_of;
use activebench_model::source::{EventSource, Unreadable};

/// Source of the samples.
const SOURCE: &str = "tp_btf/sys_enter, tp_btf/io_uring_submit_req";

/// The samples of one phase.
#[derive(Clone, Debug, Default)]
struct Sampled {
    samples: u64,
    unread: u64,
    zeros: u64,
    bytes: u64,
    compressed_bytes: u64,
    contents: HashSet<u32>,
}

impl Sampled {
    fn add(&mut self, event: &PayloadEvent) {
        let Some(content) = event.content else {
            self.unread += 1;
            return;
        };
        self.samples += 1;
        self.zeros += u64::from(event.zero_bytes == event.sampled_bytes);
        self.bytes += u64::from(event.sampled_bytes);
        self.compressed_bytes += u64::from(event.compressed_bytes);
        self.contents.insert(content);
    }

    fn add_facts(&self, gap: &Gap, facts: &mut Facts) {
        let unread = (self.unread > 0).then(|| {
            let all = self.unread + self.samples;
            format!("the memory of {} of {all} sampled writes could not be read", self.unread)
        });
        let gap = gap.clone().and_lost(unread);
        facts.insert(FactName::PayloadSamples, gap.fact(Quantity::count(self.samples), Scope::Tree, SOURCE));
        let of_samples = match self.samples {
            0 => gap.and(&Gap::Missing("no write of the phase was sampled".to_owned())),
            _ => gap,
        };
        let mut add = |name, part: u64, whole: u64| {
            let share = Quantity::ratio(if whole == 0 { 0.0 } else { part as f64 / whole as f64 });
            facts.insert(name, of_samples.fact(share, Scope::Tree, SOURCE));
        };
        add(FactName::PayloadZeroShare, self.zeros, self.samples);
        add(FactName::PayloadCompressed, self.compressed_bytes, self.bytes);
        add(FactName::PayloadDuplicates, self.samples - self.contents.len() as u64, self.samples);
    }
}

/// Adds the facts on the written data to phases with a window.
///
/// Memory: 8 bytes per distinct content and phase; the source has few samples.
///
/// # Errors
/// Returns the errors of the source.
pub(super) fn add(
    source: &dyn EventSource,
    manifest: &Manifest,
    parts: &mut PartIndex,
    phases: &mut [Phase],
) -> Result<(), Unreadable> {
    let mut sampled = vec![Sampled::default(); phases.len()];
    for batch in source.payload() {
        for event in &batch? {
            for (_, place) in parts.overlapping((event.tgid, event.fd), event.at_ns, event.at_ns) {
                let part = place.part(phases);
                if event.at_ns <= end_of(part)
                    && event.file.is_none_or(|file| part.file == file)
                    && (part.tids.is_empty() || part.tids.contains(&event.tid))
                {
                    sampled[place.phase()].add(event);
                }
            }
        }
    }
    let gap = gap(&manifest.coverage);
    for (phase, sampled) in phases.iter_mut().zip(&sampled).filter(|(phase, _)| phase.window.is_some()) {
        sampled.add_facts(&gap, &mut phase.facts);
    }
    Ok(())
}

fn gap(coverage: &Coverage) -> Gap {
    match &coverage.payload {
        None => Gap::Missing("this run has no samples of what was written".to_owned()),
        Some(payload) => match &payload.why_not {
            Some(why) => Gap::Missing(format!("there are no samples: {why}")),
            None => Gap::of(coverage, Hook::SysEnter, RecordClass::Payload),
        },
    }
}
