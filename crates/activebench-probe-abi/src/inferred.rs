//! Infers completions that no hook saw, from the start of the I/O as the kernel side stored it.

use crate::decode::block_flags;
use crate::records::{BlockRecord, CallRecord};
use crate::tables::{AsyncCall, BioOwner, IssuedRequest, TaskState};

/// `REQ_OP_FLUSH`.
const OP_FLUSH: u32 = 2;

impl BlockRecord {
    /// Infers the completion of the rest of a bio, at the time when it was queued.
    pub fn inferred_from_bio(bio: &BioOwner) -> Self {
        Self {
            at_ns: bio.queued_ns,
            sector: bio.sector,
            latency_ns: 0,
            ino: bio.ino,
            s_dev: bio.s_dev,
            device: bio.device,
            bytes: bio.left,
            tgid: bio.tgid,
            comm: bio.comm,
            operation: bio.operation,
            flags: bio.owned | block_flags::INFERRED,
            origin: bio.origin,
            status: 0,
            padding: [0; 3],
        }
    }

    /// Infers the completion of a FLUSH, which has no bio; `None` for other requests.
    pub fn inferred_from_request(request: &IssuedRequest) -> Option<Self> {
        (request.operation == OP_FLUSH).then_some(Self {
            at_ns: request.at_ns,
            sector: 0,
            latency_ns: 0,
            ino: 0,
            s_dev: 0,
            device: request.device,
            bytes: 0,
            tgid: 0,
            comm: [0; 16],
            operation: OP_FLUSH as u16,
            flags: block_flags::INFERRED,
            origin: 0,
            status: 0,
            padding: [0; 3],
        })
    }
}

impl CallRecord {
    /// Returns the request of io_uring that completed in the unfinished call of a thread and was not recorded yet.
    pub fn unsent_request(thread: &TaskState) -> Option<Self> {
        (thread.paired != 0).then_some(Self {
            start_ns: thread.last_ns,
            end_ns: thread.last_ns,
            ino: thread.ring_ino,
            offset: (thread.pair.offset_and_op >> 8) as i64,
            requested: u64::from(thread.pair.requested),
            returned: i64::from(thread.pair.returned),
            cpu_ns: 0,
            user_before_ns: 0,
            s_dev: thread.ring_s_dev,
            // Neither is known of a thread that did not end; both are in the records before.
            tid: thread.records[0].tid,
            tgid: thread.records[0].tgid,
            open_flags: thread.ring_open_flags,
            storage_read_bytes: 0,
            cached_pages: 0,
            fd: thread.request_fd,
            op: (thread.pair.offset_and_op & 0xff) as u16,
            file_kind: thread.ring_kind as u8,
            stands_for: 0,
        })
    }

    /// Returns the `io_submit` of one request that a thread made last and that was not recorded yet.
    pub fn unsent_submission(thread: &TaskState) -> Option<Self> {
        const UNTIMED_ONE: u8 = 3;
        (thread.aio_stage == UNTIMED_ONE).then_some(Self {
            op: 29,
            ino: 0,
            s_dev: 0,
            file_kind: 0,
            open_flags: 0,
            fd: -1,
            offset: -1,
            requested: 1,
            returned: 1,
            stands_for: 0,
            ..Self::inferred_from_async(&thread.second)
        })
    }

    /// Infers the end of a libaio request whose event no call was seen to collect. The record has the requested bytes
    /// as its result, and ends when it started.
    pub fn inferred_from_async(call: &AsyncCall) -> Self {
        Self {
            start_ns: call.start_ns,
            end_ns: call.start_ns,
            ino: call.ino,
            offset: call.offset,
            requested: call.requested,
            returned: call.requested as i64,
            cpu_ns: 0,
            user_before_ns: 0,
            s_dev: call.s_dev,
            tid: call.tid,
            tgid: call.tgid,
            open_flags: call.open_flags,
            storage_read_bytes: 0,
            cached_pages: 0,
            fd: call.fd,
            op: call.op,
            file_kind: call.file_kind,
            stands_for: 1,
        }
    }
}
