"""The image that users get, booted as users boot it: media, screens, ports, processors, memory."""

import json
import shutil

import jsonschema
import pytest
from conftest import SECONDS, SMALL, UNATTENDED
from machine import FAILURE, SUCCESS, Machine


def check_files(ended, root):
    """The four files of a complete run agree with each other and with the schema."""
    schema = json.loads((root / "console/results.schema.json").read_text(encoding="utf-8"))
    results = ended.results()
    jsonschema.Draft202012Validator(schema).validate(results)
    points = results["experiments"][0]["points"]
    journal = ended.journal()
    assert [journal[0]["type"], journal[-1]["type"]] == ["header", "end"]
    assert [record["variant"] for record in journal if record["type"] == "point"] == \
        [point["variant"] for point in points]
    assert len(ended.text("results.csv").splitlines()) == 1 + len(points)
    assert "Summary" in ended.text("console.log")
    return results


def test_usb_stick(boot, root):
    """From xHCI, with screen and serial line: everything is there, once."""
    ended = boot()
    results = check_files(ended, root)
    assert results["status"] == "complete"
    assert results["machine"]["hypervisor"] == "TCG"
    chase = results["experiments"][0]
    assert (chase["name"], chase["status"]) == ("chase", "ok")
    for point in chase["points"]:
        variant, proof = point["variant"], point["proof"]
        assert point["ns"]["median"] > 0
        assert proof["cycle_length"] == variant["working_set"] // 64
        assert proof["page_leaves"] == {"4K": variant["working_set"] // 4096, "2M": 0, "1G": 0}
        assert proof["memory_type"] == "WB"
    # An emulator's times say nothing of a machine, and no finding pretends that they do.
    assert "l1d_size" in [finding["name"] for finding in results["findings"]]
    assert all(finding["measured"] is None for finding in results["findings"])
    assert ended.stick.names("RESULTS/RUN0001") == \
        ["console.log", "journal.jsl", "results.csv", "results.json"]


def test_serial_line_says_each_thing_once(boot):
    """The firmware sends its console to the same UART; our lines must not come twice, and the
    warning about the emulator stands before and after the numbers."""
    ended = boot()
    for line in ("Summary", "chase: Pointer chase: what a load costs that needs the one before it"):
        assert ended.lines.count(line) == 1
    warning = [i for i, line in enumerate(ended.lines) if line.startswith("*** EMULATOR (TCG)")]
    numbers = [i for i, line in enumerate(ended.lines) if line.startswith("random ")]
    assert len(warning) == 2 and warning[0] < numbers[0] and numbers[-1] < warning[1]


def test_without_screen(boot):
    assert boot(screen=False).results()["status"] == "complete"


def test_without_serial_port(boot):
    """The run does not hang on a UART that is not there, and leaves its files."""
    assert boot(serial=False).results()["status"] == "complete"


@pytest.mark.parametrize("cpu", ["qemu64", "max"])
def test_processors(boot, cpu):
    results = boot(["page_sizes=4K,2M,1G"], cpu=cpu).results()
    leaves = {point["variant"]["page_size"] for point in results["experiments"][0]["points"]}
    assert {4096, 2 << 20} <= leaves
    if cpu == "max":
        assert 1 << 30 in leaves


@pytest.mark.parametrize("cpu", ["qemu64", "max"])
def test_selftest(boot, cpu):
    """Every fault is provoked, reported with its facts, and leaves the machine and its firmware as
    they were."""
    (experiment,) = boot(["experiments=selftest"], base=UNATTENDED, cpu=cpu).results()["experiments"]
    checks = {check["name"]: check for check in experiment["checks"]}
    assert experiment["status"] == "ok" and all(check["ok"] for check in checks.values())
    assert {"page fault: read", "page fault: write", "page fault: execute", "stack overflow",
            "general protection: address", "general protection: WRMSR", "invalid opcode",
            "divide error", "many windows", "firmware timer", "firmware clock", "firmware keys",
            "stick"} <= set(checks)
    assert checks["page fault: write"]["text"].startswith("vector 14, code 3h, RIP ")
    assert checks["many windows"]["text"].startswith("100 windows: ")


@pytest.mark.parametrize("memory", ["256M", "8G"])
def test_memory_sizes(boot, memory):
    results = boot(memory=memory).results()
    size = {"256M": 256 << 20, "8G": 8 << 30}[memory]
    assert 0.9 * size < results["machine"]["memory_bytes"] <= size


def test_too_little_memory(boot):
    ended = boot(memory="96M", expect=FAILURE)
    assert "Ironchase cannot measure here: less than 64 MiB" in ended.serial
    assert not ended.stick.runs()


def test_chase_above_4_gib(boot):
    """A set that does not fit below 4 GiB."""
    results = boot(["max_working_set=4G", "page_sizes=2M", "experiments=chase", "time_limit=1"],
                   base=UNATTENDED, memory="8G").results()
    assert results["machine"]["memory_bytes"] > 7 << 30


def test_user_stops_the_run(boot):
    """q: stops after the current measurement, keeps everything, and that is success."""
    def press(machine):
        machine.wait_for(r"^random ", SECONDS)
        machine.type("q")

    ended = boot(base=UNATTENDED, during=press)
    results = ended.results()
    assert results["status"] == "partial"
    points = results["experiments"][0]["points"]
    assert points and len(ended.text("results.csv").splitlines()) == 1 + len(points)
    assert ended.journal()[-1]["type"] == "end"


def test_time_limit(boot):
    results = boot(["time_limit=1"], base=UNATTENDED).results()
    assert results["status"] == "partial"
    assert results["experiments"][0]["status"] == "partial"


def test_dry_run_measures_nothing(boot):
    ended = boot(["dry_run=yes"])
    assert "chase" in ended.serial and not ended.stick.runs()


def test_power_cut(boot, image, tmp_path):
    """Whole records only, the points measured so far among them; the next start tells of it."""
    with Machine(tmp_path / "cut", image, settings=UNATTENDED) as machine:
        machine.wait_for(r"^random +32 KiB", SECONDS)
        machine.power_off()
        records = [json.loads(line) for line in
                   machine.stick.read("RESULTS/RUN0001/journal.jsl").decode().splitlines()]
    kinds = [record["type"] for record in records]
    assert kinds[0] == "header" and "end" not in kinds
    assert kinds.count("point") >= 6
    names = machine.stick.names("RESULTS/RUN0001")
    assert "results.json" not in names
    shutil.copy(machine.stick.path, tmp_path / "cut.img")
    ended = boot(image=tmp_path / "cut.img")
    assert "RUN0001" in ended.serial and "cut short" in ended.serial
    assert ended.results("RUN0002")["status"] == "complete"


def test_back_to_the_firmware(image, tmp_path):
    """on_finish=menu waits for a key, and the firmware lives on: it starts the next boot option."""
    with Machine(tmp_path, image, settings=["countdown=0", "suite=smoke", *SMALL]) as machine:
        machine.wait_for("Back to the firmware in 30 s, or with any key", SECONDS)
        machine.type(" ")
        machine.wait_for(r"BdsDxe: (failed|loading|No bootable)|UEFI Interactive Shell|Boot Manager",
                         SECONDS)
        assert machine.running()


def test_countdown_can_be_left(image, tmp_path):
    with Machine(tmp_path, image, settings=["countdown=60", "on_finish=qemu-exit"]) as machine:
        machine.wait_for("The run starts in 60 s", SECONDS)
        machine.type("q")
        assert machine.wait(SECONDS) == SUCCESS
    assert not machine.stick.runs()
