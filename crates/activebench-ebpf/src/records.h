/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Records that leave the kernel, and the tables that user space fills. Their Rust twins
 * are in `activebench-probe-abi`, whose test compares every size and offset with the BTF
 * of the built object.
 */
#ifndef ACTIVEBENCH_RECORDS_H
#define ACTIVEBENCH_RECORDS_H

#include "helpers.h"

/* Classes of records, each with its own counters. Completions have their own because they
 * interrupt the other programs. */
enum record_class {
	CLASS_CALLS = 0,
	CLASS_NAMES = 1,
	CLASS_TASKS = 2,
	CLASS_BLOCK_QUEUED = 3,
	CLASS_BLOCK_COMPLETED = 4,
	CLASS_PAGE_CACHE = 5,
	CLASS_CPU = 6,
	CLASS_SAMPLES = 7,
	CLASS_COUNT = 8,
};

/* Every message of the ring starts with this; `count` records of the class follow. */
struct batch_header {
	u32 record_class;
	u32 count;
};

/* Codes of `activebench_model::call::Op` that the programs name themselves. */
enum {
	OP_MSYNC = 15,
	OP_IO_SUBMIT = 29,
	OP_IO_GETEVENTS = 32,
	OP_AIO_READ = 33,
	OP_AIO_WRITE = 34,
	OP_AIO_FSYNC = 35,
	OP_AIO_FDATASYNC = 36,
	OP_URING_READ = 37,
	OP_URING_WRITE = 38,
	OP_URING_FSYNC = 39,
	OP_URING_FDATASYNC = 40,
	OP_URING_OTHER = 41,
	OP_MSYNC_ASYNC = 42,
};

enum { FILE_OTHER = 0, FILE_REGULAR = 1, FILE_BLOCK_DEVICE = 2 };

struct call_record {
	u64 start_ns;
	u64 end_ns;
	u64 ino;
	s64 offset;
	u64 requested;
	s64 returned;
	u64 cpu_ns;
	u64 user_before_ns;
	u32 s_dev;
	u32 tid;
	u32 tgid;
	u32 open_flags;
	u32 storage_read_bytes;
	u32 cached_pages;
	s32 fd;
	u16 op;
	u16 file_kind;
};

struct name_record {
	struct batch_header header;
	u64 at_ns;
	u64 ino;
	s64 returned;
	u32 s_dev;
	u32 tid;
	u32 tgid;
	u16 op;
	u16 file_kind;
	char name[256];
};

enum { TASK_BORN = 1, TASK_EXECUTED = 2, TASK_EXITED = 3 };

struct task_record {
	struct batch_header header;
	u64 at_ns;
	u64 user_ns;
	u64 kernel_ns;
	u64 blocked_ns;
	u64 iowait_ns;
	u64 preempted_ns;
	u32 kind;
	u32 tid;
	u32 tgid;
	u32 parent_tgid;
	s32 exit_code;
	u32 padding;
	char comm[16];
	char filename[256];
};

enum { ORIGIN_UNKNOWN = 0, ORIGIN_TREE = 1, ORIGIN_OBSERVER = 2, ORIGIN_KERNEL = 3, ORIGIN_FOREIGN = 4 };
enum { BLOCK_PREFLUSH = 1, BLOCK_FUA = 2, BLOCK_FIRST_OF_REQUEST = 4, BLOCK_OWNED = 8, BLOCK_OWNER_IS_DEVICE = 16,
       BLOCK_INFERRED = 32 /* a completion that no hook saw; at_ns is when it was queued or issued */ };

struct block_record {
	u64 at_ns;
	u64 sector;
	u64 latency_ns;
	u64 ino;
	u32 s_dev;
	u32 device;
	u32 bytes;
	u32 tgid;
	char comm[16];
	u16 operation;
	u8 flags;
	u8 origin;
	u8 status;
	u8 padding[3];
};

struct cache_record {
	u64 at_ns;
	u64 ino;
	u64 index;
	u32 s_dev;
	u32 pages;
	u32 tgid;
	u32 in_tree;
};

/* Where a thread's time goes at one moment. */
enum { IN_USER = 0, IN_KERNEL = 1, IN_BLOCK = 2, IN_IOWAIT = 3, IN_PREEMPTION = 4 };

/* A thread's running totals at `at_ns`. All time from `since_ns` on went to `state`. */
struct cpu_record {
	u64 at_ns;
	u64 since_ns;
	u64 user_ns;
	u64 kernel_ns;
	u64 blocked_ns;
	u64 iowait_ns;
	u64 preempted_ns;
	u32 tid;
	u32 tgid;
	u32 state;
	u32 padding;
};

enum { MOST_FRAMES = 32 };

