/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process tree: who belongs to it, what it executes, when it ends, and where its time
 * goes. User space seeds the first task before its first instruction; from there births
 * are followed here.
 */
#ifndef ACTIVEBENCH_TASKS_H
#define ACTIVEBENCH_TASKS_H

#include "calls.h"
#include "cpu.h"

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct task_record);
} task_scratch SEC(".maps");

/* A record with everything but the times filled in. */
static always_inline struct task_record *begin_task_record(struct task_struct *task, u32 kind, u64 now)
{
	u32 zero = 0;
	struct task_record *record = bpf_map_lookup_elem(&task_scratch, &zero);

	if (!record)
		return NULL;
	record->header.record_class = CLASS_TASKS;
	record->header.count = 1;
	record->at_ns = now;
	record->user_ns = 0;
	record->kernel_ns = 0;
	record->blocked_ns = 0;
	record->iowait_ns = 0;
	record->preempted_ns = 0;
	record->kind = kind;
	record->tid = task->pid;
	record->tgid = task->tgid;
	record->parent_tgid = 0;
	record->exit_code = 0;
	record->padding = 0;
	bpf_probe_read_kernel(record->comm, sizeof(record->comm), task->comm);
	record->filename[0] = 0;
	return record;
}

static always_inline void send_task_record(struct task_record *record)
{
	count_made(CLASS_TASKS);
	if (bpf_ringbuf_output(&ring, record, sizeof(*record), RINGBUF_NO_WAKEUP))
		count_lost(CLASS_TASKS, 1);
}

/* A free place for a new thread; NULL when there is none near its own. */
static always_inline struct task_state *take_place(struct task_struct *task)
{
	for (u32 try = 0; try < THREAD_TRIES; try++) {
		u32 thread = (task->pid + try) & (THREADS - 1);
		struct task_state *state = bpf_map_lookup_elem(&threads, &thread);

		if (state && !__sync_val_compare_and_swap(&state->used, 0, 1)) {
			__builtin_memset(&state->stack, 0,
					 __builtin_offsetof(struct task_state, records) -
						 __builtin_offsetof(struct task_state, stack));
			state->thread = thread;
			state->wide_left = 0;
			return state;
		}
	}
	return NULL;
}

SEC("tp_btf/task_newtask")
int task_newtask(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct task_struct *parent = bpf_get_current_task_btf();
	struct membership membership = {};
	struct task_state *state;
	struct task_record *record;
	u64 now;

	if (!membership_of(parent))
		return 0;
	now = bpf_ktime_get_ns();
	state = take_place(task);
	membership.thread = state ? state->thread : NO_THREAD;
	if (!bpf_task_storage_get(&tasks, task, &membership, STORAGE_CREATE) || !state) {
		/* A task that cannot be followed is a hole in the observation: made, and lost. */
		count_made(CLASS_TASKS);
		count_lost(CLASS_TASKS, 1);
		if (state)
			state->used = 0;
		return 0;
	}
	/* Its stack may have been a stranger's. */
	__sync_fetch_and_add(&births, 1);
	state->last_ns = now;
	state->in_kernel = 1;
	state->off_cpu = OFF_PREEMPTED;
	record = begin_task_record(task, TASK_BORN, now);
	if (!record)
		return 0;
	record->parent_tgid = parent->tgid;
	send_task_record(record);
	return 0;
}

/* Arguments, or pieces of long ones, that are sent of one execution. */
#define MOST_ARGUMENTS 128

struct argument_walk {
	struct name_record *record;
	u64 address, end;
	s64 number;
};

/* Sends the next piece; one that fills the record is not the last of its argument. */
static long send_argument(u32 index, struct argument_walk *walk)
{
	struct name_record *record = walk->record;
	long length;
	char last = 0;

	if (walk->address >= walk->end)
		return 1;
	length = bpf_probe_read_user_str(record->name, sizeof(record->name), (void *)walk->address);
	if (length <= 0)
		return 1;
	record->returned = walk->number;
	count_made(CLASS_NAMES);
	if (bpf_ringbuf_output(&ring, record, sizeof(*record), RINGBUF_NO_WAKEUP))
		count_lost(CLASS_NAMES, 1);
	walk->address += length;
	if (length == sizeof(record->name))
		bpf_probe_read_user(&last, sizeof(last), (void *)(walk->address - 1));
	/* What was cut off is the next piece of the same argument. */
	if (last)
		walk->address--;
	else
		walk->number++;
	return 0;
}

