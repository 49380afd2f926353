#!/bin/sh
# Makes the image of a USB stick: GPT with one FAT32 partition of the EFI system type. Needs no
# root.
#
# usage: make_image.sh IMAGE APPLICATION CONFIG README
#
# Everything that carries a date gets SOURCE_DATE_EPOCH's, and every identifier is fixed, so the
# same files give the same bytes. The identifiers need not differ between sticks: nothing looks for them.
set -eu

image=$1
application=$2
config=$3
readme=$4

# 512-byte sectors. 62 MiB with clusters of one sector are more than the 65,525 clusters below which
# a file system is FAT16, whatever it calls itself.
TOTAL_SECTORS=131072
FIRST_SECTOR=2048
SECTORS=126976
DISK_ID=49524f4e-4348-4153-4501-000000000001
PARTITION_ID=49524f4e-4348-4153-4501-000000000002
VOLUME_ID=49524f4e

export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-946684800}"
export TZ=UTC
# mtools checks the geometry of old disks otherwise.
export MTOOLS_SKIP_CHECK=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$application" "$work/BOOTX64.EFI"
# Lines end as every editor, old ones on Windows too, knows them.
sed 's/\r*$/\r/' "$config" >"$work/ironchase.cfg"
sed 's/\r*$/\r/' "$readme" >"$work/README.TXT"
touch -d "@$SOURCE_DATE_EPOCH" "$work"/*

new=$image.new
rm -f "$new"
truncate -s $((TOTAL_SECTORS * 512)) "$new"
sgdisk --disk-guid="$DISK_ID" --set-alignment=2048 \
    --new=1:$FIRST_SECTOR:$((FIRST_SECTOR + SECTORS - 1)) --typecode=1:ef00 \
    --partition-guid="1:$PARTITION_ID" --change-name=1:IRONCHASE "$new" >"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}

volume=$new@@$((FIRST_SECTOR * 512))
mformat -i "$volume" -F -c 1 -T $SECTORS -H $FIRST_SECTOR -h 255 -s 63 -N $VOLUME_ID \
    -v IRONCHASE ::
mmd -i "$volume" ::/EFI ::/EFI/BOOT
mcopy -i "$volume" -m "$work/BOOTX64.EFI" ::/EFI/BOOT/BOOTX64.EFI
mcopy -i "$volume" -m "$work/ironchase.cfg" ::/ironchase.cfg
mcopy -i "$volume" -m "$work/README.TXT" ::/README.TXT
mv "$new" "$image"
