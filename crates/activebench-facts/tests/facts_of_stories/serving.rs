//! What worked beside the phases: threads of the kernel, and the daemons of FUSE with their requests.

use std::borrow::Cow;

use crate::story::*;
use activebench_facts::{Index, fold_activity, profile_phases, resolve_phases};
use activebench_model::call::DeviceNumber;
use activebench_model::coverage::{ProbeStatus, RecordAccount};
use activebench_model::daemon::{Daemon, DaemonProcess, FoundBy};
use activebench_model::event::{FuseEvent, FuseOperation, RecordClass, ServingEvent};
use activebench_model::fact::{Completeness, Fact, FactName, Facts};
use activebench_model::hook::Hook;
use activebench_model::host::{Layer, Target, Tier};
use activebench_model::phase::{Direction, NameOperation, NamePass, Phase, TaskSpan, Window};
use activebench_model::thread_stacks::ServingCpu;

const DAEMON: u32 = 900;
const FUSE: DeviceNumber = DeviceNumber(40);

/// A story of 20 reads, with its phase and its window; its disk is a loop device.
fn story() -> (Story, Phase, Window) {
    let mut story = Story::new();
    story.open(3, "f");
    let (start_ns, end_ns) = story.reads(3, 20);
    let coverage = &mut story.manifest.coverage;
    for hook in [Hook::WorkEnd, Hook::FuseSend, Hook::FuseEnd] {
        coverage.probes.push(ProbeStatus { hook, attached: true, why_not: None, missed: 0 });
    }
    for class in [RecordClass::Serving, RecordClass::Fuse] {
        coverage.records.insert(class, RecordAccount { made: 1, received: 1, ..RecordAccount::default() });
    }
    let on_loop = Layer { name: "loop0".to_owned(), kind: "loop".to_owned(), device: DISK, ..Layer::default() };
    story.manifest.host.targets = vec![target(DISK, vec![on_loop])];
    let phase = phase(Direction::Read, vec![part(3, start_ns, end_ns)]);
    (story, phase, Window { start_ns, end_ns })
}

/// Puts FUSE between the file and the disk, with a daemon.
fn through_fuse(story: &mut Story) {
    let storage = std::mem::take(&mut story.manifest.host.targets);
    let fuse = Target { tier: Tier::Fuse, fs_type: "fuse.test".to_owned(), ..target(DISK, Vec::new()) };
    story.manifest.host.targets = vec![fuse];
    let process = DaemonProcess { pid: DAEMON, name: "daemon".to_owned(), found_by: FoundBy::Connection };
    story.manifest.host.daemons = vec![Daemon {
        s_dev: DISK,
        processes: vec![process],
        unknown: None,
        files: Vec::new(),
        storage,
        elsewhere: Vec::new(),
    }];
}

fn amount(name: &str, tgid: u32, since_ns: u64, until_ns: u64, cpu_ns: u64) -> ServingEvent {
    ServingEvent {
        since_ns,
        until_ns,
        tgid,
        name: name.to_owned(),
        cpu_ns,
        read_calls: 0,
        write_calls: 0,
        sync_calls: 0,
        other_calls: 0,
    }
}

fn request(operation: FuseOperation, sent_ns: u64, at_ns: u64, s_dev: DeviceNumber) -> FuseEvent {
    FuseEvent {
        at_ns,
        sent_ns,
        s_dev,
        operation,
        tgid: TOOL,
        daemon: DAEMON,
        request_bytes: 80,
        returned: 16,
        writeback_cache: false,
        passthrough: false,
    }
}

