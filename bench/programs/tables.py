#!/usr/bin/env python3
"""Writes the tables of docs/benchmarks/techniques.md (claims) and bench/log/techniques.md (the newest run).

    bench/programs/tables.py            # writes them from the figures beside this file
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
ROOT = HERE.parents[1]
CLAIMS = "docs/benchmarks/techniques.md"
LOG = "bench/log/techniques.md"
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


def rounded(row: Row, member: str, suffix: str = "") -> str:
    digits = 2 if row[member] < 10 else 1 if row[member] < 100 else 0
    return f"{row[member + suffix]:.{digits}f}"


def spread(row: Row, member: str) -> str:
    median, least, most = (rounded(row, member, suffix) for suffix in ("", "_least", "_most"))
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
    """The techniques that were measured with the most clients, on both sides."""
    most = max(clients for _, _, clients in rows)
    lines = [f"| technique | {most} clients, tasks a minute: llama-server | Quire | times as many |", "|---|---|---|---:|"]
    for name in names_of(rows):
        if all((name, side, most) in rows for side in ("quire", "llama-server")):
            quire, peer = rows[name, "quire", most], rows[name, "llama-server", most]
            lines.append(f"| `{name}` | {spread(peer, 'tasks_per_minute')} | {spread(quire, 'tasks_per_minute')} | "
                         f"{times_more(rows, name):.1f} |")
    return lines


def computed_table(rows: Rows) -> list[str]:
    """The tokens that each of the two servers computed for a task of one client."""
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


def with_verdict(ratio: float, aim: float) -> str:
    return f"{ratio:.1f}" if ratio >= aim else f"{ratio:.1f}, **missed**"


def claims_table(rows: Rows) -> list[str]:
    """A row says that a technique is faster as a program, for one client and for the most clients."""
    most = max(clients for _, _, clients in rows)
    lines = [f"| technique | one client, s: llama-server | Quire | times as fast (aim: {LATENCY_AIM:.0f}) | "
             f"{most} clients, tasks a minute: llama-server | Quire | times as many (aim: {THROUGHPUT_AIM:.0f}) |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for name in names_of(rows):
        latency = LATENCY_AIM if name in AIMED else 0.0
        cells = [rounded(rows[name, side, 1], "seconds") for side in ("llama-server", "quire")]
        cells.append(with_verdict(times_faster(rows, name), latency))
        if all((name, side, most) in rows for side in ("quire", "llama-server")):
            throughput = THROUGHPUT_AIM if name in AIMED else 0.0
            cells += [rounded(rows[name, side, most], "tasks_per_minute") for side in ("llama-server", "quire")]
            cells.append(with_verdict(times_more(rows, name), throughput))
        else:
            cells += ["", "", "not measured"]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


def ends_of(rows: Rows, size_name: str) -> str:
    """How much faster the program is at the smallest and at the largest size."""
    sized = sorted((row["size"], name) for (name, side, _), row in rows.items() if side == "quire")
    return ", ".join(f"{times_faster(rows, name):.1f} times as fast ({size_name}: {size})"
                     for size, name in (sized[0], sized[-1]))


def growth_table() -> list[str]:
    """Claims on what the gain grows with."""
    stacked, calls, depth = rows_of("stacked"), rows_of("calls"), rows_of("depth")
    names = list(techniques.OPTIMIZATIONS)
    plain, whole = (times_more(stacked, name, names[0]) for name in (names[0], names[-1]))
    aim = f"{STACKED_AIM:.0f} times" + ("" if whole >= STACKED_AIM else ": **missed**")
    log = "../../bench/log/techniques.md"
    return [
        "| claim | figure | wanted | suite of `compare.py` | log |", "|---|---|---|---|---|",
        "| Three optimizations of a workflow together multiply the throughput of 16 clients | "
        f"{whole:.1f} times the client's, {plain:.1f} without them | {aim} | "
        f"`--suite stacked --rounds 1` | [log]({log}#optimizations-on-top-of-one-another) |",
        "| An agent of many calls gains more speed than one of none | "
        f"{ends_of(calls, 'calls')} | | `--suite calls --clients 1 --rounds 1` | [log]({log}#more-calls) |",
        "| A deep recursion gains more speed than a shallow one | "
        f"{ends_of(depth, 'depth')} | | `--suite depth --clients 1 --rounds 1` | [log]({log}#deeper-recursion) |",
    ]


def tables() -> dict[str, dict[str, list[str]]]:
    """The tables of each document."""
    rows = rows_of("techniques")
    log = {
        "techniques": latency_table("technique", rows, lambda row: f"`{row['technique']}`"),
        "throughput": throughput_table(rows),
        "computed": computed_table(rows),
        "depth": latency_table("depth", rows_of("depth"),
                               lambda row: f"{row['size']} ({2 ** (row['size'] + 1) - 1} calls)"),
        "calls": latency_table("calls", rows_of("calls"), lambda row: str(row["size"])),
        "stacked": stacked_table(rows_of("stacked")),
    }
    return {CLAIMS: {"claims": claims_table(rows), "growth": growth_table()}, LOG: log}


def with_tables(document: str, text: str) -> str:
    for name, lines in tables()[document].items():
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end of table -->)", re.DOTALL)
        text, count = pattern.subn(lambda found: f"{found[1]}\n" + "\n".join(lines) + f"\n\n{found[2]}", text)
        if count != 1:
            sys.exit(f"{document} has {count} places for the table {name}, not one")
    return text


def judge() -> None:
    rows = rows_of("techniques")
    for name in AIMED:
        print(f"{name:22} latency    {verdict(times_faster(rows, name), LATENCY_AIM)}")
        most = max(clients for _, _, clients in rows)
        is_measured = (name, "llama-server", most) in rows
        print(f"{name:22} throughput {verdict(times_more(rows, name), THROUGHPUT_AIM) if is_measured else 'not measured'}")
    ratio = times_more(rows_of("stacked"), list(techniques.OPTIMIZATIONS)[-1], list(techniques.OPTIMIZATIONS)[0])
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
    for document in (CLAIMS, LOG):
        text = (ROOT / document).read_text()
        if not options.check:
            (ROOT / document).write_text(with_tables(document, text))
        elif with_tables(document, text) != text:
            sys.exit(f"{document} is not what its figures say: run bench/programs/tables.py")


if __name__ == "__main__":
    main()
