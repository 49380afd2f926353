#!/bin/sh
# Writes the image to a USB stick, and reads it back.
#
# usage: write_usb.sh IMAGE /dev/sdX
#
# Refuses, in one line and before anything is written, what is not a whole removable disk, what is
# mounted or otherwise in use, and what is too small. A test sets SYSTEM_ROOT to a made-up machine.
set -eu

image=$1
device=${2:-}
root=${SYSTEM_ROOT:-}

refuse() {
    echo "make usb: $1" >&2
    exit 1
}

[ -n "$device" ] || refuse "name the stick, as in: make usb DEV=/dev/sdX (lsblk lists the disks)"
[ -e "$root$device" ] || refuse "$device does not exist"
[ -n "$root" ] || device=$(readlink -f "$device")
name=${device#/dev/}
block=$root/sys/class/block/$name
case $name in
*/*) refuse "$device is not a disk" ;;
esac
[ -d "$block" ] || refuse "$device is not a disk"
[ ! -e "$block/partition" ] || refuse "$device is a partition: name the whole disk"
[ -n "$root" ] || [ -b "$device" ] || refuse "$device is not a block device"
[ "$(cat "$block/removable")" = 1 ] || refuse "$device is not removable"
[ "$(cat "$block/ro")" = 0 ] || refuse "$device is write-protected"

# The numbers (major:minor) of the disk and of its partitions.
numbers=" $(cat "$block/dev" "$block/$name"*/dev 2>/dev/null | tr '\n' ' ')"

# mountinfo: 3 = major:minor, 5 = mount point, and the source stands second after the lone dash.
mounted=$(awk -v numbers="$numbers" -v device="$device" '{
    source = ""
    for (i = 7; i < NF; i++) if ($i == "-") source = $(i + 2)
    if (index(numbers, " " $3 " ") || index(source, device) == 1) { print $5; exit }
}' "$root/proc/self/mountinfo")
[ -z "$mounted" ] || refuse "$device is mounted at $mounted"
for holder in "$block"/holders/* "$block/$name"*/holders/*; do
    [ ! -e "$holder" ] || refuse "$device is in use by ${holder##*/}"
done
if awk -v device="$device" 'index($1, device) == 1 { found = 1 } END { exit !found }' \
    "$root/proc/swaps"; then
    refuse "$device is in use as swap"
fi

bytes=$(wc -c <"$image")
[ $(($(cat "$block/size") * 512)) -ge "$bytes" ] || refuse "$device is smaller than the image"
[ -w "$root$device" ] || refuse "$device cannot be written by you: run it as root, or with sudo"

dd if="$image" of="$root$device" bs=1M conv=fsync,notrunc status=none ||
    refuse "writing $device failed"
# What is read back shall come from the stick, not from the cache.
[ -n "$root" ] || blockdev --flushbufs "$device" 2>/dev/null || true
cmp -s -n "$bytes" "$image" "$root$device" || refuse "$device does not hold what was written to it"
[ -n "$root" ] || blockdev --rereadpt "$device" 2>/dev/null || true
echo "make usb: $device is written and verified; it can be removed"
