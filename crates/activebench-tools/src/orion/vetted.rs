//! The options of Orion that ask for I/O on the devices of its list alone.

use crate::vetted::Vetted;

/// Its options, without their dash.
const LISTED: &[&str] = &[
    "run",
    "testname",
    "num_disks",
    "size_small",
    "size_large",
    "type",
    "simulate",
    "write",
    "duration",
    "matrix",
    "num_small",
    "num_large",
    "num_streamIO",
    "cache_size",
    "stripe",
    "disk_start",
    "disk_end",
    "hugenotneeded",
    "verbose",
];

/// Reads `argv`, whose first word is Orion itself. The devices stand in `TESTNAME.lun`, in its working directory.
pub(super) fn vetted(argv: &[String]) -> Vetted {
    let mut vetted = Vetted { leaves_files: true, ..Vetted::default() };
    for word in argv.iter().skip(1) {
        let name = word.trim_start_matches(['-', '–']);
        match name.len() < word.len() {
            true if LISTED.contains(&name) => {}
            true => vetted.refuse_unlisted(word),
            false if word.contains('/') => vetted.refuse(word, "it names another folder"),
            false => {}
        }
    }
    vetted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io_on_the_devices_of_its_list_is_all_that_is_asked() {
        let told = |words: &str| vetted(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(told("orion -run simple -testname my -num_disks 2").refused, Vec::<String>::new());
        for word in ["-testname ../x", "-hosts x", "-", "–hosts x"] {
            assert_eq!(told(&format!("orion {word}")).refused.len(), 1, "{word}");
        }
    }
}
