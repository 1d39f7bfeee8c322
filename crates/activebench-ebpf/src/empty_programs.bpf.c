/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that do nothing, on the hooks that cost the most: what the kernel takes for
 * calling them is the least that any observation of every call and request can cost.
 * `cargo xtask overhead` measures it; the product does not use them.
 */
#include "helpers.h"

SEC("tp_btf/sys_enter")
int sys_enter(u64 *arguments)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *arguments)
{
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int io_uring_submit_req(u64 *arguments)
{
	return 0;
}

/* Linux before 6.3 has this one instead. */
SEC("tp_btf/io_uring_submit_sqe")
int io_uring_submit_sqe(u64 *arguments)
{
	return 0;
}

SEC("tp_btf/io_uring_complete")
int io_uring_complete(u64 *arguments)
{
	return 0;
}

char license_text[] SEC("license") = "Dual BSD/GPL";
