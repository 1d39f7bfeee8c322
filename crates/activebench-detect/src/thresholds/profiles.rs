//! The profiles: named sets of thresholds, each changed one with the rule that it quotes.
//!
//! Thresholds that a profile does not name are as in `default`. Requirements of its source that no detector can
//! derive from one run (a purge before it, a new seed for each of five) are not here: the reader
//! of such a figure has to ask for it.

/// A named set of thresholds.
#[derive(Debug)]
pub struct Profile {
    /// As given to `--profile`.
    pub name: &'static str,
    /// Whose rules these are, for help.
    pub about: &'static str,
    /// `true` if each warning counts as a failure.
    pub warn_counts_as_fail: bool,
    /// `true` if figures that are not in steady state are misleading (AB702).
    pub steady_state_required: bool,
    /// `true` if the run itself must have preconditioned the device (AB606).
    pub requires_preconditioning: bool,
    /// Thresholds that differ from `default` or have the rule as their origin: name, value, rule.
    pub(crate) rules: &'static [(&'static str, f64, &'static str)],
}

const SECOND_NS: f64 = 1e9;

/// Every profile, in the order in which help shows them.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        about: "what each detector says of itself",
        warn_counts_as_fail: false,
        steady_state_required: false,
        requires_preconditioning: false,
        rules: &[],
    },
    Profile {
        name: "strict",
        about: "as default, and each warning counts as a failure",
        warn_counts_as_fail: true,
        steady_state_required: false,
        requires_preconditioning: false,
        rules: &[],
    },
    Profile {
        name: "pts",
        about: "SNIA Solid State Storage Performance Test Specification 2.0.2: preconditioning, steady state, rounds of a minute, data that cannot be reduced",
        warn_counts_as_fail: false,
        steady_state_required: true,
        requires_preconditioning: true,
        rules: &[
            ("ab701_window_warn_ns", 60.0 * SECOND_NS, "SNIA PTS 2.0.2: a round lasts 1 minute (as TKperf runs it)"),
            ("ab404_compressed_least_ratio", 0.9, "SNIA PTS 2.0.2: the data pattern is random"),
            ("ab405_duplicates_fail_ratio", 0.01, "SNIA PTS 2.0.2: the data pattern is random"),
        ],
    },
    Profile {
        name: "io500",
        about: "IO500: writing for 300 s and more, durable inside the measured time, not reduced by its content",
        warn_counts_as_fail: false,
        steady_state_required: false,
        requires_preconditioning: false,
        rules: &[
            (
                "ab701_write_window_fail_ns",
                300.0 * SECOND_NS,
                "IO500 rules: create and write phases run for at least 300 s",
            ),
            ("ab301_unsynced_warn_ratio", 0.0, "IO500 rule 6: all data is persistent within the measured time"),
            ("ab301_unsynced_fail_ratio", 0.0, "IO500 rule 6: all data is persistent within the measured time"),
            (
                "ab302_late_sync_fail_ratio",
                0.01,
                "IO500 rule 6: all data is persistent within the measured time; 1 % is for the clocks",
            ),
            ("ab405_duplicates_fail_ratio", 0.01, "IO500 rule 7: data is not reduced by its content"),
        ],
    },
    Profile {
        name: "mlperf",
        about: "MLPerf Storage: reading five times the memory of the clients",
        warn_counts_as_fail: false,
        steady_state_required: false,
        requires_preconditioning: false,
        rules: &[(
            "ab202_required_memory_ratio",
            5.0,
            "MLPerf Storage rules: the data set is at least 5 times the memory of the clients",
        )],
    },
    Profile {
        name: "bonnie",
        about: "bonnie++: a file of twice the memory, phases of half a second and more",
        warn_counts_as_fail: false,
        steady_state_required: false,
        requires_preconditioning: false,
        rules: &[
            ("ab202_required_memory_ratio", 2.0, "bonnie++ refuses a file of less than twice the memory"),
            ("ab701_window_warn_ns", 0.5 * SECOND_NS, "bonnie++ prints +++++ for less than half a second"),
        ],
    },
];

/// The profile of a name.
pub fn find(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

/// Names of the profiles, in their order.
pub fn names() -> Vec<&'static str> {
    PROFILES.iter().map(|profile| profile.name).collect()
}
