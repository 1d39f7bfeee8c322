/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every kind of call needs: the file behind a descriptor, and room for the record. */
#ifndef ACTIVEBENCH_CALL_RECORDS_H
#define ACTIVEBENCH_CALL_RECORDS_H

#include "maps.h"

/* A walk over iovecs. What it finds is kept in the task's state: of values on the stack that change from one step to
 * the next the verifier would follow every step. */
struct vector_walk {
	u64 address;
	struct task_state *state;
	u32 narrow; /* iovecs of a 32-bit process */
	u32 padding;
};

/* Reads the iovec at an address; not 0 where it is not in memory. */
static always_inline long read_vector(u64 address, u32 narrow, u64 *vector)
{
	u32 halves[2] = {};
	long error;

	if (!narrow)
		return bpf_probe_read_user(vector, 2 * sizeof(*vector), (void *)address);
	error = bpf_probe_read_user(halves, sizeof(halves), (void *)address);
	vector[0] = halves[0];
	vector[1] = halves[1];
	return error;
}

static long add_vector(u32 index, struct vector_walk *walk)
{
	u64 vector[2] = {};

	if (read_vector(walk->address + index * (walk->narrow ? sizeof(vector) / 2 : sizeof(vector)), walk->narrow, vector)) {
		walk->state->vectors_unread = 1;
		return 1;
	}
	walk->state->requested += vector[1];
	return 0;
}

/* Adds up the iovecs into the bytes that the state's call asks for. As the kernel does it takes 32 bits of their number,
 * and none where there are too many. */
static never_inline int add_vectors(struct task_state *state, u64 address, u32 count, u32 narrow)
{
	struct vector_walk walk = { .address = address, .state = state, .narrow = narrow };

	state->requested = 0;
	state->vectors_unread = 0;
	if (count <= MOST_VECTORS)
		bpf_loop(count, add_vector, &walk, 0);
	return 0;
}

static always_inline void descriptors_changed(void)
{
	__sync_fetch_and_add(&fd_generation, 1);
}

static always_inline struct file *file_of(struct task_struct *task, s32 fd)
{
	struct files_struct *descriptors = READ_FIELD(task, files);
	struct fdtable *table;
	struct file *file = NULL;

	if (!descriptors || fd < 0)
		return NULL;
	table = READ_FIELD(descriptors, fdt);
	if (!table || (u32)fd >= READ_FIELD(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), READ_FIELD(table, fd) + fd);
	return file;
}

/* What a call asks for itself, as if the file had been opened so. */
static always_inline u32 opened_as_asked(u32 asked)
{
	u32 flags = 0;

	if (asked & ASKED_SYNC)
		flags |= OPENED_SYNC;
	if (asked & ASKED_DSYNC)
		flags |= OPENED_DSYNC;
	if (asked & ASKED_APPEND)
		flags |= OPENED_APPEND;
	return flags;
}

/* How a file was opened; one whose writes are synchronous anyway was opened so. */
static always_inline u32 opened_flags(struct file *file)
{
	struct inode *inode = READ_FIELD(file, f_inode);
	struct super_block *super_block = READ_FIELD(inode, i_sb);
	u32 flags = READ_FIELD(file, f_flags);

	if (READ_FIELD(inode, i_flags) & INODE_SYNC || READ_FIELD(super_block, s_flags) & MOUNTED_SYNC)
		flags |= OPENED_SYNC;
	return flags;
}

static never_inline int look_up(struct task_state *state, struct task_struct *task, s32 fd)
{
	struct file *file = file_of(task, fd);
	u8 kind = FILE_OTHER;
	u64 ino = 0;
	u32 s_dev = 0;

	state->known_file = (u64)file;
	state->known_fd = fd;
	state->known_generation = fd_generation;
	state->known_open_flags = 0;
	if (file) {
		identify_file(file, &ino, &s_dev, &kind);
		state->known_open_flags = opened_flags(file);
		if (kind != FILE_OTHER)
			remember_file(ino, s_dev);
	}
	state->known_ino = ino;
	state->known_s_dev = s_dev;
	state->known_kind = kind;
	return 0;
}

/* Looks the descriptor up unless it is the one of the call before. */
static always_inline void resolve(struct task_state *state, struct task_struct *task, s32 fd)
{
	if (state->known_fd != fd || state->known_generation != fd_generation || !state->known_file)
		look_up(state, task, fd);
	state->ino = state->known_ino;
	state->s_dev = state->known_s_dev;
	state->file_kind = state->known_kind;
	state->open_flags = state->known_open_flags;
}

