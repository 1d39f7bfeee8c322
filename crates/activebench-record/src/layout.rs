//! Names of the files of a run directory, and which of them are computed from the others.

use crate::figures::FIGURES;
use crate::seal::Sealed;

/// One of the tool's files in the run directory.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct KeptFile {
    /// As the tool named it.
    pub(crate) name: String,
    /// Its name in the run directory.
    pub(crate) stored: String,
}

/// Name of the file of a stream of a measurement.
pub(crate) fn measured_stream(number: u32, stream: &str) -> String {
    format!("files/measurement-{number}-{stream}.txt")
}

/// The file of the totals past the log's cut.
pub const TOTALS: &str = "totals.json";

/// The manifest's file name.
pub const MANIFEST: &str = "run.json";
/// The file with the manifest's SHA-256, a line as `sha256sum` writes and checks it.
pub const SEAL: &str = "run.json.sha256";
pub(crate) const RUN: Sealed = Sealed { manifest: MANIFEST, seal: SEAL };
/// The file that makes a directory one of a series.
pub const SERIES_MANIFEST: &str = "series.json";
/// The file with its SHA-256; older series have none.
pub const SERIES_SEAL: &str = "series.json.sha256";
pub(crate) const SERIES: Sealed = Sealed { manifest: SERIES_MANIFEST, seal: SERIES_SEAL };
/// The file of the kept samples of what was written.
pub const KEPT_PAYLOAD: &str = "payload.bin";
/// The list of the files that the tool read or wrote.
pub(crate) const FILES: &str = "files.json";
/// The file of the stacks.
pub const STACKS: &str = "stacks.json";
/// The file of the calls of library functions.
pub const LIBRARY: &str = "library.json";

/// Ending of a derived file that is compressed (zstd).
pub(crate) const COMPRESSED: &str = ".zst";

/// True if a file of the run directory is computed from the evidence: it is not hashed and may be written again.
pub fn is_derived(name: &str) -> bool {
    let name = name.strip_suffix(COMPRESSED).unwrap_or(name);
    matches!(name, "claims.json" | "phases.json" | "facts.json" | "profiles.json" | "findings.json")
        || name == FIGURES
        || name.starts_with("report.")
}

/// Evidence of a fixed name; the other evidence is in `events` and `files`.
pub(crate) const EVIDENCE: [&str; 8] =
    ["stdout.txt", "stderr.txt", "output-lines.json", FILES, STACKS, LIBRARY, KEPT_PAYLOAD, TOTALS];

/// Maximum bytes that are read of a table into memory. A part of [`crate::ROWS_PER_PART`] rows has 3 MiB at most.
pub(crate) const TABLE_BYTES: u64 = 32 << 20;
/// Maximum bytes of the tool's output and of the files that it read or wrote, all together. The recorder holds them in
/// memory, too.
pub(crate) const OUTPUT_BYTES: u64 = 256 << 20;

/// Maximum bytes that are read of a file into memory. A stranger's file may state any size.
pub(crate) fn most_bytes(name: &str) -> u64 {
    match name.strip_suffix(COMPRESSED).unwrap_or(name) {
        SEAL | SERIES_SEAL => 4 << 10,
        // 100,000 parts of a table, each with its sum.
        MANIFEST | SERIES_MANIFEST | TOTALS => 16 << 20,
        STACKS | LIBRARY | "report.json" => 64 << 20,
        _ if name.ends_with(".parquet") => TABLE_BYTES,
        _ => OUTPUT_BYTES,
    }
}

/// True if a name stays inside the run directory: plain components only.
pub(crate) fn is_inside(name: &str) -> bool {
    use std::path::{Component, Path};
    !name.is_empty() && Path::new(name).components().all(|component| matches!(component, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_run_directory_are_known() {
        for (name, expected) in [
            ("stdout.txt", true),
            ("events/calls-0000.parquet", true),
            ("../stdout.txt", false),
            ("events/../../x", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(is_inside(name), expected, "{name}");
        }
    }

    #[test]
    fn stages_are_derived_and_observations_are_not() {
        for (name, expected) in [
            ("claims.json", true),
            ("report.html", true),
            ("findings.json.zst", true),
            ("stdout.txt.zst", false),
            ("report.json", true),
            ("figures.parquet", true),
            ("stdout.txt", false),
            ("output-lines.json", false),
            ("events/calls-0000.parquet", false),
        ] {
            assert_eq!(is_derived(name), expected, "{name}");
        }
    }
}
