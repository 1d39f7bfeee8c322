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
	CLASS_CALLS,
	CLASS_NAMES,
	CLASS_TASKS,
	CLASS_BLOCK_QUEUED,
	CLASS_BLOCK_COMPLETED,
	CLASS_PAGE_CACHE,
	CLASS_CPU,
	CLASS_SAMPLES,
	CLASS_PAYLOAD,
	CLASS_OUTPUT,
	CLASS_SERVING,
	CLASS_FUSE,
	CLASS_COUNT,
};

/* Every message of the ring starts with this; `count` records of the class follow. */
struct batch_header {
	u32 record_class;
	u32 count;
};

/* Codes of `activebench_model::call::Op` that the programs name themselves. */
enum {
	OP_FIRST_READ = 1, /* read, pread, readv, preadv */
	OP_FIRST_WRITE = 5, /* write, pwrite, writev, pwritev */
	OP_LAST_WRITE = 8,
	OP_LSEEK = 9,
	OP_FIRST_SYNC = 10, /* fsync, fdatasync, sync_file_range, sync, syncfs */
	OP_LAST_SYNC = 14,
	OP_MSYNC = 15,
	OP_FALLOCATE = 21,
	OP_IO_SUBMIT = 29,
	OP_URING_ENTER = 30,
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
	OP_EXECUTE = 47,
	OP_DISCARD_RANGE = 48,
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
	u32 cached_pages; /* PAIR_MARK: see add_pair() */
	s32 fd;
	u16 op;
	u8 file_kind;
	u8 stands_for; /* calls whose latency this one's is a sample of; 0: its times are estimates */
};

/*
 * Fast calls whose ends were not timed, in the place of one call's record, behind that of a call
 * of the same thread on the same descriptor: what is not here is as there. A request of io_uring
 * (its op says so) stands for itself and for the io_uring_enter that submitted it alone and in
 * which it completed: what is not here is as in the last records of both in front of the group.
 * A request of libaio stands for the two calls of its pair: what is not here is as in the last
 * record of a pair in front of the group, see add_pair().
 *
 * A narrow group has the offsets alone, of twice as many: each call moved what it asked for, as
 * many bytes as the last record in front of the group that is not of an io_uring_enter.
 */
enum { GROUP_CALLS = 5, GROUP_MARGIN = 8, NARROW_CALLS = 10, NARROW_MARGIN = 16 };

struct grouped_call {
	u64 offset_and_op; /* offset << 8 | op */
	u32 requested; /* of a request of libaio also what was returned */
	/* Of a request of libaio: how long before the group it was submitted; -1 by the first pair of the group, -2 by the
	 * second ... */
	s32 returned;
};

struct call_group {
	u64 count_and_end_ns; /* GROUP_MARK, which no time has; 4 bits, how many; NARROW_MARK or 0; when the last one ended */
	u16 step_ns;          /* from end to end, up to that of the last but one */
	u16 user_ns;          /* in user mode in front of each */
	u32 storage_read_bytes; /* by all of them */
	struct grouped_call calls[GROUP_CALLS]; /* of a narrow group: NARROW_CALLS times offset_and_op */
};

/* A request of libaio stands for the io_submit before it and the io_getevents that collected it too. */
#define PAIR_MARK 0xffffffff
#define GROUP_MARK (1ull << 63)
#define NARROW_MARK (1ull << 58)
enum { GROUP_COUNT_SHIFT = 59 };

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
enum { IN_USER = 0, IN_KERNEL = 1, IN_BLOCK = 2, IN_IOWAIT = 3, IN_PREEMPTION = 4, IN_STOP = 5 };

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

enum { PAYLOAD_BYTES = 4096 };

/* The beginning of what a call writes. It leaves through a ring of its own. */
struct payload_record {
	struct batch_header header;
	u64 at_ns; /* start of the call, or submission */
	u64 ino;
	u64 requested;
	u32 s_dev; /* 0, and ino too, for a file that is registered with an io_uring */
	u32 tid;
	u32 tgid;
	s32 fd;
	u16 op;
	u16 padding;
	u32 bytes; /* of data; 0 when the memory could not be read */
	u8 data[PAYLOAD_BYTES];
};

