//! # What it finds
//! A number that a script prints itself and that says something else than the figure it comes from.
//!
//! # Why it matters
//! People quote the last line of a script. The benchmark below it may be honest, and its figure right, while the line
//! states it in another unit, adds up what does not belong together, or takes the best of several runs.
//!
//! # How it decides
//! No probe is needed. Lines of the output that no tool of the run wrote are the script's own. Each number with a unit
//! in them is traced: it is one of the claims of the run, or their sum, mean, median, smallest or largest, within the
//! printed digits. It fires where nothing honest explains the number, and one of these does:
//!
//! - The figure of another pass than the words name (`write:` before a read rate, `64k`, `QD32` or `8 threads` before
//!   the rate of another load): it fails. The words are those before the number, then those of its column or of its
//!   place in a list (`read/write: 812 / 640 MB/s`), those before the first number of a line that names one pass only,
//!   those of the objects of YAML or JSON that it is in, of the heading above it, and for the load of the cells of its
//!   row.
//! - Another statistic of the latencies than the words name (the median behind `p99`), where the tool printed that one,
//!   too: it fails.
//! - The line is one that a tool wrote, with another number in its place: the words are the same, at least half of the
//!   numbers too, and the tool's own line is not in the output. It fails, for each number that has a unit, seconds too.
//!   For a number without a unit, such as a count, and for one that is a single step of its last digit away, it warns,
//!   and the run is inconclusive. Dates, times of day and the numbers of processes are left out, and sums and means of
//!   several such lines.
//! - The script printed a report of the tool again, such as the JSON file of `--output=FILE`, and a figure in it is
//!   another one: at least half of the report's figures are those of the measurement. It fails.
//! - The unit is off by 1000, 1024 or 8, for latencies by 1000 or a million: it fails.
//! - Reads and writes added up, where the line does not say so: it fails if the line names one direction, and warns if
//!   it names none.
//! - The best of several runs of one command behind the word `mean`, `average` or `median`: it fails. Of the last run
//!   alone, the word may mean an average over its time, unless the line names runs or all of them are printed above.
//! - `MB/s` for MiB/s, or the reverse (5 %, 7 % for GB), or a mixture of both (KiB/s divided by 1000): it warns.
//! - The best of three runs of one command or more, where the line does not say so, the others are not printed, and it
//!   is not the last one: it warns.
//! - Cut off by a fifth or more, or rounded to the nearest digit by half or more: it warns.
//! - A rate that comes from no figure, and is 5 % or more above all rates of the passes that its words may mean, those
//!   at the same time added up; a latency of a statistic that the tools printed, and less than half of the lowest one
//!   that its words may mean (three quarters for a mean): it warns, and the run is inconclusive. A clock around the tools
//!   would give a lower rate. Numbers whose words name a peak, a limit, an expectation or another run are left out.
//!
//! Another number for which no figure is found is *not traced*. The report lists it, and it accuses nobody. The same
//! holds where as many figures would agree with a number by chance in 1 % of the cases. Lines of numbers whose unit is
//! not known are listed among the notes on the output.
//!
//! If a part of what the tools printed was not kept, it is undecided: their lines could not be distinguished from the script's.
//!
//! # When it is wrong
//! A script that measures something of its own (the time around the tool) may print a number that agrees with a figure
//! by chance. A label in another language than English names nothing, except the words for reading and writing of a few.
//!
//! # What to do
//! Print the tool's figure with its unit, and say which run and which pass it is of.
//!
//! # References
//! Prefixes: IEC 80000-13. Summaries of several runs: Fleming and Wallace 1986, *How not to lie with statistics*.

use activebench_model::finding::{Finding, Threshold};
use activebench_model::script_figure::{Derivation, Fault, Origin, ScriptFigure};
use activebench_model::units::Unit;

use crate::cases::run::{Case, Firing, Halt, Weight};
use crate::detector::{Basis, Decides, Detector, Judge};
use crate::evidence::script_rates::{Beyond, beyond_the_tools};
use crate::run::Run;

/// See the head of this file.
pub static DETECTOR: Detector = Detector {
    code: "AB114",
    name: "script-figure-differs",
    title: "The script's number is not the tool's figure",
    explained_by: &[],
    source: include_str!("script_figure_differs.rs"),
    judge: Judge::Command(judge_command),
    facts: &[],
    basis: Basis::Statements,
    decides: Decides::Nothing,
    correction: None,
    improvement: None,
    questions: &[],
};

fn judge_command(run: &Run<'_>) -> Vec<Finding> {
    let case = Case::of_run(&DETECTOR, run);
    let found = judge(&case);
    match found {
        Ok(findings) if findings.is_empty() => vec![case.silent("")],
        Ok(findings) => findings,
        Err(halt) => vec![case.halted(halt)],
    }
}

