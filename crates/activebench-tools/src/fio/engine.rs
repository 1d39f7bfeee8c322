//! fio's engines: how each hands its work to the kernel.

use activebench_model::phase::{NameOperation, Submission};

/// What an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One call at a time.
    Synchronous,
    /// Several requests on their way.
    Asynchronous,
    /// As above, past the page cache only.
    Libaio,
    /// Through a mapping.
    Mapped,
    /// Nothing at all.
    Nothing,
    /// Names of files.
    Names(NameOperation),
    /// Computes.
    Processor,
    /// Not known: a server's protocol, an engine of somebody else.
    Other,
}

/// The kind of an engine; `None` stands for one that is not known.
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
