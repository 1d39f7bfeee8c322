//! The list of detectors, by hand, in the order of their codes.

use crate::context::Detector;
use crate::detectors::{
    access_pattern_differs::AccessPatternDiffers, asynchronous_through_page_cache::AsynchronousThroughPageCache,
    below_media_floor::BelowMediaFloor, beyond_physical_limit::BeyondPhysicalLimit, blind_path::BlindPath,
    block_size_differs::BlockSizeDiffers, cache_below_direct_io::CacheBelowDirectIo,
    claim_exceeds_calls::ClaimExceedsCalls, claim_exceeds_device::ClaimExceedsDevice,
    cliff_or_throttling::CliffOrThrottling, clock_disagrees::ClockDisagrees, compressible_payload::CompressiblePayload,
    cpu_bound::CpuBound, cpu_interference::CpuInterference, depth_without_engine::DepthWithoutEngine,
    device_not_fit::DeviceNotFit, direct_io_not_honoured::DirectIoNotHonoured, duplicate_payload::DuplicatePayload,
    errors_swallowed::ErrorsSwallowed, evidence_lost::EvidenceLost, flush_never_issued::FlushNeverIssued,
    foreign_dirty_pages::ForeignDirtyPages, foreign_io::ForeignIo, memory_pressure::MemoryPressure,
    missing_fsync::MissingFsync, network_client_cache::NetworkClientCache, no_steady_state::NoSteadyState,
    not_reproducible::NotReproducible, option_needs_another::OptionNeedsAnother,
    option_without_effect::OptionWithoutEffect, outlier_runs::OutlierRuns, output_inconsistent::OutputInconsistent,
    page_cache_served_reads::PageCacheServedReads, payload_reduced_or_amplified::PayloadReducedOrAmplified,
    perturbed_by_observer::PerturbedByObserver, phase_too_short::PhaseTooShort, power_state::PowerState,
    queue_depth_not_reached::QueueDepthNotReached, rate_limited_by_tool::RateLimitedByTool,
    read_write_mix_differs::ReadWriteMixDiffers, readahead_served_iops::ReadaheadServedIops,
    repeated_offsets::RepeatedOffsets, same_offsets_every_run::SameOffsetsEveryRun, size_below_memory::SizeBelowMemory,
    size_differs::SizeDiffers, sync_outside_clock::SyncOutsideClock, target_not_touched::TargetNotTouched,
    throttled_by_policy::ThrottledByPolicy, time_limit_too_short::TimeLimitTooShort, unit_mix_up::UnitMixUp,
    unwritten_blocks_read::UnwrittenBlocksRead, verification_inside_clock::VerificationInsideClock,
    verify_loop_inside_clock::VerifyLoopInsideClock, warm_start::WarmStart, workers_missing::WorkersMissing,
    working_set_fits_device_cache::WorkingSetFitsDeviceCache, working_set_fits_memory::WorkingSetFitsMemory,
    write_without_sync::WriteWithoutSync,
};

/// Every detector.
pub const DETECTORS: &[&dyn Detector] = &[
    &ClaimExceedsCalls,
    &ClaimExceedsDevice,
    &UnitMixUp,
    &ClockDisagrees,
    &ErrorsSwallowed,
    &TargetNotTouched,
    &BlockSizeDiffers,
    &ReadWriteMixDiffers,
    &AccessPatternDiffers,
    &WorkersMissing,
    &OutputInconsistent,
    &OptionWithoutEffect,
    &SizeDiffers,
    &PageCacheServedReads,
    &WorkingSetFitsMemory,
    &WarmStart,
    &DirectIoNotHonoured,
    &CacheBelowDirectIo,
    &WorkingSetFitsDeviceCache,
    &UnwrittenBlocksRead,
    &NetworkClientCache,
    &MissingFsync,
    &SyncOutsideClock,
    &FlushNeverIssued,
    &RepeatedOffsets,
    &SameOffsetsEveryRun,
    &QueueDepthNotReached,
    &CompressiblePayload,
    &DuplicatePayload,
    &PayloadReducedOrAmplified,
    &ReadaheadServedIops,
    &CpuBound,
    &VerifyLoopInsideClock,
    &BeyondPhysicalLimit,
    &BelowMediaFloor,
    &ThrottledByPolicy,
    &RateLimitedByTool,
    &ForeignIo,
    &CpuInterference,
    &ForeignDirtyPages,
    &PowerState,
    &MemoryPressure,
    &DeviceNotFit,
    &PhaseTooShort,
    &NoSteadyState,
    &CliffOrThrottling,
    &OutlierRuns,
    &NotReproducible,
    &DepthWithoutEngine,
    &AsynchronousThroughPageCache,
    &WriteWithoutSync,
    &SizeBelowMemory,
    &OptionNeedsAnother,
    &VerificationInsideClock,
    &TimeLimitTooShort,
    &BlindPath,
    &EvidenceLost,
    &PerturbedByObserver,
];

