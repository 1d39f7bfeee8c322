/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pages that enter the page cache for files that the tree has used. */
#ifndef ACTIVEBENCH_PAGE_CACHE_H
#define ACTIVEBENCH_PAGE_CACHE_H

#include "maps.h"

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct cache_batch);
} cache_batches SEC(".maps");

static always_inline u32 pages_of(struct folio *folio)
{
	u64 flags = 0;
	u8 order;

	/* The flags are the first member of every folio; their type changed in Linux 6.18. */
	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags & 1ull << ENUM_VALUE(enum pageflags, PG_head)))
		return 1;
	if (FIELD_EXISTS(((struct folio___own_order *)folio)->_folio_order))
		order = READ_FIELD((struct folio___own_order *)folio, _folio_order);
	else
		order = READ_FIELD(folio, _flags_1) & 0xff;
	return 1u << (order & 31);
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int mm_filemap_add_to_page_cache(u64 *context)
{
	struct folio *folio = (void *)context[0];
	struct file_key key = {};
	struct task_struct *task;
	struct membership *membership;
	struct task_state *state;
	struct cache_batch *batch;
	struct cache_record *record;
	struct address_space *mapping = READ_FIELD(folio, mapping);
	u32 zero = 0;
	u32 pages;
	u32 slot;
	u8 kind = 0;
	u64 ino = 0;
	u32 s_dev = 0;

	if (!mapping || (u64)mapping & MAPPING_FLAGS)
		return 0;
	identify(READ_FIELD(mapping, host), &ino, &s_dev, &kind);
	key.ino = ino;
	key.s_dev = s_dev;
	if (!bpf_map_lookup_elem(&files, &key))
		return 0;
	pages = pages_of(folio);
	task = bpf_get_current_task_btf();
	membership = membership_of(task);
	state = membership ? state_of_member(membership) : NULL;
	if (state && state->op && state->ino == ino && state->s_dev == s_dev)
		state->cached_pages += pages;
	batch = bpf_map_lookup_elem(&cache_batches, &zero);
	if (!batch)
		return 0;
	batch->header.record_class = CLASS_PAGE_CACHE;
	slot = batch->header.count;
	if (slot >= CACHE_BATCH) {
		send_batch(&batch->header, sizeof(*batch), sizeof(*batch));
		slot = 0;
	}
	record = &batch->records[slot & (CACHE_BATCH - 1)];
	record->at_ns = bpf_ktime_get_ns();
	record->ino = ino;
	record->s_dev = s_dev;
	record->index = READ_FIELD(folio, index);
	record->pages = pages;
	record->tgid = task->tgid;
	record->in_tree = membership != NULL;
	batch->header.count = slot + 1;
	count_made(CLASS_PAGE_CACHE);
	if (slot + 1 == CACHE_BATCH)
		send_batch(&batch->header, sizeof(*batch), sizeof(*batch));
	return 0;
}

#endif
