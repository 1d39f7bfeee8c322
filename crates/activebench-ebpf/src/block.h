/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The block layer, on every device of the host: who queued what, and what the device
 * completed for which file. Data in the page cache names its file through its page;
 * direct I/O has anonymous pages and goes by the task that queued it.
 */
#ifndef ACTIVEBENCH_BLOCK_H
#define ACTIVEBENCH_BLOCK_H

#include "maps.h"

/*
 * Bios on their way, by address: added when queued, removed when all bytes are complete.
 *
 * A completion can happen without a hook seeing it: it runs in an interrupt, and some
 * machines hide interrupts that hit certain processes from every tracer. The bio's memory
 * is then used again while its entry still has bytes left: proof that it was completed.
 */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct bio_owner);
} bio_owners SEC(".maps");

/* Requests at the device, by address. */
struct {
	MAP_UINT(type, MAP_HASH);
	MAP_UINT(max_entries, 65536);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct issued_request);
} issued SEC(".maps");

/* One program each, because completions interrupt the others. User space reads what is
 * left in them at the end. */
enum { BATCH_OF_QUEUE, BATCH_OF_COMPLETION, BATCH_OF_BIO_COMPLETION, BATCH_OF_ISSUE, BLOCK_BATCHES };

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, BLOCK_BATCHES);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct block_batch);
} block_batches SEC(".maps");

/* Not static: the verifier looks at it once. */
never_inline int add_block(struct block_record *filled, u32 program, u32 record_class)
{
	struct block_batch *batch = bpf_map_lookup_elem(&block_batches, &program);
	u32 slot;

	if (!batch || !filled)
		return 0;
	batch->header.record_class = record_class;
	slot = batch->header.count;
	if (slot >= BLOCK_BATCH) {
		send_batch(&batch->header, sizeof(*batch), sizeof(*batch));
		slot = 0;
	}
	batch->records[slot & (BLOCK_BATCH - 1)] = *filled;
	batch->header.count = slot + 1;
	count_shared_made(record_class);
	if (slot + 1 == BLOCK_BATCH)
		send_batch(&batch->header, sizeof(*batch), sizeof(*batch));
	return 0;
}

static always_inline u32 disk_number(struct gendisk *disk)
{
	return (u32)READ_FIELD(disk, major) << 20 | (u32)READ_FIELD(disk, first_minor);
}

/* Whether a device completes requests, and not just bios. */
static always_inline int takes_requests(struct gendisk *disk)
{
	return READ_FIELD(READ_FIELD(disk, queue), mq_ops) != NULL;
}

static always_inline u8 intent_flags(u32 command_flags)
{
	u8 flags = 0;

	if (command_flags & 1u << ENUM_VALUE(enum req_flag_bits, __REQ_PREFLUSH))
		flags |= BLOCK_PREFLUSH;
	if (command_flags & 1u << ENUM_VALUE(enum req_flag_bits, __REQ_FUA))
		flags |= BLOCK_FUA;
	return flags;
}

static always_inline int carries_data(u32 operation)
{
	return operation == OP_READ || operation == OP_WRITE;
}

/* Carries data, or has a range of sectors without any. */
static always_inline int has_sectors(u32 operation)
{
	return carries_data(operation) || operation == OP_DISCARD || operation == OP_WRITE_ZEROES;
}

/* What the page of a bio says of the file whose data it carries. */
enum by_page {
	PAGE_OF_NO_FILE, /* anonymous, or no page of a file */
	PAGE_AS_BUFFER,	 /* of this file, but it does not move between its file and the page cache */
	PAGE_OF_CACHE,	 /* the bio carries this file's data to or from the page cache */
};

/*
 * The file of the page that a bio's first vector holds. A bio never mixes files, so the first
 * vector will do for a bio that was advanced too.
 * The buffer of direct I/O may lie in shared memory, in huge pages, or in a mapped file: then the
 * page belongs to that file, and the data to another. A page of the page cache that is written is
 * under writeback, one that is read is not yet up to date. Blocks of devices have their own
 * buffers, whose pages show neither.
 */
