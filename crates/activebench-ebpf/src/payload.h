/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is written: the first bytes of one write now and then, as they lie in the process's
 * memory when the call begins or the request is submitted. They leave through a ring of their
 * own, so that they never take the room of the events.
 */
#ifndef ACTIVEBENCH_PAYLOAD_H
#define ACTIVEBENCH_PAYLOAD_H

#include "call_records.h"

struct {
	MAP_UINT(type, MAP_RINGBUF);
	MAP_UINT(max_entries, 262144);
} payload_ring SEC(".maps");

/* When a CPU's next sample is due. */
struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u64);
} payload_due SEC(".maps");

/* Set before loading: the time between two samples of a CPU; 0 for no samples. */
const volatile u64 payload_period_ns = 0;

enum { VECTORS_OF_64_BIT = 1, VECTORS_OF_32_BIT = 2 };

/* A write, and where its data lies. */
struct payload_write {
	u64 at_ns;
	u64 ino;
	u64 requested;
	u64 address;
	u32 s_dev;
	u32 tid;
	u32 tgid;
	s32 fd;
	u16 op;
	u8 file_kind;
	u8 vectors; /* the address is that of iovecs, of which the first one is sampled: VECTORS_*, or 0 */
};

/* Reads what is written; gives the bytes. Memory that is not there yet is not made present for
 * us: 0, which user space counts. */
static never_inline u32 read_payload(struct payload_record *record, struct payload_write *write)
{
	u64 vector[2] = { write->address, write->requested };
	u64 bytes;

	if (write->vectors && read_vector(write->address, write->vectors == VECTORS_OF_32_BIT, vector))
		return 0;
	bytes = vector[1];
	if (bytes > PAYLOAD_BYTES)
		bytes = PAYLOAD_BYTES;
	if (bpf_probe_read_user(record->data, bytes, (void *)vector[0]))
		return 0;
	return bytes;
}

/* Whether a sample would be taken: before more is found out of a write. */
static always_inline int payload_is_due(u64 at_ns)
{
	u32 zero = 0;
	u64 *due;

	if (!payload_period_ns)
		return 0;
	due = bpf_map_lookup_elem(&payload_due, &zero);
	return due && at_ns >= *due;
}

static never_inline int take_payload(struct payload_write *write)
{
	u32 zero = 0;
	u64 *due = bpf_map_lookup_elem(&payload_due, &zero);
	struct payload_record *record;

	if (!due || write->at_ns < *due || write->file_kind == FILE_OTHER || !write->requested)
		return 0;
	*due = write->at_ns + payload_period_ns;
	count_made(CLASS_PAYLOAD);
	record = bpf_ringbuf_reserve(&payload_ring, sizeof(*record), 0);
	if (!record) {
		count_lost(CLASS_PAYLOAD, 1);
		return 0;
	}
	record->header.record_class = CLASS_PAYLOAD;
	record->header.count = 1;
	record->at_ns = write->at_ns;
	record->ino = write->ino;
	record->requested = write->requested;
	record->s_dev = write->s_dev;
	record->tid = write->tid;
	record->tgid = write->tgid;
	record->fd = write->fd;
	record->op = write->op;
	record->padding = 0;
	record->bytes = read_payload(record, write);
	bpf_ringbuf_submit(record, RINGBUF_NO_WAKEUP);
	return 0;
}

#endif
