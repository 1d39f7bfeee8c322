// The interposer: a library that the dynamic linker loads into the processes of a traced tree (LD_PRELOAD). A stop for
// the tracer takes some 25 us; a call that is noted here takes less than one.
//
// It stands before the C library's read, write, pread, pwrite and lseek. On a descriptor that the tracer has released,
// it makes the call itself, by an instruction at an address that the tracer's filter lets pass, and notes it in memory
// of this process, which the tracer reads at the next stop of the process. Calls on other descriptors go on to the C
// library, and stop. What the tracer knows of descriptors decides: a call that changes them always stops.
//
// The layout is that of src/tracer/interposed.rs.

#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <errno.h>
#include <stdint.h>
#include <stddef.h>
#include <time.h>

// Addresses that no program uses: its own begin at the bottom, those of libraries at the top.
#define GATE ((uintptr_t)0x1ab500000000)
#define PAGE 4096
#define TABLE (GATE + PAGE)
#define RINGS (GATE + 16 * PAGE)
#define THREADS 64
#define NOTES 1024
#define DESCRIPTORS 4096
#define SIZE (16 * PAGE + (size_t)THREADS * NOTES * sizeof(struct note))

// The number of no system call: the filter lets it stop for the tracer.
#define HAND_OVER 0x2ab50000
#define MAGIC 0x656e63686162ULL
// Notes that wait no longer.
#define WAIT_NS 10000000
// How a descriptor is released whose data is looked at now and then.
#define SAMPLED_DATA 1
// Calls of which one shows what noting takes.
#define SAMPLED 64

struct note {
	uint64_t number; // its place since the thread began, from 1; written last
	uint64_t start_ns;
	uint64_t end_ns;
	int64_t before; // offset, or the file's position before; of lseek its argument
	int64_t after; // the file's position after
	uint32_t requested;
	int32_t returned;
	uint32_t storage_blocks; // read from storage meanwhile, of 512 bytes
	uint32_t noting_ns; // 0 if it was not measured
	uint16_t fd;
	uint16_t call;
	int32_t high; // of what lseek returned
};

struct thread {
	int32_t tid; // 0: free, -1: being taken
	uint32_t unused;
	uint64_t head;
	uint64_t tail; // the tracer's
	uint64_t handed_ns;
	uint64_t spare[4];
};

struct table {
	uint64_t magic;
	uint32_t enabled; // the tracer's
	uint32_t unused;
	uint64_t sample_due_ns; // the tracer's: from then on a write stops, and its data is looked at
	uint64_t spare[5];
	uint8_t released[DESCRIPTORS]; // the tracer's: 0, or how
	struct thread threads[THREADS];
};

_Static_assert(sizeof(struct note) == 64 && sizeof(struct thread) == 64, "the tracer reads them");
_Static_assert(offsetof(struct table, threads) == 64 + DESCRIPTORS, "the tracer reads it");
_Static_assert(sizeof(struct table) <= 15 * PAGE, "it lies before the rings");

extern ssize_t __read(int, void *, size_t) __attribute__((weak));
extern ssize_t __write(int, const void *, size_t) __attribute__((weak));
extern ssize_t __pread64(int, void *, size_t, off_t) __attribute__((weak));
extern ssize_t __pwrite64(int, const void *, size_t, off_t) __attribute__((weak));
extern off_t __lseek(int, off_t, int) __attribute__((weak));
extern void __chk_fail(void) __attribute__((weak, noreturn));
extern void pthread_testcancel(void) __attribute__((weak));

static int is_mapped;
static __thread struct thread *own __attribute__((tls_model("initial-exec")));

