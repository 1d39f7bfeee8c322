/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls of the tree: one record for each call that user space described, and the
 * split of each thread's time between user mode and the kernel.
 */
#ifndef ACTIVEBENCH_CALLS_H
#define ACTIVEBENCH_CALLS_H

#include "io_uring.h"
#include "output.h"
#include "serving.h"

static never_inline u64 narrow_argument(struct pt_regs *regs, u8 number)
{
	switch (number) {
	case 1: return (u32)regs->bx;
	case 2: return (u32)regs->cx;
	case 3: return (u32)regs->dx;
	case 4: return (u32)regs->si;
	case 5: return (u32)regs->di;
	case 6: return (u32)regs->bp;
	}
	return 0;
}

static never_inline u64 argument(struct pt_regs *regs, u8 number, u8 narrow)
{
	if (narrow)
		return narrow_argument(regs, number);
	switch (number) {
	case 1: return regs->di;
	case 2: return regs->si;
	case 3: return regs->dx;
	case 4: return regs->r10;
	case 5: return regs->r8;
	case 6: return regs->r9;
	}
	return 0;
}

/* An offset that is given by address; -1, the file position, without one. */
static always_inline s64 pointed_offset(s64 address, u8 bytes)
{
	s64 offset = -1;
	s32 half = -1;

	if (address && bytes == sizeof(half)) {
		bpf_probe_read_user(&half, sizeof(half), (void *)address);
		return half;
	}
	if (address)
		bpf_probe_read_user(&offset, sizeof(offset), (void *)address);
	return offset;
}

/* Keeps the file that data goes to; the call's own file is resolved afterwards. */
static always_inline void note_second_file(struct task_state *state, struct task_struct *task, u16 op, s32 fd,
					   s64 offset)
{
	state->second.op = 0;
	resolve(state, task, fd);
	if (state->file_kind == FILE_OTHER)
		return;
	state->second.stands_for = 1;
	state->second.start_ns = state->start_ns;
	state->second.requested = state->requested;
	state->second.tid = task->pid;
	state->second.tgid = task->tgid;
	state->second.op = op;
	state->second.fd = fd;
	state->second.ino = state->ino;
	state->second.s_dev = state->s_dev;
	state->second.file_kind = state->file_kind;
	state->second.open_flags = state->open_flags;
	state->second.offset = offset == -1 ? READ_FIELD((struct file *)state->known_file, f_pos) : offset;
}

/* Whether a call gives io_uring one request. */
static always_inline int submits_one(struct task_state *state, u16 op, struct pt_regs *regs)
{
	return op == OP_URING_ENTER && regs->si == 1 && !state->narrow;
}

/* Whether the call before was a fast one of the same kind, on the same descriptor. */
static always_inline int follows_fast(struct task_state *state, struct call_description *call, struct pt_regs *regs)
{
	return state->fast && (call->flags & CALL_PLAIN || submits_one(state, call->op, regs)) && (s32)regs->di == state->fd;
}

/* Whether the entry need not be timed: that call ended in this tick, and this one is not of the sample. */
static always_inline int goes_untimed(struct task_state *state, struct call_description *call, struct pt_regs *regs)
{
	return state->untimed_left && follows_fast(state, call, regs) &&
	       state->known_generation == fd_generation && state->exit_jiffies == bpf_jiffies64();
}

/* Whether this timed call speaks for others, and how long the thread was away since the last. */
static always_inline void draw_sample(struct task_state *state, struct call_description *call, struct pt_regs *regs,
				      u64 now)
{
	u64 between = now - state->exit_ns;

	state->stands_for = 1;
	if ((!follows_fast(state, call, regs) && !follows_pair(state, call, regs)) || between > FAST_NS)
		return;
	learn(&state->between_ns, between);
	if (state->untimed_left)
		return;
	state->stands_for = SAMPLED_CALLS;
	state->random = state->random * 1664525 + 1013904223;
	/* Whole groups, none to six: 30 calls on average. */
	state->untimed_left = ((state->random >> 16) * 7 >> 16) * NARROW_CALLS;
}