/* The kernel's account is kept when records leave; user space adds what never does. */
static always_inline u32 account_batch(struct task_state *state)
{
	struct record_counters *counter = counters_of(CLASS_CALLS);
	u32 calls = state->batch.count + state->in_groups;

	if (counter) {
		counter->made += calls;
		counter->estimated += state->estimated;
	}
	state->estimated = 0;
	state->in_groups = 0;
	state->groupable = 0;
	state->request_known = 0;
	state->aio_model = 0;
	state->batch.record_class = CLASS_CALLS;
	return calls;
}

/* Sends the batch, of so many bytes; what the ring has no room for is counted. */
static always_inline void send_calls(struct task_state *state, u64 bytes)
{
	u32 calls = account_batch(state);

	if (bpf_ringbuf_output(&ring, &state->batch, bytes, RINGBUF_NO_WAKEUP))
		count_shared_lost(CLASS_CALLS, calls);
	state->batch.count = 0;
}

static never_inline int flush_calls(struct task_state *state)
{
	u64 bytes = sizeof(struct batch_header) + state->batch.count * sizeof(struct call_record);

	if (!state->batch.count)
		return 0;
	if (bytes > sizeof(struct batch_header) + sizeof(state->records))
		bytes = sizeof(struct batch_header) + sizeof(state->records);
	send_calls(state, bytes);
	return 0;
}

/*
 * The same for a batch that is full. Its size is a constant: where the compiler computes it from
 * a count that it has compared before, Linux 6.12 follows the side of its comparison that cannot
 * be, and refuses the program for the bounds that it finds there.
 *
 * Like the other functions here that are not static, the verifier looks at it once, and not on each
 * way to it: most of the time that loading the programs takes went there.
 */
never_inline int flush_full_batch(struct task_state *state)
{
	if (!state)
		return 0;
	send_calls(state, sizeof(struct batch_header) + sizeof(state->records));
	return 0;
}

/* Keeps the type in the BTF of the object, by which a test compares it with its reader. */
const struct call_group *const volatile type_of_groups = 0;

/* The next free place for a group, or the one of that which is being filled. */
static always_inline struct call_group *group_at(struct task_state *state, u32 place)
{
	return (void *)&state->records[place & (CALL_BATCH - 1)];
}

/* Whether a member of a group is a request of io_uring, which stands for two calls. */
static always_inline int is_request(u64 offset_and_op)
{
	u8 op = offset_and_op;

	return op >= OP_URING_READ && op <= OP_URING_OTHER;
}

/* Whether it is a request of libaio, which stands for three. */
static always_inline int is_pair(u64 offset_and_op)
{
	u8 op = offset_and_op;

	return op >= OP_AIO_READ && op <= OP_AIO_FDATASYNC;
}

/* Groups that are wide after one that a call of another length ended. */
enum { WIDE_GROUPS = 64 };

/*
 * Adds a call to the group that is being filled, as its so many-th; 0 where the group is narrow and
 * the call is not. It is found out when a group begins whether it is narrow: lengths that change
 * all the time would end every one of them.
 */
static always_inline int add_to_group(struct task_state *state, u32 calls, u64 offset_and_op, u32 requested, s32 returned)
{
	struct call_group *group = group_at(state, state->group_place);
	u32 is_narrow = state->narrow_bytes == requested && requested && (s32)requested == returned;

	if (!calls) {
		if (state->wide_left) {
			state->wide_left--;
			is_narrow = 0;
		}
		state->is_narrow = is_narrow;
	}
	if (!state->is_narrow) {
		group->calls[calls & (GROUP_MARGIN - 1)].offset_and_op = offset_and_op;
		group->calls[calls & (GROUP_MARGIN - 1)].requested = requested;
		group->calls[calls & (GROUP_MARGIN - 1)].returned = returned;
	} else if (is_narrow) {
		((u64 *)group->calls)[calls & (NARROW_MARGIN - 1)] = offset_and_op;
	} else {
		state->wide_left = WIDE_GROUPS;
		return 0;
	}
	state->grouped = calls + 1;
	return 1;
}

/* Whether the group that is being filled is full. */
static always_inline int is_full(struct task_state *state, u32 calls)
{
	return calls >= (state->is_narrow ? NARROW_CALLS : GROUP_CALLS);
}

