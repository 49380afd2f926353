"""The screen, looked at: without a serial port it is all that a user sees."""

import struct
import time

from conftest import SECONDS, SMALL, Ended
from machine import Machine

GLYPH = (8, 19)  # pixels of a character, as edk2's graphics console draws them
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
BLANK = frozenset()


def read_pixels(path):
    """(width, height, RGB bytes) of a binary PPM file."""
    magic, size, most, pixels = path.read_bytes().split(b"\n", 3)
    assert (magic, most) == (b"P6", b"255")
    width, height = map(int, size.split())
    assert len(pixels) == 3 * width * height
    return width, height, pixels


def characters(width, height, pixels):
    """The rows of the text grid, which stands in the middle: each cell as the set of its lit
    pixels."""
    columns, rows = width // GLYPH[0], height // GLYPH[1]
    left, top = (width - columns * GLYPH[0]) // 2, (height - rows * GLYPH[1]) // 2
    grid = [[set() for _ in range(columns)] for _ in range(rows)]
    for y in range(rows * GLYPH[1]):
        line = pixels[3 * width * (top + y):][:3 * width]
        if not any(line):
            continue
        for x in range(columns * GLYPH[0]):
            if any(line[3 * (left + x):][:3]):
                cell = grid[y // GLYPH[1]][x // GLYPH[0]]
                cell.add((x % GLYPH[0], y % GLYPH[1]))
    return [[frozenset(cell) for cell in row] for row in grid]


def take_picture(machine, path):
    machine.qmp("screendump", filename=str(path))
    return read_pixels(path)


def settled_picture(machine, path):
    """The screen once two seconds have changed nothing: the run has ended, and waits for a key."""
    before = None
    while (picture := take_picture(machine, path)) != before:
        before = picture
        time.sleep(2)
    return picture


def check_rows(rows, log):
    """Row for row what the log says: one and the same picture for each character, and another one
    for each other."""
    rows, log = rows[-len(log):], log[-len(rows):]
    assert len(rows) > 20
    glyphs = {}
    for row, line in zip(rows, log):
        for cell, character in zip(row, line.ljust(len(row))):
            assert glyphs.setdefault(character, cell) == cell, f"{character!r} in {line!r}"
    assert glyphs[" "] == BLANK
    assert len(set(glyphs.values())) == len(glyphs) > 40


def test_the_screen_shows_what_the_log_says(image, build, tmp_path):
    """A picture of it is kept in build/, for people to look at."""
    with Machine(tmp_path, image, settings=["countdown=0", "suite=smoke", *SMALL],
                 serial=False) as machine:
        end = time.monotonic() + SECONDS
        while "results.json" not in machine.stick.names("RESULTS/RUN0001"):
            assert time.monotonic() < end and machine.running()
            time.sleep(1)
        picture = settled_picture(machine, tmp_path / "screen.ppm")
        machine.screenshot(build / "qemu/screen.png")
    png = (build / "qemu/screen.png").read_bytes()
    assert png.startswith(PNG_SIGNATURE) and struct.unpack_from(">II", png, 16) == picture[:2]
    log = Ended(None, "", machine.stick, machine).text("console.log")
    rows = characters(*picture)
    while set(rows[-1]) == {BLANK}:
        rows.pop()
    rows.pop()  # "Back to the firmware", which comes after the log
    check_rows(rows, log.replace("\r", "").splitlines())
