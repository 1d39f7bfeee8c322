//! The manual pages: one of the program, and one per subcommand.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::Cli;

/// Writes the pages into a folder: `activebench.1`, `activebench-verify.1`, ...
///
/// # Errors
/// Returns an error if a page cannot be written.
pub(super) fn write(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, page) in pages() {
        let path = folder.join(name);
        std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the name and the text of each page.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut whole = Cli::command().disable_help_subcommand(true);
    // Sets the full name of each subcommand, as in `activebench verify`.
    whole.build();
    let visible = whole.get_subcommands().filter(|command| !command.is_hide_set());
    std::iter::once(&whole).chain(visible).map(page).collect()
}

fn page(command: &Command) -> (String, Vec<u8>) {
    let shown = command.get_bin_name().unwrap_or(command.get_name());
    let name = shown.replace(' ', "-");
    // The name of a page has no space, and neither have those that it refers to.
    let man = Man::new(command.clone().display_name(name.clone()))
        .title(name.to_uppercase())
        .source(concat!("activebench ", env!("CARGO_PKG_VERSION")))
        .manual("activebench manual");
    let mut text = Vec::new();
    // Writing into memory does not fail.
    man.render(&mut text).unwrap_or_default();
    (format!("{name}.1"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_subcommand_has_a_page_with_a_description() {
        let pages = pages();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        let commands = Cli::command();
        for command in commands.get_subcommands() {
            let name = format!("activebench-{}.1", command.get_name());
            assert_eq!(names.contains(&name.as_str()), !command.is_hide_set(), "{name}");
        }
        assert_eq!(names[0], "activebench.1");
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            let name_line = page.lines().skip_while(|line| *line != ".SH NAME").nth(1).expect("a section NAME");
            assert!(name_line.contains(" \\- "), "{name}: {name_line:?}");
            assert!(page.contains(".SH DESCRIPTION") && page.contains(".SH SYNOPSIS"), "{name}");
            assert!(!page.contains("__"), "{name} names what is hidden");
        }
    }
}