/// Returns the facts of the phase, and what is listed beside it.
fn judged(story: &Story, phase: Phase) -> (Facts, Vec<ServingCpu>) {
    let folded = fold_activity(&story.events).expect("events in memory");
    let phases = vec![phase];
    let index = Index::new(&folded, &folded.activity.passes, &phases);
    let passes = Cow::Borrowed(&folded.activity.passes[..]);
    let (mut phases, mut of_run) =
        resolve_phases(&story.events, &story.manifest, &index, passes, phases).expect("events in memory");
    let profiles = profile_phases(&story.events, &story.manifest, &index, &mut phases, &mut of_run);
    let profiles = profiles.expect("events in memory");
    let serving = profiles.phases[&phases[0].id].serving.clone();
    (std::mem::take(&mut phases[0].facts), serving)
}

#[track_caller]
fn complete(facts: &Facts, name: FactName, value: f64) {
    assert_eq!(facts.complete(name).ok(), Some(value), "{name:?}: {:?}", facts.get(name));
}

#[track_caller]
fn why_not(facts: &Facts, name: FactName) -> &str {
    match &facts.get(name).unwrap_or_else(|| panic!("{name:?}")).completeness {
        Completeness::Partial(why) | Completeness::Missing(why) => why,
        Completeness::Complete => panic!("{name:?} is complete"),
    }
}

#[test]
fn threads_are_put_down_to_the_pass_by_the_device_that_they_name() {
    let (mut story, phase, window) = story();
    let (start_ns, end_ns) = (window.start_ns, window.end_ns);
    story.events.serving = vec![
        amount("loop0", 0, start_ns, start_ns + 500, 300),
        amount("loop0", 0, start_ns + 600, start_ns + 700, 50),
        // Before and after the pass.
        amount("loop0", 0, start_ns - 500, start_ns - 1, 400),
        amount("loop0", 0, end_ns + 1, end_ns + 500, 400),
        amount("loop1", 0, start_ns, end_ns, 1_000),
        amount("jbd2/loop0-8", 0, start_ns + 100, start_ns + 200, 20),
        amount("flush-7:0", 0, start_ns + 100, start_ns + 200, 5),
        amount("kblockd", 0, start_ns, end_ns, 700),
    ];
    let (facts, serving) = judged(&story, phase);
    complete(&facts, FactName::LoopCpu, 350.0);
    complete(&facts, FactName::JournalCpu, 20.0);
    complete(&facts, FactName::StorageThreadCpu, 375.0);
    assert_eq!(facts.get(FactName::DaemonCpu), None);
    assert_eq!(facts.get(FactName::FuseRequests), None);
    let listed: Vec<(&str, u64)> = serving.iter().map(|serving| (serving.name.as_str(), serving.cpu_ns)).collect();
    assert_eq!(listed, [("loop0", 350), ("jbd2/loop0-8", 20), ("flush-7:0", 5)]);
}

#[test]
fn what_crosses_the_end_of_a_pass_makes_the_figure_partial_and_says_by_how_much() {
    let (mut story, phase, window) = story();
    story.events.serving = vec![amount("loop0", 0, window.start_ns - 500, window.start_ns + 500, 500)];
    let (facts, _) = judged(&story, phase);
    assert_eq!(facts.get(FactName::LoopCpu).and_then(|fact: &Fact| fact.value).map(|value| value.value), Some(250.0));
    assert_eq!(why_not(&facts, FactName::LoopCpu), "accurate to ± 500 ns");
}

#[test]
fn without_the_hook_on_work_the_threads_are_not_known() {
    let (mut story, phase, window) = story();
    story.events.serving = vec![amount("loop0", 0, window.start_ns, window.end_ns, 100)];
    story.detach(Hook::WorkEnd);
    let (facts, serving) = judged(&story, phase.clone());
    assert!(why_not(&facts, FactName::LoopCpu).contains("workqueue_execute_end"), "{facts:?}");
    assert_eq!(serving, []);
    // A run of a version that did not record them.
    let (mut story, ..) = self::story();
    story.manifest.coverage.records.remove(&RecordClass::Serving);
    let (facts, _) = judged(&story, phase);
    assert!(why_not(&facts, FactName::StorageThreadCpu).contains("no account"), "{facts:?}");
}