/* A piece of what a process writes to its standard output or standard error; `bytes` of text follow. It leaves through
 * the ring of the payload. */
struct output_record {
	struct batch_header header;
	u64 at_ns; /* end of the call */
	u64 written; /* bytes that the call wrote, in its first piece; 0 in the others */
	u32 tid;
	u32 tgid;
	s32 fd;
	u32 bytes; /* 0 where they could not be read, or are past what is taken of one process */
};

/*
 * What threads beside the tree did for everybody between two moments: those of one kind of work of the kernel, or of
 * the daemon of a FUSE file system, on one CPU.
 */
struct serving_record {
	u64 since_ns;
	u64 until_ns;
	u64 cpu_ns;
	u32 read_calls;
	u32 write_calls;
	u32 sync_calls;
	u32 other_calls;
	u32 tgid; /* of a daemon; 0 for the kernel */
	u32 padding;
	char name[24]; /* of a thread of the kernel, or of the work that one of its workers did */
};

struct serving_key {
	char name[24];
	u32 tgid;
	u32 padding;
};

/* The thread of the kernel or of a daemon that a CPU runs. */
struct serving_now {
	u64 in_ns; /* 0 for another thread */
	struct serving_key key;
};

/* What is in fuse_record.flags: properties of the connection. */
enum { FUSE_WRITEBACK_CACHE = 1, FUSE_PASSTHROUGH = 2 };

/* One request of a FUSE file system, when it was answered. */
struct fuse_record {
	u64 at_ns;
	u64 sent_ns; /* 0 when that was not seen */
	u32 s_dev;
	u32 opcode;
	u32 tgid; /* who sent it */
	u32 daemon; /* the process in whose context it was answered */
	u32 in_bytes; /* of the request, with its header */
	u32 out_bytes;
	s32 error;
	u32 flags;
};

enum { FUSE_BATCH = 32 };

struct fuse_batch {
	struct batch_header header;
	struct fuse_record records[FUSE_BATCH];
};

/* A request on its way. */
struct fuse_sent {
	u64 at_ns;
	u32 tgid;
	u32 padding;
};

/* I/O that is seen and cannot be decoded, with a number for each kind: user space names it. */
enum undecoded_path {
	UNDECODED_IOCBS,   /* requests that the kernel took and that could not be read, or were past a call's budget */
	UNDECODED_VECTORS, /* calls that moved data between iovecs that could not be read */
	UNDECODED_32_BIT,  /* 32-bit calls without a description of their arguments */
	UNDECODED_X32,     /* calls of the x32 ABI */
	UNDECODED_REQUESTS, /* requests of io_uring that moved data of a file that was not found */
	UNDECODED_SKIPPED, /* requests of io_uring that leave no completion entry unless they fail */
	UNDECODED_GAIN, /* programs with more rights than their user has, which are not watched */
	UNDECODED_COUNT,
};

/* Counted whether or not a record gets out. */
struct record_counters {
	u64 made;
	u64 lost;
	u64 inferred;  /* of those made: concluded, not seen */
	u64 estimated; /* of those made: calls whose entry was not timed */
	u64 looked_up; /* entries and exits of calls whose thread was found the longer way */
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

/* Numbers of 32-bit calls are described from here on, those of 64-bit calls below. */
enum { CALLS_OF_64_BIT = 512, CALLS_OF_32_BIT = 512 };

/* What a system call number means; arguments are numbered from 1, 0 means none. */
enum {
	CALL_VECTOR = 1,       /* the length argument counts iovecs */
	CALL_FILE_POSITION = 2, /* data moves at the file position */
	CALL_RETURNS_FD = 4,   /* the file is the one behind the returned descriptor */
	CALL_BY_COMMAND = 8,   /* only with some commands in argument 2: duplicating, discarding */
	CALL_CHANGES_FDS = 16, /* remembered descriptors are stale afterwards */
	CALL_OFFSET_POINTERS = 32, /* the offset arguments are addresses of offsets, or NULL: the file position */
	CALL_TWO_FILES = 64,   /* the second_ fields are set */
	CALL_PLAIN = 128,      /* moves data; descriptor in 1, length in 3, offset, if any, in 4 */
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
	u8 asked_argument;      /* RWF_* */
	u8 offset_high_argument; /* the upper half of the offset, for 32-bit calls */
	u8 length_high_argument;
	u8 pointed_bytes;       /* of an offset that is given by address: 0 for 8, or 4 */
	u8 undecoded;           /* 1 for a call that may move data and is only counted */
	u8 padding;
};

/* Of calls that follow one another fast, one in so many is timed from its entry; how fast,
 * from exit to exit. From so many nanoseconds on estimates count, and no sample stands for others. */
enum { SAMPLED_CALLS = 31, FAST_NS = 8000, SURE_NS = 64000 };

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
	u8 file_kind;
	u8 stands_for; /* as in the record */
};

