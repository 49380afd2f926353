#!/usr/bin/env python3
"""Makes the project's event table from a full list of events.

usage: make_events.py EVENTS.CSV table   the rows of hw/pmu_events.c, to be laid out by `make format`
       make_events.py EVENTS.CSV data    tests/data/events.csv, what the tests hold them to
       make_events.py EVENTS.CSV names   the logical events, as an enumeration

EVENTS.CSV has a line an event and microarchitecture, with the columns uarch, logical_event, event,
umask, cmask, inv, edge and restriction (words). Left out is what is no counter of the core: AMD's
L3 counters, and its free-running registers, which the list calls fixed.
"""

import csv
import re
import sys

COLUMNS = ["uarch", "logical", "event", "umask", "cmask", "inv", "edge", "any", "counters",
           "response", "umask2", "proxy"]


def short(uarch):
    return re.split(r"[ /]", uarch)[0] if "TNT" not in uarch else (
        "TNT-SNR" if "SNR" in uarch else "TNT")


def number(pattern, text, base):
    found = re.search(pattern, text)
    return int(found[1], base) if found else 0


def counters(text):
    found = re.search(r"GP counters ([0-9/]+) only", text)
    return sum(1 << int(n) for n in found[1].split("/")) if found else 0


def decode(line):
    words = line["restriction"]
    fixed = line["event"] == "fixed"
    return {
        "uarch": short(line["uarch"]),
        "logical": line["logical_event"],
        "event": "fixed" if fixed else f"{int(line['event'], 16):X}",
        "umask": number(r"fixed counter (\d)", words, 10) if fixed else (
            f"{int(line['umask'], 16):X}"),
        "cmask": int(line["cmask"]),
        "inv": int(line["inv"]),
        "edge": int(line["edge"]),
        "any": int("AnyThread=1" in words),
        "counters": f"{counters(words):X}",
        "response": f"{number(r'MSR 0x1A6[^=]*=0x([0-9a-fA-F]+)', words, 16):X}",
        "umask2": number(r"umask2\(bits 47:40\)=0x(\w+)", words, 16),
        "proxy": int("proxy:" in words),
    }


def is_of_the_core(line):
    return line["logical_event"] != "l3pmc_miss" and (
        line["event"] != "fixed" or "fixed counter" in line["restriction"])


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [decode(line) for line in csv.DictReader(file) if is_of_the_core(line)]


def c_name(uarch):
    return uarch.upper().replace("-", "_")


def runs(members, order):
    """The microarchitectures as a sum of ranges in the table's order."""
    parts = []
    for uarch in members:
        at = order.index(uarch)
        if parts and parts[-1][1] == at - 1:
            parts[-1][1] = at
        else:
            parts.append([at, at])
    return " | ".join(f"ONE({c_name(order[a])})" if a == b else
                      f"RANGE({c_name(order[a])}, {c_name(order[b])})" for a, b in parts)


def unique(values):
    return list(dict.fromkeys(values))


def flags(row):
    parts = [name.upper() for name in ("inv", "edge", "any", "proxy") if row[name]]
    parts += ["FIXED"] if row["event"] == "fixed" else []
    parts += [f"UMASK2({row['umask2']})"] if row["umask2"] else []
    return " | ".join(parts) or "0"


def table(rows):
    order = unique(row["uarch"] for row in rows)
    responses = ["0"] + unique(row["response"] for row in rows if row["response"] != "0")
    groups = {}
    for row in rows:
        key = tuple(row[column] for column in COLUMNS[1:])
        groups.setdefault(key, []).append(row["uarch"])
    print("static const uint64_t responses[] = {" +
          ", ".join(f"UINT64_C(0x{value})" for value in responses) + "};")
    print("static const struct row rows[] = {")
    names = unique(row["logical"] for row in rows)
    for key, members in sorted(groups.items(), key=lambda item: names.index(item[0][0])):
        row = dict(zip(COLUMNS[1:], key))
        event = "0" if row["event"] == "fixed" else f"0x{row['event']:0>2}"
        umask = row["umask"] if row["event"] == "fixed" else f"0x{row['umask']:0>2}"
        print(f"    {{ {event}, {umask}, {row['cmask']}, {flags(row)}, 0x{row['counters']}, "
              f"{responses.index(row['response'])}, PMU_{row['logical'].upper()}, "
              f"{runs(members, order)} }},")
    print("};")


def data(rows):
    print(",".join(COLUMNS))
    for row in rows:
        print(",".join(str(row[column]) for column in COLUMNS))


def names(rows):
    for name in unique(row["logical"] for row in rows):
        print(f"    PMU_{name.upper()},")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("table", "data", "names"):
        sys.exit(__doc__)
    {"table": table, "data": data, "names": names}[sys.argv[2]](read(sys.argv[1]))
