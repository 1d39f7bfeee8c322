//! The passes of the throughput mode: one wave of children per test, and the end of each
//! child's clock.

use activebench_model::activity::Pass;
use activebench_model::claim::Parsed;
use activebench_model::phase::{PartEnd, Phase};

use super::files::{Observed, ended_ns, started_ns};
use super::options::Options;
use super::parts::{agrees, part, union};
use super::plan::{self, Planned};
use super::window::{Clock, clock, is_data, untimed_start_ns};

/// Returns the phases of the throughput mode.
pub(super) fn throughput_phases(options: &Options, parsed: &Parsed, observed: &Observed<'_>) -> Vec<Phase> {
    let tests = plan::throughput(options, parsed);
    let waves = waves(&observed.data_passes());
    let claimed = tests.iter().filter(|test| test.claimed).count();
    // One more wave than printed blocks is the test that was cut off.
    let fits = if parsed.complete { waves.len() == claimed } else { waves.len() <= tests.len() };
    let mut phases = Vec::new();
    for (index, planned) in tests.iter().enumerate() {
        let mut phase = plan::phase(planned, options);
        match waves.get(index) {
            Some(wave) if fits && wave.iter().all(|child| agrees(child.pass, planned)) => {
                phase.incomplete = add_parts(&mut phase, wave, planned, options, observed);
                phase.window = union(&phase.parts);
            }
            _ if !planned.claimed => continue,
            Some(_) if !fits => {
                phase.incomplete =
                    Some(format!("{} groups of passes were observed and {claimed} tests printed", waves.len()));
            }
            Some(_) => {
                phase.incomplete =
                    Some(format!("the observed passes in the place of {} move data another way", planned.name));
            }
            None => phase.incomplete = Some(observed.nothing().to_owned()),
        }
        phases.push(phase);
    }
    phases
}

/// One child's passes in one test. Only the first is timed: with -c a stonewalled writer
/// closes its file, opens it again and writes the rest untimed.
struct Child<'a> {
    pass: &'a Pass,
    untimed: Vec<&'a Pass>,
}

impl Child<'_> {
    /// Returns true if the same process, or with -T the same thread, makes the calls.
    fn is_of(&self, pass: &Pass) -> bool {
        self.pass.tgid == pass.tgid && data_tids(self.pass).iter().any(|tid| data_tids(pass).contains(tid))
    }
}

/// Groups the passes of the children by test. All children of a test open their files
/// before any of them moves data, and all have ended before the next test starts, which
/// has children of its own.
fn waves<'a>(passes: &[&'a Pass]) -> Vec<Vec<Child<'a>>> {
    let mut waves: Vec<Vec<Child<'_>>> = Vec::new();
    let mut until_ns = 0;
    for pass in passes {
        let wave = match waves.last_mut() {
            Some(wave) if started_ns(pass) < until_ns || wave.iter().any(|child| child.is_of(pass)) => wave,
            _ => {
                waves.push(Vec::new());
                let last = waves.len() - 1;
                &mut waves[last]
            }
        };
        match wave.iter_mut().find(|child| child.is_of(pass)) {
            Some(child) => child.untimed.push(pass),
            None => wave.push(Child { pass, untimed: Vec::new() }),
        }
        until_ns = until_ns.max(ended_ns(pass));
    }
    waves
}