/* Whether a call of many meanings has the one that is recorded. */
static always_inline int is_for_us(u16 op, u32 command)
{
	if (op == OP_DISCARD_RANGE)
		return command == IOCTL_DISCARD || command == IOCTL_SECURE_DISCARD;
	return command == FCNTL_DUPFD || command == FCNTL_DUPFD_CLOEXEC;
}

/* Whether a file is read and written in another way afterwards: O_DIRECT can be set and cleared. */
static always_inline int sets_open_flags(u16 op, u32 command)
{
	return op != OP_DISCARD_RANGE && command == FCNTL_SETFL;
}

/* The bytes that an ioctl of a block device discards. */
static always_inline void note_range(struct task_state *state, u64 address)
{
	u64 range[2] = { -1ULL, 0 };

	bpf_probe_read_user(range, sizeof(range), (void *)address);
	state->offset = range[0];
	state->requested = range[1];
}

static always_inline int is_write_call(u16 op)
{
	return op >= OP_FIRST_WRITE && op <= OP_LAST_WRITE;
}

static never_inline int sample_write(struct task_state *state, struct task_struct *task, struct pt_regs *regs)
{
	struct payload_write write = {
		.at_ns = state->start_ns,
		.ino = state->ino,
		.requested = state->requested,
		.address = argument(regs, 2, state->narrow),
		.s_dev = state->s_dev,
		.tid = task->pid,
		.tgid = task->tgid,
		.fd = state->fd,
		.op = state->op,
		.file_kind = state->file_kind,
	};

	if (state->call_flags & CALL_VECTOR)
		write.vectors = state->narrow ? VECTORS_OF_32_BIT : VECTORS_OF_64_BIT;

	return take_payload(&write);
}

