//! The files that every judgement leaves in the run directory: the stages after the evidence, and the reports.

use std::io::{self, Write};
use std::path::Path;

use activebench_detect::history::figures;
use activebench_model::report::JudgedRun;
use activebench_record::{DerivedFile, FIGURES, RecordError, RunFolder, RunReader, encode_figures};
use activebench_report::document::Document;
use activebench_report::{FORMATS, Format, Style, document_formats};
use anyhow::Context;
use serde::Serialize;

/// Writes the reports that every run directory gets, and the run's figures, into the run directory. What else can be
/// derived is computed when somebody asks for it.
pub fn write(reader: &RunReader, judged: &JudgedRun) -> anyhow::Result<()> {
    reports(judged, FORMATS.iter().copied().filter(|format| format.is_unasked), |name, bytes| {
        Ok(reader.write_derived(&name, &bytes)?)
    })?;
    Ok(reader.write_derived(FIGURES, &encode_figures(&figures(judged), reader.manifest_sha256())?)?)
}

/// Makes the files of the stages after the evidence, and a report in every format, one after the other, for who has
/// only these files; `take` gets each with its name. A file for programs that is large is compressed.
pub fn each(
    reader: &RunReader,
    judged: &JudgedRun,
    mut take: impl FnMut(String, Vec<u8>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut add = |file: DerivedFile| file.finish().map_err(Into::into).and_then(|(name, bytes)| take(name, bytes));
    add(stage("claims.json", &judged.parsed)?)?;
    add(stage("phases.json", &judged.phases)?)?;
    add(stage("facts.json", &judged.run_facts)?)?;
    add(stage("profiles.json", &judged.profiles)?)?;
    add(stage("findings.json", &judged.findings)?)?;
    reports(judged, FORMATS.iter().copied(), &mut take)?;
    take(FIGURES.to_owned(), encode_figures(&figures(judged), reader.manifest_sha256())?)
}

/// Makes the reports in these formats, one after the other.
fn reports(
    judged: &JudgedRun,
    formats: impl Iterator<Item = &'static Format>,
    mut take: impl FnMut(String, Vec<u8>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for format in formats {
        let mut file = DerivedFile::new(format!("report.{}", format.extension));
        format.write(judged, Style::default(), &mut file)?;
        let (name, bytes) = file.finish()?;
        take(name, bytes)?;
    }
    Ok(())
}

/// Returns a document in every format, each with the name of its file: `STEM.txt`.
pub fn every_format<D: Document>(stem: &str, document: &D) -> Vec<(String, Vec<u8>)> {
    document_formats()
        .filter_map(|format| {
            let text = format.render_document(document, Style::default())?;
            Some((format!("{stem}.{}", format.extension), text.into_bytes()))
        })
        .collect()
}

/// Writes a document in every format into a folder.
///
/// # Errors
/// Returns the first error after all files were tried: the document can be rendered again.
pub fn write_every_format<D: Document>(folder: &Path, stem: &str, document: &D) -> anyhow::Result<()> {
    let open = RunFolder::open(folder)?;
    let write = |(name, bytes): (String, Vec<u8>)| {
        open.replace(&name, &bytes).with_context(|| format!("cannot write {}", folder.join(&name).display()))
    };
    every_format(stem, document).into_iter().map(write).fold(Ok(()), anyhow::Result::and)
}

/// Writes the run's table of figures anew, for `history`. A folder that cannot be written is not an error: the
/// judgement does not need the table.
pub fn renew_figures(reader: &RunReader, judged: &JudgedRun) {
    let written = encode_figures(&figures(judged), reader.manifest_sha256())
        .and_then(|bytes| reader.write_derived(FIGURES, &bytes));
    match written {
        Ok(()) => {}
        Err(RecordError::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {}
        Err(error) => say!("cannot write the run's {FIGURES}: {error}"),
    }
}

fn stage<T: Serialize>(name: &str, value: &T) -> anyhow::Result<DerivedFile> {
    let mut file = DerivedFile::new(name);
    serde_json::to_writer(&mut file, value).context("cannot serialise a stage")?;
    file.write_all(b"\n")?;
    Ok(file)
}
