/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the threads' time goes, told often enough to cut it at any moment, and what they
 * are doing: the running totals that `calls.h` and `tasks.h` keep, and stack samples.
 *
 * Nothing here runs on a system call. The totals leave when a thread comes back to a CPU,
 * at most once in CPU_PERIOD_NS, and with every sample.
 */
#ifndef ACTIVEBENCH_CPU_H
#define ACTIVEBENCH_CPU_H

#include "calls.h"

/* Between two records of one thread's totals: at most 500 records a second. */
enum { CPU_PERIOD_NS = 2000000 };

static always_inline u32 state_off_cpu(u8 off_cpu)
{
	switch (off_cpu) {
	case OFF_PREEMPTED: return IN_PREEMPTION;
	case OFF_IOWAIT: return IN_IOWAIT;
	case OFF_STOPPED: return IN_STOP;
	}
	return IN_BLOCK;
}

/* The totals as kept, which are those at `at_ns`. */
static always_inline void fill_totals(struct cpu_record *record, struct task_state *state,
				      struct task_struct *task, u64 at_ns)
{
	record->at_ns = at_ns;
	record->user_ns = state->user_ns;
	record->kernel_ns = state->kernel_ns;
	record->blocked_ns = state->blocked_ns;
	record->iowait_ns = state->iowait_ns;
	record->preempted_ns = state->preempted_ns;
	record->tid = task->pid;
	record->tgid = task->tgid;
	record->padding = 0;
}

/* As came_back(), and the totals leave when they have not for a while. */
static always_inline void came_back_and_told(struct task_state *state, struct task_struct *task, u64 now)
{
	struct {
		struct batch_header header;
		struct cpu_record cpu;
	} message = {};

	message.cpu.since_ns = state->last_ns;
	message.cpu.state = state_off_cpu(state->off_cpu);
	came_back(state, now);
	if (now - state->cpu_sent_ns < CPU_PERIOD_NS)
		return;
	state->cpu_sent_ns = now;
	fill_totals(&message.cpu, state, task, now);
	message.header.record_class = CLASS_CPU;
	message.header.count = 1;
	count_made(CLASS_CPU);
	if (bpf_ringbuf_output(&ring, &message, sizeof(message), RINGBUF_NO_WAKEUP))
		count_lost(CLASS_CPU, 1);
}

/* struct bpf_perf_event_data, which is the same on every kernel: the registers of
 * struct pt_regs as user space knows them (x86-64), then two words. */
struct sample_context {
	u64 registers[21];
	u64 sample_period;
	u64 address;
};

enum { REGISTER_IP = 16, REGISTER_CS = 17 };
enum { PRIVILEGE_MASK = 3 };

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct sample_record);
} sample_scratch SEC(".maps");

/*
 * The sampling clock of one CPU. It interrupts the other programs, which may be half-way through
 * an update: it changes nothing of a task but cpu_sent_ns and exit_jiffies. Totals that were caught half-way do
 * not add up to the thread's age; user space tells them by that.
 */
SEC("perf_event")
int sample_cpu(struct sample_context *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *state;
	struct sample_record *record;
	u32 zero = 0;
	u64 now, last;
	long bytes;

	if (!task->pid)
		return 0;
	state = state_of(task);
	if (!state)
		return 0;
	record = bpf_map_lookup_elem(&sample_scratch, &zero);
	if (!record)
		return 0;
	now = bpf_ktime_get_ns();
	last = state->last_ns;
	record->header.record_class = CLASS_SAMPLES;
	record->header.count = 1;
	record->at_ns = now;
	record->user_mode = (context->registers[REGISTER_CS] & PRIVILEGE_MASK) != 0;
	record->padding = 0;
	fill_totals(&record->cpu, state, task, now);
	record->cpu.since_ns = last;
	if (state->off_cpu != ON_CPU) {
		/* Its return was hidden from us, or is only just happening: nothing is known since. */
		record->cpu.at_ns = last;
		record->cpu.state = IN_KERNEL;
	} else if (state->grouped) {
		u64 passed = now - last;
		u64 calls = state->grouped;
		u64 user = (calls + 1) * state->between_ns;

		/* Fast calls that nobody timed, then user mode or a part of the next one. */
		if (record->user_mode) {
			u64 taken = calls * state->step_ns;

			user -= state->between_ns;
			if (taken < passed)
				user += passed - taken;
		}
		if (user > passed)
			user = passed;
		record->cpu.state = record->user_mode ? IN_USER : IN_KERNEL;
		record->cpu.since_ns = now;
		record->cpu.user_ns += user;
		record->cpu.kernel_ns += passed - user;
	} else if (state->in_kernel) {
		u64 before = state->in_kernel == ENTERED_UNTIMED ? state->between_ns : 0;

		if (before > now - last)
			before = now - last;
		record->cpu.state = IN_KERNEL;
		record->cpu.since_ns += before;
		record->cpu.user_ns += before;
		record->cpu.kernel_ns += now - last - before;
	} else {
		record->cpu.state = IN_USER;
		record->cpu.user_ns += now - last;
	}
	state->cpu_sent_ns = now;
	/* The next call is timed: a pause in user mode is told from calls this often, not only at ticks. */
	state->exit_jiffies = 0;
	bytes = record->user_mode ? 0 : bpf_get_stack(context, record->kernel_frames, sizeof(record->kernel_frames), 0);
	record->kernel_count = bytes > 0 ? bytes / sizeof(u64) : 0;
	bytes = bpf_get_stack(context, record->user_frames, sizeof(record->user_frames), STACK_OF_USER);
	record->user_count = bytes > 0 ? bytes / sizeof(u64) : 0;
	/* Where it was is known even where nothing unwinds. */
	if (record->user_mode && !record->user_count) {
		record->user_frames[0] = context->registers[REGISTER_IP];
		record->user_count = 1;
	} else if (!record->user_mode && !record->kernel_count) {
		record->kernel_frames[0] = context->registers[REGISTER_IP];
		record->kernel_count = 1;
	}
	count_made(CLASS_SAMPLES);
	if (bpf_ringbuf_output(&ring, record, sizeof(*record), RINGBUF_NO_WAKEUP))
		count_lost(CLASS_SAMPLES, 1);
	return 0;
}

#endif
