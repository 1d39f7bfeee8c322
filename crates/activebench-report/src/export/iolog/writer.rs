//! Lines of the log.

use std::collections::HashMap;
use std::io::{self, Write};

use activebench_model::call::FileId;

use super::Version;
use super::step::{Action, Step, unwritable};
use crate::export::names::FileNames;

/// Writes steps in their order. A file stays open in the log while any descriptor of the run refers to it, because fio
/// opens a file only once.
pub(super) struct Writer<'a> {
    version: Version,
    started_ns: u64,
    names: &'a FileNames,
    out: &'a mut dyn Write,
    files: Vec<Written>,
    by_name: HashMap<String, usize>,
    /// The file and its index in `files`, by process and descriptor.
    descriptors: HashMap<(u32, i32), (FileId, usize)>,
    begun: bool,
    last_ns: u64,
}

/// A file of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Name in the log.
    pub(super) name: String,
    /// Number of open descriptors.
    open: usize,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) trims: u64,
    pub(super) syncs: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    /// End offset of the written data.
    written_to: u64,
    /// Required length before the replay; 0 when all data that is read was written before.
    pub(super) must_have_bytes: u64,
}

impl<'a> Writer<'a> {
    pub(super) fn new(version: Version, started_ns: u64, names: &'a FileNames, out: &'a mut dyn Write) -> Self {
        Self {
            version,
            started_ns,
            names,
            out,
            files: Vec::new(),
            by_name: HashMap::new(),
            descriptors: HashMap::new(),
            begun: false,
            last_ns: 0,
        }
    }

    pub(super) fn step(&mut self, step: &Step) -> io::Result<()> {
        self.last_ns = step.at_ns;
        let key = (step.tgid, step.fd);
        match step.action {
            Action::Close => self.close(key),
            // The name is known when the call ends.
            Action::Open => match self.file(step.file, step.end_ns)? {
                Some(number) => self.open(key, step.file, number),
                None => Ok(()),
            },
            Action::Dup => match self.open_as(step.file) {
                Some(number) => self.open(key, step.file, number),
                None => Ok(()),
            },
            _ => {
                let number = match self.descriptors.get(&key) {
                    Some((file, number)) if *file == step.file => *number,
                    // The descriptor was inherited, or registered with a ring.
                    _ => {
                        let number = match self.open_as(step.file) {
                            Some(number) => Some(number),
                            None => self.file(step.file, step.at_ns)?,
                        };
                        let Some(number) = number else { return Ok(()) };
                        self.open(key, step.file, number)?;
                        number
                    }
                };
                self.operation(step, number)
            }
        }
    }

    /// Closes the open files and returns all files.
    pub(super) fn finish(mut self) -> io::Result<Vec<Written>> {
        for number in 0..self.files.len() {
            if self.files[number].open > 0 {
                self.line(number, "close", None)?;
            }
        }
        Ok(self.files)
    }

    fn operation(&mut self, step: &Step, number: usize) -> io::Result<()> {
        let file = &mut self.files[number];
        let end = step.offset.saturating_add(u64::from(step.bytes));
        let action = match step.action {
            Action::Read => {
                file.reads += 1;
                file.read_bytes += u64::from(step.bytes);
                if end > file.written_to {
                    file.must_have_bytes = file.must_have_bytes.max(end);
                }
                "read"
            }
            Action::Write => {
                file.writes += 1;
                file.written_bytes += u64::from(step.bytes);
                file.written_to = file.written_to.max(end);
                "write"
            }
            Action::Trim => {
                file.trims += 1;
                "trim"
            }
            Action::Datasync => {
                file.syncs += 1;
                "datasync"
            }
            _ => {
                file.syncs += 1;
                "sync"
            }
        };
        self.line(number, action, Some((step.offset, step.bytes)))
    }

    /// Returns the number of a file under its name at a time; `None` if the name cannot be written.
    fn file(&mut self, file: FileId, at_ns: u64) -> io::Result<Option<usize>> {
        let Some(name) = self.names.at(file, at_ns).filter(|name| unwritable(Some(name)).is_none()) else {
            return Ok(None);
        };
        if let Some(number) = self.by_name.get(name) {
            return Ok(Some(*number));
        }
        let number = self.files.len();
        // fio reads this name as its standard input.
        let written = if name == "-" { "./-" } else { name };
        self.files.push(Written { name: written.to_owned(), ..Written::default() });
        self.by_name.insert(name.to_owned(), number);
        self.line(number, "add", None)?;
        Ok(Some(number))
    }

    /// Returns the number of a file that another descriptor refers to.
    fn open_as(&self, file: FileId) -> Option<usize> {
        let mut on_file = self.descriptors.values().filter(|(other, _)| *other == file).map(|(_, number)| *number);
        on_file.next()
    }

    fn open(&mut self, key: (u32, i32), file: FileId, number: usize) -> io::Result<()> {
        if self.descriptors.get(&key) == Some(&(file, number)) {
            return Ok(());
        }
        let before = self.descriptors.insert(key, (file, number));
        self.files[number].open += 1;
        if self.files[number].open == 1 {
            self.line(number, "open", None)?;
        }
        match before {
            Some((_, before)) => self.release(before),
            None => Ok(()),
        }
    }

    fn close(&mut self, key: (u32, i32)) -> io::Result<()> {
        match self.descriptors.remove(&key) {
            Some((_, number)) => self.release(number),
            None => Ok(()),
        }
    }

    fn release(&mut self, number: usize) -> io::Result<()> {
        self.files[number].open -= 1;
        match self.files[number].open {
            0 => self.line(number, "close", None),
            _ => Ok(()),
        }
    }

    fn line(&mut self, number: usize, action: &str, place: Option<(u64, u32)>) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            writeln!(self.out, "fio version {} iolog", if self.version == Version::Two { 2 } else { 3 })?;
        }
        if self.version == Version::Three {
            // fio ignores a time of 0 and does not wait after it.
            let at_us = (self.last_ns.saturating_sub(self.started_ns) / 1000).max(1);
            write!(self.out, "{at_us} ")?;
        }
        let name = &self.files[number].name;
        match place {
            Some((offset, bytes)) => writeln!(self.out, "{name} {action} {offset} {bytes}"),
            None => writeln!(self.out, "{name} {action}"),
        }
    }
}
