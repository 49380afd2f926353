"""The program of Linux, from its command line to its files: a run on the machine that tests it."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import jsonschema
import pytest

FILES = ["console.log", "journal.jsl", "results.csv", "results.json"]
SMALL = ["suite=smoke", "experiments=chase", "max_working_set=256K"]
LONG = ["suite=quick", "experiments=chase", "max_working_set=1M"]
SECONDS = 120


@pytest.fixture(scope="module")
def program(build):
    path = build / "hosted/ironchase"
    assert path.exists(), "run `make hosted` first"
    return path


@pytest.fixture(scope="module")
def schema(root):
    text = (root / "console/results.schema.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def call(program, folder, *arguments):
    return subprocess.run([program, *arguments], cwd=folder, check=False, capture_output=True,
                          text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def records(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def errors(schema, results):
    return [error.message for error in schema.iter_errors(results)]


def points_of(results):
    return [point for experiment in results["experiments"] for point in experiment["points"]]


# ---- a whole run ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def run(program, tmp_path_factory):
    """A small run: what it printed, and its folder."""
    folder = tmp_path_factory.mktemp("hosted")
    done = call(program, folder, *SMALL, "name=Test bench", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout, folder / "out/RUN0001"


def test_leaves_the_files_of_a_run(run):
    said, folder = run
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert (folder / "console.log").read_text(encoding="ascii") == said


def test_results_keep_to_the_schema(run, schema):
    results = load(run[1] / "results.json")
    assert errors(schema, results) == []
    assert results["program"]["platform"] == "linux"
    assert results["status"] == "complete"
    assert results["name"] == "Test bench"
    assert results["settings"]["suite"] == {"value": "smoke", "source": "command line"}
    assert results["settings"]["seed"]["source"] == "default"
    assert abs(time.time() - time.mktime(time.strptime(results["started"], "%Y-%m-%dT%H:%M:%SZ"))
               + time.timezone) < SECONDS


def test_every_size_is_measured_or_has_its_reason(run):
    chase, = load(run[1] / "results.json")["experiments"]
    assert chase["status"] == "ok"
    sizes = {point["variant"]["working_set"] for point in chase["points"]
             if point["variant"]["page_size"] == 4096 and point["variant"]["order"] == "random"
             and point["variant"]["placement"] == "scattered"}
    assert sizes == {4096 << k for k in range(7)}
    pages = {point["variant"]["page_size"] for point in chase["points"]}
    for size, name in ((1 << 21, "2 MiB"), (1 << 30, "1 GiB")):
        assert size in pages or name in chase["reason"]


def test_measures_this_machine(run):
    """A load from the first cache takes a few whole cycles, on every processor."""
    results = load(run[1] / "results.json")
    fast = [point for point in points_of(results)
            if point["variant"]["working_set"] <= 16384 and point["cycles"]]
    assert len(fast) >= 3
    for point in fast:
        assert 2.9 < point["cycles"]["median"] < 8
        assert 0.3 < point["ns"]["median"] < 20
        assert point["proof"]["cycle_length"] == point["variant"]["working_set"] // 64


def test_leaves_are_those_of_the_view(run):
    names = {4096: "4K", 1 << 21: "2M", 1 << 30: "1G"}
    for point in points_of(load(run[1] / "results.json")):
        variant, leaves = point["variant"], point["proof"]["page_leaves"]
        size = variant["page_size"]
        wanted = dict.fromkeys(names.values(), 0)
        wanted[names[size]] = -(-variant["working_set"] // size)
        assert leaves in (wanted, None)


def test_is_made_of_the_real_loops(program):
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    assert re.search(r" [Tt] chase_hops$", names, re.MULTILINE)
    assert not re.search(r" [Tt] (model_load|processor_reset|ring0_\w+)$", names, re.MULTILINE)


def test_says_the_run_again(run, program, tmp_path):
    results = load(run[1] / "results.json")
    assert results["repeat_line"] == " ".join(SMALL) + ' name="Test bench"'
    again = call(program, tmp_path, *SMALL, "name=Test bench", "dry_run=yes")
    assert again.returncode == 0


# ---- folders -------------------------------------------------------------------------------------

TINY = ["suite=smoke", "experiments=chase", "max_working_set=4K"]


def test_nothing_is_overwritten(program, tmp_path):
    for _ in range(2):
        assert call(program, tmp_path, *TINY, "--output=deep/er").returncode == 0
    for name in ("RUN0001", "RUN0002"):
        assert load(tmp_path / "deep/er" / name / "results.json")["status"] == "complete"
    (tmp_path / "deep/er/RUN0002/results.json").unlink()
    third = call(program, tmp_path, *TINY, "--output=deep/er")
    assert "The run in deep/er/RUN0002 was cut short" in third.stdout
    assert "cut short" not in call(program, tmp_path, *TINY, "--output=deep/er").stdout


def test_default_folder(program, tmp_path):
    assert call(program, tmp_path, *TINY).returncode == 0
    assert (tmp_path / "RESULTS/RUN0001/results.json").exists()


def test_saves_nothing_if_told_so(program, tmp_path):
    done = call(program, tmp_path, *TINY, "save=no")
    assert done.returncode == 0 and "NOT SAVED: save=no" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_no_folder_no_run(program, tmp_path):
    (tmp_path / "file").write_text("")
    done = call(program, tmp_path, *TINY, "--output", "file/folder")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == ("ironchase: no folder for the run: "
                           "file/folder: Not a directory\n")


# ---- arguments -----------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, said", [
    (["suite=huge"], "quick, full or smoke"),
    (["nonsense"], "key = value"),
    (["sweet=1"], "sweet"),
    (["experiments=nothing"], "nothing"),
    (["max_working_set=-1"], "-1"),
    (["--wrong"], "--wrong"),
    (["--outputs=a"], "--outputs=a"),
    (["--output"], "--output needs the name of a folder"),
    (["--output="], "--output="),
])
def test_wrong_arguments(program, tmp_path, arguments, said):
    done = call(program, tmp_path, *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("ironchase: command line: ") and said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_each_wrong_argument_is_named(program, tmp_path):
    done = call(program, tmp_path, "suite=huge", "seed=x", "--wrong")
    assert done.returncode == 2 and done.stderr.count("\n") == 3


def test_help(program, tmp_path):
    done = call(program, tmp_path, "--help")
    assert done.returncode == 0 and done.stderr == ""
    for setting in load_settings(program, tmp_path):
        assert re.search(rf"\b{setting}\b", done.stdout), setting
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


def load_settings(program, folder):
    assert call(program, folder, *TINY).returncode == 0
    return load(folder / "RESULTS/RUN0001/results.json")["settings"]


def test_plan_only(program, tmp_path):
    done = call(program, tmp_path, *SMALL, "dry_run=yes")
    assert done.returncode == 0 and "chase" in done.stdout and "4 KiB to 256 KiB" in done.stdout
    assert list(tmp_path.iterdir()) == []


# ---- stopping ------------------------------------------------------------------------------------

def start(program, folder, *arguments):
    return subprocess.Popen([program, *arguments], cwd=folder, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def wait_for_records(folder, kind, n=1):
    """Until the journal has so many of a kind."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        path = folder / "RESULTS/RUN0001/journal.jsl"
        if path.exists() and path.read_text().count(f'"type": "{kind}"') >= n:
            return
        time.sleep(0.02)
    raise TimeoutError(kind)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_stops_and_keeps_everything(program, schema, tmp_path, how):
    with start(program, tmp_path, *LONG) as process:
        wait_for_records(tmp_path, "visit", 3)
        process.send_signal(how)
        said, wrong = process.communicate(timeout=SECONDS)
    assert process.returncode == 0 and wrong == ""
    assert "q: stopping after this measurement" in said
    results = load(tmp_path / "RESULTS/RUN0001/results.json")
    assert errors(schema, results) == []
    assert results["status"] == "partial" and results["reason"] == "stopped on request"
    assert len(points_of(results)) >= 3
    assert all("partial" in point["flags"] for point in points_of(results))


