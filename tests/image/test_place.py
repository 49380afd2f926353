"""The project builds wherever it lies."""

import os
import subprocess

import pytest


@pytest.mark.parametrize("name", ["new comer", "it's $HOME", 'a"b\\c'])
def test_folder_with_a_strange_name(root, build, tmp_path, name):
    """An object of each language; the C library is the one that is there."""
    place = tmp_path / name
    (place / "build").mkdir(parents=True)
    (place / "build/picolibc").symlink_to(build / "picolibc")
    for part in ("Makefile", "boot", "hw", "kernels", "console", "linker", "tests"):
        (place / part).symlink_to(root / part)
    objects = [f"build/efi/{min((root / 'hw').glob(kind)).relative_to(root)}.o"
               for kind in ("*.c", "*.S")]
    done = subprocess.run(["make", "-o", "build/picolibc/lib/libc.a", *objects], cwd=place,
                          check=False, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL,
                          env={key: value for key, value in os.environ.items()
                               if not key.startswith("MAKE") and key != "BUILD"})
    assert (done.returncode, done.stderr) == (0, "")
    assert all((place / path).stat().st_size for path in objects)
