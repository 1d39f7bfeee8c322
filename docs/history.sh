#!/bin/sh
# Makes the runs of history.md in a new folder and follows them: six loop devices with ext4 as the disks of a batch. Their
# control group holds five of them to 64 MiB/s and the last one to 32, and later the first one to 48. Needs root, fio and
# cgroup v1.
#
#   sh docs/history.sh FOLDER [ACTIVEBENCH]
set -eu
folder=$1
activebench=${2:-activebench}
mkdir "$folder"
folder=$(realpath "$folder")
group=/sys/fs/cgroup/blkio/activebench-history
mkdir -p "$group"
clean() {
    for disk in 1 2 3 4 5 6; do
        umount "$folder/mnt$disk" 2>/dev/null || true
    done
    rmdir "$group" 2>/dev/null || true
}
trap clean EXIT

for disk in 1 2 3 4 5 6; do
    truncate -s 256M "$folder/disk$disk.img"
    mkfs.ext4 -q "$folder/disk$disk.img"
    mkdir "$folder/mnt$disk"
    device=$(losetup --find --show --direct-io=on "$folder/disk$disk.img")
    mount -o noatime "$device" "$folder/mnt$disk"
    # Gone when it is unmounted.
    losetup --detach "$device"
    dd if=/dev/urandom of="$folder/mnt$disk/file" bs=1M count=64 conv=fsync status=none
done

# run DISK NUMBER FOLDER [BYTES_PER_SECOND]
run() {
    major_minor=$(mountpoint --fs-devno "$folder/mnt$1")
    echo "$major_minor ${4:-0}" > "$group/blkio.throttle.read_bps_device"
    # Its exit code is that of the verdict; history tells the verdicts.
    sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" \
        "$activebench" verify --quiet --out "$folder/$3/disk$1-$2" -- \
        fio --name=read --rw=read --bs=1m --size=64m --direct=1 --filename="$folder/mnt$1/file" > /dev/null || true
    echo "$major_minor 0" > "$group/blkio.throttle.read_bps_device"
}
for number in 1 2 3 4 5 6; do
    for disk in 1 2 3 4 5; do
        run "$disk" "$number" delivered 67108864
    done
    run 6 "$number" delivered 33554432
done
for number in 1 2 3 4 5 6; do
    run 1 "$number" later 50331648
done

cd "$folder"
# activebench sees the limits, so that there is no honest figure of the device: what was printed is followed.
echo '$ activebench history delivered --claimed --figure read-read:throughput --by device'
"$activebench" history delivered --claimed --figure read-read:throughput --by device
echo '$ activebench history delivered later --claimed --figure read-read:throughput --baseline delivered --fail-on-regression 5'
"$activebench" history delivered later --claimed --figure read-read:throughput --baseline delivered \
    --fail-on-regression 5 || echo "exit code $?"
