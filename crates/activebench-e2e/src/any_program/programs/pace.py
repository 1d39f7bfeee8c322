"""Writes and reads a file, and prints the rates in one of several forms. FILE BLOCK COUNT FORM."""
import json
import os
import sys
import time

name, block, count, form = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
data = os.urandom(block)
total = block * count
now = time.monotonic_ns


def write():
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    start = now()
    for _ in range(count):
        os.write(fd, data)
    os.fsync(fd)
    end = now()
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    return start, end


def read():
    start = now()
    fd = os.open(name, os.O_RDONLY)
    while os.read(fd, block):
        pass
    os.close(fd)
    return start, now()


def truth(text, metric, value, direction, span):
    # The read that returns nothing is a call, too.
    calls = count + (direction == "read")
    print("#truth", text, metric, value, direction, total, calls, *span, sep="_", file=sys.stderr)


passes = [("write", write())]
if form != "write-only":
    passes.append(("read", read()))
spans = dict(passes)
seconds = {way: (span[1] - span[0]) / 1e9 for way, span in passes}
rate = {way: total / seconds[way] for way in seconds}
if form == "json":
    shown = {way: round(rate[way] / 1e6, 2) for way in rate}
    report = {way: {"bytes": total, "seconds": round(seconds[way], 6), "mb_per_s": shown[way]} for way in rate}
    print(json.dumps(report, indent=2))
    for way in rate:
        truth(shown[way], "throughput", rate[way], way, spans[way])
elif form == "table":
    print("test        MiB/s      ops/s")
    print("------------------------------")
    for way in rate:
        mib, ops = f"{rate[way] / 2**20:.2f}", f"{count / seconds[way]:.1f}"
        print(f"{way:<8}{mib:>9}{ops:>11}")
        truth(mib, "throughput", rate[way], way, spans[way])
        truth(ops, "operation-rate", count / seconds[way], way, spans[way])
elif form == "sentence":
    for way in rate:
        mb = f"{rate[way] / 1e6:.1f}"
        print(f"{way.capitalize()}: {total / 1e6:.1f} MB moved in {seconds[way]:.3f} seconds, that is {mb} MB/s")
        truth(mb, "throughput", rate[way], way, spans[way])
else:
    ops, us = f"{count / seconds['write']:.1f}", f"{seconds['write'] * 1e6 / count:.2f}"
    print(f"{count} writes: {ops} writes/s, {us} us/op")
    truth(ops, "operation-rate", count / seconds["write"], "write", spans["write"])
    truth(us, "time-per-operation", seconds["write"] * 1e9 / count, "write", spans["write"])
