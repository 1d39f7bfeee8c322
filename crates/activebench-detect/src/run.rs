//! The input of a detector: one judged run, before judgement.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};

use activebench_model::advice::Advisor;
use activebench_model::claim::{Claim, Parsed, Restated, Subject};
use activebench_model::fact::{FactName, Facts};
use activebench_model::host::Target;
use activebench_model::measurement::Measurement;
use activebench_model::phase::{Direction, Part, Phase};
use activebench_model::run::Manifest;
use activebench_model::series::{Repeated, RunOfSeries, SeriesManifest, Steadiness};
use activebench_model::thread_stacks::Profiles;

use crate::evidence::rebuilt_figure::Rebuilt;
use crate::thresholds::Thresholds;

/// The stored run as detectors see it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Command, host, coverage, how the child ended.
    pub manifest: &'a Manifest,
    /// Claims, notes, the tool's own errors.
    pub parsed: &'a Parsed,
    /// Phases with their facts.
    pub phases: &'a [Phase],
    /// Facts on the whole run.
    pub facts: &'a Facts,
    /// Where the time of the threads went, and in which functions.
    pub profiles: &'a Profiles,
    /// The thresholds of the chosen profile.
    pub thresholds: &'a Thresholds,
    /// Who knows the tool's options.
    pub advisor: &'a dyn Advisor,
    /// What was looked up and computed so far; empty before the judgement.
    pub index: &'a RunIndex,
    /// The measurement, where this is one of several.
    pub part: Option<PartOfRun<'a>>,
}

/// One of several measurements of a run.
#[derive(Clone, Copy, Debug)]
pub struct PartOfRun<'a> {
    /// The measurement.
    pub measurement: &'a Measurement,
    /// What is missing of its output, as lower-case fragments.
    pub missing: &'a [String],
    /// It moved data between pipes and devices without storage: its figures are let go of.
    pub is_about_no_storage: bool,
}

/// What the detectors, verdicts and corrections of one judgement look up again and again, filled when it is first
/// needed. It belongs to one run.
#[derive(Debug, Default)]
pub struct RunIndex {
    /// The figures of claims, rebuilt from the observation, by claim.
    pub(crate) rebuilt: RefCell<BTreeMap<String, Result<Rebuilt, String>>>,
    /// Places of the claims on each phase, by its id.
    claims: OnceCell<HashMap<String, Vec<usize>>>,
    /// Place of each phase, by its id.
    phases: OnceCell<HashMap<String, usize>>,
    /// Places of the second statements of each claim, by its id.
    restated: OnceCell<HashMap<String, Vec<usize>>>,
}

