//! Loads the kernel programs, several at once.
//!
//! The kernel verifies each program when it is loaded, and that is most of what starting takes: 90 ms for all of them
//! where this was written. It verifies as many at once as there are CPUs.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use aya::programs::{BtfTracePoint, Program, ProgramError};
use aya::{Btf, Ebpf};

use crate::error::ProbeError;
use crate::hooks::PROGRAMS;

/// Most threads that load. The two longest programs take as long as all others.
const MOST_THREADS: usize = 4;

/// What became of the programs that were loaded, by name.
pub(crate) type Loaded = HashMap<&'static str, Result<(), ProgramError>>;

/// Loads the first program of every hook that the kernel takes; the ones before it are refused.
///
/// # Errors
/// Returns an error if the object lacks a program.
pub(crate) fn load_all(ebpf: &mut Ebpf, btf: &Btf) -> Result<Loaded, ProbeError> {
    let mut programs: HashMap<&str, &mut Program> = ebpf.programs_mut().collect();
    // The last one is taken first, and the longest ones are the last.
    let mut waiting = Vec::with_capacity(PROGRAMS.len());
    for (_, choices) in PROGRAMS {
        let choices = choices.iter().map(|(name, point)| {
            let program = programs.remove(name);
            let program = program.ok_or_else(|| ProbeError::Load(format!("program {name} is not in the object")))?;
            Ok((*name, *point, program))
        });
        waiting.push(choices.collect::<Result<Vec<_>, ProbeError>>()?);
    }
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let loaded = Mutex::new(Loaded::new());
    let load = || {
        while let Some(choices) = next() {
            for (name, point, program) in choices {
                let result = <&mut BtfTracePoint>::try_from(program).and_then(|program| program.load(point, btf));
                let is_loaded = result.is_ok();
                loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(name, result);
                if is_loaded {
                    break;
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |cpus| cpus.get().min(MOST_THREADS));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without another thread this one loads them all.
            let _ = std::thread::Builder::new().name("activebench-load".to_owned()).spawn_scoped(scope, load);
        }
        load();
    });
    Ok(loaded.into_inner().unwrap_or_else(PoisonError::into_inner))
}
