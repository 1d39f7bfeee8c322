//! A bundle. The input is the archive, which is packed here: the checksum of a changed packed one hides the rest. An
//! input that is packed already is taken as it is.

use std::fs;

use activebench_bundle::{Limits, unpack};

use super::{Target, content};

const PACKED: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

pub(crate) fn target() -> Target {
    Target::new(
        "bundle",
        |_| {
            let folder = tempfile::tempdir().expect("a folder");
            Box::new(move |input| {
                let (packed, into) = (folder.path().join("bundle"), folder.path().join("into"));
                let bytes = match input.starts_with(&PACKED) {
                    true => input.to_vec(),
                    false => zstd::bulk::compress(input, 1).expect("it is packed"),
                };
                fs::write(&packed, bytes).expect("it is written");
                fs::create_dir(&into).expect("a folder");
                let limits = Limits { unpacked_bytes: 64 << 20, ..Limits::default() };
                if let Err(error) = unpack(&packed, &into, limits, None) {
                    assert!(!error.to_string().is_empty());
                }
                let beside = fs::read_dir(folder.path()).expect("a folder").count();
                assert_eq!(beside, 2, "nothing is written beside the folder of the bundle");
                fs::remove_dir_all(&into).expect("it is removed");
            })
        },
        |samples| {
            let packed = content(&samples.join("bundle.tar.zst"));
            let archive = zstd::decode_all(packed.as_slice()).expect("our own bundle");
            vec![("archive".to_owned(), archive), ("packed".to_owned(), packed)]
        },
    )
}