/* The number under which a call is described: 32-bit calls have their own, those of x32 none. */
static always_inline u32 described_number(struct task_state *state, struct task_struct *task, u32 number)
{
	u32 status = 0;

	if (FIELD_EXISTS(task->thread_info.status))
		status = task->thread_info.status;
	state->narrow = (status & IN_32_BIT_CALL) != 0;
	if (state->narrow)
		return number < CALLS_OF_32_BIT ? CALLS_OF_64_BIT + number : ~0u;
	if (number & X32_CALL)
		state->undecoded = UNDECODED_X32 + 1;
	return number < CALLS_OF_64_BIT ? number : ~0u;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *context)
{
	struct pt_regs *regs = (void *)context[0];
	struct task_state *state = state_of_stack(regs);
	struct task_struct *task;
	struct call_description *call;
	u32 number = context[1];
	u64 now;
	u8 narrow;

	if (!state)
		return 0;
	call = bpf_map_lookup_elem(&call_descriptions, &number);
	if (call && goes_untimed(state, call, regs)) {
		state->untimed_left--;
		state->in_kernel = ENTERED_UNTIMED;
		state->op = call->op;
		state->call_flags = call->flags;
		state->arguments_later = 1;
		state->stands_for = 0;
		state->cached_pages = 0;
		/* A plain call follows another one, and submits nothing. */
		if (!(call->flags & CALL_PLAIN)) {
			state->ring_request = 0;
			state->ring_inline = 0;
		}
		return 0;
	}
	if (call && enters_pair(state, call, regs))
		return 0;
	now = bpf_ktime_get_ns();
	account(state, now);
	if (state->aio_stage == AIO_HALF)
		settle_half(state, now);
	state->in_kernel = ENTERED_TIMED;
	state->op = 0;
	state->submitted_kind = FILE_OTHER;
	state->arguments_later = 0;
	state->vectors_unread = 0;
	state->ring_request = 0;
	state->ring_inline = 0;
	task = bpf_get_current_task_btf();
	number = described_number(state, task, number);
	narrow = state->narrow;
	if (narrow)
		call = bpf_map_lookup_elem(&call_descriptions, &number);
	if (call && call->undecoded)
		state->undecoded = UNDECODED_32_BIT + 1;
	if (!call || !call->op) {
		state->fast = 0;
		state->aio_stage = 0;
		state->call_flags = 0;
		return 0;
	}
	if (call->flags & CALL_BY_COMMAND && !is_for_us(call->op, argument(regs, 2, narrow))) {
		state->fast = 0;
		state->call_flags = 0;
		if (sets_open_flags(call->op, argument(regs, 2, narrow))) {
			/* Again when it is done: another thread may look the file up in between. */
			state->call_flags = CALL_CHANGES_FDS;
			descriptors_changed();
		}
		return 0;
	}
	draw_sample(state, call, regs, now);
	if (call->op == OP_IO_GETEVENTS && state->aio_stage == AIO_TIMED && regs->di == state->aio_context)
		learn(&state->aio_gap_ns, now - state->exit_ns);
	else
		state->aio_stage = 0;
	state->op = call->op;
	state->call_flags = call->flags;
	state->start_ns = now;
	state->kernel_at_start_ns = state->kernel_ns;
	state->read_bytes_at_start = task->ioac.read_bytes;
	state->cached_pages = 0;
	state->fd = -1;
	state->ino = 0;
	state->s_dev = 0;
	state->file_kind = FILE_OTHER;
	state->open_flags = 0;
	state->name_pointer = argument(regs, call->name_argument, narrow);
	state->offset = call->offset_argument ? (s64)argument(regs, call->offset_argument, narrow) : -1;
	if (call->offset_high_argument)
		state->offset |= argument(regs, call->offset_high_argument, narrow) << 32;
	if (call->flags & CALL_OFFSET_POINTERS)
		state->offset = pointed_offset(state->offset, call->pointed_bytes);
	state->requested = argument(regs, call->length_argument, narrow);
	if (call->length_high_argument)
		state->requested |= argument(regs, call->length_high_argument, narrow) << 32;
	if (call->flags & CALL_VECTOR)
		add_vectors(state, argument(regs, call->vector_argument, narrow), state->requested, narrow);
	if (call->flags & CALL_TWO_FILES) {
		s64 offset = call->second_offset_argument ? (s64)argument(regs, call->second_offset_argument, narrow) : 0;

		note_second_file(state, task, call->second_op, argument(regs, call->second_fd_argument, narrow),
				 pointed_offset(offset, call->pointed_bytes));
	}
	if (call->fd_argument) {
		state->fd = argument(regs, call->fd_argument, narrow);
		resolve(state, task, state->fd);
		if (call->asked_argument)
			state->open_flags |= opened_as_asked(argument(regs, call->asked_argument, narrow));
		state->positioned = !(call->flags & CALL_FILE_POSITION && state->offset == -1);
		if (!state->positioned && state->file_kind != FILE_OTHER)
			state->offset = READ_FIELD((struct file *)state->known_file, f_pos);
	}
	if (payload_period_ns && is_write_call(call->op) && state->file_kind != FILE_OTHER)
		sample_write(state, task, regs);
	if (call->flags & CALL_CHANGES_FDS)
		descriptors_changed();
	if (call->op == OP_MSYNC && argument(regs, 3, narrow) & MSYNC_ASYNC)
		state->op = OP_MSYNC_ASYNC;
	if (call->op == OP_FALLOCATE && argument(regs, 2, narrow) & FALLOCATE_PUNCH_HOLE)
		state->op = OP_DISCARD_RANGE;
	else if (call->op == OP_DISCARD_RANGE)
		note_range(state, argument(regs, 3, narrow));
	if (call->op == OP_IO_SUBMIT || call->op == OP_IO_GETEVENTS) {
		state->list_pointer = argument(regs, call->op == OP_IO_SUBMIT ? 3 : 4, narrow);
		if (call->op == OP_IO_SUBMIT) {
			if (narrow)
				state->requested = (s32)state->requested;
			submit_iocbs(state, task);
		}
	}
	return 0;
}

/* One for each CPU: a name does not fit the stack. */
struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct name_record);
} name_scratch SEC(".maps");

static always_inline void send_name(struct task_state *state, struct task_struct *task, u64 now, s64 returned)
{
	u32 zero = 0;
	struct name_record *record = bpf_map_lookup_elem(&name_scratch, &zero);

	if (!record)
		return;
	record->header.record_class = CLASS_NAMES;
	record->header.count = 1;
	record->at_ns = now;
	record->ino = state->ino;
	record->returned = returned;
	record->s_dev = state->s_dev;
	record->tid = task->pid;
	record->tgid = task->tgid;
	record->op = state->op;
	record->file_kind = state->file_kind;
	record->name[0] = 0;
	bpf_probe_read_user_str(record->name, sizeof(record->name), (void *)state->name_pointer);
	count_made(CLASS_NAMES);
	if (bpf_ringbuf_output(&ring, record, sizeof(*record), RINGBUF_NO_WAKEUP))
		count_lost(CLASS_NAMES, 1);
}

