#!/bin/sh
# The example of docs/compare.md: iozone's four passes on two disks, each seven times, side by side.
#
# Two loop devices over files of 1 GiB (direct I/O to them) stand for the disks, one with ext4, one with xfs. As root:
#   sh docs/compare.sh FOLDER        the runs and their comparison are left in FOLDER/runs
set -eu

folder=${1:?a folder on a disk with 3 GiB free}
runs=${2:-7}
size=${3:-512m}
mkdir -p "$folder/runs"
folder=$(cd "$folder" && pwd)

clean() {
    for fs in ext4 xfs; do
        mountpoint -q "$folder/$fs" && umount "$folder/$fs"
        device=$(losetup --noheadings --output NAME --associated "$folder/$fs.img")
        [ -n "$device" ] && losetup --detach "$device"
        rm -f "$folder/$fs.img"
        [ -d "$folder/$fs" ] && rmdir "$folder/$fs"
    done
    return 0
}
trap clean EXIT

for fs in ext4 xfs; do
    # Written once before, so that no run pays for the first allocation of the file's blocks.
    dd if=/dev/zero of="$folder/$fs.img" bs=1M count=1024 conv=fsync status=none
    mkfs."$fs" -q "$folder/$fs.img"
    mkdir -p "$folder/$fs"
    mount "$(losetup --find --show --direct-io=on "$folder/$fs.img")" "$folder/$fs"
done
for fs in ext4 xfs; do
    sync
    # iozone's file lies in the working directory: the command is the same one on both disks.
    cd "$folder/$fs"
    activebench verify --quiet --repeat "$runs" --out "$folder/runs/$fs" --format markdown="$folder/runs/$fs.md" \
        -- iozone -i0 -i1 -s"$size" -r1m -e -c -I ||
        echo "the series on $fs ended with exit code $?"
    cd "$folder"
done
# And once as it is mostly run: through the page cache, without a sync inside the clock.
cd "$folder/ext4"
activebench verify --quiet --out "$folder/runs/as-usual" --format json="$folder/runs/as-usual.json" \
    -- iozone -i0 -i1 -s"$size" -r1m || echo "the run through the page cache ended with exit code $?"
cd "$folder"
activebench compare runs/ext4 runs/xfs
activebench compare runs/ext4 runs/as-usual
activebench compare runs/ext4 runs/xfs --format markdown=runs/compare.md --format json=runs/compare.json
