//! The adapters' parsers, a target each: a command line, the tool's output, and a file that the tool wrote.
//!
//! The input consists of four pieces separated by NUL bytes: the command line (words between blanks),
//! standard output, standard error, the content of a file that the tool wrote.

use activebench_model::activity::Activity;
use activebench_model::command::CommandLine;
use activebench_model::output::{ToolFile, ToolOutput};
use activebench_tools::{ADAPTERS, Adapter, phases_of};

use super::{Seeds, Target, entries, fixtures, name_of};

/// Returns a target for each adapter.
pub(crate) fn targets() -> Vec<Target> {
    let target = |adapter: &&'static dyn Adapter| {
        let adapter = *adapter;
        Target::new(
            adapter.name(),
            move |_| Box::new(move |input| parse(adapter, input)),
            move |_| seeds(adapter.name()),
        )
    };
    ADAPTERS.iter().map(target).collect()
}

/// Returns an input for each fixture, and one for each file that its tool wrote.
fn seeds(tool: &str) -> Seeds {
    let mut seeds = Vec::new();
    for case in entries(&fixtures().join(tool)).into_iter().filter(|path| path.is_dir()) {
        // A stream that is not there was empty, or is that of another case.
        let read = |file: &str| std::fs::read(case.join(file)).unwrap_or_default();
        let provenance = String::from_utf8_lossy(&read("provenance.toml")).into_owned();
        let command = provenance.lines().find_map(|line| line.strip_prefix("command = ")).unwrap_or_default();
        let command = command.trim_matches('"').as_bytes();
        let printed = [command, &read("stdout.txt"), &read("stderr.txt")].join(&0);
        let name = name_of(&case);
        for other in entries(&case).iter().map(|path| name_of(path)) {
            if !["provenance.toml", "stdout.txt", "stderr.txt"].contains(&other.as_str()) {
                seeds.push((format!("{name}-{other}"), [printed.as_slice(), &read(&other)].join(&0)));
            }
        }
        seeds.push((name, printed));
    }
    seeds
}

/// Parses an input as the adapter's tool would have written it.
///
/// # Panics
/// Panics if the adapter does, or if it claims something absent: text that is not a number, a line that the
/// output does not have, two claims of one name.
fn parse(adapter: &dyn Adapter, input: &[u8]) {
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
