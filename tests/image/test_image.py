"""The image of the stick: its partition, its files, and the same bytes for the same commit."""

import os
import re
import shutil
import struct
import subprocess
import uuid
import zlib

import pytest
from machine import PARTITION_OFFSET, Stick

EFI_SYSTEM_PARTITION = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
SECTOR = 512
SMALLEST_FAT32 = 65525


@pytest.fixture(scope="module")
def data(image):
    return image.read_bytes()


@pytest.fixture(scope="module")
def stick(image):
    return Stick(image)


def partition_table(data, header_at):
    header = data[header_at:header_at + SECTOR]
    assert header[:8] == b"EFI PART"
    size, crc = struct.unpack_from("<II", header, 12)
    assert crc == zlib.crc32(header[:16] + bytes(4) + header[20:size])
    entries_at, count, entry_size, entries_crc = struct.unpack_from("<QIII", header, 72)
    entries = data[entries_at * SECTOR:][:count * entry_size]
    assert entries_crc == zlib.crc32(entries)
    return [entries[at:at + entry_size] for at in range(0, len(entries), entry_size)
            if any(entries[at:at + 16])]


@pytest.mark.parametrize("at", [SECTOR, -SECTOR], ids=["primary", "backup"])
def test_one_efi_system_partition(data, at):
    (entry,) = partition_table(data, at % len(data))
    first, last = struct.unpack_from("<QQ", entry, 32)
    assert uuid.UUID(bytes_le=entry[:16]) == EFI_SYSTEM_PARTITION
    assert first * SECTOR == PARTITION_OFFSET and last * SECTOR < len(data)


def test_file_system_is_fat32_by_its_clusters(data):
    boot = data[PARTITION_OFFSET:PARTITION_OFFSET + SECTOR]
    sector, per_cluster, reserved, fats = struct.unpack_from("<HBHB", boot, 11)
    hidden, total, fat_sectors = struct.unpack_from("<III", boot, 28)
    clusters = (total - reserved - fats * fat_sectors) // per_cluster
    assert sector == SECTOR and clusters >= SMALLEST_FAT32
    assert hidden * SECTOR == PARTITION_OFFSET and boot[82:90] == b"FAT32   "
    (entry,) = partition_table(data, SECTOR)
    first, last = struct.unpack_from("<QQ", entry, 32)
    assert total == last - first + 1


def test_files(stick, build, root):
    assert stick.names() == ["EFI", "README.TXT", "ironchase.cfg"]
    assert stick.names("EFI/BOOT") == ["BOOTX64.EFI"]
    assert stick.read("EFI/BOOT/BOOTX64.EFI") == (build / "ironchase.efi").read_bytes()
    for name in ("ironchase.cfg", "README.TXT"):
        lines = (root / "boot" / name).read_bytes().split(b"\n")
        assert stick.read(name) == b"\r\n".join(lines)


def test_texts_open_well_in_any_editor(stick):
    """Lines that Windows' and every other editor shows, in characters that need no encoding."""
    for name in ("README.TXT", "ironchase.cfg"):
        text = stick.read(name).decode("ascii")
        assert text.count("\n") == text.count("\r\n") and text.endswith("\r\n"), name
        assert max(map(len, text.split("\r\n"))) <= 100, name


def copy_sources(root, target):
    """The project as it stands, without what was made from it."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=root, check=True, text=True, capture_output=True).stdout
    for name in listed.split("\n"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, target / name)


def test_same_commit_same_bytes(root, build, image, tmp_path):
    """Built again in another folder, at another time, with picolibc from a source tree."""
    other = tmp_path / "elsewhere"
    copy_sources(root, other)
    text = (build / "generated/version.h").read_text(encoding="utf-8")
    commit = re.search(r'IRONCHASE_COMMIT "(.*)"', text)[1]
    date = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=root, check=True, text=True,
        capture_output=True).stdout.strip()
    source = build / "picolibc-build/wheel/pythondata_software_picolibc/data"
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    subprocess.run(["make", "image", f"COMMIT={commit}", f"PICOLIBC_SRC={source}"], cwd=other,
                   check=True, env=environment | {"SOURCE_DATE_EPOCH": date}, timeout=600,
                   stdout=subprocess.DEVNULL)
    for name in ("ironchase.efi", "ironchase.img"):
        assert (other / "build" / name).read_bytes() == (build / name).read_bytes(), name
