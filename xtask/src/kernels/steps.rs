//! The smoke set: the commands run under observation on every kernel, and their expected results.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A run of `activebench verify`.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its name, and the name of the folder for its results.
    pub(crate) name: Cow<'static, str>,
    /// Its purpose, for the page.
    pub(crate) title: Cow<'static, str>,
    /// The command.
    pub(crate) command: Program,
    /// The expected result.
    pub(crate) expected: Expected,
}

/// The command of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// iozone's writes, with further options.
    Iozone(&'static [&'static str]),
    /// The product's own workload, with a known number of calls of every recorded kind.
    Calls,
    /// fio over a file, each block once.
    Fio(&'static [&'static str]),
}

/// Expected result of a step, besides complete records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Exit code 1, and the claim on writing is misleading.
    Misleading,
    /// Exit code 0, and every claim is confirmed.
    Confirmed,
    /// Exit code 1: the claims on reading are misleading, those on writing have one of these verdicts.
    CachedReads {
        /// Verdicts on the claims on writing.
        writes: &'static [&'static str],
    },
    /// No claim is refuted or misleading.
    Honest {
        /// The product's name for the kind of call by which every block is moved once; `None` for iozone, which moves
        /// them several times.
        op: Option<&'static str>,
    },
    /// Every call of every class is recorded, counted by file.
    Calls,
    /// A sync after every [`SYNC_EVERY`] writes, by any of these kinds of call.
    Syncs(&'static [&'static str]),
    /// Every block is moved once, by this kind of call.
    Blocks {
        /// The product's name for the kind of call.
        op: &'static str,
        /// `true` when the reads bypass the page cache, so that the device must have read each byte of the file once.
        direct_reads: bool,
    },
}

const fn blocks(op: &'static str) -> Expected {
    Expected::Blocks { op, direct_reads: false }
}

const fn direct_blocks(op: &'static str) -> Expected {
    Expected::Blocks { op, direct_reads: true }
}

