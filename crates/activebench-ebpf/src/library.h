/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of library functions, counted where they are made: user space puts a uprobe on
 * each function, whose cookie says which one it is and where its bytes are asked for.
 *
 * Nothing here runs unless it is asked for. A count belongs to one thread and one
 * function, for as long as the tree opens and closes no file, and at most 268 ms.
 */
#ifndef ACTIVEBENCH_LIBRARY_H
#define ACTIVEBENCH_LIBRARY_H

#include "maps.h"

enum { LIBRARY_SLICE_SHIFT = 28 };
/* The count of calls that found no room has this number. */
#define LIBRARY_LOST 0xffffffff

/* What of a call is the number of bytes that it asks for. */
enum { ASKED_NOTHING, ASKED_ONE_BYTE, ASKED_MEMBERS, ASKED_THIRD };

/* User space makes it as large as it has to be. */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(map_flags, MAP_NO_PREALLOC);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, struct library_key);
	MAP_TYPE(value, struct library_count);
} library_counts SEC(".maps");

/* struct pt_regs as user space knows it (x86-64). */
struct user_registers {
	u64 registers[21];
};

enum { REGISTER_DX = 12, REGISTER_SI = 13 };

SEC("uprobe")
int library_call(struct user_registers *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(context);
	struct library_key key = {};
	struct library_count *count;
	u64 now, asked = 0;

	if (!membership_of(task))
		return 0;
	now = bpf_ktime_get_ns();
	key.tgid = task->tgid;
	key.tid = task->pid;
	key.function = cookie;
	key.slice = now >> LIBRARY_SLICE_SHIFT;
	key.generation = fd_generation;
	count = bpf_map_lookup_elem(&library_counts, &key);
	if (!count) {
		struct library_count new = { .first_ns = now };

		bpf_map_update_elem(&library_counts, &key, &new, UPDATE_NOEXIST);
		count = bpf_map_lookup_elem(&library_counts, &key);
	}
	if (!count) {
		struct library_key lost = { .function = LIBRARY_LOST };

		count = bpf_map_lookup_elem(&library_counts, &lost);
		if (count)
			__sync_fetch_and_add(&count->calls, 1);
		return 0;
	}
	switch (cookie >> 32) {
	case ASKED_ONE_BYTE: asked = 1; break;
	case ASKED_MEMBERS: asked = context->registers[REGISTER_SI] * context->registers[REGISTER_DX]; break;
	case ASKED_THIRD: asked = context->registers[REGISTER_DX]; break;
	}
	count->calls++;
	count->asked_bytes += asked;
	count->last_ns = now;
	return 0;
}

#endif
