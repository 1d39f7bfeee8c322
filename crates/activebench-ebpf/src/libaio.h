/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linux native asynchronous I/O. Requests are read when they are submitted, because the
 * process may use their memory again, and matched to the events that it collects.
 */
#ifndef ACTIVEBENCH_LIBAIO_H
#define ACTIVEBENCH_LIBAIO_H

#include "in_flight.h"
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
/*
 * What one call may cost us, whatever lists the process hands over: so many iovecs, or requests, each of which
 * costs as much as so many iovecs. Requests past it are counted as not decoded if the kernel takes them.
 */
enum { WALK_STEPS = 65536, IOCB_STEPS = 16, MOST_IOCBS = WALK_STEPS / IOCB_STEPS };
/* From so many steps on a walk is long, and timed. */
enum { LONG_WALK = 1024, LONG_WALK_IOCBS = LONG_WALK / IOCB_STEPS };
/* Events that one call returns: all were requests of ours. */
enum { EVENTS_PER_CALL = 65536 };

/* A walk over a list in the process's memory. */
struct list_walk {
	u64 address;
	u32 first;
	u32 narrow; /* a list of 32-bit addresses */
	struct task_state *state;
	struct task_struct *task;
};

/* The address at a place of a list; not 0 where it is not in memory. */
static always_inline long read_address(struct list_walk *walk, u32 index, u64 *address)
{
	u32 half = 0;
	long error;

	if (!walk->narrow)
		return bpf_probe_read_user(address, sizeof(*address), (void *)(walk->address + index * 8ull));
	error = bpf_probe_read_user(&half, sizeof(half), (void *)(walk->address + index * 4ull));
	*address = half;
	return error;
}

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

/* Keeps a request whose place is taken, maybe by itself. */
static never_inline int submit_besides(struct task_state *state, u64 address, struct async_call *call)
{
	struct async_slot *slot = NULL;
	struct async_call *before = find_request(address, call->tgid, &slot);

	if (before) {
		/* Submitted again: the process collected it from the ring in its own memory. */
		count_inferred(CLASS_CALLS);
		add_async(state, before, state->start_ns, before->requested);
		forget_request(address, call->tgid, slot);
		slot = take_slot(address, call->tgid);
	}
	if (slot)
		slot->call = *call;
	else
		keep_besides(address, call->tgid, call);
	return 0;
}

static long submit_iocb(u32 index, struct list_walk *walk)
{
	struct task_struct *task = walk->task;
	struct task_state *state = walk->state;
	struct iocb iocb = {};
	/* Not on the stack, which is short. */
	struct async_call *call = &state->second;
	struct async_slot *slot;
	u64 address = 0;

	if (state->steps_left < IOCB_STEPS)
		return 1;
	state->steps_left -= IOCB_STEPS;
	if (read_address(walk, index, &address) || bpf_probe_read_user(&iocb, sizeof(iocb), (void *)address))
		return 1;
	call->op = op_of_iocb(iocb.opcode);
	if (!call->op) {
		state->read_iocbs++;
		return 0;
	}
	/* 0 where the start is an estimate. */
	call->stands_for = state->stands_for;
	call->start_ns = state->start_ns;
	call->fd = iocb.fd;
	call->tid = task->pid;
	call->tgid = task->tgid;
	resolve(state, task, call->fd);
	call->ino = state->ino;
	call->s_dev = state->s_dev;
	call->file_kind = state->file_kind;
	if (!index) {
		state->submitted_ino = call->ino;
		state->submitted_s_dev = call->s_dev;
		state->submitted_kind = call->file_kind;
	} else if (state->submitted_ino != call->ino || state->submitted_s_dev != call->s_dev) {
		state->submitted_kind = FILE_OTHER;
	}
	call->open_flags = state->open_flags;
	if (call->op == OP_AIO_READ || call->op == OP_AIO_WRITE)
		call->open_flags |= opened_as_asked(iocb.rw_flags);
	if (iocb.opcode == IOCB_PREADV || iocb.opcode == IOCB_PWRITEV) {
		u32 count = iocb.bytes;

		if (count <= MOST_VECTORS) {
			if (count > state->steps_left)
				return 1;
			state->steps_left -= count;
		}
		add_vectors(state, iocb.buffer, count, walk->narrow);
		if (state->vectors_unread)
			return 1;
		call->requested = state->requested;
	} else {
		call->requested = iocb.bytes;
	}
	/* Appending goes to the end of the file, wherever that is. */
	call->offset = call->op == OP_AIO_WRITE && call->open_flags & OPENED_APPEND ? -1 : iocb.offset;
	if (payload_period_ns && call->op == OP_AIO_WRITE) {
		struct payload_write write = {
			.at_ns = call->start_ns,
			.ino = call->ino,
			.requested = call->requested,
			.address = iocb.buffer,
			.s_dev = call->s_dev,
			.tid = call->tid,
			.tgid = call->tgid,
			.fd = call->fd,
			.op = call->op,
			.file_kind = call->file_kind,
			.vectors = iocb.opcode != IOCB_PWRITEV ? 0 : walk->narrow ? VECTORS_OF_32_BIT : VECTORS_OF_64_BIT,
		};

		take_payload(&write);
	}
	slot = take_slot(address, call->tgid);
	if (slot)
		slot->call = *call;
	else
		submit_besides(state, address, call);
	state->read_iocbs++;
	return 0;
}

