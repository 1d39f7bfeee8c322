//! The cost of empty programs on the hooks that the product uses for every system call and every request of io_uring:
//! the minimum cost of observing.
//!
//! Only for `cargo xtask overhead`. Also lists the programs that already trace the machine: another tracer on the
//! same hooks changes every figure that is measured at the same time.

use aya::programs::{BtfTracePoint, loaded_programs};
use aya::{Btf, Ebpf, EbpfLoader};
use aya_obj::btf::BtfKind;
use aya_obj::generated::bpf_prog_type;

use crate::error::{ProbeError, refusal};

/// The hooks that get an empty program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorHooks {
    /// Entry and exit of calls, submission and completion of requests of io_uring: the minimum cost of exact times.
    CallsAndRequests,
    /// `sys_exit` alone: the minimum cost of seeing every call.
    ExitOnly,
}

/// Attached empty programs; dropping this detaches them.
#[derive(Debug)]
pub struct Floor {
    _attached: Ebpf,
}

impl Floor {
    /// Attaches to the hooks, for every process of the machine.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, has no BTF, or lacks one of the hooks.
    pub fn attach(hooks: FloorHooks) -> Result<Self, ProbeError> {
        // The submission has one name before Linux 6.3 and another from there on.
        let hooks: &[&[&str]] = match hooks {
            FloorHooks::CallsAndRequests => &[
                &["sys_enter"],
                &["sys_exit"],
                &["io_uring_submit_req", "io_uring_submit_sqe"],
                &["io_uring_complete"],
            ],
            FloorHooks::ExitOnly => &[&["sys_exit"]],
        };
        let btf = Btf::from_sys_fs().map_err(|error| ProbeError::NoBtf(error.to_string()))?;
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&btf))
            .load(activebench_ebpf::EMPTY_PROGRAMS)
            .map_err(|error| refusal(&error))?;
        for names in hooks {
            let known = |name: &&&str| btf.id_by_type_name_kind(&format!("btf_trace_{name}"), BtfKind::Typedef).is_ok();
            let name = names.iter().find(known).unwrap_or(&names[0]);
            let program = ebpf
                .program_mut(name)
                .ok_or_else(|| ProbeError::Load(format!("program {name} is not in the object of empty programs")))?;
            let program: &mut BtfTracePoint =
                program.try_into().map_err(|error: aya::programs::ProgramError| ProbeError::Load(error.to_string()))?;
            program.load(name, &btf).and_then(|()| program.attach()).map_err(|error| refusal(&error.into()))?;
        }
        Ok(Self { _attached: ebpf })
    }
}

/// Returns the names of the loaded BPF programs that trace the kernel, one entry per program, whoever loaded them.
/// Leaves out programs for other uses (cgroups, network).
///
/// # Errors
/// Returns an error if the kernel does not let us list its programs.
pub fn tracing_programs() -> Result<Vec<String>, ProbeError> {
    const TRACING: &[bpf_prog_type] = &[
        bpf_prog_type::BPF_PROG_TYPE_KPROBE,
        bpf_prog_type::BPF_PROG_TYPE_TRACEPOINT,
        bpf_prog_type::BPF_PROG_TYPE_PERF_EVENT,
        bpf_prog_type::BPF_PROG_TYPE_RAW_TRACEPOINT,
        bpf_prog_type::BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE,
        bpf_prog_type::BPF_PROG_TYPE_TRACING,
    ];
    let mut names = Vec::new();
    for program in loaded_programs() {
        let program = program.map_err(|error| refusal(&error.into()))?;
        if TRACING.contains(&program.program_type()) {
            names.push(program.name_as_str().unwrap_or("a program without a name").to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_object_holds_a_program_for_each_hook_and_no_map() {
        let object = aya_obj::Object::parse(activebench_ebpf::EMPTY_PROGRAMS).expect("the committed object parses");
        let mut names: Vec<&str> = object.programs.keys().map(String::as_str).collect();
        names.sort_unstable();
        let requests = ["io_uring_complete", "io_uring_submit_req", "io_uring_submit_sqe"];
        assert_eq!(names, [&requests[..], &["sys_enter", "sys_exit"]].concat());
        assert!(object.maps.is_empty(), "{:?}", object.maps);
    }
}
