//! The list of adapters, and lookups in it.

use std::collections::HashSet;

use activebench_model::activity::Activity;
use activebench_model::advice::{Advisor, NoAdvisor};
use activebench_model::claim::Parsed;
use activebench_model::command::CommandLine;
use activebench_model::output::ToolOutput;
use activebench_model::phase::{Direction, Phase};

use crate::adapter::Adapter;
use crate::program::Program;

/// Every adapter, in the order in which they are tried.
pub const ADAPTERS: &[&dyn Adapter] = &[
    // One line per adapter; `cargo xtask new adapter` adds one.
    &crate::iozone::Iozone,
    &crate::bonnie::Bonnie,
    &crate::fio::Fio,
    &crate::orion::Orion,
    &crate::dd::Dd,
    &crate::sysbench::Sysbench,
    &crate::pg_test_fsync::PgTestFsync,
    &crate::ioping::Ioping,
    &crate::hdparm::Hdparm,
    &crate::fs_mark::FsMark,
    &crate::stress_ng::StressNg,
    &crate::f3::F3::Write,
    &crate::f3::F3::Read,
    &crate::postmark::PostMark,
    &crate::dbench::Dbench,
    &crate::db_bench::DbBench,
];

/// The program with which activebench itself makes I/O: replays, ceilings, preconditioning.
pub const ENGINE: &Program = &crate::fio::PROGRAM;

/// Returns a path as an option of [`ENGINE`] takes it.
pub fn engine_path(path: &std::path::Path) -> String {
    crate::fio::Fio.path_in_option(&path.display().to_string())
}

/// Returns the passes of a run, as [`Adapter::phases`] finds them. Adds a phase without parts for each phase that a
/// claim names and the adapter does not know: figures in an output that does not match its command line.
pub fn phases_of(
    adapter: &dyn Adapter,
    command: &CommandLine,
    output: &ToolOutput,
    parsed: &Parsed,
    activity: &Activity,
) -> Vec<Phase> {
    let mut phases = adapter.phases(command, output, parsed, activity);
    let mut known: HashSet<String> = phases.iter().map(|phase| phase.id.clone()).collect();
    for claim in &parsed.claims {
        if known.insert(claim.phase.clone()) {
            phases.push(Phase {
                incomplete: Some("the command line does not ask for this pass".to_owned()),
                ..Phase::planned(&claim.phase, &claim.phase, Direction::Mixed)
            });
        }
    }
    phases
}

/// Returns the adapter of a program, by its path or file name; `None` for a tool without adapter.
pub fn adapter_for_program(path: &str) -> Option<&'static dyn Adapter> {
    let file_name = path.rsplit('/').next().unwrap_or(path);
    ADAPTERS.iter().copied().find(|adapter| adapter.is_program(file_name))
}

/// Returns the adapter of the tool that wrote an output, identified by the output itself.
pub fn adapter_for_output(output: &ToolOutput) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.wrote(output))
}

/// Returns the advisor for the tool of this name; a default one if no adapter knows it.
pub fn advisor_of(tool: &str) -> &'static dyn Advisor {
    match adapter_by_name(tool) {
        Some(adapter) => adapter,
        None => &NoAdvisor,
    }
}

/// Returns the adapter of a name as printed by its [`crate::Program`].
pub fn adapter_by_name(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.iter().copied().find(|adapter| adapter.name() == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn each_tool_is_known_by_one_name_to_one_adapter() {
        let names: BTreeSet<&str> = ADAPTERS.iter().map(|adapter| adapter.name()).collect();
        assert_eq!(names.len(), ADAPTERS.len());
        for adapter in ADAPTERS {
            let name = adapter.name();
            let claiming: Vec<&str> =
                ADAPTERS.iter().filter(|other| other.is_program(name)).map(|other| other.name()).collect();
            assert_eq!(claiming, [name]);
            assert_eq!(adapter_for_program(&format!("/opt/bench/{name}")).map(|found| found.name()), Some(name));
            assert_eq!(adapter_by_name(name).map(|found| found.name()), Some(name));
        }
    }

    #[test]
    fn each_tool_has_fixtures() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        for adapter in ADAPTERS {
            assert!(fixtures.join(adapter.name()).is_dir(), "no outputs of {}", adapter.name());
        }
    }
}
