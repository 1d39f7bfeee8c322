//! Files that an adapter reads: job files, files of results. They are read when the tool has ended, by the names under
//! which the tree opened them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use activebench_model::activity::Exec;
use activebench_model::call::{Call, Op};
use activebench_model::command::CommandLine;
use activebench_model::measurement::Measurement;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_model::source::EventSource;
use activebench_probe::Observation;
use activebench_runner::{CapturedOutput, Hooks};
use activebench_tools::execution::{self, Executed, Invocation};
use activebench_tools::{ADAPTERS, Adapter, adapter_for_program};
use rustix::fs::OFlags;

use crate::measurements;

/// Maximum number of files that are kept: a run with a job file each has a handful.
const MOST_FILES: usize = 256;
/// Maximum bytes of one of them: files that a benchmark writes for a person or a parser are smaller.
const MOST_BYTES: u64 = 64 << 20;

/// The files of one run.
#[derive(Debug, Default)]
pub(crate) struct ToolFiles {
    pub(crate) kept: Vec<ToolFile>,
    /// Reasons why other wanted files were not kept. A file that was a pipe or is already gone is not a gap in the
    /// record: its adapter says what is not known without it.
    pub(crate) unread: Vec<String>,
    /// The tools that the tree executed.
    pub(crate) executed: Executed,
    /// The measurements that the command started, each with what it printed.
    pub(crate) measured: Vec<(Measurement, ToolOutput)>,
    /// Executed files that are links to tools, see [`activebench_model::coverage::Coverage::linked_programs`].
    pub(crate) links: BTreeMap<String, String>,
}

/// Reads the files that the adapters of the executed tools ask for.
pub(crate) fn kept(command: &CommandLine, observation: &Observation, output: &CapturedOutput) -> ToolFiles {
    let mut files = ToolFiles::default();
    let printed = ToolOutput { stdout: output.stdout().to_vec(), stderr: output.stderr().to_vec(), files: Vec::new() };
    let tasks = observation.tasks().flatten().flatten();
    let (tasks, execs) = activebench_facts::executions(tasks, observation.names().flatten().flatten());
    files.links = links(command, &execs);
    let executed = execution::executed(command, &execs, &files.links, &printed);
    let (caught, folders) = (observation.printed(), observation.folders());
    files.measured = measurements::of_run(command, &tasks, &execs, &files.links, caught, folders, &printed);
    files.executed = measurements::without_helpers(command, executed, &files.measured);
    let tools = tools(command, &execs, &files.links);
    // A damaged part of the record is reported where the record is written.
    // Each name with the folder from which it was opened first.
    let mut opened: BTreeMap<String, String> = BTreeMap::new();
    let mut elsewhere: BTreeSet<String> = BTreeSet::new();
    for event in observation.names().flatten().flatten().filter(|event| event.op == Op::Open && event.file.is_some()) {
        // A name from the root is the same file in every folder, and most names are opened again and again.
        let is_known = opened.contains_key(&event.name);
        if is_known && (Path::new(&event.name).is_absolute() || elsewhere.contains(&event.name)) {
            continue;
        }
        let owner = files.measured.iter().find(|(one, _)| one.includes(event.tgid, event.at_ns));
        let folder = owner.map_or(&command.cwd, |(measurement, _)| &measurement.command.cwd);
        if !is_known {
            opened.insert(event.name, folder.clone());
        } else if owner.is_some() && opened.get(&event.name) != Some(folder) {
            elsewhere.insert(event.name);
        }
    }
    let is_read = |name: &String| tools.iter().any(|(adapter, own)| adapter.reads_file(own, name));
    let in_several = elsewhere.iter().filter(|name| is_read(name));
    files
        .unread
        .extend(in_several.map(|name| format!("{name} was opened in several folders, and one of them is kept")));
    let mut wanted: Vec<String> = opened.keys().filter(|name| is_read(name)).cloned().collect();
    let mut known: BTreeSet<String> = wanted.iter().cloned().collect();
    while let Some(name) = wanted.pop() {
        if files.kept.len() == MOST_FILES {
            files.unread.push(format!("more than {MOST_FILES} files of the tool are not kept"));
            break;
        }
        let folder = opened.get(&name).unwrap_or(&command.cwd);
        match read_if_kept(&Path::new(folder).join(&name)) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let file = ToolFile { name, bytes };
                let included = tools.iter().flat_map(|(adapter, _)| adapter.included_files(&file));
                wanted.extend(included.filter(|name| opened.contains_key(name) && known.insert(name.clone())));
                files.kept.push(file);
            }
            Err(error) => files.unread.push(format!("cannot keep the tool's file {name}: {error}")),
        }
    }
    if tools.iter().any(|(adapter, own)| adapter.reads_standard_input(own)) {
        files.kept.extend(standard_input(command, &execs, &files.links, observation));
    }
    files.kept.sort_by(|one, other| one.name.cmp(&other.name));
    files
}