static never_inline enum by_page owner_by_page(struct bio *bio, u64 *ino, u32 *s_dev, u8 *kind)
{
	struct bio_vec *vector = READ_FIELD(bio, bi_io_vec);
	struct page *page = NULL;
	struct address_space *mapping;
	struct inode *host;
	u64 flags = 0;
	u64 head;

	page = READ_FIELD(vector, bv_page);
	if (!page)
		return PAGE_OF_NO_FILE;
	head = READ_FIELD(page, compound_head);
	if (head & 1)
		page = (struct page *)(head - 1);
	mapping = READ_FIELD((struct folio *)page, mapping);
	if (!mapping || (u64)mapping & MAPPING_FLAGS)
		return PAGE_OF_NO_FILE;
	host = READ_FIELD(mapping, host);
	if (!host)
		return PAGE_OF_NO_FILE;
	identify(host, ino, s_dev, kind);
	if (*kind == FILE_OTHER)
		return PAGE_OF_NO_FILE;
	if (*kind == FILE_BLOCK_DEVICE)
		return PAGE_OF_CACHE;
	/* The flags are the first word, whatever their type. */
	bpf_probe_read_kernel(&flags, sizeof(flags), page);
	if ((READ_FIELD(bio, bi_opf) & OP_MASK) == OP_WRITE)
		return flags & 1ull << ENUM_VALUE(enum pageflags, PG_writeback) ? PAGE_OF_CACHE : PAGE_AS_BUFFER;
	return flags & 1ull << ENUM_VALUE(enum pageflags, PG_uptodate) ? PAGE_AS_BUFFER : PAGE_OF_CACHE;
}

/* The request that a worker of io_uring serves; 0 for other tasks. */
static always_inline u64 request_of_worker(struct task_struct *task)
{
	struct io_kiocb *request = NULL;
	struct io_worker *worker = NULL;
	struct io_wq_work *work;

	if (!FIELD_EXISTS(request->work) || !FIELD_EXISTS(worker->cur_work) || !(task->flags & PF_IO_WORKER))
		return 0;
	worker = task->worker_private;
	work = worker ? READ_FIELD(worker, cur_work) : NULL;
	return work ? (u64)work - FIELD_BYTE_OFFSET(request->work) : 0;
}

/* The file of the request of io_uring that a task submits or serves. */
static never_inline int owner_by_ring(struct task_struct *task, struct task_state *state, u64 *ino, u32 *s_dev,
				      u8 *kind)
{
	struct io_kiocb *request;
	struct file *file;

	if (!task || !state || !ino || !s_dev || !kind)
		return 0;
	request = (void *)(state->ring_request ? state->ring_request : request_of_worker(task));
	file = request ? READ_FIELD(request, file) : NULL;
	if (!file)
		return 0;
	identify_file(file, ino, s_dev, kind);
	return *kind != FILE_OTHER;
}

/*
 * The file of direct I/O by its request (`struct iomap_dio` begins with it), for threads that
 * serve the requests of others: those of the tree, and workers of the kernel that carry data to
 * the file below a loop device. The private pointer may mean something else: of a thread of the
 * tree only a file that the tree uses counts, of a worker one whose parts point at each other.
 */
static never_inline int owner_by_request(struct bio *bio, u64 *ino, u32 *s_dev, u8 *kind, int is_worker)
{
	struct kiocb **direct = READ_FIELD(bio, bi_private);
	struct kiocb *request = NULL;
	struct file_key key = {};
	struct address_space *mapping;
	struct file *file;

	if (!ino || !s_dev || !kind || !direct)
		return 0;
	bpf_probe_read_kernel(&request, sizeof(request), direct);
	if (!request)
		return 0;
	file = READ_FIELD(request, ki_filp);
	if (!file)
		return 0;
	identify_file(file, ino, s_dev, kind);
	if (is_worker) {
		mapping = READ_FIELD(file, f_mapping);
		return *kind == FILE_REGULAR && mapping && READ_FIELD(mapping, host) == READ_FIELD(file, f_inode);
	}
	key.ino = *ino;
	key.s_dev = *s_dev;
	return *kind != FILE_OTHER && bpf_map_lookup_elem(&files, &key) != NULL;
}

