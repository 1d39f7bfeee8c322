/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * io_uring: requests are seen when the kernel takes them from the ring and when it posts
 * their completion, in a task of the tree in both cases (the ring's and the workers' threads
 * are born there), whoever's time it costs.
 */
#ifndef ACTIVEBENCH_IO_URING_H
#define ACTIVEBENCH_IO_URING_H

#include "libaio.h"

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct async_call);
} uring_pending SEC(".maps");

/* `enum io_uring_op`, part of the ABI. */
enum {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_FSYNC = 3,
	URING_READ_FIXED = 4,
	URING_WRITE_FIXED = 5,
	URING_CLOSE = 19,
	URING_READ = 22,
	URING_WRITE = 23,
	URING_SPLICE = 30,
	URING_COMMAND = 46, /* of a device: discards and passed-through commands */
	URING_READ_MULTISHOT = 49,
	URING_READV_FIXED = 60,
	URING_WRITEV_FIXED = 61,
	URING_LAST_KNOWN = 62, /* of Linux 6.18: what came later may move data */
};
enum { URING_FIXED_FILE = 1, URING_FSYNC_DATASYNC = 1 };

static always_inline u16 op_of_uring(struct io_kiocb *request)
{
	switch (READ_FIELD(request, opcode)) {
	case URING_READV:
	case URING_READV_FIXED:
	case URING_READ_FIXED:
	case URING_READ: return OP_URING_READ;
	case URING_WRITEV:
	case URING_WRITEV_FIXED:
	case URING_WRITE_FIXED:
	case URING_WRITE: return OP_URING_WRITE;
	case URING_FSYNC:
		return READ_FIELD((struct io_sync *)request, flags) & URING_FSYNC_DATASYNC ? OP_URING_FDATASYNC
											    : OP_URING_FSYNC;
	case URING_SPLICE:
	case URING_COMMAND:
	case URING_READ_MULTISHOT: return OP_URING_OTHER;
	case URING_CLOSE: descriptors_changed(); return 0;
	}
	return READ_FIELD(request, opcode) > URING_LAST_KNOWN ? OP_URING_OTHER : 0;
}

/* Whether a request's iovecs are those of a 32-bit process. */
static always_inline u32 is_narrow(struct io_kiocb *request)
{
	struct io_ring_ctx *ring_context;
	u64 value = 0;
	u64 offset, shifted;

	if (!FIELD_EXISTS(request->ctx->compat))
		return 0;
	ring_context = READ_FIELD(request, ctx);
	offset = FIELD_BYTE_OFFSET(ring_context->compat);
	switch (FIELD_BYTE_SIZE(ring_context->compat)) {
	case 1: bpf_probe_read_kernel(&value, 1, (char *)ring_context + offset); break;
	case 2: bpf_probe_read_kernel(&value, 2, (char *)ring_context + offset); break;
	case 4: bpf_probe_read_kernel(&value, 4, (char *)ring_context + offset); break;
	default: bpf_probe_read_kernel(&value, 8, (char *)ring_context + offset); break;
	}
	shifted = value << FIELD_LSHIFT(ring_context->compat);
	return (shifted >> FIELD_RSHIFT(ring_context->compat)) != 0;
}

/* Bytes asked for, while the request still holds what the process wrote. */
static always_inline u64 uring_length(struct task_state *state, struct io_kiocb *request)
{
	u32 length = READ_FIELD((struct io_rw *)request, len);
	u64 of_call = state->requested;
	u64 sum;

	switch (READ_FIELD(request, opcode)) {
	case URING_READV:
	case URING_WRITEV:
	case URING_READV_FIXED:
	case URING_WRITEV_FIXED:
		add_vectors(state, READ_FIELD((struct io_rw *)request, addr), length, is_narrow(request));
		sum = state->requested;
		/* Requests are submitted inside a call. */
		state->requested = of_call;
		state->vectors_unread = 0;
		return sum;
	}
	return length;
}

/* The file of a request into the task's state, unless it is that of the request before. */
static always_inline void resolve_request(struct task_state *state, struct file *file)
{
	u8 kind = FILE_OTHER;
	u64 ino = 0;
	u32 s_dev = 0;

	if (state->ring_file == (u64)file && state->ring_generation == fd_generation)
		return;
	identify_file(file, &ino, &s_dev, &kind);
	if (kind != FILE_OTHER)
		remember_file(ino, s_dev);
	state->ring_file = (u64)file;
	state->ring_generation = fd_generation;
	state->ring_ino = ino;
	state->ring_s_dev = s_dev;
	state->ring_kind = kind;
	state->ring_open_flags = opened_flags(file);
}

