//! Losses of the observation: from their account in the coverage to the completeness of a fact.

use activebench_model::coverage::{Backend, Coverage};
use activebench_model::event::RecordClass;
use activebench_model::fact::{Fact, Scope};
use activebench_model::hook::Hook;
use activebench_model::units::Quantity;

/// The hook that creates the records of calls.
pub(super) const CALLS_HOOK: &str = Hook::SysExit.name();
/// Source of page-cache insertions.
pub(super) const CACHE_HOOK: &str = Hook::AddToPageCache.name();

/// What makes the kernel programs possible, which see what a tracer does not.
pub(super) const RIGHT: &str = "CAP_BPF and CAP_PERFMON, or root, show it: --backend bpf";

/// Says that a tracer does not see something, and which right shows it.
fn unseen() -> String {
    format!("a tracer does not see it (hint: {RIGHT})")
}

/// Returns `true` if a tracer makes the records of a hook: calls and tasks.
fn is_seen_by_tracer(hook: Hook) -> bool {
    match hook {
        Hook::SysEnter | Hook::SysExit | Hook::NewTask | Hook::ProcessExec | Hook::ProcessExit => true,
        Hook::Switch
        | Hook::BioQueue
        | Hook::RequestIssue
        | Hook::RequestRequeue
        | Hook::RequestComplete
        | Hook::BioComplete
        | Hook::AddToPageCache
        | Hook::UringComplete
        | Hook::UringSubmit
        | Hook::UringRefuse
        | Hook::WorkEnd
        | Hook::FuseSend
        | Hook::FuseEnd
        | Hook::CpuClock => false,
    }
}

/// The gap between a figure and the complete truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// No gap.
    None,
    /// Records are lost.
    Partial(String),
    /// There was no probe.
    Missing(String),
}

impl Gap {
    /// Returns the gap of the records of one class from one hook.
    pub(super) fn of(coverage: &Coverage, hook: Hook, class: RecordClass) -> Self {
        let is_traced = coverage.backend == Backend::Ptrace;
        match coverage.probes.iter().find(|probe| probe.hook == hook) {
            None if is_traced && is_seen_by_tracer(hook) => {}
            None if is_traced => return Gap::Missing(unseen()),
            None => return Gap::Missing(format!("{hook} was not attached")),
            Some(probe) if !probe.attached => {
                let why = probe.why_not.as_deref().unwrap_or("no reason was recorded");
                return Gap::Missing(format!("{hook} was not attached: {why}"));
            }
            Some(probe) if probe.missed > 0 => {
                return Gap::Partial(format!("{hook} was skipped {} times", probe.missed));
            }
            Some(_) => {}
        }
        match coverage.records.get(&class) {
            None if is_traced => Gap::Missing(unseen()),
            None => Gap::Missing(format!("there is no account of the {class} records")),
            Some(account) if !account.is_whole() => {
                let lost = account.made.saturating_sub(account.received).max(account.lost);
                Gap::Partial(format!("lost {lost} of {} {class} records", account.made))
            }
            // What moved in calls that could not be decoded is unknown, and not zero.
            Some(_) if class == RecordClass::Calls && !coverage.undecoded.is_empty() => {
                let paths: Vec<&str> = coverage.undecoded.iter().map(|blind| blind.path.as_str()).collect();
                Gap::Partial(format!("not decoded: {}", paths.join(", ")))
            }
            Some(_) => Gap::None,
        }
    }

    /// Returns the gap of the bytes that calls read from storage, where nothing is missing of the calls.
    pub(super) fn of_storage_reads(coverage: &Coverage) -> Self {
        // Kernel programs read the thread's own account.
        if coverage.backend != Backend::Ptrace {
            return Gap::None;
        }
        match coverage.traced.as_ref().map(|traced| traced.storage_unread_calls) {
            Some(0) => Gap::None,
            Some(calls) => Gap::Missing(format!("/proc/PID/task/TID/io could not be read in {calls} calls")),
            None => Gap::Missing("the tracer did not read /proc/PID/task/TID/io".to_owned()),
        }
    }

