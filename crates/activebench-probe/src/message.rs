//! Messages between the two processes of an observation: JSON, with descriptors beside it, over a local socket that
//! keeps messages apart.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use activebench_model::coverage::OtherTracer;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::kept_records::Extent;
use crate::kernel::ProbeOptions;
use crate::live::LiveFigures;

/// Maximum bytes of a message. Anything larger is passed in a file.
const MOST_BYTES: usize = 128 << 10;
/// Maximum descriptors of a message.
const MOST_DESCRIPTORS: usize = 2;

/// A request to the privileged process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// List the tracing programs of others.
    OtherTracers,
    /// Load and attach. The descriptor is the spool file, if there is one.
    Attach(Box<ProbeOptions>),
    /// Follow a process from here on. The descriptor is its pidfd.
    Follow {
        /// Its number, for messages.
        pid: u32,
        /// The process that started it.
        parent: u32,
        /// Now.
        now_ns: u64,
    },
    /// Follow a process that runs already, and its descendants. The descriptor is its pidfd.
    Join {
        /// Its number.
        pid: u32,
    },
    /// Report the figures so far.
    Live,
    /// Forget the observation that was handed over: its record is kept.
    Kept,
    /// Detach, and hand over the observation.
    Finish {
        /// Duration of the run.
        run_ns: u64,
    },
}

/// The answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// It is done.
    Done,
    /// The observation has begun.
    Attached {
        /// The observer, as the benchmark has to know it to be traced.
        observer: u32,
    },
    /// It failed.
    Failed(String),
    /// The kernel permits no kernel programs, with the reason.
    NotPermitted(String),
    /// A process may not be watched, with the reason.
    Refused(String),
    /// The tracing programs of others.
    OtherTracers(Vec<OtherTracer>),
    /// The processes that ran already and are followed.
    Joined {
        /// Their number.
        processes: u64,
        /// The number of their threads.
        threads: u64,
    },
    /// The figures so far.
    Live(LiveFigures),
    /// The observation. The first descriptor is its memory, the second one its spool file, if there is one.
    Observation {
        /// Place of the index in the memory.
        index: Extent,
    },
}

/// Sends a message.
///
/// # Errors
/// Returns an error if it is too long, or nobody is there to receive it.
pub(crate) fn send(socket: BorrowedFd<'_>, message: &impl Serialize, beside: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a message is too long"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !beside.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(beside)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors"));
    }
    // Without a receiver this is an error, not a signal.
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a message and the descriptors beside it; `None` if the other side has ended.
///
/// # Errors
/// Returns an error if it is not a message.
pub(crate) fn receive<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MOST_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let descriptors = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(rights) => Some(rights),
            _ => None,
        })
        .flatten()
        .collect();
    match received.bytes {
        0 => Ok(None),
        bytes_received => Ok(Some((serde_json::from_slice(&bytes[..bytes_received])?, descriptors))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a pair")
    }

    #[test]
    fn a_message_arrives_with_its_descriptors() {
        let (ours, theirs) = pair();
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"beside").expect("it is written");
        send(ours.as_fd(), &Request::Finish { run_ns: 7 }, &[file.as_fd()]).expect("it is sent");
        let (request, mut beside) = receive::<Request>(theirs.as_fd()).expect("a message").expect("not the end");
        assert!(matches!(request, Request::Finish { run_ns: 7 }), "{request:?}");
        let mut received = File::from(beside.pop().expect("a descriptor"));
        let mut text = String::new();
        received.rewind().and_then(|()| received.read_to_string(&mut text)).expect("it is read");
        assert_eq!((text.as_str(), beside.len()), ("beside", 0));
    }

    #[test]
    fn the_end_of_the_other_side_and_a_bad_message_are_told_apart() {
        let (ours, theirs) = pair();
        send(ours.as_fd(), &"no request", &[]).expect("it is sent");
        assert!(receive::<Request>(theirs.as_fd()).is_err());
        let long = "x".repeat(MOST_BYTES);
        assert!(send(ours.as_fd(), &long, &[]).is_err());
        drop(ours);
        assert!(receive::<Request>(theirs.as_fd()).expect("the end").is_none());
        assert!(send(theirs.as_fd(), &Request::Live, &[]).is_err());
    }
}
