"""The files of a run, as the program writes them: valid against the schema, and the same whether a
stick took them or the serial line sent them."""

import copy
import csv
import json
import subprocess
import sys

import jsonschema
import pytest

FILES = ["journal.jsl", "results.csv", "results.json"]
WHOLE = 1 << 20


@pytest.fixture(scope="module")
def schema(root):
    text = (root / "console/results.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def example(build, tmp_path_factory):
    """A function that writes the example run: to a stick that takes so many bytes a file."""
    def write(stick):
        folder = tmp_path_factory.mktemp("example")
        subprocess.run([build / "model/write_example", folder, str(stick)], check=True, timeout=60)
        return folder
    return write


@pytest.fixture(scope="module")
def saved(example):
    return example(WHOLE)


@pytest.fixture(scope="module")
def results(saved):
    return json.loads((saved / "results.json").read_text(encoding="utf-8"))


def serial_files(root, capture, output):
    """Runs the script; returns its exit status and what it said."""
    done = subprocess.run([sys.executable, root / "console/serial_files.py", capture, output],
                          check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def records(folder):
    return [json.loads(line) for line in
            (folder / "journal.jsl").read_text(encoding="utf-8").splitlines()]


# ---- the schema ----------------------------------------------------------------------------------

def test_results_keep_to_the_schema(schema, results):
    assert [error.message for error in schema.iter_errors(results)] == []


def change(results, path, value):
    changed = copy.deepcopy(results)
    at = changed
    for step in path[:-1]:
        at = at[step]
    if value is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return changed


POINT = ["experiments", 0, "points", 0]


@pytest.mark.parametrize("path, value", [
    (["schema"], "something-else"),
    (["version"], 2),
    (["status"], "done"),
    (["started"], "yesterday"),
    (["machine"], KeyError),
    (["machine", "microcode"], 0),
    (["machine", "hypervisor"], ""),
    (["machine", "caches", 0, "size"], "48K"),
    (["machine", "tlb", 0, "page_sizes"], ["8K"]),
    (["machine", "page_sizes", 2, "reason"], None),
    (["machine", "prefetchers"], None),
    (["machine", "prefetchers", "switches", 0, "found"], True),
    (["clock", "tsc_hz"], 0),
    (["clock", "invariant"], 1),
    (["settings", "suite"], "smoke"),
    (["noise", "seconds"], None),
    (["experiments", 2, "reason"], None),
    (["experiments", 2, "fault", "ip"], 12345),
    (["experiments", 1, "checks", 0, "ok"], "yes"),
    (["findings", 0, "text"], ""),
    (["findings", 0, "agrees"], "no"),
    (POINT + ["ns"], None),
    (POINT + ["ns", "median"], "1.5"),
    (POINT + ["ns", "samples"], 0),
    (POINT + ["ns", "coverage"], 0.98),
    (POINT + ["cycles"], KeyError),
    (POINT + ["operations"], 0),
    (POINT + ["flags"], ["strange"]),
    (POINT + ["flags"], ["noisy", "noisy"]),
    (POINT + ["variant", "page_size"], 8192),
    (POINT + ["variant", "order"], "backwards"),
    (POINT + ["variant", "prefetchers"], "on"),
    (POINT + ["variant", "speed"], 1),
    (POINT + ["proof"], None),
    (POINT + ["proof", "page_leaves"], {"4K": 1}),
    (POINT + ["proof", "memory_type"], "write-back"),
    (POINT + ["proof", "prefetchers", "dcu"], 1),
    (["experiments", 0, "points", 2, "counters", "l1d_miss"], -1),
    (["experiments", 0, "points", 2, "counters", "luck"], 1),
    (["experiments", 0, "points", 3, "ns", "ci95"], [1]),
    (["experiments", 0, "points", 3, "ns", "coverage"], None),
])
def test_schema_refuses(schema, results, path, value):
    assert not schema.is_valid(change(results, path, value))


@pytest.mark.parametrize("path, value", [
    (["something_new"], {"a": 1}),
    (["machine", "something_new"], 1),
    (POINT + ["topdown"], {"retiring": 0.5, "bad_speculation": None}),
    (POINT + ["variant", "prefetchers"], "off:l2_stream+dcu_ip"),
    (POINT + ["proof", "prefetchers", "l9_stream"], "on"),
    (["noise"], None),
    (["started"], None),
])
def test_schema_leaves_room(schema, results, path, value):
    assert schema.is_valid(change(results, path, value))


def test_numbers_are_not_rounded(results):
    medians = [point["ns"]["median"] for point in results["experiments"][0]["points"]]
    assert medians == [1.3513513513513513, 0.1 + 0.2, 12.5, 4.25, 123.456]


def test_text_is_what_was_meant(results):
    assert results["name"] == "Büro \ufffd 1"
    assert results["machine"]["board"]["vendor"] == 'Example "Inc"'


# ---- the other files agree with it ---------------------------------------------------------------

def test_journal_has_all_of_the_results(saved, results):
    journal = records(saved)
    header, end = journal[0], journal[-1]
    assert header["type"] == "header" and end["type"] == "end"
    for key in ("program", "started", "name", "repeat_line", "machine", "clock", "settings"):
        assert header[key] == results[key]
    assert end["status"] == results["status"]
    assert end["noise"] == results["noise"]
    points = [{key: value for key, value in record.items()
               if key not in ("type", "seconds", "experiment", "samples")}
              for record in journal if record["type"] == "point"]
    assert points == [point for experiment in results["experiments"]
                      for point in experiment["points"]]
    findings = [{key: value for key, value in record.items() if key not in ("type", "seconds")}
                for record in journal if record["type"] == "finding"]
    assert findings == results["findings"]
    ends = {record["name"]: record for record in journal if record["type"] == "experiment"}
    for experiment in results["experiments"]:
        record = ends[experiment["name"]]
        assert record["points"] == len(experiment["points"])
        for key in ("title", "status", "reason", "fault", "checks"):
            assert record[key] == experiment[key]


def test_csv_has_all_points(saved, results):
    with open(saved / "results.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    points = [(experiment["name"], point) for experiment in results["experiments"]
              for point in experiment["points"]]
    assert len(rows) == len(points)
    for row, (name, point) in zip(rows, points):
        assert None not in row and row["experiment"] == name
        for key, value in point["variant"].items():
            assert row[key] == str(value)
        for kind in ("ns", "cycles"):
            spread = point[kind] or {}
            for key in ("median", "min", "max", "mad", "coverage", "samples", "visits"):
                text = row[f"{kind}_{key}"]
                assert (float(text) if text else None) == spread.get(key)
            low = row[f"{kind}_ci95_low"]
            assert (float(low) if low else None) == (spread.get("ci95") or [None])[0]
        assert [flag for flag in row["flags"].split("+") if flag] == point["flags"]
        for key, value in (point["counters"] or {}).items():
            assert (float(row[key]) if row[key] else None) == value


# ---- over the serial line ------------------------------------------------------------------------

@pytest.fixture(scope="module")
def sent(example):
    return example(0)


def test_serial_line_brings_the_same_files(root, saved, sent, tmp_path):
    assert serial_files(root, sent / "capture", tmp_path) == (0, "")
    assert sorted(path.name for path in (tmp_path / "RUN0001").iterdir()) == sorted(
        FILES + ["console.log"])
    for name in FILES:
        assert (tmp_path / "RUN0001" / name).read_bytes() == (saved / name).read_bytes()


def test_log_is_what_people_read(root, saved, sent, tmp_path):
    serial_files(root, sent / "capture", tmp_path)
    log = (tmp_path / "RUN0001/console.log").read_text(encoding="ascii")
    assert "@" not in log.replace("begin with @", "").replace("9000 @ 3.00GHz", "")
    # The same as on the stick, but for what is said about saving.
    table = [line for line in log.splitlines() if "scattered" in line]
    assert table and table == [line for line in (saved / "console.log").read_text(
        encoding="ascii").splitlines() if "scattered" in line]


def as_terminal(capture):
    """What a terminal makes of it: carriage returns, the firmware's noise before and after."""
    return (b"\x1b[2J\x1b[01;01HBdsDxe: loading Boot0001\r\n\x00"
            + capture.replace(b"\n", b"\r\n") + b"\x1b[0mShell> ")


def test_capture_of_a_terminal(root, saved, sent, tmp_path):
    (tmp_path / "capture").write_bytes(as_terminal((sent / "capture").read_bytes()))
    status, said = serial_files(root, tmp_path / "capture", tmp_path / "out")
    assert (status, said) == (0, "")
    for name in FILES:
        assert (tmp_path / "out/RUN0001" / name).read_bytes() == (saved / name).read_bytes()
    log = (tmp_path / "out/RUN0001/console.log").read_bytes()
    assert log.startswith(b"Ironchase ") and b"\r" not in log


def test_doubled_lines_are_taken_once(root, saved, sent, tmp_path):
    lines = (sent / "capture").read_bytes().splitlines(keepends=True)
    (tmp_path / "capture").write_bytes(b"".join(
        line * (2 if line.startswith(b"@") else 1) for line in lines))
    assert serial_files(root, tmp_path / "capture", tmp_path / "out") == (0, "")
    for name in FILES:
        assert (tmp_path / "out/RUN0001" / name).read_bytes() == (saved / name).read_bytes()


def test_two_runs_in_one_capture(root, saved, sent, tmp_path):
    (tmp_path / "capture").write_bytes((sent / "capture").read_bytes() * 2)
    assert serial_files(root, tmp_path / "capture", tmp_path / "out") == (0, "")
    for run in ("RUN0001", "RUN0002"):
        for name in FILES:
            assert (tmp_path / "out" / run / name).read_bytes() == (saved / name).read_bytes()
    # A folder that is there is never touched.
    assert serial_files(root, sent / "capture", tmp_path / "out") == (0, "")
    assert (tmp_path / "out/RUN0003").is_dir()


def damaged(capture, name, number, how):
    """The capture with one line of a file changed."""
    prefix = f"@{name} {number} ".encode()
    lines = capture.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if line.startswith(prefix)]
    assert len(found) == 1
    lines[found[0]] = how(lines[found[0]])
    return b"".join(lines)


def drop(_line):
    return b""


def alter(line):
    return line[:-5] + b"#" + line[-4:]


def cut(line):
    return line[:-4] + b"\n"


@pytest.mark.parametrize("how", [drop, alter, cut])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_named(root, saved, sent, tmp_path, name, how):
    (tmp_path / "capture").write_bytes(damaged((sent / "capture").read_bytes(), name, 3, how))
    status, said = serial_files(root, tmp_path / "capture", tmp_path / "out")
    assert status == 1
    assert f"{name}: lines 3 of it are missing or altered" in said
    assert ("altered on the way" in said) == (how is not drop)
    out = tmp_path / "out/RUN0001"
    if name.endswith(".json"):
        assert not (out / name).exists() and f"{name}: not written" in said
    else: # whole lines of the true file, and only those
        true = (saved / name).read_bytes().splitlines()
        kept = (out / name).read_bytes().splitlines()
        assert 0 < len(kept) < len(true) and set(kept) < set(true)
    for other in set(FILES) - {name}:
        assert (out / other).read_bytes() == (saved / other).read_bytes()


def test_power_cut_leaves_a_journal(root, saved, sent, tmp_path):
    capture = (sent / "capture").read_bytes()
    # After the first experiment the journal so far has been sent.
    (tmp_path / "capture").write_bytes(capture[:capture.index(b"\nselftest: ")])
    status, said = serial_files(root, tmp_path / "capture", tmp_path / "out")
    assert status == 1 and "journal.jsl: its end is missing" in said
    kept = (tmp_path / "out/RUN0001/journal.jsl").read_bytes()
    assert (saved / "journal.jsl").read_bytes().startswith(kept)
    assert sum(b'"type": "point"' in line for line in kept.splitlines()) == 5


def test_full_stick_and_serial_line_together_lose_nothing(root, saved, example, tmp_path):
    folder = example(5000)
    status, said = serial_files(root, folder / "capture", tmp_path)
    assert status == 1 and "journal.jsl: only what the stick did not take" in said
    text = (folder / "capture").read_text(encoding="utf-8")
    assert text.count("journal.jsl CAN NO LONGER BE SAVED") == 1
    out = tmp_path / "RUN0001"
    assert (out / "results.json").read_bytes() == (saved / "results.json").read_bytes()
    whole = (folder / "journal.jsl").read_bytes().splitlines(keepends=True)
    on_stick = [line for line in whole if line.endswith(b"\n")]
    together = b"".join(on_stick) + (out / "journal.jsl.rest").read_bytes()
    assert together == (saved / "journal.jsl").read_bytes()
    assert not (out / "results.csv").exists()
    assert (folder / "results.csv").read_bytes() == (saved / "results.csv").read_bytes()


def test_capture_without_files(root, tmp_path):
    (tmp_path / "capture").write_bytes(b"login: \r\n")
    status, said = serial_files(root, tmp_path / "capture", tmp_path / "out")
    assert status == 1 and "no file of a run" in said
    status, said = serial_files(root, tmp_path / "nothing", tmp_path / "out")
    assert status == 1 and "No such file" in said and "Traceback" not in said


@pytest.mark.parametrize("name", ["@rack 7 x", "@journal.jsl 3 00000000 :", "@results.csv 1 a"])
def test_name_that_looks_like_a_line_of_a_file(root, saved, sent, tmp_path, name):
    """It belongs to what people read, and stays there."""
    row = f"Name      {name}\n        {name}\n".encode()
    capture = (sent / "capture").read_bytes()
    after = capture.index(b"\n") + 1
    (tmp_path / "capture").write_bytes(capture[:after] + row + capture[after:])
    assert serial_files(root, tmp_path / "capture", tmp_path / "out") == (0, "")
    assert row in (tmp_path / "out/RUN0001/console.log").read_bytes()
    for file in FILES:
        assert (tmp_path / "out/RUN0001" / file).read_bytes() == (saved / file).read_bytes()


def test_output_that_cannot_be_made(root, sent, tmp_path):
    (tmp_path / "file").write_text("")
    for output in (tmp_path / "file", tmp_path / "file/below"):
        status, said = serial_files(root, sent / "capture", output)
        assert (status, said) == (2, f"serial_files: {output / 'RUN0001'}: Not a directory\n")