fn judge(case: &Case<'_>) -> Result<Vec<Finding>, Halt> {
    let measurements = &case.run.manifest.measurements;
    if measurements.is_empty() {
        return Err(Halt::not_applicable("The command is the tool itself, and no script."));
    }
    let cut = measurements.iter().find(|measurement| measurement.missing_output_bytes > 0);
    if let Some(cut) = cut {
        return Err(Halt::undecided(format!(
            "A part of what measurement {} ({}) printed was not kept. It is not known which lines are the script's.",
            cut.number, cut.tool
        )));
    }
    let figures = &case.run.parsed.script_figures;
    if figures.is_empty() {
        return Err(Halt::not_applicable("The script prints no number with a unit of its own."));
    }
    let faulty = figures.iter().filter_map(|figure| Some((figure, figure.fault?, figure.origin.as_ref()?)));
    let mut findings: Vec<Finding> =
        faulty.map(|(figure, fault, origin)| finding(case, figure, fault, origin)).collect();
    let threshold = &case.thresholds().ab111_difference_fail_ratio;
    findings.extend(beyond_the_tools(&case.run, threshold.value.value).into_iter().map(|rate| beyond(case, &rate)));
    Ok(findings)
}

/// A rate or latency that is better than all that the tools printed.
fn beyond(case: &Case<'_>, Beyond { figure, best }: &Beyond<'_>) -> Finding {
    let (had, meaning) = match (figure.value.unit, figure.meant.is_empty()) {
        (Unit::Ns, is_any) => (
            match is_any {
                true => format!("No latency of its tools is below {best}"),
                false => format!("None of those that its words may mean is below {best}"),
            },
            "The number comes from none of their figures. A clock around them would give a longer time.",
        ),
        (_, is_any) => (
            match is_any {
                true => format!("Its tools together had {best} at most"),
                false => format!("The passes that its words may mean had {best} at most"),
            },
            "The number comes from none of their figures. A clock around them would give a lower rate.",
        ),
    };
    case.fires(Firing {
        weight: Weight::WarnOfRun,
        observed: Some(*best),
        threshold: Threshold { value: figure.value, source: "the script's own words".to_owned() },
        message: format!(
            "The script prints {} {} ({} line {}). {had}.",
            figure.printed.text, figure.printed.unit, figure.source.stream, figure.source.line
        ),
        meaning: meaning.to_owned(),
        advice: "print the figures of the tools, or say what the number is about".to_owned(),
    })
}

fn finding(case: &Case<'_>, figure: &ScriptFigure, fault: Fault, origin: &Origin) -> Finding {
    let claims = &case.run.parsed.claims;
    let concerned = claims.iter().filter(|claim| origin.claims.contains(&claim.id)).collect();
    let names_none = || !["read", "write"].iter().any(|word| figure.source.text.to_lowercase().contains(word));
    let (weight, meaning) = match fault {
        Fault::OtherPass => (Weight::FailOfRun, "The line names a pass. The number is the figure of another one."),
        Fault::OtherStatistic => {
            (Weight::FailOfRun, "The line names a statistic of the latencies. The number is another one.")
        }
        Fault::OtherMagnitude => (Weight::FailOfRun, "The unit behind the number is not the unit of the figure."),
        Fault::AddedDirections if names_none() => {
            (Weight::WarnOfRun, "No device reads or writes at this rate: it did both, one after the other or mixed.")
        }
        Fault::AddedDirections => (Weight::FailOfRun, "The line names one direction. The number has both added up."),
        Fault::OtherPrefix => (Weight::WarnOfRun, "A decimal prefix and a binary one are taken for each other."),
        Fault::BestOfSeveral => (Weight::WarnOfRun, "The line does not say that it is the best of several runs."),
        Fault::OtherSummary => (Weight::FailOfRun, "The line says mean or median. The number is the best of the runs."),
        Fault::Altered => (Weight::FailOfRun, "The line is one of the tool's own. Something changed the number in it."),
        Fault::OtherNumber => (
            Weight::WarnOfRun,
            "The words are those of a line of the tool, which is not in the output. The number is not.",
        ),
        Fault::Rounded => (Weight::WarnOfRun, "The digits that would show the difference are cut off."),
    };
    case.concerning(concerned).fires(Firing {
        weight,
        observed: Some(origin.value),
        threshold: Threshold { value: figure.value, source: "the script's own words".to_owned() },
        message: format!(
            "The script prints {} {} ({} line {}). {}.",
            figure.printed.text,
            figure.printed.unit,
            figure.source.stream,
            figure.source.line,
            comes_from(case, origin)
        ),
        meaning: meaning.to_owned(),
        advice: match fault {
            Fault::Altered | Fault::OtherNumber => format!("quote {}, the tool's own figure", origin.value),
            _ => format!("quote {}, and name the pass", origin.value),
        },
    })
}

/// What the number comes from, as a sentence without its full stop.
fn comes_from(case: &Case<'_>, origin: &Origin) -> String {
    let phase_of = |id: &String| {
        let claim = case.run.parsed.claims.iter().find(|claim| claim.id == *id)?;
        let phase = case.run.phases.iter().find(|phase| phase.id == claim.phase);
        Some(phase.map_or(claim.phase.as_str(), |phase| phase.name.as_str()))
    };
    match (origin.derivation, origin.claims.first().and_then(phase_of)) {
        (Derivation::Equal, None) => format!("The tool's own line has {}", origin.value),
        (Derivation::Equal, Some(phase)) => format!("The figure of the pass {phase} is {}", origin.value),
        (derivation, _) => {
            let which = derivation.as_str().strip_prefix("the ").unwrap_or("one");
            format!("The {which} of {} figures is {}", origin.claims.len(), origin.value)
        }
    }
}
