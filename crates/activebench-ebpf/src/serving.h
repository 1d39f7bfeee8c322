/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPU time beside the tree: of the threads of the kernel, by the work that they do, and of the daemons of FUSE file
 * systems, whose calls are counted too.
 *
 * Amounts are added up per CPU, and leave when they have grown or become old. All of it belongs to the time between
 * their first and last moment. Nothing here runs for a thread of others, beyond a look at its flags.
 */
#ifndef ACTIVEBENCH_SERVING_H
#define ACTIVEBENCH_SERVING_H

#include "maps.h"

/* An amount leaves when it has so much CPU time, or is so old. */
enum { SERVING_CPU_NS = 1000000, SERVING_AGE_NS = 20000000 };

struct {
	MAP_UINT(type, MAP_PERCPU_HASH);
	MAP_UINT(max_entries, 512);
	MAP_TYPE(key, struct serving_key);
	MAP_TYPE(value, struct serving_record);
} serving SEC(".maps");

struct {
	MAP_UINT(type, MAP_PERCPU_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct serving_now);
} serving_now SEC(".maps");

/* Whether the time of a task is added up here: a thread of the kernel that is not the idle one, or one of a daemon. */
static always_inline int is_serving(struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? task->pid != 0 : is_daemon(task);
}

/* The amount of a key on this CPU; NULL, and counted as lost, when there is no room. */
static never_inline struct serving_record *amount_of(struct serving_key *key, u64 since_ns)
{
	struct serving_record *amount = bpf_map_lookup_elem(&serving, key);

	if (!amount) {
		struct serving_record none = {};

		bpf_map_update_elem(&serving, key, &none, UPDATE_NOEXIST);
		amount = bpf_map_lookup_elem(&serving, key);
	}
	if (!amount) {
		count_shared_made(CLASS_SERVING);
		count_shared_lost(CLASS_SERVING, 1);
		return NULL;
	}
	if (!amount->since_ns) {
		amount->since_ns = since_ns;
		amount->tgid = key->tgid;
		__builtin_memcpy(amount->name, key->name, sizeof(amount->name));
	}
	return amount;
}

/* An amount that has grown up to now leaves if it is time. */
static never_inline int send_amount(struct serving_record *amount, u64 now)
{
	struct {
		struct batch_header header;
		struct serving_record amount;
	} message;

	amount->until_ns = now;
	if (amount->cpu_ns < SERVING_CPU_NS && now - amount->since_ns < SERVING_AGE_NS)
		return 0;
	message.header.record_class = CLASS_SERVING;
	message.header.count = 1;
	message.amount = *amount;
	amount->since_ns = 0;
	amount->cpu_ns = 0;
	amount->read_calls = 0;
	amount->write_calls = 0;
	amount->sync_calls = 0;
	amount->other_calls = 0;
	count_shared_made(CLASS_SERVING);
	if (bpf_ringbuf_output(&ring, &message, sizeof(message), RINGBUF_NO_WAKEUP))
		count_shared_lost(CLASS_SERVING, 1);
	return 0;
}

/* Whose time it is: the daemon's, the thread's, or that of the work that a worker does. */
static never_inline int name_serving(struct serving_key *key, struct task_struct *task)
{
	struct kthread *kthread = NULL;
	struct worker *worker = NULL;

	__builtin_memset(key, 0, sizeof(*key));
	if (!(task->flags & PF_KTHREAD)) {
		key->tgid = task->tgid;
		return 0;
	}
	kthread = task->worker_private;
	if (task->flags & PF_WQ_WORKER && FIELD_EXISTS(kthread->data) && FIELD_EXISTS(worker->desc)) {
		worker = kthread ? READ_FIELD(kthread, data) : NULL;
		if (worker)
			bpf_probe_read_kernel_str(key->name, sizeof(key->name), worker->desc);
	} else if (kthread && FIELD_EXISTS(kthread->full_name)) {
		char *name = READ_FIELD(kthread, full_name);

		if (name)
			bpf_probe_read_kernel_str(key->name, sizeof(key->name), name);
	}
	if (!key->name[0])
		bpf_probe_read_kernel_str(key->name, sizeof(task->comm), task->comm);
	return 0;
}

/* Adds the time since the last look to what the thread does now. */
static never_inline int add_time(struct serving_now *on_cpu, struct task_struct *task, u64 now)
{
	struct serving_record *amount;

	name_serving(&on_cpu->key, task);
	amount = amount_of(&on_cpu->key, on_cpu->in_ns);
	if (amount) {
		amount->cpu_ns += now - on_cpu->in_ns;
		send_amount(amount, now);
	}
	return 0;
}

static always_inline void starts_serving(void)
{
	u32 zero = 0;
	struct serving_now *on_cpu = bpf_map_lookup_elem(&serving_now, &zero);

	if (on_cpu)
		on_cpu->in_ns = bpf_ktime_get_ns();
}

static always_inline void stops_serving(struct task_struct *task)
{
	u32 zero = 0;
	struct serving_now *on_cpu = bpf_map_lookup_elem(&serving_now, &zero);

	if (!on_cpu || !on_cpu->in_ns)
		return;
	add_time(on_cpu, task, bpf_ktime_get_ns());
	on_cpu->in_ns = 0;
}

/* A worker does work of several queues without leaving its CPU. */
SEC("tp_btf/workqueue_execute_end")
int workqueue_execute_end(u64 *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 zero = 0;
	struct serving_now *on_cpu;
	u64 now;

	if (!(task->flags & PF_WQ_WORKER))
		return 0;
	on_cpu = bpf_map_lookup_elem(&serving_now, &zero);
	if (!on_cpu || !on_cpu->in_ns)
		return 0;
	now = bpf_ktime_get_ns();
	add_time(on_cpu, task, now);
	on_cpu->in_ns = now;
	return 0;
}

/* A call of a daemon has ended. */
static never_inline int count_call_of_daemon(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 number = READ_FIELD(regs, orig_ax);
	struct call_description *call = NULL;
	struct serving_record *amount;
	struct serving_key key = {};
	u64 now = bpf_ktime_get_ns();

	key.tgid = task->tgid;
	if (!(task->thread_info.status & IN_32_BIT_CALL) && number < CALLS_OF_64_BIT)
		call = bpf_map_lookup_elem(&call_descriptions, &number);
	amount = amount_of(&key, now);
	if (!amount)
		return 0;
	if (call && call->op >= OP_FIRST_READ && call->op < OP_FIRST_WRITE)
		amount->read_calls++;
	else if (call && call->op >= OP_FIRST_WRITE && call->op <= OP_LAST_WRITE)
		amount->write_calls++;
	else if (call && call->op >= OP_FIRST_SYNC && call->op <= OP_LAST_SYNC)
		amount->sync_calls++;
	else
		amount->other_calls++;
	send_amount(amount, now);
	return 0;
}

#endif