/* The one request of an untimed io_submit, straight into its place; 0 where it is not as simple as most. */
static always_inline int submit_one(struct task_state *state, struct task_struct *task)
{
	/* Not on the stack, which is short: in memory of another type. */
	struct iocb __attribute__((may_alias)) *iocb = (void *)&state->second;
	struct async_slot *slot;
	u64 address;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)state->list_pointer) ||
	    bpf_probe_read_user(iocb, __builtin_offsetof(struct iocb, reserved), (void *)address))
		return 0;
	if (iocb->opcode > IOCB_PWRITE || (iocb->opcode == IOCB_PWRITE && payload_is_due(state->start_ns)))
		return 0;
	if ((s32)iocb->fd != state->known_fd || state->known_generation != fd_generation || !state->known_file)
		look_up(state, task, iocb->fd);
	slot = take_slot(address, task->tgid);
	if (!slot)
		return 0;
	slot->call.start_ns = state->start_ns;
	slot->call.ino = state->known_ino;
	slot->call.requested = iocb->bytes;
	slot->call.s_dev = state->known_s_dev;
	slot->call.open_flags = state->known_open_flags | opened_as_asked(iocb->rw_flags);
	slot->call.offset = iocb->offset;
	slot->call.op = OP_AIO_READ;
	if (iocb->opcode == IOCB_PWRITE) {
		slot->call.op = OP_AIO_WRITE;
		if (slot->call.open_flags & OPENED_APPEND)
			slot->call.offset = -1;
	}
	slot->call.tid = task->pid;
	slot->call.fd = iocb->fd;
	slot->call.file_kind = state->known_kind;
	slot->call.stands_for = 0;
	slot->call.tgid = task->tgid;
	state->submitted_ino = state->known_ino;
	state->submitted_s_dev = state->known_s_dev;
	state->submitted_kind = state->known_kind;
	/* For settle_half(); the iocb is not needed any more. */
	state->second.start_ns = state->start_ns;
	state->second.tid = task->pid;
	state->second.tgid = task->tgid;
	state->read_iocbs = 1;
	return 1;
}

static never_inline int submit_iocbs(struct task_state *state, struct task_struct *task)
{
	struct list_walk walk = {
		.address = state->list_pointer,
		.narrow = state->narrow,
		.state = state,
		.task = task,
	};
	u64 number = state->requested;
	u32 timed = is_timed();

	state->read_iocbs = 0;
	state->steps_left = WALK_STEPS;
	/* A negative number is refused. */
	if ((s64)number > 0)
		bpf_loop(number > MOST_IOCBS ? MOST_IOCBS : number, submit_iocb, &walk, 0);
	if (state->steps_left <= WALK_STEPS - LONG_WALK)
		count_walk(state->start_ns, timed);
	/* Iovecs were added up there; this is the call itself. */
	state->requested = number;
	state->vectors_unread = 0;
	/* The call itself has no file. */
	state->ino = 0;
	state->s_dev = 0;
	state->file_kind = FILE_OTHER;
	state->open_flags = 0;
	return 0;
}