def test_ends_at_once_the_second_time(program, tmp_path):
    with start(program, tmp_path, *LONG) as process:
        wait_for_records(tmp_path, "visit")
        process.send_signal(signal.SIGINT)
        time.sleep(0.001)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)
        process.communicate(timeout=SECONDS)
    assert process.returncode == -signal.SIGINT


def test_time_limit(program, tmp_path):
    done = call(program, tmp_path, *LONG, "time_limit=1")
    assert done.returncode == 0
    results = load(tmp_path / "RESULTS/RUN0001/results.json")
    assert results["status"] == "partial" and "time limit" in results["reason"]


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, program, folder, *arguments):
        self.screen, self.line = pty.openpty()
        self.before = termios.tcgetattr(self.line)
        self.shown = b""
        self.process = subprocess.Popen(
            [program, *arguments], cwd=folder, stdin=self.line, stdout=self.line,
            stderr=self.line, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def read_until(self, text):
        end = time.monotonic() + SECONDS
        while text not in self.shown and time.monotonic() < end:
            if select.select([self.screen], [], [], 0.1)[0]:
                self.shown += os.read(self.screen, 65536)
            elif self.process.poll() is not None:
                break
        assert text in self.shown, self.shown.decode(errors="replace")

    def close(self):
        os.close(self.screen)
        os.close(self.line)


def test_terminal(program, tmp_path):
    """The progress line is redrawn in place, a key stops the run, the terminal is as before."""
    terminal = Terminal(program, tmp_path, *LONG)
    try:
        terminal.read_until(b"\r[")
        during = termios.tcgetattr(terminal.line)
        assert not during[3] & (termios.ICANON | termios.ECHO)
        os.write(terminal.screen, b"xq")
        terminal.read_until(b"The same run again")
        assert terminal.process.wait(SECONDS) == 0
        assert termios.tcgetattr(terminal.line) == terminal.before
        assert re.search(rb"\r\[[# ]{20}\] +\d+ %, \d:\d\d left", terminal.shown)
        assert b"Run partial" in terminal.shown
        assert max(map(len, terminal.shown.decode().replace("\r", "\n").split("\n"))) < 80
    finally:
        terminal.process.kill()
        terminal.close()
    log = (tmp_path / "RESULTS/RUN0001/console.log").read_text(encoding="ascii")
    assert "\r" not in log and "Run partial" in log


# ---- a run that was cut short --------------------------------------------------------------------

def recover(program, folder, text):
    """Results of that journal."""
    folder.mkdir()
    (folder / "journal.jsl").write_text(text, encoding="utf-8")
    done = call(program, folder, "recover=journal.jsl")
    assert done.returncode == 0, done.stderr
    return load(folder / "results.json"), done.stdout


def test_whole_journal_gives_the_same_results(run, program, tmp_path):
    text = (run[1] / "journal.jsl").read_text(encoding="utf-8")
    results, said = recover(program, tmp_path / "a", text)
    true = load(run[1] / "results.json")
    assert {key: results.get(key) for key in true} == {
        key: value if key in results else None for key, value in true.items()}
    assert set(true) - set(results) <= {"windows"} # there are none
    assert f"status complete, {len(points_of(true))} points" in said


def test_killed_run_is_recovered(program, schema, tmp_path):
    with start(program, tmp_path, *SMALL) as process:
        wait_for_records(tmp_path, "point", 5)
        process.kill()
        process.communicate(timeout=SECONDS)
    folder = tmp_path / "RESULTS/RUN0001"
    assert not (folder / "results.json").exists()
    done = call(program, tmp_path, f"recover={folder}/journal.jsl")
    assert done.returncode == 0, done.stderr
    results = load(folder / "results.json")
    assert errors(schema, results) == []
    assert results["status"] == "partial" and results["reason"] == "the run was cut short"
    kept = [record for record in records(folder / "journal.jsl") if record["type"] == "point"]
    assert [point["ns"] for point in points_of(results)] == [point["ns"] for point in kept]
    # It is not done twice over what is there; elsewhere it may be.
    again = call(program, tmp_path, f"recover={folder}/journal.jsl")
    assert again.returncode == 1 and "there already" in again.stderr
    other = call(program, tmp_path, f"recover={folder}/journal.jsl", "--output", "other")
    assert other.returncode == 0
    assert load(tmp_path / "other/RUN0001/results.json") == results


@pytest.fixture(scope="module")
def visited(program, tmp_path_factory):
    """The journal of a run with several visits."""
    folder = tmp_path_factory.mktemp("visited")
    done = call(program, folder, "suite=quick", "experiments=chase", "max_working_set=4K",
                "repetitions=6", "page_sizes=4K")
    assert done.returncode == 0, done.stderr
    return (folder / "RESULTS/RUN0001/journal.jsl").read_text(encoding="utf-8")


def test_cut_anywhere_loses_one_record(program, schema, visited, tmp_path):
    lines = visited.splitlines(keepends=True)
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds.count("visit") >= 6 and kinds.count("point") >= 3
    for cut in range(1, len(lines)):
        results, _ = recover(program, tmp_path / str(cut), "".join(lines[:cut]) + lines[cut][:-9])
        assert errors(schema, results) == [], cut
        assert results["status"] == "partial"
        known = {json.dumps(json.loads(line)["variant"]) for line in lines[:cut]
                 if '"variant"' in line}
        assert {json.dumps(point["variant"]) for point in points_of(results)} == known
        whole = kinds[:cut].count("point")
        assert sum("partial" in point["flags"] for point in points_of(results)) == (
            len(known) - whole)


def test_point_of_visits(program, visited, tmp_path):
    """The middle of the visits' middles, and the outermost of their ends."""
    lines = visited.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if '"type": "point"' in line)
    visits = [json.loads(line) for line in lines[:first] if '"type": "visit"' in line]
    results, _ = recover(program, tmp_path / "a", "".join(lines[:first]))
    for point in points_of(results):
        own = [visit for visit in visits if visit["variant"] == point["variant"]]
        assert len(own) == 2
        ns = point["ns"]
        assert ns["median"] == pytest.approx(sum(visit["ns"]["median"] for visit in own) / 2)
        assert ns["mad"] == pytest.approx(sum(visit["ns"]["mad"] for visit in own) / 2)
        assert ns["min"] == min(visit["ns"]["min"] for visit in own)
        assert ns["max"] == max(visit["ns"]["max"] for visit in own)
        assert ns["samples"] == sum(visit["ns"]["samples"] for visit in own)
        assert ns["visits"] == 2 and ns["ci95"] is None
        assert point["operations"] == own[-1]["operations"]


