//! The calls of library functions of each phase.
//!
//! A call of `putc` makes no call of the kernel, and the first ones of a pass come before its first write. So calls belong
//! to a phase by the files that were open: what a thread called while the tree opened and closed no file is that of the
//! one phase that this thread worked for meanwhile. Where it worked for several, the spans of time decide that touch one
//! alone, and the rest stays open.

use std::collections::{BTreeMap, BTreeSet};

use activebench_model::fact::{Fact, FactName, Scope};
use activebench_model::library::{CountedFunction, FUNCTIONS, LibraryCalls, LibrarySpan, Role};
use activebench_model::phase::Phase;
use activebench_model::thread_stacks::Profiles;
use activebench_model::units::Quantity;
use foldhash::HashMap;

use super::tally::ThreadSpan;

const SOURCE: &str = "uprobe";

/// Calls that are counted together, and those that may be another phase's.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    calls: u64,
    open_calls: u64,
    asked_bytes: u64,
}

/// Adds the functions that each phase's threads called, and the facts of them.
pub(super) fn add(library: &LibraryCalls, spans: &[ThreadSpan], phases: &mut [Phase], profiles: &mut Profiles) {
    let counted = counted(library, spans, phases.len());
    // Every process that uses the library runs its beginning, and a child of a fork calls something.
    let using: BTreeSet<u32> = library.spans.iter().map(|span| span.tgid).collect();
    for (phase, functions) in phases.iter_mut().zip(counted) {
        if phase.window.is_none() {
            continue;
        }
        let over_names = phase.names.iter().flat_map(|names| &names.spans).map(|span| span.tgid);
        let mut processes = phase.parts.iter().map(|part| part.tgid).chain(over_names);
        let other = processes.find(|tgid| !using.contains(tgid));
        for (name, role) in [
            (FactName::LibraryWriteCalls, Role::Write),
            (FactName::LibraryReadCalls, Role::Read),
            (FactName::LibrarySubmitCalls, Role::Submit),
        ] {
            phase.facts.insert(name, fact(library, &functions, role, other));
        }
        let listed = functions.into_iter().filter(|(_, count)| count.calls + count.open_calls > 0);
        let mut listed: Vec<CountedFunction> = listed
            .map(|(name, count)| CountedFunction {
                name: name.to_owned(),
                calls: count.calls,
                open_calls: count.open_calls,
                asked_bytes: count.asked_bytes,
            })
            .collect();
        listed.sort_by_key(|function| std::cmp::Reverse(function.calls + function.open_calls));
        if let Some(profile) = profiles.phases.get_mut(&phase.id) {
            profile.library = listed;
        }
    }
}

/// Returns the calls of each phase, by function.
fn counted<'a>(library: &'a LibraryCalls, spans: &[ThreadSpan], phases: usize) -> Vec<BTreeMap<&'a str, Count>> {
    let mut of_thread: HashMap<u32, Vec<&ThreadSpan>> = HashMap::default();
    for span in spans {
        of_thread.entry(span.tid).or_default().push(span);
    }
    let touched = |tid: u32, first_ns: u64, last_ns: u64| -> BTreeSet<usize> {
        let of_thread = of_thread.get(&tid).into_iter().flatten();
        of_thread.filter(|span| span.start_ns <= last_ns && first_ns <= span.end_ns).map(|span| span.phase()).collect()
    };
    let mut groups: BTreeMap<(u32, u64), Vec<&LibrarySpan>> = BTreeMap::new();
    for span in &library.spans {
        groups.entry((span.tid, span.generation)).or_default().push(span);
    }
    let mut counted: Vec<BTreeMap<&str, Count>> = vec![BTreeMap::new(); phases];
    for ((tid, _), group) in groups {
        let first_ns = group.iter().map(|span| span.first_ns).min().unwrap_or(0);
        let last_ns = group.iter().map(|span| span.last_ns).max().unwrap_or(0);
        let of_group = touched(tid, first_ns, last_ns);
        for span in group {
            let of_span = if of_group.len() > 1 { touched(tid, span.first_ns, span.last_ns) } else { of_group.clone() };
            let is_open = of_span.len() > 1;
            for phase in of_span {
                let Some(of_phase) = counted.get_mut(phase) else { continue };
                let count = of_phase.entry(&span.function).or_default();
                if is_open {
                    count.open_calls = count.open_calls.saturating_add(span.calls);
                } else {
                    count.calls = count.calls.saturating_add(span.calls);
                    count.asked_bytes = count.asked_bytes.saturating_add(span.asked_bytes);
                }
            }
        }
    }
    counted
}

