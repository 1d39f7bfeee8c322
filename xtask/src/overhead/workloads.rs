//! The commands under observation: their scripts, and the conversion of their output into a figure.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::overhead::outputs;
use crate::overhead::variants::{self, Variant};
use crate::tools::{self, Tool};

/// A workload.
#[derive(Debug)]
pub(crate) struct Workload {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its description, for the page.
    pub(crate) title: &'static str,
    /// Its program.
    pub(crate) program: Program,
    /// `true` when it runs outside the observed tree, which then idles.
    pub(crate) outside: bool,
    /// The call that does its I/O.
    pub(crate) syscall: &'static str,
    /// The variants to compare.
    pub(crate) variants: &'static [Variant],
    /// Divisor of the number of rounds: long runs get fewer.
    pub(crate) rounds_divisor: u32,
    /// Rounds of a few variants alone, after those with all; `None` for workloads without such an aim.
    pub(crate) more: Option<More>,
}

/// Rounds for only the variants with an aim. One round with all variants costs as much as several of these, and the
/// aims are small compared with the scatter of a round.
#[derive(Debug)]
pub(crate) struct More {
    /// The variants, untraced among them.
    pub(crate) variants: &'static [Variant],
    /// Number of rounds, unless the command line sets another.
    pub(crate) rounds: u32,
}

/// The program of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Our own loop of cached preads, one thread.
    Preads,
    /// fio reading 4 KiB at random places.
    Fio { engine: Engine, target: Target },
    /// bonnie++ with a small file, of which the per-character output counts.
    Bonnie,
}

/// fio's engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// One pread per read.
    Psync,
    /// A queue of 16 requests.
    IoUring,
    /// The same through Linux native asynchronous I/O.
    Libaio,
}

/// Storage that fio reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file in the page cache.
    CachedFile,
    /// A file on the working folder's file system, past the page cache.
    DirectFile,
    /// A loop device, past the page cache; its file is read past the page cache too.
    DirectLoop,
}

/// All workloads, in the order in which they run.
pub(crate) const ALL: &[Workload] = &[
    Workload {
        name: "preads",
        title: "a loop of cached 4 KiB preads, one thread",
        program: Program::Preads,
        outside: false,
        syscall: "pread64",
        variants: variants::ALL,
        rounds_divisor: 1,
        more: Some(More { variants: variants::COUNTING, rounds: 60 }),
    },
    Workload {
        name: "bystander",
        title: "the same loop outside the observed tree, which idles",
        program: Program::Preads,
        outside: true,
        syscall: "pread64",
        variants: variants::SYSTEM_WIDE,
        rounds_divisor: 1,
        more: Some(More { variants: variants::OURS_BESIDE_THE_FLOOR, rounds: 60 }),
    },
    Workload {
        name: "fio-psync",
        title: "fio psync, cached 4 KiB random reads",
        program: Program::Fio { engine: Engine::Psync, target: Target::CachedFile },
        outside: false,
        syscall: "pread64",
        variants: variants::ALL,
        rounds_divisor: 1,
        more: None,
    },
    Workload {
        name: "fio-io-uring",
        title: "fio io_uring with a queue of 16, cached 4 KiB random reads",
        program: Program::Fio { engine: Engine::IoUring, target: Target::CachedFile },
        outside: false,
        syscall: "io_uring_enter",
        variants: variants::ASYNCHRONOUS,
        rounds_divisor: 1,
        more: Some(More { variants: variants::BESIDE_THE_FLOOR, rounds: 20 }),
    },
    Workload {
        name: "fio-libaio",
        title: "fio libaio with a queue of 16, cached 4 KiB random reads",
        program: Program::Fio { engine: Engine::Libaio, target: Target::CachedFile },
        outside: false,
        syscall: "io_submit",
        variants: variants::ASYNCHRONOUS,
        rounds_divisor: 1,
        more: Some(More { variants: variants::BESIDE_THE_FLOOR, rounds: 20 }),
    },
    Workload {
        name: "direct-loop",
        title: "fio psync, direct 4 KiB random reads of a loop device (dio=1)",
        program: Program::Fio { engine: Engine::Psync, target: Target::DirectLoop },
        outside: false,
        syscall: "pread64",
        variants: variants::ALL,
        rounds_divisor: 1,
        more: Some(More { variants: variants::OURS, rounds: 60 }),
    },
    Workload {
        name: "direct-file",
        title: "fio psync, direct 4 KiB random reads of a file",
        program: Program::Fio { engine: Engine::Psync, target: Target::DirectFile },
        outside: false,
        syscall: "pread64",
        variants: variants::ALL,
        rounds_divisor: 1,
        more: Some(More { variants: variants::OURS, rounds: 60 }),
    },
    Workload {
        name: "bonnie-putc",
        title: "bonnie++, per-character output of 3 MiB (one write a byte)",
        program: Program::Bonnie,
        outside: false,
        syscall: "write",
        variants: variants::ALL,
        rounds_divisor: 4,
        more: None,
    },
];