/* One interrupt of the sampling clock; frames begin with the innermost. */
struct sample_record {
	struct batch_header header;
	u64 at_ns; /* later than the totals where these are not known up to now */
	struct cpu_record cpu;
	u32 kernel_count;
	u32 user_count;
	u32 user_mode; /* the thread was interrupted in user mode */
	u32 padding;
	u64 kernel_frames[MOST_FRAMES];
	u64 user_frames[MOST_FRAMES];
};

/* Counted whether or not a record gets out. */
struct record_counters {
	u64 made;
	u64 lost;
	u64 inferred; /* of those made: concluded, not seen */
};

enum { CALL_BATCH = 16, BLOCK_BATCH = 32, CACHE_BATCH = 64 };

struct block_batch {
	struct batch_header header;
	struct block_record records[BLOCK_BATCH];
};

struct cache_batch {
	struct batch_header header;
	struct cache_record records[CACHE_BATCH];
};

/* What a system call number means; arguments are numbered from 1, 0 means none. */
enum {
	CALL_VECTOR = 1,       /* the length argument counts iovecs */
	CALL_FILE_POSITION = 2, /* data moves at the file position */
	CALL_RETURNS_FD = 4,   /* the file is the one behind the returned descriptor */
	CALL_IF_DUPLICATES = 8, /* fcntl: only F_DUPFD and F_DUPFD_CLOEXEC */
	CALL_CHANGES_FDS = 16, /* remembered descriptors are stale afterwards */
	CALL_OFFSET_POINTERS = 32, /* the offset arguments are addresses of offsets, or NULL: the file position */
};

struct call_description {
	u8 op;
	u8 fd_argument;
	u8 length_argument;
	u8 offset_argument;
	u8 name_argument;
	u8 vector_argument;
	u8 flags;
	u8 second_op;           /* of the file that data goes to, for calls between two files */
	u8 second_fd_argument;
	u8 second_offset_argument;
	u8 padding[2];
};

struct configuration {
	u32 observer_tgid;
	u32 padding;
};

/* A call whose record is made later or apart: asynchronous I/O on its way, the second file of
 * a call between two. */
struct async_call {
	u64 start_ns;
	u64 ino;
	s64 offset;
	u64 requested;
	u32 s_dev;
	u32 open_flags;
	u32 tid;
	u32 tgid;
	s32 fd;
	u16 op;
	u16 file_kind;
};

/* What is remembered of a task of the tree. User space seeds the first one. */
struct task_state {
	u64 last_ns;
	u64 user_ns;
	u64 kernel_ns;
	u64 blocked_ns;
	u64 iowait_ns;
	u64 preempted_ns;
	u64 cpu_sent_ns; /* when the totals were last sent */
	u64 user_at_record_ns;
	/* The call in flight. */
	u64 start_ns;
	u64 kernel_at_start_ns;
	u64 read_bytes_at_start;
	u64 name_pointer;
	u64 ino;
	s64 offset;
	u64 requested;
	u32 s_dev;
	u32 open_flags;
	u32 cached_pages;
	s32 fd;
	u16 op;
	u8 call_flags;
	u8 file_kind;
	u8 in_kernel;
	u8 off_cpu;
	u8 padding[2];
	/* The other file of a call between two; its op is 0 when there is none. */
	struct async_call second;
	/* Where the call keeps its list: of iocbs, of events. */
	u64 list_pointer;
	/* The file of the asynchronous requests that are being submitted; FILE_OTHER when there
	 * are none or several files. */
	u64 submitted_ino;
	u32 submitted_s_dev;
	u32 submitted_kind;
	/* The last file that was looked up. */
	u64 known_file;
	u64 known_ino;
	u64 known_generation;
	u32 known_s_dev;
	u32 known_open_flags;
	s32 known_fd;
	u32 known_kind;
	/* Records that have not left yet. */
	struct batch_header batch;
	struct call_record records[CALL_BATCH];
};

struct aio_key {
	u64 iocb; /* its address in the process */
	u32 tgid;
	u32 padding;
};

enum { ON_CPU = 0, OFF_BLOCKED = 1, OFF_IOWAIT = 2, OFF_PREEMPTED = 3 };

struct file_key {
	u64 ino;
	u32 s_dev;
	u32 padding;
};

struct bio_owner {
	u64 queued_ns;
	u64 sector;
	u64 ino;
	u32 s_dev;
	u32 device;
	u32 left; /* bytes that are not complete */
	u32 tgid;
	char comm[16];
	u16 operation;
	u8 origin;
	u8 owned;
	u32 padding;
};

struct issued_request {
	u64 at_ns;
	u32 device;
	u32 operation;
};

#endif