static never_inline int sample_uring(struct io_kiocb *request, struct task_struct *task, struct async_call *call)
{
	/* The kernel looks for the file when it issues the request, mostly after this. */
	struct file *file = READ_FIELD(request, file);
	u8 opcode = READ_FIELD(request, opcode);
	struct payload_write write = {
		.at_ns = call->start_ns,
		.requested = call->requested,
		/* Also where the memory is registered, it is the process's own. */
		.address = READ_FIELD((struct io_rw *)request, addr),
		.tid = call->tid,
		.tgid = call->tgid,
		.fd = call->fd,
		.op = call->op,
		.file_kind = FILE_OTHER,
	};

	if (opcode == URING_WRITEV || opcode == URING_WRITEV_FIXED)
		write.vectors = is_narrow(request) ? VECTORS_OF_32_BIT : VECTORS_OF_64_BIT;

	if (!file)
		file = file_of(task, call->fd);
	if (file)
		identify_file(file, &write.ino, &write.s_dev, &write.file_kind);
	/* A registered file is known by its number alone. */
	else if (call->fd < -1)
		write.file_kind = FILE_REGULAR;
	take_payload(&write);
	return 0;
}

static never_inline int submitted(struct io_kiocb *request)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = state_of(task);
	struct async_call call = {};
	struct file *file;
	u64 key = (u64)request;

	if (!state)
		return 0;
	call.op = op_of_uring(request);
	if (!call.op)
		return 0;
	if (call.op == OP_URING_READ || call.op == OP_URING_WRITE)
		call.requested = uring_length(state, request);
	/* Its bios, if it is issued here and now, carry this file's data. */
	state->submitted_kind = FILE_OF_REQUEST;
	state->submitted_request = key;
	file = READ_FIELD(request, file);
	if (file) {
		resolve_request(state, file);
		state->submitted_ino = state->ring_ino;
		state->submitted_s_dev = state->ring_s_dev;
		state->submitted_kind = state->ring_kind;
	}
	call.start_ns = bpf_ktime_get_ns();
	call.tid = task->pid;
	call.tgid = task->tgid;
	call.fd = READ_FIELD(request, cqe.fd);
	/* A registered file has a number of its own, apart from the descriptors. */
	if (READ_FIELD(request, flags) & URING_FIXED_FILE)
		call.fd = -2 - call.fd;
	if (call.op == OP_URING_WRITE && payload_is_due(call.start_ns))
		sample_uring(request, task, &call);
	if (bpf_map_update_elem(&uring_pending, &key, &call, UPDATE_ANY)) {
		count_made(CLASS_CALLS);
		count_lost(CLASS_CALLS, 1);
	}
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int io_uring_submit_req(u64 *context)
{
	submitted((struct io_kiocb *)context[0]);
	return 0;
}

/* Linux before 6.3 has this one instead. */
SEC("tp_btf/io_uring_submit_sqe")
int io_uring_submit_sqe(u64 *context)
{
	submitted((struct io_kiocb *)context[0]);
	return 0;
}

static never_inline int completed(struct io_kiocb *request, s64 result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state;
	struct async_call *call;
	struct file *file;
	u64 key = (u64)request;

	call = bpf_map_lookup_elem(&uring_pending, &key);
	if (!call)
		return 0;
	state = state_of(task);
	file = READ_FIELD(request, file);
	if (!state) {
		/* Completed on behalf of nobody that is followed. */
		count_shared_made(CLASS_CALLS);
		count_shared_lost(CLASS_CALLS, 1);
	} else if (file) {
		resolve_request(state, file);
		call->ino = state->ring_ino;
		call->s_dev = state->ring_s_dev;
		call->file_kind = state->ring_kind;
		call->open_flags = state->ring_open_flags;
		call->offset = -1;
		/* The position was advanced by what was moved. */
		if (call->op == OP_URING_READ || call->op == OP_URING_WRITE) {
			call->offset = READ_FIELD((struct io_rw *)request, kiocb.ki_pos) - (result > 0 ? result : 0);
			call->open_flags |= opened_as_asked(READ_FIELD((struct io_rw *)request, kiocb.ki_flags));
		}
		add_async(state, call, bpf_ktime_get_ns(), result);
	} else if (result > 0) {
		count_undecoded(UNDECODED_REQUESTS, 1);
	}
	bpf_map_delete_elem(&uring_pending, &key);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int io_uring_complete(u64 *context)
{
	struct io_uring_cqe *entry = (void *)context[2];

	completed((struct io_kiocb *)context[1], READ_FIELD(entry, res));
	return 0;
}

/* Earlier kernels hand over the result itself; this one does not load on later ones. */
SEC("tp_btf/io_uring_complete")
int io_uring_complete_result(u64 *context)
{
	completed((struct io_kiocb *)context[1], (s32)context[3]);
	return 0;
}

#endif