/// Returns the regular file that a tool read as its standard input, under the name `-`. The content of a pipe can be
/// read only once, and is gone.
fn standard_input(
    command: &CommandLine,
    execs: &[Exec],
    links: &BTreeMap<String, String>,
    observation: &Observation,
) -> Option<ToolFile> {
    let is_tool = |exec: &&Exec| links.contains_key(&exec.filename) || adapter_for_program(&exec.filename).is_some();
    let tools: BTreeSet<u32> = execs.iter().filter(is_tool).map(|exec| exec.tgid).collect();
    let reads_it = |call: &Call| call.op == Op::Read && call.fd == 0 && tools.contains(&call.tgid);
    let file = observation.calls().flatten().flatten().find(reads_it)?.file?;
    // Opened by a shell of the tree, or by the one that started us.
    let opened = observation.names().flatten().flatten().find(|event| event.op == Op::Open && event.file == Some(file));
    let path = match opened {
        Some(event) => Path::new(&command.cwd).join(event.name),
        None => std::fs::read_link("/proc/self/fd/0").ok()?,
    };
    // Another file may have this path since then.
    let is_the_same = std::fs::metadata(&path).is_ok_and(|found| found.is_file() && found.ino() == file.ino);
    let bytes = read(&path).ok().filter(|_| is_the_same)?;
    Some(ToolFile { name: "-".to_owned(), bytes })
}

/// Returns the tools of the run, each with the words that it was executed with, whatever started it.
fn tools(command: &CommandLine, execs: &[Exec], links: &BTreeMap<String, String>) -> Vec<Invocation> {
    if let Some(adapter) = adapter_for_program(command.program()) {
        return vec![(adapter, command.clone())];
    }
    let tools = execution::invocations(command, execs, links).into_iter().map(|(adapter, mut own)| {
        // Its adapter expects the tool's own name.
        if let Some(program) = own.argv.first_mut().filter(|program| adapter_for_program(program).is_none()) {
            adapter.name().clone_into(program);
        }
        (adapter, own)
    });
    // If its words are not known and the wrapper's line does not name it, only the line's words are left.
    tools.map(|(adapter, own)| (adapter, if own.argv.is_empty() { command.clone() } else { own })).collect()
}

/// Returns executed files that do not have a tool's name but are links to a file that has one, or copies of an installed
/// tool, byte for byte.
fn links(command: &CommandLine, execs: &[Exec]) -> BTreeMap<String, String> {
    let names_tool = |path: &str| adapter_for_program(path).is_some();
    let mut installed: Option<Vec<(u64, PathBuf)>> = None;
    let mut target = |exec: &Exec| {
        // A file that is already gone was not an installed tool.
        let path = Path::new(&command.cwd).join(&exec.filename).canonicalize().ok()?;
        let linked = path.to_str().filter(|path| names_tool(path)).map(str::to_owned);
        linked.or_else(|| original(&path, installed.get_or_insert_with(installed_tools)))
    };
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    for exec in execs.iter().filter(|exec| !names_tool(&exec.filename)) {
        if !known.contains_key(&exec.filename) {
            known.insert(exec.filename.clone(), target(exec));
        }
    }
    known.into_iter().filter_map(|(name, target)| Some((name, target?))).collect()
}

