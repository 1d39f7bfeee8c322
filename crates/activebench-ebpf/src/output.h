/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the processes of the tree print: all that they write to descriptors 1 and 2, up to a bound for each of these. A
 * script may catch the output of a tool and never show it. A tool may also have its data behind these descriptors: only
 * text is taken, and of a regular file only the beginning, in small calls.
 */
#ifndef ACTIVEBENCH_OUTPUT_H
#define ACTIVEBENCH_OUTPUT_H

#include "payload.h"

enum {
	OUTPUT_BYTES = 4096, /* of a piece */
	OUTPUT_VECTORS = 16,
	OUTPUT_PIECES = 64, /* of a call */
};

enum { MOST_OUTPUT = 4 << 20, MOST_OUTPUT_TO_FILE = 512 << 10, MOST_CALL_TO_FILE = 256 << 10 }; /* bytes */

/*
 * Bytes in the ring beyond which nothing is added: what is left out is then known, and samples have room. A descriptor
 * with much output leaves room to those with little, where the figures are.
 */
#define OUTPUT_ROOM (512 << 10)
#define ROOM_OF_MUCH_OUTPUT (256 << 10)
#define MUCH_OUTPUT (64 << 10)

/* Bytes that show if it is text. */
#define LOOKED_AT 16

struct output_message {
	struct output_record record;
	u8 data[OUTPUT_BYTES];
	/* What is left to take of the call. Here and not on the stack: the verifier would follow each step of it. */
	u64 address, left;        /* of the piece that is next */
	u64 vectors, vectors_end; /* where the next iovec is, and the end of their list */
	u64 to_come;              /* bytes that the call wrote and that are not taken yet */
	u64 narrow;
};

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct output_message);
} output_scratch SEC(".maps");

/*
 * Bytes that a process wrote to a descriptor since its last execution. Each has a bound of its own: a tool whose data
 * goes to descriptor 1 prints its figures to 2.
 */
struct {
	MAP_UINT(type, MAP_LRU_HASH);
	MAP_UINT(max_entries, 8192);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u64);
} output_taken SEC(".maps");

static always_inline u64 output_key(u32 tgid, s32 fd)
{
	return (u64)tgid << 32 | (u32)fd;
}

static always_inline void send_output(struct output_message *message, u32 bytes)
{
	u64 size = sizeof(message->record) + (bytes & (2 * OUTPUT_BYTES - 1));

	if (size > sizeof(message->record) + OUTPUT_BYTES)
		size = sizeof(message->record) + OUTPUT_BYTES;
	message->record.bytes = bytes;
	count_made(CLASS_OUTPUT);
	if (bpf_ringbuf_output(&payload_ring, message, size, RINGBUF_NO_WAKEUP))
		count_lost(CLASS_OUTPUT, 1);
	message->record.written = 0;
}

/* Whether bytes are like text: printable characters, white space and what begins a terminal's sequence. */
static always_inline int are_like_text(u8 *first, u64 bytes)
{
	for (u32 place = 0; place < LOOKED_AT; place++) {
		u8 byte = first[place];

		if (place < bytes && (byte > 126 || (byte < 32 && byte != 27 && (byte < 8 || byte > 13))))
			return 0;
	}
	return 1;
}

/* Whether the memory begins like that. */
static always_inline int begins_like_text(u64 address, u64 bytes)
{
	u8 first[LOOKED_AT] = {};

	if (bytes > LOOKED_AT)
		bytes = LOOKED_AT;
	return !bpf_probe_read_user(first, bytes, (void *)address) && are_like_text(first, bytes);
}

/* Takes the next piece, or goes to the next iovec. */
static long take_piece(u32 index, struct output_message **context)
{
	struct output_message *walk = *context;
	u64 bytes = walk->left;

	if (!walk->to_come)
		return 1;
	if (!bytes) {
		u64 vector[2] = {};

		if (walk->vectors >= walk->vectors_end || read_vector(walk->vectors, walk->narrow, vector))
			return 1;
		walk->vectors += walk->narrow ? sizeof(vector) / 2 : sizeof(vector);
		walk->address = vector[0];
		walk->left = vector[1];
		return 0;
	}
	if (bytes > walk->to_come)
		bytes = walk->to_come;
	if (bytes > OUTPUT_BYTES)
		bytes = OUTPUT_BYTES;
	if (bpf_probe_read_user(walk->data, bytes, (void *)walk->address))
		return 1;
	send_output(walk, bytes);
	walk->address += bytes;
	walk->left -= bytes;
	walk->to_come -= bytes;
	return 0;
}

