#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks/programs.md from the figures beside this file.

    bench/programs/tables.py            # writes them into the document
    bench/programs/tables.py --check    # fails if a table there is not what the figures say
    bench/programs/tables.py --judge    # prints which aims are met

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""
import argparse
import json
import pathlib
import re
import sys
from typing import Any, Callable

import techniques

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "docs/benchmarks/programs.md"
PLAIN = "text_completion"
LATENCY_AIM, THROUGHPUT_AIM, STACKED_AIM = 1.0, 2.0, 3.0
AIMED = ("tree_of_thought", "recursion_of_thought", "graph_of_thought", "skeleton_of_thought", "beam_search_3",
         "beam_search_5", "agent_react", "agent_codeact", "agent_swarm")

Row = dict[str, Any]
Rows = dict[tuple[str, str, int], Row]


def rows_of(suite: str) -> Rows:
    results = json.loads((HERE / f"{suite}.json").read_text())["results"]
    return {(row["technique"], row["side"], row["clients"]): row for row in results}


def names_of(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in rows))


def spread(row: Row, member: str) -> str:
    digits = 2 if row[member] < 10 else 1 if row[member] < 100 else 0
    median, least, most = (f"{row[member + suffix]:.{digits}f}" for suffix in ("", "_least", "_most"))
    return f"{median} ({least} to {most})"


def times_faster(rows: Rows, name: str) -> float:
    return rows[name, "llama-server", 1]["seconds"] / rows[name, "quire", 1]["seconds"]


def times_more(rows: Rows, name: str, peer: str = "") -> float:
    most = max(clients for _, _, clients in rows)
    peer_row = rows[peer or name, "llama-server", most]
    return rows[name, "quire", most]["tasks_per_minute"] / peer_row["tasks_per_minute"]


def pair_table(first: str, rows: Rows, label: Callable[[Row], str]) -> list[str]:
    most = max(clients for _, _, clients in rows)
    lines = [f"| {first} | one client, s: llama-server | Quire | times as fast | {most} clients, tasks a minute: "
             "llama-server | Quire | times as many |", "|---|---|---|---:|---|---|---:|"]
    for name in names_of(rows):
        quire, peer = ({count: rows[name, side, count] for count in (1, most)} for side in ("quire", "llama-server"))
        lines.append(
            f"| {label(quire[1])} | {spread(peer[1], 'seconds')} | {spread(quire[1], 'seconds')} | "
            f"{times_faster(rows, name):.1f} | {spread(peer[most], 'tasks_per_minute')} | "
            f"{spread(quire[most], 'tasks_per_minute')} | {times_more(rows, name):.1f} |")
    return lines


def computed_table(rows: Rows) -> list[str]:
    """What the two servers computed for a task."""
    most = max(clients for _, _, clients in rows)
    lines = ["| technique | generated | one client, computed: llama-server | Quire | "
             f"{most} clients, computed: llama-server | Quire | requests to llama-server |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name in names_of(rows):
        cells = [f"{rows[name, side, count]['computed_tokens']:,.0f}"
                 for count in (1, most) for side in ("llama-server", "quire")]
        peer = rows[name, "llama-server", 1]
        generated = f"{peer['generated']}" if peer["generated"] else "by the schema"
        lines.append(f"| `{name}` | {generated} | {' | '.join(cells)} | {peer['requests']:.0f} |")
    return lines


def stacked_table(rows: Rows) -> list[str]:
    most = max(clients for _, _, clients in rows)
    peer = next(name for name, side, _ in rows if side == "llama-server")
    lines = [f"| workflow | one client, s | {most} clients, tasks a minute | times the client's throughput |",
             "|---|---|---|---:|"]
    entrants = [("client of llama-server", peer, "llama-server"),
                *((f"program, optimizations: {name}", name, "quire") for name in techniques.OPTIMIZATIONS)]
    for label, name, side in entrants:
        ratio = times_more(rows, name, peer) if side == "quire" else 1.0
        lines.append(f"| {label} | {spread(rows[name, side, 1], 'seconds')} | "
                     f"{spread(rows[name, side, most], 'tasks_per_minute')} | {ratio:.1f} |")
    return lines


def tables() -> dict[str, list[str]]:
    return {
        "techniques": pair_table("technique", rows_of("techniques"), lambda row: f"`{row['technique']}`"),
        "computed": computed_table(rows_of("techniques")),
        "depth": pair_table("depth", rows_of("depth"), lambda row: f"{row['size']} ({2 ** (row['size'] + 1) - 1} calls)"),
        "calls": pair_table("calls", rows_of("calls"), lambda row: str(row["size"])),
        "stacked": stacked_table(rows_of("stacked")),
    }


def with_tables(text: str) -> str:
    for name, lines in tables().items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)", re.DOTALL)
        text, count = pattern.subn(lambda found: f"{found[1]}\n" + "\n".join(lines) + f"\n\n{found[2]}", text)
        if count != 1:
            sys.exit(f"{DOCUMENT.name} has {count} places for the table {name}, not one")
    return text


def judge() -> None:
    rows = rows_of("techniques")
    for name in AIMED:
        for what, ratio, aim in (("latency", times_faster(rows, name), LATENCY_AIM),
                                 ("throughput", times_more(rows, name), THROUGHPUT_AIM)):
            print(f"{name:22} {what:10} {ratio:5.2f} {'met' if ratio >= aim else 'MISSED'}: {aim}")
    stacked = rows_of("stacked")
    ratio = times_more(stacked, list(techniques.OPTIMIZATIONS)[-1], list(techniques.OPTIMIZATIONS)[0])
    print(f"{'stacked':22} {'throughput':10} {ratio:5.2f} {'met' if ratio >= STACKED_AIM else 'MISSED'}: {STACKED_AIM}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--judge", action="store_true")
    options = parser.parse_args()
    if options.judge:
        judge()
        return
    text = DOCUMENT.read_text()
    if not options.check:
        DOCUMENT.write_text(with_tables(text))
    elif with_tables(text) != text:
        sys.exit("docs/benchmarks/programs.md is not what its figures say: run bench/programs/tables.py")


if __name__ == "__main__":
    main()
