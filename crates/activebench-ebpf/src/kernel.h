/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's structs that we walk, with only the fields that we use. The loader
 * relocates every access to the running kernel (CO-RE), so neither order nor size matter.
 */
#ifndef ACTIVEBENCH_KERNEL_H
#define ACTIVEBENCH_KERNEL_H

#include "helpers.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long bp, bx, cx, r9, r8, r10, dx, si, di, orig_ax;
};

struct thread_info {
	u32 status;
};

struct super_block {
	u32 s_dev;
	unsigned long s_flags;
};

struct inode {
	u16 i_mode;
	unsigned int i_flags;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_rdev;
};

struct address_space {
	struct inode *host;
};

struct file {
	struct address_space *f_mapping;
	struct inode *f_inode;
	unsigned int f_flags;
	s64 f_pos;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_io_accounting {
	u64 read_bytes;
};

struct mm_struct {
	unsigned long arg_start;
	unsigned long arg_end;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	struct mm_struct *mm;
	int exit_code;
	int pid;
	int tgid;
	unsigned in_iowait : 1;
	struct files_struct *files;
	struct task_io_accounting ioac;
	char comm[16];
	void *stack;
	void *worker_private; /* of a worker of io_uring: its `struct io_worker`; of a thread of the kernel: its `struct kthread` */
};

struct kthread {
	void *data;	 /* of a worker: its `struct worker` */
	char *full_name; /* NULL unless it was cut for `comm` */
};

struct worker {
	char desc[24]; /* the queue whose work it does, or what that work calls itself */
};

struct fuse_in_header {
	u32 len;
	u32 opcode;
};

struct fuse_out_header {
	u32 len;
	s32 error;
};

struct fuse_conn {
	u32 dev;
	unsigned writeback_cache : 1;
	unsigned passthrough : 1;
};

struct fuse_mount {
	struct fuse_conn *fc;
};

struct fuse_req {
	struct {
		struct fuse_in_header h;
	} in;
	struct {
		struct fuse_out_header h;
	} out;
	struct fuse_mount *fm;
};

struct kiocb {
	struct file *ki_filp;
	s64 ki_pos;
	int ki_flags;
};

struct io_rw {
	struct kiocb kiocb;
	u64 addr;
	u32 len;
};

struct io_sync {
	int flags;
};

struct io_cqe {
	int fd;
};

struct io_wq_work {
	unsigned flags;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_ring_ctx {
	unsigned compat : 1; /* made by a 32-bit call: so are its iovecs */
};

struct io_kiocb {
	struct file *file;
	struct io_ring_ctx *ctx;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
	struct io_wq_work work;
};

struct io_uring_cqe {
	s32 res;
};

struct linux_binprm {
	unsigned int secureexec : 1; /* the program gets more rights than its user has */
	const char *filename;
};

struct page {
	unsigned long compound_head;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long _flags_1;
};

/* Until Linux 6.5 the order had a field of its own. */
struct folio___own_order {
	u8 _folio_order;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct request_queue {
	struct gendisk *disk;
	void *mq_ops; /* NULL where bios go to the driver without requests */
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
};

struct bio_vec {
	struct page *bv_page;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	void *bi_private;
	u8 bi_status;
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
};

/* Bit numbers move between kernels: read them through ENUM_VALUE. */
enum req_flag_bits { __REQ_FUA = 17, __REQ_PREFLUSH = 18 };
enum pageflags { PG_head = 6, PG_uptodate = 2, PG_writeback = 1 };

#pragma clang attribute pop

/* Stable since long, or part of the ABI. */
enum { OP_MASK = 0xff, OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3, OP_WRITE_ZEROES = 9 };
/* Of a task's thread_info: it is in a 32-bit call (TS_COMPAT). Of a call's number: the x32 ABI. */
enum { IN_32_BIT_CALL = 2, X32_CALL = 0x40000000, NO_SUCH_CALL = 38 /* ENOSYS */ };
/* A call with more iovecs is refused as a whole (UIO_MAXIOV). */
enum { MOST_VECTORS = 1024 };
enum { PF_IO_WORKER = 0x00000010, PF_WQ_WORKER = 0x00000020, PF_KTHREAD = 0x00200000 };
enum { MODE_FORMAT = 0170000, MODE_REGULAR = 0100000, MODE_BLOCK = 0060000 };
enum { MAPPING_FLAGS = 3 };
enum { OPENED_APPEND = 02000, OPENED_DSYNC = 010000, OPENED_DIRECT = 040000, OPENED_SYNC = 04010000 };
/* What a call asks for itself, also as bits of a request (`ki_flags`). */
enum { ASKED_DSYNC = 2, ASKED_SYNC = 4, ASKED_APPEND = 16 };
/* An inode (`chattr +S`) and a mount (`-o sync`) whose writes are all synchronous. */
enum { INODE_SYNC = 1, MOUNTED_SYNC = 16 };
enum { MSYNC_ASYNC = 1 };
enum { FCNTL_DUPFD = 0, FCNTL_SETFL = 4, FCNTL_DUPFD_CLOEXEC = 1030 };
enum { FALLOCATE_PUNCH_HOLE = 2 };
/* ioctl of a block device, with the address of offset and length. */
enum { IOCTL_DISCARD = 0x1277, IOCTL_SECURE_DISCARD = 0x127d };

#endif
