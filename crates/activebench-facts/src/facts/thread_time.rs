//! How the threads spent their time in each phase, and in which functions.

use std::collections::BTreeMap;

use activebench_model::activity::Task;
use activebench_model::coverage::{Backend, Coverage};
use activebench_model::event::{RecordClass, SampleEvent, ThreadState, ThreadTimes};
use activebench_model::fact::{Fact, FactName, Facts, Scope};
use activebench_model::hook::Hook;
use activebench_model::phase::{Phase, Window};
use activebench_model::run::Manifest;
use activebench_model::thread_stacks::{
    CpuProfile, HotFunction, KERNEL_MODULE, Profiles, Stacks, ThreadCpu, TimeShares,
};
use activebench_model::units::Quantity;
use foldhash::HashMap;

use super::cpu_times::{Cuts, NEAR_ENOUGH, SpanTimes, Totals};
use super::index::Index;
use super::library_calls;
use super::observer_share;
use super::record_losses::Gap;
use super::serving;
use super::steal::Readings;
use super::tally::{ThreadSpan, spans_by_thread, spans_of, thread_spans};
use super::thread_accounts::Accounts;
use activebench_model::source::{EventSource, Unreadable};

/// Source of the times of phases.
const CPU_SOURCE: &str = "tp_btf/sys_enter, tp_btf/sys_exit, tp_btf/sched_switch, perf_event/cpu-clock";
/// Source of the times of the whole run.
const EXIT_SOURCE: &str = "tp_btf/sched_process_exit, tp_btf/sched_switch";
/// Source of the stops.
const SWITCH_SOURCE: &str = Hook::Switch.name();
/// Stops below this are not all recorded, and not counted: a tracer that stops the tool at each call makes many of them.
const LEAST_STOP_NS: u64 = 2_000_000;
/// The sampling clock.
const SAMPLES_HOOK: &str = Hook::CpuClock.name();
/// Expected number of samples from which missing samples are reported.
const LEAST_DUE: f64 = 100.0;
/// Least share of the expected samples. Clocks that are occasionally late by a tick lose a few percent.
const LEAST_SAMPLED: f64 = 0.5;

/// Samples of one phase, by stack.
#[derive(Debug, Default)]
struct Samples {
    all: u64,
    in_user_mode: u64,
    by_stack: HashMap<Option<u32>, u64>,
}

impl Samples {
    fn add(&mut self, sample: &SampleEvent) {
        self.all += 1;
        self.in_user_mode += u64::from(sample.in_user_mode);
        *self.by_stack.entry(sample.stack).or_default() += 1;
    }
}

