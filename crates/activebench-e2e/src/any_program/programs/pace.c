/* Reads and writes random blocks of a file past the page cache. FILE BLOCK COUNT FORM. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void truth(const char *text, const char *metric, double value, const char *way, long block, long count,
                  uint64_t start, uint64_t end) {
    fprintf(stderr, "#truth_%s_%s_%.3f_%s_%ld_%ld_%llu_%llu\n", text, metric, value, way, block * count, count,
            (unsigned long long)start, (unsigned long long)end);
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    long block = atol(argv[2]), count = atol(argv[3]);
    const char *form = argv[4];
    char *buffer;
    if (posix_memalign((void **)&buffer, 4096, (size_t)block)) return 1;
    for (long i = 0; i < block; i++) buffer[i] = (char)rand();
    int fd = open(argv[1], O_RDWR | O_CREAT | O_DIRECT, 0644);
    if (fd < 0) return 1;
    if (!strcmp(form, "csv")) printf("name;write MB/s;write IOPS\n");
    for (int pass = 0; pass < 2; pass++) {
        const char *way = pass ? "read" : "write";
        if (pass && !strcmp(form, "csv")) printf("\nname;read MB/s;read IOPS\n");
        uint64_t start = now();
        for (long i = 0; i < count; i++) {
            off_t at = (pass ? rand() % count : i) * block;
            ssize_t moved = pass ? pread(fd, buffer, (size_t)block, at) : pwrite(fd, buffer, (size_t)block, at);
            if (moved != block) return 1;
        }
        if (!pass && fdatasync(fd)) return 1;
        uint64_t end = now();
        double seconds = (double)(end - start) / 1e9, bytes = (double)block * (double)count;
        char rate[32], ops[32];
        if (!strcmp(form, "kib")) {
            snprintf(rate, sizeof rate, "%.0f", bytes / 1024 / seconds);
            printf("Average %s rate = %s KiB per second\n", way, rate);
            truth(rate, "throughput", bytes / seconds, way, block, count, start, end);
        } else if (!strcmp(form, "iops")) {
            snprintf(ops, sizeof ops, "%.2f", (double)count / seconds / 1e3);
            snprintf(rate, sizeof rate, "%.2f", bytes / 1048576 / seconds);
            printf("rand%s: iops=%sk bw=%sMiB/s\n", way, ops, rate);
            truth(ops, "operation-rate", (double)count / seconds, way, block, count, start, end);
            truth(rate, "throughput", bytes / seconds, way, block, count, start, end);
        } else {
            snprintf(rate, sizeof rate, "%.3f", bytes / 1e6 / seconds);
            snprintf(ops, sizeof ops, "%.2f", (double)count / seconds);
            printf("pace;%s;%s\n", rate, ops);
            truth(rate, "throughput", bytes / seconds, way, block, count, start, end);
            truth(ops, "operation-rate", (double)count / seconds, way, block, count, start, end);
        }
        fflush(stdout);
    }
    return 0;
}
