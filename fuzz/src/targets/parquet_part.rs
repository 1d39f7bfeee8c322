//! A part of a table. The first byte chooses the table, the rest is the file.

use activebench_record::fuzzing::{TABLES, read_part, uncompressed};

use super::{Target, content, entries, name_of};

pub(crate) fn target() -> Target {
    Target::new(
        "parquet-part",
        |_| {
            Box::new(|input| {
                let Some((table, file)) = input.split_first() else { return };
                let table = TABLES[usize::from(*table) % TABLES.len()];
                if let Err(error) = read_part(table, file.to_vec()) {
                    assert!(!error.to_string().is_empty());
                }
            })
        },
        |samples| {
            let mut seeds = Vec::new();
            for part in entries(&samples.join("run/events")) {
                let name = name_of(&part);
                let Some(number) = TABLES.iter().position(|table| name.starts_with(&format!("{table}-"))) else {
                    continue;
                };
                let bytes = content(&part);
                let plain = uncompressed(TABLES[number], bytes.clone()).expect("our own part");
                seeds.push((name.clone(), [vec![number as u8], bytes].concat()));
                seeds.push((format!("{name}-plain"), [vec![number as u8], plain].concat()));
            }
            seeds
        },
    )
}
