//! How threads spent their time, from running totals, samples and steal readings.

use crate::story::{CALL_NS, Is, Story, TOOL, check, count, part, phase, read_phase};
use activebench_facts::{Index, profile_phases};
use activebench_model::coverage::{ProbeStatus, RecordAccount, Sampling};
use activebench_model::event::RecordClass;
use activebench_model::event::{CpuEvent, SampleEvent, StealEvent, TaskEventKind, ThreadState, ThreadTimes};
use activebench_model::fact::FactName::*;
use activebench_model::fact::Facts;
use activebench_model::hook::Hook;
use activebench_model::thread_stacks::{CpuProfile, Frame, KERNEL_MODULE, Profiles, Stacks};

/// Creates a tool that was born at 0, sleeps, and makes calls of 100 ns until `now`.
fn story() -> (Story, (u64, u64)) {
    let mut story = Story::new();
    let coverage = &mut story.manifest.coverage;
    for class in [RecordClass::Cpu, RecordClass::Samples] {
        coverage.records.insert(class, RecordAccount { made: 10, received: 10, ..Default::default() });
    }
    let hook = Hook::CpuClock;
    coverage.probes.push(ProbeStatus { hook, attached: true, why_not: None, missed: 0 });
    coverage.sampling = Some(Sampling { frequency_hz: 997, ..Sampling::default() });
    story.open(3, "f");
    let window = story.reads(3, 50);
    (story, window)
}

fn times([user_ns, kernel_ns, blocked_ns, iowait_ns, preempted_ns]: [u64; 5]) -> ThreadTimes {
    ThreadTimes { user_ns, kernel_ns, blocked_ns, iowait_ns, preempted_ns }
}

fn total(tid: u32, at_ns: u64, since_ns: u64, state: ThreadState, totals: [u64; 5]) -> CpuEvent {
    CpuEvent { at_ns, since_ns, state, tid, tgid: TOOL, times: times(totals) }
}

fn sample(at_ns: u64, stack: Option<u32>, in_user_mode: bool) -> SampleEvent {
    // Totals that do not add up to the thread's age, as in the middle of an update.
    let cpu = total(TOOL, at_ns, at_ns, ThreadState::User, [1; 5]);
    SampleEvent { at_ns, in_user_mode, stack, cpu }
}

fn profiled(story: &Story, phase: activebench_model::phase::Phase) -> (Facts, Profiles, Facts) {
    let (mut phases, mut of_run) = story.resolve(vec![phase]);
    let mut manifest = story.manifest.clone();
    (manifest.clocks.started_ns, manifest.clocks.ended_ns) = (1000, story.now);
    let folded = story.folded();
    let index = Index::new(&folded, &folded.activity.passes, &phases);
    let profiles =
        profile_phases(&story.events, &manifest, &index, &mut phases, &mut of_run).expect("events in memory");
    (phases.remove(0).facts, profiles, of_run)
}

fn of_phase(profiles: &Profiles) -> &CpuProfile {
    &profiles.phases["p"]
}

#[test]
fn the_longest_stop_of_a_thread_counts_inside_the_window() {
    const MS: u64 = 1_000_000;
    let (mut story, (start, _)) = story();
    story.manifest.coverage.records_stops = true;
    let stop = |since, at| total(TOOL, at, since, ThreadState::Stopped, [0; 5]);
    // The first begins before the window, the second is short, and the third ends after the window.
    story.events.cpu = vec![
        stop(start - 50, start + 3 * MS),
        stop(start + 4 * MS, start + 5 * MS),
        total(TOOL, start + 6 * MS, start + 5 * MS, ThreadState::Blocked, [0; 5]),
        stop(start + 8 * MS, start + 12 * MS),
    ];
    story.now = start + 20 * MS;
    let phase = || read_phase(3, (start, start + 10 * MS));
    let (facts, ..) = profiled(&story, phase());
    check("stopped", &facts, &[(Stopped, count(5 * MS))]);
    story.events.cpu.clear();
    let (facts, ..) = profiled(&story, phase());
    check("never stopped", &facts, &[(Stopped, count(0))]);
    story.manifest.coverage.records_stops = false;
    let (facts, ..) = profiled(&story, phase());
    check("stops were not recorded", &facts, &[(Stopped, Is::Absent)]);
}

