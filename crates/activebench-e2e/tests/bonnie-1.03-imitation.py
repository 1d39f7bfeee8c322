#!/usr/bin/env python3
"""Makes the calls of `bonnie++ 1.03 -s 256 -n 0 -f -q` and prints its row: 1.03 itself is no longer
packaged. No sync anywhere, seekers are processes; unlike 1.03 it prints rates of short tests too."""

import os
import random
import time

CHUNK = 8192
CHUNKS = 256 * 1024 * 1024 // CHUNK
SEEKS, SEEKERS = 8192, 3
NAME = f"Bonnie.{os.getpid()}.000"
DATA = bytes(CHUNK)


def reopen(flags=0):
    return os.open(NAME, os.O_RDWR | flags, 0o600)


def timed(file, work):
    begun, used = time.monotonic(), time.process_time()
    for _ in range(CHUNKS):
        work(file)
    os.close(file)
    elapsed, used = time.monotonic() - begun, time.process_time() - used
    return f"{int(CHUNKS * CHUNK / 1024 / elapsed)},{int(100 * used / elapsed)}"


def rewrite(file):
    os.read(file, CHUNK)
    os.lseek(file, -CHUNK, os.SEEK_CUR)
    os.write(file, DATA)


def seeker(seeks, report):
    file = reopen()
    time.sleep(1)
    begun, used = time.monotonic(), time.process_time()
    for _ in range(seeks):
        os.lseek(file, random.randrange(CHUNKS) * CHUNK, os.SEEK_SET)
        os.read(file, CHUNK)
    os.close(file)
    os.write(report, f"{begun} {time.monotonic()} {time.process_time() - used}\n".encode())
    os._exit(0)


put_block = timed(reopen(os.O_CREAT | os.O_EXCL), lambda file: os.write(file, DATA))
rewritten = timed(reopen(), rewrite)
get_block = timed(reopen(), lambda file: os.read(file, CHUNK))
results, report = os.pipe()
shares = [SEEKS // SEEKERS + (1 if number < SEEKS % SEEKERS else 0) for number in range(SEEKERS)]
for pid in [os.fork() or seeker(share, report) for share in shares]:
    os.waitpid(pid, 0)
os.close(report)
times = [[float(word) for word in line.split()] for line in os.fdopen(results).read().splitlines()]
elapsed = max(end for _, end, _ in times) - min(begun for begun, _, _ in times)
seeks = f"{SEEKS / elapsed:.1f},{int(100 * sum(used for _, _, used in times) / elapsed)}"
os.unlink(NAME)
print(f"testhost,256M,,,{put_block},{rewritten},,,{get_block},{seeks}" + "," * 13)