#[test]
fn the_daemon_has_its_time_its_calls_and_its_requests() {
    let (mut story, phase, window) = story();
    through_fuse(&mut story);
    let (start_ns, end_ns) = (window.start_ns, window.end_ns);
    let calls = ServingEvent {
        read_calls: 4,
        write_calls: 3,
        sync_calls: 1,
        other_calls: 2,
        ..amount("", DAEMON, start_ns, start_ns + 400, 300)
    };
    // Another daemon, of another mount.
    let other = ServingEvent { tgid: DAEMON + 1, ..calls.clone() };
    story.events.serving = vec![amount("", DAEMON, 1, 1, 0), calls, other, amount("loop0", 0, start_ns, end_ns, 7)];
    story.events.fuse = vec![
        request(FuseOperation::Read, start_ns + 10, start_ns + 110, DISK),
        request(FuseOperation::Fsync, start_ns + 10, start_ns + 60, DISK),
        request(FuseOperation::Read, start_ns, end_ns + 1, DISK),
        request(FuseOperation::Read, start_ns, start_ns + 1, FUSE),
    ];
    let (facts, serving) = judged(&story, phase);
    complete(&facts, FactName::DaemonCpu, 300.0);
    complete(&facts, FactName::DaemonCalls, 10.0);
    complete(&facts, FactName::DaemonReadCalls, 4.0);
    complete(&facts, FactName::DaemonWriteCalls, 3.0);
    complete(&facts, FactName::DaemonSyncCalls, 1.0);
    complete(&facts, FactName::FuseRequests, 2.0);
    complete(&facts, FactName::FuseReadRequests, 1.0);
    complete(&facts, FactName::FuseWriteRequests, 0.0);
    complete(&facts, FactName::FuseSyncRequests, 1.0);
    complete(&facts, FactName::FuseRequestTime, 150.0);
    complete(&facts, FactName::FuseWritebackCache, 0.0);
    complete(&facts, FactName::FusePassthrough, 0.0);
    complete(&facts, FactName::LoopCpu, 7.0);
    assert_eq!(serving[0], ServingCpu { name: "daemon".to_owned(), tgid: Some(DAEMON), cpu_ns: 300 });
}

#[test]
fn a_daemon_that_began_later_is_not_known_to_have_done_nothing() {
    let (mut story, phase, window) = story();
    through_fuse(&mut story);
    story.events.fuse = vec![request(FuseOperation::Read, 0, window.start_ns + 60, DISK)];
    story.events.fuse[0].writeback_cache = true;
    let (facts, _) = judged(&story, phase.clone());
    for name in [FactName::DaemonCpu, FactName::DaemonCalls] {
        assert!(why_not(&facts, name).contains("did not run yet"), "{facts:?}");
    }
    complete(&facts, FactName::FuseWritebackCache, 1.0);
    assert_eq!(why_not(&facts, FactName::FuseRequestTime), "the start of 1 of 1 requests was not seen");
    story.events.fuse.clear();
    let (facts, _) = judged(&story, phase);
    complete(&facts, FactName::FuseRequests, 0.0);
    assert_eq!(why_not(&facts, FactName::FusePassthrough), "no request was answered inside the window");
}

#[test]
fn a_pass_over_names_is_served_by_the_file_systems_on_which_its_process_created_files() {
    let (mut story, ..) = story();
    through_fuse(&mut story);
    story.flags = activebench_model::call::open_bits::CREATE;
    let start_ns = story.now;
    story.open(4, "new");
    let end_ns = story.now;
    story.events.fuse = vec![request(FuseOperation::Create, start_ns, start_ns + 10, DISK)];
    let mut phase = Phase::planned("create", "create", Direction::Write);
    let span = TaskSpan { tgid: TOOL, tids: Vec::new(), start_ns, end_ns };
    phase.names = Some(NamePass { operation: NameOperation::Create, requested: None, spans: vec![span] });
    let (facts, _) = judged(&story, phase);
    complete(&facts, FactName::FuseRequests, 1.0);
}
