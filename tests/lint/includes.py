"""Which file may include which: the layers of the project.

hw/ stands on nothing, kernels/ on itself and the plain facts of hw/machine.h, console/ on both,
boot/ on everything; only boot/uefi/ knows UEFI's headers; nothing but boot/ and tests/ includes
boot/.
Includes of the project's own are written from its root.
"""

import re
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
UEFI_HEADER = re.compile(r"(efi\w*|lib)\.h$|(protocol|x86_64)/")
LAYERS = {"hw": ["hw/"], "kernels": ["kernels/", "hw/machine.h"],
          "console": ["console/", "kernels/", "hw/"],
          "boot": ["boot/", "console/", "kernels/", "hw/"],
          "tests": ["tests/", "boot/", "console/", "kernels/", "hw/"]}
OWN_FOLDERS = set(LAYERS) | {"linker"}
GENERATED = {"version.h"}


def includes(text):
    """(line number, is written with quotes, path) of each include."""
    for found in INCLUDE.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1] == '"', found[2]


def check_include(path, quoted, target):
    """Why the file `path` must not include `target`, or None."""
    layer = path.split("/")[0]
    if UEFI_HEADER.match(target) and not quoted:
        allowed = path.startswith("boot/uefi/") or path.startswith("tests/")
        return None if allowed else "only boot/uefi/ may know UEFI"
    if not quoted:
        return "a header of the project stands in quotes" if (
            target.split("/")[0] in OWN_FOLDERS) else None
    if target in GENERATED:
        return None if layer in ("boot", "tests") else "only boot/ knows the version"
    if target.split("/")[0] not in OWN_FOLDERS:
        return "is not written from the project's root"
    if not any(target.startswith(prefix) for prefix in LAYERS[layer]):
        return f"{layer}/ must not include it"
    if target.startswith("boot/uefi/") and not path.startswith(("boot/uefi/", "tests/")):
        return "boot/ outside boot/uefi/ is plain C"
    return None


def sources(root):
    for layer in LAYERS:
        for pattern in ("*.c", "*.h", "*.S"):
            yield from sorted((Path(root) / layer).rglob(pattern))


def check(root):
    """Every include that breaks a rule, as text."""
    root = Path(root)
    for file in sources(root):
        path = str(file.relative_to(root))
        for line, quoted, target in includes(file.read_text(encoding="utf-8")):
            why = check_include(path, quoted, target)
            if not why and quoted and target not in GENERATED and not (root / target).exists():
                why = "does not exist"
            if why:
                yield f"{path}:{line}: includes {target}: {why}"
    yield from find_cycles(root)


def find_cycles(root):
    """Headers that include themselves over others."""
    graph = {}
    for file in sources(root):
        if file.suffix == ".h":
            text = file.read_text(encoding="utf-8")
            graph[str(file.relative_to(root))] = [
                target for _, quoted, target in includes(text) if quoted]
    done = set()

    def walk(header, way):
        if header in way:
            yield f"{header}: includes itself over {' -> '.join(way[way.index(header):])}"
        elif header in graph and header not in done:
            for target in graph[header]:
                yield from walk(target, way + [header])
            done.add(header)

    for header in graph:
        yield from walk(header, [])