@pytest.mark.parametrize("text, status", [
    (None, 1), ("", 2), ("login:\n", 2), ('{"type": "end"}\n', 2),
    ('{"type": "header", "schema": "other", "version": 1}\n', 2),
    ('{"type": "header", "schema": "ironchase-journal", "version": 2}\n', 2),
])
def test_what_is_no_journal(program, tmp_path, text, status):
    if text is not None:
        (tmp_path / "file").write_text(text)
    done = call(program, tmp_path, "recover=file")
    assert done.returncode == status and done.stdout == ""
    assert done.stderr.startswith("ironchase: file: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "results.json").exists()


# ---- beside other programs -----------------------------------------------------------------------

CHASE = """#include <stdio.h>
int main(int count, char **argument)
{
    printf("working_set  ns\\n16 KiB  %d.25\\n1 MiB  7.50\\n", count);
    return argument[1][0] != '0';
}
"""


def bench(root, program, folder, *options):
    return subprocess.run([sys.executable, root / "tests/hosted/bench.py", *options, "--largest",
                           "16K", program, folder / "bench"], check=False, capture_output=True,
                          text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)


def test_table_beside_others(root, program, tmp_path):
    peers = tmp_path / "peers"
    peers.mkdir()
    (peers / "chase.c").write_text(CHASE)
    (peers / "e3.c").write_text("int main(void) { return nothing; }")
    done = bench(root, program, tmp_path, "--peers", peers)
    assert done.returncode == 0, done.stderr
    machine, first, second, head, *rows = done.stdout.splitlines()
    assert machine.startswith("machine: ")
    assert first == f"left out: multichase is not in {peers}"
    assert second.startswith("left out: e3 1 does not build: ")
    assert head.split() == ["ns", "a", "load", "ironchase", "chase", "0"]
    cells = [row.split() for row in rows]
    assert [row[:2] for row in cells] == [["16", "KiB"], ["1", "MiB"], ["sizes", "4"],
                                          ["seconds", cells[3][1]]]
    assert [row[-1] for row in cells[:3]] == ["2.25", "7.5", "2"]
    assert 0.3 < float(cells[0][2]) < 20 and cells[1][2] == "-"


def test_table_of_ours_alone(root, program, tmp_path):
    done = bench(root, program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no PEERS=dir" in done.stdout
    assert len(re.findall(r"^ *[\d.]+ KiB +[\d.]+$", done.stdout, re.MULTILINE)) == 4
