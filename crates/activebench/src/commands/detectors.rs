//! `activebench detectors`: the detectors, or their thresholds.

use std::path::Path;

use activebench_detect::detector::Detector;
use activebench_detect::thresholds::Thresholds;
use activebench_detect::{manual, registry};
use activebench_engine::failure::{ExitCode, Failure, OrExit};
use activebench_engine::thresholds;
use anyhow::Context;
use clap::Args;

use super::{Rights, Subcommand};
use crate::arguments::known_profile;
use crate::output::print;

/// List the detectors, or their thresholds.
#[derive(Args, Debug)]
pub(crate) struct Detectors {
    /// Print the thresholds of this profile, as a file that `verify --thresholds` accepts.
    #[arg(long, value_name = "NAME", value_parser = known_profile())]
    profile: Option<String>,
}

impl Subcommand for Detectors {
    fn rights(&self) -> Rights {
        Rights::User
    }

    fn run(&self) -> Result<i32, Failure> {
        if let Some(profile) = &self.profile {
            print(&thresholds::listed(&Thresholds::profile(profile).or_exit(ExitCode::Usage)?))?;
            return Ok(0);
        }
        let width = registry::DETECTORS.iter().map(|detector| detector.name.len()).max().unwrap_or(0);
        let line = |detector: &&'static Detector| {
            format!("{}  {:width$}  {}\n", detector.code, detector.name, summary(detector))
        };
        print(&registry::DETECTORS.iter().map(line).collect::<String>())?;
        Ok(0)
    }
}

/// Writes one page per detector and their index, for `cargo xtask docs`.
pub(super) fn write_pages(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut index = String::from(
        "# Detectors\n\nGenerated from the detectors' doc comments by `cargo xtask docs`.\n\n| code | name | what it finds |\n| --- | --- | --- |\n",
    );
    for detector in registry::DETECTORS {
        let file = page_name(detector);
        index.push_str(&format!("| [{}]({file}) | `{}` | {} |\n", detector.code, detector.name, summary(detector)));
        let path = folder.join(&file);
        std::fs::write(&path, manual::manual_page(detector))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    std::fs::write(folder.join("README.md"), index).context("cannot write the index")
}

/// Returns the summary of a detector: the first paragraph of its page.
fn summary(detector: &Detector) -> String {
    manual::introduction(detector).finds
}

fn page_name(detector: &Detector) -> String {
    format!("{}-{}.md", detector.code, detector.name)
}
