//! `run.json` of a run, with a seal that agrees: the run is opened, checked and judged.

use std::fs;

use activebench_engine::judge::{Timelines, judge};
use activebench_record::{MANIFEST, RunReader, SEAL, sha256};

use super::{Target, content, entries, name_of};

pub(crate) fn target() -> Target {
    Target::new(
        "run-json",
        |samples| {
            let folder = tempfile::tempdir().expect("a folder");
            let run = folder.path().join("run");
            copy(&samples.join("run"), &run);
            Box::new(move |input| {
                // The folder is the closure's.
                assert!(folder.path().is_dir());
                fs::write(run.join(MANIFEST), input).expect("it is written");
                fs::write(run.join(SEAL), format!("{}  {MANIFEST}\n", sha256(input))).expect("it is written");
                let reader = match RunReader::open(&run) {
                    Ok(reader) => reader,
                    Err(error) => return assert!(!error.to_string().is_empty()),
                };
                let manifest = reader.manifest().clone();
                match judge(&run, &reader, manifest, Timelines::LeftOut) {
                    Ok(judged) => drop(serde_json::to_vec(&judged).expect("it has a JSON form")),
                    Err(error) => assert!(!format!("{error:#}").is_empty()),
                }
            })
        },
        |samples| vec![("run".to_owned(), content(&samples.join("run").join(MANIFEST)))],
    )
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir(to).expect("a folder");
    for path in entries(from) {
        let at = to.join(name_of(&path));
        match path.is_dir() {
            true => copy(&path, &at),
            false => drop(fs::copy(&path, &at).expect("a copy")),
        }
    }
}