/* Sends what a program was executed with: an argument a record, one that does not fit in several. */
static never_inline void send_arguments(struct task_struct *task, u64 now)
{
	struct mm_struct *mm = READ_FIELD(task, mm);
	u32 zero = 0;
	struct name_record *record = bpf_map_lookup_elem(&name_scratch, &zero);
	struct argument_walk walk = {};

	if (!record || !mm)
		return;
	walk.record = record;
	walk.address = READ_FIELD(mm, arg_start);
	walk.end = READ_FIELD(mm, arg_end);
	record->header.record_class = CLASS_NAMES;
	record->header.count = 1;
	record->at_ns = now;
	record->ino = 0;
	record->s_dev = 0;
	record->tid = task->pid;
	record->tgid = task->tgid;
	record->op = OP_EXECUTE;
	record->file_kind = FILE_OTHER;
	bpf_loop(MOST_ARGUMENTS, send_argument, &walk, 0);
}

/* Whether a program gets more rights than its user has. */
static always_inline int gains_rights(struct linux_binprm *program)
{
	return READ_BIT(program, secureexec);
}

/* Ends the watch of a process, which has one thread. Its calls up to here are kept. */
static never_inline int leave_tree(struct membership *membership, struct task_state *state, u64 now)
{
	account(state, now);
	flush_calls(state);
	state->stack = 0;
	membership->thread = LEFT_TREE;
	state->used = 0;
	count_undecoded(UNDECODED_GAIN, 1);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int sched_process_exec(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct linux_binprm *program = (void *)context[2];
	struct membership *membership = membership_of(task);
	struct task_state *state;
	struct task_record *record;
	u64 now;

	if (!membership)
		return 0;
	descriptors_changed();
	forget_output(task->tgid);
	state = state_of_member(membership);
	if (state)
		state->output_ended = 0;
	now = bpf_ktime_get_ns();
	if (leave_at_gain && gains_rights(program)) {
		if (state)
			leave_tree(membership, state, now);
		membership->thread = LEFT_TREE;
		return 0;
	}
	send_arguments(task, now);
	record = begin_task_record(task, TASK_EXECUTED, now);
	if (!record)
		return 0;
	bpf_probe_read_kernel_str(record->filename, sizeof(record->filename), program->filename);
	send_task_record(record);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int sched_process_exit(u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct membership *membership = membership_of(task);
	struct task_state *state = membership ? state_of_member(membership) : NULL;
	struct task_record *record;
	u64 now;

	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	account(state, now);
	if (state->aio_stage == AIO_HALF)
		settle_half(state, now);
	if (state->paired)
		settle_pair(state, task, now);
	flush_calls(state);
	record = begin_task_record(task, TASK_EXITED, now);
	if (record) {
		record->exit_code = task->exit_code;
		record->user_ns = state->user_ns;
		record->kernel_ns = state->kernel_ns;
		record->blocked_ns = state->blocked_ns;
		record->iowait_ns = state->iowait_ns;
		record->preempted_ns = state->preempted_ns;
		send_task_record(record);
	}
	/* It makes no more calls, and others may get its stack and its place. */
	state->stack = 0;
	membership->thread = NO_THREAD;
	state->used = 0;
	return 0;
}

static always_inline int waits_for_io(struct task_struct *task)
{
	return READ_BIT(task, in_iowait);
}

/* __TASK_STOPPED and __TASK_TRACED (include/linux/sched.h of Linux 6.1 to 6.18). */
enum { STOPPED_OR_TRACED = 0x4 | 0x8 };

static always_inline u8 off_cpu_of(struct task_struct *task, int preempted, u64 task_state)
{
	if (preempted)
		return OFF_PREEMPTED;
	if (task_state & STOPPED_OR_TRACED)
		return OFF_STOPPED;
	return waits_for_io(task) ? OFF_IOWAIT : OFF_BLOCKED;
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *context)
{
	struct task_struct *previous = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	int preempted = context[0] || !context[3];
	struct task_state *state;

	if (is_serving(previous))
		stops_serving(previous);
	if (is_serving(next))
		starts_serving();
	if (previous->pid) {
		state = state_of(previous);
		if (state) {
			u64 now = bpf_ktime_get_ns();

			account(state, now);
			if (state->aio_stage == AIO_HALF)
				settle_half(state, now);
			if (state->paired)
				settle_pair(state, previous, now);
			state->fast = 0;
			/* A call that leaves the processor is timed: by now, if its entry was not. Not if what
			 * passed before may have been a pause. */
			if (state->in_kernel && state->in_kernel != ENTERED_UNSURE)
				state->stands_for = 1;
			state->off_cpu = off_cpu_of(previous, preempted, context[3]);
		}
	}
	if (next->pid) {
		state = state_of(next);
		if (state && state->off_cpu != ON_CPU)
			came_back_and_told(state, next, bpf_ktime_get_ns());
	}
	return 0;
}

#endif
