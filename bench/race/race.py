#!/usr/bin/env python3
"""Races Quire against llama.cpp and ik_llama.cpp by turns, and compares each with what the machine allows.

    bench/race/race.py --model FILE.gguf [--backend avx2] [--peer NAME=FOLDER]... [--rounds 3]
                       [--depths 0,2048,8192] [--streams 1,4,16,64] [--json OUT]

FOLDER holds a peer's llama-batched-bench, built with the instructions of --backend only. Flags after a
comma go to it (ik_llama.cpp=FOLDER,-rtr). A peer that is not there is named and skipped.

Each round measures the roofs, then each engine with the same file and threads. The figures are tokens a
second of a prompt, of decoding after so many tokens, and of so many streams. The table has medians with
the least and the most, Quire over each peer, and the share of the roof that Quire reaches. The roof of a
prompt is the multiplications of the kernel set. The roof of decoding is the memory that the weights and
the keys and values are read from. Of a mixture of experts, each step reads only the chosen experts. A state of
recurrent layers is read and written at each step.
Nothing else should run on the machine.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIRE = ROOT / "build/release/quire"
ROOF = ROOT / "build/release/bench/race_roof"
SHORT = 16  # Tokens before those that streams decode.


def outputs_of(command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout, done.stderr


def output_of(command):
    return outputs_of(command)[0]


class Quire:
    def __init__(self, args):
        self.args = args

    def measure(self, prompt, streams, depth):
        command = [QUIRE, "bench", "generate", "--model", self.args.model, "--threads", self.args.threads,
                   "--repetitions", "1", "--json", "--prompt-tokens", prompt, "--streams", streams,
                   "--depth", max(SHORT, depth), "--decode-tokens", self.args.decode]
        if self.args.backend != "auto":
            command += ["--backend", self.args.backend]
        row = json.loads(output_of(command))
        self.backend = row["backend"]
        return row[f"prefill_{prompt}"]["median"], row[f"decode_{streams}"]["median"]


class Peer:
    def __init__(self, args, folder, flags):
        self.args, self.program, self.flags = args, folder / "llama-batched-bench", flags

    def measure(self, prompt, streams, depth):
        before = max(SHORT, depth)
        wide = self.batch(prompt, 1, 2)["S_PP"] if prompt > SHORT else 0.0
        return wide, self.batch(before, streams, self.args.decode)["S_TG"]

    def batch(self, before, streams, decode):
        outputs = outputs_of([self.program, "-m", self.args.model, "-t", self.args.threads, "-b", "2048", "-ub", "512",
                              "-c", streams * (before + decode) + 64, "-npp", before, "-ntg", decode,
                              "-npl", streams, *self.flags])
        return last_row("".join(outputs))  # ik_llama.cpp prints its table where it prints its errors.


def last_row(text):
    """The last row of the table that llama-batched-bench prints, by the names of its columns."""
    table = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()
             if line.startswith("|") and "---" not in line]
    if len(table) < 2:
        sys.exit(f"llama-batched-bench printed no table:\n{text[-1000:]}")
    return {name.split()[0]: float(cell) for name, cell in zip(table[0], table[-1])}


def cases(args):
    """(name, prompt, streams, depth) of each measurement; the first has the prompt's own figure."""
    numbers = lambda text: [int(each) for each in text.split(",") if each]
    yield f"decode at {numbers(args.depths)[0]}", args.prompt, 1, numbers(args.depths)[0]
    for depth in numbers(args.depths)[1:]:
        yield f"decode at {depth}", SHORT, 1, depth
    for streams in numbers(args.streams):
        if streams > 1:
            yield f"{streams} streams", SHORT, streams, SHORT


def round_of(args, engine):
    figures = {}
    for name, prompt, streams, depth in cases(args):
        wide, decoded = engine.measure(prompt, streams, depth)
        if prompt == args.prompt:
            figures[f"prefill {prompt}"] = wide
        figures[name] = decoded
    return figures


def weight_bytes(facts, streams):
    """The bytes of weights that a step of one token a stream reads.

    A token reads its share of the experts, which weight_bytes_per_token has. Streams choose on their own, so a step
    reads the experts that at least one of them chose.
    """
    if facts.get("expert_count", 0) == 0:
        return facts["weight_bytes_per_token"]
    share = facts["expert_used_count"] / facts["expert_count"]
    others = facts["weight_bytes_per_token"] - share * facts["expert_bytes"]
    return others + (1 - (1 - share) ** streams) * facts["expert_bytes"]


