//! An acceptance file: read, and its faults shown with their places in the text.

use activebench_detect::acceptance::AcceptanceFile;
use activebench_detect::thresholds::Thresholds;

use super::{Target, content};

pub(crate) fn target() -> Target {
    Target::new(
        "acceptance",
        |_| Box::new(feed),
        |_| {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            let page = String::from_utf8(content(&folder.join("../docs/accept.md"))).expect("text");
            let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
            let of_page = blocks.map(str::to_owned);
            let sources = content(&folder.join("../crates/activebench-detect/src/acceptance/file.rs"));
            let sources = String::from_utf8(sources).expect("text");
            let of_tests = sources.split("r#\"").skip(1).filter_map(|rest| rest.split("\"#").next()).map(str::to_owned);
            let all = of_page.chain(of_tests).enumerate();
            all.map(|(number, text)| (format!("file-{number}"), text.into_bytes())).collect()
        },
    )
}

fn feed(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match AcceptanceFile::parse("offer.toml", text) {
        Ok(file) => {
            for benchmark in &file.benchmarks {
                let choices = file.choices(benchmark, None);
                if let Some(thresholds) = choices.thresholds {
                    let base = Thresholds::profile("default").expect("it exists");
                    base.overridden(&thresholds.text, &thresholds.file)
                        .expect("the thresholds of a file that is right");
                }
            }
        }
        Err(faults) => assert!(!faults.to_string().is_empty()),
    }
}