/// Adds the facts on CPU time, samples and steal time to the phases, whose windows must be resolved,
/// and to the run's facts. Returns the profiles behind them.
///
/// The totals replace `user_cpu_ns`, `kernel_cpu_ns` and `off_cpu_ns` of a phase where their error is at most
/// 1 % of its threads' windows: they include calls that are not recorded.
///
/// Memory: a fixed size per phase and thread, and 50 bytes per distinct stack and phase.
///
/// # Errors
/// Returns the errors of the source.
pub fn profile_phases(
    source: &dyn EventSource,
    manifest: &Manifest,
    index: &Index<'_>,
    phases: &mut [Phase],
    run_facts: &mut Facts,
) -> Result<Profiles, Unreadable> {
    let spans = thread_spans(index, phases);
    let span_of = |span: &ThreadSpan| (span.tid, span.start_ns, span.end_ns);
    let mut cuts = Cuts::new(index.tasks, spans.iter().map(span_of));
    let mut by_thread = spans_by_thread(&spans);
    // Of each phase, the time for which each thread was stopped; most have none.
    let mut stops: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); phases.len()];
    for batch in source.cpu() {
        for event in &batch? {
            cuts.feed(event);
            if event.state != ThreadState::Stopped || event.at_ns.saturating_sub(event.since_ns) < LEAST_STOP_NS {
                continue;
            }
            for number in by_thread.next_overlapping(event.tid, event.since_ns, event.at_ns) {
                let span = &spans[number];
                let (start_ns, end_ns) = (event.since_ns.max(span.start_ns), event.at_ns.min(span.end_ns));
                let stopped_ns = stops[span.phase()].entry(event.tid).or_default();
                *stopped_ns = stopped_ns.saturating_add(end_ns.saturating_sub(start_ns));
            }
        }
    }
    let mut samples: Vec<Samples> = phases.iter().map(|_| Samples::default()).collect();
    let mut of_run = Samples::default();
    for batch in source.samples() {
        for sample in &batch? {
            cuts.feed(&sample.cpu);
            of_run.add(sample);
            for number in by_thread.next_overlapping(sample.cpu.tid, sample.at_ns, sample.at_ns) {
                samples[spans[number].phase()].add(sample);
            }
        }
    }
    let totals = cuts.close();
    let stacks = source.stacks()?;
    let steal = Readings::read(source)?;

    let coverage = &manifest.coverage;
    let accounts = coverage.traced.as_ref().map(|traced| Accounts::new(&traced.threads));
    let mut profiles = Profiles::default();
    for (number, (phase, samples)) in phases.iter_mut().zip(samples).enumerate() {
        let Some(window) = phase.window else { continue };
        let mut threads = threads(&totals, index, spans_of(&spans, number));
        // A run of a tracer does not have them either, and they are missing there: what stopped the tool is not known.
        if coverage.records_stops || coverage.backend == Backend::Ptrace {
            phase.facts.insert(FactName::Stopped, stopped(coverage, &stops[number]));
        }
        add_times(coverage, &threads, &mut phase.facts);
        if let Some(accounts) = &accounts {
            accounts.add_facts(spans_of(&spans, number), &mut phase.facts);
        }
        let mut profile = profile(coverage, &stacks, samples, &mut threads);
        add_samples(coverage, &mut profile, &mut phase.facts);
        steal.add_facts(coverage, window, &mut phase.facts);
        steal.add_last_fifth(coverage, phase);
        observer_share::add(coverage, window, phase);
        profiles.phases.insert(phase.id.clone(), profile);
    }
    let mut threads = Threads::default();
    index.tasks.iter().filter_map(of_life).for_each(|thread| threads.add(thread));
    let mut profile = profile(coverage, &stacks, of_run, &mut threads);
    add_run_times(coverage, index.tasks, run_facts);
    add_samples(coverage, &mut profile, run_facts);
    let clocks = manifest.clocks;
    if let Some(end_ns) = Some(clocks.ended_ns).filter(|end_ns| *end_ns > clocks.started_ns) {
        steal.add_facts(coverage, Window { start_ns: clocks.started_ns, end_ns }, run_facts);
    }
    profiles.run = profile;
    if let Some(library) = source.library()? {
        library_calls::add(&library, &spans, phases, &mut profiles);
    }
    serving::add(source, manifest, index, phases, &mut profiles)?;
    Ok(profiles)
}

/// The times of threads together, and those with the most CPU time: a script may start a million.
#[derive(Default)]
struct Threads {
    known: usize,
    /// Threads whose times are unknown.
    unknown: usize,
    window_ns: u64,
    error_ns: u64,
    times: ThreadTimes,
    /// The busiest ones, and some more, in the order in which they came.
    busiest: Vec<ThreadCpu>,
}

impl Threads {
    fn add(&mut self, thread: ThreadCpu) {
        self.known += 1;
        self.window_ns += thread.window_ns;
        self.error_ns += thread.error_ns;
        self.times.user_ns += thread.times.user_ns;
        self.times.kernel_ns += thread.times.kernel_ns;
        self.times.blocked_ns += thread.times.blocked_ns;
        self.times.iowait_ns += thread.times.iowait_ns;
        self.times.preempted_ns += thread.times.preempted_ns;
        self.busiest.push(thread);
        if self.busiest.len() >= 4 * CpuProfile::MOST_THREADS {
            self.shorten();
        }
    }

    /// Lets go of all but the busiest threads; of equally busy ones the first ones stay.
    fn shorten(&mut self) {
        if self.busiest.len() > CpuProfile::MOST_THREADS {
            self.busiest.sort_by_key(|thread| std::cmp::Reverse(thread.times.user_ns + thread.times.kernel_ns));
            self.busiest.truncate(CpuProfile::MOST_THREADS);
        }
    }

    /// Takes the busiest threads, and returns the number of the others.
    fn take_busiest(&mut self) -> (Vec<ThreadCpu>, u64) {
        let unlisted = self.known.saturating_sub(CpuProfile::MOST_THREADS) as u64;
        self.shorten();
        if unlisted > 0 {
            self.busiest.sort_by_key(|thread| thread.tid);
        }
        (std::mem::take(&mut self.busiest), unlisted)
    }
}

/// Returns the times of a phase's threads. `spans` are in the order of their threads.
fn threads(totals: &Totals<'_>, index: &Index<'_>, spans: &[ThreadSpan]) -> Threads {
    let mut threads = Threads::default();
    for of_thread in spans.chunk_by(|one, other| one.tid == other.tid) {
        let (tid, start_ns) = (of_thread[0].tid, of_thread[0].start_ns);
        let mut window_ns = 0;
        let mut sum = Some(SpanTimes::default());
        for span in of_thread {
            window_ns += span.end_ns - span.start_ns;
            // One unknown span makes the sum unknown.
            sum = sum.zip(totals.between(tid, span.start_ns, span.end_ns)).map(|(mut sum, more)| {
                sum.add(more);
                sum
            });
        }
        let lived = |task: &&&Task| task.start_ns <= start_ns;
        let task = index.tasks_of(tid).iter().filter(lived).max_by_key(|task| task.start_ns);
        let Some((SpanTimes { times, error_ns }, task)) = sum.zip(task) else {
            threads.unknown += 1;
            continue;
        };
        threads.add(ThreadCpu { tid, tgid: task.tgid, comm: task.comm.clone(), window_ns, times, error_ns });
    }
    threads
}

