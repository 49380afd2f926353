"""Settings from the file, from SMBIOS and from load options, right and wrong, and sticks that cannot
be written to."""

import pytest
from conftest import SMALL, UNATTENDED
from machine import FAILURE

CONFIG = "ironchase.cfg"
PLAIN = "\n".join([*UNATTENDED, *SMALL, "name = from the file"]) + "\n"


def config(data):
    return lambda stick: stick.write(CONFIG, data)


def shell(*arguments):
    """The firmware's shell starts the program instead of the boot manager."""
    def prepare(stick):
        stick.write("startup.nsh", "fs0:\r\n\\ironchase.efi " + " ".join(arguments) + "\r\n")
        stick.write("ironchase.efi", stick.read("EFI/BOOT/BOOTX64.EFI"))
        stick.remove("EFI/BOOT/BOOTX64.EFI")
    return prepare


@pytest.mark.parametrize("data", [
    pytest.param(PLAIN, id="plain"),
    pytest.param(b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode(), id="notepad-utf8"),
    pytest.param(PLAIN.replace("\n", "\r\n").encode("utf-16"), id="notepad-unicode"),
])
def test_file(boot, data):
    results = boot(base=(), prepare=config(data)).results()
    assert results["name"] == "from the file"
    assert results["settings"]["name"]["source"].startswith("ironchase.cfg:")


def test_missing_file_is_a_default_run(boot):
    results = boot(prepare=lambda stick: stick.remove(CONFIG)).results()
    assert results["settings"]["seed"] == {"value": "1", "source": "default"}


def test_smbios_wins_over_the_file(boot):
    results = boot(["name=from SMBIOS"], prepare=config(PLAIN)).results()
    assert results["name"] == "from SMBIOS"
    assert results["settings"]["name"]["source"] == "SMBIOS"


def test_load_options_win_over_smbios(boot):
    results = boot(["name=from SMBIOS"], prepare=shell("name=options")).results()
    assert results["name"] == "options"
    assert results["settings"]["name"]["source"] == "load options"


@pytest.mark.parametrize("source, options, settings", [
    ("ironchase.cfg:2", {"prepare": config("countdown = 0\nsuit = smoke\non_finish=qemu-exit\n")},
     []),
    ("SMBIOS", {}, ["repetitions=many"]),
    ("load options", {"prepare": shell("page_sizes=3K")}, []),
])
def test_wrong_setting(boot, source, options, settings):
    """One line with source, key and what was expected; nothing is measured."""
    ended = boot(settings, base=UNATTENDED, expect=FAILURE, **options)
    (line,) = [line for line in ended.lines if line.startswith("wrong setting: ")]
    assert source in line
    assert any(key in line for key in ("suit", "repetitions", "page_sizes"))
    assert not ended.stick.runs()


@pytest.mark.parametrize("address, why", [
    ("mmio:0xffffffffffff8", "the firmware shows nothing there"),
    ("mmio:0x20000000000", "the firmware shows nothing there"),
    ("mmio:0x1000", "memory is there, and no device"),
    ("mmio:0xfee00000", "the board's own devices are there"),
    ("io:0x20", "the board's own devices are there"),
])
def test_serial_line_where_none_can_be(boot, address, why):
    """Nothing is written where no UART can be; the complaint goes to the usual one."""
    ended = boot([f"serial={address}"], expect=FAILURE)
    (line,) = [line for line in ended.lines if line.startswith("wrong setting: ")]
    assert f"serial = {address}" in line and why in line
    assert not ended.stick.runs()


def test_settings_without_effect_are_told(boot):
    ended = boot(["frequency=max"])
    assert "note: SMBIOS: frequency has no effect in this version" in ended.lines


def test_read_only_stick(boot):
    """Told once, and the run succeeds: its results leave on the serial line."""
    ended = boot(read_only=True)
    assert not ended.stick.runs()
    assert ended.serial.count("read-only or write-protected") >= 1
    assert "@results.json" in ended.serial


def test_full_stick(boot):
    def fill(stick):
        room = stick.path.stat().st_size
        stick.write("FILL.BIN", bytes(free_bytes(stick, room)))

    ended = boot(prepare=fill)
    assert "@results.json" in ended.serial or "NOT SAVED" in ended.serial


def free_bytes(stick, most):
    """Free bytes of the file system, as mdir counts them."""
    listing = stick._mtools("mdir", "::/", text=True).stdout
    digits = [line for line in listing.splitlines() if "bytes free" in line][0]
    return min(most, int("".join(c for c in digits if c.isdigit())))
