#!/usr/bin/env python3
"""Times Quire against llama.cpp, alternating in one run: prefill, decode and streams side by side.

    bench/peer/compare.py --peer FOLDER --model FILE.gguf [--rounds 5] [--threads 2]
                          [--backend avx2] [--json OUT]

FOLDER holds llama-bench and llama-batched-bench. Each round runs the peer, then Quire, on the same
file with the same threads, with the kernels of --backend where it says so (for a peer that is built
without what the machine has more); figures are tokens per second, medians over the rounds with the least
and the most, and the ratio of medians. Nothing else should run on the machine.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def peer_round(args):
    figures = {}
    rows = json.loads(output_of([args.peer / "llama-bench", "-m", args.model, "-t", args.threads,
                                 "-p", args.prompt, "-n", args.decode, "-r", "1", "-o", "json"]))
    for row in rows:
        figures["prefill" if int(row["n_gen"]) == 0 else "decode"] = float(row["avg_ts"])
    text = output_of([args.peer / "llama-batched-bench", "-m", args.model, "-t", args.threads,
                      "-c", str(args.streams * 160), "-npp", "16", "-ntg", args.decode,
                      "-npl", str(args.streams), "--output-format", "jsonl"])
    for line in text.splitlines():
        if line.startswith("{"):
            figures["streams"] = float(json.loads(line)["speed_tg"])
    return figures


def quire_round(args):
    program = ROOT / "build/release/quire"
    common = ["--model", args.model, "--threads", args.threads, "--repetitions", "1", "--json"]
    if args.backend:
        common += ["--backend", args.backend]
    wide = json.loads(output_of([program, "bench", "generate", *common, "--prompt-tokens", args.prompt,
                                 "--decode-tokens", args.decode, "--streams", "1"]))
    many = json.loads(output_of([program, "bench", "generate", *common, "--prompt-tokens", "16",
                                 "--decode-tokens", args.decode, "--streams", str(args.streams)]))
    return {"prefill": wide[f"prefill_{args.prompt}"]["median"], "decode": wide["decode_1"]["median"],
            "streams": many[f"decode_{args.streams}"]["median"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--prompt", default="512")
    parser.add_argument("--decode", default="64")
    parser.add_argument("--backend", help="Quire's kernels: scalar, avx2 or avx512")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    rounds = {"peer": [], "quire": []}
    for index in range(args.rounds):
        for who, measure in (("peer", peer_round), ("quire", quire_round)):
            rounds[who].append(measure(args))
            print(f"round {index + 1}, {who}: {rounds[who][-1]}", file=sys.stderr)
    result = {}
    print(f"{'':24}{'llama.cpp':>22}{'Quire':>22}{'ratio':>8}")
    for figure in ("prefill", "decode", "streams"):
        row = {}
        for who in rounds:
            values = sorted(each[figure] for each in rounds[who])
            row[who] = {"median": statistics.median(values), "least": values[0], "most": values[-1]}
        row["ratio"] = row["quire"]["median"] / row["peer"]["median"]
        result[figure] = row
        cell = lambda x: f"{x['median']:.0f} ({x['least']:.0f} to {x['most']:.0f})"
        name = f"{args.streams} streams" if figure == "streams" else f"{figure} {args.prompt}" if figure == "prefill" else figure
        print(f"{name:24}{cell(row['peer']):>22}{cell(row['quire']):>22}{row['ratio']:>8.2f}")
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
