"""The layers again, in the compiled objects: who calls whom, whatever the headers say."""

import re
import subprocess
from pathlib import Path

import pytest

LAYERS = ["hw", "kernels", "console", "boot", "boot/uefi"]
# Whose symbols a layer may use besides those of the C library.
MAY_USE = {"hw": {"hw"}, "kernels": {"kernels"}, "console": {"console", "kernels", "hw"},
           "boot": {"boot", "console", "kernels", "hw"}, "boot/uefi": set(LAYERS)}
# What a linker, not an object, defines.
LINKER_SYMBOLS = {"_GLOBAL_OFFSET_TABLE_"}


def symbols(objects):
    """(defined, used) names of some object files."""
    done = subprocess.run(["nm", *objects], check=True, text=True, capture_output=True)
    defined, used = set(), set()
    for kind, name in re.findall(r"^[0-9a-f ]{16} ([A-Za-z]) (\S+)$", done.stdout, re.MULTILINE):
        if kind == "U":
            used.add(name)
        elif kind.isupper() or kind in "vw":
            defined.add(name)
    return defined, used


def objects_of(folder, layer):
    return sorted((folder / layer).glob("*.o"))


def misplaced(objects_by_layer):
    """Uses of symbols that a layer's rule does not allow, as text."""
    known = {layer: symbols(objects) for layer, objects in objects_by_layer.items() if objects}
    owner = {name: layer for layer, (defined, _) in known.items() for name in defined}
    return [f"{layer} uses {name} of {owner[name]}" for layer, (_, used) in known.items()
            for name in sorted(used) if name in owner and owner[name] not in MAY_USE[layer]]


def test_image_calls_downwards_only(build):
    objects = {layer: objects_of(build / "efi", layer) for layer in LAYERS}
    assert all(objects.values()), "a layer has no objects"
    assert not misplaced(objects)


def library_symbols():
    """What the C library of this machine offers, and the compiler's own."""
    path = subprocess.run(["gcc", "-print-libgcc-file-name"], check=True, text=True,
                          capture_output=True).stdout.strip()
    names, _ = symbols([path])
    for library in ("libc.so.6", "libm.so.6"):
        path = subprocess.run(["gcc", f"-print-file-name={library}"], check=True, text=True,
                              capture_output=True).stdout.strip()
        done = subprocess.run(["nm", "-D", "--defined-only", path], check=True, text=True,
                              capture_output=True)
        names |= set(re.findall(r" [A-Za-z] ([^@\s]+)", done.stdout))
    return names


def test_everything_else_links_on_the_host(build, root):
    """What a host program lacks of the bare machine, tests/fakes/ has."""
    folder = build / "model"
    portable = [path for layer in LAYERS[:-1] for path in objects_of(folder, layer)]
    fakes = sorted((folder / "tests/fakes").glob("*.o"))
    sources = [path for layer in LAYERS[:-1] for path in Path(root / layer).glob("*.c")]
    assert len(portable) >= len(sources) > 0
    _, used = symbols(portable)
    defined, _ = symbols(portable + fakes)
    missing = used - defined - library_symbols() - LINKER_SYMBOLS
    assert not missing


@pytest.mark.parametrize("layer, allowed", [("hw", False), ("console", True)])
def test_a_call_is_noticed(tmp_path, layer, allowed):
    (tmp_path / "lower.c").write_text("int lower(void) { return 1; }")
    (tmp_path / "caller.c").write_text("int lower(void); int caller(void) { return lower(); }")
    subprocess.run(["gcc", "-c", "lower.c", "caller.c"], cwd=tmp_path, check=True)
    found = misplaced({"kernels": [tmp_path / "lower.o"], layer: [tmp_path / "caller.o"]})
    assert found == ([] if allowed else [f"{layer} uses lower of kernels"])
