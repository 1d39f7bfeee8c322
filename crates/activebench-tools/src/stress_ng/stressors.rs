//! Stressors of storage whose bogo operations are not certain calls.
//!
//! Their figures are claims, so that a report says of each why it cannot be verified. What one of their bogo operations
//! is differs between versions of stress-ng, and most count several kinds of calls or leave some out.

/// A stressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stressor {
    pub(super) name: &'static str,
    /// Why its figures cannot be verified, as a fragment.
    pub(super) why: &'static str,
}

/// One of which nothing more is known.
const UNKNOWN: &str = "no calls are known to be the bogo operations of this stressor";

const OF_STORAGE: &[Stressor] = &[
    Stressor {
        name: "iomix",
        why: "a bogo operation of iomix is a read, a write or an fsync of one of many processes, and some of their calls are not \
              counted",
    },
    Stressor { name: "io", why: "a bogo operation of io is a sync of all file systems, and moves the data of others" },
    Stressor { name: "aio", why: UNKNOWN },
    Stressor { name: "aiol", why: UNKNOWN },
    Stressor { name: "copy-file", why: UNKNOWN },
    Stressor { name: "fallocate", why: UNKNOWN },
    Stressor { name: "io-uring", why: UNKNOWN },
    Stressor { name: "rawdev", why: UNKNOWN },
    Stressor { name: "readahead", why: UNKNOWN },
    Stressor { name: "revio", why: UNKNOWN },
    Stressor { name: "seek", why: UNKNOWN },
    Stressor { name: "sync-file", why: UNKNOWN },
];

/// Returns the stressor of a row.
pub(super) fn of_storage(name: &str) -> Option<&'static Stressor> {
    OF_STORAGE.iter().find(|stressor| stressor.name == name)
}

/// Returns those that a command asks for.
pub(super) fn asked(options: &[(String, Option<String>)]) -> Vec<&'static Stressor> {
    let is_asked = |stressor: &&Stressor| {
        options.iter().any(|(option, _)| option.strip_prefix("--").is_some_and(|option| option == stressor.name))
    };
    OF_STORAGE.iter().filter(is_asked).collect()
}
