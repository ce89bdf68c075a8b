#!/usr/bin/env python3
"""Measures the time of a token in a program in Rust and in JavaScript, over the same program in C++.

    bench/overhead/languages.py [--rounds 10] [--tokens 256]

Runs text_completion in each language on one server with the default model, by turns. The ratios are medians over
rounds of figures from the same round. Nothing else should run on the machine.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIRE = ROOT / "build/release/quire"


def tokens_per_second(url, program, tokens, prompt):
    ran = subprocess.run(
        [QUIRE, "run", "--server", url, program, "--", "--max-tokens", str(tokens), "--ignore-eos", "--prompt", prompt],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return float(re.search(r"([\d.,]+) tokens/s", ran.stderr)[1].replace(",", ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rust = pathlib.Path(folder) / "text_completion.wasm"
        subprocess.run([QUIRE, "build", ROOT / "inferlets/rust/text_completion", "-o", rust], check=True)
        programs = {"C++": ROOT / "build/release/inferlets/text_completion.wasm", "Rust": rust,
                    "JavaScript": ROOT / "sdk/javascript/examples/text_completion.js"}
        server = subprocess.Popen([QUIRE, "serve", "--listen", "127.0.0.1:0", "--no-store"], stdout=subprocess.PIPE, text=True)
        try:
            url = re.search(r"(ws://\S+)", server.stdout.readline())[1]
            figures = {name: [] for name in programs}
            for turn in range(-1, options.rounds):  # The first one warms up.
                order = list(programs)[turn % 3:] + list(programs)[:turn % 3]
                for name in order:
                    figure = tokens_per_second(url, programs[name], options.tokens, f"{turn} Once upon a time")
                    if turn >= 0:
                        figures[name].append(figure)
        finally:
            server.terminate()
            server.wait()
    for name, each in figures.items():
        ratio = statistics.median(cpp / own for cpp, own in zip(figures["C++"], each))
        print(f"{name:12}{statistics.median(each):8.1f} tokens/s ({min(each):.1f} to {max(each):.1f}), "
              f"a token takes {(ratio - 1) * 100:+.1f} % over C++")


if __name__ == "__main__":
    main()
