//! The body of the fuzz target: parses a command line, the tool's output, and a file that the tool wrote. The
//! environment names the adapter.
//!
//! The input consists of four pieces separated by NUL bytes: the command line (words between blanks),
//! standard output, standard error, the content of a file that the tool wrote. `cargo xtask fuzz`
//! makes the first inputs from the fixtures.

use std::sync::LazyLock;

use activebench_model::activity::Activity;
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_tools::{Adapter, adapter_by_name, phases_of};

/// The environment variable that names the adapter.
const NAME: &str = "ACTIVEBENCH_FUZZED_ADAPTER";

static ADAPTER: LazyLock<&dyn Adapter> = LazyLock::new(|| {
    let name = std::env::var(NAME).unwrap_or_else(|error| panic!("{NAME}: {error}"));
    adapter_by_name(&name).unwrap_or_else(|| panic!("{NAME}: no adapter for {name}"))
});

/// Parses an input as the adapter's tool would have written it.
///
/// # Panics
/// Panics if the adapter does, or if it claims something absent: text that is not a number, a line that the
/// output does not have, two claims of one name. Also if the environment names no adapter.
pub fn parse(input: &[u8]) {
    let adapter = *ADAPTER;
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
    let texts: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    if let Some(replayed) = adapter.replayed(&texts) {
        (replayed.read)(&mut output.stdout.as_slice()).expect("it is in memory");
    }
    if let Some(mut filter) = adapter.output_filter(&command) {
        let middle = output.stdout.len() / 2;
        let mut whole = filter.pass(&output.stdout[..middle]);
        whole.extend(filter.pass(&output.stdout[middle..]));
        whole.extend(filter.finish());
        assert!(whole.len() <= output.stdout.len(), "a filter takes out and adds nothing");
    }
    for file in &output.files {
        adapter.without_added(&command, file);
        adapter.included_files(file);
    }
}
