//! `cargo xtask new format NAME`.

use std::path::Path;

use anyhow::Result;

use super::scaffold::{Added, Scaffold, spellings};

const SOURCE: &str = "crates/activebench-report/src";
const TEMPLATE: &str = include_str!("templates/format.rs.txt");

/// Returns the files of a format for every document.
///
/// # Errors
/// When the name is taken or malformed.
pub(super) fn format(root: &Path, name: &str) -> Result<Scaffold> {
    let name = spellings(name)?;
    let mut scaffold = Scaffold::new(root);
    scaffold.file(&format!("{SOURCE}/format/{}.rs", name.snake), name.fill(TEMPLATE))?;
    let list = format!("{SOURCE}/format.rs");
    scaffold.edit(&list, Added::Module(&format!("mod {};", name.snake)))?;
    let entry = name.fill("    &new_name::FORMAT,");
    scaffold.edit(&list, Added::Before { start: "pub static FORMATS: ", end: "];", text: &entry })?;
    Ok(scaffold)
}
