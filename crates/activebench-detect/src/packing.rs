//! What the detectors of payload have in common: who below stores data packed, and whether enough was sampled.

use activebench_model::fact::FactName;
use activebench_model::host::Target;
use activebench_model::phase::{Direction, Phase};

use crate::case::{Case, Halt};
use crate::context::Run;

/// The layer or file system below that compresses or deduplicates, as far as it says so.
pub(crate) fn packs(target: &Target) -> Option<String> {
    let layer = target.layers.iter().find(|layer| layer.kind == "zram");
    if let Some(layer) = layer {
        return Some(layer.name.clone());
    }
    let option = target.options.split(',').find(|option| option.starts_with("compress"));
    match option {
        Some(option) => Some(format!("{} with {option}", target.fs_type)),
        None if matches!(target.fs_type.as_str(), "zfs" | "bcachefs") => Some(target.fs_type.clone()),
        None => None,
    }
}

/// What below the pass packs data, where enough of its writes was sampled to judge them.
///
/// # Errors
/// When the pass does not write for storage, or too little was sampled.
pub(crate) fn packer_of_sampled<'a>(case: &Case<'a>, phase: &Phase) -> Result<(Case<'a>, Option<String>), Halt> {
    if !matches!(phase.direction, Direction::Write | Direction::Mixed) {
        return Err(Halt::not_applicable("the pass does not write"));
    }
    let case = case.concerning_storage()?;
    let target = case.run.target_of(phase).ok_or_else(|| Halt::undecided("it is not known what the file lies on"))?;
    let packer = packs(target);
    match enough_samples(&case.run, phase) {
        Ok(true) => Ok((case, packer)),
        // Nothing rests on it.
        Ok(false) | Err(_) if packer.is_none() => {
            Err(Halt::not_applicable("too little was sampled, and nothing below is known to pack data"))
        }
        Ok(false) => Err(Halt::undecided("too few writes were sampled")),
        Err(why) => Err(why.into()),
    }
}

/// Whether all writes of the pass were sampled, or enough of them.
///
/// # Errors
/// When a fact is missing or partial.
fn enough_samples(run: &Run<'_>, phase: &Phase) -> Result<bool, String> {
    let samples = run.fact(phase, FactName::PayloadSamples)?;
    let writes = run.fact(phase, FactName::WriteCalls)?;
    Ok(samples > 0.0 && (samples >= writes || samples >= run.thresholds.ab404_samples_least_count.value.value))
}
