//! The sampling clock: one software event per CPU, whose program takes a sample when a task of the tree is running
//! there.

use activebench_model::coverage::ProbeStatus;
use activebench_model::hook::Hook;
use aya::Ebpf;
use aya::programs::perf_event::{PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{PerfEvent, ProgramFd};
use aya::util::online_cpus;

use crate::error::ProbeError;

/// Name of the program in the object.
const PROGRAM: &str = "sample_cpu";

/// The attached clock.
#[derive(Debug)]
pub(crate) struct Sampler {
    links: Vec<PerfEventLinkId>,
}

impl Sampler {
    /// Attaches to every CPU. If that is refused, there are no samples and the status has the reason; the rest of the
    /// observation does not depend on it.
    pub(crate) fn attach(ebpf: &mut Ebpf, frequency_hz: u32) -> (Self, ProbeStatus) {
        let mut sampler = Self { links: Vec::new() };
        let why_not = sampler.try_attach(ebpf, frequency_hz).err();
        let status = ProbeStatus { hook: Hook::CpuClock, attached: why_not.is_none(), why_not, missed: 0 };
        (sampler, status)
    }

    fn try_attach(&mut self, ebpf: &mut Ebpf, frequency_hz: u32) -> Result<(), String> {
        let program = program(ebpf).map_err(|error| error.to_string())?;
        program.load().map_err(|error| text(&error))?;
        let cpus = online_cpus().map_err(|(what, error)| format!("cannot read {what}: {error}"))?;
        for cpu in cpus {
            let link = program.attach(
                PerfEventConfig::Software(SoftwareEvent::CpuClock),
                PerfEventScope::AllProcessesOneCpu { cpu },
                SamplePolicy::Frequency(u64::from(frequency_hz)),
                false,
            );
            match link {
                Ok(link) => self.links.push(link),
                Err(error) => {
                    let why = format!("cpu {cpu}: {}", text(&error));
                    // Samples of only some CPUs would be mistaken for the whole.
                    for link in self.links.drain(..) {
                        program.detach(link).map_err(|error| text(&error))?;
                    }
                    return Err(why);
                }
            }
        }
        Ok(())
    }

    /// Stops the clock.
    pub(crate) fn detach(self, ebpf: &mut Ebpf) -> Result<(), ProbeError> {
        for link in self.links {
            program(ebpf)?.detach(link).map_err(|error| ProbeError::Load(error.to_string()))?;
        }
        Ok(())
    }
}

/// Returns the descriptor of the clock's program; `None` when it is not loaded.
pub(crate) fn descriptor(ebpf: &Ebpf) -> Option<&ProgramFd> {
    <&PerfEvent>::try_from(ebpf.program(PROGRAM)?).ok()?.fd().ok()
}

fn program(ebpf: &mut Ebpf) -> Result<&mut PerfEvent, ProbeError> {
    ebpf.program_mut(PROGRAM)
        .ok_or_else(|| ProbeError::Load(format!("program {PROGRAM} is not in the object")))?
        .try_into()
        .map_err(|error: aya::programs::ProgramError| ProbeError::Load(error.to_string()))
}

/// Formats an error with its causes, in one line.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let error_text = error.to_string();
        if !text.contains(&error_text) {
            text = format!("{text}: {error_text}");
        }
        cause = error.source();
    }
    text.replace('\n', " ")
}
