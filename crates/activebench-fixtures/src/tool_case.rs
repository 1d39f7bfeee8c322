//! Stored runs of tools: the folders below `fixtures/iozone`, `fixtures/fio` and so on.
//!
//! `provenance.toml` describes the run. Its streams are the files `stdout.txt` and `stderr.txt`. In place of such a
//! file the keys `stdout` and `stderr` may say that the tool printed nothing (`""`), or name the file of another case
//! with the same bytes (`stderr = "default-64m-r0-n1/stderr.txt"`).

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Files of a case that are neither read nor written by the tool.
const OURS: [&str; 4] = ["provenance.toml", "stdout.txt", "stderr.txt", "calls.txt"];

#[derive(Deserialize)]
struct Provenance {
    command: String,
    stdout: Option<String>,
    stderr: Option<String>,
    /// Files that the tool read or wrote; all others of the case where there is no list.
    files: Option<Vec<String>>,
}

/// One stored run of a tool.
#[derive(Debug)]
pub struct ToolCase {
    /// Name of its folder.
    pub name: String,
    /// The tool's command line.
    pub command: String,
    /// Standard output of the tool.
    pub stdout: Vec<u8>,
    /// Standard error of the tool.
    pub stderr: Vec<u8>,
    /// Names and bytes of the files that the tool read or wrote.
    pub files: Vec<(String, Vec<u8>)>,
    /// The recorded calls (`calls.txt`); `None` when the run was not traced.
    pub calls: Option<String>,
}

/// All cases of a tool, by name.
///
/// # Panics
/// When a file is missing or malformed.
pub fn tool_cases(tool: &str) -> Vec<ToolCase> {
    let folders = entries(&crate::folder().join(tool)).into_iter().filter(|path| path.is_dir());
    folders.map(|folder| read_case(&folder)).collect()
}

/// One case of a tool.
///
/// # Panics
/// When a file is missing or malformed.
pub fn tool_case(tool: &str, name: &str) -> ToolCase {
    read_case(&crate::folder().join(tool).join(name))
}

fn read_case(folder: &Path) -> ToolCase {
    let text = |file: &str| String::from_utf8(read(&folder.join(file))).expect("UTF-8");
    let provenance: Provenance =
        toml::from_str(&text("provenance.toml")).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let stream = |file: &str, instead: Option<&str>| match instead {
        None => read(&folder.join(file)),
        Some(_) if folder.join(file).exists() => {
            panic!("{}: {file} is there, and provenance.toml names another", folder.display())
        }
        Some("") => Vec::new(),
        Some(other) => read(&folder.join("..").join(other)),
    };
    let files = provenance.files.unwrap_or_else(|| {
        let names = entries(folder).iter().map(|path| file_name(path)).collect::<Vec<_>>();
        names.into_iter().filter(|name| !OURS.contains(&name.as_str())).collect()
    });
    ToolCase {
        name: file_name(folder),
        stdout: stream("stdout.txt", provenance.stdout.as_deref()),
        stderr: stream("stderr.txt", provenance.stderr.as_deref()),
        files: files.into_iter().map(|name| (name.clone(), read(&folder.join(name)))).collect(),
        calls: folder.join("calls.txt").exists().then(|| text("calls.txt")),
        command: provenance.command,
    }
}

fn read(file: &Path) -> Vec<u8> {
    std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the paths in a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of it").path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}