/* How many times as long as those before it a call may take before it counts as slow. */
enum { SLOW_STEPS = 2 };

/*
 * Closes the group: `end_ns` is when its last call ended. Its calls took as long as one another;
 * where they were slow, one was, and which is not known: the last one passes for it. Gives what
 * they took on average.
 */
never_inline u64 close_group(struct task_state *state, u32 place, u64 end_ns, u32 storage_read_bytes)
{
	struct call_group *group;
	u64 passed, first, mean, step, user;
	u32 calls, records;

	if (!state)
		return 0;
	group = group_at(state, place);
	passed = end_ns - state->last_ns;
	calls = state->grouped;
	first = group->calls[0].offset_and_op;
	records = is_request(first) ? 2 * calls : is_pair(first) ? 3 * calls : calls;
	mean = calls ? passed / calls : 0;
	step = mean < SLOW_STEPS * (u64)state->step_ns ? mean : state->step_ns;
	user = state->between_ns < step ? state->between_ns : step;
	group->count_and_end_ns = GROUP_MARK | (u64)calls << GROUP_COUNT_SHIFT | end_ns;
	if (state->is_narrow)
		group->count_and_end_ns |= NARROW_MARK;
	group->step_ns = step;
	group->user_ns = user;
	group->storage_read_bytes = storage_read_bytes;
	/* Between the two calls of a pair, too. */
	if (is_pair(first))
		user += state->aio_gap_ns < step - user ? state->aio_gap_ns : step - user;
	state->user_ns += user * calls;
	state->kernel_ns += passed - user * calls;
	state->user_at_record_ns = state->user_ns;
	state->last_ns = end_ns;
	state->exit_ns = end_ns;
	state->grouped = 0;
	state->in_groups += records - 1;
	state->estimated += records;
	if (++state->batch.count >= CALL_BATCH)
		flush_full_batch(state);
	return mean;
}

/*
 * Closes a group at a moment that is not the end of its last call: behind it lies more time in
 * user mode, and maybe a part of the next call. Its calls take as long as those before them did.
 */
never_inline int settle_group(struct task_state *state, u64 now)
{
	u64 passed, calls, behind, taken;

	if (!state)
		return 0;
	passed = now - state->last_ns;
	calls = state->grouped;
	behind = passed / (calls + 1);
	taken = calls * state->step_ns;
	if (!state->in_kernel && behind > state->between_ns)
		behind = state->between_ns;
	if (taken > passed - behind)
		taken = passed - behind;
	close_group(state, state->batch.count, state->last_ns + taken, 0);
	/* What follows is measured from an estimate: no sample. */
	state->fast = 0;
	return 0;
}

/* The next free record of the task's batch, to be filled at once. */
static always_inline struct call_record *next_record(struct task_state *state)
{
	if (state->grouped)
		settle_group(state, bpf_ktime_get_ns());
	state->groupable = 0;
	if (state->batch.count >= CALL_BATCH)
		flush_full_batch(state);
	return &state->records[state->batch.count & (CALL_BATCH - 1)];
}

static always_inline void record_is_filled(struct task_state *state)
{
	if (++state->batch.count >= CALL_BATCH)
		flush_full_batch(state);
}

/* The record of a call that was begun earlier, maybe by another thread, or of a second file. */
never_inline int add_async(struct task_state *state, struct async_call *call, u64 end_ns, s64 returned)
{
	struct call_record *record;

	if (!state || !call)
		return 0;
	record = next_record(state);
	/* A start that is an estimate may be later. */
	record->start_ns = call->start_ns < end_ns ? call->start_ns : end_ns;
	record->end_ns = end_ns;
	record->ino = call->ino;
	record->offset = call->offset;
	record->requested = call->requested;
	record->returned = returned;
	record->cpu_ns = 0;
	record->user_before_ns = 0;
	record->s_dev = call->s_dev;
	record->tid = call->tid;
	record->tgid = call->tgid;
	record->open_flags = call->open_flags;
	record->storage_read_bytes = 0;
	record->cached_pages = 0;
	record->fd = call->fd;
	record->op = call->op;
	record->file_kind = call->file_kind;
	/* A slow request stands for itself alone, as those that go untimed do: fast ones are sampled. */
	record->stands_for = call->stands_for > 1 && end_ns - record->start_ns >= SURE_NS ? 1 : call->stands_for;
	state->estimated += !call->stands_for;
	record_is_filled(state);
	return 0;
}

#endif
