//! Finds the tests in the observed calls. They come in the order of the output, and each opens the file in its own way.

use activebench_model::activity::{Activity, CallSpan, Pass, Step, StepKind};
use activebench_model::call::{Op, open_bits};
use activebench_model::claim::Parsed;
use activebench_model::phase::{Part, PartEnd, Phase, Window};

use super::options::Options;
use super::output::tests;
use super::tests::{Method, Test};
use crate::adapter::Plan;
use crate::syncs::{Syncs, last_component, moves_data};

/// Returns the plan of a command.
pub(super) fn plan(options: &Options) -> Plan {
    let notes = vec!["where the file system refuses O_DIRECT, the tests that open with it have no figure".to_owned()];
    Plan { phases: Test::all().iter().map(|test| test.phase(options.seconds)).collect(), notes }
}

/// See [`crate::Adapter::phases`].
pub(super) fn phases(options: &Options, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let ids: Vec<String> = parsed.claims.iter().map(|claim| claim.phase.clone()).collect();
    let over = passes_over(&options.file, activity);
    let syncs = Syncs::new(activity, over.iter().copied(), moves_data, last_component);
    // The file is made and filled before the first test.
    let mut rest: &[&Pass] = &over;
    while let Some((first, others)) = rest.split_first().filter(|(first, _)| first.open_flags & open_bits::CREATE != 0)
    {
        let _: &Pass = first;
        rest = others;
    }
    let mut lost = over.is_empty().then_some(match activity.passes.is_empty() {
        true => "no calls were observed",
        false => "no open of the tool's file was observed",
    });
    let tests: Vec<Test> = tests(&ids);
    let by_place = are_known_by_place(&tests, rest);
    let mut phases = Vec::new();
    for test in tests {
        let mut phase = test.phase(options.seconds);
        let mut count = if lost.is_none() { of_test(&test, rest) } else { 0 };
        if count == 0 && by_place {
            if !test.opens_once() {
                phase.incomplete = Some("its syncs were not observed, and they tell it from the next test".to_owned());
                phases.push(phase);
                continue;
            }
            if let Some(own) = rest.iter().position(|pass| writes_often(pass)) {
                rest = &rest[own..];
                count = 1;
            }
        }
        if count == 0 {
            phase.incomplete = Some((*lost.get_or_insert("its calls are not those expected in its place")).to_owned());
        } else {
            let (own, others) = rest.split_at(count);
            phase.parts = parts(own, &syncs);
            phase.window = window(&phase.parts);
            rest = others;
        }
        phases.push(phase);
    }
    phases
}

/// Returns true if the tests of one descriptor are known by their places, whatever syncs they made: each writes often
/// through its own descriptor, in blocks of its size, and asks for no more syncs than its name says.
///
/// A sync that is missing is what the test is judged for; by the syncs alone it would not be found.
fn are_known_by_place(tests: &[Test], passes: &[&Pass]) -> bool {
    let once: Vec<&Test> = tests.iter().filter(|test| test.opens_once()).collect();
    let often: Vec<&Pass> = passes.iter().copied().filter(|pass| writes_often(pass)).collect();
    let agree = |(test, pass): (&&Test, &&Pass)| is_of_size(pass, test) && asks_no_more(pass, test.method);
    once.len() == often.len() && once.iter().zip(&often).all(agree)
}

fn writes_often(pass: &Pass) -> bool {
    calls(pass, StepKind::Write) > 1
}

/// Returns true if a pass has no sync that a test does not make.
fn asks_no_more(pass: &Pass, method: Method) -> bool {
    let flags = pass.open_flags & (open_bits::SYNC | open_bits::DSYNC);
    match method {
        Method::OpenDatasync => flags & open_bits::SYNC == 0,
        Method::OpenSync => true,
        Method::Fdatasync | Method::Fsync => flags == 0,
        _ => opens_as(pass, method),
    }
}

fn passes_over<'a>(file: &str, activity: &'a Activity) -> Vec<&'a Pass> {
    let mut over = activity.passes_named(|name| last_component(name) == last_component(file));
    over.sort_by_key(|pass| begun_ns(pass));
    over
}

/// Returns how many of the next passes are those of a test; 0 where the next one is not.
fn of_test(test: &Test, rest: &[&Pass]) -> usize {
    let writes_once = |pass: &Pass| calls(pass, StepKind::Write) == 1 && is_of_size(pass, test);
    let syncs = |pass: &Pass| has_sync(pass, Op::Fsync);
    let is_idle = |pass: &Pass| calls(pass, StepKind::Write) == 0 && !syncs(pass);
    let leading = |is_own: &dyn Fn(&Pass) -> bool| rest.iter().take_while(|pass| is_own(pass)).count();
    let begins = |is_first: &dyn Fn(&Pass) -> bool| rest.first().is_some_and(|pass| is_first(pass));
    match test.method {
        Method::WriteFsyncClose if begins(&|pass| writes_once(pass) && syncs(pass)) => {
            leading(&|pass| writes_once(pass) && syncs(pass) || is_idle(pass))
        }
        Method::WriteCloseFsync if begins(&|pass| writes_once(pass) && !syncs(pass)) => {
            leading(&|pass| writes_once(pass) != syncs(pass))
        }
        Method::WriteFsyncClose | Method::WriteCloseFsync => 0,
        _ => usize::from(begins(&|pass| is_of_size(pass, test) && opens_as(pass, test.method))),
    }
}

