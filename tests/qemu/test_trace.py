"""What the chase of the very image touches, watched from inside the emulator: one load a hop, each
line of the set once a lap, the same physical lines under each page size, and inside a sample nothing
but that."""

import struct

import elf
import pytest
from conftest import SECONDS, UNATTENDED, Ended
from machine import SUCCESS, Machine

LINE = 64
VIEW_BASE = 64 << 40
SYMBOL = "chase_hops"
# What stands around the loop between two readings of the clock: the calls of the loop and of the
# readings, and registers that they save. It must not grow with the hops.
FRAME_ACCESSES = 250
LARGEST_SET = 16 << 10
RECORDED = 1024  # loads of each call: four laps of the largest set


@pytest.fixture(scope="module")
def calls(build, image, tmp_path_factory):
    """One small run: for each call of the loop what it touched first, [(virtual, physical)]; for each
    sample the loop's accesses and all others; and the run's points."""
    folder = tmp_path_factory.mktemp("trace")
    (folder / "symbol").write_bytes(elf.Elf.read(build / "ironchase.elf").symbol_bytes(SYMBOL))
    plugin = f"{build}/qemu/trace.so,symbol={folder}/symbol,out={folder}/records,most={RECORDED}"
    settings = [*UNATTENDED, "experiments=chase", f"max_working_set={LARGEST_SET}",
                "page_sizes=4K,2M,1G"]
    with Machine(folder, image, settings=settings, processors=1,
                 arguments=["-plugin", plugin]) as machine:
        assert machine.wait(2 * SECONDS) == SUCCESS
    points = Ended(SUCCESS, machine.serial, machine.stick, machine).results()["experiments"][0]["points"]
    found, samples, returns = [], [], 0
    for kind, first, second in struct.iter_unpack("<QQQ", (folder / "records").read_bytes()):
        assert kind != ord("S"), "the loop stores"
        if kind == ord("E"):
            found.append([])
        elif kind == ord("T"):
            samples.append((first - 1, second))  # the last is the return's
        elif first >= VIEW_BASE:
            found[-1].append((first, second))
        else:
            returns += 1
    assert returns <= len(found), "the loop loads what is not its data"
    return found, samples, points


def lap_of(call):
    """Loads until the first line comes again; None in a call too short for that."""
    return next((i for i, load in enumerate(call) if i and load[0] == call[0][0]), None)


def whole_laps(calls):
    """(lines, first lap, later loads) of each call that went round at least twice."""
    for call in calls[0]:
        lap = lap_of(call)
        if lap and len(call) >= 2 * lap:
            yield lap, call[:lap], call[lap:]


def adds_up(operations, samples, lengths):
    """Is that the sum of so many samples of one traced length, or of two (a sample that turns out too
    short is followed by longer ones)?"""
    return any(some * one + (samples - some) * other == operations
               for one in lengths for other in lengths for some in range(1, samples + 1))


def test_one_load_a_hop(calls):
    """What the samples timed is what the points call their operations: to the hop."""
    _, samples, points = calls
    lengths = {hops for hops, _ in samples if hops > 1000}
    for point in points:
        assert adds_up(point["operations"], point["ns"]["samples"], lengths), point["operations"]


def test_a_lost_hop_would_be_noticed():
    assert adds_up(2 * 1000 + 3 * 1500, 5, {1000, 1500})
    assert not adds_up(2 * 1000 + 3 * 1500 - 1, 5, {1000, 1500})


def test_each_line_once_a_lap(calls):
    """Every lap visits all lines of a set of a planned size, each once, and the next lap the same
    lines in the same order."""
    planned = {point["variant"]["working_set"] // LINE for point in calls[2]}
    seen = set()
    for lines, lap, later in whole_laps(calls):
        assert {address for address, _ in lap} == \
            set(range(VIEW_BASE, VIEW_BASE + lines * LINE, LINE))
        assert len({physical for _, physical in lap}) == lines
        assert later == (lap * (len(later) // lines + 1))[:len(later)]
        seen.add(lines)
    assert seen == planned


def test_same_physical_lines_under_each_page_size(calls):
    """In order, one set lies on one stretch of physical memory, whatever the leaf: three page sizes
    show it, and the frames are the same."""
    starts = {}
    for lines, lap, _ in whole_laps(calls):
        offsets = {physical - (address - VIEW_BASE) for address, physical in lap}
        if len(offsets) == 1:
            starts.setdefault(lines, set()).update(offsets)
    in_order = [point["variant"] for point in calls[2]
                if point["variant"]["placement"] == "in-order"]
    assert {variant["page_size"] for variant in in_order} == {4 << 10, 2 << 20, 1 << 30}
    # A set of one 4 KiB page is contiguous wherever it lies; larger ones only in order.
    of_several_pages = [offsets for lines, offsets in starts.items() if lines * LINE > 4096]
    assert of_several_pages
    assert len(set.union(*of_several_pages)) == 1


def test_scattered_pages_are_no_neighbours(calls):
    scattered = 0
    for lines, lap, _ in whole_laps(calls):
        frames = {(address - VIEW_BASE) >> 12: physical >> 12 for address, physical in lap}
        steps = {frames[page + 1] - frames[page] for page in range(len(frames) - 1)}
        if steps and steps != {1}:
            assert 1 not in steps and -1 not in steps
            scattered += 1
    assert scattered


def test_nothing_else_inside_a_sample(calls):
    """Between two readings of the clock, what is not a load of the loop is the frame around it."""
    long_ones = [others for hops, others in calls[1] if hops > 10_000]
    assert long_ones
    assert max(long_ones) <= FRAME_ACCESSES