#[test]
fn totals_around_the_window_replace_what_the_calls_tell() {
    let (mut story, window) = story();
    let (start, end) = window;
    let length = end - start;
    // Only sleep before the window, then a quarter of it in each state.
    let quarter = length / 4;
    let switches = [
        total(TOOL, start, 0, ThreadState::Blocked, [0, 0, start, 0, 0]),
        total(TOOL, start + quarter, start, ThreadState::IoWait, [0, 0, start + quarter, quarter, 0]),
        total(
            TOOL,
            start + 2 * quarter,
            start + quarter,
            ThreadState::Preempted,
            [0, 0, start + quarter, quarter, quarter],
        ),
        total(
            TOOL,
            start + 3 * quarter,
            start + 2 * quarter,
            ThreadState::User,
            [quarter, 0, start + quarter, quarter, quarter],
        ),
        total(
            TOOL,
            end,
            start + 3 * quarter,
            ThreadState::Kernel,
            [quarter, length - 3 * quarter, start + quarter, quarter, quarter],
        ),
    ];
    story.events.cpu.extend(switches);
    let (facts, profiles, _) = profiled(&story, read_phase(3, window));
    check(
        "exact",
        &facts,
        &[
            (UserCpu, count(quarter)),
            (KernelCpu, count(length - 3 * quarter)),
            (Blocked, count(quarter)),
            (IoWait, count(quarter)),
            (Preempted, count(quarter)),
            (OffCpu, count(2 * quarter)),
            (CpuTimesError, count(0)),
        ],
    );
    let thread = &of_phase(&profiles).threads[0];
    assert_eq!((thread.tid, thread.window_ns, thread.times.iowait_ns), (TOOL, length, quarter));
    let shares = of_phase(&profiles).shares.expect("known");
    let sum = shares.user_ratio + shares.kernel_ratio + shares.blocked_ratio + shares.preempted_ratio;
    assert!((sum - 1.0).abs() < 1e-9 && (shares.iowait_ratio - quarter as f64 / length as f64).abs() < 1e-9);
}

#[test]
fn totals_far_from_the_window_say_how_wrong_they_can_be_and_the_calls_still_count() {
    let (mut story, window) = story();
    let age = story.now;
    story.events.cpu.push(total(TOOL, age, age - 10, ThreadState::User, [age - 5000, 5000, 0, 0, 0]));
    let (facts, profiles, _) = profiled(&story, read_phase(3, window));
    check(
        "blurred",
        &facts,
        &[(KernelCpu, count(50 * 60)), (UserCpu, count(49 * 30)), (Blocked, Is::Part(0.0, "accurate to"))],
    );
    let error = of_phase(&profiles).threads[0].error_ns;
    assert!(error > CALL_NS, "{error}");
    assert_eq!(of_phase(&profiles).shares, None);
}

#[test]
fn without_totals_nothing_is_said_of_blocked_time() {
    let (mut story, window) = story();
    let (facts, profiles, _) = profiled(&story, read_phase(3, window));
    let none = [Blocked, IoWait, Preempted].map(|name| (name, Is::Missing("totals of the threads are not known")));
    check("none", &facts, &none);
    check("none", &facts, &[(KernelCpu, count(50 * 60))]);
    assert!(of_phase(&profiles).threads.is_empty());
    // A run of an earlier version.
    story.manifest.coverage.records.remove(&RecordClass::Cpu);
    story.manifest.coverage.sampling = None;
    let (facts, profiles, _) = profiled(&story, read_phase(3, window));
    let old = [
        (Blocked, Is::Missing("no account of the cpu records")),
        (StackSamples, Is::Missing("this run has no stack samples")),
        (SampledUserShare, Is::Missing("this run has no stack samples")),
        (Steal, Is::Missing("no readings of the steal time")),
    ];
    check("old", &facts, &old);
    assert_eq!(of_phase(&profiles).short.as_deref(), Some("this run has no stack samples"));
}

#[test]
fn each_thread_of_a_phase_has_its_own_times() {
    let (mut story, (start, end)) = story();
    let other = TOOL + 1;
    story.now = start - 1;
    story.task(TaskEventKind::Born, other, TOOL, TOOL);
    let length = end - start;
    story.events.cpu.extend([
        total(TOOL, start, 0, ThreadState::User, [start, 0, 0, 0, 0]),
        total(TOOL, end, start, ThreadState::User, [end, 0, 0, 0, 0]),
        total(other, start, start - 1, ThreadState::Kernel, [0, 1, 0, 0, 0]),
        total(other, end, start, ThreadState::Blocked, [0, 1, length, 0, 0]),
    ]);
    story.now = end + 10;
    let mut of_both = part(3, start, end);
    of_both.tids = vec![TOOL, other];
    let (facts, profiles, _) = profiled(&story, phase(activebench_model::phase::Direction::Read, vec![of_both]));
    check("both", &facts, &[(UserCpu, count(length)), (Blocked, count(length)), (KernelCpu, count(0))]);
    let seen: Vec<(u32, u64, u64)> =
        of_phase(&profiles).threads.iter().map(|t| (t.tid, t.times.user_ns, t.times.blocked_ns)).collect();
    assert_eq!(seen, [(TOOL, length, 0), (other, 0, length)]);
}

fn stacks() -> Stacks {
    let frame =
        |module, file_offset, symbol: Option<&str>| Frame { module, file_offset, symbol: symbol.map(str::to_owned) };
    Stacks {
        modules: vec![KERNEL_MODULE.to_owned(), "/usr/bin/tool".to_owned()],
        frames: vec![
            frame(Some(0), None, Some("copy_page")),
            frame(Some(1), Some(0x10), None),
            frame(Some(1), Some(0x20), None),
            frame(Some(1), Some(0x30), Some("main")),
            frame(None, None, None),
            // Stacks may come from untrusted files.
            frame(Some(99), Some(1), None),
        ],
        stacks: vec![vec![0, 3], vec![1, 3], vec![2], vec![4], vec![5], vec![], vec![77]],
    }
}