/// Amount of work in a single run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Calls of the loop.
    pub(crate) preads: u64,
    /// Calls of the loop under a slow variant.
    pub(crate) slow_preads: u64,
    /// Duration of fio's reads, in milliseconds.
    pub(crate) fio_ms: u64,
}

/// Paths of files outside of the working folder.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    /// The product's binary.
    pub(crate) activebench: &'a Path,
    /// The loop device; `None` for a workload without one.
    pub(crate) loop_device: Option<&'a str>,
}

/// Bytes of each file that is read.
pub(crate) const FILE_BYTES: usize = 64 << 20;
/// The file that the loop and fio's cached jobs read.
pub(crate) const CACHED_FILE: &str = "cached";
/// The file that fio's direct job reads.
pub(crate) const DIRECT_FILE: &str = "direct";
/// The file behind the loop device.
pub(crate) const BACKING_FILE: &str = "backing";
/// File for a workload's own output.
pub(crate) const RESULT_FILE: &str = "result";

impl Workload {
    /// Returns the tools that it needs.
    pub(crate) fn tools(&self) -> &'static [&'static Tool] {
        match self.program {
            Program::Preads => &[],
            Program::Fio { target: Target::DirectLoop, .. } => &[&tools::FIO, &tools::LOSETUP],
            Program::Fio { .. } => &[&tools::FIO],
            Program::Bonnie => &[&tools::BONNIE],
        }
    }

    /// Returns the reason why a variant is not measured on it at all; `None` when it is measured.
    pub(crate) fn left_out(&self, variant: Variant) -> Option<&'static str> {
        (self.program == Program::Bonnie && variant.is_slow())
            .then_some("a run makes six million calls of one byte: minutes under this tracer")
    }

    /// Returns the rounds of this workload for this number of rounds of the others; at least 1.
    pub(crate) fn rounds(&self, rounds: u32) -> u32 {
        rounds.div_ceil(self.rounds_divisor)
    }

    /// Returns the shell script that runs it in the working folder.
    pub(crate) fn script(&self, names: &Names, amount: Amount, slow: bool) -> String {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let command = match self.program {
            Program::Preads => {
                let count = if slow { amount.slow_preads } else { amount.preads }.to_string();
                let binary = names.activebench.display().to_string();
                words(&[&binary, "__workload", "preads", "--count", &count, CACHED_FILE])
            }
            Program::Fio { engine, target } => {
                let mut command = words(&[&path_of(&tools::FIO), "--name=reads", "--rw=randread", "--bs=4k"]);
                command.extend(words(&["--readonly", "--norandommap", "--invalidate=0", "--time_based"]));
                command.extend(words(&["--size=64m", "--output-format=json+"]));
                command.push(format!("--runtime={}ms", amount.fio_ms));
                command.extend(match engine {
                    Engine::Psync => words(&["--ioengine=psync"]),
                    Engine::IoUring => words(&["--ioengine=io_uring", "--iodepth=16"]),
                    Engine::Libaio => words(&["--ioengine=libaio", "--iodepth=16"]),
                });
                command.extend(match target {
                    Target::CachedFile => vec![format!("--filename={CACHED_FILE}")],
                    Target::DirectFile => vec![format!("--filename={DIRECT_FILE}"), "--direct=1".to_owned()],
                    Target::DirectLoop => {
                        let device = names.loop_device.unwrap_or("no-loop-device");
                        vec![format!("--filename={device}"), "--direct=1".to_owned()]
                    }
                });
                command
            }
            // A small file, with a smaller memory size on the command line; otherwise bonnie++ would refuse.
            Program::Bonnie => {
                let mut command = words(&[&path_of(&tools::BONNIE), "-q", "-u", "root", "-d", "."]);
                command.extend(words(&["-n", "0", "-r", "4", "-s", "8"]));
                command
            }
        };
        let mut script = String::from("exec");
        for word in command {
            // Writing to a String cannot fail.
            write!(script, " {}", quoted(&word)).expect("a String takes every character");
        }
        script + " > " + RESULT_FILE + "\n"
    }

    /// Returns `true` when the device takes most of a call's time.
    pub(crate) fn is_device_bound(&self) -> bool {
        matches!(self.program, Program::Fio { target: Target::DirectFile | Target::DirectLoop, .. })
    }

    /// Returns the median nanoseconds per call when the device takes most of the time; otherwise `None`.
    pub(crate) fn median_ns(&self, output: &str) -> Option<f64> {
        self.is_device_bound().then(|| outputs::fio_median_ns(output)).flatten()
    }

    /// Returns the nanoseconds per call, from the workload's own output.
    ///
    /// # Errors
    /// When the output does not contain the figure.
    pub(crate) fn ns_per_call(&self, output: &str) -> Result<f64> {
        match self.program {
            Program::Preads => outputs::preads_ns_per_call(output),
            Program::Fio { .. } => outputs::fio_ns_per_call(output),
            Program::Bonnie => outputs::bonnie_ns_per_character(output),
        }
    }
}

