//! `cargo xtask new subcommand NAME`.

use std::path::Path;

use anyhow::Result;

use super::scaffold::{Added, Scaffold, spellings};

const COMMANDS: &str = "crates/activebench/src/commands";
const TEMPLATE: &str = include_str!("templates/subcommand.rs.txt");

/// Returns the files of a subcommand.
///
/// # Errors
/// When the name is taken or malformed.
pub(super) fn subcommand(root: &Path, name: &str) -> Result<Scaffold> {
    let name = spellings(name)?;
    let mut scaffold = Scaffold::new(root);
    scaffold.file(&format!("{COMMANDS}/{}.rs", name.snake), name.fill(TEMPLATE))?;
    let list = format!("{COMMANDS}.rs");
    scaffold.edit(&list, Added::Module(&format!("mod {};", name.snake)))?;
    let entry = name.fill("    NewName(new_name::NewName),");
    scaffold.edit(&list, Added::Before { start: "subcommands! {", end: "}", text: &entry })?;
    Ok(scaffold)
}