impl<'a> Run<'a> {
    /// Returns the tool's own words.
    pub(crate) fn argv(&self) -> &'a [String] {
        self.part.map_or_else(|| self.manifest.tool_argv(), |part| &part.measurement.command.argv)
    }

    /// Returns the tool's name for the beginning of a sentence; `The tool` where no adapter knows it.
    pub(crate) fn tool(&self) -> &'a str {
        if self.parsed.tool.is_empty() { "The tool" } else { &self.parsed.tool }
    }

    /// Returns `true` if an adapter knows the tool.
    pub fn has_adapter(&self) -> bool {
        !self.parsed.tool.is_empty()
    }

    /// Returns `true` if something can be claimed: an adapter knows the tool, or numbers of its output were found to be
    /// about its I/O.
    pub fn has_claims(&self) -> bool {
        self.has_adapter() || !self.parsed.claims.is_empty()
    }

    /// The claims on a phase, in the order of the output.
    pub fn claims_of(&self, phase: &Phase) -> impl Iterator<Item = &'a Claim> + use<'a> {
        let claims = &self.parsed.claims;
        let by_phase = self.index.claims.get_or_init(|| {
            let mut by_phase: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, claim) in claims.iter().enumerate() {
                by_phase.entry(claim.phase.clone()).or_default().push(place);
            }
            by_phase
        });
        by_phase.get(&phase.id).map_or(&[][..], Vec::as_slice).iter().map(|place| &claims[*place])
    }

    /// What the output states a second time of a claim, in the order of the output.
    pub(crate) fn restated_of(&self, claim: &Claim) -> impl Iterator<Item = &'a Restated> + use<'a> {
        let restated = &self.parsed.restated;
        let by_claim = self.index.restated.get_or_init(|| {
            let mut by_claim: HashMap<String, Vec<usize>> = HashMap::new();
            for (place, again) in restated.iter().enumerate() {
                by_claim.entry(again.claim.clone()).or_default().push(place);
            }
            by_claim
        });
        by_claim.get(&claim.id).map_or(&[][..], Vec::as_slice).iter().map(|place| &restated[*place])
    }

    /// Returns the phase that a claim belongs to.
    pub fn phase_of(&self, claim: &Claim) -> Option<&'a Phase> {
        self.phase(&claim.phase)
    }

    /// Returns the phase with this id; the first one where several have it.
    pub(crate) fn phase(&self, id: &str) -> Option<&'a Phase> {
        let by_id = self.index.phases.get_or_init(|| {
            let places = self.phases.iter().enumerate().rev();
            places.map(|(place, phase)| (phase.id.clone(), place)).collect()
        });
        by_id.get(id).map(|place| &self.phases[*place])
    }

    /// Returns the subject of a claim: the user's `--subject` if it was given,
    /// otherwise what the adapter proposed.
    pub fn subject_of(&self, claim: &Claim) -> Subject {
        self.manifest.choices.subject.unwrap_or(claim.subject)
    }

    /// The rates on a phase that the reader takes for what storage did. Counted bytes are
    /// left out: whatever the cache or the clock did, they stay what they are.
    pub fn storage_rates_of(&self, phase: &Phase) -> Vec<&'a Claim> {
        self.claims_of(phase)
            .filter(|claim| self.subject_of(claim).is_storage())
            .filter(|claim| !claim.metric.is_count() && !claim.metric.is_cpu())
            .collect()
    }

    /// Returns the storage below the phase's first file; `None` if the phase does not have a file or its file
    /// system is not known.
    pub fn target_of(&self, phase: &Phase) -> Option<&'a Target> {
        self.manifest.host.target_of(phase.parts.first()?.file)
    }

    /// The file system and devices below the phase's files, or the sentence that says that they are not known.
    ///
    /// # Errors
    /// As for [`Run::target_of`], when it finds none.
    pub fn known_target(&self, phase: &Phase) -> Result<&'a Target, String> {
        self.target_of(phase).ok_or_else(|| "The storage below the file is not known.".to_owned())
    }

    /// A fact of a phase seen whole, or the sentence that says what is in the way.
    ///
    /// # Errors
    /// When the fact was not computed, is missing, or is partial.
    pub fn fact(&self, phase: &Phase, name: FactName) -> Result<f64, String> {
        phase.facts.complete(name)
    }

    /// The phase of the other direction of a mix that the tool reports apart. Records of before named it by its parts.
    pub(crate) fn counterpart(&self, phase: &Phase, direction: Direction) -> Option<&'a Phase> {
        let same = |one: &Part, other: &Part| {
            (one.tgid, one.fd, one.start_ns) == (other.tgid, other.fd, other.start_ns) && one.tids == other.tids
        };
        if let Some(id) = phase.mix.as_ref().and_then(|mix| mix.other_phase.as_ref()) {
            return self.phase(id).filter(|other| other.direction == direction);
        }
        self.phases.iter().find(|other| {
            let shares = || other.parts.iter().any(|part| phase.parts.iter().any(|own| same(own, part)));
            other.direction == direction && phase.mix.is_some() && other.mix.is_some() && shares()
        })
    }

    /// The other direction of a mix that is reported apart; `None` where there is none.
    pub(crate) fn other_direction(&self, phase: &Phase) -> Option<&'a Phase> {
        match phase.direction {
            Direction::Read => self.counterpart(phase, Direction::Write),
            Direction::Write => self.counterpart(phase, Direction::Read),
            _ => None,
        }
    }

    /// Returns `true` if the phase mapped its files.
    pub(crate) fn maps_files(&self, phase: &Phase) -> bool {
        phase.facts.complete(FactName::Mappings).is_ok_and(|mappings| mappings > 0.0)
    }
}

/// Repeated runs as the detectors of a series see them.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// Which runs belong to it.
    pub manifest: &'a SeriesManifest,
    /// The runs, in order.
    pub runs: &'a [RunOfSeries],
    /// Their figures, see [`crate::series::statistics::figures`].
    pub figures: &'a [Repeated],
    /// How steady the first rate of each phase was.
    pub steadiness: &'a [Steadiness],
    /// The thresholds of the chosen profile.
    pub thresholds: &'a Thresholds,
}
