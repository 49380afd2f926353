"""Writing a stick: on a made-up machine, what must not be overwritten is refused."""

import os
import subprocess

import pytest

MOUNTS = """\
22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw
30 22 0:5 / /dev rw shared:2 - devtmpfs udev rw
"""


def old_content(image_size):
    return "old" * image_size


class FakeMachine:
    """A folder that looks like the root of a machine with one stick, /dev/sdb with /dev/sdb1."""

    def __init__(self, root, image_size):
        self.root = root
        self.block = root / "sys/class/block/sdb"
        (self.block / "holders").mkdir(parents=True)
        (self.block / "sdb1/holders").mkdir(parents=True)
        self.stick = root / "dev/sdb"
        self.put("dev/sdb", old_content(image_size))
        self.put("dev/sdb1", "")
        self.put("sys/class/block/sdb/removable", "1\n")
        self.put("sys/class/block/sdb/ro", "0\n")
        self.put("sys/class/block/sdb/size", f"{image_size // 512 + 8}\n")
        self.put("sys/class/block/sdb/dev", "8:16\n")
        self.put("sys/class/block/sdb/sdb1/dev", "8:17\n")
        self.put("sys/class/block/sdb1/partition", "1\n")
        self.put("proc/self/mountinfo", MOUNTS)
        self.put("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n")

    def put(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)


@pytest.fixture
def small_image(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(os.urandom(8192))
    return path


@pytest.fixture
def fake(tmp_path, small_image):
    return FakeMachine(tmp_path / "machine", small_image.stat().st_size)


def write(root, fake, image, *device):
    return subprocess.run([root / "linker/write_usb.sh", image, *device], text=True, check=False,
                          capture_output=True, env=os.environ | {"SYSTEM_ROOT": str(fake.root)})


def test_writes_a_removable_disk_that_nobody_uses(root, fake, small_image):
    done = write(root, fake, small_image, "/dev/sdb")
    assert done.returncode == 0, done.stderr
    image = small_image.read_bytes()
    assert fake.stick.read_bytes() == image + old_content(len(image)).encode()[len(image):]


def fixed_disk(fake):
    fake.put("sys/class/block/sdb/removable", "0\n")


def write_protected(fake):
    fake.put("sys/class/block/sdb/ro", "1\n")


def too_small(fake):
    fake.put("sys/class/block/sdb/size", "8\n")


def disk_mounted(fake):
    fake.put("proc/self/mountinfo", MOUNTS + "40 22 8:16 / /mnt rw - vfat /dev/sdb rw\n")


def partition_mounted(fake):
    fake.put("proc/self/mountinfo",
             MOUNTS + "40 22 8:17 / /media/stick rw,nosuid shared:9 master:1 - vfat LABEL rw\n")


def mounted_without_number(fake):
    """Btrfs mounts have a number that is no disk's."""
    fake.put("proc/self/mountinfo", MOUNTS + "40 22 0:44 / /data rw - btrfs /dev/sdb1 rw\n")


def held(fake):
    fake.put("sys/class/block/sdb/sdb1/holders/dm-0", "")


def swapped(fake):
    fake.put("proc/swaps", "Filename\tType\n/dev/sdb1 partition 1 0 -2\n")


@pytest.mark.parametrize("change, reason", [
    (fixed_disk, "/dev/sdb is not removable"),
    (write_protected, "/dev/sdb is write-protected"),
    (too_small, "/dev/sdb is smaller than the image"),
    (disk_mounted, "/dev/sdb is mounted at /mnt"),
    (partition_mounted, "/dev/sdb is mounted at /media/stick"),
    (mounted_without_number, "/dev/sdb is mounted at /data"),
    (held, "/dev/sdb is in use by dm-0"),
    (swapped, "/dev/sdb is in use as swap"),
])
def test_refuses(root, fake, small_image, change, reason):
    change(fake)
    before = fake.stick.read_bytes()
    done = write(root, fake, small_image, "/dev/sdb")
    assert done.returncode == 1 and done.stderr == f"make usb: {reason}\n"
    assert fake.stick.read_bytes() == before


@pytest.mark.parametrize("device, reason", [
    ([], "name the stick"),
    (["/dev/sdb1"], "/dev/sdb1 is a partition: name the whole disk"),
    (["/dev/sdz"], "/dev/sdz does not exist"),
    (["/proc/swaps"], "/proc/swaps is not a disk"),
])
def test_refuses_what_is_no_disk(root, fake, small_image, device, reason):
    before = fake.stick.read_bytes()
    done = write(root, fake, small_image, *device)
    assert done.returncode == 1 and done.stderr.startswith(f"make usb: {reason}")
    assert done.stderr.count("\n") == 1 and fake.stick.read_bytes() == before
