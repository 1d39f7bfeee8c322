/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls of the tree: one record for each call that user space described, and the
 * split of each thread's time between user mode and the kernel.
 */
#ifndef ACTIVEBENCH_CALLS_H
#define ACTIVEBENCH_CALLS_H

#include "maps.h"

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

struct vector_sum {
	u64 address;
	u64 bytes;
};

static long add_vector(u32 index, struct vector_sum *sum)
{
	u64 vector[2] = {};

	if (bpf_probe_read_user(vector, sizeof(vector), (void *)(sum->address + index * sizeof(vector))))
		return 1;
	sum->bytes += vector[1];
	return 0;
}

static always_inline u64 current_generation(void)
{
	u32 zero = 0;
	u64 *generation = bpf_map_lookup_elem(&fd_generation, &zero);

	return generation ? *generation : 0;
}

static always_inline void descriptors_changed(void)
{
	u32 zero = 0;
	u64 *generation = bpf_map_lookup_elem(&fd_generation, &zero);

	if (generation)
		__sync_fetch_and_add(generation, 1);
}

static always_inline struct file *file_of(struct task_struct *task, s32 fd)
{
	struct files_struct *descriptors = task->files;
	struct fdtable *table;
	struct file *file = NULL;

	if (!descriptors || fd < 0)
		return NULL;
	table = descriptors->fdt;
	if (!table || (u32)fd >= table->max_fds)
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

/* Looks the descriptor up unless it is the one of the call before. */
static always_inline void resolve(struct task_state *state, struct task_struct *task, s32 fd)
{
	u64 generation = current_generation();

	if (state->known_fd != fd || state->known_generation != generation || !state->known_file) {
		struct file *file = file_of(task, fd);
		u8 kind = FILE_OTHER;
		u64 ino = 0;
		u32 s_dev = 0;

		state->known_file = (u64)file;
		state->known_fd = fd;
		state->known_generation = generation;
		if (!file) {
			state->known_ino = 0;
			state->known_s_dev = 0;
			state->known_kind = FILE_OTHER;
			state->known_open_flags = 0;
		} else {
			struct inode *inode = READ_FIELD(file, f_inode);

			identify(inode, &ino, &s_dev, &kind);
			state->known_ino = ino;
			state->known_s_dev = s_dev;
			state->known_kind = kind;
			state->known_open_flags = READ_FIELD(file, f_flags);
			if (kind != FILE_OTHER)
				remember_file(ino, s_dev);
		}
	}
	state->ino = state->known_ino;
	state->s_dev = state->known_s_dev;
	state->file_kind = state->known_kind;
	state->open_flags = state->known_open_flags;
}

static always_inline void flush_calls(struct task_state *state)
{
	if (!state->batch.count)
		return;
	state->batch.record_class = CLASS_CALLS;
	send_batch(&state->batch, sizeof(struct batch_header) + state->batch.count * sizeof(struct call_record),
		   sizeof(struct batch_header) + sizeof(state->records));
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
	state->offset = call->offset_argument ? (s64)argument(regs, call->offset_argument) : -1;
	if (call->flags & CALL_VECTOR) {
		struct vector_sum sum = { .address = argument(regs, call->vector_argument) };

		bpf_loop(argument(regs, call->length_argument), add_vector, &sum, 0);
		state->requested = sum.bytes;
	} else {
		state->requested = argument(regs, call->length_argument);
	}
	if (call->fd_argument) {
		state->fd = argument(regs, call->fd_argument);
		resolve(state, task, state->fd);
		if (call->flags & CALL_FILE_POSITION && state->offset == -1 && state->file_kind != FILE_OTHER)
			state->offset = READ_FIELD((struct file *)state->known_file, f_pos);
	}
	if (call->flags & CALL_CHANGES_FDS)
		descriptors_changed();
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
	u32 slot;
	u64 now;

	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	account(state, now);
	state->in_kernel = 0;
	if (!state->op)
		return 0;
	if (state->call_flags & CALL_RETURNS_FD && returned >= 0) {
		descriptors_changed();
		resolve(state, task, returned);
	}
	/* Appending moves the position first: where it ended tells where it began. */
	if (state->call_flags & CALL_FILE_POSITION && state->open_flags & 02000 && returned > 0)
		state->offset = READ_FIELD((struct file *)state->known_file, f_pos) - returned;
	slot = state->batch.count;
	if (slot >= CALL_BATCH) {
		flush_calls(state);
		slot = 0;
	}
	record = &state->records[slot & (CALL_BATCH - 1)];
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
	state->batch.count = slot + 1;
	count_made(CLASS_CALLS);
	if (state->name_pointer)
		send_name(state, task, now, returned);
	state->op = 0;
	if (slot + 1 == CALL_BATCH)
		flush_calls(state);
	return 0;
}

#endif