#[test]
fn the_innermost_frames_of_the_samples_inside_the_window_are_counted() {
    let (mut story, (start, end)) = story();
    story.events.stacks = stacks();
    let inside = |number: u64| start + number;
    let kernel = (0..6).map(|number| sample(inside(number), Some(0), false));
    let user = [(10, 1), (11, 2), (12, 2), (13, 3)].map(|(number, stack)| sample(inside(number), Some(stack), true));
    let odd = [None, Some(4), Some(5), Some(6), Some(1000)].map(|stack| sample(inside(20), stack, true));
    let outside = [sample(start - 1, Some(0), false), sample(end + 1, Some(0), false)];
    story.events.samples = kernel.chain(user).chain(odd).chain(outside).collect();
    let (facts, profiles, of_run) = profiled(&story, read_phase(3, (start, end)));
    check("samples", &facts, &[(StackSamples, count(15)), (SampledUserShare, Is::Whole(9.0 / 15.0))]);
    check("the run", &of_run, &[(StackSamples, count(17))]);
    let profile = of_phase(&profiles);
    assert_eq!((profile.samples, profile.user_samples, profile.stackless_samples), (15, 9, 1));
    let functions: Vec<_> = profile
        .functions
        .iter()
        .map(|f| (f.symbol.as_deref(), f.module.as_deref(), f.file_offset, f.samples, f.in_kernel))
        .collect();
    let tool = Some("/usr/bin/tool");
    let expected = [
        (Some("copy_page"), Some(KERNEL_MODULE), None, 6, true),
        (None, tool, Some(0x20), 3, false),
        // A stack of an unknown module counts as unknown code.
        (None, None, Some(1), 2, false),
    ];
    assert_eq!(functions, expected);
    assert!((profile.functions[0].sample_ratio - 6.0 / 15.0).abs() < 1e-9);
}

#[test]
fn of_very_many_threads_the_busiest_are_listed() {
    let (mut story, window) = story();
    let most = CpuProfile::MOST_THREADS as u32;
    for tid in 1_000..1_000 + most + 5 {
        story.task(TaskEventKind::Born, tid, tid, TOOL);
        story.task(TaskEventKind::Exited, tid, tid, 0);
        story.events.tasks.last_mut().expect("an end").user_ns = u64::from(tid);
    }
    let (_, profiles, of_run) = profiled(&story, read_phase(3, window));
    assert_eq!((profiles.run.threads.len(), profiles.run.unlisted_threads), (most as usize, 5));
    assert_eq!(profiles.run.threads.first().map(|thread| thread.tid), Some(1_005));
    check("the tool goes on", &of_run, &[(Blocked, Is::Part(0.0, "1 of the tree's tasks outlived"))]);
}

#[test]
fn samples_that_are_short_are_said_to_be() {
    let (mut story, window) = story();
    story.events.samples = vec![sample(window.0, None, true)];
    let facts_of = |story: &Story| profiled(story, read_phase(3, window)).0;
    check("whole", &facts_of(&story), &[(StackSamples, count(1))]);
    let mut lossy = story.clone();
    lossy.lose(RecordClass::Samples);
    check("lost", &facts_of(&lossy), &[(StackSamples, Is::Part(1.0, "lost 3 of 10 samples"))]);
    let mut refused = story.clone();
    refused.manifest.coverage.sampling = Some(Sampling { why_not: Some("refused".to_owned()), ..Sampling::default() });
    check("refused", &facts_of(&refused), &[(StackSamples, Is::Missing("refused"))]);
    story.events.samples.clear();
    check("none", &facts_of(&story), &[(StackSamples, count(0)), (SampledUserShare, Is::Missing("no sample"))]);
}

#[test]
fn most_samples_missing_is_noticed() {
    let (mut story, (start, _)) = story();
    // One second on CPU, but ten samples.
    let end = start + 1_000_000_000;
    story.events.cpu.extend([
        total(TOOL, start, 0, ThreadState::User, [start, 0, 0, 0, 0]),
        total(TOOL, end, start, ThreadState::User, [end, 0, 0, 0, 0]),
    ]);
    story.events.samples = (0..10).map(|number| sample(start + number, None, true)).collect();
    story.now = end + 10;
    let (facts, ..) = profiled(&story, read_phase(3, (start, end)));
    check("hidden", &facts, &[(StackSamples, Is::Part(10.0, "10 samples came where about 997 were due"))]);
}

#[test]
fn steal_is_that_of_the_host_inside_the_window() {
    let (mut story, (start, end)) = story();
    let read = |at_ns, steal_ns| StealEvent { at_ns, cpu: 0, steal_ns };
    story.events.steal = vec![read(0, 7), read(start, 7), read(start + 1, 40), read(end, 40), read(story.now, 90)];
    let (facts, _, of_run) = profiled(&story, read_phase(3, (start, end)));
    let share = 33.0 / (end - start) as f64;
    check("stolen", &facts, &[(Steal, count(33)), (StealShare, Is::Whole(share))]);
    check("the run", &of_run, &[(Steal, count(83))]);
}
