"""What is said when the C library cannot be built."""

import os
import subprocess

import pytest


@pytest.mark.parametrize("exists", [False, True])
def test_wrong_source_tree_is_named(root, tmp_path, exists):
    """In one line, and before what was built earlier is removed."""
    source = tmp_path / "a source"
    if exists:
        source.mkdir()
    library = tmp_path / "picolibc/lib/libc.a"
    library.parent.mkdir(parents=True)
    library.write_text("built earlier")
    done = subprocess.run([root / "linker/picolibc.sh", tmp_path, "gcc", "-Os"], check=False,
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env=os.environ | {"PICOLIBC_SRC": str(source)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"picolibc: PICOLIBC_SRC={source} is not a source tree: "
                           "it has no meson.build\n")
    assert library.read_text() == "built earlier"
