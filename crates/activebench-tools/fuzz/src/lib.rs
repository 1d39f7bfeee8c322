//! What every target does with its input: a command line, what the tool wrote, and a file of it.
//!
//! The input is four pieces with a NUL byte between them: the command line (words between blanks),
//! standard output, standard error, the content of a file that the tool wrote. `cargo xtask fuzz`
//! makes the first inputs from the fixtures.

use activebench_model::activity::Activity;
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_tools::{adapter_by_name, phases_of};

/// Parses an input as the adapter's tool would have written it.
///
/// # Panics
/// When the adapter does, and when it claims what is not there: a number that is none, a line that the
/// output does not have, two claims of one name.
pub fn parse(adapter: &str, input: &[u8]) {
    let adapter = adapter_by_name(adapter).expect("the adapter is registered");
    let mut pieces = input.splitn(4, |byte| *byte == 0);
    let mut piece = || pieces.next().unwrap_or_default();
    let words = String::from_utf8_lossy(piece()).into_owned();
    let command = CommandLine { argv: words.split_whitespace().map(str::to_owned).collect(), cwd: "/".to_owned() };
    let (stdout, stderr, file) = (piece().to_vec(), piece().to_vec(), piece().to_vec());
    let name = command.argv.last().cloned().unwrap_or_default();
    let files = if file.is_empty() { Vec::new() } else { vec![ToolFile { name, bytes: file }] };
    let output = ToolOutput { stdout, stderr, files };

    let parsed = adapter.parse(&command, &output, None);
    for (index, claim) in parsed.claims.iter().enumerate() {
        assert!(claim.value.value.is_finite() && claim.value.value >= 0.0, "{claim:?}");
        assert!(claim.resolution.is_finite() && claim.resolution >= 0.0, "{claim:?}");
        assert!(claim.source.line >= 1, "{claim:?}");
        assert!(parsed.claims[..index].iter().all(|other| other.id != claim.id), "{claim:?}");
    }
    for restated in &parsed.restated {
        assert!(parsed.claims.iter().any(|claim| claim.id == restated.claim), "{restated:?}");
        assert!(restated.value.value.is_finite(), "{restated:?}");
    }
    let phases = phases_of(adapter, &command, &output, &parsed, &Activity::default());
    for claim in &parsed.claims {
        assert!(phases.iter().any(|phase| phase.id == claim.phase), "no phase for {claim:?}");
    }
    adapter.plan(&command, &output.files);
    adapter.added_arguments(&command);
    adapter.input_files(&command);
    if let Some(mut filter) = adapter.output_filter(&command) {
        let middle = output.stdout.len() / 2;
        let mut whole = filter.pass(&output.stdout[..middle]);
        whole.extend(filter.pass(&output.stdout[middle..]));
        whole.extend(filter.finish());
        assert!(whole.len() <= output.stdout.len(), "a filter takes out and adds nothing");
    }
    for file in &output.files {
        adapter.without_added(&command, file);
    }
}
