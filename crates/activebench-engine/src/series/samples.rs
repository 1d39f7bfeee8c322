//! A series on a prepared device for this crate's tests. Nothing happened in its runs.

use std::path::Path;

use activebench_model::call::DeviceNumber;
use activebench_model::command::CommandLine;
use activebench_model::preparation::{Preconditioning, Preparation, Purge};
use activebench_model::run::{Choices, Manifest};
use activebench_model::series::{FORMAT, SeriesManifest};
use activebench_record::{RunReader, RunWriter, read_series, write_series};
use tempfile::TempDir;

use crate::preparation::DIRECTORY;

/// Writes two runs; each states its preparation as `change` alters the truth.
pub(crate) fn prepared_series(change: &dyn Fn(u32, Preparation) -> Option<Preparation>) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, argv: &[&str], preparation: Option<Preparation>| {
        let directory = folder.path().join(name);
        let mut writer = RunWriter::create(&directory).expect("a run directory");
        writer.write_file("stdout.txt", b"").expect("it is written");
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        writer
            .finish(Manifest {
                command: CommandLine { argv, cwd: "/".to_owned() },
                choices: Choices { profile: "default".to_owned(), ..Choices::default() },
                preparation,
                ..Manifest::default()
            })
            .expect("it is written");
        RunReader::open(&directory).expect("a run").manifest_sha256().to_owned()
    };
    let sha256 = run(DIRECTORY, &["fio", "--name=preconditioning"], None);
    let preparation = Preparation {
        device: "/dev/sdz".to_owned(),
        number: DeviceNumber::new(8, 0),
        size_bytes: 1 << 20,
        purge: Purge::Discard,
        preconditioning: Preconditioning {
            command: vec!["fio".to_owned(), "--name=preconditioning".to_owned()],
            written_bytes: None,
            directory: DIRECTORY.to_owned(),
            sha256,
        },
    };
    for number in 1..=2 {
        run(&number.to_string(), &["true"], change(number, preparation.clone()));
    }
    let manifest = SeriesManifest {
        format: FORMAT,
        activebench: env!("CARGO_PKG_VERSION").to_owned(),
        command: CommandLine { argv: vec!["true".to_owned()], cwd: "/".to_owned() },
        planned_runs: 2,
        until: None,
        runs: vec!["1".to_owned(), "2".to_owned()],
        preconditioning: Some(DIRECTORY.to_owned()),
        choices: Choices { profile: "default".to_owned(), ..Choices::default() },
        incomplete: Vec::new(),
    };
    write_series(folder.path(), &manifest).expect("it is written");
    folder
}

/// Takes the preconditioning out of `series.json`.
pub(crate) fn forget_preconditioning(directory: &Path) {
    let manifest = read_series(directory).expect("it is read").expect("a series").manifest;
    write_series(directory, &SeriesManifest { preconditioning: None, ..manifest }).expect("it is written");
}
