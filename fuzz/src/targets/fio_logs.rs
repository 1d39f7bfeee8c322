//! A log of I/O that fio would replay: text of versions 2 and 3, and blktrace's binary one.

use activebench_tools::adapter_by_name;

use super::Target;

pub(crate) fn target() -> Target {
    Target::new(
        "fio-logs",
        |_| {
            let fio = adapter_by_name("fio").expect("an adapter");
            let replayed = fio.replayed(&["--read_iolog=log"]).expect("it replays a log");
            Box::new(move |input| {
                let mut bytes = input;
                let logged = (replayed.read)(&mut bytes).expect("it is in memory");
                let named: usize = logged.files.iter().map(String::len).sum();
                // A byte that is not UTF-8 ends the reading, so no character is replaced by a longer one.
                assert!(named <= input.len(), "no name is made up");
                let text = String::from_utf8_lossy(input);
                fio.replayed(&[&text]).expect("it names its logs");
            })
        },
        |_| {
            let mut blktrace = Vec::new();
            for number in 0..4_u64 {
                // `struct blk_io_trace` of include/uapi/linux/blktrace_api.h: magic and version, sequence, time, sector, ...
                blktrace.extend_from_slice(&0x6561_7407_u32.to_le_bytes());
                blktrace.extend_from_slice(&(number as u32).to_le_bytes());
                blktrace.extend_from_slice(&(number * 1000).to_le_bytes());
                blktrace.extend_from_slice(&(number * 8).to_le_bytes());
                blktrace.extend_from_slice(&[0; 24]);
            }
            let text = |text: &str| text.as_bytes().to_vec();
            vec![
                (
                    "version-2".to_owned(),
                    text(
                        "fio version 2 iolog\n/mnt/x add\n/mnt/x open\n/mnt/x write 0 4096\n/mnt/x sync 0 0\n/mnt/x close\n",
                    ),
                ),
                (
                    "version-3".to_owned(),
                    text(
                        "fio version 3 iolog\n0 /mnt/x add\n0 /mnt/x open\n10 /mnt/x read 0 4096\n20 /mnt/x trim 8 8\n",
                    ),
                ),
                ("options".to_owned(), text("[job]\nread_iolog=a\\:b:c\nreplay_redirect=/dev/null\n--read_iolog = x")),
                ("blktrace".to_owned(), blktrace),
            ]
        },
    )
}