/* Reads the clock at the end of a group. */
static never_inline int finish_group(struct task_state *state)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = bpf_ktime_get_ns();
	u64 read_bytes = task->ioac.read_bytes;
	u64 mean = close_group(state, state->group_place, now, read_bytes - state->read_bytes_at_start);

	state->read_bytes_at_start = read_bytes;
	state->exit_jiffies = bpf_jiffies64();
	if (mean >= FAST_NS) {
		state->fast = 0;
		state->groupable = 0;
	} else {
		learn(&state->step_ns, mean);
		state->group_place = state->batch.count;
	}
	return 0;
}

/* Whether a call that goes untimed leaves like this: without a look at the clock. */
static always_inline int joins_group(struct task_state *state, struct pt_regs *regs, s64 returned)
{
	u64 offset = regs->r10;
	u64 requested = regs->dx;
	u32 calls = state->grouped;

	if (state->in_kernel != ENTERED_UNTIMED || !state->groupable || state->cached_pages ||
	    state->op == OP_IO_SUBMIT || state->op == OP_IO_GETEVENTS || state->exit_jiffies != bpf_jiffies64())
		return 0;
	if (state->op == OP_URING_ENTER) {
		if (!state->paired || !state->request_known || returned != 1)
			return 0;
		if (!add_to_group(state, calls, state->pair.offset_and_op, state->pair.requested, state->pair.returned))
			return 0;
		state->paired = 0;
	} else {
		if (state->call_flags & CALL_FILE_POSITION)
			offset = READ_FIELD((struct file *)state->known_file, f_pos) - (returned > 0 ? returned : 0);
		if (offset >> 55 || requested >> 32 || returned != (s32)returned)
			return 0;
		if (!add_to_group(state, calls, offset << 8 | state->op, requested, returned))
			return 0;
	}
	state->in_kernel = OUTSIDE_KERNEL;
	state->op = 0;
	if (is_full(state, calls + 1) || !state->untimed_left)
		finish_group(state);
	return 1;
}

