//! An executable of the benchmark, of which the observer looks up the names of functions.

use std::fs;
use std::path::Path;

use activebench_probe::fuzzing::names_of_places;

use super::{Target, content};

pub(crate) fn target() -> Target {
    let mut target = Target::new(
        "elf",
        |_| {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("tool");
            Box::new(move |input| {
                // The folder is the closure's.
                assert!(folder.path().is_dir());
                let bytes = input.len() as u64;
                let places = [0, 0x40, 0x1000, 0x1040, 0x2000, bytes / 2, bytes, u64::MAX - 8, u64::MAX];
                // A new inode each time: the library keeps what it read of a file.
                fs::write(&path, input).expect("it is written");
                let names = names_of_places(&path, &places).expect("it is there");
                assert_eq!(names.len(), places.len());
                assert!(names.iter().flatten().all(|name| name.len() <= 260));
                fs::remove_file(&path).expect("it is removed");
            })
        },
        |_| {
            let mut seeds = vec![
                ("bpf-empty".to_owned(), activebench_ebpf::EMPTY_PROGRAMS.to_vec()),
                ("bpf".to_owned(), activebench_ebpf::OBJECT.to_vec()),
            ];
            for path in ["/usr/bin/true", "/usr/bin/env"].map(Path::new) {
                if path.is_file() {
                    seeds.push((super::name_of(path), content(path)));
                }
            }
            seeds
        },
    );
    target.expects_panics = true;
    target
}
