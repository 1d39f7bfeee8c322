/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel side of activebench: one object, one file a group of hooks. The hooks are
 * BTF tracepoints: they load where kprobes and fentry do not. Only those of `library.h`,
 * which a user asks for, are uprobes.
 */
#include "tasks.h"
#include "block.h"
#include "page_cache.h"
#include "fuse.h"
#include "library.h"

char license_text[] SEC("license") = "Dual BSD/GPL";