    /// Returns the gap of a figure that needs every record of one class up to a time (nanoseconds).
    pub(super) fn of_log(coverage: &Coverage, started_ns: u64, class: RecordClass, until_ns: u64) -> Self {
        let cut = coverage.log.as_ref().and_then(|log| log.cut.as_ref());
        match cut.map(|cut| (cut, cut.records.get(&class))) {
            Some((cut, Some(count))) if cut.at_ns <= until_ns => {
                let after = Quantity::ns(cut.at_ns.saturating_sub(started_ns));
                Gap::Partial(format!("the event log was cut after {after}: {count} {class} records are only counted"))
            }
            _ => Gap::None,
        }
    }

    /// Returns the worse of two gaps; two partial gaps are combined.
    pub(super) fn and(self, other: &Gap) -> Self {
        match (self, other) {
            (Gap::Missing(why), _) => Gap::Missing(why),
            (_, Gap::Missing(why)) => Gap::Missing(why.clone()),
            (Gap::Partial(one), Gap::Partial(two)) if one != *two => Gap::Partial(format!("{one}; {two}")),
            (Gap::Partial(lost), _) => Gap::Partial(lost),
            (Gap::None, other) => other.clone(),
        }
    }

    /// Adds a loss, if there is one.
    pub(super) fn and_lost(self, lost: Option<String>) -> Self {
        match lost {
            Some(lost) => self.and(&Gap::Partial(lost)),
            None => self,
        }
    }