/// All steps, in the order in which they run.
pub(crate) const ALL: &[Step] = &[
    Step {
        name: Cow::Borrowed("iozone-default"),
        title: Cow::Borrowed("iozone -i0: the write figure is found misleading, exit code 1"),
        command: Program::Iozone(&[]),
        expected: Expected::Misleading,
    },
    Step {
        name: Cow::Borrowed("iozone-durable"),
        title: Cow::Borrowed("iozone -i0 -e -c: every claim confirmed, exit code 0"),
        command: Program::Iozone(&["-e", "-c"]),
        expected: Expected::Confirmed,
    },
    Step {
        name: Cow::Borrowed("calls"),
        title: Cow::Borrowed(
            "every class of call (read, pread, readv, sync, mmap, sendfile, libaio, ...): exact numbers by file",
        ),
        command: Program::Calls,
        expected: Expected::Calls,
    },
    Step {
        name: Cow::Borrowed("sync-write"),
        title: Cow::Borrowed("fio sync, writes"),
        command: Program::Fio(&["--rw=randwrite", "--ioengine=sync"]),
        expected: blocks("write"),
    },
    Step {
        name: Cow::Borrowed("psync-direct-read"),
        title: Cow::Borrowed("fio psync, direct reads"),
        command: Program::Fio(&["--rw=randread", "--ioengine=psync", "--direct=1"]),
        expected: direct_blocks("pread"),
    },
    Step {
        name: Cow::Borrowed("pvsync2-write"),
        title: Cow::Borrowed("fio pvsync2, writes"),
        command: Program::Fio(&["--rw=randwrite", "--ioengine=pvsync2"]),
        expected: blocks("pwritev"),
    },
    Step {
        name: Cow::Borrowed("posixaio-read"),
        title: Cow::Borrowed("fio posixaio, reads"),
        command: Program::Fio(&["--rw=randread", "--ioengine=posixaio", "--iodepth=8"]),
        expected: blocks("pread"),
    },
    Step {
        name: Cow::Borrowed("libaio-write"),
        title: Cow::Borrowed("fio libaio, writes"),
        command: Program::Fio(&["--rw=randwrite", "--ioengine=libaio", "--iodepth=8"]),
        expected: blocks("aio_write"),
    },
    Step {
        name: Cow::Borrowed("libaio-direct-read"),
        title: Cow::Borrowed("fio libaio, direct reads"),
        command: Program::Fio(&["--rw=randread", "--ioengine=libaio", "--iodepth=8", "--direct=1"]),
        expected: direct_blocks("aio_read"),
    },
    Step {
        name: Cow::Borrowed("uring-write"),
        title: Cow::Borrowed("fio io_uring, writes"),
        command: Program::Fio(&["--rw=randwrite", "--ioengine=io_uring", "--iodepth=8"]),
        expected: blocks("uring_write"),
    },
    Step {
        name: Cow::Borrowed("uring-read"),
        title: Cow::Borrowed("fio io_uring, plain reads"),
        command: Program::Fio(&["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--nonvectored=0"]),
        expected: blocks("uring_read"),
    },
    Step {
        name: Cow::Borrowed("uring-direct-read"),
        title: Cow::Borrowed("fio io_uring, direct reads"),
        command: Program::Fio(&["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--direct=1"]),
        expected: direct_blocks("uring_read"),
    },
    Step {
        name: Cow::Borrowed("uring-registered-read"),
        title: Cow::Borrowed("fio io_uring, direct reads with registered buffers and files"),
        command: Program::Fio(&[
            "--rw=randread",
            "--ioengine=io_uring",
            "--iodepth=8",
            "--direct=1",
            "--fixedbufs=1",
            "--registerfiles=1",
        ]),
        expected: direct_blocks("uring_read"),
    },
    Step {
        name: Cow::Borrowed("uring-sqpoll-read"),
        title: Cow::Borrowed("fio io_uring, reads submitted by the kernel's thread"),
        command: Program::Fio(&["--rw=randread", "--ioengine=io_uring", "--iodepth=8", "--sqthread_poll=1"]),
        expected: blocks("uring_read"),
    },
    Step {
        name: Cow::Borrowed("uring-async-write"),
        title: Cow::Borrowed("fio io_uring, writes of the kernel's workers"),
        command: Program::Fio(&["--rw=randwrite", "--ioengine=io_uring", "--iodepth=8", "--force_async=1"]),
        expected: blocks("uring_write"),
    },
    Step {
        name: Cow::Borrowed("libaio-fsync"),
        title: Cow::Borrowed("fio libaio, an fsync after every 64 writes"),
        command: Program::Fio(&["--rw=write", "--ioengine=libaio", "--iodepth=1", "--fsync=64"]),
        expected: Expected::Syncs(&["fsync", "aio_fsync"]),
    },
    Step {
        name: Cow::Borrowed("uring-fsync"),
        title: Cow::Borrowed("fio io_uring, an fsync after every 64 writes"),
        command: Program::Fio(&["--rw=write", "--ioengine=io_uring", "--iodepth=1", "--fsync=64"]),
        expected: Expected::Syncs(&["fsync", "uring_fsync"]),
    },
    Step {
        name: Cow::Borrowed("uring-fdatasync"),
        title: Cow::Borrowed("fio io_uring, an fdatasync after every 64 writes"),
        command: Program::Fio(&["--rw=write", "--ioengine=io_uring", "--iodepth=1", "--fdatasync=64"]),
        expected: Expected::Syncs(&["fdatasync", "uring_fdatasync"]),
    },
    Step {
        name: Cow::Borrowed("splice-read"),
        title: Cow::Borrowed("fio splice, reads"),
        command: Program::Fio(&["--rw=randread", "--ioengine=splice"]),
        expected: blocks("splice"),
    },
    Step {
        name: Cow::Borrowed("splice-write"),
        title: Cow::Borrowed("fio splice, writes"),
        command: Program::Fio(&["--rw=randwrite", "--ioengine=splice"]),
        expected: blocks("splice_to"),
    },
];

/// Amount of work in each step: an emulated machine is some fifty times slower than a real one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    /// iozone's file, in MiB.
    pub(crate) iozone_mib: usize,
    /// Calls of each class.
    pub(crate) calls: usize,
    /// Blocks that fio moves.
    pub(crate) blocks: usize,
    /// Time limit of a step, in seconds.
    pub(crate) seconds: u32,
}

/// Bytes of a block of fio, and of a call of the product's own workload.
pub(crate) const UNIT: usize = 4096;
/// Writes between two syncs, for steps with syncs.
pub(crate) const SYNC_EVERY: usize = 64;
/// fio's file.
pub(crate) const FIO_FILE: &str = "paths.dat";
/// Prefix of the script's lines that this task reads.
pub(crate) const MARK: &str = "@@ ";
/// The file with the diagnosis of `activebench doctor`.
pub(crate) const DOCTOR: &str = "doctor.json";
/// The file with the kernel's name and version.
pub(crate) const KERNEL: &str = "kernel";