/* For descriptor 1; two bits further for 2. */
enum { OUTPUT_ENDED_FILE = 1, OUTPUT_ENDED_OTHER = 2 };

static always_inline u8 output_end(struct task_state *state)
{
	u8 end = state->file_kind == FILE_REGULAR ? OUTPUT_ENDED_FILE : OUTPUT_ENDED_OTHER;

	return state->fd == 1 ? end : end << 2;
}

static always_inline int writes_output(struct task_state *state, s64 returned)
{
	return (u32)(state->fd - 1) < 2 && returned > 0 && state->file_kind != FILE_BLOCK_DEVICE &&
	       !(state->output_ended & output_end(state)) && state->op >= OP_FIRST_WRITE && state->op <= OP_LAST_WRITE;
}

enum { OUTPUT_TO_FILE = 1, OUTPUT_VECTORED = 2, OUTPUT_NARROW = 4 };

enum { OUTPUT_LEFT, OUTPUT_TAKEN, OUTPUT_ENDED };

/* Takes what a call wrote that ends now: OUTPUT_TAKEN if the next one is of interest too, OUTPUT_ENDED if none is any
 * more. Not static, and with plain numbers: so the verifier looks at it once, and not on each way to the end of a call. */
never_inline int take_output(s32 fd, u64 address, u64 written, u32 kind)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0, tgid = task->tgid;
	u64 key = output_key(tgid, fd), none = 0, most = kind & OUTPUT_TO_FILE ? MOST_OUTPUT_TO_FILE : MOST_OUTPUT;
	struct output_message *message = bpf_map_lookup_elem(&output_scratch, &zero);
	u64 *taken = bpf_map_lookup_elem(&output_taken, &key);

	if (!taken) {
		bpf_map_update_elem(&output_taken, &key, &none, UPDATE_ANY);
		taken = bpf_map_lookup_elem(&output_taken, &key);
	}
	/* Past the bound: the call that reached it was sent without its bytes. */
	if (!message || !taken)
		return OUTPUT_LEFT;
	if (*taken > most)
		return OUTPUT_ENDED;
	message->record.header.record_class = CLASS_OUTPUT;
	message->record.header.count = 1;
	message->record.at_ns = bpf_ktime_get_ns();
	message->record.written = written;
	message->record.tid = task->pid;
	message->record.tgid = tgid;
	message->record.fd = fd;
	__sync_fetch_and_add(taken, written);
	/* What is left out is known to be missing. */
	if (*taken > most || (kind & OUTPUT_TO_FILE && written > MOST_CALL_TO_FILE) ||
	    bpf_ringbuf_query(&payload_ring, RING_USED) > (*taken > MUCH_OUTPUT ? ROOM_OF_MUCH_OUTPUT : OUTPUT_ROOM))
		goto leave;
	if (!(kind & OUTPUT_VECTORED)) {
		/* Most output comes in small pieces, which are read once. */
		if (written <= OUTPUT_BYTES) {
			if (bpf_probe_read_user(message->data, written, (void *)address) ||
			    !are_like_text(message->data, written))
				goto leave;
			send_output(message, written);
			return OUTPUT_TAKEN;
		}
		if (!begins_like_text(address, written))
			goto leave;
	}
	message->to_come = written;
	message->narrow = kind & OUTPUT_NARROW;
	message->address = message->vectors = message->vectors_end = address;
	message->left = written;
	if (kind & OUTPUT_VECTORED) {
		message->left = 0;
		message->vectors_end += OUTPUT_VECTORS * (kind & OUTPUT_NARROW ? 8 : 16);
	}
	bpf_loop(OUTPUT_PIECES + OUTPUT_VECTORS, take_piece, &message, 0);
	if (message->record.written)
		send_output(message, 0);
	return OUTPUT_TAKEN;
leave:
	send_output(message, 0);
	return OUTPUT_LEFT;
}

static always_inline u32 output_kind(struct task_state *state)
{
	u32 kind = state->file_kind == FILE_REGULAR ? OUTPUT_TO_FILE : 0;

	if (state->call_flags & CALL_VECTOR)
		kind |= OUTPUT_VECTORED;
	return state->narrow ? kind | OUTPUT_NARROW : kind;
}

static always_inline void forget_output(u32 tgid)
{
	for (s32 fd = 1; fd <= 2; fd++) {
		u64 key = output_key(tgid, fd);

		bpf_map_delete_elem(&output_taken, &key);
	}
}

#endif