/// Returns the installed tools with their sizes in bytes, as a shell would find them.
fn installed_tools() -> Vec<(u64, PathBuf)> {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map_or_else(Vec::new, |path| std::env::split_paths(&path).collect());
    let of_name = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let found = ADAPTERS.iter().filter_map(|adapter| of_name(adapter.program().name));
    // A link to a program of many tools is not one of them alone.
    let own = found.filter(|path| {
        let target = path.canonicalize().ok();
        target.and_then(|target| Some(adapter_for_program(target.to_str()?).is_some())).unwrap_or(false)
    });
    own.filter_map(|path| Some((path.metadata().ok()?.len(), path))).collect()
}

/// Returns the installed tool of which a file is a copy.
fn original(path: &Path, installed: &[(u64, PathBuf)]) -> Option<String> {
    let length = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut alike = installed.iter().filter(|(bytes, tool)| *bytes == length && tool != path).peekable();
    alike.peek()?;
    let own = read(path).ok()?;
    let (_, tool) = alike.find(|(_, tool)| read(tool).is_ok_and(|bytes| bytes == own))?;
    tool.to_str().map(str::to_owned)
}

/// Reads a whole file of figures or of work; `None` if it is gone, or was a pipe, whose content can be read only once.
fn read_if_kept(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    // For another process, these names lead to its own descriptors.
    const DESCRIPTORS: [&str; 4] = ["/dev/fd", "/dev/stdin", "/proc/self", "/proc/thread-self"];
    if DESCRIPTORS.iter().any(|folder| path.starts_with(folder)) {
        return Ok(None);
    }
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(found) if !found.is_file() => Ok(None),
        _ => read(path).map(Some),
    }
}

/// Reads a whole file of figures or of work.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    // Opening a pipe would block until somebody writes.
    let file =
        File::options().read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(std::io::Error::other("it is too large to be a file of figures")),
        false => Ok(bytes),
    }
}

/// Removes from the tool's own files what the added arguments put in.
pub(crate) fn restore(adapter: &dyn Adapter, command: &CommandLine, files: &[ToolFile], hooks: &mut impl Hooks) {
    for file in files {
        let Some(bytes) = adapter.without_added(command, file) else { continue };
        let path = Path::new(&command.cwd).join(&file.name);
        if let Err(error) = replace(&path, &bytes) {
            hooks.notice(&format!("cannot take the added figures out of {}: {error}", path.display()));
        }
    }
}

/// Replaces a file's content at once: it is always either the old or the new one. Nothing that somebody left under the
/// name of the new one is written to, and no bit of the old mode gives rights to whoever executes it.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mode = std::fs::symlink_metadata(path)?.permissions().mode() & 0o777;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".activebench-{}", std::process::id()));
    let beside = path.with_file_name(name);
    // A link under this name is an error, not followed.
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.set_permissions(Permissions::from_mode(mode)))
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_an_installed_tool_is_known_by_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("a file");
            path
        };
        let tool = file("fio", b"the tool");
        let installed = [(8, tool.clone())];
        let found = |path: &Path| original(path, &installed);
        assert_eq!(found(&file("mine", b"the tool")).as_deref(), tool.to_str());
        assert_eq!(found(&file("other", b"The tool")), None);
        assert_eq!(found(&file("longer", b"the tools")), None);
        assert_eq!(found(&tool), None);
        assert_eq!(found(folder.path()), None);
        assert_eq!(found(&folder.path().join("gone")), None);
    }
}
