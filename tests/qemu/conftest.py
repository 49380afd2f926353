"""What the boots share: the image booted to its end, and what a run leaves behind."""

import json
from dataclasses import dataclass, field

import pytest
from machine import SUCCESS, Machine

# The least that measures something. Every boot costs seconds; only the smoke run does more.
SMALL = ["experiments=chase", "max_working_set=16K", "page_sizes=4K"]
UNATTENDED = ["countdown=0", "on_finish=qemu-exit", "suite=smoke"]
SECONDS = 240  # a machine of the tests shares two processors with another one


@dataclass
class Ended:
    """A machine after its end."""
    status: int
    serial: str
    stick: object
    machine: object
    lines: list = field(init=False)

    def __post_init__(self):
        self.lines = self.serial.replace("\r", "").split("\n")

    def results(self, run="RUN0001"):
        return json.loads(self.stick.read(f"RESULTS/{run}/results.json"))

    def journal(self, run="RUN0001"):
        return [json.loads(line) for line in
                self.stick.read(f"RESULTS/{run}/journal.jsl").decode().splitlines()]

    def text(self, name, run="RUN0001"):
        return self.stick.read(f"RESULTS/{run}/{name}").decode()


@pytest.fixture
def boot(image, tmp_path):
    """boot(settings, **options of Machine): boots to the end; expects success unless told."""
    def run(settings=(), *, base=(*UNATTENDED, *SMALL), expect=SUCCESS, during=None, **options):
        with Machine(tmp_path, options.pop("image", image), settings=[*base, *settings],
                     **options) as machine:
            if during:
                during(machine)
            status = machine.wait(SECONDS)
        ended = Ended(status, machine.serial, machine.stick, machine)
        assert status == expect, ended.serial[-3000:]
        return ended
    return run
