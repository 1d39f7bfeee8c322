//! `cargo xtask new adapter NAME`.

use std::path::Path;

use anyhow::{Result, bail};

use super::scaffold::{Added, Scaffold, spellings};

/// The crate of the adapters.
const CRATE: &str = "crates/activebench-tools";

/// The files of an adapter below its folder, and their beginnings.
const FILES: [(&str, &str); 6] = [
    ("advice.rs", include_str!("templates/adapter/advice.rs.txt")),
    ("options.rs", include_str!("templates/adapter/options.rs.txt")),
    ("output.rs", include_str!("templates/adapter/output.rs.txt")),
    ("phases.rs", include_str!("templates/adapter/phases.rs.txt")),
    ("plan.rs", include_str!("templates/adapter/plan.rs.txt")),
    ("vetted.rs", include_str!("templates/adapter/vetted.rs.txt")),
];
/// The file of the adapter itself.
const ADAPTER: &str = include_str!("templates/adapter/adapter.rs.txt");
/// The file of its tests.
const TESTS: &str = include_str!("templates/adapter/tests.rs.txt");

/// Returns the files of an adapter.
///
/// # Errors
/// When the name is taken, or is not one word.
pub(super) fn adapter(root: &Path, name: &str) -> Result<Scaffold> {
    let name = spellings(name)?;
    if name.snake.contains('_') {
        bail!("{:?} cannot be the name of an adapter (hint: one word, as in iozone)", name.kebab);
    }
    let mut scaffold = Scaffold::new(root);
    scaffold.file(&format!("{CRATE}/src/{}.rs", name.snake), name.fill(ADAPTER))?;
    scaffold.file(&format!("{CRATE}/tests/adapters/{}_output.rs", name.snake), name.fill(TESTS))?;
    for (file, text) in FILES {
        scaffold.file(&format!("{CRATE}/src/{}/{file}", name.snake), name.fill(text))?;
    }
    scaffold.edit(&format!("{CRATE}/src/lib.rs"), Added::Module(&name.fill("pub mod new_name;")))?;
    let entry = name.fill("    &crate::new_name::NewName,");
    let place = Added::Before { start: "pub const ADAPTERS: ", end: "];", text: &entry };
    scaffold.edit(&format!("{CRATE}/src/registry.rs"), place)?;
    scaffold.edit(&format!("{CRATE}/tests/adapters/main.rs"), Added::Module(&name.fill("mod new_name_output;")))?;
    Ok(scaffold)
}
