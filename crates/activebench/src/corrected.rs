//! `verify --and-corrected`: runs the benchmark a second time, with the advice of its own report applied.

use std::ffi::OsString;
use std::path::Path;

use activebench_detect::advice::corrected_command::{remedied, side_by_side};
use activebench_model::command::CommandLine;
use activebench_model::remedy::Remedied;
use activebench_model::run::Choices;
use activebench_model::verdict::RunVerdict;
use activebench_report::side_by_side::{SIDE_BY_SIDE_FORMATS, render};

use crate::arguments::Verify;
use crate::exit::{Failure, INTERRUPTED};
use crate::verify::{Recorded, record_run};
use crate::{destroy, output};

/// Folder of the first run, inside the folder of both.
pub(crate) const AS_GIVEN: &str = "as-given";
/// Folder of the second run.
pub(crate) const WITH_ADVICE: &str = "with-advice";

/// Runs the command, then again as its report advises; returns the exit code of the command as given.
pub(crate) fn main(
    arguments: &Verify,
    choices: &Choices,
    command: &CommandLine,
    directory: &Path,
    runtime: &tokio::runtime::Runtime,
) -> Result<i32, Failure> {
    output::formats_exist(&arguments.output, "two runs", &SIDE_BY_SIDE_FORMATS)?;
    let say = |words: &str| {
        if !arguments.output.quiet {
            eprintln!("activebench: {words}");
        }
    };
    let Recorded { judged: first, reader, interrupted } =
        record_run(arguments, choices, command, &directory.join(AS_GIVEN), runtime)?;
    let exit_code = first.exit_code;
    let remedied = remedied(&first, activebench_tools::advisor_of(&first.parsed.tool));
    if let Some(why) = why_not_again(&first.verdict, interrupted, &remedied) {
        say(&why);
        output::render(&first, &reader, &arguments.output)?;
        return Ok(if interrupted { INTERRUPTED } else { exit_code });
    }
    say(&format!("again with the advice: {}", remedied.argv.join(" ")));
    let again = Verify { command: remedied.argv.iter().map(OsString::from).collect(), ..arguments.clone() };
    let changed = CommandLine { argv: remedied.argv.clone(), ..command.clone() };
    let second = destroy::guard_again(&changed)
        .and_then(|()| record_run(&again, choices, &changed, &directory.join(WITH_ADVICE), runtime));
    match second {
        Ok(Recorded { judged: second, interrupted, .. }) => {
            let sides = side_by_side(first, second, remedied);
            output::deliver(&arguments.output, |request, style, out| {
                output::write_text(render(&request.format, &sides, style), out)
            })?;
            Ok(if interrupted { INTERRUPTED } else { exit_code })
        }
        // The report of the first run is not lost.
        Err(failure) => {
            output::render(&first, &reader, &arguments.output)?;
            Err(failure)
        }
    }
}

fn why_not_again(verdict: &RunVerdict, interrupted: bool, remedied: &Remedied) -> Option<String> {
    if interrupted {
        return Some("interrupted: the benchmark is not run again".to_owned());
    }
    if *verdict == RunVerdict::Failed {
        return Some("the benchmark failed: it is not run again".to_owned());
    }
    if !remedied.applied.is_empty() {
        return None;
    }
    let left: Vec<String> = remedied.left.iter().map(|left| format!("{}: {}", left.code, left.why)).collect();
    Some(match left.is_empty() {
        true => "nothing to correct: the benchmark is not run again".to_owned(),
        false => format!("no option mends it, the benchmark is not run again ({})", left.join("; ")),
    })
}
