//! Runs that are drawn at random instead of written to files: commands from the whole space of options that are honest
//! by construction, and the same with one property broken.
//!
//! The seed and the number of a run decide everything about it, so one run can be repeated without the others:
//! `honest-dd-7-12` is run number 12 of the honest runs of seed 7, one of dd. An honest run moves its bytes past the page cache,
//! reads a cold file, or syncs before its clock ends. A lie is such a run with one thing changed ([`lie`]), and expects
//! one of the codes for that change. [`check`] defines the expected report of an honest run.

use fastrand::Rng;

use self::draft::Draft;
use crate::truth::case::{Case, Drawn};

mod bonnie;
pub mod check;
mod db_bench;
mod dbench;
mod dd;
mod draft;
mod f3;
mod fio;
mod fs_mark;
mod hdparm;
mod ioping;
mod iozone;
mod lie;
mod pg_test_fsync;
mod stress_ng;
mod sysbench;
mod volume;
mod wrapper;

/// Returns the honest run of this number.
pub fn honest(seed: u64, number: u32) -> Case {
    let case = honest_in_words(seed, number, Words::Drawn);
    Case { again: Some(Box::new(honest_in_words(seed, number, Words::Others))), ..case }
}

/// Wording of a drawn run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    /// As drawn.
    Drawn,
    /// With another output format and behind a wrapper; the answers stay the same.
    Others,
}

fn honest_in_words(seed: u64, number: u32, words: Words) -> Case {
    let rng = &mut rng(seed, number, 0);
    let (tool, draw) = tool(rng);
    let mut draft = draw(rng, words);
    draft.also_true("AB703", "the runs beside it share the disk below");
    draft.also_true("AB601", "the runs beside it sync every file system of the host");
    let (name, often) = match words {
        Words::Drawn => (format!("honest-{tool}-{seed}-{number}"), wrapper::OFTEN),
        Words::Others => (format!("honest-{tool}-{seed}-{number}-again"), wrapper::ALWAYS),
    };
    wrapper::wrapped(draft, rng, often).into_case(Drawn::Honest, "drawn", name)
}

/// Draws an honest run of a tool.
type DrawHonest = fn(&mut Rng, Words) -> Draft;

/// The tools of the honest runs, with their shares. A run of the last ones takes as long as ten others.
const TOOLS: &[(&str, u32, DrawHonest)] = &[
    ("fio", 38, fio::honest),
    ("iozone", 13, |rng, _| iozone::honest(rng)),
    ("dd", 13, |rng, _| dd::honest(rng)),
    ("sysbench", 11, |rng, _| sysbench::honest(rng)),
    ("ioping", 9, |rng, _| ioping::honest(rng)),
    ("fs_mark", 5, |rng, _| fs_mark::honest(rng)),
    ("stress-ng", 2, |rng, _| stress_ng::honest(rng)),
    ("db_bench", 3, |rng, _| db_bench::honest(rng)),
    ("f3", 1, |rng, _| f3::honest(rng)),
    ("dbench", 1, |rng, _| dbench::honest(rng)),
    ("bonnie", 2, |rng, _| bonnie::honest(rng)),
    ("hdparm", 1, |rng, _| hdparm::honest(rng)),
    ("pg_test_fsync", 1, |rng, _| pg_test_fsync::honest(rng)),
];

/// Draws the tool of an honest run.
fn tool(rng: &mut Rng) -> (&'static str, DrawHonest) {
    let mut drawn = rng.u32(0..TOOLS.iter().map(|(_, share, _)| share).sum());
    for (tool, share, draw) in TOOLS {
        match drawn.checked_sub(*share) {
            Some(rest) => drawn = rest,
            None => return (tool, *draw),
        }
    }
    unreachable!("the shares are those of all tools")
}

/// Returns the lie of this number.
pub fn lie(seed: u64, number: u32) -> Case {
    let rng = &mut rng(seed, number, 1);
    let (name, codes, draft) = lie::draw(rng);
    let name = format!("lie-{name}-{seed}-{number}");
    let again = wrapper::wrapped(draft.clone(), rng, wrapper::ALWAYS);
    let again = again.into_case(Drawn::Lie(codes), codes[0], format!("{name}-again"));
    let case = wrapper::wrapped(draft, rng, wrapper::OFTEN).into_case(Drawn::Lie(codes), codes[0], name);
    Case { again: Some(Box::new(again)), ..case }
}

/// Returns a generator for one run, independent of the draws of other runs.
fn rng(seed: u64, number: u32, kind: u64) -> Rng {
    let mut rng = Rng::with_seed(seed ^ (u64::from(number) << 32) ^ (kind << 63));
    // Seeds that differ in few bits produce similar first numbers.
    Rng::with_seed((0..8).fold(0, |_, _| rng.u64(..)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(case: &Case) -> String {
        format!("{case:?}")
    }

    #[test]
    fn seed_and_number_decide_a_run() {
        for number in 0..40 {
            assert_eq!(text(&honest(7, number)), text(&honest(7, number)));
            assert_eq!(text(&lie(7, number)), text(&lie(7, number)));
            assert_ne!(text(&honest(7, number)), text(&honest(8, number)));
            assert_ne!(text(&honest(7, number)), text(&honest(7, number + 1)));
        }
    }

    #[test]
    fn draws_reach_every_tool_place_and_lie() {
        let drawn: Vec<Case> = (0..600).flat_map(|number| [honest(1, number), lie(1, number)]).collect();
        let all: String = drawn.iter().map(text).collect();
        for part in
            ["iozone", "bonnie++", "libaio", "io_uring", "xfs", "btrfs", "RawLoop", "taskset", "job.fio", "json+"]
        {
            assert!(all.contains(part), "{part}");
        }
        for (tool, ..) in TOOLS {
            assert!(drawn.iter().any(|case| case.name.starts_with(&format!("honest-{tool}-"))), "{tool}");
        }
        for (name, ..) in lie::LIES.iter().chain(lie::LONG_LIES) {
            assert!(drawn.iter().any(|case| case.name.starts_with(&format!("lie-{name}-"))), "{name}");
        }
    }
}
