//! Phases: one for each data point and claimed kind of requests.

use std::collections::BTreeSet;

use activebench_model::activity::{Activity, Pass, StepKind};
use activebench_model::claim::Parsed;
use activebench_model::phase::{Direction, Mechanism, Mix, MixOf, Part, PartEnd, Pattern, Phase, Promise, Submission};

use super::document::Document;
use super::points::{EVERY_LOAD_UP_TO, MOST_POINTS, Point, Size, Which, planned};
use super::settings::Settings;
use super::statements::Rank;
use super::windows::{self, Place};
use crate::adapter::Plan;

/// Every kind of requests that a claim can refer to.
const KINDS: [(Size, Which); 6] = [
    (Size::Small, Which::All),
    (Size::Small, Which::Reads),
    (Size::Small, Which::Writes),
    (Size::Large, Which::All),
    (Size::Large, Which::Reads),
    (Size::Large, Which::Writes),
];

pub(super) fn phases(document: &Document, parsed: &Parsed, activity: &Activity) -> Vec<Phase> {
    let settings = &document.settings;
    let claimed: BTreeSet<&str> = parsed.claims.iter().map(|claim| claim.phase.as_str()).collect();
    let mut phases = Vec::new();
    for (point, place) in windows::find(&points(document), settings, activity) {
        for phase in kinds(point, settings) {
            if claimed.contains(phase.id.as_str()) {
                phases.push(found(phase, point, settings, &place, activity));
            }
        }
    }
    phases
}

/// Returns the points that were run: the cells of the matrix, or those that the command asks for, and any
/// other point named by a figure.
fn points(document: &Document) -> Vec<Point> {
    let of_rank = |cell: bool| {
        document.statements.iter().filter(move |said| (said.rank == Rank::Cell) == cell).map(|said| said.point)
    };
    let mut points: BTreeSet<Point> = of_rank(true).collect();
    if points.is_empty() {
        points.extend(planned(&document.settings).into_iter().flatten());
    }
    points.extend(of_rank(false));
    points.into_iter().collect()
}

/// Returns the phases that a point can have.
fn kinds(point: Point, settings: &Settings) -> impl Iterator<Item = Phase> + use<'_> {
    let of_point = move |(size, _): &(Size, Which)| match size {
        Size::Small => point.small > 0,
        Size::Large => point.large > 0,
    };
    KINDS.into_iter().filter(of_point).map(move |(size, which)| phase(point, size, which, settings))
}

fn phase(point: Point, size: Size, which: Which, settings: &Settings) -> Phase {
    let direction = match which {
        Which::All => settings.direction,
        Which::Reads => Direction::Read,
        Which::Writes => Direction::Write,
    };
    let streams = settings.sequential && size == Size::Large;
    let (bytes, depth) = match size {
        Size::Small => (settings.small_bytes, point.small),
        Size::Large if streams => (settings.large_bytes, point.large.saturating_mul(settings.requests_per_stream)),
        Size::Large => (settings.large_bytes, point.large),
    };
    let options = &settings.options;
    let spelled = |name: &str| options.spelled(name);
    let run = spelled("run").unwrap_or_else(|| "orion".to_owned());
    let mut promises = vec![Promise { option: run.clone(), mechanism: Mechanism::DirectIo }];
    // Reads and writes share the depth, so neither alone has it.
    if which == Which::All {
        let given = if size == Size::Small { spelled("num_small") } else { spelled("num_large") };
        let option = match spelled("matrix") {
            Some(matrix) if !matrix.ends_with("point") => matrix,
            matrix => given.or(matrix).unwrap_or(run),
        };
        promises.push(Promise { option, mechanism: Mechanism::QueueDepth(depth) });
    }
    Phase {
        pattern: if streams { Pattern::Sequential } else { Pattern::RandomIndependent },
        block_bytes: Some(bytes),
        call_bytes: point.is_mixed().then_some(bytes),
        clock: "first request to the end of -duration".to_owned(),
        submission: Submission::AsynchronousIfDirect,
        promises,
        mix: settings.write_percent.filter(|percent| which == Which::All && (1..100).contains(percent)).map(
            |percent| Mix {
                option: spelled("write").unwrap_or_else(|| format!("-write {percent}")),
                read_ratio: 1.0 - percent as f64 / 100.0,
                of: MixOf::Operations,
                other_phase: None,
            },
        ),
        time_limit_ns: Some(settings.duration_ns),
        ..Phase::planned(point.id(size, which), point.name(size, which), direction)
    }
}

