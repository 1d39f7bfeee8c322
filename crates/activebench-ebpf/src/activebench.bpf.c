/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel side of activebench: one object, one file a group of hooks. The hooks are
 * BTF tracepoints only: they load where kprobes and fentry do not.
 */
#include "tasks.h"
#include "block.h"
#include "page_cache.h"

char license_text[] SEC("license") = "Dual BSD/GPL";