fn fact(library: &LibraryCalls, functions: &BTreeMap<&str, Count>, role: Role, other: Option<u32>) -> Fact {
    if library.files.is_empty() {
        let why = library.uncounted.first().map_or("no library was found", String::as_str);
        return Fact::missing(format!("no function could be counted: {why}"), Scope::Tree, SOURCE);
    }
    if let Some(tgid) = other {
        let why = format!(
            "process {tgid} uses no library that was counted: it is linked statically, or brings a library of its own"
        );
        return Fact::missing(why, Scope::Tree, SOURCE);
    }
    let of_role = || FUNCTIONS.iter().filter(|function| function.role == role);
    let counts = of_role().filter_map(|function| functions.get(function.name));
    let sum = counts.fold(Count::default(), |sum, count| Count {
        calls: sum.calls.saturating_add(count.calls),
        open_calls: sum.open_calls.saturating_add(count.open_calls),
        ..sum
    });
    let fact = Fact::complete(Quantity::count(sum.calls), Scope::Tree, SOURCE);
    let uncounted = library.uncounted.iter().find(|why| {
        let name = why.split(':').next().unwrap_or_default();
        of_role().any(|function| function.name == name || function.library == name)
    });
    match (library.lost_calls, sum.open_calls, uncounted) {
        (0, 0, None) => fact,
        (0, 0, Some(why)) => fact.partial(format!("not counted: {why}")),
        (0, open, _) => fact.partial(format!("{open} more calls may belong to this pass or to another one")),
        (lost, _, _) => fact.partial(format!("{lost} calls of the run found no room in the table of counts")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(function: &str, generation: u64, times: (u64, u64), calls: u64) -> LibrarySpan {
        let (first_ns, last_ns) = times;
        let function = function.to_owned();
        LibrarySpan { function, tgid: 1, tid: 7, calls, asked_bytes: calls, generation, first_ns, last_ns }
    }

    #[test]
    fn calls_belong_to_the_pass_whose_file_was_open() {
        let spans = [ThreadSpan::of(0, 7, 100, 200), ThreadSpan::of(1, 7, 300, 400), ThreadSpan::of(2, 7, 410, 500)];
        let library = LibraryCalls {
            spans: vec![
                span("putc", 1, (50, 90), 5),
                span("putc", 1, (91, 190), 7),
                span("getc", 2, (250, 260), 100),
                // One file for two passes: what touches one of them is that one's.
                span("fwrite", 3, (300, 350), 20),
                span("fwrite", 3, (390, 420), 30),
                span("fwrite", 3, (430, 450), 40),
                LibrarySpan { tid: 8, ..span("putc", 1, (100, 200), 1000) },
            ],
            ..LibraryCalls::default()
        };
        let counted = counted(&library, &spans, 3);
        let of = |phase: usize, name: &str| {
            counted[phase].get(name).map(|count| (count.calls, count.open_calls, count.asked_bytes))
        };
        assert_eq!((of(0, "putc"), of(0, "getc")), (Some((12, 0, 12)), None));
        assert_eq!((of(1, "fwrite"), of(2, "fwrite")), (Some((20, 30, 20)), Some((40, 30, 40))));
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let none = LibraryCalls::default();
        assert!(fact(&none, &BTreeMap::new(), Role::Write, None).value.is_none(), "nothing could be counted");
        let mut library = LibraryCalls { files: vec!["/lib/libc.so.6".to_owned()], ..none };
        let functions = BTreeMap::from([("fwrite", Count { calls: 5, open_calls: 0, asked_bytes: 5 })]);
        let written = |library: &LibraryCalls, other| fact(library, &functions, Role::Write, other);
        let number = |fact: &Fact| fact.value.map(|value| value.value);
        assert_eq!(number(&written(&library, None)), Some(5.0));
        assert_eq!(number(&written(&library, Some(9))), None);
        assert_eq!(number(&fact(&library, &functions, Role::Submit, None)), Some(0.0));
        library.uncounted.push("libaio: it is not installed".to_owned());
        assert_eq!(
            written(&library, None).completeness,
            Fact::complete(Quantity::count(5), Scope::Tree, "").completeness
        );
        assert_ne!(fact(&library, &functions, Role::Submit, None).completeness, written(&library, None).completeness);
        library.lost_calls = 3;
        assert_ne!(
            written(&library, None).completeness,
            Fact::complete(Quantity::count(5), Scope::Tree, "").completeness
        );
    }
}
