"""The sources pass every check, and the checks of our own find what they are there for."""

import includes
import lint
import pytest


@pytest.mark.parametrize("name", lint.CHECKS)
def test_sources_pass(name, build):
    found = lint.CHECKS[name](build)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path, text, allowed", [
    ("hw/a.c", '#include "hw/insn.h"', True),
    ("hw/a.c", '#include "kernels/bench.h"', False),
    ("hw/a.c", '#include <efi.h>', False),
    ("hw/a.c", '#include "insn.h"', False),
    ("hw/a.c", '#include <hw/insn.h>', False),
    ("hw/a.c", '#include "../hw/insn.h"', False),
    ("kernels/a.c", '#include "hw/machine.h"', True),
    ("kernels/a.c", '#include "hw/insn.h"', False),
    ("kernels/a.c", '#include "console/sink.h"', False),
    ("kernels/a.c", '#include <stdint.h>', True),
    ("console/a.c", '#include "kernels/result.h"', True),
    ("console/a.c", '#include "boot/plan.h"', False),
    ("boot/a.c", '#include "console/sink.h"', True),
    ("boot/a.c", '#include "version.h"', True),
    ("kernels/a.c", '#include "version.h"', False),
    ("boot/a.c", '  #  include <efi.h>', False),
    ("boot/a.c", '#include <efilib.h>', False),
    ("boot/a.c", '#include "boot/uefi/volume.h"', False),
    ("boot/uefi/a.c", '#include <efi.h>', True),
    ("boot/uefi/a.c", '#include "boot/plan.h"', True),
    ("tests/unit/a.c", '#include "tests/fakes/port.h"', True),
    ("hw/a.c", '#include "tests/fakes/port.h"', False),
])
def test_include_rule(path, text, allowed):
    (_, quoted, target), = includes.includes(text)
    assert (includes.check_include(path, quoted, target) is None) == allowed


def test_cycle_is_found(tmp_path):
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/a.h").write_text('#include "hw/b.h"\n')
    (tmp_path / "hw/b.h").write_text('#include "hw/a.h"\n')
    assert any("includes itself" in text for text in includes.check(tmp_path))


def test_missing_header_is_found(tmp_path):
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/a.c").write_text('#include "hw/gone.h"\n')
    assert list(includes.check(tmp_path)) == ["hw/a.c:1: includes hw/gone.h: does not exist"]
