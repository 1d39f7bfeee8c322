/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every map, and the counting that goes with the ring. */
#ifndef ACTIVEBENCH_MAPS_H
#define ACTIVEBENCH_MAPS_H

#include "kernel.h"
#include "records.h"

/* The one way out. User space sets the size and polls: nothing here ever wakes it. */
struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 33554432);
} ring SEC(".maps");

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, CLASS_COUNT);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct record_counters);
} counters SEC(".maps");

/* Tasks of the tree: made at birth, freed with the task, so that one that is ending belongs too. */
struct {
	MAP_UINT(type, MAP_TASK_STORAGE);
	MAP_UINT(map_flags, MAP_NO_PREALLOC);
	MAP_TYPE(key, int);
	MAP_TYPE(value, struct membership);
} tasks SEC(".maps");

/* What is remembered of each of them until its end. Plain memory, because the helper that
 * finds a task's own storage costs as much as all the rest of a call's record. */
struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(map_flags, MAP_MMAPABLE); /* starts on a page, so that cache lines are ours */
	MAP_UINT(max_entries, THREADS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct task_state);
} threads SEC(".maps");

/* Which thread was last seen on a kernel stack, by a hash of its address: its number and one. A
 * hint: the thread knows its stack itself. */
u32 callers[THREADS] __attribute__((aligned(64)));

/* The same for threads of others. A stack is a stranger's until the tree gets a thread, which
 * may get that of one that has ended. */
struct stranger strangers[THREADS] __attribute__((aligned(64)));

/* Threads that the tree has had, the first one from its first call on; 0 before. User space changes it, too: when it adds
 * a thread that runs already, whose stack may be a stranger's. In a map of its own, which it can write. */
u64 births SEC(".bss.births");

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, CALLS_OF_64_BIT + CALLS_OF_32_BIT);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct call_description);
} call_descriptions SEC(".maps");

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, UNDECODED_COUNT);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} undecoded SEC(".maps");

/* Time spent in long walks, by whether the kernel timed the program (1) or not (0): user space times programs in slices,
 * for which walks are too long and too few. It says in `timing` that a slice runs. */
struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 2);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} walk_ns SEC(".maps");

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} timing SEC(".maps");

/* Set before loading. */
const volatile u32 observer_tgid = 0;
const volatile u32 time_every_call = 0; /* otherwise the entry of one fast call in SAMPLED_CALLS */
const volatile u32 leave_at_gain = 0; /* a process that executes a program with more rights leaves the tree */
const volatile u32 look_every_caller_up = 0; /* as where stacks do not name their thread */

const volatile u32 has_daemons = 0;

/* Processes outside the tree that serve FUSE file systems, by id: those that ran before the programs were loaded. */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 64);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u8);
} daemons SEC(".maps");

/* Counts every change of descriptors in the tree; a remembered file is good for one count. */
u64 fd_generation;

/* Files that the tree has used: their page-cache insertions are reported, whoever causes them. */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(map_flags, MAP_NO_PREALLOC);
	MAP_UINT(max_entries, 262144);
	MAP_TYPE(key, struct file_key);
	MAP_TYPE(value, u8);
} files SEC(".maps");

/* Overlays, by device: the file system that all their directories are on. */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 256);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} overlays SEC(".maps");

static always_inline struct record_counters *counters_of(u32 record_class)
{
	return bpf_map_lookup_elem(&counters, &record_class);
}

static always_inline void count_made(u32 record_class)
{
	struct record_counters *counter = counters_of(record_class);

	if (counter)
		counter->made++;
}

static always_inline void count_lost(u32 record_class, u64 records)
{
	struct record_counters *counter = counters_of(record_class);

	if (counter)
		counter->lost += records;
}

/* For classes that several programs feed, which may interrupt one another. */
static always_inline void count_shared_made(u32 record_class)
{
	struct record_counters *counter = counters_of(record_class);

	if (counter)
		__sync_fetch_and_add(&counter->made, 1);
}

static always_inline void count_shared_lost(u32 record_class, u64 records)
{
	struct record_counters *counter = counters_of(record_class);

	if (counter)
		__sync_fetch_and_add(&counter->lost, records);
}

static always_inline void count_inferred(u32 record_class)
{
	struct record_counters *counter = counters_of(record_class);

	if (counter)
		__sync_fetch_and_add(&counter->inferred, 1);
}

static always_inline void count_undecoded(u32 path, u64 calls)
{
	u64 *count = bpf_map_lookup_elem(&undecoded, &path);

	if (count)
		__sync_fetch_and_add(count, calls);
}

static always_inline u32 is_timed(void)
{
	u32 zero = 0;
	u32 *timed = bpf_map_lookup_elem(&timing, &zero);

	return timed && *timed;
}

/* `timed` is from the start of the walk. */
static never_inline int count_walk(u64 since_ns, u32 timed)
{
	u32 key = timed != 0;
	u64 *sum = bpf_map_lookup_elem(&walk_ns, &key);

	if (sum)
		__sync_fetch_and_add(sum, bpf_ktime_get_ns() - since_ns);
	return 0;
}

static always_inline void count_looked_up(void)
{
	struct record_counters *counter = counters_of(CLASS_CALLS);

	if (counter)
		counter->looked_up++;
}

/* Sends a message of at most `limit` bytes; what the ring has no room for is counted. */
#define send_batch(message, size, limit)                                                          \
	({                                                                                        \
		u64 size_ = (size);                                                               \
		if (size_ > (limit))                                                              \
			size_ = (limit);                                                          \
		if (bpf_ringbuf_output(&ring, (message), size_, RINGBUF_NO_WAKEUP))               \
			count_shared_lost((message)->record_class, (message)->count);             \
		(message)->count = 0;                                                             \
	})

