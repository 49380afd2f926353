"""Every call into the firmware goes through the one gate (boot/uefi/firmware.h), so that none can be
made while the measurement window is open."""

import re

import pytest
from conftest import ROOT

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Methods of UEFI protocols and services begin with a capital; our own functions do not.
SERVICE = re.compile(r"(?:->|\.)([A-Z]\w+)\s*\(")
STATEMENT_END = re.compile(r"[;{}]")


def calls_past_the_gate(text):
    text = COMMENT.sub("", text)
    for call in SERVICE.finditer(text):
        ends = [end.end() for end in STATEMENT_END.finditer(text, 0, call.start())]
        before = text[ends[-1] if ends else 0:call.start()]
        opened = before.rfind("FIRMWARE(")
        if opened < 0 or before[opened:].count("(") <= before[opened:].count(")"):
            yield call[1]


@pytest.mark.parametrize("path", sorted((ROOT / "boot/uefi").glob("*.c")), ids=lambda p: p.name)
def test_firmware_is_called_through_the_gate(path):
    assert not list(calls_past_the_gate(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("text", [
    "void f(void) { services->Stall(1); }",
    "x = FIRMWARE(link, a->Open(a)) + b->Close(b);",
    "FIRMWARE(link, 1); (void)root->Flush(root);",
])
def test_a_call_past_the_gate_is_found(text):
    assert list(calls_past_the_gate(text))


def test_a_call_through_the_gate_is_none():
    assert not list(calls_past_the_gate("s = FIRMWARE(link,\n  a->b->GetTime(&now, NULL));"))
