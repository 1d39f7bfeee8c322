//! The raw devices that a command line names: in its words, in a shell's script, in the files that its tools read their
//! work from.
//!
//! Only text is examined. The values of a script's variables, and the effects of a program without an adapter, are not
//! known before it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use activebench_host::{Roots, block_devices_behind};
use activebench_model::call::DeviceNumber;
use activebench_model::command::CommandLine;
use activebench_model::phase::Direction;
use activebench_tools::Adapter;

use crate::{judge, plan};

/// Maximum bytes of a line: no log of fio has longer lines.
const LINE_BYTES: u64 = 64 << 10;

/// Block devices by their numbers, each with its node.
pub(crate) type Devices = BTreeMap<DeviceNumber, PathBuf>;

/// The devices that a command names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// Devices in any of its words.
    pub(crate) all: Devices,
    /// Devices named by a tool that writes.
    pub(crate) written: Devices,
    /// What could not be determined about tools that write: fragments that follow "cannot tell".
    pub(crate) untold: Vec<String>,
    /// `true` if the command is that of a known tool and all of its words are understood.
    pub(crate) whole: bool,
}

/// Finds the raw devices that a command names.
pub(crate) fn named(command: &CommandLine) -> Named {
    let mut named = Named::default();
    let tools = judge::tools_of_words(command);
    let works: Vec<Work> = tools.iter().map(|(adapter, own)| Work::of(*adapter, own, &mut named.untold)).collect();
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let everything =
        || words.iter().copied().chain(works.iter().flat_map(|work| work.texts.iter().map(String::as_str)));
    let folders = folders(Path::new(&command.cwd), everything());
    let mut unknown = Vec::new();
    named.all = devices(&folders, everything(), &mut unknown);
    for ((_, own), work) in tools.iter().zip(&works).filter(|(_, work)| work.writes) {
        let texts = own.argv.iter().chain(&work.texts).map(String::as_str);
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
    let number = metadata.rdev();
    DeviceNumber::new(libc::major(number), libc::minor(number))
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
        let mut texts: Vec<String> = files.iter().map(|file| uncommented(&file.bytes)).collect();
        let own_texts = || own.argv.iter().chain(&texts).map(String::as_str);
        let redirected = own_texts().any(|text| text.contains("replay_redirect"));
        let mut files = Vec::new();
        for log in replayed(own_texts()) {
            match Log::read(&Path::new(&own.cwd).join(&log)) {
                Ok(log) => {
                    writes |= log.writes;
                    files.push(log.files);
                }
                Err(error) => {
                    // The log may contain writes.
                    writes = true;
                    untold.push(format!("what {} replays: cannot read {log}: {error}", adapter.name()));
                }
            }
        }
        if !redirected {
            texts.extend(files);
        }
        Self { texts, writes }
    }
}

/// Returns a job file, or a list of devices, without its comments.
fn uncommented(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', ';']));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the logs that fio is to replay: they say what it writes, whatever `rw` says (HOWTO, `read_iolog`).
fn replayed<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    const OPTION: &str = "read_iolog";
    let mut logs = BTreeSet::new();
    let mut words = texts.flat_map(str::split_whitespace).map(|word| word.trim_start_matches('-')).peekable();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix(OPTION) else { continue };
        let value = match (rest, words.peek()) {
            ("" | "=", Some(&"=")) => {
                words.next();
                words.next()
            }
            ("" | "=", _) => words.next(),
            (value, _) => value.strip_prefix('='),
        };
        // A colon separates two logs.
        logs.extend(
            parts(value.unwrap_or_default(), &[':']).map(|log| unescaped(bare(log))).filter(|log| !log.is_empty()),
        );
    }
    logs
}

/// The parts of a replayed fio log that say what is written.
struct Log {
    /// The files that it adds and opens, one per line.
    files: String,
    writes: bool,
}

impl Log {
    fn read(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::Error::other("it is no regular file"));
        }
        let mut files = BTreeSet::new();
        let mut writes = false;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        // A log may be larger than the memory: its lines are read one by one.
        while (&mut lines).take(LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
            // A log of blktrace is not text, and does not name files.
            let Ok(text) = str::from_utf8(&line) else { return Ok(Self { files: String::new(), writes: true }) };
            let mut words = text.split_whitespace().rev();
            match words.next() {
                Some("add" | "open") => files.extend(words.next().map(str::to_owned)),
                _ => writes |= words.any(|word| matches!(word, "write" | "trim")),
            }
            line.clear();
        }
        Ok(Self { files: files.into_iter().collect::<Vec<_>>().join("\n"), writes })
    }
}

