//! Programs and scripts around a benchmark's command.

use fastrand::Rng;

use super::draft::{Draft, in_percent};

/// Percentage of draws in which another program starts the benchmark.
pub(super) const OFTEN: u32 = 35;
/// The same percentage where every draw is wrapped.
pub(super) const ALWAYS: u32 = 100;

/// Puts a wrapper around the command in this percentage of draws.
pub(super) fn wrapped(mut draft: Draft, rng: &mut Rng, percent: u32) -> Draft {
    let line = draft.words.join(" ");
    if let Some(filter) = &draft.filter {
        draft.words = words(&["sh", "-c", &format!("{line} | {filter}")]);
        return draft;
    }
    // A shell's line is already a wrapper, and has quotation marks of its own.
    if draft.words[0] == "sh" || !in_percent(rng, percent) {
        return draft;
    }
    let before = |words_before: &[&str]| [words(words_before), draft.words.clone()].concat();
    draft.words = match rng.u32(0..14) {
        0 => words(&["sh", "-c", &line]),
        1 => words(&["sh", "-c", &format!("exec {line}")]),
        2 => words(&["bash", "-c", &format!("cd . && {line}; true")]),
        3 => before(&["nice", "-n", "1"]),
        4 => before(&["env", "A=b"]),
        5 => before(&["taskset", "-c", "0-1"]),
        6 => before(&["timeout", "600"]),
        7 => before(&["stdbuf", "-oL"]),
        8 => before(&["unshare", "--mount"]),
        9 => words(&["script", "-qefc", &line, "/dev/null"]),
        10 => words(&["python3", "-c", &format!("import subprocess; subprocess.run('{line}'.split(), check=True)")]),
        11 => {
            draft
                .prepare
                .push(format!("printf '#!/bin/sh\\n%s\\n' '{line}' > {{beside}}/run.sh; chmod +x {{beside}}/run.sh"));
            words(&["{beside}/run.sh"])
        }
        12 => {
            draft.prepare.push(format!("printf 'all:\\n\\t%s\\n' '{line}' > {{beside}}/Makefile"));
            words(&["make", "-s", "-f", "{beside}/Makefile"])
        }
        _ => {
            let tool = draft.words[0].clone();
            draft.prepare.push(format!("ln -s $(command -v {tool}) {{beside}}/bench"));
            let mut linked = draft.words.clone();
            "{beside}/bench".clone_into(&mut linked[0]);
            linked
        }
    };
    draft
}

fn words(of: &[&str]) -> Vec<String> {
    of.iter().map(|word| (*word).to_owned()).collect()
}
