//! Instructions for the replay: the command, and the files that must exist before.

use std::path::Path;

use activebench_model::phase::Window;
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;

use super::shape::Shape;
use super::step::{Action, Step};
use super::writer::Written;
use super::{FILES_NAMED, Version};
use crate::wording::{count, list, shell_word};

/// State that determines fio's options, collected in the order of starts.
///
/// One option applies to the whole replay. It is derived from the operations inside the passes: a file that was laid
/// out before through the page cache does not make a direct benchmark buffered.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Windows of the passes, in order, without overlap.
    windows: Vec<Window>,
    inside: Shape,
    all: Shape,
}

impl Replay {
    pub(super) fn new(run: &JudgedRun) -> Self {
        let mut windows: Vec<Window> = run.phases.iter().filter_map(|phase| phase.window).collect();
        windows.sort_by_key(|window| window.start_ns);
        windows.dedup_by(|next, before| {
            let overlaps = next.start_ns <= before.end_ns;
            if overlaps {
                before.end_ns = before.end_ns.max(next.end_ns);
            }
            overlaps
        });
        Self { windows, ..Self::default() }
    }

    pub(super) fn look(&mut self, step: &Step) {
        if !matches!(step.action, Action::Read | Action::Write) {
            return;
        }
        self.all.look(step);
        let begun = self.windows.partition_point(|window| window.start_ns <= step.at_ns);
        if begun.checked_sub(1).and_then(|last| self.windows.get(last)).is_some_and(|last| last.contains(step.at_ns)) {
            self.inside.look(step);
        }
    }

    pub(super) fn sentences(
        &self,
        run: &JudgedRun,
        version: Version,
        file: Option<&Path>,
        written: &[Written],
    ) -> Vec<String> {
        let sum = |of: fn(&Written) -> u64| written.iter().map(of).sum::<u64>();
        let used = written.iter().filter(|file| file.reads + file.writes + file.trims + file.syncs > 0).count();
        let mut sentences = vec![format!(
            "the log has {} of {}, {} of {}, {} and {} on {}, in the order of their starts",
            number(sum(|file| file.reads), "read"),
            Quantity::bytes(sum(|file| file.read_bytes)),
            number(sum(|file| file.writes), "write"),
            Quantity::bytes(sum(|file| file.written_bytes)),
            number(sum(|file| file.syncs), "sync"),
            number(sum(|file| file.trims), "discard"),
            count(used, "file"),
        )];
        let shape = if self.inside.operations() > 0 { &self.inside } else { &self.all };
        let name = file.map_or("FILE".to_owned(), |file| file.display().to_string());
        // fio treats a colon as the separator of two logs.
        let log = shell_word(&name.replace('\\', "\\\\").replace(':', "\\:"));
        sentences.push(format!(
            "replay it: cd {} && fio --name=replay --read_iolog={log} {}",
            shell_word(&run.manifest.command.cwd),
            shape.options().join(" ")
        ));
        sentences.push(
            match version {
                Version::Three => {
                    "it needs fio 3.31 and keeps the times of the run; `--replay_no_stall=1` replays as fast as it goes"
                }
                Version::Two => "it has no times: fio replays it as fast as it goes",
            }
            .to_owned(),
        );
        let named = |files: Vec<String>| list(&files, FILES_NAMED);
        let overwritten: Vec<String> =
            written.iter().filter(|file| file.writes + file.trims > 0).map(|file| file.name.clone()).collect();
        if !overwritten.is_empty() {
            sentences.push(format!("the replay overwrites {}", named(overwritten)));
        }
        let needed = written.iter().filter(|file| file.must_have_bytes > 0);
        let needed: Vec<String> =
            needed.map(|file| format!("{} with {}", file.name, Quantity::bytes(file.must_have_bytes))).collect();
        if !needed.is_empty() {
            sentences.push(format!("read before it is written, so it must be there: {}", named(needed)));
        }
        if sum(|file| file.trims) > 0 {
            sentences.push("fio 3.33 leaves discards out (`bad ddir: 2`); later versions replay them".to_owned());
        }
        if shape.most_in_flight > 1 {
            sentences.push(format!(
                "fio 3.33 does not wait for what is in flight at the end of the log: its own figures can miss up to {}{}",
                count(shape.most_in_flight - 1, "operation"),
                if shape.io_uring > shape.libaio { ", and an io_uring may drop them" } else { "" }
            ));
        }
        sentences.extend(self.all.mixtures());
        sentences
    }
}

fn number(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}