static always_inline void set_file(struct block_record *record, u64 ino, u32 s_dev, u8 kind)
{
	record->ino = ino;
	record->s_dev = s_dev;
	record->flags |= BLOCK_OWNED;
	if (kind == FILE_BLOCK_DEVICE)
		record->flags |= BLOCK_OWNER_IS_DEVICE;
}

/* The file whose data a bio carries, where it is known when the bio is queued. */
static always_inline void name_file(struct block_record *record, struct bio *bio, struct task_struct *task,
				    struct task_state *state)
{
	u64 page_ino = 0, ino = 0;
	u32 page_s_dev = 0, s_dev = 0;
	u8 page_kind = 0, kind = 0;
	enum by_page by_page = owner_by_page(bio, &page_ino, &page_s_dev, &page_kind);

	if (by_page == PAGE_OF_CACHE) {
		set_file(record, page_ino, page_s_dev, page_kind);
	} else if (state && state->op && state->file_kind != FILE_OTHER) {
		/* Direct I/O of the call in flight. */
		set_file(record, state->ino, state->s_dev, state->file_kind);
	} else if (state && owner_by_ring(task, state, &ino, &s_dev, &kind)) {
		set_file(record, ino, s_dev, kind);
	} else if (state && state->submitted_kind != FILE_OTHER) {
		set_file(record, state->submitted_ino, state->submitted_s_dev, state->submitted_kind);
	} else if ((state || task->flags & PF_KTHREAD) && owner_by_request(bio, &ino, &s_dev, &kind, !state)) {
		set_file(record, ino, s_dev, kind);
	} else if (by_page == PAGE_AS_BUFFER) {
		set_file(record, page_ino, page_s_dev, page_kind);
	}
}

/* What is left of a bio whose request nobody saw complete. */
static never_inline void add_inferred(struct bio_owner *owner, u64 at_ns, u32 program)
{
	struct block_record record = {};

	record.at_ns = at_ns;
	record.device = owner->device;
	record.sector = owner->sector;
	record.bytes = owner->left;
	record.operation = owner->operation;
	record.ino = owner->ino;
	record.s_dev = owner->s_dev;
	record.tgid = owner->tgid;
	__builtin_memcpy(record.comm, owner->comm, sizeof(record.comm));
	record.origin = owner->origin;
	record.flags = owner->owned | BLOCK_INFERRED;
	count_inferred(CLASS_BLOCK_QUEUED);
	add_block(&record, program, CLASS_BLOCK_QUEUED);
}

