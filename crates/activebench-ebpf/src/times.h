/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The split of each thread's time between user mode, the kernel, and off a CPU. */
#ifndef ACTIVEBENCH_TIMES_H
#define ACTIVEBENCH_TIMES_H

#include "call_records.h"

/* A mean in which the latest value counts for a quarter. A pause of more than four seconds is as long as one of four. */
static always_inline void learn(u32 *mean, u64 passed)
{
	u32 value = passed > 0xffffffff ? 0xffffffff : passed;

	*mean = *mean ? *mean - *mean / 4 + value / 4 : value;
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

/* Ends the time between calls of a call whose entry was not timed: it takes as long as it does
 * before those that are, and not longer than there was time. */
static always_inline void settle_entry(struct task_state *state, u64 now)
{
	u64 passed = now - state->last_ns;

	state->in_kernel = passed < SURE_NS ? ENTERED_TIMED : ENTERED_UNSURE;
	if (passed > state->between_ns)
		passed = state->between_ns;
	state->user_ns += passed;
	state->last_ns += passed;
	state->start_ns = state->last_ns;
	state->kernel_at_start_ns = state->kernel_ns;
}

/* Adds the time since the last change of mode; the task is on a CPU. */
static always_inline void account(struct task_state *state, u64 now)
{
	u64 passed;

	/* Some machines hide what a few processes do from tracers, also that they made way for us. */
	if (state->off_cpu != ON_CPU)
		came_back(state, now);
	if (state->grouped)
		settle_group(state, now);
	if (state->in_kernel == ENTERED_UNTIMED)
		settle_entry(state, now);
	state->ring_batch_ns = 0;
	passed = now - state->last_ns;
	if (state->in_kernel)
		state->kernel_ns += passed;
	else
		state->user_ns += passed;
	state->last_ns = now;
}

#endif