/* Where a request is while it is in flight, by a hash of its address. */
struct async_slot {
	u64 address; /* of the kernel's request, or of an iocb in the process; 0 for a free place */
	struct async_call call; /* its tgid is 0 until the place is filled in, and after its release */
};

enum { ASYNC_SLOTS_LOG2 = 13, ASYNC_SLOTS = 1 << ASYNC_SLOTS_LOG2 };

enum { THREADS_LOG2 = 12, THREADS = 1 << THREADS_LOG2, THREAD_TRIES = 64, NO_THREAD = 0xffffffff,
       LEFT_TREE = 0xfffffffe };

/* What a task of the tree carries itself: where its state is, NO_THREAD after its end, LEFT_TREE where it is watched no
 * more. */
struct membership {
	u32 thread;
};

/* Whose calls of a library function are counted together. */
struct library_key {
	u32 tgid;
	u32 tid;
	u32 function;
	u32 slice;	/* the time, in units of 268 ms */
	u64 generation; /* changes of descriptors in the tree before */
};

struct library_count {
	u64 calls;
	u64 asked_bytes;
	u64 first_ns;
	u64 last_ns;
};

/* A process outside the tree: the stack of one of its threads, and how many threads the tree had
 * had by then. */
struct stranger {
	u64 stack;
	u64 births;
};

/*
 * What is remembered of a task of the tree until its end. User space seeds the first one.
 * What every call touches comes first, and what a fast call touches fills the first line of the
 * processor's cache: each line counts.
 */
