/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linux native asynchronous I/O. Requests are read when they are submitted, because the
 * process may use their memory again, and matched to the events that it collects.
 */
#ifndef ACTIVEBENCH_LIBAIO_H
#define ACTIVEBENCH_LIBAIO_H

#include "payload.h"

/* `struct iocb` and `struct io_event` of linux/aio_abi.h. */
struct iocb {
	u64 data;
	u32 key;
	u32 rw_flags;
	u16 opcode;
	u16 priority;
	u32 fd;
	u64 buffer;
	u64 bytes;
	s64 offset;
	u64 reserved;
	u32 flags;
	u32 event_fd;
};

struct io_event {
	u64 data;
	u64 iocb;
	s64 result;
	s64 result2;
};

enum { IOCB_PREAD = 0, IOCB_PWRITE = 1, IOCB_FSYNC = 2, IOCB_FDSYNC = 3, IOCB_PREADV = 7, IOCB_PWRITEV = 8 };
enum { IOCBS_PER_CALL = 65536 };

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_TYPE(key, struct aio_key);
	MAP_TYPE(value, struct async_call);
} aio_pending SEC(".maps");

/* A walk over a list in the process's memory. */
struct list_walk {
	u64 address;
	u32 first;
};

static always_inline u16 op_of_iocb(u16 opcode)
{
	switch (opcode) {
	case IOCB_PREAD:
	case IOCB_PREADV: return OP_AIO_READ;
	case IOCB_PWRITE:
	case IOCB_PWRITEV: return OP_AIO_WRITE;
	case IOCB_FSYNC: return OP_AIO_FSYNC;
	case IOCB_FDSYNC: return OP_AIO_FDATASYNC;
	}
	return 0;
}

static long submit_iocb(u32 index, struct list_walk *walk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = state_of(task);
	struct iocb iocb = {};
	struct aio_key key = {};
	struct async_call call = {};
	struct async_call *before;

	if (!state)
		return 1;
	if (bpf_probe_read_user(&key.iocb, sizeof(key.iocb), (void *)(walk->address + index * 8)) ||
	    bpf_probe_read_user(&iocb, sizeof(iocb), (void *)key.iocb))
		return 1;
	call.op = op_of_iocb(iocb.opcode);
	if (!call.op)
		return 0;
	key.tgid = task->tgid;
	call.start_ns = state->start_ns;
	call.fd = iocb.fd;
	call.tid = task->pid;
	call.tgid = task->tgid;
	resolve(state, task, call.fd);
	call.ino = state->ino;
	call.s_dev = state->s_dev;
	call.file_kind = state->file_kind;
	if (!index) {
		state->submitted_ino = call.ino;
		state->submitted_s_dev = call.s_dev;
		state->submitted_kind = call.file_kind;
	} else if (state->submitted_ino != call.ino || state->submitted_s_dev != call.s_dev) {
		state->submitted_kind = FILE_OTHER;
	}
	call.open_flags = state->open_flags;
	if (call.op == OP_AIO_READ || call.op == OP_AIO_WRITE)
		call.open_flags |= opened_as_asked(iocb.rw_flags);
	if (iocb.opcode == IOCB_PREADV || iocb.opcode == IOCB_PWRITEV) {
		struct vector_sum sum = { .address = iocb.buffer };

		bpf_loop(iocb.bytes, add_vector, &sum, 0);
		call.requested = sum.bytes;
	} else {
		call.requested = iocb.bytes;
	}
	/* Appending goes to the end of the file, wherever that is. */
	call.offset = call.op == OP_AIO_WRITE && call.open_flags & OPENED_APPEND ? -1 : iocb.offset;
	if (payload_period_ns && call.op == OP_AIO_WRITE) {
		struct payload_write write = {
			.at_ns = call.start_ns,
			.ino = call.ino,
			.requested = call.requested,
			.address = iocb.buffer,
			.s_dev = call.s_dev,
			.tid = call.tid,
			.tgid = call.tgid,
			.fd = call.fd,
			.op = call.op,
			.file_kind = call.file_kind,
			.is_vectored = iocb.opcode == IOCB_PWRITEV,
		};

		take_payload(&write);
	}
	before = bpf_map_lookup_elem(&aio_pending, &key);
	if (before) {
		/* Submitted again: the process collected it from the ring in its own memory. */
		count_inferred(CLASS_CALLS);
		add_async(state, before, state->start_ns, before->requested);
	}
	if (bpf_map_update_elem(&aio_pending, &key, &call, UPDATE_ANY)) {
		count_made(CLASS_CALLS);
		count_lost(CLASS_CALLS, 1);
	}
	return 0;
}

static never_inline int submit_iocbs(struct task_state *state)
{
	struct list_walk walk = { .address = state->list_pointer };

	bpf_loop(state->requested > IOCBS_PER_CALL ? IOCBS_PER_CALL : state->requested, submit_iocb, &walk, 0);
	/* The call itself has no file. */
	state->ino = 0;
	state->s_dev = 0;
	state->file_kind = FILE_OTHER;
	state->open_flags = 0;
	return 0;
}

static long withdraw_iocb(u32 index, struct list_walk *walk)
{
	struct aio_key key = { .tgid = bpf_get_current_task_btf()->tgid };

	if (bpf_probe_read_user(&key.iocb, sizeof(key.iocb), (void *)(walk->address + (walk->first + index) * 8)))
		return 1;
	bpf_map_delete_elem(&aio_pending, &key);
	return 0;
}

/* Forgets the requests that the kernel did not take. */
static never_inline int withdraw_iocbs(struct task_state *state, s64 taken)
{
	struct list_walk walk = { .address = state->list_pointer, .first = taken > 0 ? taken : 0 };
	u64 left = state->requested - walk.first;

	bpf_loop(left > IOCBS_PER_CALL ? IOCBS_PER_CALL : left, withdraw_iocb, &walk, 0);
	return 0;
}

static long reap_iocb(u32 index, struct list_walk *walk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = state_of(task);
	struct io_event event = {};
	struct aio_key key = {};
	struct async_call *call;

	if (!state)
		return 1;
	if (bpf_probe_read_user(&event, sizeof(event), (void *)(walk->address + index * sizeof(event))))
		return 1;
	key.iocb = event.iocb;
	key.tgid = task->tgid;
	call = bpf_map_lookup_elem(&aio_pending, &key);
	if (!call)
		return 0;
	add_async(state, call, state->last_ns, event.result);
	bpf_map_delete_elem(&aio_pending, &key);
	return 0;
}

static never_inline int reap_iocbs(struct task_state *state, s64 count)
{
	struct list_walk walk = { .address = state->list_pointer };

	bpf_loop(count > IOCBS_PER_CALL ? IOCBS_PER_CALL : count, reap_iocb, &walk, 0);
	return 0;
}

#endif