/// Returns the longest time that a thread was stopped.
fn stopped(coverage: &Coverage, by_thread: &BTreeMap<u32, u64>) -> Fact {
    let longest_ns = by_thread.values().copied().max().unwrap_or(0);
    let gap = Gap::of(coverage, Hook::Switch, RecordClass::Cpu);
    gap.fact(Quantity::ns(longest_ns), Scope::Tree, SWITCH_SOURCE)
}

/// Returns the times of a task over its whole life; `None` when it outlived the observation.
fn of_life(task: &Task) -> Option<ThreadCpu> {
    Some(ThreadCpu {
        tid: task.tid,
        tgid: task.tgid,
        comm: task.comm.clone(),
        window_ns: task.end_ns?.saturating_sub(task.start_ns),
        times: ThreadTimes {
            user_ns: task.user_ns,
            kernel_ns: task.kernel_ns,
            blocked_ns: task.blocked_ns,
            iowait_ns: task.iowait_ns,
            preempted_ns: task.preempted_ns,
        },
        error_ns: 0,
    })
}

fn add_times(coverage: &Coverage, threads: &Threads, facts: &mut Facts) {
    let Threads { known, unknown, window_ns, error_ns, times, .. } = *threads;
    let gap =
        Gap::of(coverage, Hook::SysExit, RecordClass::Cpu).and(&Gap::of(coverage, Hook::Switch, RecordClass::Cpu));
    let gap = match (known, unknown) {
        (_, 0) => gap,
        (0, _) => gap.and(&Gap::Missing("the totals of the threads are not known around the pass".to_owned())),
        (known, _) => {
            gap.and_lost(Some(format!("the times of {unknown} of {} threads are not known", known + unknown)))
        }
    };
    let near = error_ns as f64 <= NEAR_ENOUGH * window_ns as f64;
    let blurred = (!near).then(|| format!("accurate to ± {}", Quantity::ns(error_ns)));
    let of_times = gap.clone().and_lost(blurred);
    let mut add = |name, value: u64, gap: &Gap| {
        facts.insert(name, gap.fact(Quantity::ns(value), Scope::Tree, CPU_SOURCE));
    };
    add(FactName::Blocked, times.blocked_ns, &of_times);
    add(FactName::IoWait, times.iowait_ns, &of_times);
    add(FactName::Preempted, times.preempted_ns, &of_times);
    add(FactName::CpuTimesError, error_ns, &gap);
    if of_times == Gap::None {
        add(FactName::UserCpu, times.user_ns, &gap);
        add(FactName::KernelCpu, times.kernel_ns, &gap);
        add(FactName::OffCpu, times.blocked_ns + times.preempted_ns, &gap);
    }
}

fn add_run_times(coverage: &Coverage, tasks: &[Task], facts: &mut Facts) {
    let outlived = tasks.iter().filter(|task| task.end_ns.is_none()).count();
    let lost = (outlived > 0).then(|| format!("{outlived} of the tree's tasks outlived the observation"));
    let gap = Gap::of(coverage, Hook::SysExit, RecordClass::Calls)
        .and(&Gap::of(coverage, Hook::Switch, RecordClass::Tasks))
        .and(&Gap::of(coverage, Hook::ProcessExit, RecordClass::Tasks))
        .and_lost(lost);
    let mut add = |name, value: fn(&Task) -> u64| {
        let sum = tasks.iter().map(value).sum();
        facts.insert(name, gap.fact(Quantity::ns(sum), Scope::Tree, EXIT_SOURCE));
    };
    add(FactName::Blocked, |task| task.blocked_ns);
    add(FactName::IoWait, |task| task.iowait_ns);
    add(FactName::Preempted, |task| task.preempted_ns);
}

fn profile(coverage: &Coverage, stacks: &Stacks, samples: Samples, threads: &mut Threads) -> CpuProfile {
    let on_cpu_ns = threads.times.user_ns + threads.times.kernel_ns;
    let shares = shares(threads);
    let (busiest, unlisted_threads) = threads.take_busiest();
    CpuProfile {
        samples: samples.all,
        user_samples: samples.in_user_mode,
        stackless_samples: samples.by_stack.get(&None).copied().unwrap_or(0),
        functions: functions(stacks, &samples),
        shares,
        unlisted_threads,
        short: short(coverage, samples.all, on_cpu_ns),
        threads: busiest,
        library: Vec::new(),
        serving: Vec::new(),
    }
}