// Makes a call by the instruction that the filter lets pass.
static long through_gate(long call, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result = call;
	__asm__ volatile("call *%[gate]"
			 : "+a"(result)
			 : [gate] "r"(GATE), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

// Makes a call as any program does.
static long plainly(long call, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result = call;
	__asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return result;
}

static long answer(long result)
{
	if (result < 0 && result >= -4095) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
	struct table *table = (struct table *)TABLE;
	static const uint8_t gate[] = { 0x0f, 0x05, 0xc3 }; // syscall; ret

	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	void *at = mmap((void *)GATE, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (at != (void *)GATE) {
		// A kernel that does not know the flag places it elsewhere.
		if (at != MAP_FAILED)
			munmap(at, SIZE);
		return;
	}
	for (size_t place = 0; place < sizeof(gate); place++)
		((uint8_t *)GATE)[place] = gate[place];
	if (mprotect((void *)GATE, PAGE, PROT_READ | PROT_EXEC) != 0)
		return;
	table->magic = MAGIC;
	is_mapped = 1;
	// Without a tracer there is no such call, and nothing is noted.
	plainly(HAND_OVER, (long)MAGIC, (long)TABLE, 1, 0);
}

// Returns the notes of this thread with room for one, if the call is to be noted.
static struct thread *notes(int fd)
{
	struct table *table = (struct table *)TABLE;

	if (!is_mapped || (unsigned int)fd >= DESCRIPTORS)
		return NULL;
	if (!__atomic_load_n(&table->enabled, __ATOMIC_RELAXED) ||
	    !__atomic_load_n(&table->released[fd], __ATOMIC_ACQUIRE))
		return NULL;
	if (!own) {
		for (int place = 0; place < THREADS && !own; place++) {
			struct thread *thread = &table->threads[place];
			int32_t nobody = 0;

			if (__atomic_compare_exchange_n(&thread->tid, &nobody, -1, 0, __ATOMIC_ACQ_REL,
							__ATOMIC_RELAXED)) {
				own = thread;
				thread->handed_ns = now_ns();
				__atomic_store_n(&thread->tid, (int32_t)through_gate(SYS_gettid, 0, 0, 0, 0),
						 __ATOMIC_RELEASE);
			}
		}
		if (!own)
			return NULL;
	}
	// Signal handlers that note calls in between need some room, too.
	if (own->head - __atomic_load_n(&own->tail, __ATOMIC_ACQUIRE) >= NOTES - 16) {
		plainly(HAND_OVER, (long)MAGIC, (long)TABLE, 0, 0);
		if (own->head - __atomic_load_n(&own->tail, __ATOMIC_ACQUIRE) >= NOTES - 16)
			return NULL;
	}
	return own;
}

static uint32_t blocks_from_storage(void)
{
	struct rusage usage;

	return through_gate(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0) == 0 ? (uint32_t)usage.ru_inblock : 0;
}

static long position(int fd)
{
	return through_gate(SYS_lseek, fd, 0, 1 /* SEEK_CUR */, 0);
}

// Makes a call and notes it.
static long noted(struct thread *thread, uint16_t call, int fd, long second, size_t third, off_t offset)
{
	struct table *table = (struct table *)TABLE;
	struct note note = { .call = call, .fd = (uint16_t)fd, .requested = (uint32_t)third, .before = offset };
	int reads = call == SYS_read || call == SYS_pread64;
	int moves_position = call == SYS_read || call == SYS_write;
	uint64_t entered_ns = thread->head % SAMPLED == 0 ? now_ns() : 0;
	uint32_t before = reads ? blocks_from_storage() : 0;

	if (moves_position)
		note.before = position(fd);
	note.start_ns = now_ns();
	long result = through_gate(call, fd, second, (long)third, offset);
	note.end_ns = now_ns();
	if (moves_position)
		note.after = position(fd);
	if (reads)
		note.storage_blocks = blocks_from_storage() - before;
	if (entered_ns)
		note.noting_ns = (uint32_t)(note.start_ns - entered_ns);
	note.returned = (int32_t)result;
	note.high = (int32_t)(result >> 32);

	uint64_t number = __atomic_fetch_add(&thread->head, 1, __ATOMIC_ACQ_REL);
	struct note *place = (struct note *)RINGS + (size_t)(thread - table->threads) * NOTES + number % NOTES;

	__atomic_store_n(&place->number, 0, __ATOMIC_RELEASE);
	note.number = 0;
	*place = note;
	__atomic_store_n(&place->number, number + 1, __ATOMIC_RELEASE);
	if (note.end_ns - thread->handed_ns > WAIT_NS) {
		thread->handed_ns = note.end_ns;
		plainly(HAND_OVER, (long)MAGIC, (long)TABLE, 0, 0);
	}
	return answer(result);
}

static struct thread *of_data(int fd, size_t bytes, int writes)
{
	struct table *table = (struct table *)TABLE;

	// As in the C library, a thread ends here that another one cancelled.
	if (pthread_testcancel)
		pthread_testcancel();
	if (bytes > 0x7ffff000)
		return NULL;
	struct thread *thread = notes(fd);
	if (thread && writes && table->released[fd] == SAMPLED_DATA &&
	    now_ns() >= __atomic_load_n(&table->sample_due_ns, __ATOMIC_RELAXED))
		return NULL;
	return thread;
}

ssize_t read(int fd, void *data, size_t bytes)
{
	struct thread *thread = of_data(fd, bytes, 0);

	if (thread)
		return noted(thread, SYS_read, fd, (long)data, bytes, 0);
	return __read ? __read(fd, data, bytes) : answer(plainly(SYS_read, fd, (long)data, (long)bytes, 0));
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	struct thread *thread = of_data(fd, bytes, 1);

	if (thread)
		return noted(thread, SYS_write, fd, (long)data, bytes, 0);
	return __write ? __write(fd, data, bytes) : answer(plainly(SYS_write, fd, (long)data, (long)bytes, 0));
}

ssize_t pread64(int fd, void *data, size_t bytes, off_t offset)
{
	struct thread *thread = of_data(fd, bytes, 0);

	if (thread)
		return noted(thread, SYS_pread64, fd, (long)data, bytes, offset);
	return __pread64 ? __pread64(fd, data, bytes, offset) :
			   answer(plainly(SYS_pread64, fd, (long)data, (long)bytes, offset));
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off_t offset)
{
	struct thread *thread = of_data(fd, bytes, 1);

	if (thread)
		return noted(thread, SYS_pwrite64, fd, (long)data, bytes, offset);
	return __pwrite64 ? __pwrite64(fd, data, bytes, offset) :
			    answer(plainly(SYS_pwrite64, fd, (long)data, (long)bytes, offset));
}

off_t lseek64(int fd, off_t offset, int whence)
{
	struct thread *thread = notes(fd);

	if (thread)
		return noted(thread, SYS_lseek, fd, offset, (size_t)(unsigned int)whence, offset);
	return __lseek ? __lseek(fd, offset, whence) : answer(plainly(SYS_lseek, fd, offset, whence, 0));
}

static void check(size_t bytes, size_t room)
{
	if (bytes > room && __chk_fail)
		__chk_fail();
}

ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room)
{
	check(bytes, room);
	return read(fd, data, bytes);
}

ssize_t __pread64_chk(int fd, void *data, size_t bytes, off_t offset, size_t room)
{
	check(bytes, room);
	return pread64(fd, data, bytes, offset);
}

ssize_t pread(int, void *, size_t, off_t) __attribute__((alias("pread64")));
ssize_t pwrite(int, const void *, size_t, off_t) __attribute__((alias("pwrite64")));
off_t lseek(int, off_t, int) __attribute__((alias("lseek64")));
ssize_t __pread_chk(int, void *, size_t, off_t, size_t) __attribute__((alias("__pread64_chk")));