/* The kernel has read the iovecs by now, so that they are in memory; those of every vectored call are at 2 and 3. */
static never_inline int vectors_again(struct task_state *state, struct pt_regs *regs)
{
	u8 narrow = state->narrow;

	add_vectors(state, argument(regs, 2, narrow), argument(regs, 3, narrow), narrow);
	if (state->vectors_unread)
		count_undecoded(UNDECODED_VECTORS, 1);
	return 0;
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *context)
{
	struct pt_regs *regs = (void *)context[0];
	u32 by_daemon = 0;
	struct task_state *state = state_or_daemon(regs, &by_daemon);
	struct task_struct *task;
	s64 returned = context[1];
	struct call_record *record;
	u64 now, step;

	if (by_daemon)
		return count_call_of_daemon(regs);
	if (!state || joins_group(state, regs, returned) || leaves_pair(state, returned))
		return 0;
	now = bpf_ktime_get_ns();
	account(state, now);
	task = bpf_get_current_task_btf();
	if (state->aio_stage == AIO_HALF)
		settle_half(state, state->start_ns);
	if (state->paired)
		settle_pair(state, task, now);
	if (state->arguments_later && state->ring_request)
		correct_start(state, now);
	state->in_kernel = OUTSIDE_KERNEL;
	state->submitted_kind = FILE_OTHER;
	if (state->undecoded) {
		if (returned != -NO_SUCH_CALL)
			count_undecoded(state->undecoded - 1, 1);
		state->undecoded = 0;
	}
	if (!state->op) {
		if (state->call_flags & CALL_CHANGES_FDS)
			descriptors_changed();
		return 0;
	}
	if (state->vectors_unread && returned > 0)
		vectors_again(state, regs);
	/* A 32-bit call cannot return the position: it is put into memory. */
	if (state->narrow && state->op == OP_LSEEK && !returned && state->file_kind != FILE_OTHER)
		returned = READ_FIELD((struct file *)state->known_file, f_pos);
	if (state->op == OP_IO_SUBMIT || state->op == OP_IO_GETEVENTS) {
		/* As at the entry, also where that went untimed. */
		state->offset = -1;
		state->requested = state->op == OP_IO_SUBMIT ? state->requested : 0;
		state->fd = -1;
	} else if (state->arguments_later && state->op == OP_URING_ENTER) {
		state->requested = regs->si;
	} else if (state->arguments_later) {
		state->requested = regs->dx;
		state->offset = regs->r10;
		state->positioned = !(state->call_flags & CALL_FILE_POSITION);
		if (!state->positioned && state->file_kind != FILE_OTHER)
			state->offset = READ_FIELD((struct file *)state->known_file, f_pos) - (returned > 0 ? returned : 0);
	}
	if (state->call_flags & CALL_RETURNS_FD && returned >= 0) {
		descriptors_changed();
		resolve(state, task, returned);
	}
	/* Appending moves the position first: where it ended tells where it began. It appends wherever
	 * a call asks to write, and then the position stays where it was. */
	if (is_write_call(state->op) && state->open_flags & OPENED_APPEND && returned > 0) {
		if (state->positioned)
			state->offset = -1;
		else
			state->offset = READ_FIELD((struct file *)state->known_file, f_pos) - returned;
	}
	record = next_record(state);
	record->start_ns = state->start_ns;
	record->end_ns = now;
	record->ino = state->ino;
	record->offset = state->offset;
	record->requested = state->requested;
	record->returned = returned;
	record->cpu_ns = state->kernel_ns - state->kernel_at_start_ns;
	record->user_before_ns = state->user_ns - state->user_at_record_ns;
	record->s_dev = state->s_dev;
	record->tid = task->pid;
	record->tgid = task->tgid;
	record->open_flags = state->open_flags;
	record->storage_read_bytes = task->ioac.read_bytes - state->read_bytes_at_start;
	record->cached_pages = state->cached_pages;
	record->fd = state->fd;
	record->op = state->op;
	record->file_kind = state->file_kind;
	record->stands_for = state->stands_for > 1 && now - state->start_ns >= SURE_NS ? 1 : state->stands_for;
	state->estimated += !state->stands_for;
	state->user_at_record_ns = state->user_ns;
	record_is_filled(state);
	step = now - state->exit_ns;
	state->fast = !time_every_call && step < FAST_NS &&
		      (state->op == OP_URING_ENTER ? state->ring_inline && returned == 1
						   : state->call_flags & CALL_PLAIN && state->file_kind == FILE_REGULAR);
	if (state->fast) {
		if (state->aio_steps)
			state->step_ns = 0;
		state->aio_steps = 0;
		learn(&state->step_ns, step);
	}
	/* Past the page cache it may read from storage without a sign of it. */
	state->groupable = state->fast && !(state->open_flags & (OPENED_DIRECT | OPENED_APPEND)) && state->batch.count &&
			   (state->op != OP_URING_ENTER || state->request_known);
	if (writes_output(state, returned)) {
		int taken = take_output(state->fd, argument(regs, 2, state->narrow), returned, output_kind(state));

		if (taken == OUTPUT_TAKEN)
			state->fast = state->groupable = 0;
		else if (taken == OUTPUT_ENDED)
			state->output_ended |= output_end(state);
	}
	state->group_place = state->batch.count;
	state->exit_ns = now;
	state->exit_jiffies = bpf_jiffies64();
	state->read_bytes_at_start += record->storage_read_bytes;
	if (state->call_flags & CALL_PLAIN) {
		state->narrow_bytes = returned == (u32)state->requested && !(state->requested >> 32) ? returned : 0;
		state->op = 0;
		return 0;
	}
	if (state->name_pointer)
		send_name(state, task, now, returned);
	if (state->call_flags & CALL_TWO_FILES && state->second.op)
		add_async(state, &state->second, now, returned);
	if (state->op == OP_IO_SUBMIT || state->op == OP_IO_GETEVENTS)
		learn_pair(state, regs, now, returned);
	if (state->op == OP_IO_SUBMIT)
		settle_iocbs(state, task, returned);
	if (state->op == OP_IO_GETEVENTS && returned > 0)
		reap_iocbs(state, task, returned);
	state->op = 0;
	return 0;
}

#endif