fn shares(threads: &Threads) -> Option<TimeShares> {
    let (window_ns, error_ns, times) = (threads.window_ns as f64, threads.error_ns as f64, &threads.times);
    let share = |ns: u64| ns as f64 / window_ns;
    (window_ns > 0.0 && error_ns <= NEAR_ENOUGH * window_ns).then(|| TimeShares {
        user_ratio: share(times.user_ns),
        kernel_ratio: share(times.kernel_ns),
        blocked_ratio: share(times.blocked_ns),
        iowait_ratio: share(times.iowait_ns),
        preempted_ratio: share(times.preempted_ns),
    })
}

/// Returns why there are fewer samples than expected.
fn short(coverage: &Coverage, samples: u64, on_cpu_ns: u64) -> Option<String> {
    match sampling_gap(coverage) {
        Gap::Missing(why) | Gap::Partial(why) => return Some(why),
        Gap::None => {}
    }
    let frequency_hz = coverage.sampling.as_ref().map_or(0, |sampling| sampling.frequency_hz);
    let due = on_cpu_ns as f64 / 1e9 * f64::from(frequency_hz);
    // Some machines hide the activity of a few processes from every tracer.
    (due >= LEAST_DUE && (samples as f64) < LEAST_SAMPLED * due)
        .then(|| format!("{samples} samples came where about {due:.0} were due"))
}

fn sampling_gap(coverage: &Coverage) -> Gap {
    match &coverage.sampling {
        None => Gap::Missing("this run has no stack samples".to_owned()),
        Some(sampling) => match &sampling.why_not {
            Some(why) => Gap::Missing(format!("there are no stack samples: {why}")),
            None => Gap::of(coverage, Hook::CpuClock, RecordClass::Samples),
        },
    }
}

fn add_samples(coverage: &Coverage, profile: &mut CpuProfile, facts: &mut Facts) {
    let gap = match sampling_gap(coverage) {
        missing @ Gap::Missing(_) => missing,
        gap => gap.and_lost(profile.short.clone()),
    };
    let count = Quantity::count(profile.samples);
    facts.insert(FactName::StackSamples, gap.fact(count, Scope::Tree, SAMPLES_HOOK));
    let share = match profile.samples {
        0 => gap.and(&Gap::Missing("no sample fell into the pass".to_owned())).fact(count, Scope::Tree, SAMPLES_HOOK),
        all => {
            let share = Quantity::ratio(profile.user_samples as f64 / all as f64);
            gap.fact(share, Scope::Tree, SAMPLES_HOOK)
        }
    };
    facts.insert(FactName::SampledUserShare, share);
}

/// The sums of a function's samples.
#[derive(Default)]
struct Heat {
    samples: u64,
    by_offset: BTreeMap<u64, u64>,
}

/// Returns the hottest functions. The innermost frame of each stack counts. All places of a module that no
/// symbol covers count as one function.
fn functions(stacks: &Stacks, all: &Samples) -> Vec<HotFunction> {
    let mut heat: BTreeMap<(Option<&str>, Option<&str>), Heat> = BTreeMap::new();
    for (stack, samples) in &all.by_stack {
        // Stacks may come from untrusted files: an invalid index is an unknown place.
        let innermost = stack.and_then(|stack| stacks.stacks.get(stack as usize)?.first());
        let Some(frame) = innermost.and_then(|frame| stacks.frames.get(*frame as usize)) else { continue };
        let module = frame.module.and_then(|module| stacks.modules.get(module as usize)).map(String::as_str);
        let heat = heat.entry((module, frame.symbol.as_deref())).or_default();
        heat.samples += samples;
        if let (None, Some(offset)) = (&frame.symbol, frame.file_offset) {
            *heat.by_offset.entry(offset).or_default() += samples;
        }
    }
    let mut functions: Vec<HotFunction> = heat
        .into_iter()
        .map(|((module, symbol), heat)| HotFunction {
            symbol: symbol.map(str::to_owned),
            module: module.map(str::to_owned),
            file_offset: heat.by_offset.into_iter().rev().max_by_key(|(_, samples)| *samples).map(|(offset, _)| offset),
            in_kernel: module == Some(KERNEL_MODULE),
            samples: heat.samples,
            sample_ratio: heat.samples as f64 / all.all as f64,
        })
        .collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.samples));
    functions.truncate(CpuProfile::MOST_FUNCTIONS);
    functions
}