SEC("tp_btf/block_bio_queue")
int block_bio_queue(u64 *context)
{
	struct bio *bio = (void *)context[0];
	struct task_struct *task = bpf_get_current_task_btf();
	struct membership *membership = membership_of(task);
	struct task_state *state = membership ? state_of_member(membership) : NULL;
	struct block_record record = {};
	struct bio_owner owner = {};
	struct bio_owner *before;
	u32 command_flags = bio->bi_opf;
	u64 key = (u64)bio;

	before = bpf_map_lookup_elem(&bio_owners, &key);
	if (before && before->left)
		add_inferred(before, before->queued_ns, BATCH_OF_QUEUE);
	record.at_ns = bpf_ktime_get_ns();
	record.device = disk_number(READ_FIELD(READ_FIELD(bio, bi_bdev), bd_disk));
	record.sector = bio->bi_iter.bi_sector;
	record.bytes = bio->bi_iter.bi_size;
	record.operation = command_flags & OP_MASK;
	record.flags = intent_flags(command_flags) | BLOCK_FIRST_OF_REQUEST;
	record.tgid = task->tgid;
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), task->comm);
	if (membership)
		record.origin = ORIGIN_TREE;
	else if (record.tgid == observer_tgid)
		record.origin = ORIGIN_OBSERVER;
	else if (task->flags & PF_KTHREAD)
		record.origin = ORIGIN_KERNEL;
	else
		record.origin = ORIGIN_FOREIGN;
	if (has_sectors(record.operation) && record.bytes) {
		if (carries_data(record.operation))
			name_file(&record, bio, task, state);
		owner.queued_ns = record.at_ns;
		owner.sector = record.sector;
		owner.ino = record.ino;
		owner.s_dev = record.s_dev;
		owner.device = record.device;
		owner.left = record.bytes;
		owner.tgid = record.tgid;
		__builtin_memcpy(owner.comm, record.comm, sizeof(owner.comm));
		owner.operation = record.operation;
		owner.origin = record.origin;
		owner.owned = record.flags & (BLOCK_OWNED | BLOCK_OWNER_IS_DEVICE);
		if (bpf_map_update_elem(&bio_owners, &key, &owner, UPDATE_ANY)) {
			/* Without its owner the completion is worth nothing: made, and lost. */
			count_shared_made(CLASS_BLOCK_QUEUED);
			count_shared_lost(CLASS_BLOCK_QUEUED, 1);
		}
	} else if (before) {
		bpf_map_delete_elem(&bio_owners, &key);
	}
	add_block(&record, BATCH_OF_QUEUE, CLASS_BLOCK_QUEUED);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int block_rq_issue(u64 *context)
{
	struct request *request = (void *)context[0];
	u64 key = context[0];
	u32 operation = request->cmd_flags & OP_MASK;
	struct issued_request now = {};
	struct issued_request *before;

	if (operation == OP_FLUSH) {
		/* Issued again without a completion in between: that one was not seen. */
		before = bpf_map_lookup_elem(&issued, &key);
		if (before && before->operation == OP_FLUSH) {
			struct block_record record = {};

			record.at_ns = before->at_ns;
			record.device = before->device;
			record.operation = OP_FLUSH;
			record.flags = BLOCK_INFERRED;
			count_inferred(CLASS_BLOCK_QUEUED);
			add_block(&record, BATCH_OF_ISSUE, CLASS_BLOCK_QUEUED);
		}
	}
	now.at_ns = bpf_ktime_get_ns();
	now.device = disk_number(READ_FIELD(READ_FIELD(request, q), disk));
	now.operation = operation;
	if (bpf_map_update_elem(&issued, &key, &now, UPDATE_ANY)) {
		count_shared_made(CLASS_BLOCK_QUEUED);
		count_shared_lost(CLASS_BLOCK_QUEUED, 1);
	}
	return 0;
}

/* A device that was too busy gives requests back: they are issued again. */
SEC("tp_btf/block_rq_requeue")
int block_rq_requeue(u64 *context)
{
	u64 key = context[0];

	bpf_map_delete_elem(&issued, &key);
	return 0;
}

/* The walk over the bios of a completed request. */
struct completion {
	struct block_record record; /* of the bios so far that have one owner */
	u64 bio;
	u32 left; /* bytes of this completion not yet given to a bio */
	u32 started;
};

