//! The compared ways of observing, and the command line of each.

use std::path::Path;
use std::process::Command;

use crate::tools::{self, Tool};

/// A way of observing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// No observation: the baseline of the others.
    Untraced,
    /// An empty program on the exit of every call.
    FloorExit,
    /// Empty programs on the entry and the exit of every call, and on the submission and completion of every request of
    /// io_uring.
    Floor,
    /// The product.
    Activebench,
    /// The product without stack samples, which interrupt every CPU 997 times per second.
    WithoutSamples,
    /// The product without rights: its tracer stops the tool at each call.
    Traced,
    /// bpftrace counting the exits of calls, without a key: its cheapest program.
    BpftraceCount,
    /// bpftrace counting on all hooks of calls and requests, those of the floor.
    BpftraceSameHooks,
    /// bpftrace counting the entries of calls by process, as its tutorial does.
    BpftraceByProcess,
    /// bpftrace with a histogram of the latency of one call.
    BpftraceHistogram,
    /// `perf trace -s`.
    PerfTrace,
    /// `strace -f`.
    Strace,
}

use Variant::{
    Activebench, BpftraceByProcess, BpftraceCount, BpftraceHistogram, BpftraceSameHooks, Floor, FloorExit, PerfTrace,
    Strace, Traced, Untraced, WithoutSamples,
};

/// All variants, the cheapest first.
pub(crate) const ALL: &[Variant] = &[
    Untraced,
    FloorExit,
    Floor,
    WithoutSamples,
    Activebench,
    BpftraceCount,
    BpftraceByProcess,
    BpftraceHistogram,
    PerfTrace,
    Traced,
    Strace,
];

/// All variants for asynchronous I/O: bpftrace counts on the hooks of requests too.
pub(crate) const ASYNCHRONOUS: &[Variant] = &[
    Untraced,
    FloorExit,
    Floor,
    WithoutSamples,
    Activebench,
    BpftraceCount,
    BpftraceSameHooks,
    BpftraceByProcess,
    BpftraceHistogram,
    PerfTrace,
    Traced,
    Strace,
];

/// Variants that the aims of asynchronous I/O compare.
pub(crate) const BESIDE_THE_FLOOR: &[Variant] = &[Untraced, Floor, WithoutSamples, Activebench, BpftraceSameHooks];

/// Variants that see every process of the machine, so that a process outside the observed tree is slowed too.
pub(crate) const SYSTEM_WIDE: &[Variant] =
    &[Untraced, FloorExit, Floor, WithoutSamples, Activebench, BpftraceCount, BpftraceByProcess, BpftraceHistogram];

/// Variants with an aim on added time.
pub(crate) const OURS: &[Variant] = &[Untraced, Activebench];

/// Variants with an aim on added time as a multiple of that of empty programs.
pub(crate) const OURS_BESIDE_THE_FLOOR: &[Variant] = &[Untraced, Floor, Activebench];

/// Variants that an aim compares with each other.
pub(crate) const COUNTING: &[Variant] =
    &[Untraced, Floor, WithoutSamples, Activebench, BpftraceCount, BpftraceByProcess];

/// bpftrace's cheapest program that counts: one number for the exits of all calls.
const COUNT: &str = "tracepoint:raw_syscalls:sys_exit { @ = count(); }";
/// The same on every hook of calls and of requests of io_uring.
const COUNT_SAME_HOOKS: &str = "tracepoint:raw_syscalls:sys_enter, tracepoint:raw_syscalls:sys_exit, \
     tracepoint:io_uring:io_uring_submit_req, tracepoint:io_uring:io_uring_complete { @ = count(); }";
/// The one-liner of bpftrace's tutorial, lesson "Syscall Counts By Process".
const COUNT_BY_PROCESS: &str = "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }";