def shares(args, facts, roofs, backend):
    """Returns the most that the roofs allow for each figure, in tokens a second."""
    memory = statistics.median(roof["memory_gb"] for roof in roofs) * 1e9
    peaks = [roof["peak_gops"].get(backend) for roof in roofs]
    body = facts["parameters_per_token"] - facts["embedding_width"] * facts["vocabulary_size"]
    allowed = {}
    if None not in peaks:
        allowed[f"prefill {args.prompt}"] = statistics.median(peaks) * 1e9 / (2 * body)
    for name, _, streams, depth in cases(args):
        kv = streams * (max(SHORT, depth) + args.decode / 2) * facts["kv_bytes_per_token"]
        states = streams * 2 * facts.get("state_bytes", 0)
        allowed[name] = streams * memory / (weight_bytes(facts, streams) + kv + states)
    return allowed


def peers_of(args):
    build = "-avx2" if args.backend in ("avx2", "avxvnni") else ""
    cache = pathlib.Path.home() / ".cache/quire-peers"
    named = args.peer or [f"llama.cpp={cache}/llama.cpp-b11434{build}/bin", f"ik_llama.cpp={cache}/ik_llama.cpp-0.1.5{build}/bin"]
    for each in named:
        name, _, rest = each.partition("=")
        folder, *flags = rest.split(",")
        if (pathlib.Path(folder) / "llama-batched-bench").exists():
            yield name, Peer(args, pathlib.Path(folder), flags)
        else:
            print(f"{name}: skipped, no llama-batched-bench in {folder}")


def print_table(args, engines, rounds, allowed):
    cell = lambda values: f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"
    peers = [name for name in engines if name != "Quire"]
    print("".join([f"{'tokens/s':16}", *(f"{name:>28}" for name in engines), *(f"{'over ' + name:>20}" for name in peers),
                   f"{'of the roof':>14}"]))
    for figure in rounds["Quire"][0]:
        values = {name: [each[figure] for each in rounds[name]] for name in engines}
        ratios = [statistics.median(q / p for q, p in zip(values["Quire"], values[name])) for name in peers]
        share = f"{statistics.median(values['Quire']) / allowed[figure]:.0%}" if figure in allowed else "-"
        print("".join([f"{figure:16}", *(f"{cell(values[name]):>28}" for name in engines),
                       *(f"{ratio:>20.2f}" for ratio in ratios), f"{share:>14}"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--peer", action="append", metavar="NAME=FOLDER[,FLAG]...")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decode", type=int, default=32, help="tokens decoded in each measurement")
    parser.add_argument("--depths", default="0,2048,8192")
    parser.add_argument("--streams", default="1,4,16,64")
    parser.add_argument("--backend", default="auto", help="Quire's kernels: scalar, avx2, avxvnni or avx512")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    engines = {"Quire": Quire(args), **dict(peers_of(args))}
    facts = json.loads(output_of([QUIRE, "model", "show", args.model, "--json"]))
    rounds, roofs = {name: [] for name in engines}, []
    for index in range(args.rounds):
        roofs.append(json.loads(output_of([ROOF, args.threads])))
        for name, engine in engines.items():
            rounds[name].append(round_of(args, engine))
            print(f"round {index + 1}, {name}: {rounds[name][-1]}", file=sys.stderr)
    backend = engines["Quire"].backend
    allowed = shares(args, facts, roofs, backend)
    print(f"{facts['name']}, Quire {backend}, {args.threads} threads, {args.rounds} rounds; roofs: memory "
          f"{statistics.median(roof['memory_gb'] for roof in roofs):.1f} GB/s, multiplications and additions "
          f"{statistics.median(roof['peak_gops'].get(backend, 0) for roof in roofs):.0f} G/s")
    print_table(args, engines, rounds, allowed)
    if args.json:
        args.json.write_text(json.dumps({"rounds": rounds, "roofs": roofs, "allowed": allowed}, indent=1) + "\n")


if __name__ == "__main__":
    main()