/// Returns true if a pass was opened and synced as a test of one descriptor does it.
fn opens_as(pass: &Pass, method: Method) -> bool {
    let flags = pass.open_flags & (open_bits::SYNC | open_bits::DSYNC);
    let plain = flags == 0;
    match method {
        Method::OpenDatasync => flags == open_bits::DSYNC,
        Method::OpenSync => flags == open_bits::SYNC,
        Method::Fdatasync => plain && has_sync(pass, Op::Fdatasync),
        Method::Fsync => plain && has_sync(pass, Op::Fsync),
        _ => plain && pass.steps.iter().all(|step| step.kind != StepKind::Sync),
    }
}

fn is_of_size(pass: &Pass, test: &Test) -> bool {
    let first = pass.steps.iter().find(|step| step.kind == StepKind::Write).and_then(|step| step.head.first());
    first.is_some_and(|call| call.requested == test.write_bytes)
}

fn calls(pass: &Pass, kind: StepKind) -> u64 {
    pass.steps.iter().filter(|step| step.kind == kind).map(|step| step.calls).sum()
}

fn syncs_of(pass: &Pass) -> impl DoubleEndedIterator<Item = CallSpan> {
    let steps = pass.steps.iter().filter(|step| step.kind == StepKind::Sync);
    steps.flat_map(|step| &step.head).map(|call| call.span)
}

fn has_sync(pass: &Pass, op: Op) -> bool {
    syncs_of(pass).any(|span| span.op == op)
}

fn begun_ns(pass: &Pass) -> u64 {
    pass.open.map(|open| open.start_ns).or(pass.steps.first().map(|step| step.start_ns)).unwrap_or(u64::MAX)
}

/// Returns the parts of a test's passes, one for each that writes. The clock covers opens and closes between them.
fn parts(own: &[&Pass], syncs: &Syncs<'_>) -> Vec<Part> {
    let is_loop = own.len() > 1;
    let of_loop = |step: &&Step| matches!(step.kind, StepKind::Write | StepKind::Sync);
    let ends = own.iter().map(|pass| {
        let steps_ns = pass.steps.iter().filter(of_loop).map(|step| step.end_ns).max().unwrap_or(0);
        let close_ns = pass.close.filter(|_| is_loop).map_or(0, |close| close.end_ns);
        steps_ns.max(close_ns)
    });
    let end_ns = ends.max().unwrap_or(0);
    let writing: Vec<&Pass> = own.iter().copied().filter(|pass| calls(pass, StepKind::Write) > 0).collect();
    let start_ns = |pass: &Pass| {
        let first_ns =
            pass.steps.iter().find(|step| step.kind == StepKind::Write).map_or(u64::MAX, |step| step.start_ns);
        if is_loop { begun_ns(pass).min(first_ns) } else { first_ns }
    };
    let part = |(place, pass): (usize, &&Pass)| {
        let until_ns = writing.get(place + 1).map_or(end_ns, |next| start_ns(next)).max(start_ns(pass));
        let written = pass.steps.iter().filter(|step| step.kind == StepKind::Write);
        let last_data_ns = written.map(|step| step.end_ns).max().unwrap_or(until_ns);
        Part {
            tgid: pass.tgid,
            tids: Vec::new(),
            fd: pass.fd,
            file: pass.file,
            start_ns: start_ns(pass),
            end: PartEnd::At(until_ns),
            last_data_ns,
            sync_inside: syncs_of(pass).rfind(|span| span.returned >= 0).map(Box::new),
            sync_after: syncs.after(pass.file, until_ns, Some(pass)).map(Box::new),
            close_ns: pass.close.map(|close| close.end_ns),
        }
    };
    writing.iter().enumerate().map(part).collect()
}

fn window(parts: &[Part]) -> Option<Window> {
    let end_ns = |part: &Part| match part.end {
        PartEnd::At(end_ns) => end_ns,
        PartEnd::AfterBytes(_) => part.last_data_ns,
    };
    let start_ns = parts.iter().map(|part| part.start_ns).min()?;
    Some(Window { start_ns, end_ns: parts.iter().map(end_ns).max()?.max(start_ns) })
}
