//! The thresholds that judge a run: those of a profile, with replacements from a file.

use std::path::Path;

use activebench_detect::registry::DETECTORS;
use activebench_detect::thresholds::{ThresholdError, Thresholds};
use activebench_model::run::{Choices, ThresholdFile};
use anyhow::Context;

/// Maximum bytes of a file of thresholds: it is kept with the run.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a whole file of thresholds; [`of`] checks its content.
pub fn read(path: &Path) -> anyhow::Result<ThresholdFile> {
    let context = || format!("cannot read the thresholds in {}", path.display());
    let length = std::fs::metadata(path).with_context(context)?.len();
    anyhow::ensure!(length <= MOST_BYTES, "{}: it has {length} bytes, more than {MOST_BYTES}", context());
    let text = std::fs::read_to_string(path).with_context(context)?;
    Ok(ThresholdFile { file: path.display().to_string(), text })
}

/// Returns the thresholds that these choices name.
pub fn of(choices: &Choices) -> Result<Thresholds, ThresholdError> {
    let thresholds = Thresholds::profile(&choices.profile)?;
    match &choices.thresholds {
        Some(ThresholdFile { file, text }) => thresholds.overridden(text, file),
        None => Ok(thresholds),
    }
}

/// Returns all thresholds as a file that `--thresholds` accepts, below the detectors that use them.
pub fn listed(thresholds: &Thresholds) -> String {
    let table = thresholds.table();
    let mut text = format!("# Thresholds of the profile {}.\n", thresholds.profile);
    if thresholds.warn_counts_as_fail {
        text.push_str("# Each warning counts as a failure.\n");
    }
    let detectors = DETECTORS.iter().map(|detector| (detector.code.to_lowercase(), detector.name));
    for (prefix, name) in detectors.chain([("limiter".to_owned(), "what limited a phase")]) {
        let own: Vec<_> = table.iter().filter(|(name, _)| name.split('_').next() == Some(prefix.as_str())).collect();
        if own.is_empty() {
            continue;
        }
        text.push_str(&format!("\n# {} {name}\n", prefix.to_uppercase()));
        for (name, threshold) in own {
            // A bare number of nanoseconds or bytes is hard to read.
            let source = threshold.source.replace(['\n', '\r'], " ");
            text.push_str(&format!("{name} = {} # {}; {source}\n", threshold.value.value, threshold.value));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_can_be_given_back() {
        for profile in activebench_detect::thresholds::profiles::names() {
            let thresholds = Thresholds::profile(profile).expect("a listed profile exists");
            let text = listed(&thresholds);
            let again = Thresholds::profile("default").expect("it exists").overridden(&text, "listed.toml");
            let again = again.expect("the listing is a file of thresholds");
            let values = |thresholds: &Thresholds| -> Vec<(&'static str, f64)> {
                thresholds.table().into_iter().map(|(name, threshold)| (name, threshold.value.value)).collect()
            };
            assert_eq!(values(&again), values(&thresholds), "{profile}");
        }
    }

    #[test]
    fn a_file_of_thresholds_has_a_limit_and_a_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("limits.toml");
        let error = read(&path).expect_err("it is not there");
        assert!(format!("{error:#}").contains("limits.toml"), "{error:#}");
        std::fs::write(&path, "ab302_late_sync_fail_ratio = 0.1\n").expect("a file");
        let choices = Choices {
            profile: "default".to_owned(),
            thresholds: Some(read(&path).expect("it is")),
            ..Choices::default()
        };
        let thresholds = of(&choices).expect("good thresholds");
        assert_eq!(thresholds.ab302_late_sync_fail_ratio.value.value, 0.1);
        assert!(thresholds.ab302_late_sync_fail_ratio.source.ends_with("limits.toml"));
        std::fs::write(&path, vec![b'#'; (MOST_BYTES + 1) as usize]).expect("a file");
        assert!(format!("{:#}", read(&path).expect_err("too long")).contains("bytes"));
    }
}