impl Variant {
    /// Returns its name in the results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Untraced => "untraced",
            FloorExit => "floor-exit",
            Floor => "floor",
            Activebench => "activebench",
            WithoutSamples => "activebench-without-samples",
            Traced => "activebench-tracer",
            BpftraceCount => "bpftrace-count",
            BpftraceSameHooks => "bpftrace-count-same-hooks",
            BpftraceByProcess => "bpftrace-count-by-process",
            BpftraceHistogram => "bpftrace-histogram",
            PerfTrace => "perf-trace",
            Strace => "strace",
        }
    }

    /// Returns its description, for a table; `syscall` is the call of the histogram.
    pub(crate) fn title(self, syscall: &str) -> String {
        match self {
            Untraced => "untraced".to_owned(),
            FloorExit => "floor: empty program on sys_exit".to_owned(),
            Floor => "floor: empty programs on sys_enter, sys_exit, io_uring_submit_req, io_uring_complete".to_owned(),
            Activebench => "**activebench**".to_owned(),
            WithoutSamples => "activebench without stack samples".to_owned(),
            Traced => "activebench without rights: its tracer".to_owned(),
            BpftraceCount => "bpftrace, count of all calls without a key".to_owned(),
            BpftraceSameHooks => "bpftrace, count on the floor's hooks without a key".to_owned(),
            BpftraceByProcess => "bpftrace, count by process: its tutorial's one-liner".to_owned(),
            BpftraceHistogram => format!("bpftrace, latency histogram of {syscall}"),
            PerfTrace => "perf trace -s".to_owned(),
            Strace => "strace -f".to_owned(),
        }
    }

    /// Returns the program that it needs; `None` when it needs only our own.
    pub(crate) fn tool(self) -> Option<&'static Tool> {
        match self {
            BpftraceCount | BpftraceSameHooks | BpftraceByProcess | BpftraceHistogram => Some(&tools::BPFTRACE),
            PerfTrace => Some(&tools::PERF),
            Strace => Some(&tools::STRACE),
            Untraced | FloorExit | Floor | Activebench | WithoutSamples | Traced => None,
        }
    }

    /// Returns `true` when it leaves a run directory, with the account of what was observed.
    pub(crate) fn leaves_a_run(self) -> bool {
        matches!(self, Activebench | WithoutSamples | Traced)
    }

    /// Returns `true` when it takes tens of microseconds per call, so that runs must make fewer calls.
    pub(crate) fn is_slow(self) -> bool {
        matches!(self, PerfTrace | Traced | Strace)
    }

    /// Returns `true` for exit codes after which its observation counts. activebench also reports its verdict in them,
    /// and these workloads give it nothing to judge.
    pub(crate) fn accepts(self, code: Option<i32>) -> bool {
        match self {
            Activebench | WithoutSamples | Traced => matches!(code, Some(0 | 1 | 3)),
            _ => code == Some(0),
        }
    }

    /// Returns the command that runs a shell script of the working folder under observation.
    ///
    /// `run_dir` is the name that activebench's run directory gets in that folder.
    pub(crate) fn command(self, activebench: &Path, script: &str, syscall: &str, run_dir: &str) -> Command {
        let shell = ["/bin/sh", script];
        let program = |path: &Path| Command::new(path);
        // Missing tools are found earlier; the bare name makes the error message name the tool again.
        let tool = |tool: &Tool| tool.find().map_or_else(|| Command::new(tool.command), |path| program(&path));
        let mut command = match self {
            Untraced => {
                let mut command = Command::new(shell[0]);
                command.arg(shell[1]);
                return command;
            }
            FloorExit | Floor => {
                let mut command = program(activebench);
                command.arg("__floor").args((self == FloorExit).then_some("--exit-only")).arg("--");
                command
            }
            Activebench | WithoutSamples | Traced => {
                let mut command = program(activebench);
                command.args(["verify", "--quiet", "--fail-on", "never"]);
                command.args(["--backend", "trace"].iter().filter(|_| self == Traced));
                if self == WithoutSamples {
                    command.args(["--sample-hz", "0"]);
                }
                command.args(["--out", run_dir, "--"]);
                // Under sudo the child would run as another user than under the other variants.
                command.env_remove("SUDO_USER");
                command
            }
            BpftraceCount | BpftraceSameHooks | BpftraceByProcess | BpftraceHistogram => {
                let mut command = tool(&tools::BPFTRACE);
                let text = match self {
                    BpftraceCount => COUNT.to_owned(),
                    BpftraceSameHooks => COUNT_SAME_HOOKS.to_owned(),
                    BpftraceByProcess => COUNT_BY_PROCESS.to_owned(),
                    _ => histogram(syscall),
                };
                // bpftrace splits the command at blanks, and neither word contains one.
                command.args(["-e", &text, "-c", &shell.join(" ")]);
                return command;
            }
            PerfTrace => {
                let mut command = tool(&tools::PERF);
                command.args(["trace", "-s", "-o", "/dev/null", "--"]);
                command
            }
            Strace => {
                let mut command = tool(&tools::STRACE);
                command.args(["-f", "-o", "/dev/null"]);
                command
            }
        };
        command.args(shell);
        command
    }

    /// Returns its command line, for the page.
    pub(crate) fn shown(self, syscall: &str) -> String {
        match self {
            Untraced => "COMMAND".to_owned(),
            FloorExit => "activebench __floor --exit-only -- COMMAND".to_owned(),
            Floor => "activebench __floor -- COMMAND".to_owned(),
            Activebench => "activebench verify --quiet --fail-on never --out RUN -- COMMAND".to_owned(),
            WithoutSamples => {
                "activebench verify --quiet --fail-on never --sample-hz 0 --out RUN -- COMMAND".to_owned()
            }
            Traced => "activebench verify --quiet --fail-on never --backend trace --out RUN -- COMMAND".to_owned(),
            BpftraceCount => format!("bpftrace -e '{COUNT}' -c COMMAND"),
            BpftraceSameHooks => format!("bpftrace -e '{COUNT_SAME_HOOKS}' -c COMMAND"),
            BpftraceByProcess => format!("bpftrace -e '{COUNT_BY_PROCESS}' -c COMMAND"),
            BpftraceHistogram => format!("bpftrace -e '{}' -c COMMAND", histogram(syscall)),
            PerfTrace => "perf trace -s -o /dev/null -- COMMAND".to_owned(),
            Strace => "strace -f -o /dev/null COMMAND".to_owned(),
        }
    }
}

