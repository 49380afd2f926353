"""What is said on a machine that lacks something."""

import os
import shutil
import subprocess

import pytest

# The commands of a machine that has next to nothing.
BASIC = ["sh", "id", "cat", "mktemp", "rm", "tail", "env", "true"]


@pytest.fixture
def bare(tmp_path):
    """A folder of commands, to be the whole PATH."""
    for name in BASIC:
        (tmp_path / name).symlink_to(shutil.which(name))
    return tmp_path


def add(folder, name, script="exit 0"):
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def packages(root, folder, *arguments):
    return subprocess.run([root / "tests/packages.sh", *arguments], text=True, check=False,
                          capture_output=True, stdin=subprocess.DEVNULL,
                          env=os.environ | {"PATH": str(folder)})


def test_names_what_is_missing_in_one_line(root, bare):
    add(bare, "mcopy")
    done = packages(root, bare, "check", "image")
    assert done.returncode == 1
    assert done.stderr == "ironchase: please install (names as in Debian): gdisk\n"


def test_says_nothing_when_all_is_there(root, bare):
    add(bare, "mcopy")
    add(bare, "sgdisk")
    done = packages(root, bare, "check", "image")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_names_it_where_there_is_no_apt(root, bare):
    done = packages(root, bare, "install", "image")
    assert done.returncode == 1
    assert done.stderr == "ironchase: please install (names as in Debian): mtools gdisk\n"


def test_names_it_without_root_and_sudo(root, bare):
    add(bare, "apt-get", "echo called; exit 0")
    (bare / "id").unlink()
    add(bare, "id", "echo 1000")
    done = packages(root, bare, "install", "image")
    assert done.returncode == 1 and "called" not in done.stdout
    assert done.stderr == "ironchase: please install (names as in Debian): mtools gdisk\n"


@pytest.mark.parametrize("user", ["root", "sudo"])
def test_installs_only_what_is_missing(root, bare, user):
    """apt-get notes its arguments, and then the command is there."""
    add(bare, "mcopy")
    (bare / "id").unlink()
    add(bare, "id", f"echo {0 if user == 'root' else 1000}")
    if user == "sudo":
        add(bare, "sudo", f'[ "$1" = -n ] && shift; echo sudo >>{bare}/log; exec "$@"')
    (bare / "chmod").symlink_to(shutil.which("chmod"))
    add(bare, "apt-get", f"echo $@ >>{bare}/log\n"
                         f"[ $1 = update ] || {{ echo >{bare}/sgdisk; chmod +x {bare}/sgdisk; }}")
    done = packages(root, bare, "install", "image")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ironchase: installing gdisk\n"
    calls = (bare / "log").read_text().split("\n")
    assert [call for call in calls if call not in ("sudo", "true", "")] == [
        "update", "install --yes --no-install-recommends gdisk"]
    assert ("sudo" in calls) == (user == "sudo")


def test_says_so_when_the_installation_failed(root, bare):
    add(bare, "mcopy")
    add(bare, "apt-get", "echo no network; exit 1")
    done = packages(root, bare, "install", "image")
    assert done.returncode == 1
    assert done.stderr.endswith("ironchase: please install (names as in Debian): gdisk\n")