/// The detector with this code or name, in any case.
pub fn find(code_or_name: &str) -> Option<&'static dyn Detector> {
    DETECTORS.iter().copied().find(|detector| {
        detector.code().eq_ignore_ascii_case(code_or_name) || detector.name().eq_ignore_ascii_case(code_or_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manual::HEADINGS;

    #[test]
    fn codes_ascend_and_are_well_formed() {
        for pair in DETECTORS.windows(2) {
            assert!(pair[0].code() < pair[1].code(), "{} stands before {}", pair[0].code(), pair[1].code());
        }
        for detector in DETECTORS {
            let digits = detector.code().strip_prefix("AB").expect("codes start with AB");
            assert!(digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{}", detector.code());
        }
    }

    #[test]
    fn names_are_unique_kebab_case_and_found() {
        for detector in DETECTORS {
            let name = detector.name();
            assert!(
                name.split('-').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())),
                "{name}"
            );
            for key in [name, detector.code(), &detector.code().to_lowercase()] {
                assert_eq!(find(key).expect("it is listed").code(), detector.code());
            }
        }
        assert!(find("AB000").is_none());
    }

    #[test]
    fn every_detector_lies_in_the_file_of_its_name() {
        let modules = include_str!("detectors.rs");
        for detector in DETECTORS {
            let module = detector.name().replace('-', "_");
            assert!(modules.contains(&format!("pub mod {module};")), "no module {module}");
            let path = format!("{}/src/detectors/{module}.rs", env!("CARGO_MANIFEST_DIR"));
            let file = std::fs::read_to_string(&path).expect("the file is there");
            assert_eq!(detector.source(), file, "{} is the text of another file", detector.name());
        }
        assert_eq!(modules.matches("pub mod ").count(), DETECTORS.len());
    }

    /// Suspicious circumstances and a clean observation: the twin that shows which of the two decides.
    #[test]
    fn every_detector_with_two_kinds_of_evidence_has_a_twin_whose_observation_is_clean() {
        for detector in DETECTORS {
            let Some(basis) = detector.basis() else { continue };
            assert!(!basis.observed.is_empty() && !basis.inferred.is_empty(), "{}", detector.code());
            let folder = format!("../../fixtures/truth/{}-{}", detector.code(), detector.name());
            let files =
                std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).expect("a folder of cases");
            let names = files.map(|file| file.expect("an entry").file_name().to_string_lossy().into_owned());
            let has_twin = names.into_iter().any(|name| name.starts_with("honest-observed-"));
            assert!(has_twin, "{folder} has no honest-observed-*.toml");
        }
    }

    #[test]
    fn every_manual_page_has_the_six_headings_in_order() {
        for detector in DETECTORS {
            let page = detector.manual();
            let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# ")).collect();
            assert_eq!(headings, HEADINGS, "{}", detector.code());
            for section in page.split("# ").skip(1) {
                assert!(
                    section.lines().skip(1).any(|line| !line.is_empty()),
                    "{} has an empty section",
                    detector.code()
                );
                let title = section.lines().next().unwrap_or_default();
                let (code, name) = (detector.code(), detector.name().replace('-', "_"));
                assert!(!section.contains("Fill in:"), "{code}: write the section {title:?} in detectors/{name}.rs");
            }
        }
    }
}