    /// Creates a fact with this gap.
    pub(super) fn fact(&self, value: Quantity, scope: Scope, source: &str) -> Fact {
        match self {
            Gap::None => Fact::complete(value, scope, source),
            Gap::Partial(lost) => Fact::complete(value, scope, source).partial(lost.clone()),
            Gap::Missing(why) => Fact::missing(why.clone(), scope, source),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use activebench_model::coverage::{BlindPath, ProbeStatus, RecordAccount, Traced};
    use activebench_model::log::{EventLog, LogCut};

    use super::*;

    #[test]
    fn a_gap_is_as_wide_as_what_was_not_seen() {
        let probe = |attached, missed| ProbeStatus { hook: Hook::Switch, attached, why_not: None, missed };
        let whole = RecordAccount { made: 9, received: 9, lost: 0, ..RecordAccount::default() };
        let lossy = RecordAccount { made: 9, received: 7, lost: 2, ..RecordAccount::default() };
        let partial = |lost: &str| Gap::Partial(lost.to_owned());
        let missing = |why: &str| Gap::Missing(why.to_owned());
        for (probe, account, expected) in [
            (Some(probe(true, 0)), Some(whole), Gap::None),
            (Some(probe(true, 0)), Some(lossy), partial("lost 2 of 9 cpu records")),
            (Some(probe(true, 0)), None, missing("there is no account of the cpu records")),
            (Some(probe(true, 4)), Some(whole), partial("tp_btf/sched_switch was skipped 4 times")),
            (
                Some(probe(false, 0)),
                Some(whole),
                missing("tp_btf/sched_switch was not attached: no reason was recorded"),
            ),
            (None, Some(whole), missing("tp_btf/sched_switch was not attached")),
        ] {
            let mut coverage = Coverage { probes: probe.into_iter().collect(), ..Coverage::default() };
            coverage.records.extend(account.map(|account| (RecordClass::Cpu, account)));
            assert_eq!(Gap::of(&coverage, Hook::Switch, RecordClass::Cpu), expected);
        }
    }

    #[test]
    fn a_tracer_knows_calls_and_tasks_and_nothing_else() {
        let whole = RecordAccount { made: 9, received: 9, ..RecordAccount::default() };
        let classes = [RecordClass::Calls, RecordClass::Tasks, RecordClass::PageCache];
        let coverage = Coverage {
            backend: Backend::Ptrace,
            records: classes.into_iter().map(|class| (class, whole)).collect(),
            ..Coverage::default()
        };
        assert_eq!(Gap::of(&coverage, Hook::SysExit, RecordClass::Calls), Gap::None);
        assert_eq!(Gap::of(&coverage, Hook::ProcessExit, RecordClass::Tasks), Gap::None);
        let not_seen = Gap::Missing(format!("a tracer does not see it (hint: {RIGHT})"));
        for hook in [Hook::Switch, Hook::AddToPageCache, Hook::RequestComplete, Hook::BioQueue, Hook::CpuClock] {
            assert_eq!(Gap::of(&coverage, hook, RecordClass::Calls), not_seen, "{hook}");
        }
        let none = Coverage { backend: Backend::Ptrace, ..Coverage::default() };
        assert_eq!(Gap::of(&none, Hook::SysExit, RecordClass::Calls), not_seen, "there is no account");
    }

    #[test]
    fn bytes_from_storage_are_missing_where_the_threads_account_was_not_read() {
        let traced = |calls| Coverage {
            backend: Backend::Ptrace,
            traced: Some(Traced { storage_unread_calls: calls, ..Traced::default() }),
            ..Coverage::default()
        };
        assert_eq!(Gap::of_storage_reads(&Coverage::default()), Gap::None);
        assert_eq!(Gap::of_storage_reads(&traced(0)), Gap::None);
        assert!(matches!(Gap::of_storage_reads(&traced(1)), Gap::Missing(_)));
        let unknown = Coverage { backend: Backend::Ptrace, ..Coverage::default() };
        assert!(matches!(Gap::of_storage_reads(&unknown), Gap::Missing(_)));
    }

    #[test]
    fn calls_that_were_not_decoded_leave_a_gap_in_figures_of_calls_alone() {
        let hook = |hook| ProbeStatus { hook, attached: true, why_not: None, missed: 0 };
        let whole = RecordAccount { made: 9, received: 9, ..RecordAccount::default() };
        let coverage = Coverage {
            probes: vec![hook(Hook::SysExit), hook(Hook::Switch)],
            records: BTreeMap::from([(RecordClass::Calls, whole), (RecordClass::Cpu, whole)]),
            undecoded: vec![BlindPath { path: "x32 calls".to_owned(), calls: 2 }],
            ..Coverage::default()
        };
        let of_calls = Gap::of(&coverage, Hook::SysExit, RecordClass::Calls);
        assert_eq!(of_calls, Gap::Partial("not decoded: x32 calls".to_owned()));
        assert_eq!(Gap::of(&coverage, Hook::Switch, RecordClass::Cpu), Gap::None);
    }

    #[test]
    fn a_cut_log_leaves_a_gap_in_what_ends_after_it() {
        let cut = LogCut { at_ns: 5_000, why: "w".to_owned(), records: BTreeMap::from([(RecordClass::Calls, 7)]) };
        let log = EventLog { cut: Some(cut), ..EventLog::default() };
        assert_eq!(Gap::of_log(&Coverage::default(), 0, RecordClass::Calls, u64::MAX), Gap::None);
        let coverage = Coverage { log: Some(log), ..Coverage::default() };
        let partial = Gap::Partial("the event log was cut after 3 µs: 7 calls records are only counted".to_owned());
        for (class, until_ns, expected) in [
            (RecordClass::Calls, 4_999, Gap::None),
            (RecordClass::Calls, 5_000, partial),
            (RecordClass::BlockCompleted, u64::MAX, Gap::None),
        ] {
            assert_eq!(Gap::of_log(&coverage, 2_000, class, until_ns), expected, "{class} {until_ns}");
        }
    }

    #[test]
    fn two_gaps_are_as_wide_as_the_wider() {
        let partial = Gap::Partial("a".to_owned());
        let missing = Gap::Missing("b".to_owned());
        assert_eq!(Gap::None.and(&Gap::None), Gap::None);
        assert_eq!(Gap::None.and(&partial), partial);
        assert_eq!(partial.clone().and(&missing), missing);
        assert_eq!(partial.clone().and(&Gap::Partial("c".to_owned())), Gap::Partial("a; c".to_owned()));
    }
}
