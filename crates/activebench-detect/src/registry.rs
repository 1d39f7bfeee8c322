//! The list of detectors, by hand, in the order of their codes.

use crate::detector::Detector;
use crate::detectors::*;

/// Every detector.
pub static DETECTORS: &[&Detector] = &[
    &claim_exceeds_calls::DETECTOR,
    &claim_exceeds_device::DETECTOR,
    &unit_mix_up::DETECTOR,
    &clock_disagrees::DETECTOR,
    &errors_swallowed::DETECTOR,
    &target_not_touched::DETECTOR,
    &block_size_differs::DETECTOR,
    &read_write_mix_differs::DETECTOR,
    &access_pattern_differs::DETECTOR,
    &workers_missing::DETECTOR,
    &output_inconsistent::DETECTOR,
    &option_without_effect::DETECTOR,
    &size_differs::DETECTOR,
    &script_figure_differs::DETECTOR,
    &page_cache_served_reads::DETECTOR,
    &working_set_fits_memory::DETECTOR,
    &warm_start::DETECTOR,
    &direct_io_not_honoured::DETECTOR,
    &cache_below_direct_io::DETECTOR,
    &working_set_fits_device_cache::DETECTOR,
    &unwritten_blocks_read::DETECTOR,
    &network_client_cache::DETECTOR,
    &working_set_fits_cpu_cache::DETECTOR,
    &missing_fsync::DETECTOR,
    &sync_outside_clock::DETECTOR,
    &flush_never_issued::DETECTOR,
    &repeated_offsets::DETECTOR,
    &same_offsets_every_run::DETECTOR,
    &queue_depth_not_reached::DETECTOR,
    &compressible_payload::DETECTOR,
    &duplicate_payload::DETECTOR,
    &payload_reduced_or_amplified::DETECTOR,
    &readahead_served_iops::DETECTOR,
    &cpu_bound::DETECTOR,
    &verify_loop_inside_clock::DETECTOR,
    &beyond_physical_limit::DETECTOR,
    &below_media_floor::DETECTOR,
    &throttled_by_policy::DETECTOR,
    &rate_limited_by_tool::DETECTOR,
    &foreign_io::DETECTOR,
    &cpu_interference::DETECTOR,
    &foreign_dirty_pages::DETECTOR,
    &power_state::DETECTOR,
    &memory_pressure::DETECTOR,
    &device_not_fit::DETECTOR,
    &system_clock_changed::DETECTOR,
    &benchmark_stopped::DETECTOR,
    &phase_too_short::DETECTOR,
    &no_steady_state::DETECTOR,
    &cliff_or_throttling::DETECTOR,
    &outlier_runs::DETECTOR,
    &not_reproducible::DETECTOR,
    &depth_without_engine::DETECTOR,
    &asynchronous_through_page_cache::DETECTOR,
    &write_without_sync::DETECTOR,
    &size_below_memory::DETECTOR,
    &option_needs_another::DETECTOR,
    &verification_inside_clock::DETECTOR,
    &time_limit_too_short::DETECTOR,
    &blind_path::DETECTOR,
    &evidence_lost::DETECTOR,
    &perturbed_by_observer::DETECTOR,
];