fn found(
    mut phase: Phase,
    point: Point,
    settings: &Settings,
    place: &Result<Place, String>,
    activity: &Activity,
) -> Phase {
    let place = match place {
        Ok(place) => place,
        Err(why) => {
            phase.incomplete = Some(format!("the data point was not found in the observed requests: {why}"));
            return phase;
        }
    };
    phase.parts =
        activity.passes.iter().filter(|pass| has_requests(pass, place)).map(|pass| part(pass, place)).collect();
    phase.incomplete = match () {
        () if phase.parts.is_empty() => Some("no descriptor was found on which its requests were made".to_owned()),
        () if point.is_mixed() && settings.small_bytes == settings.large_bytes => {
            Some("its small and large requests have the same size and cannot be distinguished".to_owned())
        }
        () => place.incomplete.clone(),
    };
    phase
}

/// Returns true if a descriptor carried asynchronous requests while the point ran.
fn has_requests(pass: &Pass, place: &Place) -> bool {
    place.tgids.contains(&pass.tgid)
        && pass.steps.iter().any(|step| {
            let moves_data = matches!(step.kind, StepKind::Read | StepKind::Write);
            let overlaps = step.start_ns <= place.last_ns && step.last_end_ns >= place.start_ns;
            moves_data && overlaps && step.head.iter().any(|call| call.span.op.is_asynchronous())
        })
}

fn part(pass: &Pass, place: &Place) -> Part {
    Part {
        tgid: pass.tgid,
        tids: Vec::new(),
        fd: pass.fd,
        file: pass.file,
        start_ns: place.start_ns,
        end: PartEnd::At(place.end_ns),
        last_data_ns: place.last_ns.max(place.end_ns),
        sync_inside: None,
        sync_after: None,
        close_ns: pass.close.map(|close| close.end_ns),
    }
}

/// Returns the plan of a command.
pub(super) fn plan(document: &Document) -> Plan {
    let settings = &document.settings;
    let Some(points) = planned(settings) else {
        let note = match settings.options.matrix() {
            None => "the matrix is not one that orion knows",
            Some(_) => "the loads follow from the number of disks, which neither -num_disks nor the .lun file states",
        };
        return Plan { phases: Vec::new(), notes: vec![note.to_owned()] };
    };
    let mut notes = Vec::new();
    if points.iter().any(|point| point.small > EVERY_LOAD_UP_TO) && settings.options.run() != "oltp" {
        notes.push("of so many loads orion leaves some out; which ones it does not say before".to_owned());
    }
    if points.len() == MOST_POINTS {
        notes.push(format!("only the first {MOST_POINTS} points are planned"));
    }
    let streams = settings.sequential && points.iter().any(|point| point.large > 0);
    match settings.cache_bytes {
        None if streams => {
            notes.push(
                "without -cache_size random reads of two minutes go before each sequential data point".to_owned(),
            );
        }
        Some(0) if streams => {
            notes.push("with -cache_size 0 the cache of an array can serve the sequential streams".to_owned());
        }
        _ => {}
    }
    if document.volumes.is_empty() {
        notes.push("the .lun file, which names the volumes, was not read".to_owned());
    }
    let phases = points.iter().flat_map(|point| kinds(*point, settings).filter(is_whole)).collect();
    Plan { phases, notes }
}

/// Returns true if a phase covers all requests of its size.
fn is_whole(phase: &Phase) -> bool {
    phase.promises.len() > 1
}