static long withdraw_iocb(u32 index, struct list_walk *walk)
{
	u32 tgid = walk->task->tgid;
	struct async_slot *slot = NULL;
	u64 address = 0;

	if (read_address(walk, walk->first + index, &address))
		return 1;
	if (find_request(address, tgid, &slot))
		forget_request(address, tgid, slot);
	return 0;
}

/* Walks a list of requests, and times a long walk. */
#define walk_timed(count, step, walk)                       \
	({                                                  \
		u32 count_ = (count);                       \
		u32 timed_ = is_timed();                    \
		u64 since_ = count_ < LONG_WALK_IOCBS ? 0 : bpf_ktime_get_ns(); \
		bpf_loop(count_, (step), (walk), 0);        \
		if (since_)                                 \
			count_walk(since_, timed_);         \
	})

/* Forgets the requests that the kernel did not take, and counts those that it took and that are not remembered. */
static never_inline int settle_iocbs(struct task_state *state, struct task_struct *task, s64 taken)
{
	struct list_walk walk = {
		.address = state->list_pointer,
		.first = taken > 0 ? taken : 0,
		.narrow = state->narrow,
		.state = state,
		.task = task,
	};
	u32 read = state->read_iocbs;

	if (walk.first > read)
		count_undecoded(UNDECODED_IOCBS, walk.first - read);
	else if (walk.first < read)
		walk_timed(read - walk.first, withdraw_iocb, &walk);
	return 0;
}

static long reap_iocb(u32 index, struct list_walk *walk)
{
	u32 tgid = walk->task->tgid;
	struct io_event event = {};
	struct async_slot *slot = NULL;
	struct async_call *call;

	if (bpf_probe_read_user(&event, sizeof(event), (void *)(walk->address + index * sizeof(event))))
		return 1;
	call = find_request(event.iocb, tgid, &slot);
	if (!call)
		return 0;
	/* An estimate: it was submitted before this call at least. */
	if (!call->stands_for && call->start_ns > walk->state->start_ns)
		call->start_ns = walk->state->start_ns;
	add_async(walk->state, call, walk->state->last_ns, event.result);
	forget_request(event.iocb, tgid, slot);
	return 0;
}

static never_inline int reap_iocbs(struct task_state *state, struct task_struct *task, s64 count)
{
	struct list_walk walk = { .address = state->list_pointer, .state = state, .task = task };

	walk_timed(count > EVENTS_PER_CALL ? EVENTS_PER_CALL : count, reap_iocb, &walk);
	return 0;
}

/*
 * A fast pair: an io_submit of one request, then an io_getevents that returns one event, often that
 * of an earlier request. Of the two calls only the last end is timed, and both leave in the record
 * of the request that was collected. One pair in SAMPLED_CALLS is timed as other calls are.
 */

/* Whether a call begins as such a pair does, after another one. */
static always_inline int follows_pair(struct task_state *state, struct call_description *call, struct pt_regs *regs)
{
	return call->op == OP_IO_SUBMIT && state->aio_stage == AIO_READY && regs->si == 1 &&
	       regs->di == state->aio_context;
}

/* Whether a call is one of a pair and goes untimed; its entry is done then. */
static always_inline int enters_pair(struct task_state *state, struct call_description *call, struct pt_regs *regs)
{
	struct task_struct *task;

	if (follows_pair(state, call, regs)) {
		if (!state->untimed_left || state->known_generation != fd_generation)
			return 0;
	} else if (call->op != OP_IO_GETEVENTS || state->aio_stage != AIO_HALF || regs->di != state->aio_context) {
		return 0;
	}
	task = bpf_get_current_task_btf();
	if (state->exit_jiffies != bpf_jiffies64() ||
	    (FIELD_EXISTS(task->thread_info.status) && task->thread_info.status & IN_32_BIT_CALL))
		return 0;
	state->in_kernel = ENTERED_UNTIMED;
	state->op = call->op;
	state->call_flags = call->flags;
	state->arguments_later = 1;
	state->stands_for = 0;
	state->ring_request = 0;
	if (call->op == OP_IO_GETEVENTS) {
		state->list_pointer = regs->r10;
		return 1;
	}
	state->untimed_left--;
	state->cached_pages = 0;
	state->fd = -1;
	state->requested = 1;
	state->list_pointer = regs->dx;
	state->narrow = 0;
	state->start_ns = state->last_ns + state->between_ns + state->grouped * (u64)state->step_ns;
	if (!submit_one(state, task))
		submit_iocbs(state, task);
	return 1;
}