/// The detector with this code or name, in any case.
pub fn find(code_or_name: &str) -> Option<&'static Detector> {
    DETECTORS.iter().copied().find(|detector| {
        detector.code.eq_ignore_ascii_case(code_or_name) || detector.name.eq_ignore_ascii_case(code_or_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::Basis;
    use crate::manual::HEADINGS;

    #[test]
    fn codes_ascend_and_are_well_formed() {
        for pair in DETECTORS.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} stands before {}", pair[0].code, pair[1].code);
        }
        for detector in DETECTORS {
            let digits = detector.code.strip_prefix("AB").expect("codes start with AB");
            assert!(digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{}", detector.code);
        }
    }

    #[test]
    fn names_are_unique_kebab_case_and_found() {
        for detector in DETECTORS {
            let name = detector.name;
            assert!(
                name.split('-').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())),
                "{name}"
            );
            for key in [name, detector.code, &detector.code.to_lowercase()] {
                assert_eq!(find(key).expect("it is listed").code, detector.code);
            }
        }
        assert!(find("AB000").is_none());
    }

    #[test]
    fn every_detector_lies_in_the_file_of_its_name() {
        let modules = include_str!("detectors.rs");
        for detector in DETECTORS {
            let module = detector.name.replace('-', "_");
            assert!(modules.contains(&format!("pub mod {module};")), "no module {module}");
            let path = format!("{}/src/detectors/{module}.rs", env!("CARGO_MANIFEST_DIR"));
            let file = std::fs::read_to_string(&path).expect("the file is there");
            assert_eq!(detector.source, file, "{} is the text of another file", detector.name);
        }
        assert_eq!(modules.matches("pub mod ").count(), DETECTORS.len());
    }

    /// Suspicious circumstances and a clean observation: the twin that shows which of the two decides.
    #[test]
    fn every_detector_with_two_kinds_of_evidence_has_a_twin_whose_observation_is_clean() {
        for detector in DETECTORS {
            let Basis::ObservedFirst(evidence) = detector.basis else { continue };
            assert!(!evidence.observed.is_empty() && !evidence.inferred.is_empty(), "{}", detector.code);
            let folder = format!("../../fixtures/truth/{}-{}", detector.code, detector.name);
            let files =
                std::fs::read_dir(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).expect("a folder of cases");
            let names = files.map(|file| file.expect("an entry").file_name().to_string_lossy().into_owned());
            let has_twin = names.into_iter().any(|name| name.starts_with("honest-observed-"));
            assert!(has_twin, "{folder} has no honest-observed-*.toml");
        }
    }

    /// An answer that comes from facts names them, and no other detector does.
    #[test]
    fn facts_are_declared_where_the_answer_comes_from_them() {
        for detector in DETECTORS {
            let from_facts = match detector.basis {
                Basis::Facts | Basis::Circumstances(_) | Basis::ObservedFirst(_) => true,
                Basis::Statements | Basis::Coverage | Basis::Series => false,
            };
            assert_eq!(!detector.facts.is_empty(), from_facts, "{}", detector.code);
        }
    }

    /// A report shows a finding below the one that explains it, so a chain of explanations has an end.
    #[test]
    fn what_explains_a_finding_exists_and_is_not_explained_by_it() {
        fn depth(detector: &Detector, left: usize) {
            assert!(left > 0, "{} explains itself", detector.code);
            for code in detector.explained_by {
                let cause = DETECTORS.iter().find(|cause| cause.code == *code);
                depth(cause.unwrap_or_else(|| panic!("{} names {code}", detector.code)), left - 1);
            }
        }
        DETECTORS.iter().for_each(|detector| depth(detector, 10));
    }

    #[test]
    fn titles_are_short_and_begin_like_a_sentence() {
        for Detector { code, title, .. } in DETECTORS {
            let begins = title.chars().next().is_some_and(char::is_uppercase);
            assert!(begins && title.len() <= 50 && !title.ends_with('.'), "{code}: {title}");
        }
    }

    #[test]
    fn no_two_corrections_share_a_rank() {
        let ranks = |detector: &&Detector| detector.correction.map(|correction| correction.rank);
        let mut ranks: Vec<u16> = DETECTORS.iter().filter_map(ranks).collect();
        ranks.sort_unstable();
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{ranks:?}");
    }

    #[test]
    fn every_manual_page_has_the_six_headings_in_order() {
        for detector in DETECTORS {
            let page = detector.manual();
            let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("# ")).collect();
            assert_eq!(headings, HEADINGS, "{}", detector.code);
            for section in page.split("# ").skip(1) {
                assert!(section.lines().skip(1).any(|line| !line.is_empty()), "{} has an empty section", detector.code);
                let title = section.lines().next().unwrap_or_default();
                let (code, name) = (detector.code, detector.name.replace('-', "_"));
                assert!(!section.contains("Fill in:"), "{code}: write the section {title:?} in detectors/{name}.rs");
            }
        }
    }
}
