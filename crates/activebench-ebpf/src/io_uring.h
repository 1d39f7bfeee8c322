/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * io_uring: requests are seen when the kernel takes them from the ring and when it posts
 * their completion, in a task of the tree in both cases (the ring's and the workers' threads
 * are born there), whoever's time it costs.
 */
#ifndef ACTIVEBENCH_IO_URING_H
#define ACTIVEBENCH_IO_URING_H

#include "libaio.h"

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
/* Of a request: IOSQE_*, in the lowest byte of its flags. */
enum { URING_FIXED_FILE = 1, URING_BUFFER_SELECT = 32, URING_SKIPS_ENTRY = 64 };
enum { URING_FSYNC_DATASYNC = 1 };
/* An entry of a ring, part of the ABI: what the process wrote. */
struct io_uring_sqe {
	u8 opcode;
	u8 flags;
	u16 ioprio;
	s32 fd;
	u64 off;
	u64 addr;
	u32 len;
	u32 op_flags;
};
/* Of its `ki_flags`: its completion is polled for. */
enum { URING_POLLED = 1 };
/* Its length is what it says at its completion. */
#define LENGTH_LATER (~0ull)
/* Beside the length of a request that was refused: it has no position. */
#define OF_REFUSED (1ull << 63)

static always_inline u16 op_of_uring(struct io_kiocb *request, u8 opcode)
{
	switch (opcode) {
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
	return opcode > URING_LAST_KNOWN ? OP_URING_OTHER : 0;
}

/* Whether a request's length counts iovecs. */
static always_inline int is_vectored(u8 opcode)
{
	return opcode == URING_READV || opcode == URING_WRITEV || opcode == URING_READV_FIXED || opcode == URING_WRITEV_FIXED;
}

/* Whether a request's iovecs are those of a 32-bit process. */
static always_inline u32 is_narrow(struct io_kiocb *request)
{
	if (!FIELD_EXISTS(request->ctx->compat))
		return 0;
	return READ_BIT(READ_FIELD(request, ctx), compat);
}

/* Bytes asked for, while the request still holds what the process wrote. */
static never_inline u64 uring_length(struct task_state *state, struct io_kiocb *request)
{
	u32 length = READ_FIELD((struct io_rw *)request, len);
	u64 of_call = state->requested;
	u64 sum;

	if (!is_vectored(READ_FIELD(request, opcode)))
		return length;
	add_vectors(state, READ_FIELD((struct io_rw *)request, addr), length, is_narrow(request));
	sum = state->requested;
	/* Requests are submitted inside a call. */
	state->requested = of_call;
	state->vectors_unread = 0;
	return sum;
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
		/* What is not known before the completion is what it says. */
		.requested = call->requested == LENGTH_LATER ? READ_FIELD((struct io_rw *)request, len) : call->requested,
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

/* A request whose place was not released: nobody saw it complete. */
static never_inline int count_unseen(void)
{
	count_made(CLASS_CALLS);
	count_lost(CLASS_CALLS, 1);
	return 0;
}

/* Keeps a request in the table: its place is taken. */
static never_inline int submitted_besides(u64 address, struct async_call *call)
{
	struct async_slot *slot = NULL;
	struct async_call *before = find_request(address, 0, &slot);

	if (before) {
		count_unseen();
		forget_request(address, 0, slot);
	}
	slot = before ? take_slot(address, 0) : NULL;
	if (slot)
		slot->call = *call;
	else
		keep_besides(address, 0, call);
	return 0;
}

/*
 * When a request is submitted. In an io_uring_enter that goes untimed it takes as long up to there
 * as it does before those that are timed; see correct_start().
 */
static always_inline u64 time_of_submission(struct task_state *state, struct async_call *call)
{
	if (state->in_kernel == ENTERED_UNTIMED && state->op == OP_URING_ENTER) {
		call->stands_for = 0;
		return state->last_ns + state->between_ns + state->grouped * (u64)state->step_ns;
	}
	state->ring_batch_ns = 0;
	call->stands_for = state->op == OP_URING_ENTER && state->stands_for ? state->stands_for : 1;
	return bpf_ktime_get_ns();
}

/* What is known of a request before it completes. */
static always_inline void note_submission(struct task_state *state, struct io_kiocb *request, struct async_call *call,
					  u16 op, u8 opcode, u8 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	s32 fd = request->cqe.fd;

	call->start_ns = time_of_submission(state, call);
	call->tid = task->pid;
	call->tgid = task->tgid;
	/* A registered file has a number of its own, apart from the descriptors. */
	call->fd = flags & URING_FIXED_FILE ? -2 - fd : fd;
	call->op = op;
	call->requested = 0;
	if (op == OP_URING_READ || op == OP_URING_WRITE) {
		call->requested = LENGTH_LATER;
		/* What says so at the completion is the number of iovecs, or the length of a buffer. */
		if (is_vectored(opcode) || flags & URING_BUFFER_SELECT)
			call->requested = uring_length(state, request);
	}
	if (op == OP_URING_WRITE && payload_is_due(call->start_ns))
		sample_uring(request, task, call);
}

/* `request` as the tracepoint has it: its fields are read without a helper. */
static always_inline void submitted(struct io_kiocb *request, struct task_state *state)
{
	struct async_call *call;
	struct async_slot *slot;
	u64 address;
	u8 opcode, flags;
	u16 op;

	if (!state)
		return;
	opcode = request->opcode;
	/* The lowest byte, whatever the size of all. */
	flags = *(u8 *)&request->flags;
	op = op_of_uring(request, opcode);
	if (!op)
		return;
	/* Its completion is seen only if it fails. */
	if (flags & URING_SKIPS_ENTRY) {
		count_undecoded(UNDECODED_SKIPPED, 1);
		return;
	}
	/* Its bios, if it is issued here and now, carry its file's data. */
	state->ring_request = (u64)request;
	/* As a number: the verifier does not calculate with addresses of the kernel. */
	address = *(volatile u64 *)&state->ring_request;
	slot = take_slot(address, 0);
	/* The stack is short. */
	call = slot ? &slot->call : &state->second;
	note_submission(state, request, call, op, opcode, flags);
	if (!slot)
		submitted_besides(address, call);
}

SEC("tp_btf/io_uring_submit_req")
int io_uring_submit_req(u64 *context)
{
	submitted((struct io_kiocb *)context[0], state_of_stack(context));
	return 0;
}

/* Linux before 6.3 has this one instead. */
SEC("tp_btf/io_uring_submit_sqe")
int io_uring_submit_sqe(u64 *context)
{
	submitted((struct io_kiocb *)context[0], state_of_stack(context));
	return 0;
}

/* The kernel refuses an entry before it submits the request, and completes the request as usual. */
static always_inline void refused(struct io_uring_sqe *entry, struct io_kiocb *request, struct task_state *state)
{
	struct task_struct *task;
	struct async_call *call;
	struct async_slot *slot;
	u64 address;
	u8 opcode;
	u16 op;

	if (!state)
		return;
	opcode = entry->opcode;
	if (opcode == URING_FSYNC)
		op = entry->op_flags & URING_FSYNC_DATASYNC ? OP_URING_FDATASYNC : OP_URING_FSYNC;
	else
		op = op_of_uring(request, opcode);
	if (!op)
		return;
	/* As a number: see submitted(). It is not the request that the process waits for in this call. */
	state->ring_request = (u64)request;
	address = *(volatile u64 *)&state->ring_request;
	state->ring_request = 0;
	slot = take_slot(address, 0);
	call = slot ? &slot->call : &state->second;
	task = bpf_get_current_task_btf();
	call->start_ns = time_of_submission(state, call);
	call->tid = task->pid;
	call->tgid = task->tgid;
	call->fd = entry->flags & URING_FIXED_FILE ? -2 - entry->fd : entry->fd;
	call->op = op;
	call->requested = OF_REFUSED;
	if ((op == OP_URING_READ || op == OP_URING_WRITE) && !is_vectored(opcode))
		call->requested |= entry->len;
	if (!slot)
		submitted_besides(address, call);
}

/* Where a kernel hands over something else in place of the request, it does not load. */
SEC("tp_btf/io_uring_req_failed")
int io_uring_req_failed(u64 *context)
{
	refused((struct io_uring_sqe *)context[0], (struct io_kiocb *)context[1], state_of_stack(context));
	return 0;
}

/*
 * The request of an untimed call that did not complete in it was submitted in it, and it did not
 * leave the CPU: what is more than such calls take was before it, in user mode. It did not start later than now.
 */
static never_inline int correct_start(struct task_state *state, u64 now)
{
	struct async_slot *slot = NULL;
	struct async_call *call = find_request(state->ring_request, 0, &slot);
	u64 earliest = now - SLOW_STEPS * (u64)state->step_ns;

	if (!call)
		return 0;
	if (call->start_ns < earliest)
		call->start_ns = earliest;
	else if (call->start_ns > now)
		call->start_ns = now;
	return 0;
}

/* The record of a request that completed in an untimed call, when that does not join a group. */
static never_inline int settle_pair(struct task_state *state, struct task_struct *task, u64 now)
{
	struct async_call call = {
		.start_ns = state->start_ns,
		.ino = state->ring_ino,
		.offset = state->pair.offset_and_op >> 8,
		.requested = state->pair.requested,
		.s_dev = state->ring_s_dev,
		.open_flags = state->ring_open_flags | opened_as_asked(state->request_asked),
		.tid = task->pid,
		.tgid = task->tgid,
		.fd = state->request_fd,
		.op = (u8)state->pair.offset_and_op,
		.file_kind = state->ring_kind,
	};

	state->paired = 0;
	add_async(state, &call, now, state->pair.returned);
	state->request_known = state->batch.count != 0;
	state->narrow_bytes = state->pair.requested == (u32)state->pair.returned ? state->pair.requested : 0;
	return 0;
}

/* The first bytes of a request, read at once. */
struct request_copy {
	u8 bytes[64];
};

#define COPIED_FIELD(copy, pointer, field)                                                           \
	({                                                                                           \
		typeof((pointer)->field) copied_ = 0;                                                \
		u64 offset_ = FIELD_BYTE_OFFSET((pointer)->field);                                   \
		if (offset_ <= sizeof((copy)->bytes) - sizeof(copied_))                              \
			__builtin_memcpy(&copied_, (copy)->bytes + offset_, sizeof(copied_));        \
		else                                                                                 \
			copied_ = READ_FIELD(pointer, field);                                        \
		copied_;                                                                             \
	})

/* The end of a request. Entries that are posted one after the other have one time. */
static always_inline u64 time_of_completion(struct task_state *state, u32 flags)
{
	u64 now = state->ring_batch_ns;

	if (now && (state->in_kernel == ENTERED_TIMED || state->in_kernel == ENTERED_UNSURE) &&
	    state->op == OP_URING_ENTER && !(flags & URING_POLLED))
		return now;
	now = bpf_ktime_get_ns();
	if (state->in_kernel == ENTERED_UNTIMED || state->paired) {
		account(state, now);
		if (state->paired)
			settle_pair(state, bpf_get_current_task_btf(), now);
	}
	state->ring_batch_ns = now;
	return now;
}

static always_inline void completed(u64 *context, u64 address, s32 result)
{
	struct io_rw *io = (struct io_rw *)address;
	struct request_copy copy;
	struct async_slot *slot;
	struct async_call *call;
	struct task_state *state;
	struct file *file;
	u64 end_ns;
	u32 asked = 0;

	call = find_request(address, 0, &slot);
	if (!call)
		return;
	state = state_of_stack(context);
	if (!state) {
		/* Completed on behalf of nobody that is followed. */
		count_shared_made(CLASS_CALLS);
		count_shared_lost(CLASS_CALLS, 1);
		forget_request(address, 0, slot);
		return;
	}
	if (bpf_probe_read_kernel(&copy, sizeof(copy), io))
		__builtin_memset(&copy, 0, sizeof(copy));
	file = COPIED_FIELD(&copy, io, kiocb.ki_filp);
	if (!file && result > 0) {
		count_undecoded(UNDECODED_REQUESTS, 1);
		forget_request(address, 0, slot);
		return;
	}
	/* The kernel never looked for the file of one that was refused, or cancelled before it was issued. */
	if (!file)
		file = file_of(bpf_get_current_task_btf(), call->fd);
	call->offset = -1;
	/* The position was advanced by what was moved. */
	if (call->requested != LENGTH_LATER && call->requested & OF_REFUSED) {
		call->requested &= ~OF_REFUSED;
	} else if (call->op == OP_URING_READ || call->op == OP_URING_WRITE) {
		call->offset = COPIED_FIELD(&copy, io, kiocb.ki_pos) - (result > 0 ? result : 0);
		asked = COPIED_FIELD(&copy, io, kiocb.ki_flags);
		if (call->requested == LENGTH_LATER)
			call->requested = COPIED_FIELD(&copy, io, len);
	}
	if (state->ring_request == address) {
		state->ring_request = 0;
		state->ring_inline = 1;
		if (state->in_kernel == ENTERED_UNTIMED && !state->paired && state->request_known &&
		    state->ring_file == (u64)file && state->ring_generation == fd_generation &&
		    state->request_fd == call->fd && state->request_asked == (u8)asked &&
		    (call->op == OP_URING_READ || call->op == OP_URING_WRITE) && !((u64)call->offset >> 55) &&
		    !(call->requested >> 32)) {
			state->pair.offset_and_op = (u64)call->offset << 8 | call->op;
			state->pair.requested = call->requested;
			state->pair.returned = result;
			state->paired = 1;
			forget_request(address, 0, slot);
			return;
		}
	}
	end_ns = time_of_completion(state, asked);
	if (file)
		resolve_request(state, file);
	call->ino = file ? state->ring_ino : 0;
	call->s_dev = file ? state->ring_s_dev : 0;
	call->file_kind = file ? state->ring_kind : FILE_OTHER;
	state->request_fd = call->fd;
	state->request_asked = asked;
	call->open_flags = (file ? state->ring_open_flags : 0) | opened_as_asked(asked);
	add_async(state, call, end_ns, result);
	/* Not when it left at once. Of another thread's request the group would get the wrong one. */
	state->request_known = file && state->batch.count && call->tid == bpf_get_current_task_btf()->pid;
	state->narrow_bytes = call->requested == (u32)result && result > 0 ? result : 0;
	forget_request(address, 0, slot);
}

SEC("tp_btf/io_uring_complete")
int io_uring_complete(u64 *context)
{
	struct io_uring_cqe *entry = (void *)context[2];

	completed(context, context[1], entry->res);
	return 0;
}

/* Earlier kernels hand over the result itself; this one does not load on later ones. */
SEC("tp_btf/io_uring_complete")
int io_uring_complete_result(u64 *context)
{
	completed(context, context[1], (s32)context[3]);
	return 0;
}

#endif