impl Step {
    /// Returns the line of the script that runs it.
    pub(crate) fn line(&self, amount: Amount) -> String {
        let mut line = String::new();
        // Writing to a String cannot fail.
        writeln!(line, "step {} {}", self.name, self.words("\"$activebench\"", amount).join(" "))
            .expect("a String takes every character");
        line
    }

    /// Returns the words of its command; none contains a character that a shell would change.
    fn words(&self, activebench: &str, amount: Amount) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        match self.command {
            Program::Iozone(options) => {
                let mut command = words(&["iozone", "-i0", &format!("-s{}m", amount.iozone_mib)]);
                command.extend(words(options));
                command
            }
            Program::Calls => words(&[activebench, "__workload", "calls", "--count", &amount.calls.to_string(), "."]),
            Program::Fio(options) => {
                let mut command = words(&["fio", "--name=job", "--output-format=json"]);
                command.push(format!("--filename={FIO_FILE}"));
                command.push(format!("--size={}", amount.blocks * UNIT));
                command.push(format!("--bs={UNIT}"));
                command.extend(words(options));
                command
            }
        }
    }
}

/// Returns the shell script of the whole set. Its arguments: the product's binary, a folder for the results, a folder
/// on the volume under test. busybox's shell can run it.
pub(crate) fn script(amount: Amount) -> String {
    let mut script = preamble(amount);
    for step in ALL {
        script.push_str(&step.line(amount));
    }
    script
}

/// Returns the start of every script: the kernel's name, the product's diagnosis, and the function `step`.
pub(crate) fn preamble(amount: Amount) -> String {
    format!(
        "# Written by cargo xtask kernels.\n\
         activebench=$1 out=$2\n\
         cd \"$3\" || exit 1\n\
         uname -srv >\"$out/{KERNEL}\"\n\
         \"$activebench\" doctor --format json . >\"$out/{DOCTOR}\" 2>\"$out/doctor.stderr\"\n\
         echo \"{MARK}doctor: exit code $?\"\n\
         step() {{\n\
         \x20   name=$1; shift; began=$(date +%s)\n\
         \x20   mkdir -p \"$out/$name\"\n\
         \x20   sync; echo 3 >/proc/sys/vm/drop_caches\n\
         \x20   timeout -k 10 {seconds} \"$activebench\" verify --format json --out \"$out/$name/run\" -- \"$@\" \\\n\
         \x20       >\"$out/$name/report.json\" 2>\"$out/$name/stderr\" </dev/null\n\
         \x20   code=$?; took=$(($(date +%s) - began))\n\
         \x20   echo $code >\"$out/$name/exit\"; echo $took >\"$out/$name/seconds\"\n\
         \x20   echo \"{MARK}$name: exit code $code after $took s\"\n\
         }}\n",
        seconds = amount.seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNT: Amount = Amount { iozone_mib: 8, calls: 100, blocks: 64, seconds: 300 };

    #[test]
    fn names_are_unique_and_plain() {
        let mut names: Vec<&str> = ALL.iter().map(|step| step.name.as_ref()).collect();
        assert!(
            names.iter().all(|name| name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn the_shell_runs_every_step_and_says_so() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["out", "volume"] {
            std::fs::create_dir(path(name)).expect("a folder");
        }
        // A stand-in for the product: prints its arguments and fails with the exit code of a discrepancy. This
        // machine's caches are not dropped.
        std::fs::write(path("product"), "#!/bin/sh\necho \"$@\"\nexit 1\n").expect("a file");
        std::fs::set_permissions(path("product"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("its mode");
        let text = script(AMOUNT).replace("sync; echo 3 >/proc/sys/vm/drop_caches", ":");
        std::fs::write(path("script"), text).expect("a file");
        let output = std::process::Command::new("/bin/sh")
            .args(["script", "./product", "out", "volume"].map(|name| match name {
                "script" => path(name),
                _ => path(name.trim_start_matches("./")),
            }))
            .output()
            .expect("a shell");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.lines().filter(|line| line.starts_with(MARK)).count(), ALL.len() + 1, "{said}");
        let read = |name: &str| std::fs::read_to_string(path("out").join(name)).expect("a file");
        assert_eq!(read("iozone-durable/exit").trim(), "1");
        let called = read("iozone-durable/report.json");
        assert!(called.starts_with("verify --format json --out "), "{called}");
        assert!(called.trim_end().ends_with("-- iozone -i0 -s8m -e -c"), "{called}");
        assert!(read("splice-write/report.json").contains("--size=262144 --bs=4096 --rw=randwrite --ioengine=splice"));
        assert!(read("calls/report.json").trim_end().ends_with("__workload calls --count 100 ."));
        assert!(read(KERNEL).starts_with("Linux "));
    }
}