/// Returns the folder that a command runs in, and the folders that its words name: other names may be relative to them.
fn folders<'a>(cwd: &Path, texts: impl Iterator<Item = &'a str>) -> Vec<PathBuf> {
    let mut folders = vec![cwd.to_owned()];
    for name in names(texts) {
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
    for name in names(texts) {
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
    let behind = block_devices_behind(&Roots::default(), rdev(&metadata))?;
    Ok(behind.into_iter().map(|(name, number)| (number, Path::new("/dev").join(name))).collect())
}

/// True if the error says that a path does not exist or cannot be a path.
fn is_no_file(error: &std::io::Error) -> bool {
    let none = [libc::ENOENT, libc::ENOTDIR, libc::ENAMETOOLONG, libc::ELOOP];
    error.kind() == std::io::ErrorKind::InvalidInput || error.raw_os_error().is_some_and(|code| none.contains(&code))
}

/// Returns everything in texts that may be a file name.
fn names<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for word in texts.flat_map(str::split_whitespace).map(bare) {
        // fio's name for a job is not a file name.
        if word.trim_start_matches('-').starts_with("name=") {
            continue;
        }
        let value = word.split_once('=').map(|(_, value)| value);
        // The text directly behind a redirection or a short option: `>/dev/sdb`, `-f/dev/sdb`.
        let redirected = word.rsplit_once(['<', '>']).map(|(_, target)| target);
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let short = short.and_then(|rest| Some(&rest[rest.chars().next()?.len_utf8()..]));
        for text in [Some(word), value, redirected, short].into_iter().flatten() {
            // A colon may be part of a name (`/dev/disk/by-path/pci-0000:00:17.0-ata-1`), or separate two names.
            for name in std::iter::once(text).chain(parts(text, &[':', ','])).map(bare) {
                names.insert(name.to_owned());
                names.insert(unescaped(name));
            }
        }
    }
    names.remove("");
    names
}

/// Splits a text at separators that have no backslash before them.
fn parts<'a>(text: &'a str, separators: &'a [char]) -> impl Iterator<Item = &'a str> {
    let mut escaped = false;
    text.split(move |c: char| {
        let separates = separators.contains(&c) && !escaped;
        escaped = c == '\\' && !escaped;
        separates
    })
}

fn bare(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`', ';', '(', ')'])
}

fn unescaped(text: &str) -> String {
    text.replace('\\', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(cwd: &str, argv: &[&str]) -> CommandLine {
        CommandLine { argv: argv.iter().map(|word| (*word).to_owned()).collect(), cwd: cwd.to_owned() }
    }

    fn has(text: &str, name: &str) -> bool {
        names(std::iter::once(text)).contains(name)
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        const BY_PATH: &str = "/dev/disk/by-path/pci-0000:00:17.0-ata-1";
        for text in [
            "/dev/disk/by-path/pci-0000:00:17.0-ata-1",
            "if=/dev/disk/by-path/pci-0000:00:17.0-ata-1",
            r"--filename=/dev/disk/by-path/pci-0000\:00\:17.0-ata-1",
            r"--filename=/dev/sdc:/dev/disk/by-path/pci-0000\:00\:17.0-ata-1",
            r"--filename=/dev/disk/by-path/pci-0000\\:00\\:17.0-ata-1",
            "[a]\nrw=write\nfilename=/dev/disk/by-path/pci-0000:00:17.0-ata-1\n",
        ] {
            assert!(has(text, BY_PATH), "{text}");
        }
        for text in [
            "/dev/sdb",
            "filename=/dev/sdb",
            "filename = /dev/sdb",
            "-f/dev/sdb",
            "--filename='/dev/sdb'",
            "/dev/sdc:/dev/sdb",
            "/dev/sdc,/dev/sdb",
            "echo>/dev/sdb;",
        ] {
            assert!(has(text, "/dev/sdb"), "{text}");
        }
        assert!(has("--filename=sdb", "sdb") && has("-fsdb", "sdb") && has("-f sdb", "sdb"));
        assert!(!has("--name=sdb", "sdb") && !has("--filename=copy/dev/sdb", "/dev/sdb"));
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
            (&["dd", "if=/dev/zero"], false),
        ] {
            assert_eq!(named(&command("/", words)).whole, whole, "{words:?}");
        }
    }
}
