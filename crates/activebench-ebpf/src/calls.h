/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls of the tree: one record for each call that user space described, and the
 * split of each thread's time between user mode and the kernel.
 */
#ifndef ACTIVEBENCH_CALLS_H
#define ACTIVEBENCH_CALLS_H

#include "libaio.h"

static always_inline u64 argument(struct pt_regs *regs, u8 number)
{
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

/* Ends a time off the CPU. */
static always_inline void came_back(struct task_state *state, u64 now)
{
	u64 passed = now - state->last_ns;

	if (state->off_cpu == OFF_PREEMPTED)
		state->preempted_ns += passed;
	else
		state->blocked_ns += passed;
	if (state->off_cpu == OFF_IOWAIT)
		state->iowait_ns += passed;
	state->off_cpu = ON_CPU;
	state->last_ns = now;
}

/* Adds the time since the last change of mode; the task is on a CPU. */
static always_inline void account(struct task_state *state, u64 now)
{
	u64 passed;

	/* Some machines hide what a few processes do from tracers, also that they made way for us. */
	if (state->off_cpu != ON_CPU)
		came_back(state, now);
	passed = now - state->last_ns;
	if (state->in_kernel)
		state->kernel_ns += passed;
	else
		state->user_ns += passed;
	state->last_ns = now;
}

/* An offset that is given by address; -1, the file position, without one. */
static always_inline s64 pointed_offset(s64 address)
{
	s64 offset = -1;

	if (address)
		bpf_probe_read_user(&offset, sizeof(offset), (void *)address);
	return offset;
}

/* Keeps the file that data goes to; the call's own file is resolved afterwards. */
static always_inline void note_second_file(struct task_state *state, struct task_struct *task, u16 op, s32 fd,
					   s64 offset)
{
	resolve(state, task, fd);
	if (state->file_kind == FILE_OTHER)
		return;
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

SEC("tp_btf/sys_enter")
int sys_enter(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = bpf_task_storage_get(&tasks, task, NULL, 0);
	struct pt_regs *regs = (void *)context[0];
	struct call_description *call;
	u32 number = context[1];
	u64 now;

	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	account(state, now);
	state->in_kernel = 1;
	state->op = 0;
	state->submitted_kind = FILE_OTHER;
	call = bpf_map_lookup_elem(&call_descriptions, &number);
	if (!call || !call->op)
		return 0;
	if (call->flags & CALL_IF_DUPLICATES) {
		u64 command = argument(regs, 2);

		if (command != FCNTL_DUPFD && command != FCNTL_DUPFD_CLOEXEC)
			return 0;
	}
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
	state->name_pointer = argument(regs, call->name_argument);
	state->second.op = 0;
	state->offset = call->offset_argument ? (s64)argument(regs, call->offset_argument) : -1;
	if (call->flags & CALL_OFFSET_POINTERS)
		state->offset = pointed_offset(state->offset);
	if (call->flags & CALL_VECTOR) {
		struct vector_sum sum = { .address = argument(regs, call->vector_argument) };

		bpf_loop(argument(regs, call->length_argument), add_vector, &sum, 0);
		state->requested = sum.bytes;
	} else {
		state->requested = argument(regs, call->length_argument);
	}
	if (call->second_op) {
		s64 offset = call->second_offset_argument ? (s64)argument(regs, call->second_offset_argument) : 0;

		note_second_file(state, task, call->second_op, argument(regs, call->second_fd_argument),
				 pointed_offset(offset));
	}
	if (call->fd_argument) {
		state->fd = argument(regs, call->fd_argument);
		resolve(state, task, state->fd);
		if (call->flags & CALL_FILE_POSITION && state->offset == -1 && state->file_kind != FILE_OTHER)
			state->offset = READ_FIELD((struct file *)state->known_file, f_pos);
	}
	if (call->flags & CALL_CHANGES_FDS)
		descriptors_changed();
	if (call->op == OP_MSYNC && argument(regs, 3) & MSYNC_ASYNC)
		state->op = OP_MSYNC_ASYNC;
	if (call->op == OP_IO_SUBMIT || call->op == OP_IO_GETEVENTS) {
		state->list_pointer = argument(regs, call->op == OP_IO_SUBMIT ? 3 : 4);
		if (call->op == OP_IO_SUBMIT)
			submit_iocbs(state);
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

SEC("tp_btf/sys_exit")
int sys_exit(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state = bpf_task_storage_get(&tasks, task, NULL, 0);
	s64 returned = context[1];
	struct call_record *record;
	u64 now;

	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	account(state, now);
	state->in_kernel = 0;
	state->submitted_kind = FILE_OTHER;
	if (!state->op)
		return 0;
	if (state->call_flags & CALL_RETURNS_FD && returned >= 0) {
		descriptors_changed();
		resolve(state, task, returned);
	}
	/* Appending moves the position first: where it ended tells where it began. */
	if (state->call_flags & CALL_FILE_POSITION && state->open_flags & 02000 && returned > 0)
		state->offset = READ_FIELD((struct file *)state->known_file, f_pos) - returned;
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
	state->user_at_record_ns = state->user_ns;
	record_is_filled(state);
	if (state->name_pointer)
		send_name(state, task, now, returned);
	if (state->second.op)
		add_async(state, &state->second, now, returned);
	if (state->op == OP_IO_SUBMIT && returned < (s64)state->requested)
		withdraw_iocbs(state, returned);
	if (state->op == OP_IO_GETEVENTS && returned > 0)
		reap_iocbs(state, returned);
	state->op = 0;
	return 0;
}

#endif