struct task_state {
	u32 used;
	u16 thread;
	/* Whether the group that is being filled is narrow, and how many groups from here on are wide. */
	u8 is_narrow;
	u8 wide_left;
	/* All from here to the records is zero at birth.
	 * Its kernel stack, as a distance from `callers`; 0 until it was seen there. */
	u64 stack;
	/* The kernel's tick when time was last read at a call's end; 0 when a sample was taken since. */
	u64 exit_jiffies;
	u64 known_generation; /* of the last file that was looked up, see below */
	/* The call in flight. */
	u32 cached_pages;
	s32 fd;
	u16 op;
	u8 call_flags;
	u8 in_kernel;
	/* As in the record; while it is 0, the time since last_ns is not yet split into that
	 * before the call and that in it. */
	u8 stands_for;
	u8 arguments_later; /* its arguments are read at its exit */
	/* What makes a call cheap: whether the last one was plain and fast, whether the next one can
	 * join a group, how many entries go by untimed until the next sample, how many calls the
	 * group has so far, and which record's place it takes. */
	u8 fast;
	u8 groupable;
	u16 untimed_left;
	u8 grouped;
	u8 group_place;
	u32 narrow_bytes; /* that each call of a narrow group moves; 0 when it cannot be narrow */
	u64 last_ns;
	/* What requests of io_uring touch besides. The one that was submitted last, by the call in
	 * flight, while it is in flight too: the kernel looks for its file when it issues it. */
	u64 ring_request;
	/* The request of an untimed io_uring_enter, which completed in it. */
	struct grouped_call pair;
	/* The last file of a request. */
	u64 ring_file;
	u64 ring_generation;
	/* The time that this thread spends between calls, and from the end of a call to the next one's. */
	u32 between_ns;
	u32 step_ns;
	/* The batch has a record of a request of ring_file, with this descriptor, asking for this
	 * itself, and no later one of a request. */
	s32 request_fd;
	u8 request_asked;
	u8 request_known;
	u8 paired;      /* `pair` is set */
	u8 ring_inline; /* the call in flight submitted one request and saw it complete */
	u64 user_ns;
	u64 kernel_ns;
	u64 user_at_record_ns;
	u64 start_ns;
	u64 kernel_at_start_ns;
	u64 read_bytes_at_start;
	u64 ino;
	s64 offset;
	u64 requested;
	u32 s_dev;
	u32 open_flags;
	u8 file_kind;
	u8 off_cpu;
	/* The kind of the file of the requests of libaio that are being submitted; FILE_OTHER
	 * when there are none or several files. */
	u8 submitted_kind;
	u8 positioned; /* data moves at an offset that the call names, and the file position stays */
	u8 narrow;     /* a 32-bit call */
	u8 undecoded;  /* the path of a call that is only counted, and one */
	u8 vectors_unread; /* its iovecs are not in memory before the kernel reads them */
	u8 output_ended;   /* where no more is taken of what its process prints: OUTPUT_ENDED_* */
	/* The last file that was looked up. */
	u64 known_file;
	u64 known_ino;
	u32 known_s_dev;
	u32 known_open_flags;
	s32 known_fd;
	u32 known_kind;
	/* When the last call of this table ended, and what the choice of samples is drawn from. */
	u64 exit_ns;
	u32 random;
	u32 read_iocbs; /* requests of the io_submit in flight that are remembered */
	u64 name_pointer;
	/* Where the call keeps its list: of iocbs, of events. */
	u64 list_pointer;
	/* The other file of a call between two, for calls that have CALL_TWO_FILES; its op is 0
	 * when it is no file of interest. Otherwise room for a request that is being submitted. */
	struct async_call second;
	u64 submitted_ino;
	/* More of ring_file. */
	u64 ring_ino;
	u32 ring_s_dev;
	u32 ring_open_flags;
	u32 ring_kind;
	u32 submitted_s_dev;
	/* Of the records that have not left yet. */
	u32 estimated;
	u32 steps_left; /* that the io_submit in flight may cost */
	u64 ring_batch_ns; /* when the completion before this one was timed, if nothing came between */
	u64 blocked_ns;
	u64 iowait_ns;
	u64 preempted_ns;
	u64 cpu_sent_ns; /* when the totals were last sent */
	/* All before the records fills whole lines, so that no two threads share one. */
	/* Pairs of an io_submit of one request and an io_getevents that returned one event: on which
	 * context, when the last one ended, and how long the thread is away between the two calls, and
	 * how long the second takes. */
	u64 aio_context;
	u64 aio_pair_ns;
	u32 aio_gap_ns;
	u32 aio_events_ns;
	u8 aio_stage;
	u8 padding_of_lines;
	/* The place of the last record of a pair in the batch, and one; 0 without one. */
	u8 aio_model;
	u8 aio_steps; /* step_ns is that of pairs */
	u32 in_groups; /* calls of finished groups that have not left yet, less one for each group */
	/* Records that have not left yet: a message as it stands. */
	struct batch_header batch;
	struct call_record records[CALL_BATCH];
	/* Never touched: the verifier takes a call's number in its group to be below GROUP_MARGIN or NARROW_MARGIN. */
	u8 margin[64];
};

/* A request whose place is taken. */
struct async_key {
	u64 address;
	u32 tgid; /* 0 for a request of io_uring */
	u32 padding;
};

/* Of task_state.aio_stage: after a fast pair, after a timed first call, after an untimed one. */
enum { AIO_READY = 1, AIO_TIMED = 2, AIO_HALF = 3 };
/* Of task_state.in_kernel. ENTERED_UNSURE: its entry went untimed, and so much time passed until it was looked at that the
 * thread may have paused before it. */
enum { OUTSIDE_KERNEL = 0, ENTERED_TIMED = 1, ENTERED_UNTIMED = 2, ENTERED_UNSURE = 3 };
enum { ON_CPU = 0, OFF_BLOCKED = 1, OFF_IOWAIT = 2, OFF_PREEMPTED = 3, OFF_STOPPED = 4 };

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