/* The io_submit of a pair that does not become one. */
never_inline int settle_half(struct task_state *state, u64 now)
{
	struct async_call *call;
	u64 passed;

	if (!state)
		return 0;
	call = &state->second;
	passed = now > call->start_ns ? now - call->start_ns : 0;
	/* It holds the request that was submitted. */
	call->op = OP_IO_SUBMIT;
	call->ino = 0;
	call->s_dev = 0;
	call->file_kind = FILE_OTHER;
	call->open_flags = 0;
	call->fd = -1;
	call->offset = -1;
	call->requested = 1;
	call->stands_for = 0;
	state->aio_stage = 0;
	add_async(state, call, now - (passed < state->aio_gap_ns ? passed : state->aio_gap_ns), 1);
	return 0;
}

/* Whether the request that a pair collects joins a group: its pair is as the last one that has a record. */
static always_inline int pair_joins(struct task_state *state, struct async_call *call, s64 returned)
{
	struct call_record *model = &state->records[(state->aio_model - 1) & (CALL_BATCH - 1)];
	u64 before = state->last_ns - call->start_ns;
	u32 calls = state->grouped;
	struct call_group *group = group_at(state, state->batch.count);

	/* The end of one whose start was timed is timed. */
	if (!state->aio_model || call->stands_for || call->ino != model->ino || call->s_dev != model->s_dev || call->fd != model->fd ||
	    call->open_flags != model->open_flags || call->file_kind != model->file_kind ||
	    returned != (s64)call->requested || returned >> 32 || (u64)call->offset >> 55 || before != (u64)(s64)(s32)before)
		return 0;
	calls &= GROUP_MARGIN - 1;
	/* Submitted by a pair of this group: by which one. */
	if ((s64)before < 0) {
		u32 since = -before;
		u32 submitted = since > state->between_ns && state->step_ns ? (since - state->between_ns) / state->step_ns : 0;

		before = -1 - (s64)(submitted < calls ? submitted : calls);
	}
	group->calls[calls].offset_and_op = (u64)call->offset << 8 | call->op;
	group->calls[calls].requested = returned;
	group->calls[calls].returned = before;
	state->is_narrow = 0;
	state->grouped = calls + 1;
	return 1;
}

/* The record of a request that stands for the calls of a pair. */
static always_inline void add_pair(struct task_state *state, struct task_struct *task, struct async_call *call, u64 now,
				   s64 returned)
{
	u64 passed = now - state->last_ns;
	u64 user = state->between_ns < passed ? state->between_ns : passed;
	u64 in_calls = passed - user;
	u64 gap = state->aio_gap_ns < in_calls ? state->aio_gap_ns : in_calls;
	u64 events = state->aio_events_ns < in_calls - gap ? state->aio_events_ns : in_calls - gap;
	struct call_record *record = next_record(state);
	u64 read_bytes = task->ioac.read_bytes;

	/* An estimate that is later than the first call of the pair is too late. */
	record->start_ns = call->start_ns < now - in_calls ? call->start_ns : now - in_calls;
	record->end_ns = now;
	record->ino = call->ino;
	record->offset = call->offset;
	record->requested = call->requested;
	record->returned = returned;
	/* From the start of the first call to the end of the second; between the two; in the second. */
	record->cpu_ns = in_calls << 32 | gap << 16 | events;
	record->user_before_ns = state->user_ns - state->user_at_record_ns + user;
	record->s_dev = call->s_dev;
	record->tid = call->tid;
	record->tgid = call->tgid;
	record->open_flags = call->open_flags;
	record->storage_read_bytes = read_bytes - state->read_bytes_at_start;
	record->cached_pages = PAIR_MARK;
	record->fd = call->fd;
	record->op = call->op;
	record->file_kind = call->file_kind;
	/* Of the request alone. */
	record->stands_for = call->stands_for > 1 && now - record->start_ns >= SURE_NS ? 1 : call->stands_for;
	state->read_bytes_at_start = read_bytes;
	state->user_ns += user + gap;
	state->kernel_ns += in_calls - gap;
	state->user_at_record_ns = state->user_ns;
	state->last_ns = now;
	state->estimated += call->stands_for ? 2 : 3;
	state->in_groups += 2;
	if (!state->aio_steps)
		state->step_ns = 0;
	state->aio_steps = 1;
	learn(&state->step_ns, passed);
	state->aio_model = state->batch.count + 1;
	record_is_filled(state);
}

