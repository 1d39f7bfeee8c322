//! What a watch leaves open: facts that rest on a time before it began, or after it ended, are partial.

use activebench_model::call::FileId;
use activebench_model::coverage::BlindPath;
use activebench_model::fact::{FactName, Facts};
use activebench_model::phase::Phase;
use activebench_model::watch::{Watch, WatchEnd};
use foldhash::{HashMap, HashSet};

/// Facts that count what a process does to its files from the first access on. Data that was dirty before is written to the
/// device during the watch, and what was accessed before is not among the blocks that were seen.
const SINCE_THE_BEGINNING: [FactName; 8] = [
    FactName::UniqueBlocks,
    FactName::RegionBlocks,
    FactName::ResidentAtStart,
    FactName::DeviceWriteBytes,
    FactName::DeviceWriteBytesDurable,
    FactName::BelowWriteBytes,
    FactName::BelowWriteBytesDurable,
    FactName::PayloadDuplicates,
];

/// Facts on syncs that can still come.
const UNTIL_THE_END: [FactName; 3] =
    [FactName::UnsyncedBytes, FactName::SyncedBytes, FactName::DeviceWriteBytesDurable];

/// Counts the mappings of before that can carry data: those that can be written, and those of files that are open or that
/// a phase names. Programs and their tables are mapped by files that are closed. `None` if there is none.
pub(crate) fn blind_mappings(watch: &Watch, phases: &[Phase]) -> Option<BlindPath> {
    let of_phases = phases.iter().flat_map(|phase| &phase.parts).map(|part| part.file);
    let used: HashSet<FileId> = of_phases.chain(watch.open.iter().map(|open| open.file)).collect();
    let calls = watch.mapped.iter().filter(|mapped| mapped.writable || used.contains(&mapped.file)).count() as u64;
    (calls > 0).then(|| BlindPath { path: "mappings of before the watch".to_owned(), calls })
}

/// Makes the facts partial that a watch cannot know whole.
pub(super) fn limit(watch: &Watch, phases: &mut [Phase], run_facts: &mut Facts) {
    let open = watch.open.iter().map(|open| (open.file, open.path.as_str()));
    let mapped = watch.mapped.iter().map(|mapped| (mapped.file, mapped.path.as_str()));
    let before: HashMap<FileId, &str> = mapped.chain(open).collect();
    for phase in phases {
        let earlier = phase.parts.iter().find_map(|part| before.get(&part.file));
        if let Some(path) = earlier {
            let why = format!("{path} was in use before the watch began: what was done to it until then is not known");
            make_partial(&mut phase.facts, &SINCE_THE_BEGINNING, &why);
        }
        limit_both(watch, &mut phase.facts);
    }
    if !before.is_empty() {
        let why = "files were in use before the watch began: what was done to them until then is not known";
        make_partial(run_facts, &SINCE_THE_BEGINNING, why);
    }
    limit_both(watch, run_facts);
}

/// The same for facts that do not depend on the file.
fn limit_both(watch: &Watch, facts: &mut Facts) {
    let dirty = "the watch began later than the processes: dirty pages of before may be their own";
    make_partial(facts, &[FactName::ForeignDirtyAtStart], dirty);
    let unsynced = facts.get(FactName::UnsyncedBytes).and_then(|fact| fact.value);
    let all_is_durable = unsynced.is_some_and(|unsynced| unsynced.value == 0.0);
    if watch.end != Some(WatchEnd::TargetEnded) && !all_is_durable {
        make_partial(facts, &UNTIL_THE_END, "the watch ended before the processes did: a later sync is not seen");
    }
}

fn make_partial(facts: &mut Facts, names: &[FactName], why: &str) {
    for name in names {
        if let Some(fact) = facts.get(*name).cloned() {
            facts.insert(*name, fact.partial(why));
        }
    }
}

#[cfg(test)]
mod tests {
    use activebench_model::call::FileKind;
    use activebench_model::direction::Direction;
    use activebench_model::fact::{Completeness, Fact, Scope};
    use activebench_model::phase::{Part, PartEnd};
    use activebench_model::units::Quantity;
    use activebench_model::watch::{MappedFile, OpenFile};

    use super::*;
    use crate::evidence::phase_of;

    fn phase_on(file: FileId) -> Phase {
        let part = Part {
            tgid: 1,
            tids: Vec::new(),
            fd: 3,
            file,
            start_ns: 0,
            end: PartEnd::At(1),
            last_data_ns: 1,
            sync_inside: None,
            sync_after: None,
            close_ns: None,
        };
        let mut phase = phase_of("a", Direction::Write, &mut HashMap::default());
        phase.parts = vec![part];
        for name in FactName::ALL {
            phase.facts.insert(*name, Fact::complete(Quantity::bytes(1), Scope::Tree, "test"));
        }
        phase
    }

    fn partial(facts: &Facts) -> Vec<FactName> {
        let is_partial =
            |name: &FactName| matches!(facts.get(*name), Some(Fact { completeness: Completeness::Partial(_), .. }));
        FactName::ALL.iter().copied().filter(is_partial).collect()
    }

    #[test]
    fn mappings_that_can_carry_data_are_blind() {
        let id = |ino| FileId { s_dev: 1, ino };
        let mapped =
            |ino, writable| MappedFile { pid: 1, file: id(ino), path: "/m".into(), offset: 0, bytes: 9, writable };
        let open =
            OpenFile { pid: 1, fd: 3, file: id(1), kind: FileKind::Regular, path: "/m".into(), position: 0, flags: 0 };
        let calls = |mapped: Vec<MappedFile>, phases: &[Phase]| {
            blind_mappings(&Watch { mapped, open: vec![open.clone()], ..Watch::default() }, phases)
                .map(|blind| blind.calls)
        };
        assert_eq!(calls(vec![mapped(7, false)], &[]), None, "a table of a program");
        assert_eq!(calls(vec![mapped(7, true), mapped(1, false)], &[]), Some(2));
        assert_eq!(calls(vec![mapped(2, false)], &[phase_on(id(2))]), Some(1));
    }

    #[test]
    fn what_a_watch_cannot_know_is_partial_and_nothing_else() {
        let (old, new) = (FileId { s_dev: 1, ino: 1 }, FileId { s_dev: 1, ino: 2 });
        let open =
            OpenFile { pid: 1, fd: 3, file: old, kind: FileKind::Regular, path: "/a".into(), position: 0, flags: 0 };
        for end in [WatchEnd::TargetEnded, WatchEnd::Interrupted] {
            let watch = Watch { open: vec![open.clone()], end: Some(end), ..Watch::default() };
            let mut phases = [phase_on(old), phase_on(new)];
            limit(&watch, &mut phases, &mut Facts::default());
            let (of_old, of_new) = (partial(&phases[0].facts), partial(&phases[1].facts));
            let has_ended = end == WatchEnd::TargetEnded;
            assert!(of_old.contains(&FactName::UniqueBlocks) && !of_new.contains(&FactName::UniqueBlocks));
            assert!(of_new.contains(&FactName::ForeignDirtyAtStart));
            assert_eq!(of_new.contains(&FactName::UnsyncedBytes), !has_ended);
            assert_eq!(of_new.len(), if has_ended { 1 } else { 1 + UNTIL_THE_END.len() });
            for counted in [FactName::WriteBytes, FactName::ReadBytes, FactName::Window, FactName::DeviceReadBytes] {
                assert!(!of_old.contains(&counted), "{counted:?}");
            }
        }
    }
}