/// Returns bpftrace's one-liner for a histogram of one call's latency.
fn histogram(syscall: &str) -> String {
    format!(
        "tracepoint:syscalls:sys_enter_{syscall} {{ @start[tid] = nsecs; }} \
         tracepoint:syscalls:sys_exit_{syscall} /@start[tid]/ \
         {{ @ns = hist(nsecs - @start[tid]); delete(@start[tid]); }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variant: Variant, expected: &[&str]) {
        let command = variant.command(Path::new("/t/activebench"), "run.sh", "pread64", "run");
        let words: Vec<String> = std::iter::once(command.get_program())
            .chain(command.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        // The folder of a tool differs from machine to machine.
        let name = words[0].rsplit('/').next().expect("a name").to_owned();
        assert_eq!([vec![name], words[1..].to_vec()].concat(), expected);
    }

    #[test]
    fn every_variant_runs_the_same_script() {
        check(Untraced, &["sh", "run.sh"]);
        check(FloorExit, &["activebench", "__floor", "--exit-only", "--", "/bin/sh", "run.sh"]);
        check(Floor, &["activebench", "__floor", "--", "/bin/sh", "run.sh"]);
        let verify = ["activebench", "verify", "--quiet", "--fail-on", "never", "--out", "run", "--"];
        check(Activebench, &[&verify[..], &["/bin/sh", "run.sh"]].concat());
        let verify =
            ["activebench", "verify", "--quiet", "--fail-on", "never", "--sample-hz", "0", "--out", "run", "--"];
        check(WithoutSamples, &[&verify[..], &["/bin/sh", "run.sh"]].concat());
        let verify =
            ["activebench", "verify", "--quiet", "--fail-on", "never", "--backend", "trace", "--out", "run", "--"];
        check(Traced, &[&verify[..], &["/bin/sh", "run.sh"]].concat());
        check(BpftraceCount, &["bpftrace", "-e", COUNT, "-c", "/bin/sh run.sh"]);
        check(BpftraceSameHooks, &["bpftrace", "-e", COUNT_SAME_HOOKS, "-c", "/bin/sh run.sh"]);
        check(BpftraceByProcess, &["bpftrace", "-e", COUNT_BY_PROCESS, "-c", "/bin/sh run.sh"]);
        check(PerfTrace, &["perf", "trace", "-s", "-o", "/dev/null", "--", "/bin/sh", "run.sh"]);
        check(Strace, &["strace", "-f", "-o", "/dev/null", "/bin/sh", "run.sh"]);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = ASYNCHRONOUS.iter().map(|variant| variant.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ASYNCHRONOUS.len());
    }

    #[test]
    fn a_discrepancy_is_an_observation_and_a_failed_tool_is_none() {
        assert!(Activebench.accepts(Some(3)));
        assert!(!Activebench.accepts(Some(5)));
        assert!(!Activebench.accepts(None));
        assert!(!Strace.accepts(Some(1)));
    }
}
