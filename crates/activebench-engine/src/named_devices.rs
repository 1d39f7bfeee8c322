//! The raw devices that a command line names: in its words, in a shell's script, in the files that its tools read their
//! work from.
//!
//! Only text is examined. The values of a script's variables, and the effects of a program without an adapter, are not
//! known before it runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use activebench_host::{Roots, block_devices_behind, device_number};
use activebench_model::call::DeviceNumber;
use activebench_model::command::CommandLine;
use activebench_model::phase::Direction;
use activebench_runner::with_roots_files;
use activebench_tools::{Adapter, LoggedIo, execution, named_files};
use rustix::io::Errno;

use crate::plan;

/// Block devices by their numbers, each with its node.
pub(crate) type Devices = BTreeMap<DeviceNumber, PathBuf>;

/// The devices that a command names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Devices in any of its words.
    pub(crate) all: Devices,
    /// Devices named by a tool that writes.
    pub(crate) written: Devices,
    /// Questions about tools that write which could not be answered: fragments that follow "cannot tell".
    pub(crate) untold: Vec<String>,
    /// `true` if the command is that of a known tool and all of its words are understood.
    pub(crate) whole: bool,
}

/// Finds the raw devices that a command names.
pub(crate) fn named(command: &CommandLine) -> Named {
    let mut named = Named::default();
    let tools = execution::named_tools(command);
    let works: Vec<Work> = tools.iter().map(|(adapter, own)| Work::of(*adapter, own, &mut named.untold)).collect();
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let everything =
        || words.iter().copied().chain(works.iter().flat_map(|work| work.texts.iter().map(String::as_str)));
    let folders = folders(Path::new(&command.cwd), everything());
    let mut unknown = Vec::new();
    named.all = devices(&folders, everything(), &mut unknown);
    for ((adapter, own), work) in tools.iter().zip(&works).filter(|(_, work)| work.writes) {
        let words = own.argv.iter().filter(|word| !adapter.is_input(word));
        let texts = words.chain(&work.texts).map(String::as_str);
        named.written.extend(devices(&folders, texts, &mut named.untold));
    }
    named.untold.sort();
    named.untold.dedup();
    let direct = activebench_tools::adapter_for_program(command.program()).is_some();
    named.whole =
        direct && unknown.is_empty() && named.untold.is_empty() && !everything().any(|text| text.contains('$'));
    named
}

/// Returns the number of a block device; `None` for anything else.
pub(crate) fn number_of(path: &Path) -> std::io::Result<Option<DeviceNumber>> {
    let metadata = std::fs::metadata(path)?;
    Ok(metadata.file_type().is_block_device().then(|| rdev(&metadata)))
}

fn rdev(metadata: &std::fs::Metadata) -> DeviceNumber {
    device_number(metadata.rdev())
}

/// The work of one tool of the command.
struct Work {
    /// The texts that it reads its work from, without comments.
    texts: Vec<String>,
    writes: bool,
}

impl Work {
    fn of(adapter: &dyn Adapter, own: &CommandLine, untold: &mut Vec<String>) -> Self {
        let (files, unread) = plan::input_files(adapter, own);
        untold.extend(unread.into_iter().map(|why| format!("which devices {} writes: {why}", adapter.name())));
        let planned = adapter.plan(own, &files).phases;
        let mut writes = planned
            .iter()
            .any(|phase| matches!(phase.direction, Direction::Write | Direction::Mixed | Direction::Discard));
        let mut texts: Vec<String> =
            files.iter().map(|file| uncommented(&file.bytes, adapter.comment_signs())).collect();
        let own_texts: Vec<&str> = own.argv.iter().chain(&texts).map(String::as_str).collect();
        let Some(replayed) = adapter.replayed(&own_texts) else { return Self { texts, writes } };
        let mut files = Vec::new();
        for log in replayed.logs {
            match read_log(&Path::new(&own.cwd).join(&log), replayed.read) {
                Ok(logged) => {
                    writes |= logged.writes;
                    files.extend(logged.files);
                }
                Err(error) => {
                    // The log may contain writes.
                    writes = true;
                    untold.push(format!("what {} replays: cannot read {log}: {error}", adapter.name()));
                }
            }
        }
        if !replayed.redirected {
            texts.extend(files);
        }
        Self { texts, writes }
    }
}

/// Returns a job file, or a list of devices, without its comments.
fn uncommented(bytes: &[u8], comment_signs: &[char]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(comment_signs));
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads a log of I/O.
fn read_log(path: &Path, read: fn(&mut dyn BufRead) -> std::io::Result<LoggedIo>) -> std::io::Result<LoggedIo> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    read(&mut BufReader::new(file))
}