/// Adds a part for each child; returns why they are not all of the test.
fn add_parts(
    phase: &mut Phase,
    wave: &[Child<'_>],
    planned: &Planned,
    options: &Options,
    observed: &Observed<'_>,
) -> Option<String> {
    let mut doubt = None;
    let mut clocks = Vec::new();
    for child in by_birth(wave, observed) {
        match clock(child.pass, planned, options) {
            Ok(clock) => clocks.push((child, clock)),
            Err(why) => doubt = Some(why),
        }
    }
    if clocks.len() != planned.tasks as usize {
        doubt = Some(format!("{} of {} tasks were observed", clocks.len(), planned.tasks));
    }
    let ends = stopped_clocks(&clocks, planned, options);
    let most_untimed_ns = std::mem::take(&mut phase.untimed_start_ns);
    for ((child, clock), end) in clocks.iter().zip(ends) {
        doubt = doubt.or_else(|| clock.doubt.clone());
        let mut clock = clock.clone();
        let untimed = child.untimed.iter().flat_map(|pass| &pass.steps).filter(|step| is_data(step));
        clock.last_data_ns = untimed.map(|step| step.end_ns).fold(clock.last_data_ns, u64::max);
        let stopped_ns = match end {
            PartEnd::At(end_ns) => {
                // A clock that stopped before the final fsync does not cover it.
                clock.sync_inside = clock.sync_inside.filter(|sync| sync.end_ns <= end_ns);
                end_ns.max(clock.last_data_ns)
            }
            PartEnd::AfterBytes(_) => {
                clock.sync_inside = None;
                clock.last_data_ns
            }
        };
        let tids = if options.threads { data_tids(child.pass) } else { Vec::new() };
        let untimed_ns = untimed_start_ns(child.pass, clock.start_ns, most_untimed_ns);
        phase.untimed_start_ns = phase.untimed_start_ns.max(untimed_ns);
        phase.parts.push(part(child.pass, &clock, end, stopped_ns, tids, observed));
    }
    doubt
}

/// Sorts children by iozone's child numbers: it starts them one after the other.
/// Names do not help: an inode may have had the names of several children in turn.
fn by_birth<'w, 'a>(wave: &'w [Child<'a>], observed: &Observed<'_>) -> Vec<&'w Child<'a>> {
    let mut children: Vec<_> = wave.iter().collect();
    children.sort_by_cached_key(|child| {
        let pass = child.pass;
        let tids = data_tids(pass);
        let born_ns = observed
            .activity
            .tasks
            .iter()
            .filter(|task| task.tgid == pass.tgid && tids.contains(&task.tid))
            .map(|task| task.start_ns)
            .min();
        (born_ns.unwrap_or_else(|| started_ns(pass)), started_ns(pass))
    });
    children
}

/// Returns the end of each child's clock.
///
/// The first child that finishes stops the clocks of all (not with -x, and never in the
/// stdio tests). A stopped child has timed a record that it does not count: the printed
/// count is at most one record less than the window.
fn stopped_clocks(clocks: &[(&Child<'_>, Clock)], planned: &Planned, options: &Options) -> Vec<PartEnd> {
    let own_ends = || clocks.iter().map(|(_, clock)| PartEnd::At(clock.end_ns)).collect();
    let mapped = clocks.iter().any(|(_, clock)| clock.bytes.is_none());
    if options.no_stonewall || planned.kind.is_stdio() || mapped || planned.tasks < 2 {
        return own_ends();
    }
    let wanted = planned.moved_bytes();
    if planned.counted.len() == clocks.len() {
        return clocks
            .iter()
            .zip(&planned.counted)
            .map(|((_, clock), &counted)| match (clock.stopped_by, clock.bytes) {
                (Some(sync), _) => PartEnd::At(sync.end_ns),
                // With -e or -c the clock continues after the last record.
                _ if wanted.is_some_and(|wanted| counted >= wanted) => PartEnd::At(clock.end_ns),
                (None, Some(moved)) if covers_more(options) && moved <= counted.saturating_add(record(planned)) => {
                    PartEnd::At(clock.end_ns)
                }
                _ => PartEnd::AfterBytes(counted),
            })
            .collect();
    }
    let all_finished = planned.least_counted.is_some() && planned.least_counted == wanted;
    // One that was stopped in a record of its own may have ended that before the first had finished.
    let finished = clocks.iter().filter(|(_, clock)| clock.bytes >= wanted);
    let first_ns = finished.map(|(_, clock)| clock.last_data_ns).min();
    clocks
        .iter()
        .map(|(_, clock)| match clock.stopped_by {
            Some(sync) => PartEnd::At(sync.end_ns),
            None if all_finished => PartEnd::At(clock.end_ns),
            // A child that was cut short moved its last record when it was stopped.
            None => match first_ns.filter(|first_ns| clock.bytes >= wanted && *first_ns < clock.last_data_ns) {
                Some(first_ns) => PartEnd::At(first_ns.max(clock.start_ns)),
                None => PartEnd::At(clock.end_ns),
            },
        })
        .collect()
}

fn covers_more(options: &Options) -> bool {
    options.include_flush || options.include_close
}

fn record(planned: &Planned) -> u64 {
    planned.record_bytes.unwrap_or(0)
}

/// Returns the threads that moved the pass's data.
fn data_tids(pass: &Pass) -> Vec<u32> {
    let mut tids: Vec<_> =
        pass.steps.iter().filter(|step| is_data(step)).flat_map(|step| step.tids.iter().copied()).collect();
    tids.sort_unstable();
    tids.dedup();
    tids
}
