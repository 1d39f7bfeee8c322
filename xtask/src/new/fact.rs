//! `cargo xtask new fact NAME --unit UNIT`.

use std::path::Path;

use anyhow::Result;

use super::scaffold::{Added, OPEN, Scaffold, spellings};

const MODEL: &str = "crates/activebench-model/src/fact.rs";
const FACTS: &str = "crates/activebench-facts/src/facts";
const TEMPLATE: &str = include_str!("templates/fact.rs.txt");

/// The unit of a fact, as `activebench_model::units::Unit` has it.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Unit {
    Bytes,
    Ns,
    BytesPerSec,
    OpsPerSec,
    Ratio,
    Count,
}

impl Unit {
    fn suffix(self) -> &'static str {
        match self {
            Unit::Bytes => "_bytes",
            Unit::Ns => "_ns",
            Unit::BytesPerSec => "_bytes_per_sec",
            Unit::OpsPerSec => "_ops_per_sec",
            Unit::Ratio => "_ratio",
            Unit::Count => "",
        }
    }
}

/// Returns the files of a family with one fact.
///
/// # Errors
/// When the name is taken or malformed.
pub(super) fn fact(root: &Path, name: &str, unit: Unit) -> Result<Scaffold> {
    let name = spellings(name)?;
    let mut scaffold = Scaffold::new(root);
    scaffold.file(&format!("{FACTS}/{}.rs", name.snake), name.fill(TEMPLATE))?;
    let declared = format!(
        "    /// {OPEN}: what it counts, when it is missing, its source.\n    {} = \"{}{}\", {unit:?};",
        name.camel,
        name.snake,
        unit.suffix()
    );
    scaffold.edit(MODEL, Added::Before { start: "fact_names! {", end: "}", text: &declared })?;
    let list = format!("{FACTS}.rs");
    scaffold.edit(&list, Added::Module(&format!("mod {};", name.snake)))?;
    let entry = name.fill("        Box::new(new_name::NewName::new(phases)),");
    scaffold.edit(&list, Added::Before { start: "fn families(", end: "    ]", text: &entry })?;
    Ok(scaffold)
}
