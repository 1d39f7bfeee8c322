/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's BPF helpers that we call, and the few macros around them.
 * Declared here so that the build needs clang alone.
 */
#ifndef ACTIVEBENCH_HELPERS_H
#define ACTIVEBENCH_HELPERS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed int s32;
typedef signed long long s64;

#define SEC(name) __attribute__((section(name), used))
#define always_inline inline __attribute__((always_inline))
#define never_inline __attribute__((noinline))
#define NULL ((void *)0)

/* BTF map definitions, as every loader reads them. */
#define MAP_UINT(name, value) int(*name)[value]
#define MAP_TYPE(name, value) typeof(value) *name

enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_RINGBUF = 27,
	MAP_TASK_STORAGE = 29,
};
enum { MAP_NO_PREALLOC = 1, MAP_MMAPABLE = 1024 };
enum { RINGBUF_NO_WAKEUP = 1 };
enum { STORAGE_CREATE = 1 };
enum { RING_USED = 0 };
enum { STACK_OF_USER = 256 };
enum { UPDATE_ANY = 0, UPDATE_NOEXIST = 1 };

struct task_struct;

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static long (*bpf_get_stack)(void *context, void *frames, u32 size, u64 flags) = (void *)67;
static long (*bpf_probe_read_user)(void *dst, u32 size, const void *src) = (void *)112;
static long (*bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;
static long (*bpf_probe_read_user_str)(void *dst, u32 size, const void *src) = (void *)114;
static long (*bpf_probe_read_kernel_str)(void *dst, u32 size, const void *src) = (void *)115;
static long (*bpf_ringbuf_output)(void *map, void *data, u64 size, u64 flags) = (void *)130;
static void *(*bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void *(*bpf_task_storage_get)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static u64 (*bpf_ringbuf_query)(void *ring, u64 flags) = (void *)134;
static u64 (*bpf_get_attach_cookie)(void *context) = (void *)174;
static long (*bpf_loop)(u32 iterations, void *callback, void *context, u64 flags) = (void *)181;

/*
 * Field of a struct behind an untyped pointer; zero when the address cannot be read.
 *
 * Also for a pointer in a struct that a tracepoint names, outside the path of calls: from Linux 6.3 on, the verifier
 * searches all types of the kernel several times for each plain load of one, which takes it milliseconds.
 */
#define READ_FIELD(pointer, field)                                                  \
	({                                                                          \
		typeof(pointer) pointer_ = (pointer);                               \
		typeof(pointer_->field) value_ = 0;                                 \
		bpf_probe_read_kernel(&value_, sizeof(value_), &pointer_->field);   \
		value_;                                                             \
	})

/* CO-RE questions; the numbers are the compiler's own (BPF_FIELD_...). */
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)
#define FIELD_BYTE_OFFSET(field) __builtin_preserve_field_info(field, 0)
#define FIELD_BYTE_SIZE(field) __builtin_preserve_field_info(field, 1)
#define FIELD_LSHIFT(field) __builtin_preserve_field_info(field, 4)
#define FIELD_RSHIFT(field) __builtin_preserve_field_info(field, 5)
/* A bit field behind an untyped pointer that the kernel has. Where it lies differs between kernels. */
#define READ_BIT(pointer, field)                                                                              \
	({                                                                                                    \
		typeof(pointer) of_ = (pointer);                                                              \
		u64 bits_ = 0;                                                                                \
		u64 at_ = FIELD_BYTE_OFFSET(of_->field);                                                      \
		switch (FIELD_BYTE_SIZE(of_->field)) {                                                        \
		case 1: bpf_probe_read_kernel(&bits_, 1, (char *)of_ + at_); break;                           \
		case 2: bpf_probe_read_kernel(&bits_, 2, (char *)of_ + at_); break;                           \
		case 4: bpf_probe_read_kernel(&bits_, 4, (char *)of_ + at_); break;                           \
		default: bpf_probe_read_kernel(&bits_, 8, (char *)of_ + at_); break;                          \
		}                                                                                             \
		bits_ <<= FIELD_LSHIFT(of_->field);                                                           \
		(bits_ >> FIELD_RSHIFT(of_->field)) != 0;                                                     \
	})
/* The running kernel's value of an enumerator. */
#define ENUM_VALUE(type, enumerator) __builtin_preserve_enum_value(*(type *)enumerator, 1)

#endif
