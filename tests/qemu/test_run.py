"""What `make run` does around the machine."""

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import run
from machine import plain

SMALL = ["experiments=chase", "max_working_set=16K", "page_sizes=4K"]
SECONDS = 240


def test_terminal_hides_what_moves_the_cursor(capsys):
    """Wherever the reading cuts the text."""
    text = "\x1b[2J\x1b[01;01Hone\r\n\x1b[=3htwo\r\n"
    for cut in range(len(text)):
        terminal = run.Terminal()
        terminal.show(text[:cut])
        terminal.show(text[cut:])
        assert capsys.readouterr().out == "one\ntwo\n"


def test_terminal_does_not_wait_for_ever(capsys):
    """An escape that begins no sequence does not hold back what follows."""
    terminal = run.Terminal()
    terminal.show("\x1b\x01 a long text that follows\r\n")
    assert "follows" in capsys.readouterr().out


def test_plain_keeps_text():
    assert plain("a [2J b\x1b[0m") == "a [2J b"


def test_wrong_setting_is_named(tmp_path, capsys):
    assert run.main(tmp_path / "none.img", tmp_path / "work", tmp_path / "run", "suite") == 1
    assert capsys.readouterr().err == "make run: 'suite' in SET is not key=value\n"


@pytest.mark.parametrize("end", ["menu", "exit", "Menu", "halt"])
def test_machine_that_would_not_end_is_refused(tmp_path, capsys, end):
    assert run.main(tmp_path / "none.img", tmp_path / "work", tmp_path / "run",
                    f"on_finish={end}") == 1
    assert capsys.readouterr().err == ("make run: an on_finish is needed that ends the "
                                       "machine: qemu-exit, reboot or shutdown\n")


def test_run_of_the_image(image, tmp_path, capfd):
    """Shown as it happens, and its files brought from the stick; what an earlier run left goes."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/old.txt").write_text("old")
    before = image.read_bytes()
    assert run.main(image, tmp_path / "work", tmp_path / "run", *SMALL, "name=a,b") == 0
    shown = capfd.readouterr().out
    assert "Summary" in shown and "\x1b" not in shown
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == {"console.log", "journal.jsl", "results.csv", "results.json"}
    results = json.loads((tmp_path / "run/results.json").read_text())
    assert (results["status"], results["name"]) == ("complete", "a,b")
    assert image.read_bytes() == before


def test_failed_run(image, tmp_path, capfd):
    assert run.main(image, tmp_path / "work", tmp_path / "run", "suit=smoke") == 1
    shown = capfd.readouterr()
    assert "suit" in shown.out and "make run: the run failed" in shown.err
    assert not (tmp_path / "run").exists()


@pytest.fixture
def pretend(tmp_path, monkeypatch, root):
    """pretend(script): a program that has QEMU's name, for what a machine seldom does in time.

    The script has the Stick as `stick`, and may `leave(name, text)` files of a run on it.
    """
    def make(script):
        path = tmp_path / "bin/qemu-system-x86_64"
        path.parent.mkdir()
        path.write_text(textwrap.dedent(f"""\
            #!{sys.executable}
            import os, sys, time
            sys.path.insert(0, {str(root / "tests/qemu")!r})
            from machine import Stick
            stick = Stick({str(tmp_path / "work/stick.img")!r})
            def leave(name, text):
                if not stick.runs():
                    stick.make_folder("RESULTS")
                    stick.make_folder("RESULTS/RUN0001")
                stick.write("RESULTS/RUN0001/" + name, text)
            """) + textwrap.dedent(script))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)
        monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
        (tmp_path / "tmp").mkdir()
    return make


def on_terminal(root, image, tmp_path, *settings):
    """Starts run.py on a terminal of its own; returns its process and the terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, str(root / "tests/qemu/run.py"), str(image),
                                  str(tmp_path / "work"), str(tmp_path / "run"), *settings])
    return child, terminal


def read_until(terminal, wanted, seconds):
    """What a terminal shows until it shows `wanted`, or closes."""
    end, shown = time.monotonic() + seconds, b""
    while wanted not in shown and time.monotonic() < end:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    return shown


def test_key_stops_the_run(root, image, tmp_path):
    """On a terminal, q reaches the machine without Enter, and what was measured is kept."""
    child, terminal = on_terminal(root, image, tmp_path, "experiments=chase", "page_sizes=4K")
    try:
        shown = read_until(terminal, b"8 KiB", SECONDS)
        os.write(terminal, b"q")
        shown += read_until(terminal, b"no such text", SECONDS)
    finally:
        os.close(terminal)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown[-2000:]
    assert json.loads((tmp_path / "run/results.json").read_text())["status"] == "partial"


