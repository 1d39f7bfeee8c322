//! Which jobs of the command an entry of the report speaks of, and what its phases are called.

use std::collections::HashMap;

use super::jobs::{Job, JobOptions, Setup};
use super::report::{Entry, Way};

/// An entry of the report with the jobs behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paired {
    /// What the ids of its phases begin with; unique in the run.
    pub(super) base: String,
    /// Its jobs, by their places in the setup; empty where the command is not known.
    pub(super) places: Vec<usize>,
    /// Its jobs; where the command is not known what the report says of one of them.
    pub(super) jobs: Vec<Job>,
}

impl Paired {
    pub(super) fn phase_id(&self, way: Way) -> String {
        format!("{}-{}", self.base, way.word())
    }

    /// The options of its first job; those of a group may differ.
    pub(super) fn job(&self) -> Option<&JobOptions> {
        self.jobs.first().map(|job| &job.options)
    }

    /// How many jobs the entry covers.
    pub(super) fn jobs_of(&self, entry: &Entry) -> Option<u32> {
        entry.jobs.or_else(|| u32::try_from(self.jobs.len()).ok().filter(|count| *count > 0))
    }
}

/// Pairs entries with jobs, in order; where the numbers or the names differ the entries speak for
/// themselves.
pub(super) fn pair(setup: &Setup, entries: &[Entry]) -> Vec<Paired> {
    let planned = setup.entries();
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let bases = unique(&names);
    let fits = planned.len() == entries.len()
        && planned.iter().zip(entries).all(|(jobs, entry)| {
            let first = jobs.first().map(|place| setup.jobs[*place].options.name());
            first == Some(entry.name.as_str()) && entry.jobs.is_none_or(|count| count as usize == jobs.len())
        });
    let pair = |(index, base): (usize, String)| {
        if fits {
            let places = planned[index].clone();
            let jobs = places.iter().map(|place| setup.jobs[*place].clone()).collect();
            return Paired { base, places, jobs };
        }
        let entry = &entries[index];
        let mut options = JobOptions::default();
        entry.options.iter().for_each(|(name, value)| options.set(name, value));
        // A report for people states no options: what is not stated is not known.
        let jobs = match entry.options.is_empty() {
            true => Vec::new(),
            false => {
                let count = entry.jobs.unwrap_or(1).clamp(1, 4096) as usize;
                let job =
                    |clone| Job { options: options.clone(), group: entry.group.unwrap_or(0), clone, clones: count };
                (0..count).map(job).collect()
            }
        };
        Paired { base, places: Vec::new(), jobs }
    };
    bases.into_iter().enumerate().map(pair).collect()
}

/// The entries that a command would print, before it ran.
pub(super) fn planned(setup: &Setup) -> Vec<Paired> {
    let entries = setup.entries();
    let names: Vec<String> = entries.iter().map(|jobs| setup.jobs[jobs[0]].options.name().to_owned()).collect();
    let paired = |(places, base): (Vec<usize>, String)| {
        let jobs = places.iter().map(|place| setup.jobs[*place].clone()).collect();
        Paired { base, places, jobs }
    };
    entries.into_iter().zip(unique(&names)).map(paired).collect()
}

/// Names without blanks and the like; those that occur again get their number, from 0.
fn unique(names: &[String]) -> Vec<String> {
    let plain = |name: &String| -> String {
        let plain: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' }).collect();
        if plain.is_empty() { "job".to_owned() } else { plain }
    };
    let plain: Vec<String> = names.iter().map(plain).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    plain.iter().for_each(|name| *counts.entry(name.as_str()).or_default() += 1);
    let mut taken: HashMap<String, usize> = HashMap::new();
    let mut bases: Vec<String> = Vec::new();
    for name in &plain {
        let mut base = match counts[name.as_str()] {
            1 => name.clone(),
            _ => {
                let number = taken.entry(name.clone()).or_default();
                *number += 1;
                format!("{name}.{}", *number - 1)
            }
        };
        // A job may be called like the clone of another one.
        while bases.contains(&base) {
            base.push('_');
        }
        bases.push(base);
    }
    bases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for (names, expected) in [
            (vec!["a", "b"], vec!["a", "b"]),
            (vec!["a", "a"], vec!["a.0", "a.1"]),
            (vec!["a", "a", "a.0"], vec!["a.0", "a.1", "a.0_"]),
            (vec!["a b", ""], vec!["a_b", "job"]),
        ] {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            assert_eq!(unique(&names), expected);
        }
    }
}