static long complete_bio(u32 index, struct completion *completion)
{
	struct bio *bio = (struct bio *)completion->bio;
	struct block_record *record = &completion->record;
	struct bio_owner *owner;
	enum by_page by_page = PAGE_OF_NO_FILE;
	u64 key = (u64)bio;
	u64 ino = 0;
	u32 s_dev = 0;
	u32 tgid = 0;
	u8 kind = 0;
	u8 origin = ORIGIN_UNKNOWN;
	u8 owned = 0;
	int gone = 0;
	u32 bytes;

	if (!bio || !completion->left)
		return 1;
	bytes = READ_FIELD(bio, bi_iter.bi_size);
	if (bytes > completion->left)
		bytes = completion->left;
	owner = bpf_map_lookup_elem(&bio_owners, &key);
	if (!owner) {
		/* The front part of a split bio points to the whole. */
		key = (u64)READ_FIELD(bio, bi_private);
		owner = bpf_map_lookup_elem(&bio_owners, &key);
	}
	if (owner) {
		tgid = owner->tgid;
		origin = owner->origin;
		/* The parts of a split bio complete on any CPU. */
		gone = __sync_fetch_and_sub(&owner->left, bytes) <= bytes;
	}
	if (carries_data(record->operation))
		by_page = owner_by_page(bio, &ino, &s_dev, &kind);
	if (by_page == PAGE_OF_CACHE || (by_page == PAGE_AS_BUFFER && !owner)) {
		owned = BLOCK_OWNED | (kind == FILE_BLOCK_DEVICE ? BLOCK_OWNER_IS_DEVICE : 0);
	} else if (owner) {
		ino = owner->ino;
		s_dev = owner->s_dev;
		owned = owner->owned;
	}
	if (completion->started &&
	    (record->ino != ino || record->s_dev != s_dev || record->tgid != tgid ||
	     (record->flags & (BLOCK_OWNED | BLOCK_OWNER_IS_DEVICE)) != owned)) {
		u64 end = record->sector + record->bytes / 512;

		add_block(record, BATCH_OF_COMPLETION, CLASS_BLOCK_COMPLETED);
		record->sector = end;
		record->bytes = 0;
		record->latency_ns = 0;
		record->flags &= BLOCK_PREFLUSH | BLOCK_FUA;
		completion->started = 0;
	}
	if (!completion->started) {
		completion->started = 1;
		record->ino = ino;
		record->s_dev = s_dev;
		record->tgid = tgid;
		record->origin = origin;
		record->flags |= owned;
		if (owner)
			__builtin_memcpy(record->comm, owner->comm, sizeof(record->comm));
		else
			__builtin_memset(record->comm, 0, sizeof(record->comm));
	}
	if (gone)
		bpf_map_delete_elem(&bio_owners, &key);
	record->bytes += bytes;
	completion->left -= bytes;
	completion->bio = (u64)READ_FIELD(bio, bi_next);
	return 0;
}

enum { BIOS_PER_REQUEST = 2048 };

SEC("tp_btf/block_rq_complete")
int block_rq_complete(u64 *context)
{
	struct request *request = (void *)context[0];
	u32 bytes = context[2];
	u64 key = (u64)request;
	u64 now = bpf_ktime_get_ns();
	struct issued_request *issue = bpf_map_lookup_elem(&issued, &key);
	struct completion completion = {};
	u32 command_flags = request->cmd_flags;
	u32 operation = command_flags & OP_MASK;

	completion.record.at_ns = now;
	completion.record.device = disk_number(READ_FIELD(READ_FIELD(request, q), disk));
	completion.record.sector = request->__sector;
	completion.record.operation = operation;
	completion.record.flags = intent_flags(command_flags) | BLOCK_FIRST_OF_REQUEST;
	completion.record.status = context[1];
	if (issue)
		completion.record.latency_ns = now - issue->at_ns;
	if (bytes >= request->__data_len)
		bpf_map_delete_elem(&issued, &key);
	if (has_sectors(operation)) {
		/* The end of a flush sequence completes its request a second time, without data. */
		if (!bytes)
			return 0;
		completion.bio = (u64)READ_FIELD(request, bio);
		completion.left = bytes;
		bpf_loop(BIOS_PER_REQUEST, complete_bio, &completion, 0);
		completion.record.bytes += completion.left;
	} else if (operation != OP_FLUSH) {
		completion.record.bytes = bytes;
	}
	add_block(&completion.record, BATCH_OF_COMPLETION, CLASS_BLOCK_COMPLETED);
	return 0;
}

/* The end of every bio. Its bytes were counted with the requests that carried it, unless the
 * device takes bios without requests (zram, brd): there the queue events count. */
SEC("tp_btf/block_bio_complete")
int block_bio_complete(u64 *context)
{
	struct bio *bio = (void *)context[1];
	u64 key = (u64)bio;
	struct bio_owner *owner = bpf_map_lookup_elem(&bio_owners, &key);

	if (!owner)
		return 0;
	if (owner->left && !bio->bi_status && takes_requests(READ_FIELD(READ_FIELD(bio, bi_bdev), bd_disk)))
		add_inferred(owner, bpf_ktime_get_ns(), BATCH_OF_BIO_COMPLETION);
	bpf_map_delete_elem(&bio_owners, &key);
	return 0;
}

#endif
