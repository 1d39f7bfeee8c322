/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests of FUSE file systems: from when the kernel hands one to the daemon until the daemon has answered it. One
 * that nobody answers leaves no record. Forgotten inodes are no requests here: nobody waits for them.
 */
#ifndef ACTIVEBENCH_FUSE_H
#define ACTIVEBENCH_FUSE_H

#include "maps.h"

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(map_flags, MAP_NO_PREALLOC);
	MAP_UINT(max_entries, 65536);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct fuse_sent);
} fuse_sent SEC(".maps");

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct fuse_batch);
} fuse_batches SEC(".maps");

SEC("tp_btf/fuse_request_send")
int fuse_request_send(u64 *context)
{
	u64 address = context[0];
	struct fuse_sent sent = { .at_ns = bpf_ktime_get_ns() };

	sent.tgid = bpf_get_current_task_btf()->tgid;
	bpf_map_update_elem(&fuse_sent, &address, &sent, UPDATE_ANY);
	return 0;
}

/* Properties of a connection, as FUSE_*. */
static always_inline u32 flags_of(struct fuse_conn *connection)
{
	u32 flags = 0;

	if (READ_BIT(connection, writeback_cache))
		flags |= FUSE_WRITEBACK_CACHE;
	if (FIELD_EXISTS(connection->passthrough) && READ_BIT(connection, passthrough))
		flags |= FUSE_PASSTHROUGH;
	return flags;
}

SEC("tp_btf/fuse_request_end")
int fuse_request_end(u64 *context)
{
	u64 address = context[0];
	struct fuse_req *request = (void *)address;
	struct fuse_conn *connection = READ_FIELD(READ_FIELD(request, fm), fc);
	struct fuse_sent *sent = bpf_map_lookup_elem(&fuse_sent, &address);
	struct fuse_record *record;
	struct fuse_batch *batch;
	u32 zero = 0;
	u32 slot;

	batch = bpf_map_lookup_elem(&fuse_batches, &zero);
	if (!batch)
		return 0;
	batch->header.record_class = CLASS_FUSE;
	slot = batch->header.count;
	if (slot >= FUSE_BATCH) {
		send_batch(&batch->header, sizeof(*batch), sizeof(*batch));
		slot = 0;
	}
	record = &batch->records[slot & (FUSE_BATCH - 1)];
	record->at_ns = bpf_ktime_get_ns();
	record->sent_ns = sent ? sent->at_ns : 0;
	record->tgid = sent ? sent->tgid : 0;
	record->s_dev = READ_FIELD(connection, dev);
	record->opcode = READ_FIELD(request, in.h.opcode);
	record->daemon = bpf_get_current_task_btf()->tgid;
	record->in_bytes = READ_FIELD(request, in.h.len);
	record->out_bytes = READ_FIELD(request, out.h.len);
	record->error = READ_FIELD(request, out.h.error);
	record->flags = flags_of(connection);
	batch->header.count = slot + 1;
	count_made(CLASS_FUSE);
	if (slot + 1 == FUSE_BATCH)
		send_batch(&batch->header, sizeof(*batch), sizeof(*batch));
	bpf_map_delete_elem(&fuse_sent, &address);
	return 0;
}

#endif
