//! The claims, verdicts and phases of a run by their ids.

use std::collections::HashMap;

use activebench_model::claim::Claim;
use activebench_model::phase::Phase;
use activebench_model::report::JudgedRun;
use activebench_model::verdict::JudgedClaim;

/// Built once for a report: a search for each finding would take time with the square of the claims.
pub(crate) struct Lookup<'run> {
    claims: HashMap<&'run str, &'run Claim>,
    first_claims: HashMap<&'run str, &'run Claim>,
    judged: HashMap<&'run str, &'run JudgedClaim>,
    phases: HashMap<&'run str, &'run Phase>,
}

/// Collects values by key; of several with one key the first counts.
fn by_key<'run, T>(values: &'run [T], key: impl Fn(&'run T) -> &'run str) -> HashMap<&'run str, &'run T> {
    values.iter().rev().map(|value| (key(value), value)).collect()
}

impl<'run> Lookup<'run> {
    pub(crate) fn of(run: &'run JudgedRun) -> Self {
        Self {
            claims: by_key(&run.parsed.claims, |claim| &claim.id),
            first_claims: by_key(&run.parsed.claims, |claim| &claim.phase),
            judged: by_key(&run.judged, |judged| &judged.claim),
            phases: by_key(&run.phases, |phase| &phase.id),
        }
    }

    /// Returns the claim with this id.
    pub(crate) fn claim(&self, id: &str) -> Option<&'run Claim> {
        self.claims.get(id).copied()
    }

    /// Returns the first claim on the phase with this id.
    pub(crate) fn first_claim_of(&self, phase: &str) -> Option<&'run Claim> {
        self.first_claims.get(phase).copied()
    }

    /// Returns the verdict on a claim.
    pub(crate) fn judged(&self, claim: &Claim) -> Option<&'run JudgedClaim> {
        self.judged.get(claim.id.as_str()).copied()
    }

    /// Returns the phase with this id.
    pub(crate) fn phase(&self, id: &str) -> Option<&'run Phase> {
        self.phases.get(id).copied()
    }
}
