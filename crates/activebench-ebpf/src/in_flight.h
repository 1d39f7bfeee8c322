/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous requests between their submission and their completion. Each has a place by a hash
 * of its address, in plain memory. The place holds the address, so that it is never taken for that
 * of another request; one whose place is taken goes into a hash table.
 */
#ifndef ACTIVEBENCH_IN_FLIGHT_H
#define ACTIVEBENCH_IN_FLIGHT_H

#include "times.h"

struct {
	MAP_UINT(type, MAP_ARRAY);
	MAP_UINT(map_flags, MAP_MMAPABLE); /* starts on a page, so that a place is one line of the cache */
	MAP_UINT(max_entries, ASYNC_SLOTS);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct async_slot);
} in_flight SEC(".maps");

struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_TYPE(key, struct async_key);
	MAP_TYPE(value, struct async_call);
} in_flight_besides SEC(".maps");

/* Requests in that table. */
u64 besides __attribute__((aligned(64)));

static always_inline struct async_slot *slot_of(u64 address, u32 tgid)
{
	u32 place = (address + tgid) * 0x9e3779b97f4a7c15 >> (64 - ASYNC_SLOTS_LOG2);

	return bpf_map_lookup_elem(&in_flight, &place);
}

/*
 * The request with this address, and the process of an iocb; NULL when there is none. `slot` is its
 * place, NULL in the table.
 */
static always_inline struct async_call *find_request(u64 address, u32 tgid, struct async_slot **slot)
{
	struct async_slot *place = slot_of(address, tgid);
	struct async_key key = { .address = address, .tgid = tgid };

	*slot = NULL;
	if (place && place->address == address && (!tgid || place->call.tgid == tgid)) {
		*slot = place;
		return &place->call;
	}
	return besides ? bpf_map_lookup_elem(&in_flight_besides, &key) : NULL;
}

static always_inline void free_slot(struct async_slot *slot)
{
	*(volatile u32 *)&slot->call.tgid = 0;
	*(volatile u64 *)&slot->address = 0;
}

static never_inline int remove_besides(u64 address, u32 tgid)
{
	struct async_key key = { .address = address, .tgid = tgid };

	if (!bpf_map_delete_elem(&in_flight_besides, &key))
		__sync_fetch_and_sub(&besides, 1);
	return 0;
}

static always_inline void forget_request(u64 address, u32 tgid, struct async_slot *slot)
{
	if (slot)
		free_slot(slot);
	else
		remove_besides(address, tgid);
}

/* Takes a free place; NULL when there is none. */
static always_inline struct async_slot *take_slot(u64 address, u32 tgid)
{
	struct async_slot *slot = slot_of(address, tgid);

	return slot && !__sync_val_compare_and_swap(&slot->address, 0, address) ? slot : NULL;
}

/* Keeps a request in the table; one for which there is no room is made, and lost. */
static never_inline int keep_besides(u64 address, u32 tgid, struct async_call *call)
{
	struct async_key key = { .address = address, .tgid = tgid };

	/* First, so that no completion overlooks the table. */
	__sync_fetch_and_add(&besides, 1);
	if (bpf_map_update_elem(&in_flight_besides, &key, call, UPDATE_NOEXIST)) {
		__sync_fetch_and_sub(&besides, 1);
		count_made(CLASS_CALLS);
		count_lost(CLASS_CALLS, 1);
	}
	return 0;
}

#endif