/// Returns the folder that a command runs in, and the folders that its words name: other names may be relative to them.
fn folders<'a>(cwd: &Path, texts: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_owned()];
    for name in named_files(texts) {
        let folder = cwd.join(&name);
        if !folders.contains(&folder) && folder.is_dir() {
            folders.push(folder);
        }
    }
    folders
}

/// Returns the block devices that texts name.
fn devices<'a>(folders: &[PathBuf], texts: impl Iterator<Item = &'a str>, untold: &mut Vec<String>) -> Devices {
    let mut found = Devices::new();
    for name in named_files(texts) {
        let absolute = name.starts_with('/');
        for path in folders.iter().take(if absolute { 1 } else { folders.len() }).map(|folder| folder.join(&name)) {
            match devices_of(&path) {
                Ok(devices) => {
                    for (number, node) in devices {
                        found.entry(number).or_insert(node);
                    }
                }
                Err(error) if absolute => untold.push(format!("whether {name} is a device: {error}")),
                // Most likely not a file name.
                Err(_) => {}
            }
        }
    }
    found
}

/// Returns the block devices of a path: a block device itself, or the devices behind a character device.
fn devices_of(path: &Path) -> Result<Vec<(DeviceNumber, PathBuf)>, String> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_no_file(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let kind = metadata.file_type();
    if kind.is_block_device() {
        return Ok(vec![(rdev(&metadata), path.to_owned())]);
    }
    if !kind.is_char_device() {
        return Ok(Vec::new());
    }
    let behind = with_roots_files(|| block_devices_behind(&Roots::default(), rdev(&metadata)))?;
    Ok(behind.into_iter().map(|(name, number)| (number, Path::new("/dev").join(name))).collect())
}

/// True if the error says that a path does not exist or cannot be a path.
fn is_no_file(error: &std::io::Error) -> bool {
    let none = [Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG, Errno::LOOP];
    error.kind() == std::io::ErrorKind::InvalidInput
        || Errno::from_io_error(error).is_some_and(|code| none.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(cwd: &str, argv: &[&str]) -> CommandLine {
        CommandLine { argv: argv.iter().map(|word| (*word).to_owned()).collect(), cwd: cwd.to_owned() }
    }

    #[test]
    fn what_is_no_block_device_is_not_named() {
        let words = ["fio", "--rw=write", "--filename=/dev/null:/etc", "/nonexistent", "--size=1g"];
        let found = named(&command("/", &words));
        assert!(found.all.is_empty() && found.written.is_empty(), "{found:?}");
    }

    #[test]
    fn a_replayed_log_tells_what_it_writes() {
        let folder = tempfile::tempdir().expect("a folder");
        let cwd = folder.path().to_str().expect("UTF-8");
        let log = |name: &str, text: &[u8]| std::fs::write(folder.path().join(name), text).expect("it is written");
        log("reads", b"fio version 3 iolog\n0 /mnt/x add\n0 /mnt/x open\n1 /mnt/x read 0 4096\n");
        log("writes", b"fio version 2 iolog\n/mnt/x add\n/mnt/x open\n/mnt/x write 0 4096\n");
        log("blktrace", &[0x65, 0x61, 0x74, 0xff, 0, 1]);
        log("job.fio", b"[a]\nread_iolog=writes\n# read_iolog=blktrace\n");
        let fio = activebench_tools::adapter_by_name("fio").expect("the adapter");
        for (words, writes, untold) in [
            (&["fio", "--name=a", "--read_iolog=reads"][..], false, false),
            (&["fio", "--name=a", "--read_iolog=writes"], true, false),
            (&["fio", "--name=a", "--read_iolog", "writes"], true, false),
            (&["fio", "--name=a", "--read_iolog=reads:writes"], true, false),
            (&["fio", "--name=a", "--read_iolog=blktrace"], true, false),
            (&["fio", "--name=a", "--read_iolog=nothing"], true, true),
            (&["fio", "job.fio"], true, false),
            (&["fio", "other.fio"], false, true),
            (&["fio", "--name=a", "--rw=read"], false, false),
        ] {
            let mut told = Vec::new();
            let work = Work::of(fio, &command(cwd, words), &mut told);
            assert_eq!((work.writes, !told.is_empty()), (writes, untold), "{words:?}: {told:?}");
        }
    }

    #[test]
    fn what_is_told_of_a_tools_own_command_is_all_there_is() {
        for (words, whole) in [
            (&["fio", "--name=a", "--rw=read"][..], true),
            (&["fio", "--name=a", "--filename=$DISK"], false),
            (&["sh", "-c", "fio --name=a"], false),
            (&["dd", "if=/dev/zero", "of=a"], true),
            (&["cp", "a", "b"], false),
        ] {
            assert_eq!(named(&command("/", words)).whole, whole, "{words:?}");
        }
    }
}