/* Reads the clock at the end of a pair that stayed out of a group, or is the last of one. */
never_inline int end_pair(struct task_state *state, struct async_call *call, s64 returned)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();

	if (!state)
		return 0;
	if (!call) {
		u64 read_bytes = task->ioac.read_bytes;
		u64 mean = close_group(state, state->batch.count, now,
				       read_bytes - state->read_bytes_at_start);

		state->read_bytes_at_start = read_bytes;
		learn(&state->step_ns, mean);
		state->aio_stage = mean < FAST_NS ? AIO_READY : 0;
	} else {
		if (state->grouped)
			settle_group(state, now);
		if (now - state->last_ns >= FAST_NS)
			return 0;
		add_pair(state, task, call, now, returned);
	}
	state->aio_pair_ns = now;
	state->exit_ns = now;
	state->exit_jiffies = bpf_jiffies64();
	return 1;
}

/* Whether an untimed call of a pair leaves like this. */
static always_inline int leaves_pair(struct task_state *state, s64 returned)
{
	struct io_event event;
	struct async_slot *slot;
	struct async_call *call;
	struct task_struct *task;

	if (returned != 1 || state->in_kernel != ENTERED_UNTIMED || state->exit_jiffies != bpf_jiffies64())
		return 0;
	if (state->op == OP_IO_SUBMIT) {
		if (state->read_iocbs != 1)
			return 0;
		state->aio_stage = AIO_HALF;
		state->in_kernel = OUTSIDE_KERNEL;
		state->submitted_kind = FILE_OTHER;
		state->op = 0;
		return 1;
	}
	if (state->aio_stage != AIO_HALF || bpf_probe_read_user(&event, sizeof(event), (void *)state->list_pointer))
		return 0;
	task = bpf_get_current_task_btf();
	call = find_request(event.iocb, task->tgid, &slot);
	/* One record names one thread. */
	if (!call || call->tid != (u32)task->pid)
		return 0;
	if (!pair_joins(state, call, event.result)) {
		if (!end_pair(state, call, event.result))
			return 0;
		state->aio_stage = AIO_READY;
	} else {
		state->aio_stage = AIO_READY;
		if (state->grouped >= GROUP_CALLS || !state->untimed_left)
			end_pair(state, NULL, 0);
	}
	forget_request(event.iocb, task->tgid, slot);
	state->in_kernel = OUTSIDE_KERNEL;
	state->op = 0;
	return 1;
}

/* What a timed call means for the next one. */
static always_inline void learn_pair(struct task_state *state, struct pt_regs *regs, u64 now, s64 returned)
{
	u8 stage = state->aio_stage;

	state->aio_stage = 0;
	if (time_every_call || state->narrow || returned != 1)
		return;
	if (state->op == OP_IO_SUBMIT && state->requested == 1 && state->read_iocbs == 1) {
		state->aio_stage = AIO_TIMED;
		state->aio_context = regs->di;
	} else if (state->op == OP_IO_GETEVENTS && stage == AIO_TIMED) {
		learn(&state->aio_events_ns, now - state->start_ns);
		if (now - state->aio_pair_ns < FAST_NS)
			state->aio_stage = AIO_READY;
		state->aio_pair_ns = now;
	}
}

#endif
