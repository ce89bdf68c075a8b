#!/usr/bin/env python3
"""Writes store_NAME/ and store_NAME.json beside itself: what a build of quire saves, and what it answers with.

    make_old_store.py QUIRE NAME     (the program, and the commit it was built from)

For each model, the store holds the context of a prompt and of the tokens that QUIRE drew after it (full pages and a
part of one), and those tokens as a value by key. QUIRE then opens what it saved, and the JSON file has what it drew
and how many tokens it found. A later build must do the same: tests/end_to_end/old_store_test.py.

QUIRE lies in the folder that it was built in. The guest is compiled with the SDK of that checkout.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GUEST = HERE.parent / "end_to_end/guests/saved_text.cpp"
MODELS = ("tiny_llama", "tiny_qwen3")
PROMPT = [3 + index * 7 % 200 for index in range(48)]  # Three pages of 16 tokens.
DRAWN_COUNT = 12
BYTES_MAX = 256 * 1024
SECONDS = 120


def go_on(quire, guest, model, store, *options):
    """Runs saved_text, which draws DRAWN_COUNT tokens. Returns the completed process, and if it succeeded, its answer."""
    # Variables of quire would change the answer, and a folder without data has no other store or model.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}
    done = subprocess.run(
        [quire, "run", guest, "--model", model, "--store", store, "--backend", "scalar", "--threads", "1", "--kv-pages", "64",
         "--json", "--", "--count", str(DRAWN_COUNT), *options],
        capture_output=True, text=True, env={**kept, "QUIRE_DATA": str(pathlib.Path(store).parent / "data")}, timeout=SECONDS)
    if done.returncode != 0:
        return done, None
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    drawn, *values = [json.loads(line["message"]) for line in lines if "message" in line]
    end = next(line for line in lines if "exit_code" in line)
    counts = {key: end[key] for key in ("opened_tokens", "found_tokens", "computed_tokens")}
    return done, {"drawn": drawn, **counts, **({"value": values[0]} if values else {})}


def main(quire, name):
    with tempfile.TemporaryDirectory() as work:
        store = pathlib.Path(work, "store")

        def answer(model, *options):
            done, answered = go_on(quire, GUEST, HERE / model, store, *options)
            return answered or sys.exit(f"{quire} did not go on with {model}: exit code {done.returncode}\n{done.stderr}")

        prompt = json.dumps(PROMPT)
        expected = {}
        for model in MODELS:
            saved = answer(model, "--text", prompt, "--save", model)
            again = answer(model, "--text", prompt, "--open", model)
            if again["drawn"] != saved["drawn"]:
                sys.exit(f"{quire} drew {again['drawn']} after pages that it found, and {saved['drawn']} before")
            expected[model] = {"prompt": again, "saved context": answer(model, "--open", model)}
        # An engine makes the other files anew.
        kept = [*store.glob("index.sqlite"), *store.glob("pages-*.quire"), *store.glob("sharing.secret")]
        total = sum(path.stat().st_size for path in kept)
        if total > BYTES_MAX:
            sys.exit(f"the store has {total} bytes: more than {BYTES_MAX}")
        target = HERE / f"store_{name}"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for path in kept:
            shutil.copyfile(path, target / path.name)
    lines = [f'    "{model}": {{\n' + ",\n".join(f'      "{how}": {json.dumps(each)}' for how, each in cases.items()) + "\n    }"
             for model, cases in expected.items()]
    text = f'{{\n  "tokens": {json.dumps(PROMPT)},\n  "models": {{\n' + ",\n".join(lines) + "\n  }\n}\n"
    (HERE / f"store_{name}.json").write_text(text)
    print(f"store_{name}: {len(kept)} files, {total} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
