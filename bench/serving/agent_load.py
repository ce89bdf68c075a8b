#!/usr/bin/env python3
"""A synthetic workload of coding agents, made and driven by aiperf, to its end.

    bench/serving/agent_load.py [--model MODEL] [--sessions 8] [--concurrency 4] [--aiperf FILE]

aiperf draws sessions of several turns. All sessions begin with the same system prompt, and each
turn adds to the prompt of the turn before. Between turns a session waits, as for a call of a tool.

The output is JSON. It has the numbers of turns, of requests that ended well and of requests that
failed, and the times to the first token and between tokens that aiperf saw. Its found_share is the
share of the tokens of all prompts that the server found in its cache. The exit code is 1 if a
request failed or is missing. `tools/fetch_clients.sh aiperf` installs aiperf.
"""
import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from scenarios import first_model  # noqa: E402
from server_process import ROOT, ServerProcess  # noqa: E402

CLIENTS = pathlib.Path(os.environ.get("QUIRE_CLIENTS", pathlib.Path.home() / ".cache/quire-clients"))
WORKLOAD = {
    "new_tokens_per_turn": {"mean": 250, "median": 200, "max": 600, "bias": 1.1},
    "generation_length": {"mean": 32, "median": 32, "max": 64},
    "inter_turn_delay": {"agentic_fraction": 0.9, "agentic_delay": {"mean": 200, "median": 150, "max": 1000},
                         "human_delay": {"mean": 1000, "median": 800, "max": 2000}, "max": None},
    "reset": {"base_probability": 0.01, "context_scaling": 1.5},
    "max_prompt_tokens": 4000,
    "block_size": 64,
    "cache": {"layer1_tokens": 1024, "layer1_5_tokens": 0, "layer2": {"mean": 400, "median": 300, "max": 600},
              "layer1_5_groups": {"num_groups": 1, "zipf_alpha": 0.6}},
}
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
TEXT, ARRAY = 8, 9
CONTROL_TOKEN = 3
TOKENIZER = "quire/served-model"


def gguf_metadata(path):
    """The key-value pairs of a GGUF file (version 2 or 3)."""
    with open(path, "rb") as file:
        def number(form):
            return struct.unpack(form, file.read(struct.calcsize(form)))[0]

        def value(kind):
            if kind == TEXT:
                return file.read(number("<Q")).decode(errors="replace")
            if kind == ARRAY:
                of, count = number("<I"), number("<Q")
                return [value(of) for _ in range(count)]
            return number(SCALARS[kind])

        if file.read(4) != b"GGUF" or number("<I") not in (2, 3):
            raise SystemExit(f"{path} is no GGUF file of version 2 or 3")
        number("<Q")  # Tensors.
        return {value(TEXT): value(number("<I")) for _ in range(number("<Q"))}


def write_tokenizer(cache, model):
    """Writes a tokenizer with the model's vocabulary, for aiperf to draw and count prompts with.

    Offline, aiperf takes tokenizers only from a cache of the hub. `cache` becomes one."""
    given = gguf_metadata(model)
    if given.get("tokenizer.ggml.model") != "gpt2":
        raise SystemExit(f"{model}: aiperf is given tokenizers of bytes and merges alone")
    tokens = given["tokenizer.ggml.tokens"]
    held = cache / ("models--" + TOKENIZER.replace("/", "--"))
    folder = held / "snapshots/1"
    folder.mkdir(parents=True)
    (held / "refs").mkdir()
    (held / "refs/main").write_text("1")
    added = [{"id": index, "content": tokens[index], "special": True, "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False}
             for index, kind in enumerate(given["tokenizer.ggml.token_type"]) if kind == CONTROL_TOKEN]
    bytes_as_letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": bytes_as_letters,
        "decoder": bytes_as_letters, "post_processor": None, "truncation": None, "padding": None,
        "model": {"type": "BPE", "vocab": {token: index for index, token in enumerate(tokens)},
                  "merges": given["tokenizer.ggml.merges"]}}))
    end = tokens[given["tokenizer.ggml.eos_token_id"]]
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end, "pad_token": end}))


def run(command, folder):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_CACHE": str(folder / "hub")}
    ran = subprocess.run([str(each) for each in command], cwd=folder, env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command[:2]))} failed:\n{ran.stdout[-4000:]}")


def synthesized(options, folder):
    (folder / "workload.json").write_text(json.dumps(WORKLOAD))
    run([options.aiperf, "synthesize", "agentic-code", "--num-sessions", options.sessions, "--seed", options.seed,
         "--config", "workload.json", "--output", "made"], folder)
    return next((folder / "made").rglob("dataset.jsonl"))


def found_share(server):
    """Returns the share of the tokens of all prompts that the server found in its cache."""
    counts = server.metrics()
    return counts["quire_prefix_cache_hits_total"] / max(counts["quire_prefix_cache_queries_total"], 1)


def drive(options, server, dataset, folder):
    """Runs the workload and returns the statistics of each metric that aiperf reports."""
    run([options.aiperf, "profile", "--model", first_model(server), "--url", f"http://{server.host}:{server.port}",
         "--endpoint-type", "chat", "--streaming", "--tokenizer", TOKENIZER, "--input-file", dataset,
         "--custom-dataset-type", "mooncake_trace", "--isl-block-size", WORKLOAD["block_size"],
         "--no-fixed-schedule", "--concurrency", options.concurrency,
         "--conversation-num", options.sessions, "--extra-inputs", "ignore_eos:true", "--random-seed", options.seed,
         "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics", "--output-artifact-dir", folder / "results"],
        folder)
    return json.loads(next((folder / "results").rglob("profile_export_aiperf.json")).read_text())


def summary(report, turns, share):
    def of(metric, statistic):
        return (report.get(metric) or {}).get(statistic)

    def times(metric):
        return {each: round(value, 1) for each in ("p50", "p99") if (value := of(metric, each)) is not None}
    return {"turns": turns, "requests": int(of("request_count", "avg") or 0),
            "failed": int(of("error_request_count", "avg") or 0), "first_token_ms": times("time_to_first_token"),
            "between_tokens_ms": times("inter_token_latency"), "found_share": round(share, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, help="a GGUF file",
                        default=pathlib.Path.home() / ".local/share/quire/models/smollm2-135m-instruct.gguf")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--aiperf", type=pathlib.Path, default=CLIENTS / "aiperf/bin/aiperf")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not options.aiperf.exists():
        raise SystemExit(f"no {options.aiperf}: tools/fetch_clients.sh aiperf installs it")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_tokenizer(folder / "hub", options.model)
        dataset = synthesized(options, folder)
        turns = len(dataset.read_text().splitlines())
        with ServerProcess(options.build / "quire", ["--no-store", "--model", options.model]) as server:
            report = drive(options, server, dataset, folder)
            share = found_share(server)
    results = summary(report, turns, share)
    print(json.dumps(results))
    raise SystemExit(0 if results["requests"] == turns and results["failed"] == 0 else 1)


if __name__ == "__main__":
    main()