static always_inline void remember_file(u64 ino, u32 s_dev)
{
	struct file_key key = { .ino = ino, .s_dev = s_dev };
	u8 present = 1;

	if (bpf_map_lookup_elem(&files, &key))
		return;
	/* A full table would hide insertions: they count as lost records. */
	if (bpf_map_update_elem(&files, &key, &present, UPDATE_ANY)) {
		count_made(CLASS_PAGE_CACHE);
		count_lost(CLASS_PAGE_CACHE, 1);
	}
}

static always_inline struct membership *membership_of(struct task_struct *task)
{
	struct membership *membership = bpf_task_storage_get(&tasks, task, NULL, 0);

	return membership && membership->thread != LEFT_TREE ? membership : NULL;
}

static always_inline struct task_state *state_of_member(struct membership *membership)
{
	u32 thread = membership->thread;

	return bpf_map_lookup_elem(&threads, &thread);
}

/* NULL for a task of others, and for one that has ended. */
static always_inline struct task_state *state_of(struct task_struct *task)
{
	struct membership *membership = membership_of(task);

	return membership ? state_of_member(membership) : NULL;
}

/* Two threads may do this at once with one entry: until it is whole it is nobody's. */
static always_inline void remember_stranger(volatile struct stranger *stranger, u64 stack, u64 births_before)
{
	stranger->births = 0;
	stranger->stack = stack;
	stranger->births = births_before;
}

/* Kernel stacks of x86-64 have this size at least, and begin at a multiple of it. */
enum { STACK_BYTES = 16384 };

/* The lower half of an address as a number: the verifier takes this move for one, and no other. */
#define LOWER_HALF(pointer)                                                         \
	({                                                                          \
		u32 half_;                                                          \
		asm volatile("%0 = %1" : "=w"(half_) : "w"((u32)(u64)(pointer)));   \
		half_;                                                              \
	})

/*
 * The same for the current task, without a helper when it was seen before: by the kernel stack that
 * something lies on, its registers or the arguments of a tracepoint. The stack as a number is had by
 * subtraction: from the start of the table, which does not move.
 */
#define state_of_stack(pointer) find_state((u64)(pointer) - (u64)callers, LOWER_HALF(pointer), NULL)

/* As above; for a stranger that is a daemon, its task. Daemons are not remembered as strangers. */
#define state_or_daemon(pointer, daemon) find_state((u64)(pointer) - (u64)callers, LOWER_HALF(pointer), (daemon))

static always_inline int is_daemon(struct task_struct *task)
{
	u32 tgid;

	if (!has_daemons)
		return 0;
	tgid = task->tgid;
	return bpf_map_lookup_elem(&daemons, &tgid) != NULL;
}

static always_inline struct task_state *find_state(u64 distance, u32 half, u32 *by_daemon)
{
	u64 stack = distance - (half & (STACK_BYTES - 1));
	u64 hash = stack * 0x9e3779b97f4a7c15 >> (64 - THREADS_LOG2);
	u64 births_before;
	u32 thread = callers[hash];
	struct task_struct *task;
	struct task_state *state;

	if (thread--) {
		state = bpf_map_lookup_elem(&threads, &thread);
		if (state && state->stack == stack)
			return state;
	}
	births_before = births;
	if (strangers[hash].stack == stack && strangers[hash].births == births_before)
		return NULL;
	task = bpf_get_current_task_btf();
	state = state_of(task);
	if (state && !births_before)
		__sync_fetch_and_add(&births, 1);
	if (state) {
		count_looked_up();
	} else if (is_daemon(task)) {
		if (by_daemon)
			*by_daemon = 1;
		return NULL;
	}
	/* What interrupts a task is on another stack, which belongs to nobody. */
	if (look_every_caller_up || (u32)(u64)task->stack != (half & ~(STACK_BYTES - 1)))
		return state;
	if (state) {
		state->stack = stack;
		callers[hash] = state->thread + 1;
	} else if (births_before) {
		remember_stranger(&strangers[hash], stack, births_before);
	}
	return state;
}

/* The file that an inode stands for: block devices go by their number, with inode 0. */
static never_inline int identify(struct inode *inode, u64 *ino, u32 *s_dev, u8 *kind)
{
	u16 format = READ_FIELD(inode, i_mode) & MODE_FORMAT;

	if (format == MODE_BLOCK) {
		*kind = FILE_BLOCK_DEVICE;
		*ino = 0;
		*s_dev = READ_FIELD(inode, i_rdev);
	} else {
		struct super_block *super_block = READ_FIELD(inode, i_sb);

		*kind = format == MODE_REGULAR ? FILE_REGULAR : FILE_OTHER;
		*ino = READ_FIELD(inode, i_ino);
		*s_dev = READ_FIELD(super_block, s_dev);
	}
	return 0;
}

/*
 * The file behind an open one. Files of an overlay have the inode number of the file below,
 * which is the one that the page cache and the device know: they get its device too.
 */
static never_inline int identify_file(struct file *file, u64 *ino, u32 *s_dev, u8 *kind)
{
	u32 seen;
	u32 *below;

	identify(READ_FIELD(file, f_inode), ino, s_dev, kind);
	seen = *s_dev;
	below = *kind == FILE_REGULAR ? bpf_map_lookup_elem(&overlays, &seen) : NULL;
	if (below)
		*s_dev = *below;
	return 0;
}

#endif
