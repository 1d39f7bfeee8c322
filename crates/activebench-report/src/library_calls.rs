//! Calls of library functions, one line a phase. Raw text; the format escapes it.

use activebench_model::fact::{Completeness, FactName};
use activebench_model::library::CountedFunction;
use activebench_model::phase::{Direction, Phase};
use activebench_model::report::JudgedRun;
use activebench_model::units::Quantity;

use crate::escape::clipped_symbol;
use crate::wording::{PhaseNames, grouped};

/// Functions named in a line.
const FUNCTIONS_NAMED: usize = 3;
/// Longest name of a function, in characters.
const NAME_SHOWN: usize = 40;

/// Returns a line for each of the first `most` phases in which calls were counted; none where they were not counted.
pub(crate) fn lines(run: &JudgedRun, most: usize) -> Vec<String> {
    let names = PhaseNames::of(run);
    let counted = run.phases.iter().filter_map(|phase| {
        let library = &run.profiles.phases.get(&phase.id)?.library;
        let unknown = phase.facts.get(FactName::LibraryWriteCalls).and_then(|fact| match &fact.completeness {
            Completeness::Missing(why) => Some(why.clone()),
            _ => None,
        });
        let said = match (library.is_empty(), unknown) {
            (_, Some(why)) => format!("not known, {why}"),
            (false, None) => line(phase, library),
            (true, None) => return None,
        };
        Some(format!("{}: {said}", names.get(&phase.id)))
    });
    counted.take(most).collect()
}

/// `putc 1,048,576 times (1 MiB) behind 256 writes; fflush once`.
fn line(phase: &Phase, library: &[CountedFunction]) -> String {
    let functions = library.iter().take(FUNCTIONS_NAMED).map(|function| {
        let times = match function.calls {
            1 => "once".to_owned(),
            calls => format!("{} times", grouped(calls)),
        };
        let open = match function.open_calls {
            0 => String::new(),
            open => format!(", {} more here or in another pass", grouped(open)),
        };
        let bytes = match function.asked_bytes {
            0 => String::new(),
            bytes => format!(" ({})", Quantity::bytes(bytes)),
        };
        format!("{} {times}{open}{bytes}", clipped_symbol(&function.name, NAME_SHOWN))
    });
    let (name, noun) = match phase.direction {
        Direction::Write => (FactName::WriteCalls, "writes"),
        _ => (FactName::ReadCalls, "reads"),
    };
    let behind = match phase.facts.complete(name) {
        Ok(calls) => format!("; {} {noun} of the kernel", grouped(calls as u64)),
        Err(_) => String::new(),
    };
    format!("{}{behind}", functions.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use activebench_model::fact::{Fact, Scope};

    use super::*;

    #[test]
    fn calls_of_the_library_stand_beside_those_of_the_kernel() {
        let mut phase = Phase::planned("w", "w", Direction::Write);
        let function = |name: &str, calls: u64, asked_bytes: u64, open_calls: u64| CountedFunction {
            name: name.to_owned(),
            calls,
            open_calls,
            asked_bytes,
        };
        let library = [function("putc", 1 << 20, 1 << 20, 0), function("fflush", 1, 0, 2)];
        assert_eq!(line(&phase, &library), "putc 1,048,576 times (1 MiB), fflush once, 2 more here or in another pass");
        phase.facts.insert(FactName::WriteCalls, Fact::complete(Quantity::count(256), Scope::Tree, "calls"));
        assert_eq!(line(&phase, &library[..1]), "putc 1,048,576 times (1 MiB); 256 writes of the kernel");
    }
}
