#!/usr/bin/env python3
"""The hostile suite in JavaScript: scripts that want too much or do harm, beside a victim with eight streams.

    script_test.py BUILD [--only NAME,...]
                              Starts each script again until the victim has ended. Each end must name the line and the
                              reason. The victim's tokens must not change. Memory and pages must come back.
    script_test.py BUILD --judge [--model FILE] [--rounds N]
                              Runs a victim beside 16 endless scripts, then beside 16 endless programs in C++ with the same
                              limits. Fails if the victim's tokens change. Fails if the 99th percentile of its waits
                              beside scripts is more than 1.1 times that beside C++, as the median of the rounds.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import beside
import hostile_test

sys.path.insert(0, str(beside.SOURCE / "tests" / "scripts"))
import http_peer  # noqa: E402
import packing  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parent / "hostile.js"
LOOP_COUNT = 16
P99_RATIO_MAX = 1.1
LOOP_FLAGS = ["--cpu-seconds-max", "0.5", "--memory-max", "64MiB"]
CPU = ["--cpu-seconds-max", "0.3"]
# For each program: its name, the number of instances at once, the flags of its launches, and the texts of its error.
SCRIPTS = [
    ("recursion", 1, [], ["hostile.js:{const deep}: RangeError: Maximum call stack size exceeded"]),
    ("memory", 1, ["--memory-max", "48MiB"], ["hostile.js:{for (;;) all.push}: InternalError: out of memory"]),
    ("handles", 1, [], ["hostile.js:{raw.runtime.sleep(60e9)}: quota-exceeded", "future_count_max"]),
    ("contexts", 1, [], ["hostile.js:{all.push(await first.fork())}: quota-exceeded", "context_count_max"]),
    ("tokens", 1, [], ["hostile.js:{context.append(tokens)}: quota-exceeded", "queued_token_count_max"]),
    ("pages", 1, ["--pages-max", "60"], ["hostile.js:{reserveWorkingPages(8)}: ", "page_count_max"]),
    ("spawn", 1, [], ["hostile.js:{sharePercent: 1}: quota-exceeded"]),
    ("messages", 1, [], ["hostile.js:{child.send(\"x\")}: quota-exceeded", "inbox_message_count_max"]),
    ("mailbox", 1, [], ["hostile.js:{messages.broadcast}: quota-exceeded", "mailbox_message_count_max"]),
    ("http", 1, [], ["hostile.js:{Exchange.open}: quota-exceeded", "http.exchange_count_max"]),
    ("output", 1, ["--output-max", "64KiB"], ["hostile.js:{session.send(line)}: quota-exceeded", "output_bytes_max"]),
    ("loop", LOOP_COUNT, CPU, ["cpu_ns_max"]),
    ("naps", LOOP_COUNT, CPU, ["cpu_ns_max"]),
    ("promises", LOOP_COUNT, CPU, ["cpu_ns_max"]),
    ("rejection", 1, [], ["hostile.js:{\"lost\"}: Error: lost"]),
    ("callback", 1, [], ["hostile.js:{onToken()}: Error: in a hook"]),
    ("timer", 1, [], ["hostile.js:{\"late\"}: Error: late"]),
    ("types", 1, [], ["hostile.js:{all were tried}: Error: all were tried"]),
    ("foreign", 1, [], ["hostile.js:{none was taken}: Error: none was taken"]),
    ("prototypes", 1, [], ["hostile.js:{null.x}: TypeError"]),
]


def with_line_number(text):
    """The text, with the words in braces replaced by the number of the line that holds them."""
    head, brace, rest = text.partition("{")
    if not brace:
        return text
    words, _, tail = rest.rpartition("}")
    numbers = [number for number, line in enumerate(SCRIPT.read_text().splitlines(), 1) if words in line]
    assert len(numbers) == 1, f"{words} is in lines {numbers}"
    return f"{head}{numbers[0]}{tail}"


def scripts(run, only=None):
    for name, count, flags, errors in SCRIPTS:
        if only and name not in only:
            continue
        _, ends = run.beside_victim(name, lambda *_: run.server.start(SCRIPT, [name, run.url], flags), count, has_word=True)
        for code, _, said in ends:
            for error in map(with_line_number, errors):
                run.expect(code == 4 and error in said, f"{name}: no end that says {error}: {code} {said[-500:]}")
        yield name


def damaged(build):
    """(name, module, part of the error) of modules that quire did not write."""
    runtime = packing.runtime_of(build / "runtimes", "javascript")
    good = packing.bundle(runtime, {"a.js": "export default async () => {};"}, "a.js")
    turned = bytearray(good)
    turned[8] ^= 0xFF
    yield "cut", packing.module(good[:-2]), "not a valid script"
    yield "turned", packing.module(bytes(turned)), "script"
    yield "of another runtime", packing.module(packing.bundle(runtime, {"a.js": ""}, "a.js", digest="00" * 32)), "this server has javascript"
    yield "without its entry", packing.module(packing.bundle(runtime, {"a.js": ""}, "b.js")), "b.js"
    yield "no UTF-8", packing.module(packing.bundle(runtime, {"a.js": b"\n\xff\xfe"}, "a.js")), "UTF-8"
    yield "too large", packing.module(packing.bundle(runtime, {"a.js": b" " * (5 << 20)}, "a.js")), "4194304"
    yield "100 MB", packing.module(packing.bundle(runtime, {"a.js": b" " * 100_000_000}, "a.js")), "at most 67108864"


def ends_of_damaged(run, build):
    folder = build / "tests" / "hostile"
    for name, module, said in damaged(build):
        file = folder / "damaged.wasm"
        file.write_bytes(module)
        code, _, why = run.server.run(file)
        run.expect(code not in (0, 139) and said in why, f"{name}: {code} {why[-500:]}")
    run.expect(beside.streams_of(run.victim()) == beside.streams_of(run.alone), "the victim gives other tokens after damaged scripts")


def free_pages(build, server):
    answer = subprocess.run([build / "quire", "status", "--server", server.url, "--json"], check=True, stdout=subprocess.PIPE,
                            timeout=60, env=beside.environment())
    return json.loads(answer.stdout)["page_count_free"]


def check(build, only):
    peer, port = http_peer.start()
    with beside.Server(build, ["--allow-http", f"127.0.0.1:{port}"]) as server:
        run = hostile_test.Run(build, server, f"http://127.0.0.1:{port}/silent")
        for _ in scripts(run, only):  # From here on the server keeps what it keeps for the next start of each.
            pass
        base, pages = server.quiet_resident_bytes(), free_pages(build, server)
        for name in scripts(run, only):
            now = beside.settled(server.resident_bytes, base * hostile_test.MEMORY_SHARE)
            run.expect(now <= base * hostile_test.MEMORY_SHARE or hostile_test.is_sanitized(build),
                       f"{name}: {now >> 10} KiB are resident, {base >> 10} KiB were")
            left = -beside.settled(lambda: -free_pages(build, server), -pages)
            run.expect(left >= pages, f"{name}: {left} pages are free, {pages} were")
        ends_of_damaged(run, build)
        code, _, said = server.run(SCRIPT, ["after"])
        run.expect(code == 0, f"after: {code} {said[-500:]}")
    run.expect(server.exit_code == 0, f"the server ended with {server.exit_code}")
    peer.shutdown()
    run.print_overlaps()
    print("\n".join(run.failures) or f"{len(SCRIPTS)} scripts were stopped")
    return not run.failures


def judge(build, model, round_count):
    programs = {"C++": (beside.guest(build, "hostile"), ["loop", ""]), "scripts": (SCRIPT, ["loop"])}
    with beside.Server(build, [], hostile_test.PAGE_COUNT, model, hostile_test.CLIENT_NICENESS) as server:
        run = hostile_test.Run(build, server, "")
        ratios = []
        for _ in range(round_count):
            p99 = {}
            for name, (program, words) in programs.items():
                victim, _ = run.beside_victim(name, lambda *_: server.start(program, words, LOOP_FLAGS), LOOP_COUNT, has_word=True)
                p99[name] = hostile_test.gaps_of(victim)[1]
            ratios.append(p99["scripts"] / p99["C++"])
            alone = hostile_test.gaps_of(run.victim())[1]
            print(f"p99 of the victim's waits: {alone} us alone, {p99['C++']} us beside {LOOP_COUNT} loops in C++, "
                  f"{p99['scripts']} us beside {LOOP_COUNT} scripts; {ratios[-1]:.2f} times", flush=True)
    print("\n".join(run.failures) or f"the same tokens each time; the median of {round_count} rounds is {statistics.median(ratios):.2f}")
    return not run.failures and statistics.median(ratios) <= P99_RATIO_MAX


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--model", default=beside.TINY)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", type=lambda names: names.split(","))
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "runtimes" / "javascript.json").exists():
        print("skipped: the runtime of JavaScript was not built")
        return True
    return judge(build, options.model, options.rounds) if options.judge else check(build, options.only)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
