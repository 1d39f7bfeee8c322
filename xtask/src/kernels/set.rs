//! What is run on a kernel: the smoke set, or benchmarks on layers of storage.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use crate::kernels::layers;
use crate::kernels::outcome::last_line;
use crate::kernels::steps::{self, Amount, Step};
use crate::tools::{self, Tool};

/// A set of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Set {
    /// Every path of I/O on one file system.
    Smoke,
    /// The same benchmarks on every layer of storage.
    Layers,
}

impl Set {
    /// Returns its runs, in their order.
    pub(crate) fn steps(self) -> Cow<'static, [Step]> {
        match self {
            Set::Smoke => Cow::Borrowed(steps::ALL),
            Set::Layers => Cow::Owned(layers::steps()),
        }
    }

    /// Returns the script that runs it: see [`steps::script`].
    pub(crate) fn script(self, amount: Amount) -> String {
        match self {
            Set::Smoke => steps::script(amount),
            Set::Layers => layers::script(amount),
        }
    }

    /// Returns the modules that it needs beside those of the machine.
    pub(crate) fn modules(self) -> Vec<&'static str> {
        match self {
            Set::Smoke => Vec::new(),
            Set::Layers => layers::ALL.iter().flat_map(|layer| layer.modules).copied().collect(),
        }
    }

    /// Returns the programs that the machine needs beside the benchmarks.
    pub(crate) fn programs(self) -> &'static [&'static Tool] {
        match self {
            Set::Smoke => &[],
            Set::Layers => tools::FOR_LAYERS,
        }
    }

    /// Returns the committed page.
    pub(crate) fn page(self) -> &'static str {
        match self {
            Set::Smoke => "docs/kernels.md",
            Set::Layers => "docs/layers.md",
        }
    }

    /// Returns the name of its folder below the target directory, and of its files there.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Set::Smoke => "kernels",
            Set::Layers => "layers",
        }
    }

    /// Returns the start of its page.
    pub(crate) fn introduction(self) -> &'static str {
        match self {
            Set::Smoke => {
                "# Kernels\n\n\
                 Tried by `cargo xtask kernels`, which writes this page; nobody edits it.\n\n\
                 One object is committed, and it is fitted to the types of the kernel that it is loaded on. This page \
                 says on which kernels that was tried, with what result. Each kernel runs the same binary, the same \
                 benchmarks and the same smoke set: runs of `activebench verify` whose outcome is known beforehand. The \
                 runs are then judged again and counted on this machine, from their run directories.\n\n"
            }
            Set::Layers => {
                "# Layers of storage\n\n\
                 Tried by `cargo xtask kernels --layers`, which writes this page; nobody edits it.\n\n\
                 Between a file and a disk there may be an array, encryption, a network. On each layer the same honest \
                 and misleading benchmarks run, observed, in an emulated machine with three throttled disks. The runs \
                 are then judged again on this machine, from their run directories.\n\n"
            }
        }
    }

    /// Returns the title of the table of runs.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Set::Smoke => "The smoke set",
            Set::Layers => "The runs",
        }
    }

    /// Returns what it means that a run passed.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Set::Smoke => {
                "Every run must give back each record that it made, and its verdict must be the same when it is judged \
                 again on another machine. Runs of fio move every block of a file once: all of them must be seen, each \
                 once, with its offset and bytes; where they are direct reads, the device must have read just the bytes \
                 of the file. What this version sees on no kernel stands in the \
                 [README](../README.md#what-it-does-not-see-yet)."
            }
            Set::Layers => {
                "Every run must give back each record that it made, and its verdict must be the same when it is judged \
                 again on another machine. What is written durably or read from the storage is an honest figure, what is \
                 written into memory or read from it is a misleading one."
            }
        }
    }

    /// Returns the reason why a step has no result.
    pub(crate) fn why_not_run(self, out: &Path, step: &Step) -> String {
        let layer = match self {
            Set::Smoke => None,
            Set::Layers => layers::of_step(step).and_then(|layer| layers::why_not_made(out, layer)),
        };
        layer.map_or_else(
            || "it did not run to its end".to_owned(),
            |said| format!("its layer could not be made: {}", last_line(&said)),
        )
    }
}