fn path_of(tool: &Tool) -> String {
    tool.find().map_or_else(|| tool.command.to_owned(), |path| path.display().to_string())
}

/// Quotes a word, so that the shell takes it unchanged.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNT: Amount = Amount { preads: 1000, slow_preads: 20, fio_ms: 500 };

    fn script(name: &str, slow: bool) -> String {
        let names = Names { activebench: Path::new("/t/it's/activebench"), loop_device: Some("/dev/loop7") };
        let workload = ALL.iter().find(|workload| workload.name == name).expect("a workload");
        workload.script(&names, AMOUNT, slow)
    }

    #[test]
    fn a_slow_variant_makes_fewer_calls() {
        let expected = |count: u32| {
            format!(r"exec '/t/it'\''s/activebench' '__workload' 'preads' '--count' '{count}' 'cached' > result") + "\n"
        };
        assert_eq!(script("preads", false), expected(1000));
        assert_eq!(script("preads", true), expected(20));
    }

    #[test]
    fn direct_reads_go_to_their_targets() {
        for (name, expected) in [
            ("fio-psync", "'--ioengine=psync' '--filename=cached' >"),
            ("fio-io-uring", "'--ioengine=io_uring' '--iodepth=16' '--filename=cached' >"),
            ("fio-libaio", "'--ioengine=libaio' '--iodepth=16' '--filename=cached' >"),
            ("direct-loop", "'--ioengine=psync' '--filename=/dev/loop7' '--direct=1' >"),
            ("direct-file", "'--ioengine=psync' '--filename=direct' '--direct=1' >"),
        ] {
            let script = script(name, false);
            assert!(script.contains(expected), "{script}");
            assert!(script.contains("'--runtime=500ms'"), "{script}");
        }
    }

    #[test]
    fn every_workload_compares_with_untraced_and_has_a_round() {
        let mut names: Vec<&str> = ALL.iter().map(|workload| workload.name).collect();
        for workload in ALL {
            assert_eq!(workload.variants.first(), Some(&Variant::Untraced), "{}", workload.name);
            assert!(workload.rounds(1) >= 1);
            if let Some(more) = &workload.more {
                assert_eq!(more.variants.first(), Some(&Variant::Untraced), "{}", workload.name);
                assert!(more.variants.iter().all(|variant| workload.variants.contains(variant)), "{}", workload.name);
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len(), "names are unique");
    }

    #[test]
    fn the_shell_takes_a_quoted_word_as_it_is() {
        for word in ["a b", "it's", "$HOME", "`x`", "", "'"] {
            let output = std::process::Command::new("/bin/sh")
                .args(["-c", &format!("printf %s {}", quoted(word))])
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
