#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks/techniques.md from the figures beside this file.

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
DOCUMENT = HERE.parents[1] / "docs/benchmarks/techniques.md"
PLAIN = "text_completion"
LATENCY_AIM, THROUGHPUT_AIM, STACKED_AIM = 1.0, 2.0, 3.0
AIMED = ("tree_of_thought", "recursion_of_thought", "graph_of_thought", "skeleton_of_thought", "beam_search_3",
         "beam_search_5", "agent_react", "agent_codeact", "agent_swarm")

Row = dict[str, Any]
Rows = dict[tuple[str, str, int], Row]


def rows_of(suite: str) -> Rows:
    """Empty if the suite has no figures."""
    file = HERE / f"{suite}.json"
    results = json.loads(file.read_text())["results"] if file.exists() else []
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


def latency_table(first: str, rows: Rows, label: Callable[[Row], str]) -> list[str]:
    lines = [f"| {first} | one client, s: llama-server | Quire | times as fast |", "|---|---|---|---:|"]
    for name in names_of(rows):
        quire, peer = rows[name, "quire", 1], rows[name, "llama-server", 1]
        lines.append(f"| {label(quire)} | {spread(peer, 'seconds')} | {spread(quire, 'seconds')} | "
                     f"{times_faster(rows, name):.1f} |")
    return lines


def throughput_table(rows: Rows) -> list[str]:
    """Of the techniques that were measured with the most clients, on both sides."""
    most = max(clients for _, _, clients in rows)
    lines = [f"| technique | {most} clients, tasks a minute: llama-server | Quire | times as many |", "|---|---|---|---:|"]
    for name in names_of(rows):
        if all((name, side, most) in rows for side in ("quire", "llama-server")):
            quire, peer = rows[name, "quire", most], rows[name, "llama-server", most]
            lines.append(f"| `{name}` | {spread(peer, 'tasks_per_minute')} | {spread(quire, 'tasks_per_minute')} | "
                         f"{times_more(rows, name):.1f} |")
    return lines


def computed_table(rows: Rows) -> list[str]:
    """What the two servers computed for a task of one client."""
    lines = ["| technique | generated | computed: llama-server | Quire | requests to llama-server |",
             "|---|---:|---:|---:|---:|"]
    for name in names_of(rows):
        peer, quire = rows[name, "llama-server", 1], rows[name, "quire", 1]
        generated = f"{peer['generated']}" if peer["generated"] else "by the schema"
        lines.append(f"| `{name}` | {generated} | {peer['computed_tokens']:,.0f} | {quire['computed_tokens']:,.0f} | "
                     f"{peer['requests']:.0f} |")
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
    """Of the suites that have figures beside this file."""
    found: dict[str, list[str]] = {}
    if rows := rows_of("techniques"):
        found["techniques"] = latency_table("technique", rows, lambda row: f"`{row['technique']}`")
        found["throughput"] = throughput_table(rows)
        found["computed"] = computed_table(rows)
    if rows := rows_of("depth"):
        found["depth"] = latency_table("depth", rows, lambda row: f"{row['size']} ({2 ** (row['size'] + 1) - 1} calls)")
    if rows := rows_of("calls"):
        found["calls"] = latency_table("calls", rows, lambda row: str(row["size"]))
    if rows := rows_of("stacked"):
        found["stacked"] = stacked_table(rows)
    return found


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
        print(f"{name:22} latency    {verdict(times_faster(rows, name), LATENCY_AIM)}")
        most = max(clients for _, _, clients in rows)
        is_measured = (name, "llama-server", most) in rows
        print(f"{name:22} throughput {verdict(times_more(rows, name), THROUGHPUT_AIM) if is_measured else 'not measured'}")
    if stacked := rows_of("stacked"):
        ratio = times_more(stacked, list(techniques.OPTIMIZATIONS)[-1], list(techniques.OPTIMIZATIONS)[0])
        print(f"{'stacked':22} throughput {verdict(ratio, STACKED_AIM)}")


def verdict(ratio: float, aim: float) -> str:
    return f"{ratio:5.2f} {'met' if ratio >= aim else 'MISSED'}: {aim}"


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
        sys.exit("docs/benchmarks/techniques.md is not what its figures say: run bench/programs/tables.py")


if __name__ == "__main__":
    main()