def test_key_as_the_machine_ends(root, image, tmp_path, pretend):
    """The port is gone before the process is: the key is lost, and nothing else."""
    pretend("""
        leave("results.json", "{}")
        os.close(0)
        print("no longer listening", flush=True)
        time.sleep(1.5)
        os._exit(33)
        """)
    child, terminal = on_terminal(root, image, tmp_path)
    try:
        shown = read_until(terminal, b"no longer listening", SECONDS)
        os.write(terminal, b"q")
        shown += read_until(terminal, b"no such text", SECONDS)
    finally:
        os.close(terminal)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, shown[-2000:]
    assert b"1 files in" in shown and b"Errno" not in shown
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("script, status", [
    ("""leave("results.json", '{"status": "complete"}')""", 0),
    ("""leave("results.json", '{"status": "partial"}')""", 0),
    ("""leave("results.json", '{"status": "failed"}')""", 1),
    ("""leave("results.json", '{"status": "comp')""", 1),
    ("""leave("journal.jsl", "{}")""", 1),
    ("pass", 1),
])
def test_power_off_is_judged_by_the_results(image, tmp_path, pretend, capfd, script, status):
    """After a shutdown or a reboot QEMU's exit status is 0, however the run went."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run/results.json").write_text('{"status": "complete"}')
    pretend(script)
    assert run.main(image, tmp_path / "work", tmp_path / "run", "on_finish=shutdown") == status
    assert ("no results.json says that" in capfd.readouterr().err) == bool(status)


def test_complete_run_that_shuts_down(image, tmp_path):
    assert run.main(image, tmp_path / "work", tmp_path / "run", *SMALL, "on_finish=shutdown") == 0


def snapshot(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("script", [
    "os._exit(33)",
    """stick.make_folder("RESULTS"); stick.make_folder("RESULTS/RUN0001"); os._exit(35)""",
])
def test_run_without_files_leaves_the_earlier_ones(image, tmp_path, pretend, capfd, script):
    pretend(script)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/results.csv").write_text("old")
    run.main(image, tmp_path / "work", tmp_path / "run", "dry_run=yes")
    assert snapshot(tmp_path / "run") == {"results.csv": "old"}
    assert (f"make run: this run left no files; {tmp_path / 'run'} holds an earlier run's\n"
            in capfd.readouterr().out)


@pytest.mark.parametrize("text, settings", [
    ("name=a;touch>MARK|b,c`touch>MARK`", ["name=a;touch>MARK|b,c`touch>MARK`"]),
    ("'name=$(shell touch MARK)'", ["name=$(shell touch MARK)"]),
    ('name="a  b" suite=full', ["name=a  b", "suite=full"]),
    ("'name=a \"b\" $HOME #c' seed=2", ['name=a "b" $HOME #c', "seed=2"]),
])
def test_settings_reach_the_machine_as_written(root, image, tmp_path, pretend, text, settings):
    """Through make, which runs no program for them."""
    mark = str(tmp_path / "mark")
    text, *settings = [part.replace("MARK", mark) for part in (text, *settings)]
    pretend("""
        (value,) = [text for text in sys.argv if text.startswith("type=11,")]
        print("settings", repr(value), flush=True)
        os._exit(33)
        """)
    done = subprocess.run(["make", "run", "MAKE=true", f"BUILD={tmp_path}", f"IMAGE={image}",
                           f"SET={text}"], cwd=root, stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, timeout=SECONDS,
                          env={key: value for key, value in os.environ.items()
                               if not key.startswith("MAKE")})
    expected = "".join(",value=ironchase:" + setting.replace(",", ",,")
                       for setting in [*run.DEFAULTS, *settings])
    assert f"settings {'type=11' + expected!r}" in done.stdout, done.stdout + done.stderr
    assert not Path(mark).exists()


def test_wrong_quotes_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RUN_SETTINGS", "name='a b")
    assert run.main(tmp_path / "none.img", tmp_path / "work", tmp_path / "run") == 1
    assert capsys.readouterr().err == "make run: SET is wrongly quoted: no closing quotation\n"


def test_run_without_files_and_no_earlier_one(image, tmp_path, pretend, capfd):
    pretend("os._exit(33)")
    assert run.main(image, tmp_path / "work", tmp_path / "run", "save=no") == 0
    assert "make run: this run left no files\n" in capfd.readouterr().out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("script, left, said", [
    ("""leave("journal.jsl", "new")""", {"journal.jsl": "new"}, "1 files so far in"),
    ("pass", {"results.csv": "old", "journal.jsl": "old"}, "holds an earlier run's"),
])
def test_interrupted_run(root, image, tmp_path, pretend, script, left, said):
    """What the stick has so far is brought: an earlier run's files are not taken for this one's."""
    pretend(script + "; print('measuring', flush=True); time.sleep(60)")
    (tmp_path / "run").mkdir()
    for name in ("results.csv", "journal.jsl"):
        (tmp_path / "run" / name).write_text("old")
    with subprocess.Popen([sys.executable, root / "tests/qemu/run.py", image, tmp_path / "work",
                           tmp_path / "run"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True) as child:
        shown = child.stdout.read(len("measuring"))
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=SECONDS)
    assert (child.returncode, err) == (130, b"make run: interrupted\n")
    assert said.encode() in shown + out
    assert snapshot(tmp_path / "run") == left
    assert not list((tmp_path / "tmp").iterdir())


def test_damaged_stick_is_named(root, image, tmp_path, pretend):
    pretend("""
        leave("journal.jsl", "new")
        path = os.path.dirname(stick.path) + "/../bin/mcopy"
        open(path, "w").write("#!/bin/sh\\necho is broken >&2\\nexit 1\\n")
        os.chmod(path, 0o755)
        os._exit(33)
        """)
    done = subprocess.run([sys.executable, root / "tests/qemu/run.py", image, tmp_path / "work",
                           tmp_path / "run"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (
        1, "make run: the stick cannot be read: is broken\n")
