//! fio's engines and the way in which each submits its work to the kernel.

use activebench_model::phase::{NameOperation, Submission};

/// The kind of I/O that an engine makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One call at a time.
    Synchronous,
    /// Several requests in flight.
    Asynchronous,
    /// Several requests in flight, only past the page cache.
    Libaio,
    /// Through a mapping.
    Mapped,
    /// No I/O at all.
    Nothing,
    /// Operations on file names.
    Names(NameOperation),
    /// Computation.
    Processor,
    /// Unknown: a server's protocol, a third-party engine.
    Other,
}

/// Returns the kind of an engine; `None` is an unknown engine.
pub(super) fn kind(engine: Option<&str>) -> Kind {
    let Some(engine) = engine else { return Kind::Other };
    match engine {
        "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" | "splice" | "ftruncate" | "falloc" | "e4defrag" => {
            Kind::Synchronous
        }
        "libaio" => Kind::Libaio,
        "io_uring" | "posixaio" | "solarisaio" | "io_uring_cmd" => Kind::Asynchronous,
        "mmap" => Kind::Mapped,
        "null" => Kind::Nothing,
        "filecreate" => Kind::Names(NameOperation::Create),
        "filestat" => Kind::Names(NameOperation::Stat),
        "filedelete" => Kind::Names(NameOperation::Delete),
        "cpuio" => Kind::Processor,
        _ => Kind::Other,
    }
}

impl Kind {
    pub(super) fn submission(self) -> Submission {
        match self {
            Kind::Synchronous | Kind::Names(_) => Submission::Synchronous,
            Kind::Asynchronous => Submission::Asynchronous,
            Kind::Libaio => Submission::AsynchronousIfDirect,
            Kind::Mapped => Submission::Mapped,
            Kind::Nothing | Kind::Processor => Submission::Nothing,
            Kind::Other => Submission::Unknown,
        }
    }
}
