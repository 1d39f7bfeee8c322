//! Cargo's own timing of a build: the data in the page that `--timings` writes.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Texts before and after the units.
const DATA: (&str, &str) = ("const UNIT_DATA = ", ";\n");

/// Time that cargo spent on a crate: its library, its build script and that script's run, its tests.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CrateTime {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Wall time, added up over its units; several crates are compiled at once.
    pub(crate) seconds: f64,
}

#[derive(Deserialize)]
struct Unit {
    name: String,
    version: String,
    duration: f64,
}

/// Adds the crates of a page to those of earlier ones.
///
/// # Errors
/// When the page cannot be read, or has no units where this version of cargo puts them.
pub(crate) fn add(crates: &mut Vec<CrateTime>, page: &Path) -> Result<()> {
    let text = fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))?;
    add_units(crates, &text).with_context(|| format!("cannot understand {}", page.display()))
}

fn add_units(crates: &mut Vec<CrateTime>, page: &str) -> Result<()> {
    let (_, rest) = page.split_once(DATA.0).context("it holds no units")?;
    let (json, _) = rest.split_once(DATA.1).context("its units have no end")?;
    let units: Vec<Unit> = serde_json::from_str(json).context("its units are not those that we know")?;
    for Unit { name, version, duration } in units {
        match crates.iter_mut().find(|known| known.name == name && known.version == version) {
            Some(known) => known.seconds += duration,
            None => crates.push(CrateTime { name, version, seconds: duration }),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_one_crate_add_up() {
        let page = "<script>\nconst UNIT_DATA = [\n  {\"i\": 0, \"name\": \"a\", \"version\": \"1.0.0\", \"mode\": \"todo\",\
                    \"duration\": 1.5},\n  {\"i\": 1, \"name\": \"a\", \"version\": \"1.0.0\", \"duration\": 2}\n];\nconst X = 1;\n";
        let mut crates = Vec::new();
        add_units(&mut crates, page).expect("units");
        add_units(&mut crates, page).expect("units");
        assert_eq!(crates, [CrateTime { name: "a".into(), version: "1.0.0".into(), seconds: 7.0 }]);
        assert!(add_units(&mut crates, "<html>").is_err());
    }
}
