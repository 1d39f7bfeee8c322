//! `bundle.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use activebench_model::run::Redaction;
use activebench_model::verdict::RunVerdict;
use serde::{Deserialize, Serialize};

use crate::RUN;
use crate::error::Fault;

/// Version of the bundle. A reader refuses another one and names it.
pub const SCHEMA: &str = "activebench.bundle/1";

/// Longest name of a file: what a ustar header holds.
const NAME_BYTES: usize = 255;

/// `bundle.json`; its JSON Schema is `docs/bundle.schema.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleManifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of activebench that made the bundle and gave the verdict in it.
    pub activebench: String,
    /// Kind of the contents of `run/`.
    pub kind: BundleKind,
    /// The verdict: of the series, of the command as it was given, or of the run.
    pub verdict: RunVerdict,
    /// The exit code that goes with it.
    pub exit_code: i32,
    /// Profile that it was judged by.
    pub profile: String,
    /// The benchmark.
    pub tool: BundledTool,
    /// The runs in it, in their order.
    pub runs: Vec<BundledRun>,
    /// Account of what was replaced in it; `None` for evidence as it was recorded.
    pub redacted: Option<Redaction>,
    /// Every other file except the statement, ascending by name.
    pub files: Vec<BundledFile>,
}

/// Kind of a bundle's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BundleKind {
    /// One run.
    Run,
    /// The runs of `verify --repeat`.
    Series,
    /// The two runs of `verify --and-corrected`.
    WithAdvice,
}

/// The benchmark.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledTool {
    /// Its name; `None` for a command that no adapter knows.
    pub name: Option<String>,
    /// Its version as printed; `None` if it printed none.
    pub version: Option<String>,
    /// The command, wrapper included.
    pub command: Vec<String>,
}

/// One run of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledRun {
    /// Its folder in the archive: `run`, `run/1`, `run/as-given`.
    pub directory: String,
    /// Its verdict.
    pub verdict: RunVerdict,
    /// The exit code that goes with it.
    pub exit_code: i32,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledFile {
    /// Its path in the archive.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}

/// The fields that the manifest of every version has.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

impl BundleManifest {
    /// Parses a manifest that may come from anybody.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let damaged = |why: String| Fault::Manifest { why };
        let head: Head = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        if head.schema != SCHEMA {
            return Err(Fault::Schema { found: head.schema });
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| damaged(error.to_string()))?;
        let mut seen = BTreeSet::new();
        for BundledFile { name, .. } in &manifest.files {
            check_name(name)?;
            if !seen.insert(name.as_str()) {
                return Err(damaged(format!("it lists {name:?} twice")));
            }
        }
        // A name that is also a folder of another one could be neither unpacked nor distinguished.
        for name in &seen {
            let parents = Path::new(name).ancestors().skip(1).filter_map(Path::to_str);
            if let Some(parent) = parents.into_iter().find(|parent| seen.contains(parent)) {
                return Err(damaged(format!("it lists {parent:?} as a file and as a folder")));
            }
        }
        for run in &manifest.runs {
            if run.directory != RUN {
                check_name(&run.directory)?;
            }
        }
        if manifest.runs.is_empty() {
            return Err(damaged("it lists no run".to_owned()));
        }
        Ok(manifest)
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// The files by name.
    pub(crate) fn by_name(&self) -> BTreeMap<&str, &BundledFile> {
        self.files.iter().map(|file| (file.name.as_str(), file)).collect()
    }
}

/// Checks that a name stays below `run/` and can be shown: plain components, no control characters.
pub(crate) fn check_name(name: &str) -> Result<(), Fault> {
    let outside = || Fault::Outside { name: name.to_owned() };
    let mut components = Path::new(name).components();
    if components.next() != Some(Component::Normal(RUN.as_ref())) || components.as_path().as_os_str().is_empty() {
        return Err(outside());
    }
    if !components.all(|component| matches!(component, Component::Normal(_))) {
        return Err(outside());
    }
    // A name has only one spelling: no doubled, trailing or dotted separators.
    if name.split('/').any(|part| part.is_empty() || part == ".") {
        return Err(outside());
    }
    if name.len() > NAME_BYTES || name.chars().any(|character| character.is_control() || character == '\\') {
        return Err(outside());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_run_are_known() {
        for (name, inside) in [
            ("run/run.json", true),
            ("run/events/calls-0000.parquet", true),
            ("run/1/stdout.txt", true),
            ("run", false),
            ("run/", false),
            ("run.json", false),
            ("bundle.json", false),
            ("statement.dsse.json", false),
            ("../run/x", false),
            ("run/../x", false),
            ("run/a/../../x", false),
            ("run/./x", false),
            ("run//x", false),
            ("run/x/", false),
            ("/run/x", false),
            ("/etc/passwd", false),
            ("", false),
            ("run/\u{1b}[31m", false),
            ("run/a\nb", false),
            ("run/a\\b", false),
        ] {
            assert_eq!(check_name(name).is_ok(), inside, "{name:?}");
        }
        assert!(check_name(&format!("run/{}", "x".repeat(NAME_BYTES))).is_err());
    }
}
