//! `activebench accept`: a suite of benchmarks against limits that two parties agreed on.
//!
//! `activebench-detect` reads the file and judges. This module touches the machine: it checks the file against the
//! machine, runs the suite, and finds stored runs.

mod check;
mod record;
mod stored;
mod template;

use std::path::{Path, PathBuf};

use activebench_detect::acceptance::{AcceptanceFile, Faults};
use activebench_model::acceptance::Acceptance;
use activebench_report::acceptance::{ACCEPTANCE_FORMATS, render};
use activebench_report::escape::terminal;
use anyhow::{Context, anyhow};

use crate::arguments::{Accept, FailOnArgument, Output};
use crate::exit::{ExitCode, Failure, OrExit};
use crate::{output, print};

/// Maximum size of an acceptance file in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// The copy of the file in the directory of a recorded suite.
const AGREED: &str = "acceptance.toml";

/// An acceptance file that was read.
struct Agreed {
    /// Its path as the user named it.
    path: PathBuf,
    text: String,
    sha256: String,
    file: AcceptanceFile,
}

impl Agreed {
    fn read(path: &Path) -> Result<Self, Failure> {
        let about = || format!("cannot read the acceptance file {}", path.display());
        let length = std::fs::metadata(path).with_context(about).or_exit(ExitCode::Usage)?.len();
        if length > MOST_BYTES {
            let error = anyhow!("{}: it has {length} bytes, more than {MOST_BYTES}", about());
            return Err(Failure::new(ExitCode::Usage, error));
        }
        let bytes = std::fs::read(path).with_context(about).or_exit(ExitCode::Usage)?;
        let sha256 = activebench_record::sha256(&bytes);
        let text = String::from_utf8(bytes).with_context(about).or_exit(ExitCode::Usage)?;
        let file = AcceptanceFile::parse(&path.display().to_string(), &text).map_err(unusable)?;
        Ok(Self { path: path.to_owned(), text, sha256, file })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Turns the faults of a file into an error. The text of its authors is escaped line by line.
fn unusable(faults: Faults) -> Failure {
    let shown: Vec<String> = faults.to_string().lines().map(terminal).collect();
    let hint = "(hint: `activebench accept --init TARGET` writes a file to begin with)";
    Failure::new(ExitCode::Usage, anyhow!("{}\n\n{hint}", shown.join("\n")))
}

/// Runs the command; returns the exit code.
pub(crate) fn main(arguments: &Accept) -> Result<i32, Failure> {
    if let Some(target) = &arguments.init {
        return template::main(target, arguments.file.as_deref());
    }
    let output = Output { formats: arguments.formats.clone(), fail_on: FailOnArgument::Fail, quiet: arguments.quiet };
    output::formats_exist(&output, "an acceptance", &ACCEPTANCE_FORMATS)?;
    let path = arguments.file.as_deref().context("no acceptance file was named").or_exit(ExitCode::Usage)?;
    let agreed = Agreed::read(path)?;
    if arguments.check {
        let checked = check::check(&agreed)?;
        print(&check::summary(&agreed, &checked))?;
        return Ok(0);
    }
    if arguments.runs.is_empty() {
        return record::main(arguments, &agreed, &output);
    }
    let judged = stored::judged(&agreed, &arguments.runs)?;
    show(&judged, &output)?;
    Ok(judged.exit_code)
}

/// Writes the reports that the user asked for; by default one as text to standard output.
fn show(judged: &Acceptance, output: &Output) -> Result<(), Failure> {
    output::deliver(output, |request, style, out| output::write_text(render(&request.format, judged, style), out))
}
