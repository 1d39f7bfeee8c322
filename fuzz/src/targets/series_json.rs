//! `series.json`.

use std::fs;

use activebench_model::series::{FORMAT, SeriesManifest, Until};
use activebench_record::read_series;

use super::Target;

pub(crate) fn target() -> Target {
    Target::new(
        "series-json",
        |_| {
            let folder = tempfile::tempdir().expect("a folder");
            Box::new(move |input| {
                fs::write(folder.path().join("series.json"), input).expect("it is written");
                match read_series(folder.path()) {
                    Ok(series) => {
                        let series = series.expect("the file is there");
                        let names = series.manifest.runs.iter().chain(&series.manifest.preconditioning);
                        for name in names {
                            assert!(!name.starts_with('/') && !name.split('/').any(|part| part == ".."), "{name:?}");
                        }
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            })
        },
        |_| {
            let series = SeriesManifest {
                format: FORMAT,
                activebench: "0.1.0".to_owned(),
                command: Default::default(),
                planned_runs: 5,
                until: Some(Until::MedianWithin { ratio: 0.05 }),
                runs: vec!["1".to_owned(), "2".to_owned()],
                preconditioning: Some("preconditioning".to_owned()),
                choices: Default::default(),
                incomplete: vec!["interrupted".to_owned()],
            };
            vec![("series".to_owned(), serde_json::to_vec_pretty(&series).expect("JSON"))]
        },
    )
}
